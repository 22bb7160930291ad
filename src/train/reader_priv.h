/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader from the inside: reader.c takes turns, names and records, reader_block.c and
 * reader_state.c return them.
 *
 * Blocks of the current file wait in `parts` until they are handed out, so that a call that fails
 * loses nothing: rows leave them when what is given is made. A file is opened only where no row is
 * left, so the name is that of all rows.
 */
#ifndef LEVADA_TRAIN_READER_PRIV_H
#define LEVADA_TRAIN_READER_PRIV_H

#include "runtime/wait.h"
#include "tensor/tensor_priv.h"
#include "train/reader_file.h"

struct levada_reader {
    unsigned            process; /* that it belongs to (base/process.h) */
    char               *name;
    levada_spec        *spec; /* key, value */
    levada_wait_list         *wait_list;
    levada_lock         lock;
    bool                has_lock;
    /* -- guarded by lock */
    bool        busy; /* somebody's turn */
    levada_line turns;
    levada_site site;
    int64_t     produced, finished;
    /* -- whose turn it is */
    levada_reader_file file;
    levada_tensor     *path;   /* the current name, or the last one; NULL = ""    */
    bool               named;  /* there is a current one ...                      */
    bool               open;   /* ... and its file is open                        */
    bool               begun;  /* a block of it came                              */
    levada_error       failed; /* repeated while it is not clear                  */
    levada_block     **parts;
    int64_t            nparts, capacity;
    int64_t            row;   /* of parts[0], that comes next */
    int64_t            held;  /* rows from there on           */
    int64_t            bytes; /* of their values             */
};

/* Waits for the turn: EDEADLINE_EXCEEDED, or AGAIN, where it does not come in time. */
LEVADA_MUST_USE levada_status levada_reader_enter(levada_reader *r, int64_t timeout,
                                                  levada_error *err);
/* Counts what the call returned; the next one in line has its turn. */
void levada_reader_leave(levada_reader *r, int64_t produced);

/* Returns EINVALID_ARGUMENT if it is not a queue of names. */
LEVADA_MUST_USE levada_status levada_reader_check(levada_reader *r, levada_queue *queue,
                                                  levada_error *err);
/* Dequeues the levada_reader_names of a queue. */
levada_status levada_reader_dequeue(void *queue, int64_t timeout, levada_tensor **name,
                                    levada_error *err);

/* -- whose turn it is */

/* Returns up to n rows of what is held, as a block; *rows are in it. */
LEVADA_MUST_USE levada_status levada_reader_block(levada_reader *r, int64_t n, int64_t *rows,
                                                  levada_block **out, levada_error *err);
/* Pulls one more block of the open file; END at its end, with nothing open any more. */
LEVADA_MUST_USE levada_status levada_reader_pull(levada_reader *r, levada_error *err);
/* Sets the counts of all that was handed out. */
void levada_reader_set_counts(levada_reader *r, int64_t produced, int64_t finished);
/* Forgets the current file and what came of it. */
void levada_reader_forget(levada_reader *r);

/* Returns the name of the current file, or of the last one: not terminated. */
const char *levada_reader_path(const levada_reader *r, size_t *size);
/* Returns the number of bytes of the values of rows [first, last): values may overlap, and share
 * memory then. */
int64_t levada_reader_bytes(const levada_block *block, int64_t first, int64_t last);
/* Returns the number in the key of a row, -1 where the key is the name. */
int64_t levada_reader_number(const levada_reader *r, const levada_block *block, int64_t row);
/* Counts the bytes of a key with that number. */
int64_t levada_reader_key_size(size_t name, int64_t number);
void    levada_reader_key_write(const char *name, size_t length, int64_t number, uint8_t *to,
                                int64_t size);

#endif
