/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/resize.h"

#include "base/alloc.h"
#include "tensor/tensor_priv.h"

#include <math.h>
#include <string.h>

/* -- weights */

static void resize_tap_bilinear(levada_resize_axis *x, int64_t i)
{
    double  at = ((double)i + 0.5) * (double)x->from / (double)x->to - 0.5;
    double  low = floor(at);
    int64_t first = low < 0 ? 0 : (int64_t)low, last = (int64_t)low + 1;
    float   part = (float)(at - low);

    if (last > x->from - 1) last = x->from - 1;
    x->taps[i] = (levada_pixel_tap){ (int32_t)first, (int32_t)(last - first + 1), 2 * i };
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
    x->taps[i] = (levada_pixel_tap){ (int32_t)first, (int32_t)(last - first + 1), *used };
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
    x->taps[i] = (levada_pixel_tap){ (int32_t)first, (int32_t)(last - first + 1), *used };
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

/* Chooses the pixel whose area contains the center of pixel i. */
static void resize_tap_nearest(levada_resize_axis *x, int64_t i)
{
    int64_t at = (2 * i + 1) * x->from / (2 * x->to);

    x->taps[i] = (levada_pixel_tap){ (int32_t)at, 1, 0 };
}

static void resize_taps(levada_resize_axis *x)
{
    int64_t used = 0;

    x->most = 0;
    for (int64_t i = 0; i < x->to; i++) {
        switch (x->method) {
        case LEVADA_RESIZE_BILINEAR: resize_tap_bilinear(x, i); break;
        case LEVADA_RESIZE_ANTIALIAS: resize_tap_antialias(x, i, &used); break;
        case LEVADA_RESIZE_AREA: resize_tap_area(x, i, &used); break;
        case LEVADA_RESIZE_NEAREST: resize_tap_nearest(x, i); break;
        }
        if (x->taps[i].n > x->most) x->most = x->taps[i].n;
    }
}

/* Extends all taps to the same number of pixels by weights of zero: loops over them have no
 * branches that processors guess wrong. */
static void resize_even(levada_resize_axis *x)
{
    for (int64_t i = x->to - 1; i >= 0; i--) {
        levada_pixel_tap *tap = &x->taps[i];
        float            *weights = x->weights + i * x->most;

        memmove(weights, x->weights + tap->weight, (size_t)tap->n * sizeof *weights);
        for (int64_t k = tap->n; k < x->most; k++) weights[k] = 0;
        tap->n = (int32_t)x->most;
        tap->weight = i * x->most;
    }
}

/* Makes the weights of another size. They are at most 2 * from + 4 * to, even if they are even. */
static bool resize_prepare(levada_resize_axis *x, int64_t from, int64_t to,
                           levada_resize_method method, bool even)
{
    if (x->from == from && x->to == to && x->method == method) return true;
    x->from = x->to = 0;
    if (!levada_reserve(&x->taps, &x->taps_capacity, to, sizeof *x->taps) ||
        !levada_reserve(&x->weights, &x->weights_capacity, 2 * from + 4 * to, sizeof *x->weights)) {
        return false;
    }
    x->from = from;
    x->to = to;
    x->method = method;
    resize_taps(x);
    if (even) resize_even(x);
    return true;
}

/* -- one image */

/* Copies pixels of `size` bytes, which compilers know, from the places of the taps. */
static inline void resize_pick(const levada_pixel_tap *taps, int64_t n, const uint8_t *from,
                               size_t size, uint8_t *to)
{
    for (int64_t x = 0; x < n; x++, to += size)
        memcpy(to, from + (size_t)taps[x].first * size, size);
}

static void resize_pick_line(const levada_resizer *s, const uint8_t *from, int64_t size,
                             int64_t n, uint8_t *to)
{
    switch (size) {
    case 1: resize_pick(s->cells.taps, n, from, 1, to); break;
    case 2: resize_pick(s->cells.taps, n, from, 2, to); break;
    case 3: resize_pick(s->cells.taps, n, from, 3, to); break;
    case 4: resize_pick(s->cells.taps, n, from, 4, to); break;
    case 8: resize_pick(s->cells.taps, n, from, 8, to); break;
    default: resize_pick(s->cells.taps, n, from, (size_t)size, to);
    }
}

/* Copies the nearest pixels. Rows that come from the same row are equal. */
static void resize_nearest(const levada_resizer *s, const levada_image *from,
                           const levada_resize_to *to, uint8_t *values)
{
    const levada_pixel_tap *rows = s->rows.taps;
    int64_t                 line = to->width * from->pixel_bytes;

    for (int64_t y = 0; y < to->height; y++, values += line) {
        if (y > 0 && rows[y].first == rows[y - 1].first)
            memcpy(values, values - line, (size_t)line);
        else
            resize_pick_line(s, levada_image_line(from, rows[y].first), from->pixel_bytes,
                             to->width, values);
    }
}

/* Sums rows of pixels for row y of the result. */
static void resize_sum(const levada_resizer *s, const levada_image *from, bool bytes, int64_t y,
                       int64_t n, float *sum)
{
    const levada_pixel_tap *tap = &s->rows.taps[y];
    const float            *weights = s->rows.weights + tap->weight;

    for (int32_t k = 0; k < tap->n; k++) s->lines[k] = levada_image_line(from, tap->first + k);
    if (bytes) s->kernels->pixels_rows_u8(s->lines, weights, tap->n, n, sum);
    else s->kernels->pixels_rows_f32(s->lines, weights, tap->n, n, sum);
}

/* Makes two rows of the result at a time. `gap` is the number of floats from a sum to the next. */
static void resize_lines(const levada_resizer *s, const levada_image *from,
                         const levada_resize_to *to, int64_t gap, void *values)
{
    const levada_pixel_taps taps = { s->cells.taps, s->cells.weights, to->width, to->channels };
    int64_t                 n = from->width * to->channels, line = to->width * to->channels;
    bool                    bytes = to->dtype == LEVADA_UINT8;

    for (int64_t y = 0; y < to->height; y += 2) {
        bool   both = y + 1 < to->height;
        float *pixels = bytes ? s->pixels : (float *)values + y * line;

        resize_sum(s, from, bytes, y, n, s->sums);
        if (both) resize_sum(s, from, bytes, y + 1, n, s->sums + gap);
        s->kernels->pixels_cells(&taps, s->sums, gap, pixels, both ? line : 0);
        if (bytes)
            s->kernels->pixels_round(pixels, line * (1 + both), (uint8_t *)values + y * line);
    }
}

/* Returns true if the method resizes such images. */
static bool resize_takes(const levada_field *f, levada_resize_method method)
{
    bool    nearest = method == LEVADA_RESIZE_NEAREST;
    int32_t dims = f->depth + f->ndim;

    if (f->depth > 2 || (dims != 3 && !(nearest && dims == 2))) return false;
    if (dims == 3 && (f->ndim < 1 || f->dims[f->ndim - 1] < 1)) return false;
    return nearest ? !levada_dtype_is_bytes(f->dtype)
                   : f->dtype == LEVADA_UINT8 || f->dtype == LEVADA_FLOAT32;
}

levada_status levada_resize_field(levada_field *f, levada_resize_method method, int64_t height,
                                  int64_t width, levada_error *err)
{
    char    shown[LEVADA_FIELD_SHOWN];
    int32_t dims = f->depth + f->ndim;

    if (!resize_takes(f, method)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "field '%s' must have images, %s; got %s",
                           f->name, method == LEVADA_RESIZE_NEAREST
                               ? "[height, width] or [height, width, channels] of numbers"
                               : "[height, width, channels] of uint8 or float32",
                           levada_field_shown(f, shown));
    }
    if (dims == 3) f->dims[2] = f->dims[f->ndim - 1];
    f->depth = 0;
    f->ndim = (uint8_t)dims;
    f->padded = false;
    f->dims[0] = height;
    f->dims[1] = width;
    return LEVADA_OK;
}

/* Takes memory for sums and pixels. Taps may end after the last pixel, where there are zeros. */
static bool resize_reserve(levada_resizer *s, int64_t n, int64_t gap, int64_t line)
{
    if (!levada_reserve(&s->lines, &s->lines_capacity, s->rows.most, sizeof *s->lines) ||
        !levada_reserve(&s->sums, &s->sums_capacity, 2 * gap, sizeof(float)) ||
        !levada_reserve(&s->pixels, &s->pixels_capacity, 2 * line, sizeof(float)))
        return false;
    for (int i = 0; i < 2; i++)
        memset(s->sums + i * gap + n, 0, (size_t)(gap - n) * sizeof(float));
    return true;
}

levada_status levada_resize(levada_resizer *s, const levada_image *from,
                            const levada_resize_to *to, void *values, levada_error *why)
{
    int64_t n = from->width * to->channels, line = to->width * to->channels, gap;
    bool    bytes = to->dtype == LEVADA_UINT8, nearest = to->method == LEVADA_RESIZE_NEAREST, ok;

    if (from->height < 1 || from->width < 1) {
        return levada_fail(why, LEVADA_EINVALID_ARGUMENT,
                           "an image must have at least one pixel to be resized, got %lld x %lld",
                           (long long)from->height, (long long)from->width);
    }
    if (!s->kernels) s->kernels = levada_kernels_for(LEVADA_CPU_AUTO);
    ok = resize_prepare(&s->rows, from->height, to->height, to->method, false) &&
         resize_prepare(&s->cells, from->width, to->width, to->method, bytes && !nearest);
    gap = n + s->cells.most * to->channels + LEVADA_KERNEL_SLACK / (int64_t)sizeof(float);
    if (!ok || (!nearest && !resize_reserve(s, n, gap, line))) {
        return levada_fail(why, LEVADA_ERESOURCE_EXHAUSTED,
                           "out of memory while resizing an image");
    }
    if (nearest) resize_nearest(s, from, to, values);
    else resize_lines(s, from, to, gap, values);
    return LEVADA_OK;
}

void levada_resizer_clear(levada_resizer *s)
{
    levada_free(s->rows.taps);
    levada_free(s->rows.weights);
    levada_free(s->cells.taps);
    levada_free(s->cells.weights);
    levada_free(s->lines);
    levada_free(s->sums);
    levada_free(s->pixels);
    *s = (levada_resizer){ 0 };
}
