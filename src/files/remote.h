/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a file of a storage that answers late: several requests at a time, ahead of the reader.
 *
 * An opener with preferred_bytes (opener.h) performs one request and nothing else. This module
 * stands between it and bytes.c and has the rest: it cuts a file into pieces, requests them on
 * threads of its own, keeps what was read until it is used, reads ahead while a file is read in
 * order, and repeats requests that fail for a while. levada_remote_reader is an opener, so nothing
 * else of the library knows of remote files.
 *
 * Pieces begin at multiples of 256 KiB. A reader that jumps gets what it asks for, rounded to that;
 * a reader that continues in order gets pieces that double up to preferred_bytes, of which
 * eight are on their way. All files of an environment share the threads and the memory
 * (io.read_ahead); each has its part. The piece that was used longest ago is dropped first.
 *
 * EUNAVAILABLE, EDEADLINE_EXCEEDED and answers that are too short are requested again, after a
 * random pause that grows (io.attempts, io.deadline); other errors are final. The error of a piece
 * that was read ahead is returned to the reader who comes to it, and a later read asks again.
 *
 * Ownership: a file owns its pieces; the environment owns the pool (threads, queue), which starts
 * threads with the first file that is open and joins them with the last.
 * Threads: read_at from any thread, at the same time, if the opener is shared. A read that waits
 * polls the token of its file. A child of a fork has a pool of its own, and refuses the files of
 * its parent.
 */
#ifndef LEVADA_FILES_REMOTE_H
#define LEVADA_FILES_REMOTE_H

#include "files/opener.h"

/* Reads files that levada_remote_open opened. */
extern const levada_opener_def levada_remote_reader;

/* Opens a file of an opener with preferred_bytes; levada_remote_reader.close closes it. */
LEVADA_MUST_USE levada_status levada_remote_open(const levada_opener_def *opener, const char *path,
                                                 const levada_cancel *cancel, void **out,
                                                 levada_error *err);
/* Requests bytes that will be read soon, as far as memory goes, and returns at once. Callers that
 * know several places ask for all of them before they read the first. */
void levada_remote_expect(void *file, int64_t offset, int64_t size);

#endif
