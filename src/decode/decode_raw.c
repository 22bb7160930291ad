/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_raw - the bytes of a string as numbers: tf.io.decode_raw (core/kernels/decode_raw_op.cc,
 * decode_padded_raw_op.cc).
 *
 * Without fixed_length a row has as many numbers as its string holds (RAGGED). With fixed_length,
 * in bytes, longer strings are cut and shorter ones end in zeros (FIXED): zeros are added before
 * bytes are swapped.
 */
#include "rows/numbers_put.h"

#include <string.h>

enum { DECODE_RAW_MOST = 1 << 30 };

typedef struct decode_raw_args {
    levada_dtype dtype;
    bool         little_endian;
    int64_t      fixed_length;
} decode_raw_args;

static const levada_arg decode_raw_options[] = {
    LEVADA_ARG(DTYPE, decode_raw_args, dtype, .required = true, .positional = true,
               .doc = "dtype of the numbers"),
    LEVADA_ARG(BOOL, decode_raw_args, little_endian, .otherwise = "true",
               .doc = "the numbers are little endian; false = big endian"),
    LEVADA_ARG(INT, decode_raw_args, fixed_length,
               .doc = "bytes of a row; longer strings are truncated, and shorter strings padded "
                      "with zeros; null = rows of any length"),
    LEVADA_ARG_END
};

static bool decode_raw_is_fixed(const decode_raw_args *a)
{
    return a->fixed_length != LEVADA_NULL_INT;
}

static levada_status decode_raw_check_length(const decode_raw_args *a, levada_error *err)
{
    int64_t size = levada_dtype_size(a->dtype);
    bool    numbers = a->dtype != LEVADA_BOOL && a->dtype != LEVADA_COMPLEX64 &&
                   a->dtype != LEVADA_COMPLEX128;

    if (!numbers) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "fixed_length does not support dtype %s",
                           levada_dtype_name(a->dtype));
    }
    if (a->fixed_length <= 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "fixed_length (%lld) must be greater than zero",
                           (long long)a->fixed_length);
    }
    if (a->fixed_length > DECODE_RAW_MOST) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "fixed_length (%lld) exceeds 1 GiB",
                           (long long)a->fixed_length);
    }
    if (a->fixed_length % size != 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "fixed_length (%lld) must be a multiple of %lld, the size of %s",
                           (long long)a->fixed_length, (long long)size,
                           levada_dtype_name(a->dtype));
    }
    return LEVADA_OK;
}

static levada_status decode_raw_check(const void *args, levada_spec **out, levada_error *err)
{
    const decode_raw_args *a = args;
    levada_field           field = { .name = "value", .dtype = a->dtype, .depth = 1 };

    if (levada_dtype_is_bytes(a->dtype)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "dtype=string must be a dtype of numbers, such as int32 or float32");
    }
    if (decode_raw_is_fixed(a)) {
        LEVADA_TRY(decode_raw_check_length(a, err));
        field.depth = 0;
        field.ndim = 1;
        field.dims[0] = a->fixed_length / levada_dtype_size(a->dtype);
    }
    return levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, out, err);
}

/* Reverses the bytes of each of n words. */
static void decode_raw_swap(uint8_t *at, int64_t n, int64_t word)
{
    for (uint8_t *end = at + n * word; at < end; at += word) {
        for (int64_t i = 0; i < word / 2; i++) {
            uint8_t byte = at[i];

            at[i] = at[word - 1 - i];
            at[word - 1 - i] = byte;
        }
    }
}

/* Finishes the column once `bytes` bytes of numbers are at `at`. */
static void decode_raw_finish(const decode_raw_args *a, uint8_t *at, int64_t bytes)
{
    bool    is_complex = a->dtype == LEVADA_COMPLEX64 || a->dtype == LEVADA_COMPLEX128;
    int64_t word = levada_dtype_size(a->dtype) / (is_complex ? 2 : 1);

    if (a->dtype == LEVADA_BOOL) {
        for (int64_t i = 0; i < bytes; i++) at[i] = at[i] != 0;
    }
    if (!a->little_endian && word > 1) decode_raw_swap(at, bytes / word, word);
}

static levada_status decode_raw_reject(const decode_raw_args *a, const levada_strings *in,
                                       int64_t row, levada_builder *out, levada_error *err)
{
    levada_error why = LEVADA_ERROR_INIT;

    (void)levada_fail(&why, LEVADA_EINVALID_ARGUMENT,
                      "a string of %d bytes is not a multiple of %lld, the size of %s",
                      in->size[row], (long long)levada_dtype_size(a->dtype),
                      levada_dtype_name(a->dtype));
    return levada_builder_reject(out, row, &why, err);
}

static levada_status decode_raw_ragged(const decode_raw_args *a, const levada_strings *in,
                                       levada_builder *out, levada_error *err)
{
    int64_t size = levada_dtype_size(a->dtype), total = 0;
    void   *values = NULL;

    for (int64_t i = 0; i < in->n; i++) {
        if (in->size[i] % size) LEVADA_TRY(decode_raw_reject(a, in, i, out, err));
    }
    LEVADA_TRY(levada_numbers_copy(out, 0, in, size, &values, &total, err));
    decode_raw_finish(a, values, total * size);
    return LEVADA_OK;
}

static levada_status decode_raw_fixed(const decode_raw_args *a, const levada_strings *in,
                                      levada_builder *out, levada_error *err)
{
    int64_t  length = a->fixed_length;
    void    *values = NULL;
    uint8_t *at;

    LEVADA_TRY(levada_builder_values(out, 0, in->n * (length / levada_dtype_size(a->dtype)),
                                     &values, err));
    at = values;
    for (int64_t i = 0; i < in->n; i++, at += length) {
        int64_t n = in->size[i] < length ? in->size[i] : length;

        if (n > 0) memcpy(at, in->data[i], (size_t)n);
        memset(at + n, 0, (size_t)(length - n));
    }
    decode_raw_finish(a, values, in->n * length);
    return LEVADA_OK;
}

static levada_status decode_raw_decode(void *state, const void *args, const levada_strings *in,
                                       levada_builder *out, levada_error *err)
{
    const decode_raw_args *a = args;

    (void)state;
    return decode_raw_is_fixed(a) ? decode_raw_fixed(a, in, out, err)
                                  : decode_raw_ragged(a, in, out, err);
}

static const levada_example_file decode_raw_files[] = {
    { "numbers.bin", "\1\0\2\0\3\0\4\0\5\0\6\0\7\0\10\0", 16 },
    { NULL, NULL, 0 }
};

const levada_decoder_def levada_decoder_decode_raw = {
    .struct_size = sizeof(levada_decoder_def),
    .name = "decode_raw",
    .doc = "reinterprets byte strings as numbers",
    .example = "fixed_length:numbers.bin,record_bytes=4 | decode_raw:int16",
    .example_files = decode_raw_files,
    .field = "record",
    .args = decode_raw_options,
    .args_size = sizeof(decode_raw_args),
    .check = decode_raw_check,
    .decode = decode_raw_decode,
    .replaces = true,
};
