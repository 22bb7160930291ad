/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "batch/bucket_stage.h"
#include "batch/length.h"
#include "description/columns.h"

#include <string.h>

levada_status levada_truncation_limit(const levada_cost *cost, int64_t *limit, levada_error *err)
{
    int64_t low = 0, high = cost->budget < INT32_MAX ? cost->budget : INT32_MAX;

    while (low < high) { /* the largest that fits is in [low, high] */
        int64_t middle = low + (high - low + 1) / 2, lengths[LEVADA_GROUP_KEYS];
        double  each = 0;

        for (int32_t i = 0; i < cost->fields; i++) lengths[i] = middle;
        LEVADA_TRY(levada_cost_record(cost, lengths, &each, err));
        if (!levada_cost_exceeds(cost, 1, each)) low = middle;
        else high = middle - 1;
    }
    *limit = low;
    return LEVADA_OK;
}

levada_status levada_truncation_check(const levada_texts *fields, const levada_spec *in,
                                      levada_error *err)
{
    for (int64_t i = 0; i < fields->n; i++) {
        int32_t             at = levada_spec_find(in, fields->at[i]);
        const levada_field *f = at >= 0 ? levada_spec_field(in, at) : NULL;

        if (!f || f->depth > 0 || (levada_dtype_is_bytes(f->dtype) && f->ndim == 0)) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "too_long='truncate' cuts sequences, and '%s' is not a sequence",
                           fields->at[i]);
    }
    return LEVADA_OK;
}

levada_status levada_truncation_lengths(const levada_truncation *t, int64_t *lengths,
                                        levada_error *err)
{
    double each = 0;

    LEVADA_TRY(levada_cost_record(t->cost, lengths, &each, err));
    if (!levada_cost_exceeds(t->cost, 1, each)) return LEVADA_OK;
    for (int32_t i = 0; i < t->cost->fields; i++) {
        if (lengths[i] > t->limit) lengths[i] = t->limit;
    }
    return LEVADA_OK;
}

/* Measures lengths of all rows as they are and as they are to be, row by row; *cut: some differ. */
static levada_status truncation_measure(const levada_truncation *t, const levada_block *in,
                                        int64_t *now, int64_t *want, bool *cut, levada_error *err)
{
    int64_t nfields = t->fields->n;

    LEVADA_TRY(levada_lengths_measure(t->fields, in, now, err));
    memcpy(want, now, (size_t)(in->n * nfields) * sizeof *want);
    for (int64_t i = 0; i < in->n; i++) {
        LEVADA_TRY(levada_truncation_lengths(t, want + i * nfields, err));
    }
    *cut = memcmp(now, want, (size_t)(in->n * nfields) * sizeof *want) != 0;
    return LEVADA_OK;
}

/* Replaces the ranges of a column of our own block by ones with the wanted lengths. */
static levada_status truncation_column(levada_column *c, levada_pool *pool, const int64_t *want,
                                       int64_t stride, levada_error *err)
{
    levada_level  *level = &c->level[0];
    levada_buffer *owner = NULL;
    int32_t       *begin, *end;

    if (c->field->depth == 0 && (!levada_dtype_is_bytes(c->field->dtype) || c->field->ndim > 0)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "too_long='truncate' cuts sequences, and '%s' is not a sequence",
                           c->field->name);
    }
    LEVADA_TRY(levada_buffer_create(pool, 8 * c->n, &owner, err));
    begin = (int32_t *)(void *)owner->data;
    end = begin + c->n;
    for (int64_t i = 0; i < c->n; i++) {
        int32_t length = level->end[i] - level->begin[i];

        begin[i] = level->begin[i];
        end[i] = begin[i] + (length > want[i * stride] ? (int32_t)want[i * stride] : length);
        if (c->field->depth == 0 && c->field->dtype == LEVADA_TEXT && end[i] < level->end[i])
            while (end[i] > begin[i] && (c->values[end[i]] & 0xC0u) == 0x80u) end[i]--;
    }
    levada_buffer_unref(&level->owner);
    *level = (levada_level){ .begin = begin, .end = end, .owner = owner };
    return LEVADA_OK;
}

static levada_status truncation_cut(const levada_truncation *t, levada_pool *pool,
                                    const levada_block *in, const int64_t *want,
                                    levada_block **out, levada_error *err)
{
    levada_block *flat = NULL, *made = NULL;
    levada_status st;

    LEVADA_TRY(levada_block_gather(pool, in, &flat, err));
    st = levada_columns_pick(pool, flat, flat->spec, NULL, &made, err);
    levada_block_unref(&flat);
    for (int64_t i = 0; st == LEVADA_OK && i < t->fields->n; i++) {
        int32_t at = levada_spec_find(made->spec, t->fields->at[i]);

        st = truncation_column(&made->columns[at], pool, want + i, t->fields->n, err);
    }
    if (st == LEVADA_OK) *out = made;
    else levada_block_unref(&made);
    return st;
}

levada_status levada_truncation_apply(const levada_truncation *t, levada_pool *pool,
                                      const levada_block *in, levada_block **out,
                                      levada_error *err)
{
    size_t        n = (size_t)(in->n * t->fields->n);
    int64_t      *now = levada_alloc(2 * n * sizeof *now + 1);
    bool          cut = false;
    levada_status st;

    if (!now) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for lengths");
    st = truncation_measure(t, in, now, now + n, &cut, err);
    if (st == LEVADA_OK && !cut) {
        *out = levada_block_ref(in);
    } else if (st == LEVADA_OK) {
        st = truncation_cut(t, pool, in, now + n, out, err);
    }
    levada_free(now);
    return st;
}
