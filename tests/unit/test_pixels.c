/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/kernels.h"

/* Memory of exactly the size that a kernel may touch: sanitizers and the guards see what is
 * beyond. */
enum { GUARD = 64, LEVELS = LEVADA_CPU_AVX512 + 1 };

static uint64_t seed = 11;

static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

static float draw_float(void) { return (float)draw(1 << 20) / 4096.0F - 100; }

static void *filled(size_t size)
{
    uint8_t *bytes = malloc(size + 1);

    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)draw(256);
    return bytes;
}

static float *floats(int64_t n)
{
    float *x = malloc((size_t)n * sizeof *x + 1);

    assert_non_null(x);
    for (int64_t i = 0; i < n; i++) x[i] = draw_float();
    return x;
}

static const levada_kernels *kernels(int level)
{
    return levada_kernels_for((levada_cpu_level)level);
}

/* -- mirrored rows */

static void reverse(int64_t n, int64_t size)
{
    size_t   bytes = (size_t)(n * size);
    uint8_t *from = filled(bytes), *want = filled(bytes), *space = filled(bytes + 2 * GUARD);

    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < size; k++) want[i * size + k] = from[(n - 1 - i) * size + k];
    for (int level = LEVADA_CPU_PORTABLE; level < LEVELS; level++) {
        memset(space, 0x5a, bytes + 2 * GUARD);
        kernels(level)->pixels_reverse(from, n, size, space + GUARD);
        if (bytes && memcmp(space + GUARD, want, bytes) != 0)
            fail_msg("level %d: %d pixels of %d bytes", level, (int)n, (int)size);
        for (size_t i = 0; i < GUARD; i++) {
            assert_int_equal(space[i], 0x5a);
            assert_int_equal(space[GUARD + bytes + i], 0x5a);
        }
    }
    free(from);
    free(want);
    free(space);
}

static void rows_of_any_pixels_are_mirrored(void **state)
{
    (void)state;
    for (int64_t size = 1; size <= 40; size++)
        for (int64_t n = 1; n <= 70; n++) reverse(n, size);
    for (int64_t size = 1; size <= 16; size++) reverse(1000 + (int64_t)draw(100), size);
}

/* -- sums of rows */

/* The order of the additions is part of the result. */
static void plain_rows(const void *const *rows, const float *weights, int64_t nrows, int64_t n,
                       bool bytes, float *sum)
{
    for (int64_t i = 0; i < n; i++) {
        sum[i] = 0;
        for (int64_t k = 0; k < nrows; k += 2) {
            float pair[2] = { 0 };

            for (int64_t j = 0; j < 2 && k + j < nrows; j++) {
                float x = bytes ? (float)((const uint8_t *)rows[k + j])[i]
                                : ((const float *)rows[k + j])[i];

                pair[j] = weights[k + j] * x;
            }
            sum[i] += pair[0] + pair[1];
        }
    }
}

static void sum_rows(int64_t nrows, int64_t n, bool bytes)
{
    void  *rows[40];
    float *weights = floats(nrows), *want = floats(n), *got;

    for (int64_t k = 0; k < nrows; k++) {
        rows[k] = bytes ? filled((size_t)n) : (void *)floats(n);
        weights[k] = (float)draw(1000) / 1000;
    }
    plain_rows((const void *const *)rows, weights, nrows, n, bytes, want);
    for (int level = LEVADA_CPU_PORTABLE; level < LEVELS; level++) {
        got = floats(n);
        (bytes ? kernels(level)->pixels_rows_u8 : kernels(level)->pixels_rows_f32)(
            (const void *const *)rows, weights, nrows, n, got);
        for (int64_t i = 0; i < n; i++)
            if (got[i] != want[i])
                fail_msg("level %d: number %d of %d, %d rows", level, (int)i, (int)n, (int)nrows);
        free(got);
    }
    for (int64_t k = 0; k < nrows; k++) free(rows[k]);
    free(weights);
    free(want);
}

static void rows_are_summed_alike(void **state)
{
    (void)state;
    for (int round = 0; round < 4000; round++)
        sum_rows(1 + (int64_t)draw(round % 10 ? 6 : 40), 1 + (int64_t)draw(round % 20 ? 80 : 700),
                 round % 2);
}

/* -- pixels of rows */

static void plain_cells(const levada_pixel_taps *t, const float *from, float *to)
{
    for (int64_t x = 0; x < t->n; x++) {
        for (int64_t c = 0; c < t->channels; c++) {
            float sum = 0;

            for (int32_t k = 0; k < t->taps[x].n; k++)
                sum += t->weights[t->taps[x].weight + k] *
                       from[(t->taps[x].first + k) * t->channels + c];
            to[x * t->channels + c] = sum;
        }
    }
}

/* The row has readable floats after its end, which make no difference. */
static float *row_of(int64_t width, int64_t channels)
{
    return floats(2 * (width * channels + 16));
}

static void sum_cells(int64_t width, int64_t n, int64_t channels, bool both)
{
    int64_t           gap = width * channels + 16, line = n * channels;
    levada_pixel_tap *taps = malloc((size_t)n * sizeof *taps);
    float            *weights = floats(n * 12), *from = row_of(width, channels);
    float            *want = floats(2 * line);
    levada_pixel_taps t = { taps, weights, n, channels };

    assert_non_null(taps);
    for (int64_t x = 0; x < n; x++) {
        int32_t first = (int32_t)draw((uint32_t)width), most = (int32_t)width - first;

        taps[x] = (levada_pixel_tap){ first, 1 + (int32_t)draw(most < 12 ? (uint32_t)most : 12),
                                      12 * x };
    }
    plain_cells(&t, from, want);
    if (both) plain_cells(&t, from + gap, want + line);
    for (int level = LEVADA_CPU_PORTABLE; level < LEVELS; level++) {
        float *got = floats(both ? 2 * line : line);

        kernels(level)->pixels_cells(&t, from, gap, got, both ? line : 0);
        for (int64_t i = 0; i < (both ? 2 : 1) * line; i++)
            if (got[i] != want[i])
                fail_msg("level %d: number %d of %d pixels of %d", level, (int)i, (int)n,
                         (int)channels);
        free(got);
    }
    free(taps);
    free(weights);
    free(from);
    free(want);
}

static void pixels_are_summed_alike(void **state)
{
    (void)state;
    for (int round = 0; round < 6000; round++)
        sum_cells(1 + (int64_t)draw(60), 1 + (int64_t)draw(60), 1 + (int64_t)draw(6), round % 3);
}

/* -- rounding */

static void numbers_are_rounded_alike(void **state)
{
    (void)state;
    for (int64_t n = 1; n < 300; n++) {
        float   *from = floats(n);
        uint8_t *got = filled((size_t)n);

        for (int64_t i = 0; i < n; i++) {
            from[i] = (float)draw(255 * 64) / 64;
            if (draw(8) == 0) from[i] = (float)draw(256) + 0.4999F;
        }
        for (int level = LEVADA_CPU_PORTABLE; level < LEVELS; level++) {
            kernels(level)->pixels_round(from, n, got);
            for (int64_t i = 0; i < n; i++)
                assert_int_equal(got[i], (uint8_t)(int32_t)(from[i] + 0.5F));
        }
        free(from);
        free(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_any_pixels_are_mirrored),
        cmocka_unit_test(rows_are_summed_alike),
        cmocka_unit_test(pixels_are_summed_alike),
        cmocka_unit_test(numbers_are_rounded_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
