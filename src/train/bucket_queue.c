/* SPDX-License-Identifier: Apache-2.0 */
#include <levada/binding.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "base/versioned.h"
#include "batch/bucket_rule.h"
#include "registry/env_priv.h"
#include "train/bucket_queue_priv.h"

#include <stdio.h>
#include <string.h>

/* -- making and freeing ------------------------------------------------------------------------ */

static bool bucket_drop(levada_bucket *b)
{
    bool last;

    if (!b->has_lock) return true;
    /* In the child of a fork: a thread of the parent that was changing it does not exist there. */
    if (!LEVADA_OURS(b) && !levada_lock_is_free(&b->lock)) return false;
    levada_lock_take(&b->lock);
    last = --b->refs == 0;
    levada_lock_give(&b->lock);
    return last;
}

static void bucket_unref(levada_bucket *b)
{
    if (!bucket_drop(b)) return;
    for (int32_t i = 0; b->slots != NULL && i < b->n; i++) {
        levada_bucket_queue_slot *slot = &b->slots[i];

        for (int32_t k = 0; slot->has_rest && k < b->ncomponents; k++) {
            levada_tensor_unref(&slot->rest[k]);
        }
        levada_free(slot->rest);
        levada_tensor_unref(&slot->number);
        levada_queue_unref(&slot->queue);
    }
    levada_free(b->slots);
    levada_queue_unref(&b->top);
    levada_iter_close(&b->iter);
    levada_dataset_unref(&b->dataset);
    levada_free(b->iter_errors);
    levada_free(b->boundaries);
    levada_free(b->columns);
    if (b->has_lock) levada_lock_clear(&b->lock);
    if (b->pool != NULL) levada_pool_unref(&b->pool);
    levada_env_unref(&b->env);
    levada_free(b);
}

static void bucket_release(void *user) { bucket_unref(user); }

static levada_status bucket_copy(levada_bucket *b, const levada_bucket_options *o,
                                 levada_error *err)
{
    size_t rows = o->boundaries != NULL ? (size_t)o->nboundaries : 0;

    b->n = levada_bucket_queue_count(o);
    b->left = b->n;
    b->by_length = o->boundaries != NULL;
    b->options = *o;
    b->boundaries = levada_alloc(rows * sizeof(*b->boundaries));
    b->slots = levada_alloc_zero((size_t)b->n * sizeof(*b->slots));
    if (b->boundaries == NULL || b->slots == NULL) return levada_bucket_queue_short(err);
    if (rows > 0) memcpy(b->boundaries, o->boundaries, rows * sizeof(*b->boundaries));
    b->iter_options = (levada_iter_options)LEVADA_ITER_OPTIONS_INIT;
    if (o->dataset != NULL) b->dataset = levada_dataset_ref(o->dataset);
    if (o->dataset != NULL && o->iter != NULL) {
        LEVADA_TRY(LEVADA_VERSIONED_READ(b->iter_options, o->iter, levada_iter_options, err));
        if (b->iter_options.errors != NULL) {
            b->iter_errors = levada_strdup(b->iter_options.errors);
            if (b->iter_errors == NULL) return levada_bucket_queue_short(err);
            b->iter_options.errors = b->iter_errors;
        }
    }
    if (o->dataset == NULL) return LEVADA_OK;
    return levada_iter_open(o->dataset, &b->iter_options, &b->iter, err);
}

static levada_status bucket_make_slots(levada_bucket *b, const levada_bucket_options *o,
                                       levada_error *err)
{
    const levada_shape scalar = { 0, { 0 } };

    for (int32_t i = 0; i < b->n; i++) {
        levada_bucket_queue_slot *slot = &b->slots[i];

        slot->bucket = b;
        slot->i = i;
        slot->batch_size = levada_bucket_rule_size(o->batch_sizes, o->nbatch_sizes, i);
        slot->rest = levada_alloc((size_t)b->ncomponents * sizeof(levada_tensor *));
        if (slot->rest == NULL) return levada_bucket_queue_short(err);
        LEVADA_TRY(levada_tensor_make(b->pool, LEVADA_INT32, &scalar, &slot->number, err));
        memcpy(slot->number->data, &i, sizeof(i));
    }
    return LEVADA_OK;
}

static levada_status bucket_make(levada_env *env, const levada_bucket_options *o,
                                 levada_bucket **out, levada_error *err)
{
    levada_bucket *b = levada_alloc_zero(sizeof(*b));
    levada_status  st;

    if (b == NULL) return levada_bucket_queue_short(err);
    b->refs = 1;
    b->process = levada_process();
    levada_error_clear(&b->failed);
    b->env = levada_env_ref(env);
    b->pool = levada_env_pool(env);
    if (b->pool != NULL) levada_pool_ref(b->pool);
    st = b->pool != NULL ? bucket_copy(b, o, err) : levada_bucket_queue_short(err);
    if (st == LEVADA_OK) st = levada_lock_init(&b->lock, LEVADA_LOCK_LIST, err);
    b->has_lock = st == LEVADA_OK;
    if (st == LEVADA_OK) *out = b;
    else bucket_unref(b);
    return st;
}

/* -- threads ----------------------------------------------------------------------------------- */

/* Returns true if the bucket queues were closed, or are about to be: the first one is. */
static bool bucket_is_closed(const levada_bucket *b)
{
    return levada_queue_is_closed(b->slots[0].queue);
}

levada_status levada_bucket_queue_fail(levada_bucket *b, levada_status status, levada_error *err)
{
    if (status == LEVADA_ECANCELLED && !bucket_is_closed(b) &&
        !levada_queue_is_closed(b->top)) {
        status = levada_fail(err, LEVADA_EABORTED,
                             "a call in the queues of '%s' was cancelled while they were open: "
                             "the input is incomplete",
                             levada_queue_info(b->top)->name);
    }
    if (status >= 0 || status == LEVADA_EOUT_OF_RANGE || status == LEVADA_ECANCELLED) {
        return status;
    }
    levada_lock_take(&b->lock);
    if (b->failed.code == LEVADA_OK) {
        if (err->code == status) b->failed = *err;
        else levada_fail(&b->failed, status,
                         "the input of a bucket failed: %s", levada_status_text(status));
    }
    levada_lock_give(&b->lock);
    return status;
}

void levada_bucket_queue_add(levada_bucket *b, const levada_bucket_counts *more)
{
    levada_lock_take(&b->lock);
    b->counts.batches += more->batches;
    b->counts.records += more->records;
    b->counts.dropped += more->dropped;
    b->counts.filtered += more->filtered;
    levada_lock_give(&b->lock);
}

static levada_status bucket_input(void *user, levada_error *err)
{
    levada_bucket *b = user;
    levada_tensor *element[LEVADA_QUEUE_COMPONENTS] = { NULL };
    levada_status  st = b->options.next(b->options.user, element, err);

    if (st == LEVADA_OK) {
        st = levada_bucket_queue_fail(b, levada_bucket_put(b, element, LEVADA_FOREVER, err), err);
        if (st != LEVADA_OK) levada_bucket_queue_add(b, &(levada_bucket_counts){ .dropped = 1 });
    } else if (st != LEVADA_ECANCELLED) {
        st = levada_bucket_queue_fail(b, st, err);
    }
    for (int32_t i = 0; i < b->ncomponents - b->by_length; i++) levada_tensor_unref(&element[i]);
    return st;
}

static levada_status bucket_input_block(void *user, levada_error *err)
{
    levada_bucket *b = user;
    levada_block  *block = NULL;
    levada_status  st = levada_iter_next(b->iter, &block, err);

    if (st == LEVADA_OK) st = levada_bucket_put_block(b, block, b->columns, LEVADA_FOREVER, err);
    levada_block_unref(&block);
    return levada_bucket_queue_fail(b, st, err);
}

static levada_status bucket_output(void *user, levada_error *err)
{
    levada_bucket_queue_slot *slot = user;

    return levada_bucket_run(slot->bucket, slot->i, err);
}

static void bucket_close_input(void *user) { levada_bucket_close(user, false); }

static void bucket_cancel_input(void *user)
{
    levada_bucket *b = user;

    levada_bucket_close(b, true);
    if (b->iter != NULL) levada_iter_cancel(b->iter);
}

static const levada_status bucket_ends[] = { LEVADA_EOUT_OF_RANGE, LEVADA_ECANCELLED };

static levada_status bucket_make_runner(levada_bucket *b, levada_queue *queue,
                                        levada_queue_runner_options *how,
                                        levada_queue_runner **out, levada_error *err)
{
    how->closed = bucket_ends;
    how->nclosed = 2;
    how->user = b;
    how->release = bucket_release;
    LEVADA_TRY(levada_queue_runner_create(queue, how, out, err));
    levada_lock_take(&b->lock);
    b->refs++;
    levada_lock_give(&b->lock);
    return LEVADA_OK;
}

static levada_status bucket_make_output(levada_bucket *b, levada_error *err)
{
    levada_queue_runner_options how = LEVADA_QUEUE_RUNNER_OPTIONS_INIT;
    size_t                      name = sizeof("enqueue_from_bucket_") + 11;
    levada_enqueue_op          *ops = levada_alloc((size_t)b->n * sizeof(*ops));
    char                       *names = levada_alloc((size_t)b->n * name);
    levada_status               st = LEVADA_OK;

    if (ops == NULL || names == NULL) st = levada_bucket_queue_short(err);
    for (int32_t i = 0; st == LEVADA_OK && i < b->n; i++) {
        char *text = names + (size_t)i * name;

        (void)snprintf(text, name, "enqueue_from_bucket_%d", (int)i);
        ops[i] = (levada_enqueue_op){ bucket_output, &b->slots[i], text };
    }
    how.nops = b->n;
    how.ops = ops;
    if (st == LEVADA_OK) st = bucket_make_runner(b, b->top, &how, &b->output, err);
    levada_free(names);
    levada_free(ops);
    return st;
}

static levada_status bucket_make_input(levada_bucket *b, levada_error *err)
{
    levada_queue_runner_options how = LEVADA_QUEUE_RUNNER_OPTIONS_INIT;
    bool                        blocks = b->dataset != NULL;
    int32_t                     n = blocks || b->options.num_threads < 1 ? 1
                                                                         : b->options.num_threads;
    levada_enqueue_op          *ops;
    levada_status               st;

    if (!blocks && b->options.next == NULL) return LEVADA_OK;
    ops = levada_alloc((size_t)n * sizeof(*ops));
    if (ops == NULL) return levada_bucket_queue_short(err);
    for (int32_t i = 0; i < n; i++) {
        ops[i] = (levada_enqueue_op){ blocks ? bucket_input_block : bucket_input, b, NULL };
    }
    how.nops = n;
    how.ops = ops;
    how.close = bucket_close_input;
    how.cancel = bucket_cancel_input;
    st = bucket_make_runner(b, b->slots[0].queue, &how, &b->input, err);
    levada_free(ops);
    return st;
}

levada_status levada_bucket_start(levada_bucket *bucket, levada_coordinator *coordinator,
                                  levada_error *err)
{
    levada_bucket *b = bucket;
    levada_status  output, input = LEVADA_AGAIN;

    LEVADA_TRY(LEVADA_USABLE(bucket, "bucket", err));
    if (b->output == NULL) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "this bucket runs on the threads of the caller and has no threads to "
                           "start");
    }
    output = levada_queue_runner_start(b->output, coordinator, err);
    if (output < 0) return output;
    if (b->input != NULL) input = levada_queue_runner_start(b->input, coordinator, err);
    return input == LEVADA_AGAIN ? output : input;
}

/* -- public calls ------------------------------------------------------------------------------ */

levada_status levada_bucket_create(levada_env *env, const levada_bucket_options *options,
                                   levada_bucket **out, levada_error *err)
{
    levada_bucket_options all;
    levada_bucket        *b = NULL;
    levada_status         st;

    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_bucket_queue_read_options(options, &all, err));
    LEVADA_TRY(bucket_make(env, &all, &b, err));
    st = levada_bucket_queue_make_queues(b, &all, err);
    if (st == LEVADA_OK) st = bucket_make_slots(b, &all, err);
    if (st == LEVADA_OK) st = bucket_make_output(b, err);
    if (st == LEVADA_OK) st = bucket_make_input(b, err);
    if (st == LEVADA_OK) *out = b;
    else levada_bucket_destroy(&b);
    return st;
}

levada_status levada_bucket_over(const levada_bucket_options *options,
                                 levada_queue *const *queues, levada_queue *top,
                                 levada_bucket **out, levada_error *err)
{
    levada_bucket_options all;
    levada_bucket        *b = NULL;
    levada_status         st;

    LEVADA_TRY(levada_require(queues != NULL && top != NULL, "queues", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_bucket_queue_read_options(options, &all, err));
    LEVADA_TRY(bucket_make(NULL, &all, &b, err));
    b->ncomponents = levada_queue_info(queues[0])->ncomponents;
    b->top = levada_queue_ref(top);
    for (int32_t i = 0; i < b->n; i++) b->slots[i].queue = levada_queue_ref(queues[i]);
    st = bucket_make_slots(b, &all, err);
    if (st == LEVADA_OK) *out = b;
    else bucket_unref(b);
    return st;
}

void levada_bucket_close(levada_bucket *bucket, bool cancel_pending)
{
    if (!LEVADA_OURS(bucket)) return;
    for (int32_t i = 0; i < bucket->n; i++) {
        /* The one way to fail is that somebody else has closed it. */
        levada_status st = levada_queue_close(bucket->slots[i].queue, cancel_pending,
                                              LEVADA_FOREVER, NULL);

        (void)st;
    }
}

static void bucket_wait(levada_queue_runner *runner)
{
    levada_status st = LEVADA_OK;

    if (runner != NULL) st = levada_queue_runner_wait(runner, LEVADA_FOREVER, NULL);
    (void)st;
}

void levada_bucket_destroy(levada_bucket **bucket)
{
    levada_bucket *b = bucket != NULL ? *bucket : NULL;

    if (b == NULL) return;
    *bucket = NULL;
    if (LEVADA_OURS(b) && b->output != NULL) {
        levada_status st;

        bucket_cancel_input(b);
        st = levada_queue_close(b->top, true, 0, NULL); /* never fails */
        (void)st;
        bucket_wait(b->input);
        bucket_wait(b->output);
    }
    levada_queue_runner_destroy(&b->input);
    levada_queue_runner_destroy(&b->output);
    bucket_unref(b);
}

levada_status levada_bucket_next(levada_bucket *bucket, int32_t *index, levada_tensor **lengths,
                                 levada_tensor **components, int64_t timeout, levada_error *err)
{
    levada_tensor *all[LEVADA_QUEUE_COMPONENTS];
    levada_status  st;
    int32_t        first = 1;

    LEVADA_TRY(LEVADA_USABLE(bucket, "bucket", err));
    LEVADA_TRY(levada_require(index != NULL, "index", err));
    LEVADA_TRY(levada_require(components != NULL, "components", err));
    st = levada_queue_dequeue(bucket->top, all, timeout, err);
    if (st == LEVADA_EOUT_OF_RANGE) {
        levada_lock_take(&bucket->lock);
        if (bucket->failed.code != LEVADA_OK) {
            st = bucket->failed.code;
            if (err != NULL) *err = bucket->failed;
        }
        levada_lock_give(&bucket->lock);
    }
    if (st != LEVADA_OK) return st;
    memcpy(index, all[0]->data, sizeof(*index));
    levada_tensor_unref(&all[0]);
    if (lengths != NULL) *lengths = NULL;
    if (bucket->by_length && lengths != NULL) *lengths = all[1];
    else if (bucket->by_length) levada_tensor_unref(&all[1]);
    if (bucket->by_length) first = 2;
    memcpy(components, all + first,
           (size_t)(bucket->ncomponents + 1 - first) * sizeof(*components));
    return LEVADA_OK;
}

levada_queue *levada_bucket_queue(const levada_bucket *bucket, int32_t i)
{
    if (!LEVADA_OURS(bucket) || i < -1 || i >= bucket->n) return NULL;
    return i < 0 ? bucket->top : bucket->slots[i].queue;
}

levada_status levada_bucket_get_counts(const levada_bucket *bucket, levada_bucket_counts *out,
                                       levada_error *err)
{
    levada_bucket       *b = (levada_bucket *)(uintptr_t)bucket; /* for its lock */
    levada_bucket_counts all = LEVADA_BUCKET_COUNTS_INIT;
    bool                 over;

    LEVADA_TRY(LEVADA_USABLE(bucket, "bucket", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_versioned_check(out, sizeof(all), "levada_bucket_counts", err));
    over = levada_queue_is_closed(b->top); /* nothing is delivered any more */
    levada_lock_take(&b->lock);
    all = b->counts;
    all.struct_size = sizeof(all);
    for (int32_t i = 0; i < b->n; i++) {
        const levada_bucket_queue_slot *slot = &b->slots[i];

        if (slot->ended || over) all.dropped += levada_queue_size(slot->queue);
        if (slot->has_rest && over) all.dropped += slot->rest[0]->shape.dims[0];
    }
    levada_lock_give(&b->lock);
    levada_versioned_write(out, &all, sizeof(all));
    return LEVADA_OK;
}

LEVADA_VERSIONED_INIT(levada_bucket_counts_init, levada_bucket_counts, LEVADA_BUCKET_COUNTS_INIT)
