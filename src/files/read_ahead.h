/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading one file with several threads.
 *
 * The owner of a file reader frames one window after the other: each begins where the records of
 * the one before it end. With threads this would be the bottleneck of a whole pipeline, because
 * only one of them may pull. Here other threads prepare the next windows meanwhile. The file is cut
 * into chunks of LEVADA_STEP bytes. A thread
 *
 *   1. draws the next chunk, in order, and reads it into a buffer of its own;
 *   2. frames its records when the chunk before it is framed, because a record may begin there:
 *      the bytes of such a record are copied to the front of the buffer. This is the serial part,
 *      and only headers are read in it;
 *   3. checks the payloads: frames the same bytes once more, outside of that part.
 *
 * The owner takes the finished chunks in order. A chunk is finished only if it is whole and all its
 * records are intact. Otherwise the owner stops reading ahead and reads this place again alone, so
 * damage, errors, policies and positions are those of a reader without threads. The owner's own
 * reads end where chunks end, so the records of a window, and of a block, do not depend on threads.
 *
 * Ownership: it holds references to buffers, and borrows the bytes of the file between start and
 * stop. A block holds the buffer of its chunk.
 *
 * Threads: start, stop, take and destroy are the owner's; work may run on any thread at any time.
 * stop waits for those inside, for one read at most.
 *
 * Failure: a read that fails is reported where the owner comes to it. What cannot be framed or
 * allocated is left to the owner.
 */
#ifndef LEVADA_FILES_READ_AHEAD_H
#define LEVADA_FILES_READ_AHEAD_H

#include "files/file_reader_priv.h"

/* Creates it for a run with `threads` threads, at least 2. The reader is borrowed. */
LEVADA_MUST_USE levada_status levada_read_ahead_create(const levada_file_reader *reader,
                                                       int32_t                   threads,
                                                       levada_read_ahead       **out,
                                                       levada_error             *err);
void levada_read_ahead_destroy(levada_read_ahead **ahead);

/* Begins after the window, which ends at the end of a chunk: the records of the rest of it are
 * those of the first chunk. Nothing is begun where less than two chunks follow. */
void levada_read_ahead_start(levada_read_ahead *ahead, const levada_window *window);
void levada_read_ahead_stop(levada_read_ahead *ahead);
/* Stops like levada_read_ahead_stop, and sets *why if a read failed, at the offset *why_at. */
void levada_read_ahead_end(levada_read_ahead *ahead, levada_error *why, int64_t *why_at);
bool levada_read_ahead_active(const levada_read_ahead *ahead);

/* Does one chunk of work; returns false if there is none now. With `work` false it only says if
 * there is. */
bool levada_read_ahead_work(levada_read_ahead *ahead, bool work);

/* Makes the next chunk the window, which was used up to the rest of its last record, and its
 * records *framed. False: the owner ends reading ahead, and reads on after what it had. */
bool levada_read_ahead_take(levada_read_ahead *ahead, levada_window *window, levada_framed *framed);

#endif
