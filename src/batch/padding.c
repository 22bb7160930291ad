/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/padding.h"

#include "base/alloc.h"
#include "description/columns.h"
#include "option/value_priv.h"
#include "run/context.h"

#include <stdio.h>
#include <string.h>

static levada_status padding_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for padding");
}

/* Refuses a name in padded_shapes or padding_values that is not a field. */
static levada_status padding_names(const char *option, const levada_value *map,
                                   const levada_spec *in, levada_error *err)
{
    if (levada_value_kind_of(map) != LEVADA_VALUE_MAP) return LEVADA_OK;
    if (levada_spec_flags_of(in) & LEVADA_SPEC_OPEN) return LEVADA_OK;
    for (int64_t i = 0; i < levada_value_count(map); i++) {
        int32_t       found;
        levada_status st = levada_spec_require(in, levada_value_key(map, i), &found, err);

        if (st != LEVADA_OK) return levada_error_wrap(err, "%s", option), st;
    }
    return LEVADA_OK;
}

static levada_status padding_shape(const levada_value *list, const levada_field *field,
                                   levada_padding *how, levada_error *err)
{
    char shown[LEVADA_VALUE_SHOWN];
    if (levada_value_kind_of(list) != LEVADA_VALUE_LIST) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "padded_shapes of '%s' must be a list of lengths, got %s", field->name,
                           levada_value_shown(list, LEVADA_PRINT_TEXT, shown));
    }
    if (levada_value_count(list) != field->ndim) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "all elements in a batch must have the same rank as the padded shape: "
                           "'%s' has rank %d, its padded shape %lld",
                           field->name, field->ndim, (long long)levada_value_count(list));
    }
    for (int32_t d = 0; d < field->ndim; d++) {
        const levada_value *v = levada_value_item(list, d);

        how->dims[d] = -1;
        if (levada_value_kind_of(v) == LEVADA_VALUE_NULL) continue;
        if (levada_value_kind_of(v) != LEVADA_VALUE_INT || levada_value_as_int(v) < -1) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "padded_shapes of '%s' must hold lengths or null, got %s",
                               field->name, levada_value_shown(v, LEVADA_PRINT_TEXT, shown));
        }
        how->dims[d] = levada_value_as_int(v);
    }
    return LEVADA_OK;
}

static bool padding_integer(levada_dtype dtype, int64_t value, uint8_t *out)
{
    int64_t size = levada_dtype_size(dtype), half = INT64_C(1)
                                                    << (8 * size - 1 > 62 ? 62 : 8 * size - 1);
    bool    is_signed = dtype >= LEVADA_INT8 && dtype <= LEVADA_INT64;

    if (size < 8 && is_signed && (value < -half || value >= half)) return false;
    if (size < 8 && !is_signed && (value < 0 || value >= 2 * half)) return false;
    if (dtype == LEVADA_BOOL && value > 1) return false;
    for (int64_t i = 0; i < size; i++) out[i] = (uint8_t)((uint64_t)value >> (8 * i));
    return true;
}

static levada_status padding_number(const levada_value *v, const levada_field *field,
                                    levada_padding *how, levada_error *err)
{
    char              shown[LEVADA_VALUE_SHOWN];
    levada_value_kind kind = levada_value_kind_of(v);
    double            f64 = levada_value_as_float(v);
    float             f32 = (float)f64;

    if (field->dtype == LEVADA_FLOAT32 &&
        (kind == LEVADA_VALUE_FLOAT || kind == LEVADA_VALUE_INT)) {
        memcpy(how->value, &f32, sizeof f32);
        return LEVADA_OK;
    }
    if (field->dtype == LEVADA_FLOAT64 &&
        (kind == LEVADA_VALUE_FLOAT || kind == LEVADA_VALUE_INT)) {
        memcpy(how->value, &f64, sizeof f64);
        return LEVADA_OK;
    }
    if (field->dtype >= LEVADA_BOOL && field->dtype <= LEVADA_UINT64) {
        int64_t i = kind == LEVADA_VALUE_BOOL ? levada_value_as_bool(v) : levada_value_as_int(v);

        if ((kind == LEVADA_VALUE_BOOL || kind == LEVADA_VALUE_INT) &&
            padding_integer(field->dtype, i, how->value)) {
            return LEVADA_OK;
        }
    }
    if (kind == LEVADA_VALUE_INT && levada_value_as_int(v) == 0) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "the padding value of '%s' must be %s, got %s", field->name,
                       levada_dtype_name(field->dtype),
                       levada_value_shown(v, LEVADA_PRINT_TEXT, shown));
}

levada_status levada_padding_value(const levada_value *v, const levada_field *field,
                                   levada_padding *how, levada_error *err)
{
    levada_value_kind kind = levada_value_kind_of(v);
    char              shown[LEVADA_VALUE_SHOWN];

    if (!levada_dtype_is_bytes(field->dtype)) return padding_number(v, field, how, err);
    if (kind != LEVADA_VALUE_TEXT && kind != LEVADA_VALUE_BYTES) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the padding value of '%s' must be a string, got %s", field->name,
                           levada_value_shown(v, LEVADA_PRINT_TEXT, shown));
    }
    how->text = levada_value_as_text(v, &how->text_size);
    return LEVADA_OK;
}

/* Sets how to pad one field, whose padded form is `field`. */
static levada_status padding_field(const levada_padding_options *o, const levada_field *from,
                                   levada_field *field, levada_padding *how, levada_error *err)
{
    const levada_value *shape, *value = o->values;
    bool                wanted;

    memset(how, 0, sizeof *how);
    LEVADA_TRY(levada_pad_field(from, field, err));
    memcpy(how->value, from->pad, sizeof how->value);
    how->multiple = o->multiple;
    how->left = field->left = o->left && field->padded;
    for (int32_t d = 0; d < LEVADA_MAX_DIMS; d++) how->dims[d] = -1;
    for (int32_t d = 0; d < from->ndim; d++) how->dims[from->depth + d] = from->dims[d];
    shape = o->shapes ? levada_value_get(o->shapes, from->name) : NULL;
    if (shape) LEVADA_TRY(padding_shape(shape, field, how, err));
    /* One value for all is for the columns that are ragged; a name may also stand for a FIXED one.
     */
    wanted = field->padded;
    if (levada_value_kind_of(value) == LEVADA_VALUE_MAP) {
        value = levada_value_get(value, from->name);
        wanted = field->ndim > 0;
    }
    if (wanted && levada_value_kind_of(value) != LEVADA_VALUE_NULL) {
        LEVADA_TRY(levada_padding_value(value, field, how, err));
    }
    for (int32_t d = 0; d < field->ndim; d++) field->dims[d] = how->dims[d];
    return LEVADA_OK;
}

static levada_status padding_plan(const levada_padding_options *o, const levada_spec *in,
                                  levada_spec **out, levada_padding **how_out, levada_error *err)
{
    int32_t         n = levada_spec_count(in);
    levada_field   *fields = levada_alloc((size_t)n * sizeof *fields + 1);
    levada_padding *how = levada_alloc((size_t)n * sizeof *how + 1);
    levada_status   st = fields && how ? LEVADA_OK : padding_memory(err);

    if (st == LEVADA_OK && o->shapes) st = padding_names("padded_shapes", o->shapes, in, err);
    if (st == LEVADA_OK && o->values) st = padding_names("padding_values", o->values, in, err);
    for (int32_t i = 0; st == LEVADA_OK && i < n; i++) {
        st = padding_field(o, levada_spec_field(in, i), &fields[i], &how[i], err);
    }
    if (st == LEVADA_OK) {
        st =
            levada_spec_create(fields, n, levada_spec_flags_of(in) | LEVADA_SPEC_BATCHED, out, err);
    }
    levada_free(fields);
    if (st == LEVADA_OK && how_out) {
        *how_out = how;
        how = NULL;
    }
    levada_free(how);
    return st;
}

levada_status levada_padding_spec(const levada_padding_options *options, const levada_spec *in,
                                  levada_spec **out, levada_error *err)
{
    return padding_plan(options, in, out, NULL, err);
}

void levada_padding_clear(levada_padding_plan *plan)
{
    levada_spec_unref(&plan->in);
    levada_spec_unref(&plan->out);
    levada_free(plan->how);
    plan->how = NULL;
}

/* Sets a plan whose open dimensions are the bucket's boundary; for a ragged one, the next multiple.
 * */
static levada_status padding_bounded(const levada_padding_plan *plan, int64_t bound,
                                     levada_padding **out, levada_error *err)
{
    int32_t         n = levada_spec_count(plan->in);
    levada_padding *how = levada_alloc((size_t)n * sizeof *how + 1);

    if (!how) return padding_memory(err);
    memcpy(how, plan->how, (size_t)n * sizeof *how);
    for (int32_t i = 0; i < n; i++) {
        int32_t depth = levada_spec_field(plan->in, i)->depth;

        for (int32_t d = 0; d < LEVADA_MAX_DIMS; d++) {
            int64_t m = d < depth ? how[i].multiple : 1;

            if (how[i].dims[d] < 0) how[i].dims[d] = (bound + m - 1) / m * m;
        }
    }
    *out = how;
    return LEVADA_OK;
}

/* Sets a plan with dimensions as long as those of other ranks. */
static levada_status padding_in_step(const levada_padding_plan *plan, const levada_layout *layout,
                                     levada_padding **out, levada_error *err)
{
    int32_t         n = levada_spec_count(plan->in);
    levada_padding *how = levada_alloc((size_t)n * sizeof *how + 1);

    if (!how) return padding_memory(err);
    for (int32_t i = 0; i < n; i++) {
        how[i] = plan->how[i];
        if (i < layout->columns) how[i].least = layout->least + (int64_t)i * LEVADA_MAX_DIMS;
    }
    *out = how;
    return LEVADA_OK;
}

levada_status levada_padding_apply(levada_padding_plan *plan, const levada_padding_options *options,
                                   const levada_context *context, const levada_block *in,
                                   int64_t bound, levada_block **out, levada_error *err)
{
    levada_padding *how = NULL;
    int64_t         bad = -1;
    levada_status   st;

    if (!plan->in || (plan->in != in->spec && !levada_spec_equal(plan->in, in->spec))) {
        levada_padding_clear(plan);
        LEVADA_TRY(padding_plan(options, in->spec, &plan->out, &plan->how, err));
        plan->in = levada_spec_ref(in->spec);
    }
    if (bound >= 0) LEVADA_TRY(padding_bounded(plan, bound, &how, err));
    else if (in->layout && in->layout->least)
        LEVADA_TRY(padding_in_step(plan, in->layout, &how, err));
    st = levada_pad_block(levada_env_pool(context->env), in, plan->out, how ? how : plan->how, out,
                          &bad, err);
    levada_free(how);
    if (bad >= 0) levada_context_place(context, in, bad, err);
    return st;
}
