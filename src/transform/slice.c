/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice - a part of each value of a field: tf.slice of every record. Ragged levels and dimensions
 * are both counted as dimensions, outermost first. What has a size becomes a dimension where
 * everything inside of it has one.
 */
#include "transform/one_field.h"

#include <string.h>

enum { SLICE_MOST = LEVADA_MAX_DIMS + LEVADA_MAX_DEPTH };

typedef struct slice_args {
    const char *field;
    levada_ints begin, size;
} slice_args;

/* What is done to one column of a block. */
typedef struct slice_work {
    const levada_column *from;
    const levada_field  *to;
    int64_t              begin[SLICE_MOST], size[SLICE_MOST]; /* -1 = to the end */
    int64_t              length[SLICE_MOST]; /* of dimensions; of levels, the range says it */
    int64_t              stride[SLICE_MOST]; /* of dimensions, in bytes */
    int32_t              n;                  /* levels and dimensions */
    bool                 fits;               /* the part of the dimensions is in them */
    int64_t              used[LEVADA_MAX_DEPTH]; /* rows of each level of the result */
    int64_t              leaves, bytes;          /* its innermost rows, and bytes of values */
    int32_t             *offsets[LEVADA_MAX_DEPTH];
    uint8_t             *values; /* NULL = only counted */
} slice_work;

static const levada_arg slice_options[] = {
    LEVADA_ARG(TEXT, slice_args, field, .required = true, .positional = true,
               .doc = "field of numbers"),
    LEVADA_ARG(INTS, slice_args, begin, .required = true, .min = 0, .max = INT32_MAX,
               .doc = "start of the slice in each dimension, ragged dimensions first"),
    LEVADA_ARG(INTS, slice_args, size, .required = true, .min = -1, .max = INT32_MAX,
               .doc = "size of the slice in each dimension; -1 = to the end; missing dimensions "
                      "are not sliced"),
    LEVADA_ARG_END,
};

/* Returns begin and size in dimension i. */
static void slice_of(const slice_args *a, int32_t i, int64_t *begin, int64_t *size)
{
    *begin = i < a->begin.n ? a->begin.at[i] : 0;
    *size = i < a->size.n ? a->size.at[i] : -1;
}

static levada_status slice_check_dim(const slice_args *a, int32_t i, int64_t *length,
                                     levada_error *err)
{
    int64_t begin, size;

    slice_of(a, i, &begin, &size);
    if (*length >= 0 && (begin > *length || (size >= 0 && begin + size > *length))) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "dimension %d has size %lld, which does not contain begin=%lld with "
                           "size=%lld", i, (long long)*length, (long long)begin, (long long)size);
    }
    if (size >= 0) *length = size;
    else if (*length >= 0) *length -= begin;
    return LEVADA_OK;
}

/* Makes the field of the result. */
static levada_status slice_field(const void *args, levada_field *f, levada_error *err)
{
    const slice_args *a = args;
    int64_t           dims[SLICE_MOST];
    int32_t           n = f->depth + f->ndim, depth = f->depth;

    if (levada_dtype_is_bytes(f->dtype)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' must have numbers, got byte strings", f->name);
    }
    if (a->begin.n > n || a->size.n > n) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' has %d dimensions, but begin and size have %lld",
                           f->name, n,
                           (long long)(a->begin.n > a->size.n ? a->begin.n : a->size.n));
    }
    for (int32_t i = 0; i < n; i++) {
        dims[i] = i < f->depth ? -1 : f->dims[i - f->depth];
        LEVADA_TRY(slice_check_dim(a, i, &dims[i], err));
    }
    while (depth > 0 && dims[depth - 1] >= 0) depth--;
    if (n - depth > LEVADA_MAX_DIMS) depth = n - LEVADA_MAX_DIMS;
    f->depth = (uint8_t)depth;
    f->ndim = (uint8_t)(n - depth);
    f->padded = false;
    for (int32_t i = depth; i < n; i++) f->dims[i - depth] = dims[i];
    return LEVADA_OK;
}

static levada_status slice_check(const void *args, const levada_spec *in, levada_spec **out,
                                 levada_error *err)
{
    return levada_one_field_check(in, ((const slice_args *)args)->field, slice_field, args, out,
                                  err);
}

/* -- one record */

static bool slice_range(const slice_work *w, int32_t d, int64_t length, int64_t *n)
{
    *n = w->size[d] >= 0 ? w->size[d] : length - w->begin[d];
    return *n >= 0 && w->begin[d] + *n <= length;
}

/* Copies the dimensions from number d on, of what begins at byte `at`. */
static void slice_dims(slice_work *w, int32_t d, int64_t at)
{
    int64_t size = levada_dtype_size(w->from->field->dtype), n;

    (void)slice_range(w, d, d < w->n ? w->length[d] : 0, &n);
    if (d < w->n - 1) {
        for (int64_t i = 0; i < n; i++) slice_dims(w, d + 1, at + (w->begin[d] + i) * w->stride[d]);
        return;
    }
    if (d == w->n) n = 1; /* a single number */
    else at += w->begin[d] * size;
    if (w->values && n) memcpy(w->values + w->bytes, w->from->values + at, (size_t)(n * size));
    w->bytes += n * size;
}

/* Returns where the row of level d that was made last ends: rows of the next level so far. */
static int32_t slice_mark(const slice_work *w, int32_t d)
{
    return (int32_t)(d + 1 < w->to->depth ? w->used[d + 1] : w->leaves);
}

/* Slices row `row` of level d; returns false if the part is not in it. */
static bool slice_row(slice_work *w, int32_t d, int64_t row)
{
    const levada_level *l = &w->from->level[d];
    int64_t             n;

    if (d == w->from->field->depth) {
        if (!w->fits) return false;
        slice_dims(w, d, row * levada_column_inner(w->from) *
                             levada_dtype_size(w->from->field->dtype));
        return true;
    }
    if (!slice_range(w, d, l->end[row] - l->begin[row], &n)) return false;
    for (int64_t i = 0; i < n; i++) {
        if (!slice_row(w, d + 1, l->begin[row] + w->begin[d] + i)) return false;
    }
    if (d >= w->to->depth) return true;
    if (d + 1 == w->to->depth) w->leaves += n;
    w->used[d]++;
    if (w->values) w->offsets[d][w->used[d]] = slice_mark(w, d);
    return true;
}

/* -- a block */

static void slice_begin(slice_work *w, const slice_args *a)
{
    int64_t bytes = levada_dtype_size(w->from->field->dtype), n;

    w->fits = true;
    w->n = w->from->field->depth + w->from->field->ndim;
    for (int32_t i = w->n - 1; i >= 0; i--) {
        slice_of(a, i, &w->begin[i], &w->size[i]);
        w->length[i] = i < w->from->field->depth ? -1 : w->from->dims[i - w->from->field->depth];
        w->stride[i] = bytes;
        bytes *= w->length[i];
        if (i >= w->from->field->depth && !slice_range(w, i, w->length[i], &n)) w->fits = false;
    }
}

/* Dimensions of the result, of which the spec may not know some. Returns the bytes that they take.
 */
static int64_t slice_shape(const slice_work *w, int64_t dims[LEVADA_MAX_DIMS])
{
    int64_t bytes = levada_dtype_size(w->to->dtype);

    for (int32_t i = 0; i < w->to->ndim; i++) {
        int32_t d = w->to->depth + i;

        dims[i] = w->size[d] >= 0 ? w->size[d] : w->length[d] - w->begin[d];
        if (dims[i] < 0) dims[i] = 0;
        bytes *= dims[i];
    }
    return bytes;
}

/* Rejects a record without the part, which leaves zeros, or an empty row. */
static levada_status slice_reject(slice_work *w, int64_t row, levada_builder *b, levada_error *err)
{
    levada_error why = LEVADA_ERROR_INIT;
    int64_t      dims[LEVADA_MAX_DIMS], bytes = slice_shape(w, dims);

    if (w->to->depth == 0) {
        if (w->values && bytes) memset(w->values + w->bytes, 0, (size_t)bytes);
        w->bytes += bytes;
    } else {
        w->used[0]++;
        if (w->values) w->offsets[0][w->used[0]] = slice_mark(w, 0);
    }
    if (!w->values) return LEVADA_OK;
    (void)levada_fail(&why, LEVADA_EINVALID_ARGUMENT,
                      "field '%s' must contain begin and size, got a record that is too small; "
                      "filter "
                      "such records before, or set errors=skip", w->from->field->name);
    return levada_builder_reject(b, row, &why, err);
}

static levada_status slice_all(slice_work *w, levada_builder *b, levada_error *err)
{
    w->leaves = w->bytes = 0;
    memset(w->used, 0, sizeof w->used);
    for (int64_t i = 0; i < w->from->n; i++) {
        const slice_work before = *w;

        if (slice_row(w, 0, i)) continue;
        *w = before;
        LEVADA_TRY(slice_reject(w, i, b, err));
    }
    return LEVADA_OK;
}

/* Counts, takes memory, copies. */
static levada_status slice_column(slice_work *w, int32_t index, levada_builder *b,
                                  levada_error *err)
{
    int64_t size = levada_dtype_size(w->to->dtype), dims[LEVADA_MAX_DIMS];
    void   *values = NULL;

    LEVADA_TRY(slice_all(w, b, err));
    (void)slice_shape(w, dims);
    levada_builder_dims(b, index, dims);
    for (int32_t d = 0; d < w->to->depth; d++) {
        LEVADA_TRY(levada_builder_offsets(b, index, d, w->used[d], &w->offsets[d], err));
        w->offsets[d][0] = 0;
    }
    LEVADA_TRY(levada_builder_values(b, index, w->bytes / size, &values, err));
    w->values = values;
    return slice_all(w, b, err);
}

static levada_status slice_apply(void *state, const void *args, const levada_block *in,
                                 levada_block **out, levada_error *err)
{
    const slice_args *a = args;
    slice_work        w = { 0 };
    levada_one_field  f;

    LEVADA_TRY(levada_one_field_begin(state, slice_check, a, a->field, in, &f, err));
    w.from = f.from;
    w.to = f.to;
    slice_begin(&w, a);
    return levada_one_field_end(&f, slice_column(&w, f.index, f.b, err), out, err);
}

static const levada_example_file slice_files[] = {
    { "numbers.bin", "\1\2\3\4\5\6\7\10\11\12\13\14", 12 },
    { NULL, NULL, 0 }
};

const levada_stage_def levada_stage_slice = {
    .struct_size = sizeof(levada_stage_def),
    .name = "slice",
    .doc = "extracts a slice of each value of a field",
    .example = "fixed_length:numbers.bin,record_bytes=4 | decode_raw:uint8 | "
               "slice:record,begin=[1],size=[2]",
    .example_files = slice_files,
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS),
    .args = slice_options,
    .args_size = sizeof(slice_args),
    .state_size = sizeof(levada_columns_state),
    .check = slice_check,
    .open = levada_columns_state_open,
    .close = levada_columns_state_close,
    .apply = slice_apply,
};
