/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The AVX-512 instructions that the kernels use, spelt out byte by byte: the kernels of that level,
 * compiled with this header in front (-include), run on any x86 that has AVX2, so that their tests
 * do so everywhere. What each one does: Intel Intrinsics Guide. Slow, and meant to be.
 */
#ifndef LEVADA_TESTS_EMULATED_AVX512_H
#define LEVADA_TESTS_EMULATED_AVX512_H

/* The names of the library's own kernels of that level are taken. */
#define levada_crc32c_avx512 emulated_crc32c
#define levada_frame_avx512 emulated_frame
#define levada_line_index_avx512 emulated_line_index
#define levada_varint_count_avx512 emulated_varint_count
#define levada_varint_sizes_avx512 emulated_varint_sizes
#define levada_varint_i32_avx512 emulated_varint_i32
#define levada_varint_i64_avx512 emulated_varint_i64
#define levada_varint_narrow_avx512 emulated_varint_narrow

#include "base/kernels_priv.h"

#include <immintrin.h>
#include <string.h>

#undef LEVADA_TARGET_AVX512
#define LEVADA_TARGET_AVX512 LEVADA_TARGET("sse4.2,pclmul,popcnt,avx2,bmi,bmi2,lzcnt")
#define EMULATED LEVADA_TARGET_AVX512 static LEVADA_ALWAYS_INLINE

typedef union emulated_m512i {
    uint8_t  u8[64];
    uint16_t u16[32];
    uint32_t u32[16];
    uint64_t u64[8];
} emulated_m512i;

/* Sets r: each of its origin parts, or each of its bits, is `value` of its number i. */
#define EMULATED_EACH(part, nparts, value) \
    for (int i = 0; i < (nparts); i++) r.part[i] = (value)
#define EMULATED_BITS(value) \
    for (int i = 0; i < 64; i++) r |= (uint64_t)(value) << i

/* -- memory: bytes that are masked away are not touched */

EMULATED emulated_m512i emulated_load(const void *p)
{
    emulated_m512i r;

    memcpy(&r, p, sizeof r);
    return r;
}

EMULATED void emulated_store(void *p, emulated_m512i a)
{
    memcpy(p, &a, sizeof a);
}

EMULATED emulated_m512i emulated_maskz_load_u8(uint64_t k, const void *p)
{
    emulated_m512i r;

    EMULATED_EACH(u8, 64, k >> i & 1 ? ((const uint8_t *)p)[i] : 0);
    return r;
}

EMULATED void emulated_mask_store_u32(void *p, uint32_t k, emulated_m512i a)
{
    for (int i = 0; i < 16; i++)
        if (k >> i & 1) memcpy((uint8_t *)p + 4 * i, &a.u32[i], 4);
}

EMULATED void emulated_mask_store_u16(void *p, uint32_t k, __m256i a)
{
    uint16_t from[16];

    memcpy(from, &a, sizeof from);
    for (int i = 0; i < 16; i++)
        if (k >> i & 1) memcpy((uint8_t *)p + 2 * i, &from[i], 2);
}

EMULATED void emulated_mask_store_u8(void *p, uint32_t k, __m128i a)
{
    uint8_t from[16];

    memcpy(from, &a, sizeof from);
    for (int i = 0; i < 16; i++)
        if (k >> i & 1) ((uint8_t *)p)[i] = from[i];
}

EMULATED void emulated_mask_store_u64(void *p, uint32_t k, emulated_m512i a)
{
    for (int i = 0; i < 8; i++)
        if (k >> i & 1) memcpy((uint8_t *)p + 8 * i, &a.u64[i], 8);
}

/* -- the same in all origin parts; parts */

EMULATED emulated_m512i emulated_set1_u8(char v)
{
    emulated_m512i r;

    EMULATED_EACH(u8, 64, (uint8_t)v);
    return r;
}

EMULATED emulated_m512i emulated_set1_u16(short v)
{
    emulated_m512i r;

    EMULATED_EACH(u16, 32, (uint16_t)v);
    return r;
}

EMULATED emulated_m512i emulated_set1_u32(int v)
{
    emulated_m512i r;

    EMULATED_EACH(u32, 16, (uint32_t)v);
    return r;
}

EMULATED emulated_m512i emulated_set_u64(uint64_t h, uint64_t g, uint64_t f, uint64_t e, uint64_t d,
                                         uint64_t c, uint64_t b, uint64_t a)
{
    return (emulated_m512i){.u64 = {a, b, c, d, e, f, g, h}};
}

EMULATED emulated_m512i emulated_broadcast128(__m128i a)
{
    emulated_m512i r;

    for (int i = 0; i < 4; i++) memcpy(r.u8 + 16 * i, &a, 16);
    return r;
}

EMULATED __m128i emulated_low128(emulated_m512i a)
{
    __m128i r;

    memcpy(&r, &a, sizeof r);
    return r;
}

EMULATED __m256i emulated_half(emulated_m512i a, int which)
{
    __m256i r;

    memcpy(&r, a.u8 + 32 * which, sizeof r);
    return r;
}

/* -- arithmetic */

EMULATED emulated_m512i emulated_add_u8(emulated_m512i a, emulated_m512i b)
{
    emulated_m512i r;

    EMULATED_EACH(u8, 64, (uint8_t)(a.u8[i] + b.u8[i]));
    return r;
}

EMULATED emulated_m512i emulated_sub_u8(emulated_m512i a, emulated_m512i b)
{
    emulated_m512i r;

    EMULATED_EACH(u8, 64, (uint8_t)(a.u8[i] - b.u8[i]));
    return r;
}

EMULATED emulated_m512i emulated_add_u32(emulated_m512i a, emulated_m512i b)
{
    emulated_m512i r;

    EMULATED_EACH(u32, 16, a.u32[i] + b.u32[i]);
    return r;
}

EMULATED emulated_m512i emulated_and(emulated_m512i a, emulated_m512i b)
{
    emulated_m512i r;

    EMULATED_EACH(u64, 8, a.u64[i] & b.u64[i]);
    return r;
}

EMULATED emulated_m512i emulated_andnot(emulated_m512i a, emulated_m512i b)
{
    emulated_m512i r;

    EMULATED_EACH(u64, 8, ~a.u64[i] & b.u64[i]);
    return r;
}

EMULATED emulated_m512i emulated_xor(emulated_m512i a, emulated_m512i b)
{
    emulated_m512i r;

    EMULATED_EACH(u64, 8, a.u64[i] ^ b.u64[i]);
    return r;
}

/* Bit by bit: the table has the result for each of the eight cases abc. */
EMULATED emulated_m512i emulated_ternary(emulated_m512i a, emulated_m512i b, emulated_m512i c,
                                         int table)
{
    emulated_m512i r = {.u64 = {0}};

    for (int i = 0; i < 8; i++)
        for (int abc = 0; abc < 8; abc++)
            if (table >> abc & 1)
                r.u64[i] |= (abc & 4 ? a.u64[i] : ~a.u64[i]) & (abc & 2 ? b.u64[i] : ~b.u64[i]) &
                            (abc & 1 ? c.u64[i] : ~c.u64[i]);
    return r;
}

EMULATED uint16_t emulated_saturate(int v)
{
    return (uint16_t)(v > INT16_MAX ? INT16_MAX : v < INT16_MIN ? INT16_MIN : v);
}

/* Unsigned bytes of a times signed ones of b, neighbours added. */
EMULATED emulated_m512i emulated_maddubs(emulated_m512i a, emulated_m512i b)
{
    emulated_m512i r;

    EMULATED_EACH(u16, 32,
                  emulated_saturate(a.u8[2 * i] * (int8_t)b.u8[2 * i] +
                                    a.u8[2 * i + 1] * (int8_t)b.u8[2 * i + 1]));
    return r;
}

EMULATED emulated_m512i emulated_madd(emulated_m512i a, emulated_m512i b)
{
    emulated_m512i r;

    EMULATED_EACH(u32, 16,
                  (uint32_t)((int16_t)a.u16[2 * i] * (int16_t)b.u16[2 * i]) +
                      (uint32_t)((int16_t)a.u16[2 * i + 1] * (int16_t)b.u16[2 * i + 1]));
    return r;
}

/* Without carries, the low (0x00) or the high (0x11) halves of each 128 bits. */
EMULATED emulated_m512i emulated_clmul(emulated_m512i a, emulated_m512i b, int halves)
{
    emulated_m512i r;

    for (int i = 0; i < 4; i++) {
        __m128i x, y;

        memcpy(&x, a.u8 + 16 * i, 16);
        memcpy(&y, b.u8 + 16 * i, 16);
        x = halves == 0 ? _mm_clmulepi64_si128(x, y, 0x00) : _mm_clmulepi64_si128(x, y, 0x11);
        memcpy(r.u8 + 16 * i, &x, 16);
    }
    return r;
}

/* -- wider origin parts */

EMULATED emulated_m512i emulated_widen_u8_u64(__m128i a)
{
    uint8_t from[16];
    emulated_m512i r;

    memcpy(from, &a, sizeof from);
    EMULATED_EACH(u64, 8, from[i]);
    return r;
}

EMULATED emulated_m512i emulated_widen_u8_u32(__m128i a)
{
    uint8_t from[16];
    emulated_m512i r;

    memcpy(from, &a, sizeof from);
    EMULATED_EACH(u32, 16, from[i]);
    return r;
}

EMULATED emulated_m512i emulated_widen_u32_u64(__m256i a)
{
    uint32_t from[8];
    emulated_m512i r;

    memcpy(from, &a, sizeof from);
    EMULATED_EACH(u64, 8, from[i]);
    return r;
}

/* -- narrower parts: their low bits */

EMULATED __m256i emulated_narrow_u32_u16(emulated_m512i a)
{
    uint16_t to[16];
    __m256i  r;

    for (int i = 0; i < 16; i++) to[i] = (uint16_t)a.u32[i];
    memcpy(&r, to, sizeof r);
    return r;
}

EMULATED __m128i emulated_narrow_u32_u8(emulated_m512i a)
{
    uint8_t to[16];
    __m128i r;

    for (int i = 0; i < 16; i++) to[i] = (uint8_t)a.u32[i];
    memcpy(&r, to, sizeof r);
    return r;
}

/* -- masks and places */

EMULATED emulated_m512i emulated_shift_u32(emulated_m512i a, __m128i by)
{
    uint32_t       n = (uint32_t)_mm_cvtsi128_si32(by);
    emulated_m512i r;

    EMULATED_EACH(u32, 16, n < 32 ? a.u32[i] >> n : 0);
    return r;
}

EMULATED uint16_t emulated_test_u32(uint32_t k, emulated_m512i a, emulated_m512i b)
{
    uint32_t r = 0;

    for (int i = 0; i < 16; i++) r |= (uint32_t)((a.u32[i] & b.u32[i]) != 0) << i;
    return (uint16_t)(r & k);
}

EMULATED uint64_t emulated_tops(emulated_m512i a)
{
    uint64_t r = 0;

    EMULATED_BITS(a.u8[i] >> 7);
    return r;
}

EMULATED uint64_t emulated_equal_u8(emulated_m512i a, emulated_m512i b)
{
    uint64_t r = 0;

    EMULATED_BITS(a.u8[i] == b.u8[i]);
    return r;
}

EMULATED uint64_t emulated_at_least_u8(emulated_m512i a, emulated_m512i b)
{
    uint64_t r = 0;

    EMULATED_BITS(a.u8[i] >= b.u8[i]);
    return r;
}

EMULATED uint64_t emulated_less_u8(emulated_m512i a, emulated_m512i b)
{
    uint64_t r = 0;

    EMULATED_BITS(a.u8[i] < b.u8[i]);
    return r;
}

EMULATED emulated_m512i emulated_maskz_u64(uint8_t k, emulated_m512i a)
{
    emulated_m512i r;

    EMULATED_EACH(u64, 8, k >> i & 1 ? a.u64[i] : 0);
    return r;
}

EMULATED emulated_m512i emulated_compress_u8(uint64_t k, emulated_m512i a)
{
    emulated_m512i r = {.u8 = {0}};
    int            n = 0;

    for (int i = 0; i < 64; i++)
        if (k >> i & 1) r.u8[n++] = a.u8[i];
    return r;
}

EMULATED emulated_m512i emulated_permute_u8(emulated_m512i which, emulated_m512i a)
{
    emulated_m512i r;

    EMULATED_EACH(u8, 64, a.u8[which.u8[i] & 63]);
    return r;
}

/* Within each 16 bytes. */
EMULATED emulated_m512i emulated_shuffle_u8(uint64_t k, emulated_m512i a, emulated_m512i which)
{
    emulated_m512i r;

    EMULATED_EACH(u8, 64,
                  k >> i & 1 && which.u8[i] < 0x80 ? a.u8[(i & 48) | (which.u8[i] & 15)] : 0);
    return r;
}

/* Two 128 bits of a and then two of b. */
/* The 64-bit parts of a : b from number `by` of b on. */
EMULATED emulated_m512i emulated_align_u64(emulated_m512i a, emulated_m512i b, int by)
{
    emulated_m512i r;

    EMULATED_EACH(u64, 8, i + by < 8 ? b.u64[i + by] : a.u64[i + by - 8]);
    return r;
}

EMULATED emulated_m512i emulated_shuffle128(emulated_m512i a, emulated_m512i b, int which)
{
    emulated_m512i r;

    for (int i = 0; i < 4; i++)
        memcpy(r.u8 + 16 * i, (i < 2 ? a.u8 : b.u8) + 16 * (which >> 2 * i & 3), 16);
    return r;
}

#undef _mm512_alignr_epi64
#undef _mm512_clmulepi64_epi128
#undef _mm512_cmpeq_epi8_mask
#undef _mm512_cmpge_epu8_mask
#undef _mm512_cmplt_epu8_mask
#undef _mm512_extracti64x4_epi64
#undef _mm512_mask_cmpeq_epi8_mask
#undef _mm512_shuffle_i64x2
#undef _mm512_ternarylogic_epi32
#undef _mm512_ternarylogic_epi64
#define __m512i emulated_m512i
#define _mm512_add_epi32 emulated_add_u32
#define _mm512_add_epi8 emulated_add_u8
#define _mm512_alignr_epi64 emulated_align_u64
#define _mm512_and_si512 emulated_and
#define _mm512_andnot_si512 emulated_andnot
#define _mm512_broadcast_i32x4 emulated_broadcast128
#define _mm512_castsi512_si128 emulated_low128
#define _mm512_castsi512_si256(a) emulated_half(a, 0)
#define _mm512_clmulepi64_epi128 emulated_clmul
#define _mm512_cmpeq_epi8_mask emulated_equal_u8
#define _mm512_cmpge_epu8_mask emulated_at_least_u8
#define _mm512_cmplt_epu8_mask emulated_less_u8
#define _mm256_mask_storeu_epi16 emulated_mask_store_u16
#define _mm512_cvtepi32_epi16 emulated_narrow_u32_u16
#define _mm512_cvtepi32_epi8 emulated_narrow_u32_u8
#define _mm512_cvtepu32_epi64 emulated_widen_u32_u64
#define _mm512_cvtepu8_epi32 emulated_widen_u8_u32
#define _mm512_cvtepu8_epi64 emulated_widen_u8_u64
#define _mm512_extracti64x4_epi64 emulated_half
#define _mm512_load_si512 emulated_load
#define _mm512_loadu_si512 emulated_load
#define _mm512_madd_epi16 emulated_madd
#define _mm512_maddubs_epi16 emulated_maddubs
#define _mm512_mask_cmpeq_epi8_mask(k, a, b) ((k) & emulated_equal_u8(a, b))
#define _mm512_mask_test_epi32_mask emulated_test_u32
#define _mm512_mask_storeu_epi32 emulated_mask_store_u32
#define _mm512_mask_storeu_epi64 emulated_mask_store_u64
#define _mm512_maskz_compress_epi8 emulated_compress_u8
#define _mm512_maskz_loadu_epi8 emulated_maskz_load_u8
#define _mm512_maskz_mov_epi64 emulated_maskz_u64
#define _mm512_maskz_shuffle_epi8 emulated_shuffle_u8
#define _mm512_movepi8_mask emulated_tops
#define _mm512_permutexvar_epi8 emulated_permute_u8
#define _mm512_set1_epi16 emulated_set1_u16
#define _mm512_set1_epi32 emulated_set1_u32
#define _mm512_set1_epi8 emulated_set1_u8
#define _mm512_set_epi64 emulated_set_u64
#define _mm512_shuffle_i64x2 emulated_shuffle128
#define _mm512_srl_epi32 emulated_shift_u32
#define _mm512_storeu_si512 emulated_store
#define _mm512_sub_epi8 emulated_sub_u8
#define _mm512_ternarylogic_epi32 emulated_ternary
#define _mm512_ternarylogic_epi64 emulated_ternary
#define _mm512_xor_si512 emulated_xor
#define _mm_mask_storeu_epi8 emulated_mask_store_u8

#endif
