/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/samples.h"

#include "tensor/tensor_priv.h"

#include <levada/block.h>
#include <string.h>

levada_status levada_samples_check(const levada_field *f, levada_error *err)
{
    char shown[LEVADA_FIELD_SHOWN];
    int32_t dims = f->depth + f->ndim;

    if (f->depth <= 1 && (dims == 1 || dims == 2) && !levada_dtype_is_bytes(f->dtype) &&
        !f->padded &&
        (f->ndim == 0 || f->dims[f->ndim - 1] > 0)) {
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "field '%s' must be audio, numbers of shape [frames] or [frames, channels]; "
                       "got %s", f->name, levada_field_shown(f, shown));
}

levada_status levada_samples_check_audio(const levada_field *f, levada_error *err)
{
    LEVADA_TRY(levada_samples_check(f, err));
    if (f->dtype == LEVADA_FLOAT32 || f->dtype == LEVADA_FLOAT64 || f->dtype == LEVADA_INT16 ||
        f->dtype == LEVADA_INT32) {
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "field '%s' must be float32, float64, int16 or int32, got %s", f->name,
                       levada_dtype_name(f->dtype));
}

/* -- numbers */

enum { SAMPLES_STEP = 16 };    /* samples that loops take at a time: compilers vectorize these */
#define SAMPLES_ROUND 0x1.8p52 /* a double of this size has no bits for fractions */

/* Limits a sample; NaN becomes `low`. Compilers make no branches of comparisons that come first. */
static double samples_limit(double v, double low, double high)
{
    int above = v > low, below = v < high;

    v = below ? v : high;
    return above ? v : low;
}

/* Multiplies n samples. */
#define SAMPLES_FLOATS_OF(name, of, type)                                             \
    static void samples_##name(const of *restrict from, int64_t n, double factor,     \
                               type *restrict to)                                     \
    {                                                                                 \
        int64_t i = 0;                                                                \
                                                                                      \
        for (; i + SAMPLES_STEP <= n; i += SAMPLES_STEP)                              \
            for (int k = 0; k < SAMPLES_STEP; k++)                                    \
                to[i + k] = (type)((double)from[i + k] * factor);                     \
        for (; i < n; i++) to[i] = (type)((double)from[i] * factor);                  \
    }

/* Multiplies n samples, and rounds as rint() does. */
#define SAMPLES_INTEGERS_OF(name, of, type, low, high)                                \
    static void samples_##name(const of *restrict from, int64_t n, double factor,     \
                               type *restrict to)                                     \
    {                                                                                 \
        double  some[SAMPLES_STEP];                                                   \
        int64_t i = 0;                                                                \
                                                                                      \
        for (; i + SAMPLES_STEP <= n; i += SAMPLES_STEP) {                            \
            for (int k = 0; k < SAMPLES_STEP; k++)                                    \
                some[k] = samples_limit((double)from[i + k] * factor, low, high);     \
            for (int k = 0; k < SAMPLES_STEP; k++)                                    \
                to[i + k] = (type)(int32_t)(some[k] + SAMPLES_ROUND - SAMPLES_ROUND); \
        }                                                                             \
        for (; i < n; i++) {                                                          \
            some[0] = samples_limit((double)from[i] * factor, low, high);             \
            to[i] = (type)(int32_t)(some[0] + SAMPLES_ROUND - SAMPLES_ROUND);         \
        }                                                                             \
    }

SAMPLES_FLOATS_OF(load_f32, float, double)
SAMPLES_FLOATS_OF(load_i16, int16_t, double)
SAMPLES_FLOATS_OF(load_i32, int32_t, double)
SAMPLES_FLOATS_OF(store_f32, double, float)
SAMPLES_INTEGERS_OF(store_i16, double, int16_t, INT16_MIN, INT16_MAX)
SAMPLES_INTEGERS_OF(store_i32, double, int32_t, INT32_MIN, INT32_MAX)
SAMPLES_FLOATS_OF(scale_f32, float, float)
SAMPLES_FLOATS_OF(scale_f64, double, double)
SAMPLES_INTEGERS_OF(scale_i16, int16_t, int16_t, INT16_MIN, INT16_MAX)
SAMPLES_INTEGERS_OF(scale_i32, int32_t, int32_t, INT32_MIN, INT32_MAX)

void levada_samples_load(levada_dtype dtype, const uint8_t *from, int64_t n, double *to)
{
    const void *at = from;

    if (dtype == LEVADA_FLOAT64) memcpy(to, from, (size_t)n * sizeof *to);
    else if (dtype == LEVADA_FLOAT32) samples_load_f32(at, n, 1, to);
    else if (dtype == LEVADA_INT16) samples_load_i16(at, n, 1, to);
    else samples_load_i32(at, n, 1, to);
}

void levada_samples_store(levada_dtype dtype, const double *from, int64_t n, uint8_t *to)
{
    void *at = to;

    if (dtype == LEVADA_FLOAT64) memcpy(to, from, (size_t)n * sizeof *from);
    else if (dtype == LEVADA_FLOAT32) samples_store_f32(from, n, 1, at);
    else if (dtype == LEVADA_INT16) samples_store_i16(from, n, 1, at);
    else samples_store_i32(from, n, 1, at);
}

void levada_samples_scale(levada_dtype dtype, const uint8_t *from, int64_t n, double factor,
                          uint8_t *to)
{
    const void *at = from;
    void       *put = to;

    if (dtype == LEVADA_FLOAT64) samples_scale_f64(at, n, factor, put);
    else if (dtype == LEVADA_FLOAT32) samples_scale_f32(at, n, factor, put);
    else if (dtype == LEVADA_INT16) samples_scale_i16(at, n, factor, put);
    else samples_scale_i32(at, n, factor, put);
}

/* -- columns */

int64_t levada_samples_channels(const levada_field *f)
{
    return f->depth + f->ndim == 2 ? f->dims[f->ndim - 1] : 1;
}

void levada_samples_ragged(levada_field *f)
{
    if (f->depth == 1) return;
    f->depth = 1;
    f->ndim--;
    memmove(f->dims, f->dims + 1, f->ndim * sizeof *f->dims);
}

const uint8_t *levada_samples_row(const levada_column *c, int64_t row, int64_t *frames)
{
    int64_t size = levada_samples_channels(c->field) * levada_dtype_size(c->field->dtype);

    if (c->field->depth == 0) {
        *frames = c->dims[0];
        return c->values + row * c->dims[0] * size;
    }
    *frames = c->level[0].end[row] - c->level[0].begin[row];
    return c->values + c->level[0].begin[row] * size;
}

levada_status levada_rate_check(const levada_field *f, levada_error *err)
{
    char shown[LEVADA_FIELD_SHOWN];
    if ((f->dtype == LEVADA_INT32 || f->dtype == LEVADA_INT64) && f->depth == 0 && f->ndim == 0)
        return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "field '%s' must be a rate, one int32 or int64 per record; got %s", f->name,
                       levada_field_shown(f, shown));
}

int64_t levada_rate_row(const levada_column *c, int64_t row)
{
    return c->field->dtype == LEVADA_INT32 ? levada_column_i32(c)[row]
                                           : levada_column_i64(c)[row];
}
