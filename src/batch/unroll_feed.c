/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the consumer of the layout `ready` feeds back: states, or that a batch is requeued or
 * discarded.
 */
#include "batch/unroll_ready.h"

#include <string.h>

static void feed_free_block(void *user)
{
    levada_block *block = user;

    levada_block_unref(&block);
}

/* A column of the block as a tensor over its memory. */
static levada_status feed_wrap(const levada_block *back, const levada_column *c,
                                const levada_tensor **out, levada_error *err)
{
    levada_shape shape = { c->field->ndim + 1, { back->n } };
    levada_tensor *made = NULL;
    levada_block *kept;
    levada_status st;

    if (c->field->depth || c->field->dtype == LEVADA_BYTES || shape.rank > LEVADA_MAX_DIMS) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "state '%s' must have numbers, the same shape in each row",
                           c->field->name);
    }
    memcpy(shape.dims + 1, c->dims, c->field->ndim * sizeof c->dims[0]);
    kept = levada_block_ref(back);
    st = levada_tensor_wrap(c->field->dtype, &shape, c->values, feed_free_block, kept, &made, err);
    if (st != LEVADA_OK) levada_block_unref(&kept);
    *out = made;
    return st;
}

static levada_status feed_save_states(const levada_unroll_state *s, levada_ready_open *open,
                                       const levada_block *back, levada_error *err)
{
    levada_ready_state *own = s->own;
    int32_t n = 0;
    levada_status st = LEVADA_OK;

    for (int32_t i = 0; i < levada_ready_nstates(own) && st == LEVADA_OK; i++) {
        const char *name = levada_spec_field(own->states, i)->name;
        const levada_column *c = levada_block_column(back, name);

        if (!c) continue;
        st = feed_wrap(back, c, &own->values[i], err);
        n++;
    }
    if (st == LEVADA_OK && n == 0) {
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "the block has a column that is not a declared state");
    }
    if (st == LEVADA_OK) st = levada_segment_batch_save_states(open->batch, own->values, err);
    for (int32_t i = 0; i < levada_ready_nstates(own); i++) {
        levada_tensor *wrapped = (levada_tensor *)(uintptr_t)own->values[i];

        levada_tensor_unref(&wrapped);
        own->values[i] = NULL;
    }
    if (st != LEVADA_OK) return st;
    open->nunsaved -= n;
    return open->nunsaved ? LEVADA_OK : levada_ready_finish(s, open, false, err);
}

static levada_status feed_discard(const levada_unroll_state *s, levada_ready_open *open,
                                   levada_error *err)
{
    levada_ready_state *own = s->own;
    int64_t n = open->n;

    LEVADA_TRY(levada_segment_batch_discard(open->batch, err));
    own->dropped += n;
    return levada_ready_finish(s, open, true, err);
}

static levada_status feed_requeue(const levada_unroll_state *s, levada_ready_open *open,
                                   levada_error *err)
{
    levada_ready_state *own = s->own;

    LEVADA_TRY(levada_segment_batch_requeue(open->batch, err));
    levada_ready_forget(own, open);
    return LEVADA_OK;
}

/* The one number that all rows have. */
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

/* Where a block has the column of its batch, rows must be those of the batch, in order. */
static levada_status feed_same_rows(const levada_ready_open *open, const levada_block *back,
                                     levada_error *err)
{
    levada_segment_view view = LEVADA_SEGMENT_VIEW_INIT;
    const levada_column *c = levada_block_column(back, "insertion_index");
    bool good = back->n == open->n;

    LEVADA_TRY(levada_segment_batch_get(open->batch, &view, err));
    if (good && c) {
        good = c->field->dtype == LEVADA_INT64 && c->field->depth == 0 && c->field->ndim == 0 &&
               memcmp(c->values, levada_tensor_data(view.insertion_index),
                      (size_t)back->n * sizeof(int64_t)) == 0;
    }
    if (good) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "the block has %lld rows, but batch %lld has %lld",
                       (long long)back->n, (long long)open->number, (long long)open->n);
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
    levada_ready_open *open = NULL;
    int64_t number = -1, yes = 0;
    bool requeue = levada_block_column(back, "requeue") != NULL;
    bool discard = levada_block_column(back, "discard") != NULL;

    LEVADA_TRY(feed_number(back, LEVADA_UNROLL_NUMBER, LEVADA_INT64, &number, err));
    for (int64_t i = 0; i < own->nopen; i++) {
        if (own->open[i].number == number) open = &own->open[i];
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
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "either requeue or discard must be true, in all rows");
    }
    return requeue ? feed_requeue(s, open, err) : feed_discard(s, open, err);
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
