/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines with AVX2. A bit mask of 64 bytes at a time; four positions are written
 * even if there are fewer, and the output moves on by the true number: blocks with up to
 * four newlines, which is nearly all of them, take the same path.
 */
#include "base/positions_x86.h"

LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE uint64_t line_index_avx2_mask(const uint8_t *p)
{
    __m256i newline = _mm256_set1_epi8('\n');
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
    int     a = _mm256_movemask_epi8(_mm256_cmpeq_epi8(low, newline));
    int     b = _mm256_movemask_epi8(_mm256_cmpeq_epi8(high, newline));

    return (uint64_t)(uint32_t)a | (uint64_t)(uint32_t)b << 32;
}

LEVADA_TARGET_AVX2
int64_t levada_line_index_avx2(const uint8_t *p, size_t n, int32_t *begin, int32_t *end,
                               int64_t max)
{
    size_t  at = 0;
    int64_t count = 0;

    for (; count < max && n - at >= 64; at += 64) {
        uint64_t mask = line_index_avx2_mask(p + at);

        levada_positions_avx2(mask, at, end + count);
        count += _mm_popcnt_u64(mask);
    }
    for (; count < max && at < n; at++) {
        if (p[at] == '\n') end[count++] = (int32_t)at;
    }
    if (count > max) count = max; /* the last block may have gone too far */
    begin[0] = 0;
    for (int64_t i = 0; i < count; i++) levada_line_put(p, end[i], begin, end, i);
    return count;
}
