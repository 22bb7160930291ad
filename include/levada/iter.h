/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Iterators run datasets, and save and restore their position.
 *
 * An iterator has one owner at a time; other threads may call only the functions that say "any
 * thread". The order of records depends only on dataset, seed and epoch, never on threads, timing
 * or block size. An iterator that failed returns the same error until it is restored or closed.
 * After LEVADA_END, each later call returns LEVADA_END.
 *
 * Example:
 *
 *     levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
 *     levada_dataset     *dataset = NULL;
 *     levada_iter        *it = NULL;
 *     levada_block       *batch = NULL;
 *     levada_status       st;
 *
 *     options.seed = 7;
 *     LEVADA_TRY(levada_dataset_parse(NULL, "range:1000 | shuffle:100 | batch:64", &dataset, err));
 *     LEVADA_TRY(levada_iter_open(dataset, &options, &it, err));
 *     while ((st = levada_iter_next(it, &batch, err)) == LEVADA_OK) levada_block_unref(&batch);
 *     LEVADA_TRY(levada_iter_save_file(it, "position", err)); // levada_iter_restore_file continues
 *     levada_iter_close(&it);
 *     levada_dataset_unref(&dataset);
 *     if (st != LEVADA_END) return st;
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
    int64_t     seed;       /* -1 = pick one and save it                               */
    int64_t     epoch;      /* from 0                                                  */
    int32_t     threads;    /* 0 = CPUs of the process; 1 = run on the caller's thread */
    int32_t     block_rows; /* records in a block before batching, 0 = 256             */
    const char *errors;     /* NULL or "fail" | "skip" | "skip:1000" | "skip:0.1%"; the budget
                             * applies to each source and each group of fused stages */
    int64_t     max_record_bytes; /* 0 = 1 GiB, the most; up to 256 KiB always pass */
} levada_iter_options;

#define LEVADA_ITER_OPTIONS_INIT                                        \
    {                                                                   \
        sizeof(levada_iter_options), -1, 0, 0, 0, NULL, 0               \
    }
/* Sets *all to its defaults, for languages without macros; size is sizeof(levada_iter_options). */
LEVADA_API void levada_iter_options_init(levada_iter_options *all, size_t size);

/* Returns EINVALID_ARGUMENT unless `errors` is a valid value of that option. */
LEVADA_API LEVADA_MUST_USE levada_status levada_errors_check(const char *errors,
                                                             levada_error *err);

/* Starts a run of the dataset; options of NULL are the defaults. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_open(const levada_dataset *dataset,
                                                          const levada_iter_options *options,
                                                          levada_iter **out, levada_error *err);
/* Stops and joins the threads, frees the iterator and sets *it to NULL; accepts NULL. */
LEVADA_API void levada_iter_close(levada_iter **it);

/* Returns the next block, which the caller owns; END after the last block. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_next(levada_iter *it, levada_block **out,
                                                          levada_error *err);
/* Like levada_iter_next, but returns AGAIN if no block arrives within `nanoseconds`; nothing is
 * lost. If workers run the dataset, the deadline holds for every source, because the caller only
 * waits. With threads=1, or if the source has neither a parallel stage nor a prefetch downstream,
 * the caller pulls the blocks itself. It then checks the deadline before each block of a source
 * except the first, so a source or a function that blocks delays the call. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_next_within(levada_iter *it,
                                                                 int64_t nanoseconds,
                                                                 levada_block **out,
                                                                 levada_error *err);
/* Like levada_iter_next_within, for callers that check for signals between slices of a longer wait.
 * The caller runs upstream work while it waits, which is faster, but a source or a function that
 * blocks may delay the call. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_next_slice(levada_iter *it,
                                                                int64_t nanoseconds,
                                                                levada_block **out,
                                                                levada_error *err);
/* Passes a block back to the last stage (unroll), between two calls of next(). If the
 * stage is waiting for this block, next() returns AGAIN, describes in *err what it waits for, and
 * may be called again. The block is borrowed, but the stage may keep its memory alive. Returns
 * EINVALID_ARGUMENT if the last stage accepts no blocks. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_feed(levada_iter        *it,
                                                          const levada_block *back,
                                                          levada_error       *err);
/* Applies the last stage of `dataset`, such as a part of a split, to a block that the iterator
 * returned, so that several such stages share one pass over their input. The iterator runs that
 * input. *out has the records of the result, which may be none, in memory of its own. Returns
 * EINVALID_ARGUMENT if the stage has other inputs, draws at random, rejects records or needs the
 * records before. One owner, as next(). */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_apply(levada_iter          *it,
                                                           const levada_dataset *dataset,
                                                           const levada_block   *block,
                                                           levada_block        **out,
                                                           levada_error         *err);
/* Returns the columns that levada_iter_feed accepts, borrowed from the iterator; NULL if it accepts
 * no blocks. */
LEVADA_API const levada_spec *levada_iter_feeds(const levada_iter *it);
/* Restarts at the beginning, at any time, with the next epoch: in another order if the dataset
 * shuffles. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_rewind(levada_iter *it, levada_error *err);
/* Makes the running and every later next() and restore() return ECANCELLED; any thread. Do not call
 * it from a signal handler; interrupt.h does that. */
LEVADA_API void levada_iter_cancel(levada_iter *it);

/* Saves a checkpoint: the position after the last block of next(), as bytes; free them with
 * levada_string_free. Returns EFAILED_PRECONDITION if the iterator has failed, or was cancelled, so
 * that records may be lost. This already applies to the last records before a failure of an input
 * of a combiner. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_save(levada_iter *it, char **out,
                                                          size_t *size, levada_error *err);
/* Like levada_iter_save, for callers that use records one by one: saves the position before record
 * `row` of `last`, the block that next() returned last. Returns EINVALID_ARGUMENT if the block does
 * not have this row or is a batch, and EFAILED_PRECONDITION as levada_iter_save does, or if the
 * block was returned to the iterator (binding.h). */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_save_at(levada_iter        *it,
                                                             const levada_block *last,
                                                             int64_t row, char **out,
                                                             size_t *size, levada_error *err);
/* Restores a checkpoint. Iteration then continues with exactly the same blocks as the saved
 * iterator, whatever this iterator did before; the number of threads and the block size may differ.
 * If the call fails, the iterator does not change. Returns EFAILED_PRECONDITION if the checkpoint
 * belongs to another dataset (the message shows the first difference) or another rank or world size
 * of `shard`, or if files or records have changed; EDATA_LOSS if the checkpoint is corrupt;
 * ECANCELLED. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_restore(levada_iter *it, const void *bytes,
                                                             size_t size, levada_error *err);
/* Restores a checkpoint of a pipeline whose mixtures were other ones: weights, temperature and the
 * inputs of a `mix` with names may differ, and nothing else. Inputs are matched by name. Those of
 * the checkpoint continue where they were, others begin, and those that are gone are noted among
 * the problems of levada_iter_stats, with the number of their records that were drawn. Their
 * records that wait downstream of the mix, in a shuffle or a batch, are still returned, so the
 * files of these inputs must exist, and functions of a language must be known. Runs the old
 * pipeline up to the position, on the calling thread, which may read again what threads had read
 * ahead. Otherwise as levada_iter_restore; EUNIMPLEMENTED if a stage divides what a mixture emits
 * among ranks. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_restore_mix(levada_iter *it,
                                                                 const void *bytes, size_t size,
                                                                 levada_error *err);

/* Save the checkpoint to a file, or restore it from a file. The file is replaced by a rename, so
 * that a crash leaves the old checkpoint. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_save_file(levada_iter *it, const char *path,
                                                               levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_restore_file(levada_iter *it,
                                                                  const char  *path,
                                                                  levada_error *err);

/* Returns how many batches (blocks, where nothing is batched) it returned, also before its
 * checkpoint was restored. Any thread. */
LEVADA_API int64_t levada_iter_batches(const levada_iter *it);
/* Returns one JSON object; any thread, at any time:
 *     records, batches: returned by next(); elements: of their padded columns, with the padding;
 *         padding: those that are padding; padding_fraction: their quotient
 *     skipped_records, damaged_bytes, missing_files, empty_files, dropped_records: lost before
 *         these records, without records read ahead. A block counts as a whole
 *     problems:[{"stage","file","record","offset","lost","message"}]: the first 64 records that
 *         `errors` skipped, also in blocks read ahead; "lost":false marks warnings without a loss,
 *         such as a file without records
 *     bytes, stages:[{"path","records","blocks","seconds"}]: work done, including read-ahead, since
 *         the iterator was opened or restored. Two rows may have the same path. "seconds" are those
 *         of the stage itself, without its inputs, added up over threads. With threads, "ready" of
 *         "window" results wait downstream of some stages
 *     wait_seconds, seconds: the time that the caller spent in next(), and the time from the first
 *         call to the end of the last one, since then. Their quotient is the share of the time in
 *         which the consumer waited for data
 *     ready: blocks that next() can return at once
 *     requests, retries, received_bytes: of remote files, since then. `retries` are also requests
 *     seed, epoch, threads
 * A checkpoint contains all of them except the work, so a restored iterator continues the
 * counts. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_stats(levada_iter *it, char **out,
                                                           levada_error *err);
/* Starts or stops a trace: which thread worked at which stage, and when. It keeps the newest 65,536
 * events in 6 MiB, which are freed with the iterator. Any thread, at any time. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_trace(levada_iter *it, bool on,
                                                           levada_error *err);
/* Returns the trace as JSON, which chrome://tracing and ui.perfetto.dev open;
 * levada_string_free frees it. The events of a thread nest; "dropped_events" counts older ones.
 * Any thread. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_trace_json(levada_iter *it, char **out,
                                                                levada_error *err);
/* Returns levada_dataset_explain of the running dataset, with the choices that its stages made from
 * data, such as the boundaries of a bucket_by_sequence_length without boundaries. Free it with
 * levada_string_free. Any thread. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_explain(levada_iter *it, char **out,
                                                             levada_error *err);
/* Returns the wait report, one JSON object; any thread. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_report(levada_iter *it, char **out,
                                                            levada_error *err);
/* Returns a copy of the path of the file of a record, which levada_string_free frees; NULL if the
 * record has no file. Of sub-pipelines that an interleave opens it finds all open files and the
 * last 65,536 others. Any thread, even during a restore. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_origin_file(const levada_iter   *it,
                                                                 const levada_origin *of,
                                                                 char **out, levada_error *err);
/* Lists the files of these sub-pipelines, from i = 0: sets source, pass and shard of *of, and the
 * path, as levada_iter_origin_file. Returns END after the last file. It may miss a file that is
 * opened during the calls. Any thread. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_opened_file(const levada_iter *it, int32_t i,
                                                                 levada_origin *of, char **out,
                                                                 levada_error *err);
/* Returns the bytes of input read so far and in total (-1 if not known), for progress bars; any
 * thread. */
LEVADA_API void levada_iter_progress(const levada_iter *it, int64_t *done, int64_t *total);

#ifdef __cplusplus
}
#endif

#endif
