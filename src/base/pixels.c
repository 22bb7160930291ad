/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that mirror and resize images, for any machine. The order of additions is that of all
 * levels: sums of floats depend on it.
 */
#include "base/kernels_priv.h"

#include <string.h>

enum { PIXELS_STEP = 16 }; /* numbers that loops take at a time: compilers vectorize these */

void levada_pixels_reverse_portable(const uint8_t *from, int64_t n, int64_t size, uint8_t *to)
{
    from += (n - 1) * size;
    if (size == 3 && n > 1) { /* photographs: pixels between the ends with their neighbor's byte */
        memcpy(to, from, 3);
        for (int64_t i = 1; i < n - 1; i++) memcpy(to + 3 * i, from - 3 * i, 4);
        memcpy(to + 3 * (n - 1), from - 3 * (n - 1), 3);
        return;
    }
    for (int64_t i = 0; i < n; i++, from -= size, to += size) memcpy(to, from, (size_t)size);
}

/* Adds two weighted rows of n numbers to the sum. */
#define PIXELS_ADD_OF(type)                                                                     \
    static void pixels_add_##type(const type *restrict x, float wx, const type *restrict y,     \
                                  float wy, int64_t n, float *restrict sum)                     \
    {                                                                                           \
        int64_t i = 0;                                                                          \
                                                                                                \
        for (; i + PIXELS_STEP <= n; i += PIXELS_STEP)                                          \
            for (int k = 0; k < PIXELS_STEP; k++)                                               \
                sum[i + k] += wx * (float)x[i + k] + wy * (float)y[i + k];                      \
        for (; i < n; i++) sum[i] += wx * (float)x[i] + wy * (float)y[i];                       \
    }

/* Sums n numbers of rows. An odd last row is added in halves. */
#define PIXELS_ROWS_OF(function, type)                                                      \
    void function(const void *const *rows, const float *weights,                            \
                                              int64_t nrows, int64_t n, float *sum)         \
    {                                                                                       \
        memset(sum, 0, (size_t)n * sizeof *sum);                                            \
        for (int64_t k = 0; k < nrows; k += 2) {                                            \
            int64_t next = k + 1 < nrows ? k + 1 : k;                                       \
            float   half = next > k ? 1 : 0.5F;                                             \
                                                                                            \
            pixels_add_##type(rows[k], weights[k] * half, rows[next], weights[next] * half, n,\
                              sum);                                                         \
        }                                                                                   \
    }

PIXELS_ADD_OF(uint8_t)
PIXELS_ADD_OF(float)
PIXELS_ROWS_OF(levada_pixels_rows_u8_portable, uint8_t)
PIXELS_ROWS_OF(levada_pixels_rows_f32_portable, float)

/* Sums the pixels of one row. */
static void pixels_cells(const levada_pixel_taps *t, const float *row, float *to)
{
    for (int64_t x = 0; x < t->n; x++, to += t->channels) {
        const levada_pixel_tap *tap = &t->taps[x];
        const float            *weight = t->weights + tap->weight;
        const float            *from = row + tap->first * t->channels;

        if (t->channels == 3) { /* photographs: compilers add four numbers at once */
            float rgb[4] = { 0 };

            for (int32_t k = 0; k < tap->n; k++, from += 3)
                for (int c = 0; c < 4; c++) rgb[c] += weight[k] * from[c];
            memcpy(to, rgb, x + 1 < t->n ? sizeof rgb : 3 * sizeof *to);
            continue;
        }
        for (int64_t c = 0; c < t->channels; c++) {
            to[c] = 0;
            for (int32_t k = 0; k < tap->n; k++) to[c] += weight[k] * from[k * t->channels + c];
        }
    }
}

void levada_pixels_cells_portable(const levada_pixel_taps *t, const float *from, int64_t from_gap,
                                  float *to, int64_t to_gap)
{
    pixels_cells(t, from, to);
    if (to_gap > 0) pixels_cells(t, from + from_gap, to + to_gap);
}

void levada_pixels_round_portable(const float *restrict from, int64_t n, uint8_t *restrict to)
{
    int64_t i = 0;

    for (; i + PIXELS_STEP <= n; i += PIXELS_STEP) {
        int32_t some[PIXELS_STEP];

        for (int k = 0; k < PIXELS_STEP; k++) some[k] = (int32_t)(from[i + k] + 0.5F);
        for (int k = 0; k < PIXELS_STEP; k++) to[i + k] = (uint8_t)some[k];
    }
    for (; i < n; i++) to[i] = (uint8_t)(int32_t)(from[i] + 0.5F);
}
