/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Iterators: running datasets.
 *
 * An iterator has one owner at a time; only levada_iter_cancel, levada_iter_report and
 * levada_iter_progress may be called from other threads, and levada_iter_find_file too. The order
 * of records depends on (dataset, seed, epoch) alone, never on threads, timing or block size. An
 * iterator that failed repeats its error until it is restored or closed. After LEVADA_END each
 * later call answers LEVADA_END.
 */
#ifndef LEVADA_ITER_H
#define LEVADA_ITER_H

#include <levada/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_iter levada_iter;

#define LEVADA_FOREVER INT64_C(-1)

typedef struct levada_iter_options {
    size_t      struct_size;
    int64_t     seed;       /* -1 = draw one and save it                                        */
    int64_t     epoch;      /* from 0                                                           */
    int32_t     threads;    /* 0 = CPUs of the process; 1 = everything on the caller            */
    int32_t     block_rows; /* records in a block before batching, 0 = 256                      */
    const char *errors;     /* NULL or "fail" | "skip" | "skip:1000" | "skip:0.1%"; the budget
                             * counts at each place for itself: a source, a run of stages       */
    int64_t     max_record_bytes; /* 0 = 256 MiB; what fits in a chunk (256 KiB) passes anyway  */
    bool        deterministic;    /* false allows records in another order, of which no use is
                                   * made: the order costs too little. Nothing depends on it    */
} levada_iter_options;

#define LEVADA_ITER_OPTIONS_INIT                                        \
    {                                                                   \
        sizeof(levada_iter_options), -1, 0, 0, 0, NULL, 0, true         \
    }

LEVADA_API LEVADA_MUST_USE levada_status levada_iter_open(const levada_dataset *dataset,
                                                          const levada_iter_options *options,
                                                          levada_iter **out, levada_error *err);
/* Stops and joins its threads, frees it, sets *it to NULL; accepts NULL. */
LEVADA_API void levada_iter_close(levada_iter **it);

/* The next block, owned by the caller. END after the last one. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_next(levada_iter *it, levada_block **out,
                                                          levada_error *err);
/* The same, but answers AGAIN when nothing came within that time (state unchanged, nothing lost).
 */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_next_within(levada_iter *it,
                                                                 int64_t nanoseconds,
                                                                 levada_block **out,
                                                                 levada_error *err);
/* Takes back the block that was given last, whole, to give it again next: for who was interrupted
 * before using it. Until then it is part of what save() keeps. */
LEVADA_API void levada_iter_unread(levada_iter *it, levada_block **block);
/* Makes a running and every later next() return ECANCELLED; any thread. */
LEVADA_API void levada_iter_cancel(levada_iter *it);

/* Position after the last block that next() gave, as bytes; free with levada_string_free.
 * EFAILED_PRECONDITION: the iterator has failed, or is about to after records that a joint gives in
 * front of the failure, or was cancelled, and what a source or a stage had taken may be lost. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_save(levada_iter *it, char **out,
                                                          size_t *size, levada_error *err);
/* Goes on bit for bit as the iterator that was saved, whatever this one did before; another
 * thread count or block size is fine. On failure the iterator is as it was.
 * EFAILED_PRECONDITION: saved from another dataset (first difference named), or a record that is
 * gone or changed; EDATA_LOSS: damaged bytes. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_restore(levada_iter *it, const void *bytes,
                                                             size_t size, levada_error *err);

/* One JSON object: records, batches, bytes, skipped_records, damaged_bytes, missing_files,
 * empty_files, dropped_records, padding_fraction, seed, epoch, threads,
 * stages:[{"path","records","blocks","seconds"}], problems:[{"stage","file","record","offset",
 * "message"}]: what `errors` left out and files without a record, the first 64. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_stats(levada_iter *it, char **out,
                                                           levada_error *err);
/* One JSON object: who waits for what; any thread. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_report(levada_iter *it, char **out,
                                                            levada_error *err);
/* Path of the file with that number in the iterator's table (see levada_origin), or NULL. Borrowed
 * until the next restore or close, for the iterator's thread. */
LEVADA_API const char *levada_iter_file(const levada_iter *it, int32_t leaf, int32_t shard);
/* The same for any thread, also beside a restore: a copy, which levada_string_free frees; NULL
 * where there is no such file. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_find_file(const levada_iter *it, int32_t leaf,
                                                               int32_t shard, char **out,
                                                               levada_error *err);
/* Bytes of input read so far and in total (-1 where not known), for progress; any thread. */
LEVADA_API void levada_iter_progress(const levada_iter *it, int64_t *done, int64_t *total);

#ifdef __cplusplus
}
#endif

#endif
