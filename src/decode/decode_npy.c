/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_npy - arrays of NumPy (.npy) to numbers.
 *
 * The dtype and the number of dimensions are options, because they are those of a column; npy_info
 * tells them. An array that differs is rejected alone.
 */
#include "decode/npy.h"

#include "base/alloc.h"

#include <levada/builder.h>
#include <string.h>

enum { DECODE_NPY_ROWS = 65536 }; /* of an array without values */

typedef struct decode_npy_args {
    levada_dtype dtype;
    levada_ints  shape;
} decode_npy_args;

static const levada_arg decode_npy_options[] = {
    LEVADA_ARG(DTYPE, decode_npy_args, dtype, .required = true, .positional = true,
               .doc = "dtype of the arrays"),
    LEVADA_ARG(INTS, decode_npy_args, shape, .min = -1, .max = INT32_MAX,
               .doc = "dimensions of every array; the first dimensions may be -1 (any size); null "
                      "= [-1]; an array without dimensions counts as [1]"),
    LEVADA_ARG_END
};

/* -- columns */

static levada_status decode_npy_field(const decode_npy_args *a, levada_field *f, levada_error *err)
{
    *f = (levada_field){ .name = "array", .dtype = a->dtype, .depth = a->shape.n == 0 };
    if (levada_dtype_is_bytes(a->dtype) || a->dtype == LEVADA_BFLOAT16) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "dtype=%s must be a dtype of .npy arrays, such as int64 or float32",
                           levada_dtype_name(a->dtype));
    }
    for (int64_t i = 0; i < a->shape.n; i++) {
        int64_t size = a->shape.at[i];

        if (size == -1 && f->ndim == 0 && f->depth < LEVADA_MAX_DEPTH) {
            f->depth++;
        } else if (size > 0 && f->ndim < LEVADA_MAX_DIMS - f->depth) {
            f->dims[f->ndim++] = size;
        } else {
            return levada_fail(
                err, LEVADA_EINVALID_ARGUMENT,
                "shape must have at most %d sizes, of at least 1 or, for the first %d, -1; "
                "size %lld is %lld",
                LEVADA_MAX_DIMS, LEVADA_MAX_DEPTH, (long long)i, (long long)size);
        }
    }
    return LEVADA_OK;
}

static levada_status decode_npy_check(const void *args, levada_spec **out, levada_error *err)
{
    levada_field field;

    LEVADA_TRY(decode_npy_field(args, &field, err));
    return levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, out, err);
}

/* -- one array */

static levada_status decode_npy_look(const levada_field *f, const uint8_t *data, int32_t size,
                                     levada_npy *out, levada_error *why)
{
    int64_t rows = 1;

    LEVADA_TRY(levada_npy_read(data, size, out, why));
    if (out->dtype != f->dtype) {
        return levada_fail(why, LEVADA_EINVALID_ARGUMENT, "an array of %s, expected dtype=%s",
                           levada_dtype_name(out->dtype), levada_dtype_name(f->dtype));
    }
    if (out->ndim == 0) out->dims[out->ndim++] = 1;
    if (out->ndim != f->depth + f->ndim) {
        return levada_fail(why, LEVADA_EINVALID_ARGUMENT,
                           "an array with %d dimensions, expected %d",
                           out->ndim, f->depth + f->ndim);
    }
    for (int32_t i = 0; i < f->ndim; i++) {
        if (out->dims[f->depth + i] == f->dims[i]) continue;
        return levada_fail(why, LEVADA_EINVALID_ARGUMENT, "dimension %d is %lld, expected %lld",
                           f->depth + i, (long long)out->dims[f->depth + i],
                           (long long)f->dims[i]);
    }
    for (int32_t i = 0; out->count == 0 && i < f->depth && rows > 0; i++) {
        rows *= out->dims[i];
        if (rows <= DECODE_NPY_ROWS) continue;
        return levada_fail(why, LEVADA_ERESOURCE_EXHAUSTED,
                           "an array without values must have at most %d rows, got %lld",
                           DECODE_NPY_ROWS, (long long)rows);
    }
    return LEVADA_OK;
}

/* Transposes to the order of C: value i of the result is the one at the index that i counts to. */
static void decode_npy_transpose(const levada_npy *a, int64_t size, uint8_t *to)
{
    int64_t stride[LEVADA_MAX_DIMS], at[LEVADA_MAX_DIMS] = { 0 }, from = 0, step = size;

    for (int32_t d = 0; d < a->ndim; d++) {
        stride[d] = step;
        step *= a->dims[d];
    }
    for (int64_t i = 0; i < a->count; i++, to += size) {
        memcpy(to, a->values + from, (size_t)size);
        for (int32_t d = a->ndim - 1; d >= 0; d--) {
            from += stride[d];
            if (++at[d] < a->dims[d]) break;
            from -= stride[d] * a->dims[d];
            at[d] = 0;
        }
    }
}

static void decode_npy_swap(uint8_t *at, int64_t n, int64_t word)
{
    for (uint8_t *end = at + n * word; at < end; at += word) {
        for (int64_t i = 0; i < word / 2; i++) {
            uint8_t byte = at[i];

            at[i] = at[word - 1 - i];
            at[word - 1 - i] = byte;
        }
    }
}

static void decode_npy_copy(const levada_npy *a, uint8_t *to)
{
    int64_t size = levada_dtype_size(a->dtype);
    bool    is_complex = a->dtype == LEVADA_COMPLEX64 || a->dtype == LEVADA_COMPLEX128;

    if (a->count == 0) return;
    if (a->fortran && a->ndim > 1) decode_npy_transpose(a, size, to);
    else memcpy(to, a->values, (size_t)(a->count * size));
    if (a->big_endian && is_complex) decode_npy_swap(to, a->count * 2, size / 2);
    else if (a->big_endian) decode_npy_swap(to, a->count, size);
    for (int64_t i = 0; a->dtype == LEVADA_BOOL && i < a->count; i++) to[i] = to[i] != 0;
}

/* -- a block */

/* Headers of all arrays; those that are rejected are empty, or zeros where every array has values.
 */
static levada_status decode_npy_look_all(const levada_field *f, const levada_strings *in,
                                         levada_npy *arrays, int64_t *total, levada_builder *out,
                                         levada_error *err)
{
    int64_t inner = 1;

    for (int32_t i = 0; i < f->ndim; i++) inner *= f->dims[i];
    *total = 0;
    for (int64_t i = 0; i < in->n; i++) {
        levada_error why = LEVADA_ERROR_INIT;

        if (decode_npy_look(f, in->data[i], in->size[i], &arrays[i], &why) != LEVADA_OK) {
            arrays[i] = (levada_npy){ 0 };
            LEVADA_TRY(levada_builder_reject(out, i, &why, err));
        }
        *total += f->depth == 0 ? inner : arrays[i].count;
        if (*total <= INT32_MAX) continue;
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "more than 2^31 numbers in one block; lower block_rows");
    }
    return LEVADA_OK;
}

/* Offsets of ragged level `level`: each of its rows is as long as that dimension of its array. */
static levada_status decode_npy_level(const levada_npy *arrays, int64_t n, int32_t level,
                                      levada_builder *out, levada_error *err)
{
    int64_t  rows = 0, end = 0;
    int32_t *offsets = NULL;

    for (int64_t i = 0; i < n; i++) {
        int64_t of_array = 1;

        for (int32_t d = 0; d < level; d++) of_array *= arrays[i].dims[d];
        rows += of_array;
        end += of_array * arrays[i].dims[level];
    }
    if (rows > INT32_MAX || end > INT32_MAX)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "more than 2^31 rows in one block; lower block_rows");
    LEVADA_TRY(levada_builder_offsets(out, 0, level, rows, &offsets, err));
    *offsets++ = 0;
    end = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t of_array = 1;

        for (int32_t d = 0; d < level; d++) of_array *= arrays[i].dims[d];
        while (of_array-- > 0) *offsets++ = (int32_t)(end += arrays[i].dims[level]);
    }
    return LEVADA_OK;
}

static levada_status decode_npy_fill(const levada_field *f, const levada_npy *arrays, int64_t n,
                                     int64_t total, levada_builder *out, levada_error *err)
{
    int64_t  size = levada_dtype_size(f->dtype), inner = n > 0 && f->depth == 0 ? total / n : 0;
    void    *values = NULL;
    uint8_t *to;

    for (int32_t level = 0; level < f->depth; level++)
        LEVADA_TRY(decode_npy_level(arrays, n, level, out, err));
    LEVADA_TRY(levada_builder_values(out, 0, total, &values, err));
    to = values;
    for (int64_t i = 0; i < n; i++) {
        int64_t count = f->depth == 0 ? inner : arrays[i].count;

        if (arrays[i].count == 0) memset(to, 0, (size_t)(count * size));
        else decode_npy_copy(&arrays[i], to);
        to += count * size;
    }
    return LEVADA_OK;
}

static levada_status decode_npy_decode(void *state, const void *args, const levada_strings *in,
                                       levada_builder *out, levada_error *err)
{
    levada_npy   *arrays = levada_alloc_zero((size_t)in->n * sizeof *arrays + 1);
    int64_t       total = 0;
    levada_field  field;
    levada_status st;

    (void)state;
    if (!arrays) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for arrays");
    st = decode_npy_field(args, &field, err);
    if (st == LEVADA_OK) st = decode_npy_look_all(&field, in, arrays, &total, out, err);
    if (st == LEVADA_OK) st = decode_npy_fill(&field, arrays, in->n, total, out, err);
    levada_free(arrays);
    return st;
}

static const levada_example_file decode_npy_files[] = {
    { "numbers.npy",
      "\x93NUMPY\1\0\x37\0"
      "{'descr': '<i2', 'fortran_order': False, 'shape': (3,)}\1\0\2\0\3\0",
      71 },
    { NULL, NULL, 0 }
};

const levada_decoder_def levada_decoder_decode_npy = {
    .struct_size = sizeof(levada_decoder_def),
    .name = "decode_npy",
    .doc = "decodes NumPy arrays (.npy) to numbers",
    .example = "fixed_length:numbers.npy,record_bytes=71 | decode_npy:int16",
    .example_files = decode_npy_files,
    .field = "record",
    .args = decode_npy_options,
    .args_size = sizeof(decode_npy_args),
    .check = decode_npy_check,
    .decode = decode_npy_decode,
    .replaces = true,
};
