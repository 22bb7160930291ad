/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/resize.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

enum { RESIZE_STEP = 16 }; /* numbers that loops take at a time: compilers vectorize these */

/* -- weights */

static void resize_tap_bilinear(levada_resize_axis *x, int64_t i)
{
    double  at = ((double)i + 0.5) * (double)x->from / (double)x->to - 0.5;
    double  low = floor(at);
    int64_t first = low < 0 ? 0 : (int64_t)low, last = (int64_t)low + 1;
    float   part = (float)(at - low);

    if (last > x->from - 1) last = x->from - 1;
    x->taps[i] = (levada_resize_tap){ (int32_t)first, (int32_t)(last - first + 1), 2 * i };
    x->weights[2 * i] = first == last ? 1.0F : 1.0F - part;
    x->weights[2 * i + 1] = part;
}

/* Computes the taps of pixel i by area; its weights begin at number *used. */
static void resize_tap_area(levada_resize_axis *x, int64_t i, int64_t *used)
{
    double  scale = (double)x->from / (double)x->to;
    double  begin = (double)i * scale, end = (double)(i + 1) * scale;
    int64_t first = (int64_t)begin, last = (int64_t)ceil(end) - 1;

    if (last > x->from - 1) last = x->from - 1;
    if (last < first) last = first;
    x->taps[i] = (levada_resize_tap){ (int32_t)first, (int32_t)(last - first + 1), *used };
    for (int64_t k = first; k <= last; k++) {
        double at = (double)k, left = fmax(at, begin), right = fmin(at + 1, end);

        x->weights[(*used)++] = (float)((right - left) / scale);
    }
}

/* Computes a triangle over the pixels that pixel i covers, as in Pillow and torch; its weights
 * begin at number *used. */
static void resize_tap_antialias(levada_resize_axis *x, int64_t i, int64_t *used)
{
    double  scale = (double)x->from / (double)x->to, wide = scale > 1 ? scale : 1;
    double  center = ((double)i + 0.5) * scale, total = 0;
    int64_t first = (int64_t)(center - wide + 0.5), last = (int64_t)(center + wide + 0.5) - 1;
    float  *weights = x->weights + *used;

    if (first < 0) first = 0;
    if (last > x->from - 1) last = x->from - 1;
    x->taps[i] = (levada_resize_tap){ (int32_t)first, (int32_t)(last - first + 1), *used };
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t k = first; k <= last; k++) {
            double weight = 1 - fabs((double)k + 0.5 - center) / wide;

            if (weight < 0) weight = 0;
            if (pass == 0) total += weight;
            else weights[k - first] = (float)(weight / total);
        }
    }
    *used += last - first + 1;
}

/* Makes the weights of another size. */
static bool resize_prepare(levada_resize_axis *x, int64_t from, int64_t to,
                           levada_resize_method method)
{
    int64_t used = 0;

    if (x->from == from && x->to == to && x->method == method) return true;
    x->from = x->to = 0;
    if (!levada_reserve(&x->taps, &x->taps_capacity, to, sizeof *x->taps) ||
        !levada_reserve(&x->weights, &x->weights_capacity, 2 * from + 4 * to, sizeof *x->weights)) {
        return false;
    }
    x->from = from;
    x->to = to;
    x->method = method;
    for (int64_t i = 0; i < to; i++) {
        if (method == LEVADA_RESIZE_AREA) resize_tap_area(x, i, &used);
        else if (method == LEVADA_RESIZE_ANTIALIAS) resize_tap_antialias(x, i, &used);
        else resize_tap_bilinear(x, i);
    }
    return true;
}

/* -- one image */

/* Adds two weighted rows of n numbers to the sum. */
#define RESIZE_ADD_OF(type)                                                                     \
    static void resize_add_##type(const type *restrict x, float wx, const type *restrict y,     \
                                  float wy, int64_t n, float *restrict sum)                     \
    {                                                                                           \
        int64_t i = 0;                                                                          \
                                                                                                \
        for (; i + RESIZE_STEP <= n; i += RESIZE_STEP)                                          \
            for (int k = 0; k < RESIZE_STEP; k++)                                               \
                sum[i + k] += wx * (float)x[i + k] + wy * (float)y[i + k];                      \
        for (; i < n; i++) sum[i] += wx * (float)x[i] + wy * (float)y[i];                       \
    }

RESIZE_ADD_OF(uint8_t)
RESIZE_ADD_OF(float)

/* Sums pixels of the sum of rows to a row of the result. */
static void resize_line(const levada_resizer *s, int64_t width, int64_t channels, float *to)
{
    for (int64_t x = 0; x < width; x++, to += channels) {
        const levada_resize_tap *tap = &s->cells.taps[x];
        const float             *weight = s->cells.weights + tap->weight;
        const float             *from = s->sum + tap->first * channels;

        if (channels == 3) { /* photographs: compilers add four numbers at once */
            float rgb[4] = { 0 };

            for (int32_t k = 0; k < tap->n; k++, from += 3)
                for (int c = 0; c < 4; c++) rgb[c] += weight[k] * from[c];
            if (x + 1 < width) memcpy(to, rgb, sizeof rgb); /* the next pixel overwrites one */
            else memcpy(to, rgb, 3 * sizeof *to);
            continue;
        }
        for (int64_t c = 0; c < channels; c++) {
            to[c] = 0;
            for (int32_t k = 0; k < tap->n; k++) to[c] += weight[k] * from[k * channels + c];
        }
    }
}

/* Rounds means of bytes, whose weights add up to 1 but for 2^-20: no result is above 255. */
static void resize_put_bytes(const float *restrict from, int64_t n, uint8_t *restrict to)
{
    int64_t i = 0;

    for (; i + RESIZE_STEP <= n; i += RESIZE_STEP) {
        int32_t some[RESIZE_STEP];

        for (int k = 0; k < RESIZE_STEP; k++) some[k] = (int32_t)(from[i + k] + 0.5F);
        for (int k = 0; k < RESIZE_STEP; k++) to[i + k] = (uint8_t)some[k];
    }
    for (; i < n; i++) to[i] = (uint8_t)(int32_t)(from[i] + 0.5F);
}

/* Sums rows of pixels for row y of the result. */
static void resize_sum(const levada_resizer *s, const levada_image *from, bool bytes, int64_t y,
                       int64_t n)
{
    const levada_resize_tap *tap = &s->rows.taps[y];

    memset(s->sum, 0, (size_t)n * sizeof(float));
    for (int32_t k = 0; k < tap->n; k += 2) {
        int32_t      next = k + 1 < tap->n ? k + 1 : k; /* an odd last row is added in halves */
        const void  *one = levada_image_line(from, tap->first + k);
        const void  *two = levada_image_line(from, tap->first + next);
        const float *weights = s->rows.weights + tap->weight;
        float        half = next > k ? 1 : 0.5F;
        float        wx = weights[k] * half, wy = weights[next] * half;

        if (bytes) resize_add_uint8_t(one, wx, two, wy, n, s->sum);
        else resize_add_float(one, wx, two, wy, n, s->sum);
    }
}

levada_status levada_resize_field(levada_field *f, int64_t height, int64_t width,
                                  levada_error *err)
{
    int64_t channels = f->ndim ? f->dims[f->ndim - 1] : -1;

    if ((f->dtype != LEVADA_UINT8 && f->dtype != LEVADA_FLOAT32) || f->depth + f->ndim != 3 ||
        f->depth > 2 || channels < 1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' has no images: [height, width, channels] of uint8 or "
                           "float32", f->name);
    }
    f->depth = 0;
    f->ndim = 3;
    f->padded = false;
    f->dims[0] = height;
    f->dims[1] = width;
    f->dims[2] = channels;
    return LEVADA_OK;
}

levada_status levada_resize(levada_resizer *s, const levada_image *from,
                            const levada_resize_to *to, void *values, levada_error *why)
{
    int64_t n = from->width * to->channels, line = to->width * to->channels;
    bool    bytes = to->dtype == LEVADA_UINT8;

    if (from->height < 1 || from->width < 1) {
        return levada_fail(why, LEVADA_EINVALID_ARGUMENT, "an image of %lld x %lld pixels",
                           (long long)from->height, (long long)from->width);
    }
    if (!resize_prepare(&s->rows, from->height, to->height, to->method) ||
        !resize_prepare(&s->cells, from->width, to->width, to->method) ||
        !levada_reserve(&s->sum, &s->sum_capacity, n + 1, sizeof(float)) ||
        !levada_reserve(&s->line, &s->line_capacity, line, sizeof(float))) {
        return levada_fail(why, LEVADA_ERESOURCE_EXHAUSTED,
                           "out of memory while resizing an image");
    }
    s->sum[n] = 0; /* which resize_line reads after the last pixel */
    for (int64_t y = 0; y < to->height; y++) {
        resize_sum(s, from, bytes, y, n);
        resize_line(s, to->width, to->channels, bytes ? s->line : (float *)values + y * line);
        if (bytes) resize_put_bytes(s->line, line, (uint8_t *)values + y * line);
    }
    return LEVADA_OK;
}

void levada_resizer_clear(levada_resizer *s)
{
    levada_free(s->rows.taps);
    levada_free(s->rows.weights);
    levada_free(s->cells.taps);
    levada_free(s->cells.weights);
    levada_free(s->sum);
    levada_free(s->line);
    *s = (levada_resizer){ 0 };
}
