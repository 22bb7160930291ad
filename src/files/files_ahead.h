/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preparing the next files of a set on other threads.
 *
 * A set is read file after file, and only the owner of its reader pulls. Decompressing a file, and
 * opening a small one, would then use one thread, whatever the number of threads. Here other
 * threads prepare the files that follow the one that is open: they open them and read them into
 * their stocks (levada_bytes_stock), piece by piece, the next file first. When the turn of a file
 * comes, its owner takes it with what is in stock, and reads the rest alone. So the order of
 * records, positions, states and errors are those of a reader without threads: what fails on the
 * way is left to the owner, who fails at the same place, when it comes to it.
 *
 * All stocks together hold at most FILES_AHEAD_BYTES. Of a plain file only the first piece is put
 * in stock; read_ahead.h prepares the rest when its turn has come. Pipes, and files whose size an
 * opener does not know before it opens them, are not prepared.
 *
 * Ownership: it owns the files that it prepares, and borrows the reader.
 *
 * Threads: take, clear and destroy are the owner's; work may run on any thread at any time. One
 * thread at a time works on a file. take and clear wait for one piece at most.
 */
#ifndef LEVADA_FILES_FILES_AHEAD_H
#define LEVADA_FILES_FILES_AHEAD_H

#include "files/file_reader_priv.h"

/* Creates it for a run with `threads` threads, at least 2. The reader is borrowed. */
LEVADA_MUST_USE levada_status levada_files_ahead_create(const levada_file_reader *reader,
                                                        int32_t                   threads,
                                                        levada_files_ahead      **out,
                                                        levada_error             *err);
void levada_files_ahead_destroy(levada_files_ahead **ahead);

/* Returns the file of this turn, which the caller then owns, or NULL if it was not prepared. Files
 * of later turns are prepared from now on. */
levada_bytes *levada_files_ahead_take(levada_files_ahead *ahead, int64_t turn);
/* Forgets all files until the next take; before the order of the files changes. */
void levada_files_ahead_clear(levada_files_ahead *ahead);

/* Does one piece of work; returns false if there is none now. With `work` false it only says if
 * there is. */
bool levada_files_ahead_work(levada_files_ahead *ahead, bool work);

#endif
