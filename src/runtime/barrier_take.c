/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes: who gets which complete keys, and tensors made of them. A take gets all it asked for at
 * once, in the order in which the keys were first seen; tensors are made without the lock.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "base/versioned.h"
#include "runtime/barrier_priv.h"

#include <string.h>

typedef enum take_why {
    TAKE_OK,
    TAKE_DRAINED,
    TAKE_CANCELLED,
    TAKE_LATE,
    TAKE_NOT_NOW,
    TAKE_FORKED
} take_why;

typedef struct take_op {
    levada_waiter         waiter; /* first: a waiter is its op */
    int64_t               n, got, total;
    bool                  small, patient;
    take_why              why;
    levada_barrier_entry *first, *last;
} take_op;

/* -- the contract ------------------------------------------------------------------------------ */

static void take_give(levada_barrier *b, take_op *op, int64_t n)
{
    LEVADA_ASSERT(op->got == 0 && n <= b->nready);
    for (; op->got < n; op->got++) {
        levada_barrier_entry *entry = levada_barrier_pop(b);

        entry->next = NULL;
        if (op->last != NULL) op->last->next = entry;
        else op->first = entry;
        op->last = entry;
    }
    atomic_fetch_add_explicit(&b->held, n, memory_order_relaxed);
}

/* Returns true if the op got what it can get; *why is set then. */
static bool take_serve(levada_barrier *b, take_op *op, take_why *why)
{
    int64_t enough = op->n > 0 ? op->n : 1, coming = b->nincomplete;

    *why = TAKE_OK;
    if (!b->closed) {
        if (b->nready < op->n) return false;
        take_give(b, op, op->n);
        return true;
    }
    if (op->small && !op->patient) coming = 0;
    if (b->nready >= enough) {
        take_give(b, op, op->n);
        return true;
    }
    op->total = b->nready + coming;
    if (op->n == 0 && op->total > 0) return true;
    if (coming > 0 && (op->small || op->total >= enough)) return false;
    if (op->small && b->nready > 0) take_give(b, op, b->nready < op->n ? b->nready : op->n);
    else *why = TAKE_DRAINED;
    return true;
}

static void take_finish(levada_barrier *b, take_op *op, take_why why, levada_woken *woken)
{
    op->why = why;
    levada_waiter_finish(&b->takes, &op->waiter, LEVADA_OK, woken);
}

void levada_barrier_settle(levada_barrier *barrier, levada_woken *woken)
{
    while (barrier->takes.head != NULL) {
        take_op *op = (take_op *)(void *)barrier->takes.head;
        take_why why;

        if (!take_serve(barrier, op, &why)) break;
        take_finish(barrier, op, why, woken);
    }
}

void levada_barrier_cancel(levada_barrier *barrier)
{
    levada_woken woken = { 0 };

    if (!LEVADA_OURS(barrier)) return;
    levada_lock_take(&barrier->lock);
    while (barrier->takes.head != NULL) {
        take_finish(barrier, (take_op *)(void *)barrier->takes.head, TAKE_CANCELLED, &woken);
    }
    levada_lock_give(&barrier->lock);
    levada_wake(&woken);
}

/* Returns complete keys to their places. */
static void take_return(levada_barrier *b, take_op *op)
{
    levada_woken woken = { 0 };

    levada_lock_take(&b->lock);
    while (op->first != NULL) {
        levada_barrier_entry *entry = op->first;

        op->first = entry->next;
        levada_barrier_push(b, entry);
    }
    atomic_fetch_sub_explicit(&b->held, op->got, memory_order_relaxed);
    levada_barrier_settle(b, &woken);
    levada_lock_give(&b->lock);
    levada_wake(&woken);
}

static bool take_accepted(const levada_barrier *b, const take_op *op)
{
    return b->site.accept == NULL || op->why != TAKE_OK || b->site.accept(b->site.accept_user);
}

/* Keys that came for somebody who does not want them any more go back. */
static void take_undo(levada_barrier *b, take_op *op)
{
    take_return(b, op);
    op->why = TAKE_CANCELLED;
}

static void take_wait(levada_barrier *b, take_op *op, int64_t timeout)
{
    int64_t      until = levada_until(timeout);
    levada_woken woken = { 0 };
    bool         mine;

    levada_wait_end end = levada_waiter_wait(&op->waiter, &b->site, "take_many", op->n, until);
    if (end == LEVADA_WAIT_FORKED) {
        op->why = TAKE_FORKED;
        return;
    }
    if (end == LEVADA_WAIT_DONE) {
        if (!take_accepted(b, op)) take_undo(b, op);
        return;
    }
    levada_lock_take(&b->lock);
    mine = op->waiter.linked;
    if (mine) {
        op->waiter.waits = false;
        take_finish(b, op, end == LEVADA_WAIT_LATE ? TAKE_LATE : TAKE_CANCELLED, &woken);
        levada_barrier_settle(b, &woken);
    }
    levada_lock_give(&b->lock);
    levada_wake(&woken);
    if (mine) levada_waiter_clear(&op->waiter);
    else levada_waiter_settle(&op->waiter);
    if (mine || op->why != TAKE_OK) return;
    if (end == LEVADA_WAIT_STOPPED || !take_accepted(b, op)) take_undo(b, op);
}

static levada_status take_run(levada_barrier *b, take_op *op, int64_t timeout, levada_error *err)
{
    levada_woken woken = { 0 };
    bool         waits;

    levada_lock_take(&b->lock);
    levada_line_append(&b->takes, &op->waiter);
    levada_barrier_settle(b, &woken);
    if (op->waiter.linked && (timeout == 0 || timeout == LEVADA_AT_ONCE)) {
        take_finish(b, op, TAKE_LATE, &woken);
        if (timeout != 0) op->why = TAKE_NOT_NOW;
    }
    waits = op->waiter.linked;
    if (waits) levada_waiter_prepare(&op->waiter);
    levada_lock_give(&b->lock);
    levada_wake(&woken);
    if (waits) take_wait(b, op, timeout);
    switch (op->why) {
    case TAKE_OK: return LEVADA_OK;
    case TAKE_NOT_NOW: return LEVADA_AGAIN;
    case TAKE_FORKED: return levada_process_refuse("barrier", err);
    case TAKE_DRAINED:
        return levada_fail(err, LEVADA_EOUT_OF_RANGE,
                           "Barrier '%s' is closed and has insufficient elements "
                           "(requested %lld, total size %lld)",
                           b->name, (long long)op->n, (long long)op->total);
    case TAKE_LATE:
        return levada_fail(err, LEVADA_EDEADLINE_EXCEEDED,
                           "Barrier '%s': take_many(%lld) timed out after %.3f s", b->name,
                           (long long)op->n, (double)timeout * 1e-9);
    default:
        return levada_fail(err, LEVADA_ECANCELLED, "Barrier '%s': Dequeue operation was cancelled",
                           b->name);
    }
}

/* -- tensors ----------------------------------------------------------------------------------- */

static levada_status take_indices(const levada_barrier *b, const take_op *op, levada_tensor **out,
                                  levada_error *err)
{
    levada_shape shape = { 1, { op->got } };
    int64_t     *to;

    LEVADA_TRY(levada_tensor_make(b->pool, LEVADA_INT64, &shape, out, err));
    to = (int64_t *)(void *)(*out)->data;
    for (const levada_barrier_entry *e = op->first; e != NULL; e = e->next) *to++ = e->index;
    return LEVADA_OK;
}

static levada_status take_keys(const levada_barrier *b, const take_op *op, levada_tensor **out,
                               levada_error *err)
{
    levada_shape shape = { 1, { op->got } };
    int64_t      bytes = 0;
    int32_t     *offset;

    for (const levada_barrier_entry *e = op->first; e != NULL; e = e->next) bytes += e->key_size;
    LEVADA_TRY(levada_tensor_make_strings(b->pool, &shape, bytes, out, err));
    offset = (*out)->offsets;
    offset[0] = 0;
    for (const levada_barrier_entry *e = op->first; e != NULL; e = e->next, offset++) {
        if (e->key_size > 0) {
            memcpy((*out)->data + offset[0], levada_barrier_entry_key(b, e), (size_t)e->key_size);
        }
        offset[1] = offset[0] + e->key_size;
    }
    return LEVADA_OK;
}

static levada_status take_rows(const levada_barrier *b, const take_op *op, int32_t c,
                               levada_tensor **out, levada_error *err)
{
    levada_shape shape = levada_shape_rows(&b->shapes[c], op->got);
    uint8_t     *to;

    LEVADA_TRY(levada_tensor_make(b->pool, b->dtypes[c], &shape, out, err));
    to = (*out)->data;
    for (const levada_barrier_entry *e = op->first; e != NULL; e = e->next) {
        memcpy(to, e->data + b->at[c], b->width[c]);
        to += b->width[c];
    }
    return LEVADA_OK;
}

static levada_status take_stack(const levada_barrier *b, const take_op *op, int32_t c,
                                levada_tensor **out, levada_error *err)
{
    levada_tensor **rows = levada_alloc((size_t)op->got * sizeof(levada_tensor *));
    int64_t         n = 0;
    levada_status   status = LEVADA_OK;
    char            a[LEVADA_SHAPE_TEXT], d[LEVADA_SHAPE_TEXT];

    if (rows == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    for (const levada_barrier_entry *e = op->first; e != NULL; e = e->next, n++) {
        memcpy(&rows[n], e->data + b->at[c], sizeof(rows[n]));
        if (status == LEVADA_OK && !levada_shape_equal(&rows[0]->shape, &rows[n]->shape)) {
            status = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                                 "Barrier '%s': values of component %d have shapes %s and %s",
                                 b->name, (int)c, levada_shape_print(&rows[0]->shape, a),
                                 levada_shape_print(&rows[n]->shape, d));
        }
    }
    if (status == LEVADA_OK) {
        levada_shape known = b->shapes[c];

        if (known.rank < 0) known.rank = 0;
        status = levada_tensor_stack(b->pool, b->dtypes[c], &known, rows, n, out, err);
    }
    levada_free(rows);
    return status;
}

static levada_status take_tensors(const levada_barrier *b, const take_op *op,
                                  levada_tensor **indices, levada_tensor **keys,
                                  levada_tensor **values, levada_error *err)
{
    LEVADA_TRY(take_indices(b, op, indices, err));
    LEVADA_TRY(take_keys(b, op, keys, err));
    for (int32_t c = 0; c < b->ncomponents; c++) {
        if (b->is_ref[c]) LEVADA_TRY(take_stack(b, op, c, &values[c], err));
        else LEVADA_TRY(take_rows(b, op, c, &values[c], err));
    }
    return LEVADA_OK;
}

levada_status levada_barrier_take_many(levada_barrier *barrier, const levada_barrier_take *how,
                                       levada_tensor **indices, levada_tensor **keys,
                                       levada_tensor **values, levada_error *err)
{
    levada_tensor      *made[LEVADA_BARRIER_COMPONENTS + 2];
    levada_barrier_take all = LEVADA_BARRIER_TAKE_INIT;
    take_op             op = { 0 };
    levada_status       status;
    int32_t             n;

    LEVADA_TRY(LEVADA_USABLE(barrier, "barrier", err));
    LEVADA_TRY(levada_require(how != NULL, "how", err));
    LEVADA_TRY(levada_require(indices != NULL, "indices", err));
    LEVADA_TRY(levada_require(keys != NULL, "keys", err));
    LEVADA_TRY(levada_require(values != NULL, "values", err));
    n = barrier->ncomponents;
    LEVADA_TRY(LEVADA_VERSIONED_READ(all, how, levada_barrier_take, err));
    op.n = all.n;
    op.small = all.allow_small_batch;
    op.patient = all.wait_for_incomplete;
    if (op.n < 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "Barrier '%s': requested %lld < 0 elements", barrier->name,
                           (long long)op.n);
    }
    LEVADA_TRY(take_run(barrier, &op, all.timeout, err));
    memset(made, 0, sizeof(made[0]) * (size_t)(n + 2));
    status = take_tensors(barrier, &op, &made[0], &made[1], made + 2, err);
    if (status != LEVADA_OK) {
        for (int32_t i = 0; i < n + 2; i++) levada_tensor_unref(&made[i]);
        take_return(barrier, &op);
        return status;
    }
    atomic_fetch_sub_explicit(&barrier->held, op.got, memory_order_relaxed);
    while (op.first != NULL) {
        levada_barrier_entry *entry = op.first;

        op.first = entry->next;
        levada_barrier_entry_free(barrier, entry);
    }
    *indices = made[0];
    *keys = made[1];
    memcpy(values, made + 2, sizeof(made[0]) * (size_t)n);
    return LEVADA_OK;
}

LEVADA_VERSIONED_INIT(levada_barrier_take_init, levada_barrier_take, LEVADA_BARRIER_TAKE_INIT)
