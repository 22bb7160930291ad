/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C with SSE4.2 and PCLMULQDQ: the parts that crc32c_sse42.c and frame_sse42.c share.
 * crc32c_fold.h has the mathematics. "State" is the CRC without its final inversion.
 */
#ifndef LEVADA_BASE_CRC32C_SSE42_H
#define LEVADA_BASE_CRC32C_SSE42_H

#include <immintrin.h>

#include "base/compiler.h"
#include "base/crc32c_fold.h"
#include "base/kernels_priv.h"

/* 64 bytes of the message. */
typedef struct levada_crc32c_block {
    __m128i lane[4];
} levada_crc32c_block;

LEVADA_TARGET_SSE42
static LEVADA_ALWAYS_INLINE __m128i levada_crc32c_load16(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* lane moved by the distance of the constants lo, hi, plus next. */
LEVADA_TARGET_SSE42
static LEVADA_ALWAYS_INLINE __m128i levada_crc32c_fold16(__m128i lane, uint64_t lo, uint64_t hi,
                                                         __m128i next)
{
    __m128i k = _mm_set_epi64x((long long)hi, (long long)lo);

    return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(lane, k, 0x00),
                                       _mm_clmulepi64_si128(lane, k, 0x11)),
                         next);
}

/* Moves acc by 64 bytes and adds the 64 bytes there. */
LEVADA_TARGET_SSE42
static LEVADA_ALWAYS_INLINE void levada_crc32c_fold64(levada_crc32c_block *acc, const uint8_t *p)
{
    acc->lane[0] = levada_crc32c_fold16(acc->lane[0], LEVADA_FOLD_512_LO, LEVADA_FOLD_512_HI,
                                        levada_crc32c_load16(p));
    acc->lane[1] = levada_crc32c_fold16(acc->lane[1], LEVADA_FOLD_512_LO, LEVADA_FOLD_512_HI,
                                        levada_crc32c_load16(p + 16));
    acc->lane[2] = levada_crc32c_fold16(acc->lane[2], LEVADA_FOLD_512_LO, LEVADA_FOLD_512_HI,
                                        levada_crc32c_load16(p + 32));
    acc->lane[3] = levada_crc32c_fold16(acc->lane[3], LEVADA_FOLD_512_LO, LEVADA_FOLD_512_HI,
                                        levada_crc32c_load16(p + 48));
}

/* The state after 64 bytes. */
LEVADA_TARGET_SSE42
static LEVADA_ALWAYS_INLINE uint32_t levada_crc32c_reduce64(const levada_crc32c_block *acc)
{
    __m128i one = acc->lane[3];
    uint64_t state;

    one = levada_crc32c_fold16(acc->lane[0], LEVADA_FOLD_384_LO, LEVADA_FOLD_384_HI, one);
    one = levada_crc32c_fold16(acc->lane[1], LEVADA_FOLD_256_LO, LEVADA_FOLD_256_HI, one);
    one = levada_crc32c_fold16(acc->lane[2], LEVADA_FOLD_128_LO, LEVADA_FOLD_128_HI, one);
    state = _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(one));
    return (uint32_t)_mm_crc32_u64(state, (uint64_t)_mm_extract_epi64(one, 1));
}

LEVADA_TARGET_SSE42
static LEVADA_ALWAYS_INLINE uint32_t levada_crc32c_bytes(uint32_t state, const uint8_t *p,
                                                         size_t n)
{
    for (; n > 0; p++, n--) state = _mm_crc32_u8(state, *p);
    return state;
}

/* The CRC, in disguise, of the eight bytes of a frame's length. */
LEVADA_TARGET_SSE42
static LEVADA_ALWAYS_INLINE uint32_t levada_crc32c_of_length(uint64_t length)
{
    return levada_crc32c_masked(~(uint32_t)_mm_crc32_u64(0xffffffffu, length));
}

#endif
