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
        double left = k > begin ? (double)k : begin, right = k + 1 < end ? (double)(k + 1) : end;

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

/* Adds weight * x to the n numbers of sum. */
#define RESIZE_ADD_OF(type)                                                                     \
    static void resize_add_##type(const type *restrict x, int64_t n, float weight,              \
                                  float *restrict sum)                                          \
    {                                                                                           \
        int64_t i = 0;                                                                          \
                                                                                                \
        for (; i + RESIZE_STEP <= n; i += RESIZE_STEP)                                          \
            for (int k = 0; k < RESIZE_STEP; k++) sum[i + k] += weight * (float)x[i + k];       \
        for (; i < n; i++) sum[i] += weight * (float)x[i];                                      \
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

        if (channels == 3) { /* photographs */
            float red = 0, green = 0, blue = 0;

            for (int32_t k = 0; k < tap->n; k++, from += 3) {
                red += weight[k] * from[0];
                green += weight[k] * from[1];
                blue += weight[k] * from[2];
            }
            to[0] = red;
            to[1] = green;
            to[2] = blue;
            continue;
        }
        for (int64_t c = 0; c < channels; c++) {
            to[c] = 0;
            for (int32_t k = 0; k < tap->n; k++) to[c] += weight[k] * from[k * channels + c];
        }
    }
}

static uint8_t resize_byte(float v)
{
    v = v < 0.0F ? 0.0F : v;
    return (uint8_t)(int32_t)((v > 255.0F ? 255.0F : v) + 0.5F);
}

static void resize_put_bytes(const float *from, int64_t n, uint8_t *to)
{
    int64_t i = 0;

    for (; i + RESIZE_STEP <= n; i += RESIZE_STEP) {
        for (int k = 0; k < RESIZE_STEP; k++) to[i + k] = resize_byte(from[i + k]);
    }
    for (; i < n; i++) to[i] = resize_byte(from[i]);
}

/* Sums rows of pixels for row y of the result. */
static void resize_sum(const levada_resizer *s, const levada_image *from, bool bytes, int64_t y,
                       int64_t n)
{
    const levada_resize_tap *tap = &s->rows.taps[y];

    memset(s->sum, 0, (size_t)n * sizeof(float));
    for (int32_t k = 0; k < tap->n; k++) {
        const uint8_t *x = levada_image_line(from, tap->first + k);
        float          weight = s->rows.weights[tap->weight + k];

        if (bytes) resize_add_uint8_t(x, n, weight, s->sum);
        else resize_add_float((const float *)(const void *)x, n, weight, s->sum);
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
        !levada_reserve(&s->sum, &s->sum_capacity, n, sizeof(float)) ||
        !levada_reserve(&s->line, &s->line_capacity, line, sizeof(float))) {
        return levada_fail(why, LEVADA_ERESOURCE_EXHAUSTED,
                           "out of memory while resizing an image");
    }
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
