/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cast - numbers of a field as another dtype. A record with a number that does not fit is bad.
 */
#include "registry/env_priv.h"
#include "registry/stage_core.h"
#include "tensor/convert.h"
#include "transform/one_field.h"

typedef struct cast_args {
    const char  *field;
    levada_dtype dtype;
} cast_args;

/* What is done to one column of a block. */
typedef struct cast_work {
    levada_builder      *b;
    const levada_column *from;
    int32_t              index;
    int64_t              inner;      /* elements of one innermost row */
    levada_dtype         to;
} cast_work;

static const levada_arg cast_options[] = {
    LEVADA_ARG(TEXT, cast_args, field, .required = true, .positional = true,
               .doc = "field of numbers"),
    LEVADA_ARG(DTYPE, cast_args, dtype, .required = true,
               .doc = "new dtype; floats are rounded to the nearest float, or toward zero to "
                      "integers; a record with a number out of range is a bad record"),
    LEVADA_ARG_END,
};

static levada_status cast_field(const void *args, levada_field *f, levada_error *err)
{
    const levada_field from = *f;
    levada_dtype       to = ((const cast_args *)args)->dtype;

    if (!levada_convert_known(from.dtype, to)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "field '%s' of %s cannot be cast to %s",
                           f->name, levada_dtype_name(from.dtype), levada_dtype_name(to));
    }
    (void)levada_convert(from.dtype, from.pad, to, f->pad, 1);
    f->dtype = to;
    return LEVADA_OK;
}

static levada_status cast_check(const void *args, const levada_spec *in, levada_spec **out,
                                levada_error *err)
{
    return levada_one_field_check(in, ((const cast_args *)args)->field, cast_field, args, out, err);
}

/* Returns true if all numbers of rows [begin, end) of a level fit. Seldom called. */
static bool cast_row_fits(const cast_work *w, int32_t level, int64_t begin, int64_t end)
{
    const levada_field *f = w->from->field;
    int64_t             size = levada_dtype_size(f->dtype);
    uint64_t            scratch[2];

    if (level < f->depth) {
        const levada_level *l = &w->from->level[level];

        for (int64_t r = begin; r < end; r++) {
            if (!cast_row_fits(w, level + 1, l->begin[r], l->end[r])) return false;
        }
        return true;
    }
    for (int64_t k = begin * w->inner; k < end * w->inner; k++) {
        if (levada_convert(f->dtype, w->from->values + k * size, w->to, scratch, 1)) return false;
    }
    return true;
}

static levada_status cast_reject(const cast_work *w, levada_error *err)
{
    const levada_field *f = w->from->field;
    levada_error        why = LEVADA_ERROR_INIT;

    (void)levada_fail(&why, LEVADA_EDATA_LOSS,
                      "field '%s': a number of %s does not fit in %s; cast to a wider dtype",
                      f->name, levada_dtype_name(f->dtype), levada_dtype_name(w->to));
    for (int64_t r = 0; r < w->from->n; r++) {
        if (cast_row_fits(w, 0, r, r + 1)) continue;
        LEVADA_TRY(levada_builder_reject(w->b, r, &why, err));
    }
    return LEVADA_OK;
}

static levada_status cast_column(cast_work *w, levada_error *err)
{
    const uint8_t *from = NULL;
    void          *values = NULL;
    int64_t        n = 0;

    w->inner = levada_column_inner(w->from);
    LEVADA_TRY(levada_one_field_numbers(w->b, w->index, w->from, &from, &values, &n, err));
    if (levada_convert(w->from->field->dtype, from, w->to, values, n)) return cast_reject(w, err);
    return LEVADA_OK;
}

/* Numbers that stay encoded (tensor/encoded.h) are cast by their new dtype alone, if they have up
 * to 28 bits; else this column is decoded: *from is a reference to the block with it. */
static levada_status cast_source(const levada_columns_state *s, const levada_block *in,
                                 int32_t field, levada_dtype to, levada_block **from,
                                 levada_error *err)
{
    const levada_column *c = levada_block_at(in, field);

    if (!c || !c->encoded || levada_items_fit(c, to)) {
        *from = levada_block_ref(in);
        return LEVADA_OK;
    }
    return levada_block_decode_column(levada_env_pool(s->context->env), in, field, from, err);
}

/* Casts a block; `from` is the input, in which the column to be cast has values, or items that
 * fit. */
static levada_status cast_block(const levada_columns_state *s, const levada_spec *spec,
                                cast_work *w, const levada_block *from, levada_block **out,
                                levada_error *err)
{
    levada_status st;

    w->from = levada_block_at(from, w->index);
    if (!w->from) return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                                     "a record lacks field '%s'; return it in all records",
                                     levada_spec_field(spec, w->index)->name);
    LEVADA_TRY(levada_builder_create(s->context->env, spec, from->n, &w->b, err));
    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        if (i == w->index && !w->from->encoded) continue; /* has other numbers */
        levada_builder_share(w->b, i, levada_block_at(from, i));
    }
    st = w->from->encoded ? LEVADA_OK : cast_column(w, err);
    if (st == LEVADA_OK) st = levada_builder_publish(&w->b, out, err);
    levada_builder_destroy(&w->b);
    return st;
}

static levada_status cast_apply(void *state, const void *args, const levada_block *in,
                                levada_block **out, levada_error *err)
{
    levada_columns_state *s = state;
    const cast_args   *a = args;
    const levada_spec *spec = NULL;
    levada_block      *from = NULL;
    cast_work          w = { .to = a->dtype };
    levada_status      st;

    LEVADA_TRY(levada_derived_get(&s->columns, cast_check, a, in->spec, &spec, err));
    LEVADA_TRY(levada_spec_require(spec, a->field, &w.index, err));
    LEVADA_TRY(cast_source(s, in, w.index, a->dtype, &from, err));
    st = cast_block(s, spec, &w, from, out, err);
    levada_block_unref(&from);
    if (st != LEVADA_OK) return st;
    (*out)->bytes = in->bytes; /* about */
    levada_block_set_layout(*out, in->layout);
    return LEVADA_OK;
}

const levada_stage_def levada_stage_cast = {
    .struct_size = sizeof(levada_stage_def),
    .name = "cast",
    .doc = "converts numbers to another dtype",
    .example = "range:10 | cast:value,dtype=float32",
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS),
    .core = LEVADA_STAGE_CORE(.late = LEVADA_LATE_PASS),
    .args = cast_options,
    .args_size = sizeof(cast_args),
    .state_size = sizeof(levada_columns_state),
    .check = cast_check,
    .open = levada_columns_state_open,
    .close = levada_columns_state_close,
    .apply = cast_apply,
};
