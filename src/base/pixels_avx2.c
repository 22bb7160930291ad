/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resizes rows of pixels with AVX2. Each number is computed by the same operations in the same
 * order as in pixels.c. The last register of a row overlaps the one before it, so that nothing is
 * read beyond the row.
 */
#include "base/kernels_priv.h"

#include <immintrin.h>

enum { PIXELS_WIDE = 8, PIXELS_MANY = 32 }; /* floats of a register, and of four */

LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE __m256 pixels_load(const void *row, int64_t i, bool bytes)
{
    if (!bytes) return _mm256_loadu_ps((const float *)row + i);
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(
        _mm_loadl_epi64((const __m128i *)(const void *)((const uint8_t *)row + i))));
}

/* Adds two weighted registers of rows to a sum. */
LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE __m256 pixels_add(__m256 sum, __m256 wx, const void *x, __m256 wy,
                                              const void *y, int64_t i, bool bytes)
{
    return _mm256_add_ps(sum, _mm256_add_ps(_mm256_mul_ps(wx, pixels_load(x, i, bytes)),
                                            _mm256_mul_ps(wy, pixels_load(y, i, bytes))));
}

/* Sums registers of numbers of the rows from number i on: four that begin `step` numbers apart, or
 * one if step is 0. An odd last row is added in halves. */
LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE void pixels_rows_at(const void *const *rows, const float *weights,
                                                int64_t nrows, int64_t i, int64_t step, bool bytes,
                                                float *sum)
{
    __m256 s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;

    for (int64_t k = 0; k < nrows; k += 2) {
        int64_t     next = k + 1 < nrows ? k + 1 : k;
        __m256      half = _mm256_set1_ps(next > k ? 1 : 0.5F);
        __m256      wx = _mm256_mul_ps(_mm256_set1_ps(weights[k]), half);
        __m256      wy = _mm256_mul_ps(_mm256_set1_ps(weights[next]), half);
        const void *x = rows[k], *y = rows[next];

        s0 = pixels_add(s0, wx, x, wy, y, i, bytes);
        if (step == 0) continue;
        s1 = pixels_add(s1, wx, x, wy, y, i + step, bytes);
        s2 = pixels_add(s2, wx, x, wy, y, i + 2 * step, bytes);
        s3 = pixels_add(s3, wx, x, wy, y, i + 3 * step, bytes);
    }
    _mm256_storeu_ps(sum + i, s0);
    if (step == 0) return;
    _mm256_storeu_ps(sum + i + step, s1);
    _mm256_storeu_ps(sum + i + 2 * step, s2);
    _mm256_storeu_ps(sum + i + 3 * step, s3);
}

LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE void pixels_rows(const void *const *rows, const float *weights,
                                             int64_t nrows, int64_t n, bool bytes, float *sum)
{
    int64_t i = 0;

    for (; i + PIXELS_MANY <= n; i += PIXELS_MANY)
        pixels_rows_at(rows, weights, nrows, i, PIXELS_WIDE, bytes, sum);
    for (; i + PIXELS_WIDE <= n; i += PIXELS_WIDE)
        pixels_rows_at(rows, weights, nrows, i, 0, bytes, sum);
    if (i < n) pixels_rows_at(rows, weights, nrows, n - PIXELS_WIDE, 0, bytes, sum);
}

LEVADA_TARGET_AVX2
void levada_pixels_rows_u8_avx2(const void *const *rows, const float *weights, int64_t nrows,
                                int64_t n, float *sum)
{
    if (n < PIXELS_WIDE) levada_pixels_rows_u8_portable(rows, weights, nrows, n, sum);
    else pixels_rows(rows, weights, nrows, n, true, sum);
}

LEVADA_TARGET_AVX2
void levada_pixels_rows_f32_avx2(const void *const *rows, const float *weights, int64_t nrows,
                                 int64_t n, float *sum)
{
    if (n < PIXELS_WIDE) levada_pixels_rows_f32_portable(rows, weights, nrows, n, sum);
    else pixels_rows(rows, weights, nrows, n, false, sum);
}

/* Stores a pixel of each of two rows: the next pixel overwrites a fourth number of three. */
LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE void pixels_put(__m256 both, float *to, int64_t gap)
{
    _mm_storeu_ps(to + gap, _mm256_extractf128_ps(both, 1));
    _mm_storeu_ps(to, _mm256_castps256_ps128(both));
}

/* Sums pixels of up to four numbers, of two rows at once. */
LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE void pixels_cells(const levada_pixel_taps *t, int64_t channels,
                                              const float *from, int64_t from_gap, float *to,
                                              int64_t to_gap)
{
    __m128i three = _mm_setr_epi32(-1, -1, -1, channels == 4 ? -1 : 0);
    __m256  both = _mm256_setzero_ps();

    for (int64_t x = 0; x < t->n; x++, to += channels) {
        const float *weight = t->weights + t->taps[x].weight;
        const float *at = from + t->taps[x].first * channels;

        both = _mm256_setzero_ps();
        for (int32_t k = 0; k < t->taps[x].n; k++, at += channels) {
            __m256 one = _mm256_castps128_ps256(_mm_loadu_ps(at));
            __m256 two = _mm256_insertf128_ps(one, _mm_loadu_ps(at + from_gap), 1);

            both = _mm256_add_ps(both, _mm256_mul_ps(_mm256_broadcast_ss(weight + k), two));
        }
        if (x + 1 < t->n) pixels_put(both, to, to_gap);
    }
    _mm_maskstore_ps(to - channels + to_gap, three, _mm256_extractf128_ps(both, 1));
    _mm_maskstore_ps(to - channels, three, _mm256_castps256_ps128(both));
}

LEVADA_TARGET_AVX2
void levada_pixels_cells_avx2(const levada_pixel_taps *t, const float *from, int64_t from_gap,
                              float *to, int64_t to_gap)
{
    if (t->channels == 3 && t->n > 0) pixels_cells(t, 3, from, from_gap, to, to_gap);
    else if (t->channels == 4 && t->n > 0) pixels_cells(t, 4, from, from_gap, to, to_gap);
    else levada_pixels_cells_portable(t, from, from_gap, to, to_gap);
}

LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE __m256i pixels_whole(const float *from)
{
    return _mm256_cvttps_epi32(_mm256_add_ps(_mm256_loadu_ps(from), _mm256_set1_ps(0.5F)));
}

LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE void pixels_round_at(const float *from, uint8_t *to)
{
    __m256i low = _mm256_packus_epi32(pixels_whole(from), pixels_whole(from + PIXELS_WIDE));
    __m256i high = _mm256_packus_epi32(pixels_whole(from + 2 * PIXELS_WIDE),
                                       pixels_whole(from + 3 * PIXELS_WIDE));
    __m256i mixed = _mm256_packus_epi16(low, high); /* 4 bytes each: 0, 2, 4, 6, 1, 3, 5, 7 */
    __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);

    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_permutevar8x32_epi32(mixed, order));
}

LEVADA_TARGET_AVX2
void levada_pixels_round_avx2(const float *restrict from, int64_t n, uint8_t *restrict to)
{
    int64_t i = 0;

    if (n < PIXELS_MANY) {
        levada_pixels_round_portable(from, n, to);
        return;
    }
    for (; i + PIXELS_MANY <= n; i += PIXELS_MANY) pixels_round_at(from + i, to + i);
    if (i < n) pixels_round_at(from + n - PIXELS_MANY, to + n - PIXELS_MANY);
}
