/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/one_field.h"

#include "base/alloc.h"

#include <string.h>

levada_status levada_columns_state_open(void *state, const void *args,
                                        const levada_context *context, levada_error *err)
{
    (void)args, (void)err;
    ((levada_columns_state *)state)->context = context;
    return LEVADA_OK;
}

void levada_columns_state_close(void *state)
{
    levada_derived_clear(&((levada_columns_state *)state)->columns);
}

levada_status levada_one_field_check(const levada_spec *in, const char *field,
                                     levada_field_change change, const void *args,
                                     levada_spec **out, levada_error *err)
{
    int32_t       i = -1;
    levada_field *fields;
    levada_status st;

    LEVADA_TRY(levada_spec_require(in, field, &i, err));
    if (i < 0) return LEVADA_OK;
    fields = levada_spec_copy_fields(in);
    if (!fields) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    st = change(args, &fields[i], err);
    if (st == LEVADA_OK) {
        st = levada_spec_create(fields, levada_spec_count(in), levada_spec_flags_of(in), out, err);
    }
    levada_free(fields);
    return st;
}

levada_status levada_one_field_begin(levada_columns_state *s, levada_derive check,
                                     const void *args, const char *field, const levada_block *in,
                                     levada_one_field *out, levada_error *err)
{
    const levada_spec *spec = NULL;

    *out = (levada_one_field){ 0 };
    LEVADA_TRY(levada_derived_get(&s->columns, check, args, in->spec, &spec, err));
    LEVADA_TRY(levada_spec_require(spec, field, &out->index, err));
    out->from = levada_block_at(in, out->index);
    if (!out->from)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a record lacks field '%s'; return it in all records", field);
    out->to = levada_spec_field(spec, out->index);
    LEVADA_TRY(levada_builder_create(s->context->env, spec, in->n, &out->b, err));
    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        if (i != out->index) levada_builder_share(out->b, i, levada_block_at(in, i));
    }
    return LEVADA_OK;
}

/* Computes the rows of the next level that rows [*begin, *end) of a level cover, whatever their
 * order. */
static void one_field_extent(const levada_level *l, int64_t *begin, int64_t *end)
{
    int64_t low = INT64_MAX, high = 0;

    for (int64_t r = *begin; r < *end; r++) {
        if (l->begin[r] == l->end[r]) continue;
        if (l->begin[r] < low) low = l->begin[r];
        if (l->end[r] > high) high = l->end[r];
    }
    *begin = low < high ? low : 0;
    *end = high;
}

/* Moves rows [first, last) of the last level by `by`, where its first value lay. */
static levada_status one_field_move(levada_builder *b, int32_t index, const levada_column *from,
                                    int64_t first, int64_t last, int64_t by, levada_error *err)
{
    int32_t             level = from->field->depth - 1;
    const levada_level *l = &from->level[level];
    int32_t            *begin = NULL, *end = NULL;

    LEVADA_TRY(levada_builder_ranges(b, index, level, last, &begin, &end, err));
    for (int64_t r = first; r < last; r++) {
        bool empty = l->begin[r] == l->end[r];

        begin[r] = empty ? 0 : l->begin[r] - (int32_t)by;
        end[r] = empty ? 0 : l->end[r] - (int32_t)by;
    }
    return LEVADA_OK;
}

levada_status levada_one_field_numbers(levada_builder *b, int32_t index, const levada_column *from,
                                       const uint8_t **old, void **values, int64_t *n,
                                       levada_error *err)
{
    int64_t inner = levada_column_inner(from), first = 0, last = from->n;
    int64_t begin = 0, end = from->n; /* innermost rows in use */

    levada_builder_share(b, index, from);
    for (int32_t l = 0; l < from->field->depth; l++) {
        first = begin;
        last = end;
        one_field_extent(&from->level[l], &begin, &end);
    }
    if (begin > 0) LEVADA_TRY(one_field_move(b, index, from, first, last, begin, err));
    *old = from->values + begin * inner * levada_dtype_size(from->field->dtype);
    *n = (end - begin) * inner;
    return levada_builder_values(b, index, *n, values, err);
}

levada_status levada_one_field_fill(const levada_one_field *f, int64_t count,
                                    levada_one_field_row *fill, const void *work,
                                    levada_error *err)
{
    int64_t  bytes = count * levada_dtype_size(f->to->dtype);
    void    *values = NULL;
    uint8_t *at;

    LEVADA_TRY(levada_builder_values(f->b, f->index, f->from->n * count, &values, err));
    at = values;
    for (int64_t i = 0; i < f->from->n; i++, at += bytes) {
        levada_error why = LEVADA_ERROR_INIT;

        if (fill(work, i, at, &why) == LEVADA_OK) continue;
        if (why.code == LEVADA_ERESOURCE_EXHAUSTED) {
            if (err) *err = why;
            return why.code;
        }
        memset(at, 0, (size_t)bytes);
        LEVADA_TRY(levada_builder_reject(f->b, i, &why, err));
    }
    return LEVADA_OK;
}

levada_status levada_one_field_end(levada_one_field *f, levada_status st, levada_block **out,
                                   levada_error *err)
{
    if (st == LEVADA_OK) st = levada_builder_publish(&f->b, out, err);
    levada_builder_destroy(&f->b);
    return st;
}
