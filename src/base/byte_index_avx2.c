/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Positions of any of four bytes with AVX2: a bit mask of 64 bytes at a time, positions written in
 * fours. The last block is masked: it reads into the slack.
 */
#include "base/positions_x86.h"

LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE uint32_t index_avx2_half(const uint8_t *p, const __m256i set[4])
{
    __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m256i a = _mm256_or_si256(_mm256_cmpeq_epi8(x, set[0]), _mm256_cmpeq_epi8(x, set[1]));
    __m256i b = _mm256_or_si256(_mm256_cmpeq_epi8(x, set[2]), _mm256_cmpeq_epi8(x, set[3]));

    return (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(a, b));
}

LEVADA_TARGET_AVX2
int64_t levada_byte_index_avx2(const uint8_t *p, size_t n, const uint8_t set[4], int32_t *pos,
                               int64_t max, size_t *scanned)
{
    const __m256i all[4] = { _mm256_set1_epi8((char)set[0]), _mm256_set1_epi8((char)set[1]),
                             _mm256_set1_epi8((char)set[2]), _mm256_set1_epi8((char)set[3]) };
    size_t  at = 0;
    int64_t count = 0;

    for (; count < max && at < n; at += 64) {
        uint64_t mask = index_avx2_half(p + at, all);

        if (n - at > 32) mask |= (uint64_t)index_avx2_half(p + at + 32, all) << 32;
        if (n - at < 64) mask &= (UINT64_C(1) << (n - at)) - 1;
        if (mask != 0) levada_positions_avx2(mask, at, pos + count);
        count += _mm_popcnt_u64(mask);
    }
    *scanned = at < n ? at : n;
    if (count >= max && max > 0) { /* the last block may have gone too far */
        *scanned = (size_t)pos[max - 1] + 1;
        count = max;
    }
    return count;
}
