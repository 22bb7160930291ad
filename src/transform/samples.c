/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/samples.h"

#include <levada/block.h>
#include <string.h>

levada_status levada_samples_check(const levada_field *f, levada_error *err)
{
    int32_t dims = f->depth + f->ndim;

    if (f->depth <= 1 && (dims == 1 || dims == 2) && !levada_dtype_is_bytes(f->dtype) &&
        !f->padded &&
        (f->ndim == 0 || f->dims[f->ndim - 1] > 0)) {
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "field '%s' must be audio: numbers of shape [frames] or [frames, channels]",
                       f->name);
}

levada_status levada_samples_check_audio(const levada_field *f, levada_error *err)
{
    LEVADA_TRY(levada_samples_check(f, err));
    if (f->dtype == LEVADA_FLOAT32 || f->dtype == LEVADA_FLOAT64 || f->dtype == LEVADA_INT16 ||
        f->dtype == LEVADA_INT32) {
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "field '%s' of %s: expected float32, float64, int16 or int32", f->name,
                       levada_dtype_name(f->dtype));
}

/* -- numbers */

#define SAMPLES_ROUND 0x1.8p52 /* a double of this size has no bits for fractions */

/* Rounds as rint() does, and limits. NaN becomes `low`. */
static double samples_whole(double v, double low, double high)
{
    v = v >= low ? v : low;
    v = v <= high ? v : high;
    return v + SAMPLES_ROUND - SAMPLES_ROUND;
}

void levada_samples_load(levada_dtype dtype, const uint8_t *from, int64_t n, double *to)
{
    const void *at = from;

    if (dtype == LEVADA_FLOAT64) {
        memcpy(to, from, (size_t)n * sizeof *to);
    } else if (dtype == LEVADA_FLOAT32) {
        for (int64_t i = 0; i < n; i++) to[i] = (double)((const float *)at)[i];
    } else if (dtype == LEVADA_INT16) {
        for (int64_t i = 0; i < n; i++) to[i] = ((const int16_t *)at)[i];
    } else {
        for (int64_t i = 0; i < n; i++) to[i] = ((const int32_t *)at)[i];
    }
}

void levada_samples_store(levada_dtype dtype, const double *from, int64_t n, uint8_t *to)
{
    void *at = to;

    if (dtype == LEVADA_FLOAT64) {
        memcpy(to, from, (size_t)n * sizeof *from);
    } else if (dtype == LEVADA_FLOAT32) {
        for (int64_t i = 0; i < n; i++) ((float *)at)[i] = (float)from[i];
    } else if (dtype == LEVADA_INT16) {
        for (int64_t i = 0; i < n; i++)
            ((int16_t *)at)[i] = (int16_t)(int32_t)samples_whole(from[i], INT16_MIN, INT16_MAX);
    } else {
        for (int64_t i = 0; i < n; i++)
            ((int32_t *)at)[i] = (int32_t)samples_whole(from[i], INT32_MIN, INT32_MAX);
    }
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
    if ((f->dtype == LEVADA_INT32 || f->dtype == LEVADA_INT64) && f->depth == 0 && f->ndim == 0)
        return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "field '%s' is not a rate: one int32 or int64 per record", f->name);
}

int64_t levada_rate_row(const levada_column *c, int64_t row)
{
    return c->field->dtype == LEVADA_INT32 ? levada_column_i32(c)[row]
                                           : levada_column_i64(c)[row];
}
