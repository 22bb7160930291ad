/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reshape - the numbers of each value of a field in another shape: tf.reshape of every record. A
 * first dimension of -1 follows from the number of values, and is ragged.
 */
#include "transform/one_field.h"

#include <string.h>

typedef struct reshape_args {
    const char *field;
    levada_ints shape;
} reshape_args;

/* What is done to one column of a block. */
typedef struct reshape_work {
    const levada_column *from;
    int64_t              inner; /* bytes of one innermost row */
    int64_t              wanted; /* bytes of a record, or of one row of a ragged one */
    bool                 ragged;
} reshape_work;

static const levada_arg reshape_options[] = {
    LEVADA_ARG(TEXT, reshape_args, field, .required = true, .positional = true,
               .doc = "field of numbers"),
    LEVADA_ARG(INTS, reshape_args, shape, .required = true, .min = -1, .max = INT32_MAX,
               .doc = "the new dimensions of a record; the first may be -1, which is computed from "
                      "the others"),
    LEVADA_ARG_END,
};

/* Counts values of a row of the new shape. */
static levada_status reshape_count(const reshape_args *a, int64_t *count, levada_error *err)
{
    *count = 1;
    for (int64_t i = 0; i < a->shape.n; i++) {
        int64_t size = a->shape.at[i];

        if (i == 0 && size == -1) continue;
        if (size < 1) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "shape: dimension %lld is %lld; only the first dimension may be -1",
                               (long long)i, (long long)size);
        }
        if (*count > INT32_MAX / size) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "shape must have fewer than 2^31 values; dimension %lld is %lld",
                               (long long)i, (long long)size);
        }
        *count *= size;
    }
    return LEVADA_OK;
}

static levada_status reshape_field(const void *args, levada_field *f, levada_error *err)
{
    const reshape_args *a = args;
    bool                ragged = a->shape.n > 0 && a->shape.at[0] == -1;
    int64_t             count, have = 1;

    if (levada_dtype_is_bytes(f->dtype)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' must have numbers, got byte strings", f->name);
    }
    if (a->shape.n - ragged > LEVADA_MAX_DIMS) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "shape must have at most %d dimensions, got %lld",
                           LEVADA_MAX_DIMS, (long long)a->shape.n);
    }
    LEVADA_TRY(reshape_count(a, &count, err));
    for (int32_t i = 0; have >= 0 && i < f->ndim; i++) {
        have = f->dims[i] < 0 ? -1 : have * f->dims[i];
    }
    if (f->depth == 0 && have >= 0 && (ragged ? have % count != 0 : have != count)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' has %lld values, but shape needs %s%lld", f->name,
                           (long long)have, ragged ? "a multiple of " : "", (long long)count);
    }
    f->depth = ragged;
    f->ndim = (uint8_t)(a->shape.n - ragged);
    f->padded = false;
    for (int32_t i = 0; i < f->ndim; i++) f->dims[i] = a->shape.at[i + ragged];
    return LEVADA_OK;
}

static levada_status reshape_check(const void *args, const levada_spec *in, levada_spec **out,
                                   levada_error *err)
{
    return levada_one_field_check(in, ((const reshape_args *)args)->field, reshape_field, args, out,
                                  err);
}

/* Returns the number of bytes of row `row` of level d; copied one after the other where `to` is not
 * NULL. */
static int64_t reshape_row(const reshape_work *w, int32_t d, int64_t row, uint8_t *to)
{
    const levada_level *l = &w->from->level[d];
    int64_t             bytes = 0;

    if (d == w->from->field->depth) {
        if (to) memcpy(to, w->from->values + row * w->inner, (size_t)w->inner);
        return w->inner;
    }
    if (d + 1 == w->from->field->depth) { /* rows of the last level lie side by side */
        bytes = (l->end[row] - l->begin[row]) * w->inner;
        if (to && bytes) memcpy(to, w->from->values + l->begin[row] * w->inner, (size_t)bytes);
        return bytes;
    }
    for (int64_t i = l->begin[row]; i < l->end[row]; i++) {
        bytes += reshape_row(w, d + 1, i, to ? to + bytes : NULL);
    }
    return bytes;
}

static bool reshape_fits(const reshape_work *w, int64_t bytes)
{
    return w->ragged ? bytes % w->wanted == 0 : bytes == w->wanted;
}

static levada_status reshape_reject(const reshape_work *w, int64_t row, int64_t bytes,
                                    levada_builder *b, levada_error *err)
{
    int64_t      size = levada_dtype_size(w->from->field->dtype);
    levada_error why = LEVADA_ERROR_INIT;

    (void)levada_fail(&why, LEVADA_EINVALID_ARGUMENT,
                      "field '%s' has %lld values, but shape needs %s%lld", w->from->field->name,
                      (long long)(bytes / size), w->ragged ? "a multiple of " : "",
                      (long long)(w->wanted / size));
    return levada_builder_reject(b, row, &why, err);
}

/* Computes where the rows of a ragged result end; *total is their number. */
static levada_status reshape_offsets(const reshape_work *w, int32_t index, levada_builder *b,
                                     int64_t *total, levada_error *err)
{
    int32_t *offsets = NULL;

    *total = w->from->n;
    if (!w->ragged) return LEVADA_OK;
    *total = 0;
    LEVADA_TRY(levada_builder_offsets(b, index, 0, w->from->n, &offsets, err));
    offsets[0] = 0;
    for (int64_t i = 0; i < w->from->n; i++) {
        int64_t bytes = reshape_row(w, 0, i, NULL);

        if (reshape_fits(w, bytes)) *total += bytes / w->wanted;
        offsets[i + 1] = (int32_t)*total;
    }
    return LEVADA_OK;
}

static levada_status reshape_column(const reshape_work *w, int32_t index, levada_builder *b,
                                    levada_error *err)
{
    int64_t  total = 0, size = levada_dtype_size(w->from->field->dtype);
    void    *values = NULL;
    uint8_t *to;

    LEVADA_TRY(reshape_offsets(w, index, b, &total, err));
    LEVADA_TRY(levada_builder_values(b, index, total * (w->wanted / size), &values, err));
    to = values;
    for (int64_t i = 0; i < w->from->n; i++) {
        int64_t bytes = reshape_row(w, 0, i, NULL);

        if (reshape_fits(w, bytes)) {
            to += reshape_row(w, 0, i, to);
            continue;
        }
        if (!w->ragged) memset(to, 0, (size_t)w->wanted);
        if (!w->ragged) to += w->wanted;
        LEVADA_TRY(reshape_reject(w, i, bytes, b, err));
    }
    return LEVADA_OK;
}

static levada_status reshape_apply(void *state, const void *args, const levada_block *in,
                                   levada_block **out, levada_error *err)
{
    const reshape_args *a = args;
    reshape_work        w = { .ragged = a->shape.n > 0 && a->shape.at[0] == -1 };
    levada_one_field    f;
    int64_t             size;

    LEVADA_TRY(reshape_count(a, &w.wanted, err));
    LEVADA_TRY(levada_one_field_begin(state, reshape_check, a, a->field, in, &f, err));
    size = levada_dtype_size(f.from->field->dtype);
    w.from = f.from;
    w.inner = levada_column_inner(f.from) * size;
    w.wanted *= size;
    return levada_one_field_end(&f, reshape_column(&w, f.index, f.b, err), out, err);
}

static const levada_example_file reshape_files[] = {
    { "numbers.bin", "\1\2\3\4\5\6\7\10\11\12\13\14", 12 },
    { NULL, NULL, 0 }
};

const levada_stage_def levada_stage_reshape = {
    .struct_size = sizeof(levada_stage_def),
    .name = "reshape",
    .doc = "changes the shape of a field of numbers",
    .example = "fixed_length:numbers.bin,record_bytes=4 | decode_raw:uint8 | "
               "reshape:record,shape=[2,2]",
    .example_files = reshape_files,
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS),
    .args = reshape_options,
    .args_size = sizeof(reshape_args),
    .state_size = sizeof(levada_columns_state),
    .check = reshape_check,
    .open = levada_columns_state_open,
    .close = levada_columns_state_close,
    .apply = reshape_apply,
};
