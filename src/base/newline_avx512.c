/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Positions of newlines with AVX-512 VBMI2: the places of the newlines in 64 bytes come out of one
 * compress instruction, so the cost does not depend on the length of lines up to 16 in a block.
 */
#include "base/positions_x86.h"

LEVADA_TARGET_AVX512
int64_t levada_newline_index_avx512(const uint8_t *p, size_t n, int32_t *pos, int64_t max,
                                    size_t *scanned)
{
    __m512i newline = _mm512_set1_epi8('\n');
    size_t  at = 0;
    int64_t count = 0;

    for (; count < max && n - at >= 64; at += 64) {
        __mmask64 mask = _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(p + at), newline);

        levada_positions_avx512(mask, at, pos + count);
        count += _mm_popcnt_u64(mask);
    }
    if (count < max && at < n) {
        __mmask64 in = _bzhi_u64(~0ull, (unsigned)(n - at));
        __mmask64 mask =
            _mm512_mask_cmpeq_epi8_mask(in, _mm512_maskz_loadu_epi8(in, p + at), newline);

        levada_positions_avx512(mask, at, pos + count);
        count += _mm_popcnt_u64(mask);
        at = n;
    }
    if (count >= max) { /* the last block may have gone too far */
        count = max > 0 ? max : 0;
        at = max > 0 ? (size_t)pos[max - 1] + 1 : 0;
    }
    *scanned = at;
    return count;
}
