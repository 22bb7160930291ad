/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bits of a mask of 64 bytes as positions: base + the place of each bit, ascending. Up to 64
 * entries are written, of which the first popcount(mask) count: so masks of few bits, which are
 * nearly all, take the same path.
 */
#ifndef LEVADA_BASE_POSITIONS_X86_H
#define LEVADA_BASE_POSITIONS_X86_H

#include <immintrin.h>

#include "base/kernels_priv.h"

/* base + the place of the lowest bit, which is then cleared. (tzcnt of 0 is 64: harmless.) */
LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE int32_t levada_positions_lowest(uint64_t *mask, size_t base)
{
    int32_t at = (int32_t)(base + _tzcnt_u64(*mask));

    *mask = _blsr_u64(*mask);
    return at;
}

/* In fours. */
LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE void levada_positions_avx2(uint64_t mask, size_t base, int32_t *pos)
{
    do {
        pos[0] = levada_positions_lowest(&mask, base);
        pos[1] = levada_positions_lowest(&mask, base);
        pos[2] = levada_positions_lowest(&mask, base);
        pos[3] = levada_positions_lowest(&mask, base);
        pos += 4;
    } while (LEVADA_UNLIKELY(mask != 0));
}

/* All places come out of one compress instruction. (Compressing into memory is microcode on some
 * CPUs; into a register it is not.) */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE void levada_positions_avx512(__mmask64 mask, size_t base, int32_t *pos)
{
    __m512i first = _mm512_set1_epi32((int)base);
    __m512i places = _mm512_maskz_compress_epi8(mask, _mm512_load_si512(levada_kernel_count));
    int     count = (int)_mm_popcnt_u64(mask);

    _mm512_storeu_si512(
        pos, _mm512_add_epi32(first, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(places))));
    for (int i = 16; LEVADA_UNLIKELY(i < count); i += 16) {
        places = _mm512_shuffle_i64x2(places, places, 0x39); /* the next 16 to the front */
        _mm512_storeu_si512(
            pos + i, _mm512_add_epi32(first, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(places))));
    }
}

#endif
