/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines with AVX-512 VBMI2: the places of the newlines in 64 bytes come out of one compress
 * instruction, so the cost does not depend on the length of lines up to eight in a block. Lines
 * that end with CR LF are made shorter one by one.
 */
#include "base/positions_x86.h"

/* Eight places of newlines in a block: where lines end, and where the ones after them begin. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE void line_index_avx512_put(__m512i places, int32_t base, int32_t *next,
                                                       int32_t *end)
{
    __m256i wide = _mm256_cvtepu8_epi32(_mm512_castsi512_si128(places));

    _mm256_storeu_si256((__m256i *)(void *)next,
                        _mm256_add_epi32(wide, _mm256_set1_epi32(base + 1)));
    _mm256_storeu_si256((__m256i *)(void *)end, _mm256_add_epi32(wide, _mm256_set1_epi32(base)));
}

/* The lines that end in the block at `base`; `cr`: where the byte before is CR. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE void line_index_avx512_block(__mmask64 lf, __mmask64 cr, int32_t base,
                                                         int32_t *next, int32_t *end)
{
    __m512i  places = _mm512_maskz_compress_epi8(lf, _mm512_load_si512(levada_kernel_count));
    int      count = (int)_mm_popcnt_u64(lf);
    uint64_t both = lf & cr;

    line_index_avx512_put(places, base, next, end);
    for (int i = 8; LEVADA_UNLIKELY(i < count); i += 8) {
        places = _mm512_alignr_epi64(places, places, 1); /* the next eight to the front */
        line_index_avx512_put(places, base, next + i, end + i);
    }
    if (LEVADA_LIKELY(both == 0)) return;
    for (uint64_t bits = _pext_u64(both, lf); bits != 0; bits = _blsr_u64(bits))
        end[_tzcnt_u64(bits)]--;
}

LEVADA_TARGET_AVX512
int64_t levada_line_index_avx512(const uint8_t *p, size_t n, int32_t *begin, int32_t *end,
                                 int64_t max)
{
    __m512i   newline = _mm512_set1_epi8('\n'), cr = _mm512_set1_epi8('\r');
    __mmask64 before = 0; /* bit 0: the block before ends with CR */
    int64_t   count = 0;

    begin[0] = 0;
    for (size_t at = 0; count < max && at < n; at += 64) {
        __mmask64 in = n - at < 64 ? _bzhi_u64(~0ull, (unsigned)(n - at)) : ~0ull;
        __m512i   x = _mm512_maskz_loadu_epi8(in, p + at);
        __mmask64 lf = _mm512_cmpeq_epi8_mask(x, newline), crs = _mm512_cmpeq_epi8_mask(x, cr);

        line_index_avx512_block(lf, crs << 1 | before, (int32_t)at, begin + count + 1, end + count);
        count += _mm_popcnt_u64(lf);
        before = crs >> 63;
    }
    return count < max ? count : max; /* the last block may have gone too far */
}
