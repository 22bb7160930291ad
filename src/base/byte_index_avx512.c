/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Positions of any of four bytes with AVX-512 VBMI2, as newline_avx512.c finds those of newlines.
 * The last block is masked.
 */
#include "base/positions_x86.h"

LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __mmask64 index_avx512_mask(const uint8_t *p, __mmask64 in,
                                                        const __m512i set[4])
{
    __m512i   x = _mm512_maskz_loadu_epi8(in, p);
    __mmask64 a = _mm512_cmpeq_epi8_mask(x, set[0]) | _mm512_cmpeq_epi8_mask(x, set[1]);
    __mmask64 b = _mm512_cmpeq_epi8_mask(x, set[2]) | _mm512_cmpeq_epi8_mask(x, set[3]);

    return (a | b) & in;
}

LEVADA_TARGET_AVX512
int64_t levada_byte_index_avx512(const uint8_t *p, size_t n, const uint8_t set[4], int32_t *pos,
                                 int64_t max, size_t *scanned)
{
    const __m512i all[4] = { _mm512_set1_epi8((char)set[0]), _mm512_set1_epi8((char)set[1]),
                             _mm512_set1_epi8((char)set[2]), _mm512_set1_epi8((char)set[3]) };
    size_t  at = 0;
    int64_t count = 0;

    for (; count < max && at < n; at += 64) {
        __mmask64 in = n - at < 64 ? _bzhi_u64(~0ull, (unsigned)(n - at)) : ~0ull;
        __mmask64 mask = index_avx512_mask(p + at, in, all);

        levada_positions_avx512(mask, at, pos + count);
        count += _mm_popcnt_u64(mask);
    }
    *scanned = at < n ? at : n;
    if (count >= max && max > 0) { /* the last block may have gone too far */
        *scanned = (size_t)pos[max - 1] + 1;
        count = max;
    }
    return count;
}
