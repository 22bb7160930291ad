/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Iterators for tests: a source with columns of every kind, what comes out of an iterator as bytes
 * that do not depend on how records lie in blocks, and the checks that hold for every pipe.
 * Whatever goes wrong fails the test.
 *
 * The sources t_rows (records can be read again) and t_stream (they cannot) emit `count` records i:
 *
 *     n int64 = i          l int64 = lengths[i % len(lengths)]
 *     x int32 ragged: clamp(l, 0, 64) values i * 100, i * 100 + 1, ...
 *     s string             v float32[2]
 *     w ragged strings     z int16, ragged at two levels
 *
 * bare=true leaves n, l and x. fail_at=k: record k fails with EDATA_LOSS. wait=ns: next() takes
 * that long.
 */
#ifndef LEVADA_TESTS_SUPPORT_ITERS_H
#define LEVADA_TESTS_SUPPORT_ITERS_H

#include "support/files.h"
#include <levada/iter.h>

/* The environment of these sources; made once. */
levada_env *t_iter_env(void);

/* An iterator over `text`, seed 11, epoch 0. */
levada_iter *t_iter_open(const char *text, int32_t threads, int32_t block_rows);
levada_iter *t_iter_open_with(const char *text, const levada_iter_options *options);
/* With a policy for bad records. */
levada_iter *t_iter_open_policy(const char *text, const char *errors, int32_t threads,
                                int32_t block_rows);

/* How reading ended: rows until then, and why. */
typedef struct t_outcome {
    int64_t      rows;
    levada_error why;
} t_outcome;

/* Reads to the end, or to the error; adds the rows. */
levada_status t_iter_read_rest(levada_iter *it, t_outcome *o);
/* Expects that parsing or opening is refused. */
void t_iter_refused(const char *text, levada_status code, const char *message);

/* Appends the rows of a block; `batches`: the block's bounds and dimensions, too. */
void t_iter_add(t_bytes *to, const levada_block *block, bool batches);
/* Reads at most `blocks` blocks (-1 = all) and appends them. Returns what was read. */
int64_t t_iter_read(levada_iter *it, int64_t blocks, bool batches, t_bytes *to);
/* Reads to the first error, which must be this one. Returns the records before it. */
int64_t t_iter_fails(levada_iter *it, levada_status code, const char *message);
/* The same, and the place that the error names; file is the end of its name. */
void t_iter_fails_at(levada_iter *it, levada_status code, const char *file, int64_t record,
                     int64_t offset);
/* As the two above; they close the iterator. */
int64_t t_iter_ends(levada_iter *it, levada_status code, const char *message);
void    t_iter_ends_at(levada_iter *it, levada_status code, const char *file, int64_t record,
                       int64_t offset);
/* The values of the integer column `name`, of every record to the end. Free with free(). */
int64_t *t_iter_numbers(levada_iter *it, const char *name, int64_t *n);
/* One number of the stats. */
int64_t t_iter_stat(levada_iter *it, const char *name);

t_bytes t_iter_save(levada_iter *it);
void    t_iter_restore(levada_iter *it, t_bytes state);

/* What `text` returns with one thread. */
t_bytes t_iter_all(const char *text, bool batches);
void    t_bytes_equal(t_bytes a, t_bytes b, const char *what);
/* The bytes are the same for block sizes 1, 7 and 256 and 1, 2 and 4 threads; and at each `step`-th
 * block (1 = every one) a saved state restored into another iterator, with other threads and
 * another block size, continues with exactly the rest. */
void t_iter_sweep(const char *text, bool batches, int64_t step);

#endif
