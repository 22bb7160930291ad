/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bucket over queues from the inside: bucket_queue.c creates it and runs its threads,
 * bucket_queue_options.c checks options and creates the queues, bucket_queue_put.c puts elements
 * and blocks into the bucket queues, bucket_queue_run.c moves batches to the top queue.
 *
 * Queue runners hold references, because a thread that waits for the stop of a coordinator may
 * outlive the handle of the user.
 */
#ifndef LEVADA_TRAIN_BUCKET_QUEUE_PRIV_H
#define LEVADA_TRAIN_BUCKET_QUEUE_PRIV_H

#include "runtime/queue_priv.h"

#include <levada/bucket.h>

typedef struct levada_bucket_queue_slot {
    levada_bucket *bucket;
    int32_t        i;
    int64_t        batch_size;
    levada_queue  *queue;
    levada_tensor *number; /* i, the first component of its batches */
    /* -- guarded by lock */
    bool            ended; /* nobody takes elements from the queue any more */
    bool            has_rest; /* ... until all buckets have ended */
    levada_tensor **rest;     /* space for the smaller final batch */
} levada_bucket_queue_slot;

struct levada_bucket {
    unsigned              process; /* that it belongs to (base/process.h) */
    levada_bucket_options options; /* pointers of callers, but for functions and user, are unset */
    levada_env           *env;
    levada_pool          *pool;
    int32_t               n; /* buckets */
    int32_t               ncomponents; /* of an element in a bucket queue: with the length */
    bool                  by_length;
    bool                  has_lock;
    int64_t              *boundaries; /* n - 1 */
    levada_bucket_queue_slot   *slots;
    levada_queue         *top;
    levada_queue_runner  *input, *output; /* NULL: the caller's threads do that */
    levada_dataset       *dataset;
    levada_iter_options   iter_options;
    char                 *iter_errors;
    levada_iter          *iter;    /* opened before its threads run */
    int32_t              *columns; /* of the dataset, one for each component */
    levada_lock           lock;
    /* -- guarded by lock */
    int32_t              refs;
    int32_t              left; /* buckets that have not ended */
    levada_error         failed;
    levada_bucket_counts counts; /* dropped: without those that the queues hold */
};

/* -- bucket_queue_options.c -- */

levada_status levada_bucket_queue_short(levada_error *err); /* of memory */
int32_t       levada_bucket_queue_count(const levada_bucket_options *options);
/* Options of a caller, checked. */
LEVADA_MUST_USE levada_status levada_bucket_queue_read_options(const levada_bucket_options *options,
                                                               levada_bucket_options       *all,
                                                               levada_error                *err);
/* Makes the queues, ncomponents and columns. */
LEVADA_MUST_USE levada_status levada_bucket_queue_make_queues(levada_bucket               *bucket,
                                                              const levada_bucket_options *options,
                                                              levada_error                *err);

/* -- bucket_queue.c -- */

/* Keeps the first real error for consumers, and changes ECANCELLED of a call in queues that are
 * open into EABORTED: else the input would seem to be complete. Returns the status. */
levada_status levada_bucket_queue_fail(levada_bucket *bucket, levada_status status,
                                       levada_error *err);
void levada_bucket_queue_add(levada_bucket *bucket, const levada_bucket_counts *more);

#endif
