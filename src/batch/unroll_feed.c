/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the consumer of the layout `ready` feeds back: states, or that a batch is requeued or
 * discarded.
 */
#include "batch/unroll_ready.h"
#include "tensor/finite.h"
#include "tensor/segments.h"
#include "tensor/tensor_priv.h"

#include <string.h>

/* Checks that rows that continue have finite values. */
static levada_status feed_check_finite(const levada_ready_state *own,
                                       const levada_ready_batch *batch, int32_t state,
                                       const uint8_t *values, levada_error *err)
{
    const levada_field *f = levada_spec_field(own->states, state);
    size_t size = own->at[state + 1] - own->at[state];
    char prefix[LEVADA_SEGMENTS_PREFIX];

    for (int64_t r = 0; r < batch->taken.n; r++) {
        const levada_ready_sequence *e = levada_ready_row(batch, r);
        int64_t at;

        if (levada_sequence_is_last(&e->sequence)) continue;
        at = levada_not_finite(f->dtype, values + (size_t)r * size,
                               (int64_t)size / levada_dtype_size(f->dtype));
        if (at < 0) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "state '%s' of key '%.*s%.*s' is not finite: element %lld of row %lld",
                           f->name,
                           (int)levada_segments_prefix(e->sequence.segment, e->sequence.nsegments,
                                                       prefix), prefix,
                           e->key_size > 64 ? 64 : (int)e->key_size,
                           (const char *)levada_ready_key(own, e), (long long)at, (long long)r);
    }
    return LEVADA_OK;
}

/* Checks that the column can be the new values of a state. */
static levada_status feed_check(const levada_unroll_state *s, const levada_ready_batch *batch,
                                int32_t state, const levada_column *c, levada_error *err)
{
    char shown[LEVADA_FIELD_SHOWN];
    const levada_ready_state *own = s->own;
    const levada_field *f = levada_spec_field(own->states, state);
    levada_shape have = { 0, { 0 } }, want = { 0, { 0 } };
    char a[LEVADA_SHAPE_TEXT], b[LEVADA_SHAPE_TEXT];

    if (c->field->depth || levada_dtype_is_bytes(c->field->dtype)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "state '%s' must have numbers, the same shape in each row; got %s",
                           f->name, levada_field_shown(c->field, shown));
    }
    if (c->field->dtype != f->dtype) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "state '%s' must be %s, got %s",
                           f->name, levada_dtype_name(f->dtype),
                           levada_dtype_name(c->field->dtype));
    }
    have.rank = c->field->ndim;
    want.rank = f->ndim;
    memcpy(have.dims, c->dims, c->field->ndim * sizeof c->dims[0]);
    memcpy(want.dims, f->dims, f->ndim * sizeof f->dims[0]);
    if (!levada_shape_equal(&have, &want)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "Shape of state '%s' should be: %s in each row, shape received: %s",
                           f->name, levada_shape_print(&want, a), levada_shape_print(&have, b));
    }
    if (batch->values[state]) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the batch already has a value for state '%s'", f->name);
    }
    if (!s->records.args->check_finite) return LEVADA_OK;
    return feed_check_finite(own, batch, state, c->values, err);
}

/* Completes a batch whose states are all there: rows continue with them. */
static void feed_complete(levada_ready_state *own, levada_ready_batch *batch)
{
    for (int64_t r = 0; r < batch->taken.n; r++) {
        levada_ready_sequence *e = levada_ready_row(batch, r);

        for (int32_t i = 0; i < levada_ready_nstates(own); i++) {
            size_t size = own->at[i + 1] - own->at[i];

            if (size) memcpy(e->bytes + own->at[i], batch->values[i] + (size_t)r * size, size);
        }
    }
    levada_ready_finish(own, batch);
}

/* Saves the states; all columns are checked before the first is kept. */
static levada_status feed_save_states(const levada_unroll_state *s, levada_ready_batch *batch,
                                      const levada_block *back, levada_error *err)
{
    levada_ready_state *own = s->own;
    int32_t n = 0;

    for (int32_t i = 0; i < levada_ready_nstates(own); i++) {
        const levada_column *c = levada_block_column(back, levada_spec_field(own->states, i)->name);

        if (!c) continue;
        LEVADA_TRY(feed_check(s, batch, i, c, err));
        n++;
    }
    if (n == 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the block must have a declared state, such as '%s'",
                           levada_spec_field(own->states, 0)->name);
    }
    for (int32_t i = 0; i < levada_ready_nstates(own); i++) {
        const levada_column *c = levada_block_column(back, levada_spec_field(own->states, i)->name);

        if (!c) continue;
        batch->blocks[i] = levada_block_ref(back);
        batch->values[i] = c->values;
    }
    batch->nunsaved -= n;
    if (batch->nunsaved == 0) feed_complete(own, batch);
    return LEVADA_OK;
}

/* Returns the one number that all rows have. */
static levada_status feed_number(const levada_block *back, const char *name, levada_dtype dtype,
                                  int64_t *out, levada_error *err)
{
    const levada_column *c = levada_block_column(back, name);
    bool good = c && c->field->dtype == dtype && c->field->depth == 0 && c->field->ndim == 0;

    for (int64_t r = 0; good && r < back->n; r++) {
        int64_t value = dtype == LEVADA_BOOL ? c->values[r] != 0
                                             : ((const int64_t *)(const void *)c->values)[r];

        good = r == 0 || value == *out;
        *out = value;
    }
    if (good && back->n) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "a block for levada_iter_feed needs the column %s, %s, with the same value "
                       "in all rows", name,
                       levada_dtype_name(dtype));
}

/* Checks that the rows of a block that has the column of its batch are those of the batch, in
 * order. */
static levada_status feed_same_rows(const levada_ready_batch *batch, const levada_block *back,
                                    levada_error *err)
{
    const levada_column *c = levada_block_column(back, "insertion_index");
    bool good = back->n == batch->taken.n;

    if (good && c) {
        good = c->field->dtype == LEVADA_INT64 && c->field->depth == 0 && c->field->ndim == 0;
    }
    for (int64_t r = 0; good && c && r < back->n; r++) {
        good = ((const int64_t *)(const void *)c->values)[r] ==
               INT64_MIN + batch->taken.rows[r]->number;
    }
    if (good) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "the block has %lld rows, but batch %lld has %lld",
                       (long long)back->n, (long long)batch->number, (long long)batch->taken.n);
}

static bool feed_is_settled(const levada_ready_state *own, int64_t number)
{
    for (int64_t i = 0; i < own->nsettled && i < LEVADA_UNROLL_SETTLED; i++) {
        if (own->settled[i] == number) return true;
    }
    return false;
}

static levada_status feed_answer(const levada_unroll_state *s, const levada_block *back,
                                  levada_error *err)
{
    levada_ready_state *own = s->own;
    levada_ready_batch *open = NULL;
    int64_t number = -1, yes = 0;
    bool requeue = levada_block_column(back, "requeue") != NULL;
    bool discard = levada_block_column(back, "discard") != NULL;

    LEVADA_TRY(feed_number(back, LEVADA_UNROLL_NUMBER, LEVADA_INT64, &number, err));
    for (const levada_taken *t = own->ledger.taken; t; t = t->next) {
        if (levada_ready_batch_of(t)->number == number) open = levada_ready_batch_of(t);
    }
    if (!open && !requeue && !discard && feed_is_settled(own, number)) return LEVADA_OK;
    if (!open) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "batch %lld is not open: its states are saved, it was requeued or "
                           "discarded, it had only last segments and next() was called, or it is "
                           "from another iterator",
                           (long long)number);
    }
    LEVADA_TRY(feed_same_rows(open, back, err));
    if (!requeue && !discard) return feed_save_states(s, open, back, err);
    LEVADA_TRY(feed_number(back, requeue ? "requeue" : "discard", LEVADA_BOOL, &yes, err));
    if (!yes || (requeue && discard)) {
        return levada_fail(
            err, LEVADA_EINVALID_ARGUMENT,
            "the block must have either requeue or discard, true in all rows; got %s",
            requeue && discard ? "both" : "false");
    }
    if (requeue) {
        levada_ready_return(own, open);
    } else {
        own->dropped += open->taken.n;
        levada_ready_discard(own, open);
    }
    return LEVADA_OK;
}

levada_status levada_ready_feed(levada_unroll_state *s, const levada_block *back,
                                levada_error *err)
{
    levada_block *data = NULL;
    levada_status st, swept;

    LEVADA_TRY(levada_context_gather(s->records.context, back, &data, err));
    st = feed_answer(s, data, err);
    levada_block_unref(&data);
    swept = levada_ready_sweep(s, NULL);
    (void)swept; /* without memory next() does it */
    levada_ready_show(s);
    return st;
}
