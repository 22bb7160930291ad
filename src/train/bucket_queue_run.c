/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches from the bucket queues to the top queue. No thread waits for another: a smaller final
 * batch stays in its slot until all buckets have ended, and the last one delivers them in order.
 */
#include "base/assert.h"
#include "base/process.h"
#include "train/bucket_queue_priv.h"

#include <string.h>

static void run_unref(levada_tensor **tensors, int32_t n)
{
    for (int32_t i = 0; i < n; i++) levada_tensor_unref(&tensors[i]);
}

static int64_t run_rows(levada_tensor *const *batch) { return batch[0]->shape.dims[0]; }

/* Pushes a batch (its tensors are dropped) to the top queue. */
static levada_status run_push(levada_bucket *b, const levada_bucket_queue_slot *slot,
                              levada_tensor **batch, levada_error *err)
{
    levada_tensor *all[LEVADA_QUEUE_COMPONENTS];
    int64_t        rows = run_rows(batch);
    levada_status  st;

    all[0] = slot->number;
    memcpy(all + 1, batch, (size_t)b->ncomponents * sizeof(*batch));
    st = levada_queue_enqueue(b->top, all, LEVADA_FOREVER, err);
    run_unref(batch, b->ncomponents);
    if (st == LEVADA_OK) levada_bucket_queue_add(b, &(levada_bucket_counts){ .batches = 1,
                                                 .records = rows });
    else levada_bucket_queue_add(b, &(levada_bucket_counts){ .dropped = rows });
    return st;
}

/* Moves one full batch; a smaller one ends the bucket: *rest becomes true. */
static levada_status run_move(levada_bucket *b, levada_bucket_queue_slot *slot, bool *rest,
                              levada_error *err)
{
    levada_tensor *batch[LEVADA_QUEUE_COMPONENTS];
    bool           smaller = b->options.allow_smaller_final_batch;

    LEVADA_TRY(levada_queue_dequeue_many(slot->queue, slot->batch_size, smaller, batch,
                                         LEVADA_FOREVER, err));
    if (run_rows(batch) == slot->batch_size) return run_push(b, slot, batch, err);
    memcpy(slot->rest, batch, (size_t)b->ncomponents * sizeof(*batch));
    *rest = true;
    return levada_queue_drained(slot->queue, slot->batch_size, run_rows(batch), err);
}

/* Returns true if it has a smaller final batch, which is the caller's then. */
static bool run_take_rest(levada_bucket *b, levada_bucket_queue_slot *slot)
{
    bool rest;

    levada_lock_take(&b->lock);
    rest = slot->has_rest;
    slot->has_rest = false;
    levada_lock_give(&b->lock);
    return rest;
}

/* Flushes the smaller final batches, in the order of the buckets. */
static levada_status run_flush(levada_bucket *b, levada_error *err)
{
    levada_status first = LEVADA_OK;

    for (int32_t i = 0; i < b->n; i++) {
        levada_bucket_queue_slot *slot = &b->slots[i];
        levada_status       st = LEVADA_OK;

        if (run_take_rest(b, slot)) {
            st = run_push(b, slot, slot->rest, first == LEVADA_OK ? err : NULL);
        }
        if (first == LEVADA_OK) first = st;
    }
    return first;
}

/* Returns true if this was the last bucket to end. */
static bool run_end(levada_bucket *b, levada_bucket_queue_slot *slot, bool rest)
{
    bool last = false;

    levada_lock_take(&b->lock);
    if (!slot->ended) {
        slot->ended = true;
        slot->has_rest = rest;
        last = --b->left == 0;
    }
    levada_lock_give(&b->lock);
    return last;
}

levada_status levada_bucket_run(levada_bucket *bucket, int32_t i, levada_error *err)
{
    levada_error  own = LEVADA_ERROR_INIT;
    levada_status st = LEVADA_OK, flushed = LEVADA_OK;
    bool          rest = false;

    LEVADA_TRY(LEVADA_USABLE(bucket, "bucket", err));
    if (i < 0 || i >= bucket->n) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "bucket %d is not in [0, %d)", (int)i,
                           (int)bucket->n);
    }
    while (st == LEVADA_OK) st = run_move(bucket, &bucket->slots[i], &rest, &own);
    st = levada_bucket_queue_fail(bucket, st, &own);
    /* Elements that nobody takes would fill the queue and block the input forever. */
    if (st != LEVADA_EOUT_OF_RANGE) levada_bucket_close(bucket, true);
    if (run_end(bucket, &bucket->slots[i], rest)) {
        levada_error late = LEVADA_ERROR_INIT;

        flushed = levada_bucket_queue_fail(bucket, run_flush(bucket, &late), &late);
        if (flushed != LEVADA_OK && st == LEVADA_EOUT_OF_RANGE) {
            st = flushed;
            own = late;
        }
    }
    if (err != NULL) *err = own;
    return st;
}
