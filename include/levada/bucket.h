/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buckets batch elements of similar length, or of one class, by means of queues and threads.
 *
 *     source ─► input threads ─┬─► bucket queue 0 ─► batches of bucket 0 ─┬─► top queue ─► next()
 *                              └─► bucket queue 1 ─► batches of bucket 1 ─┘
 *
 * The contract is TensorFlow's (contrib/training/python/training/bucket_ops.py) with its defects
 * mended. A key selects the bucket of an element: the number of the bucket or, with `boundaries`, a
 * length. Bucket i then holds the lengths l with boundaries[i - 1] <= l < boundaries[i]. A key that
 * fits no bucket is EINVALID_ARGUMENT: the input ends, and consumers receive the error after the
 * batches before it.
 *
 * Order. A bucket keeps the order of arrival if one thread puts elements into it. Batches of
 * different buckets arrive in any order. A full bucket blocks the input until a consumer takes
 * batches.
 *
 * End. The last input thread closes the bucket queues. Each bucket then delivers its full batches.
 * With allow_smaller_final_batch the remainders follow as one smaller batch each, in the order of
 * the buckets; otherwise levada_bucket_get_counts reports them as dropped. The last bucket closes
 * the top queue, and consumers receive EOUT_OF_RANGE, or the error that ended the input.
 *
 * Stop. A stop of the coordinator closes all queues and cancels the calls that wait to enqueue.
 *
 * Threads. One owner destroys a bucket; every other function may be called from any thread.
 *
 * Example:
 *
 *     levada_bucket_options options = LEVADA_BUCKET_OPTIONS_INIT;
 *     levada_dataset       *dataset = NULL;
 *     levada_bucket        *bucket = NULL;
 *     levada_tensor        *batch = NULL;
 *     int32_t               index;
 *
 *     LEVADA_TRY(levada_dataset_parse(NULL, "range:40 | batch:4 | collect", &dataset, err));
 *     options.dataset = dataset; // records of one field, a sequence of 4 numbers
 *     options.boundaries = (int64_t[]){3};
 *     options.nboundaries = 1;
 *     options.batch_sizes = (int64_t[]){5};
 *     options.nbatch_sizes = 1;
 *     options.dynamic_pad = true;
 *     LEVADA_TRY(levada_bucket_create(NULL, &options, &bucket, err));
 *     LEVADA_TRY(levada_bucket_start(bucket, NULL, err));
 *     LEVADA_TRY(levada_bucket_next(bucket, &index, NULL, &batch, LEVADA_FOREVER, err)); // [5, 4]
 *     levada_tensor_unref(&batch);
 *     levada_bucket_destroy(&bucket);
 *     levada_dataset_unref(&dataset);
 */
#ifndef LEVADA_BUCKET_H
#define LEVADA_BUCKET_H

#include <levada/coordinator.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_bucket levada_bucket;

/* Options of a bucket. Functions and `user` must stay valid until the bucket is destroyed. Arrays
 * and strings are copied. */
typedef struct levada_bucket_options {
    size_t struct_size;

    /* -- where elements come from: `next`, or `dataset`, or neither (levada_bucket_put) */

    /* Returns one element in components[0 .. ncomponents), which the bucket then owns. LEVADA_END
     * or EOUT_OF_RANGE at the end. num_threads threads call it at the same time. */
    levada_status (*next)(void *user, levada_tensor **components, levada_error *err);
    void   *user;        /* passed to next, key and keep    */
    int32_t num_threads; /* threads that call `next`; 0 = 1 */
    /* A dataset of records, not of batches. One thread moves whole blocks. */
    const levada_dataset      *dataset;
    const levada_iter_options *iter;   /* NULL = the defaults                                   */
    const char *const         *fields; /* fields of the dataset, one component each; NULL = all */

    /* -- elements */

    int32_t             ncomponents; /* 0 with a dataset and without `fields`: all of its fields */
    const levada_dtype *dtypes;      /* NULL with a dataset: the dtypes of its fields            */
    const levada_shape *shapes;      /* NULL with a dataset. Without dynamic_pad fully known     */
    bool                dynamic_pad; /* batches are padded on the right with 0, false or ""      */

    /* -- which bucket */

    /* Sets *key to the key of an element; NULL = component number key_component is the key, an
     * integer scalar. With boundaries that component may also be of rank 1 or more, because its
     * first dimension is the length. Not used with a dataset, where `map` can add a field for the
     * key. */
    levada_status (*key)(void *user, levada_tensor *const *components, int64_t *key,
                         levada_error *err);
    int32_t key_component;
    /* Sets *keep to false to drop an element; NULL = component number keep_component, a bool or
     * integer scalar; -1 = all elements are kept. */
    levada_status (*keep)(void *user, levada_tensor *const *components, bool *keep,
                          levada_error *err);
    int32_t        keep_component;
    int32_t        num_buckets; /* 0 with boundaries: nboundaries + 1               */
    const int64_t *boundaries;  /* NULL, or nboundaries strictly increasing lengths */
    int32_t        nboundaries;

    /* -- sizes */

    const int64_t *batch_sizes; /* 1 for all buckets, or num_buckets */
    int32_t        nbatch_sizes;
    int64_t        capacity;   /* capacity of the top queue in batches, and of each bucket queue
                                * in elements; -1 = unbounded */
    const int64_t *capacities; /* one for each bucket queue; NULL = `capacity` */
    int32_t        ncapacities;
    bool           allow_smaller_final_batch;
    const char    *name;        /* NULL = "bucket" */
    const char    *shared_name; /* NULL, or s: the bucket queues are shared as s_0, s_1, ...
                                 * and the top queue as s                                 */
} levada_bucket_options;

#define LEVADA_BUCKET_OPTIONS_INIT                                                             \
    {                                                                                          \
        sizeof(levada_bucket_options), NULL, NULL, 0, NULL, NULL, NULL, 0, NULL, NULL, false,  \
            NULL, 0, NULL, -1, 0, NULL, 0, NULL, 0, 32, NULL, 0, false, NULL, NULL             \
    }
/* Sets *all to its defaults, for languages without macros; size is
 * sizeof(levada_bucket_options). */
LEVADA_API void levada_bucket_options_init(levada_bucket_options *all, size_t size);

/* Returns EINVALID_ARGUMENT unless numbers, sizes, capacities and boundaries fit together. For
 * callers that do not know the types of the elements yet. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_bucket_check(const levada_bucket_options *options, levada_error *err);
/* Creates the queues; no thread runs and no source is read before levada_bucket_start. */
LEVADA_API LEVADA_MUST_USE levada_status levada_bucket_create(levada_env                  *env,
                                                              const levada_bucket_options *options,
                                                              levada_bucket              **out,
                                                              levada_error                *err);
/* Cancels the queues and waits until its threads no longer call functions of the options, so do not
 * call it from such a function. No other call may be running. Accepts NULL. */
LEVADA_API void levada_bucket_destroy(levada_bucket **bucket);

/* Starts one thread for each bucket and the threads of the source. They belong to the coordinator,
 * or to the bucket if it is NULL. Returns AGAIN and does nothing while they run. After an error the
 * call may be repeated. */
LEVADA_API LEVADA_MUST_USE levada_status levada_bucket_start(levada_bucket      *bucket,
                                                             levada_coordinator *coordinator,
                                                             levada_error       *err);

/* Returns the next batch: the number of its bucket, and ncomponents tensors with one more
 * dimension, which the caller owns. `lengths` (may be NULL) receives an int32 tensor [n] if there
 * are boundaries, otherwise NULL. Returns EOUT_OF_RANGE at the end, or the error that ended the
 * input. */
LEVADA_API LEVADA_MUST_USE levada_status levada_bucket_next(levada_bucket *bucket, int32_t *index,
                                                            levada_tensor **lengths,
                                                            levada_tensor **components,
                                                            int64_t timeout, levada_error *err);

/* -- for threads of the caller */

/* Puts an element (borrowed) into its bucket, as the input threads do. Returns ECANCELLED if the
 * bucket is closed. */
LEVADA_API LEVADA_MUST_USE levada_status levada_bucket_put(levada_bucket        *bucket,
                                                           levada_tensor *const *components,
                                                           int64_t timeout, levada_error *err);
/* Puts the records of a block into their buckets. columns[i] is the column of component i (NULL:
 * the first columns, in order); the records of each bucket stay in order. If the call fails, the
 * records that were not added count as dropped. */
LEVADA_API LEVADA_MUST_USE levada_status levada_bucket_put_block(levada_bucket      *bucket,
                                                                 const levada_block *block,
                                                                 const int32_t      *columns,
                                                                 int64_t             timeout,
                                                                 levada_error       *err);
/* Ends the input: closes the bucket queues. With cancel_pending, calls that wait to enqueue end
 * with ECANCELLED. */
LEVADA_API void levada_bucket_close(levada_bucket *bucket, bool cancel_pending);
/* Moves full batches of bucket i to the top queue, as a thread of levada_bucket_start does, until
 * the queue of the bucket is closed and drained; then returns EOUT_OF_RANGE. Call it once for each
 * bucket. Returns EABORTED if its call was cancelled while the queues were open. */
LEVADA_API LEVADA_MUST_USE levada_status levada_bucket_run(levada_bucket *bucket, int32_t i,
                                                           levada_error *err);

/* -- looking */

/* Sets *index to the bucket that a key belongs to. */
LEVADA_API LEVADA_MUST_USE levada_status levada_bucket_index(const levada_bucket *bucket,
                                                             int64_t key, int32_t *index,
                                                             levada_error *err);
/* Returns the queue of bucket i, or the top queue if i is -1: borrowed; NULL if i is out of range.
 * With boundaries, elements of a bucket queue begin with the length, an int32 scalar; elements of
 * the top queue begin with the number of the bucket. */
LEVADA_API levada_queue *levada_bucket_queue(const levada_bucket *bucket, int32_t i);

typedef struct levada_bucket_counts {
    size_t  struct_size;
    int64_t batches;  /* delivered to the top queue */
    int64_t records;  /* in these batches           */
    int64_t dropped;  /* lost for good: remainders at the end, and records in flight at a stop or
                       * an error                                                                */
    int64_t filtered; /* not kept */
} levada_bucket_counts;

#define LEVADA_BUCKET_COUNTS_INIT                    \
    {                                                \
        sizeof(levada_bucket_counts), 0, 0, 0, 0     \
    }
/* Sets *all to its defaults, for languages without macros; size is sizeof(levada_bucket_counts). */
LEVADA_API void levada_bucket_counts_init(levada_bucket_counts *all, size_t size);
/* Copies the counts of the bucket to *out. */
LEVADA_API LEVADA_MUST_USE levada_status levada_bucket_get_counts(const levada_bucket  *bucket,
                                                                  levada_bucket_counts *out,
                                                                  levada_error         *err);

#ifdef __cplusplus
}
#endif

#endif
