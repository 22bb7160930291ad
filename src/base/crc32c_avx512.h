/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C with AVX-512 and VPCLMULQDQ: the parts that crc32c_avx512.c and frame_avx512.c share.
 * crc32c_fold.h has the mathematics. "State" is the CRC without its final inversion.
 */
#ifndef LEVADA_BASE_CRC32C_AVX512_H
#define LEVADA_BASE_CRC32C_AVX512_H

#include "base/crc32c_sse42.h"

/* acc moved by the distance of the constants lo, hi, plus next. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __m512i levada_crc32c_fold512(__m512i acc, uint64_t lo, uint64_t hi,
                                                          __m512i next)
{
    __m512i k = _mm512_broadcast_i32x4(_mm_set_epi64x((long long)hi, (long long)lo));

    return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(acc, k, 0x00),
                                     _mm512_clmulepi64_epi128(acc, k, 0x11), next, 0x96);
}

/* The state after the 64 bytes of acc: lanes 0, 1, 2 move to the place of lane 3. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE uint32_t levada_crc32c_reduce512(__m512i acc)
{
    __m512i k = _mm512_set_epi64(0, 0, LEVADA_FOLD_128_HI, LEVADA_FOLD_128_LO, LEVADA_FOLD_256_HI,
                                 LEVADA_FOLD_256_LO, LEVADA_FOLD_384_HI, LEVADA_FOLD_384_LO);
    __m512i sum = _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(acc, k, 0x00),
                                            _mm512_clmulepi64_epi128(acc, k, 0x11),
                                            _mm512_maskz_mov_epi64(0xc0, acc), 0x96);
    __m256i two = _mm256_xor_si256(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64(sum, 1));
    __m128i one = _mm_xor_si128(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1));
    uint64_t state = _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(one));

    return (uint32_t)_mm_crc32_u64(state, (uint64_t)_mm_extract_epi64(one, 1));
}

/*
 * 64 bytes at p, which are `at` bytes after the rounded-up front: zero where that is less than
 * `lead`, else as in memory, and with the start state added to the first four of those. Bytes that
 * are masked away are not touched, so the front may be anywhere.
 */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __m512i levada_crc32c_head512(const uint8_t *p, char at, __m512i lead,
                                                          __m512i start)
{
    __m512i   place = _mm512_add_epi8(_mm512_load_si512(levada_kernel_count), _mm512_set1_epi8(at));
    __m512i   in = _mm512_sub_epi8(place, lead);
    __mmask64 keep = _mm512_cmpge_epu8_mask(place, lead);
    __mmask64 first = _mm512_cmplt_epu8_mask(in, _mm512_set1_epi8(4));

    return _mm512_xor_si512(_mm512_maskz_loadu_epi8(keep, p),
                            _mm512_maskz_shuffle_epi8(first, start, in));
}

/* The state after n >= 4 bytes, at most 128: two blocks, no branch. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE uint32_t levada_crc32c_short512(uint32_t state, const uint8_t *p,
                                                            size_t n)
{
    const uint8_t *front = p + n - 128;
    __m512i        lead = _mm512_set1_epi8((char)(128 - n));
    __m512i        start = _mm512_set1_epi32((int)state);
    __m512i        late = levada_crc32c_head512(front + 64, 64, lead, start);

    return levada_crc32c_reduce512(
        levada_crc32c_fold512(levada_crc32c_head512(front, 0, lead, start), LEVADA_FOLD_512_LO,
                              LEVADA_FOLD_512_HI, late));
}

/* The state after n > 128 bytes: groups of four blocks, one branch at the end of the loop. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE uint32_t levada_crc32c_long512(uint32_t state, const uint8_t *p,
                                                           size_t n)
{
    const uint8_t *end = p + n;
    __m512i        start, lead, a, b, c, d;

    if (LEVADA_UNLIKELY((n & 255) - 1 < 3)) { /* the start state would reach the second group */
        state = (uint32_t)_mm_crc32_u32(state, levada_load_u32(p));
        p += 4;
        n -= 4;
    }
    lead = _mm512_set1_epi8((char)(0 - n));
    start = _mm512_set1_epi32((int)state);
    p -= (0 - n) & 255;
    a = levada_crc32c_head512(p, 0, lead, start);
    b = levada_crc32c_head512(p + 64, 64, lead, start);
    c = levada_crc32c_head512(p + 128, (char)128, lead, start);
    d = levada_crc32c_head512(p + 192, (char)192, lead, start);
    for (p += 256; p != end; p += 256) {
        a = levada_crc32c_fold512(a, LEVADA_FOLD_2048_LO, LEVADA_FOLD_2048_HI,
                                  _mm512_loadu_si512(p));
        b = levada_crc32c_fold512(b, LEVADA_FOLD_2048_LO, LEVADA_FOLD_2048_HI,
                                  _mm512_loadu_si512(p + 64));
        c = levada_crc32c_fold512(c, LEVADA_FOLD_2048_LO, LEVADA_FOLD_2048_HI,
                                  _mm512_loadu_si512(p + 128));
        d = levada_crc32c_fold512(d, LEVADA_FOLD_2048_LO, LEVADA_FOLD_2048_HI,
                                  _mm512_loadu_si512(p + 192));
    }
    d = levada_crc32c_fold512(a, LEVADA_FOLD_1536_LO, LEVADA_FOLD_1536_HI, d);
    d = levada_crc32c_fold512(b, LEVADA_FOLD_1024_LO, LEVADA_FOLD_1024_HI, d);
    d = levada_crc32c_fold512(c, LEVADA_FOLD_512_LO, LEVADA_FOLD_512_HI, d);
    return levada_crc32c_reduce512(d);
}

/* The state after n bytes. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE uint32_t levada_crc32c_any512(uint32_t state, const uint8_t *p,
                                                          size_t n)
{
    if (LEVADA_LIKELY(n - 4 <= 124)) return levada_crc32c_short512(state, p, n);
    if (LEVADA_LIKELY(n > 128)) return levada_crc32c_long512(state, p, n);
    return levada_crc32c_bytes(state, p, n);
}

#endif
