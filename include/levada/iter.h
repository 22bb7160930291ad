/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Iterators: running datasets.
 *
 * An iterator has one owner at a time; only levada_iter_cancel, levada_iter_report and
 * levada_iter_progress may be called from other threads, as may levada_iter_find_file. The order
 * of records depends on (dataset, seed, epoch) alone, never on threads, timing or block size. An
 * iterator that failed repeats its error until it is restored or closed. After LEVADA_END each
 * later call returns LEVADA_END.
 */
#ifndef LEVADA_ITER_H
#define LEVADA_ITER_H

#include <levada/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_iter levada_iter;

#define LEVADA_FOREVER (-1LL)

typedef struct levada_iter_options {
    size_t      struct_size;
    int64_t     seed;       /* -1 = pick one and save it                                        */
    int64_t     epoch;      /* from 0                                                           */
    int32_t     threads;    /* 0 = CPUs of the process; 1 = everything on the caller            */
    int32_t     block_rows; /* records in a block before batching, 0 = 256                      */
    const char *errors;     /* NULL or "fail" | "skip" | "skip:1000" | "skip:0.1%"; the budget
                             * counts at each place separately: a source, fused stages          */
    int64_t     max_record_bytes; /* 0 = 256 MiB; records up to 256 KiB (a chunk) always pass    */
} levada_iter_options;

#define LEVADA_ITER_OPTIONS_INIT                                        \
    {                                                                   \
        sizeof(levada_iter_options), -1, 0, 0, 0, NULL, 0               \
    }
/* The same for languages without macros; size is sizeof(levada_iter_options). */
LEVADA_API void levada_iter_options_init(levada_iter_options *all, size_t size);

/* EINVALID_ARGUMENT unless `errors` is a valid value of that option. */
LEVADA_API LEVADA_MUST_USE levada_status levada_errors_check(const char *errors,
                                                             levada_error *err);

LEVADA_API LEVADA_MUST_USE levada_status levada_iter_open(const levada_dataset *dataset,
                                                          const levada_iter_options *options,
                                                          levada_iter **out, levada_error *err);
/* Stops and joins its threads, frees it, sets *it to NULL; accepts NULL. */
LEVADA_API void levada_iter_close(levada_iter **it);

/* The next block, owned by the caller. END after the last one. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_next(levada_iter *it, levada_block **out,
                                                          levada_error *err);
/* The same, but returns AGAIN if no block arrives in that time (state unchanged, nothing lost).
 * If workers run the dataset, the deadline holds for any source: the caller only
 * waits. The caller itself pulls with threads=1, and from sources with no parallel stage and no
 * prefetch downstream. There it checks the deadline before each block of a source but the first, so
 * a source or a function that blocks delays the call. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_next_within(levada_iter *it,
                                                                 int64_t nanoseconds,
                                                                 levada_block **out,
                                                                 levada_error *err);
/* The same for callers that check for signals, say, between two slices of a longer wait: the caller
 * works upstream like a worker meanwhile. Faster than next_within, but a source or a function that
 * blocks may delay the call. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_next_slice(levada_iter *it,
                                                                int64_t nanoseconds,
                                                                levada_block **out,
                                                                levada_error *err);
/* Returns a block to a stage that accepts some (feed() in stage.h), between two calls of next().
 * Where the stage waits for it, next() returns AGAIN, with what it waits for in *err, and may be
 * called again. The block is borrowed for the call; its memory may be kept. EINVALID_ARGUMENT: the
 * dataset does not end in such a stage. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_feed(levada_iter        *it,
                                                          const levada_block *back,
                                                          levada_error       *err);
/* The columns that levada_iter_feed takes, borrowed from the iterator; NULL: it takes no blocks, or
 * any. */
LEVADA_API const levada_spec *levada_iter_feeds(const levada_iter *it);
/* Starts from the beginning, at any time: the next pass of everything, in another order if
 * something is shuffled. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_rewind(levada_iter *it, levada_error *err);
/* Makes a running and every later next() and restore() return ECANCELLED; any thread. Not from a
 * signal handler (interrupt.h does that). */
LEVADA_API void levada_iter_cancel(levada_iter *it);

/* Position after the last block of next(), as bytes; free with levada_string_free.
 * EFAILED_PRECONDITION: the iterator has failed, or is about to after records that a combiner emits
 * before the failure, or was cancelled, and what a source or a stage had taken may be lost. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_save(levada_iter *it, char **out,
                                                          size_t *size, levada_error *err);
/* The same for callers that use records one by one: the position before record `row` of `last`, the
 * block that next() returned last; the records before it count as delivered.
 * EINVALID_ARGUMENT: a row that the block does not have, or one inside a batch.
 * EFAILED_PRECONDITION, too: the block was taken back (binding.h). */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_save_at(levada_iter        *it,
                                                             const levada_block *last,
                                                             int64_t row, char **out,
                                                             size_t *size, levada_error *err);
/* Continues bit for bit as the iterator that was saved, whatever this one did before; another
 * thread count or block size is fine. On failure the iterator is as it was.
 * EFAILED_PRECONDITION: saved from another dataset (first difference named), by another rank or
 * world size of `shard`, from files that have changed, or a record that is gone or changed;
 * EDATA_LOSS: damaged bytes; ECANCELLED. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_restore(levada_iter *it, const void *bytes,
                                                             size_t size, levada_error *err);

/* The same with a file: the state is saved in one step, by a rename, so that a crash leaves the old
 * one. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_save_file(levada_iter *it, const char *path,
                                                               levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_restore_file(levada_iter *it,
                                                                  const char  *path,
                                                                  levada_error *err);

/* One JSON object:
 *     records, batches, padding_fraction: what next() has returned
 *     skipped_records, damaged_bytes, missing_files, empty_files, dropped_records: lost on the way
 *         to there, whatever the threads have read ahead. A block counts as a whole
 *     problems:[{"stage","file","record","offset","lost","message"}]: the first 64 records that
 *         `errors` skipped, and with "lost":false what is odd and cost nothing, such as a file
 *         without a record; those read ahead are among them
 *     bytes, stages:[{"path","records","blocks","seconds"}]: work done, ahead too, since the
 *         iterator was opened or restored
 *     seed, epoch, threads
 * A state keeps all but the work: a restored iterator continues the counts. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_stats(levada_iter *it, char **out,
                                                           levada_error *err);
/* levada_dataset_explain of the running dataset, with the choices that its stages made from data:
 *     chosen  boundaries=[...]
 * of a bucket_by_sequence_length without boundaries. Free it with levada_string_free. Like next, it
 * is a call of the owner. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_explain(levada_iter *it, char **out,
                                                             levada_error *err);
/* One JSON object, the wait report; any thread. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_report(levada_iter *it, char **out,
                                                            levada_error *err);
/* Path of the file with that number in the iterator's table (see levada_origin), or NULL. Borrowed
 * until the next restore or close, for the iterator's thread. */
LEVADA_API const char *levada_iter_file(const levada_iter *it, int32_t source, int32_t shard);
/* The same for any thread, even during a restore: a copy, which levada_string_free frees; NULL
 * without such a file. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_find_file(const levada_iter *it,
                                                               int32_t source,
                                                               int32_t shard, char **out,
                                                               levada_error *err);
/* Path of the file of a record, as a copy, which levada_string_free frees; NULL if
 * it has no file. Unlike levada_iter_file it knows the files of pipes that an interleave
 * opens: all that are open, and the last 65,536 of the others. Any thread. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_origin_file(const levada_iter   *it,
                                                                 const levada_origin *of,
                                                                 char **out, levada_error *err);
/* Those files one by one, from i = 0: source, pass and shard of *of, and the path, as above. END
 * after the last one. A file that is opened meanwhile may be missed. Any thread. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_opened_file(const levada_iter *it, int32_t i,
                                                                 levada_origin *of, char **out,
                                                                 levada_error *err);
/* Bytes of input read so far and in total (-1 where not known), for progress; any thread. */
LEVADA_API void levada_iter_progress(const levada_iter *it, int64_t *done, int64_t *total);

#ifdef __cplusplus
}
#endif

#endif
