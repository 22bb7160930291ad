/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Examples on their way in: reservations of capacity, and inserts with or without one.
 */
#include "base/alloc.h"
#include "base/process.h"
#include "base/versioned.h"
#include "runtime/delay.h"
#include "train/state_saver_priv.h"

#include <string.h>

#define INSERT_SUFFIX 24 /* bytes of a number that makes a key unique */

static levada_status insert_fail(const levada_state_saver *s, const levada_saver_op *op,
                                 const char *what, int64_t timeout, levada_error *err)
{
    const levada_saver_live *e = op->example;

    switch (op->why) {
    case LEVADA_SAVER_OK: return LEVADA_OK;
    case LEVADA_SAVER_NOT_NOW: return LEVADA_AGAIN;
    case LEVADA_SAVER_FORKED: return levada_process_refuse("state saver", err);
    case LEVADA_SAVER_MEMORY: return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    case LEVADA_SAVER_EXISTS:
        return levada_fail(err, LEVADA_EALREADY_EXISTS,
                           "State saver '%s': a live example already has the key '%.*s'", s->name,
                           e->key_size > 64 ? 64 : e->key_size,
                           (const char *)levada_saver_key(s, e));
    case LEVADA_SAVER_CLOSED:
        return levada_fail(err, LEVADA_ECANCELLED, "State saver '%s' is closed", s->name);
    case LEVADA_SAVER_LATE:
        return levada_fail(
            err, LEVADA_EDEADLINE_EXCEEDED,
            "State saver '%s': %s timed out after %.3f s: %lld of %lld examples live", s->name,
            what, (double)timeout * 1e-9, (long long)op->total, (long long)s->ledger.capacity);
    default:
        return levada_fail(err, LEVADA_ECANCELLED, "State saver '%s': %s was cancelled", s->name,
                           what);
    }
}

static int64_t insert_live(levada_state_saver *s)
{
    int64_t live;

    levada_lock_take(&s->lock);
    live = s->ledger.counts.live + s->ledger.counts.reserved;
    levada_lock_give(&s->lock);
    return live;
}

/* -- reservations ------------------------------------------------------------------------------ */

static void insert_unreserve(levada_state_saver *s, levada_saver_op *op)
{
    (void)op;
    s->ledger.counts.reserved--;
}

levada_status levada_state_saver_reserve(levada_state_saver *saver, int64_t timeout,
                                         levada_error *err)
{
    levada_saver_op op = { .n = -1 };

    LEVADA_TRY(LEVADA_USABLE(saver, "state saver", err));
    levada_saver_run(saver, &saver->inserts, &saver->insert_site, &op, "reserve", timeout,
                     insert_unreserve);
    if (op.why == LEVADA_SAVER_LATE) op.total = insert_live(saver);
    return insert_fail(saver, &op, "reserve", timeout, err);
}

void levada_state_saver_release(levada_state_saver *saver)
{
    levada_woken woken = { 0 };

    if (!LEVADA_OURS(saver)) return;
    levada_lock_take(&saver->lock);
    if (saver->ledger.counts.reserved > 0) saver->ledger.counts.reserved--;
    levada_saver_settle_locked(saver, &woken);
    levada_lock_give(&saver->lock);
    levada_wake(&woken);
}

/* -- examples ---------------------------------------------------------------------------------- */

static levada_status insert_make(const levada_state_saver *s, const levada_saver_example *in,
                                 const levada_saver_extent *extent, levada_saver_live **out,
                                 levada_error *err)
{
    levada_saver_live *e = levada_saver_live_create(s, in->key, in->key_size,
                                                    s->unique ? INSERT_SUFFIX : 0);
    levada_tensor    **to = e != NULL ? e->values : NULL;

    if (e != NULL) e->states = levada_saver_states_create(s, 0);
    if (e == NULL || e->states == NULL) {
        levada_saver_live_unref(s, e);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an example");
    }
    e->length = extent->length;
    e->sequence.nsegments = (int32_t)extent->nsegments;
    e->ordinal = in->ordinal < 0 ? -1 : in->ordinal;
    for (int32_t i = 0; i < s->nsequences; i++) *to++ = levada_tensor_ref(in->sequences[i]);
    for (int32_t i = 0; i < s->nsequences; i++) {
        *to++ = s->fields[i].ragged ? levada_tensor_ref(in->offsets[i]) : NULL;
    }
    for (int32_t i = 0; i < s->ncontext; i++) *to++ = levada_tensor_ref(in->context[i]);
    for (int32_t i = 0; i < s->nstates; i++) {
        e->states->values[i] = levada_tensor_ref(in->states[i]);
    }
    *out = e;
    return LEVADA_OK;
}

/* Returns the restored example that this one is the data of: by ordinal, or else by key. */
static levada_saver_live *insert_find_awaited(const levada_state_saver *s,
                                              const levada_saver_live *e)
{
    levada_saver_live *found = NULL;
    int64_t            low = 0, high = s->awaited.left > 0 ? s->awaited.n : 0;

    if (high == 0) return NULL;
    if (e->ordinal < 0) {
        found = levada_saver_find_locked(s, levada_saver_key(s, e), e->key_size);
    } else {
        while (low < high) {
            int64_t middle = (low + high) / 2;

            if (s->awaited.rows[middle]->ordinal < e->ordinal) low = middle + 1;
            else high = middle;
        }
        if (low < s->awaited.n && s->awaited.rows[low]->ordinal == e->ordinal) {
            found = s->awaited.rows[low];
        }
    }
    return found != NULL && found->awaited ? found : NULL;
}

/* Adopts the data of a restored example: what was saved of it must agree. */
static levada_status insert_adopt_locked(levada_state_saver *s, levada_saver_live *a,
                                         levada_saver_live *e, levada_error *err)
{
    levada_sequence *row;
    int32_t          size = e->key_size;
    bool             same = s->unique ? a->key_size >= size : a->key_size == size;

    if (!same || memcmp(levada_saver_key(s, a), levada_saver_key(s, e), (size_t)size) != 0 ||
        a->length != e->length || a->sequence.nsegments != e->sequence.nsegments) {
        return levada_fail(
            err, LEVADA_EFAILED_PRECONDITION,
            "State saver '%s': example %lld is '%.*s' (%lld steps), but '%.*s' (%lld "
            "steps) when the checkpoint was saved",
            s->name, (long long)e->ordinal, size > 40 ? 40 : size,
            (const char *)levada_saver_key(s, e), (long long)e->length,
            a->key_size > 40 ? 40 : a->key_size, (const char *)levada_saver_key(s, a),
            (long long)a->length);
    }
    memcpy(a->values, e->values, sizeof(levada_tensor *) * (size_t)levada_saver_nvalues(s));
    memset(e->values, 0, sizeof(levada_tensor *) * (size_t)levada_saver_nvalues(s));
    a->awaited = false;
    row = &a->sequence;
    levada_ledger_resume(&s->ledger, &row, 1);
    if (--s->awaited.left == 0) levada_saver_free_awaited(s);
    return LEVADA_OK;
}

/* Inserts an example of an ordinal that was inserted before, or the data of a restored one:
 * *done. */
static levada_status insert_again(levada_state_saver *s, levada_saver_live *e, bool *done,
                                  levada_error *err)
{
    levada_woken  woken = { 0 };
    levada_status st = LEVADA_OK;
    levada_saver_live *awaited;

    levada_lock_take(&s->lock);
    awaited = insert_find_awaited(s, e);
    *done = awaited != NULL || (e->ordinal >= 0 && levada_saver_saw_locked(s, e->ordinal));
    if (awaited != NULL) {
        st = insert_adopt_locked(s, awaited, e, err);
    } else if (*done && s->restored) {
        s->replayed++;
    } else if (*done) {
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "State saver '%s': example %lld was inserted already", s->name,
                         (long long)e->ordinal);
    }
    if (st == LEVADA_OK) levada_saver_settle_locked(s, &woken);
    levada_lock_give(&s->lock);
    levada_wake(&woken);
    return st;
}

static levada_status insert_skip(levada_state_saver *s, int64_t ordinal, levada_error *err)
{
    levada_status st = LEVADA_OK;

    levada_lock_take(&s->lock);
    if (ordinal >= 0 && !levada_saver_saw_locked(s, ordinal) &&
        !levada_saver_see_locked(s, ordinal)) {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    } else {
        s->skipped++;
    }
    levada_lock_give(&s->lock);
    return st;
}

static void insert_reserved(levada_state_saver *s, levada_saver_op *op)
{
    levada_woken woken = { 0 };

    levada_lock_take(&s->lock);
    if (s->ledger.cancelled) op->why = LEVADA_SAVER_CLOSED;
    else op->why = levada_saver_enter_locked(s, op->example);
    if (op->why == LEVADA_SAVER_OK && s->ledger.counts.reserved > 0) s->ledger.counts.reserved--;
    levada_saver_settle_locked(s, &woken);
    levada_lock_give(&s->lock);
    levada_wake(&woken);
}

/* Returns true if it cannot enter anyhow: such an insert does not wait. */
static bool insert_refused(levada_state_saver *s, levada_saver_op *op)
{
    const levada_saver_live *e = op->example;

    levada_lock_take(&s->lock);
    if (s->ledger.closed) op->why = LEVADA_SAVER_CLOSED;
    else if (!s->unique &&
             levada_saver_find_locked(s, levada_saver_key(s, e), e->key_size) != NULL) {
        op->why = LEVADA_SAVER_EXISTS;
    }
    levada_lock_give(&s->lock);
    levada_delay(); /* it may be closed now */
    return op->why != LEVADA_SAVER_OK;
}

static levada_status insert_run(levada_state_saver *s, levada_saver_live *e, bool reserved,
                                int64_t timeout, levada_error *err)
{
    levada_saver_op op = { .n = -1, .example = e };
    bool            done = false;
    levada_status   st = insert_again(s, e, &done, err);

    if (done) {
        levada_saver_live_unref(s, e);
        if (st == LEVADA_OK && reserved) levada_state_saver_release(s);
        return st;
    }
    if (reserved) {
        insert_reserved(s, &op);
    } else if (!insert_refused(s, &op)) {
        levada_saver_run(s, &s->inserts, &s->insert_site, &op, "insert", timeout, NULL);
    }
    if (op.why == LEVADA_SAVER_LATE) op.total = insert_live(s);
    st = insert_fail(s, &op, "insert", timeout, err);
    if (st != LEVADA_OK && op.why != LEVADA_SAVER_FORKED) levada_saver_live_unref(s, e);
    return st;
}

levada_status levada_state_saver_insert(levada_state_saver         *saver,
                                        const levada_saver_example *example, bool reserved,
                                        int64_t timeout, levada_error *err)
{
    levada_saver_example all = LEVADA_SAVER_EXAMPLE_INIT;
    levada_saver_extent  extent = { 0 };
    levada_saver_live   *e = NULL;

    LEVADA_TRY(LEVADA_USABLE(saver, "state saver", err));
    LEVADA_TRY(levada_require(example != NULL, "example", err));
    LEVADA_TRY(LEVADA_VERSIONED_READ(all, example, levada_saver_example, err));
    LEVADA_TRY(levada_saver_check_example(saver, &all, &extent, err));
    if (extent.steps == 0 && saver->zero_length == LEVADA_ZERO_LENGTH_SKIP) {
        LEVADA_TRY(insert_skip(saver, all.ordinal, err));
        if (reserved) levada_state_saver_release(saver);
        return LEVADA_OK;
    }
    LEVADA_TRY(insert_make(saver, &all, &extent, &e, err));
    return insert_run(saver, e, reserved, timeout, err);
}

LEVADA_VERSIONED_INIT(levada_saver_example_init, levada_saver_example, LEVADA_SAVER_EXAMPLE_INIT)
