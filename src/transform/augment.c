/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/augment.h"

#include <string.h>

/* What is done to a column of a block. */
typedef struct augment_work {
    const levada_augment_state *s;
    const levada_block         *in;
    const levada_one_field     *f;
    levada_augment_fill        *fill;
    const void                 *work;
    int64_t                     size; /* bytes of a frame */
} augment_work;

levada_status levada_augment_audio(const void *args, levada_field *f, levada_error *err)
{
    (void)args;
    return levada_samples_check_audio(f, err);
}

levada_status levada_augment_open(void *state, const void *args, const levada_context *context,
                                  levada_error *err)
{
    levada_augment_state *s = state;

    s->key = levada_draw_key(context, ((const levada_augment_args *)args)->seed);
    return levada_columns_state_open(&s->shared, args, context, err);
}

void levada_augment_close(void *state)
{
    levada_columns_state_close(&((levada_augment_state *)state)->shared);
}

/* -- ranges */

levada_status levada_range_read(levada_floats option, const char *name, levada_range *out,
                                levada_error *err)
{
    if (option.n == 1 || option.n == 2) {
        *out = (levada_range){ option.at[0], option.at[option.n - 1] };
        if (out->low <= out->high) return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "%s must be a number, or two that ascend: [low, high]; got %lld numbers, "
                       "the "
                       "first is %g", name, (long long)option.n, option.n ? option.at[0] : 0);
}

double levada_range_draw(levada_range range, uint64_t bits)
{
    return range.low + (range.high - range.low) * levada_random_unit(bits);
}

/* -- a block */

/* Returns the number of frames of all records, and sets where those of each one begin if they are
 * ragged. */
static levada_status augment_offsets(const augment_work *w, int64_t *total, levada_error *err)
{
    const levada_column *c = w->f->from;
    int32_t             *offsets = NULL;

    *total = 0;
    if (c->field->depth > 0)
        LEVADA_TRY(levada_builder_offsets(w->f->b, w->f->index, 0, c->n, &offsets, err));
    for (int64_t i = 0; i < c->n; i++) {
        int64_t frames;

        (void)levada_samples_row(c, i, &frames);
        *total += frames;
        if (*total * w->size > LEVADA_BLOCK_LIMIT)
            return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                               "more than 1 GiB of numbers in one block; lower block_rows");
        if (offsets) offsets[i + 1] = (int32_t)*total;
    }
    return LEVADA_OK;
}

static levada_status augment_one(const augment_work *w, int64_t row, uint8_t **to,
                                 levada_error *err)
{
    levada_error       why = LEVADA_ERROR_INIT;
    levada_augment_row r = {
        .row = row,
        .channels = levada_samples_channels(w->f->from->field),
        .dtype = w->f->from->field->dtype,
        .to = *to,
        .key = levada_block_row_key(w->in, row, w->s->key),
    };
    size_t size;

    r.from = levada_samples_row(w->f->from, row, &r.frames);
    size = (size_t)(r.frames * w->size);
    *to += size;
    if (size == 0 || w->fill(w->work, &r, &why) == LEVADA_OK) return LEVADA_OK;
    memcpy(r.to, r.from, size);
    return levada_builder_reject(w->f->b, row, &why, err);
}

static levada_status augment_column(const augment_work *w, levada_error *err)
{
    const levada_column *c = w->f->from;
    int64_t              total;
    void                *values = NULL;
    uint8_t             *to;

    levada_builder_dims(w->f->b, w->f->index, c->dims);
    LEVADA_TRY(augment_offsets(w, &total, err));
    LEVADA_TRY(levada_builder_values(w->f->b, w->f->index,
                                     total * levada_samples_channels(c->field), &values, err));
    to = values;
    for (int64_t i = 0; i < c->n; i++) {
        if (levada_context_cancelled(w->s->shared.context))
            return levada_fail(err, LEVADA_ECANCELLED, "cancelled");
        LEVADA_TRY(augment_one(w, i, &to, err));
    }
    return LEVADA_OK;
}

levada_status levada_augment_apply(levada_augment_state *s, levada_derive check, const void *args,
                                   levada_augment_fill *fill, const void *work,
                                   const levada_block *in, levada_block **out, levada_error *err)
{
    const char      *field = ((const levada_augment_args *)args)->field;
    levada_one_field f;
    augment_work     w = { .s = s, .in = in, .f = &f, .fill = fill, .work = work };

    LEVADA_TRY(levada_one_field_begin(&s->shared, check, args, field, in, &f, err));
    w.size = levada_samples_channels(f.from->field) * levada_dtype_size(f.from->field->dtype);
    return levada_one_field_end(&f, augment_column(&w, err), out, err);
}
