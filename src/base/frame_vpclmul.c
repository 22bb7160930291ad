/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFRecord frames with AVX2 and VPCLMULQDQ (Zen 3, Alder Lake): as frame_sse42.c, which says why it
 * is done so, with two products in each instruction.
 */
#include "base/frame_x86.h"

#define FRAME_TARGET LEVADA_TARGET("sse4.2,pclmul,popcnt,avx2,bmi,bmi2,vpclmulqdq")

FRAME_TARGET
static LEVADA_ALWAYS_INLINE __m256i frame_vpclmul_load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

/* lanes moved by 64 bytes, plus next. */
FRAME_TARGET
static LEVADA_ALWAYS_INLINE __m256i frame_vpclmul_fold(__m256i lanes, __m256i next)
{
    __m256i k = _mm256_broadcastsi128_si256(
        _mm_set_epi64x((long long)LEVADA_FOLD_512_HI, (long long)LEVADA_FOLD_512_LO));

    return _mm256_xor_si256(_mm256_clmulepi64_epi128(lanes, k, 0x00),
                            _mm256_xor_si256(_mm256_clmulepi64_epi128(lanes, k, 0x11), next));
}

/* 32 bytes at p, `at` bytes after the rounded-up front, where `lead` bytes are not payload. */
FRAME_TARGET
static LEVADA_ALWAYS_INLINE __m256i frame_vpclmul_head(const uint8_t *p, size_t at, size_t lead)
{
    __m256i keep = frame_vpclmul_load(levada_frame_keep + 128 - lead + at);
    __m256i start = frame_vpclmul_load(levada_frame_start + 128 - lead + at);

    return _mm256_xor_si256(_mm256_and_si256(frame_vpclmul_load(p + at), keep), start);
}

/* The masked CRC of the 64 bytes that were folded, plus `sum`. */
FRAME_TARGET
static LEVADA_ALWAYS_INLINE uint32_t frame_vpclmul_end(uint32_t sum, __m256i a, __m256i b)
{
    levada_crc32c_block acc;

    acc.lane[0] = _mm256_castsi256_si128(a);
    acc.lane[1] = _mm256_extracti128_si256(a, 1);
    acc.lane[2] = _mm256_castsi256_si128(b);
    acc.lane[3] = _mm256_extracti128_si256(b, 1);
    return levada_crc32c_masked(sum ^ levada_crc32c_reduce64(&acc));
}

/* The masked CRC of a payload of more than 128 bytes; a function of its own, which leaves the
 * registers to short ones. */
FRAME_TARGET
static LEVADA_NOINLINE uint32_t frame_vpclmul_long(const uint8_t *p, size_t n)
{
    size_t         lead = (0 - n) & 63;
    const uint8_t *front = p - lead, *end = p + n;
    __m256i        a, b;

    a = frame_vpclmul_fold(frame_vpclmul_head(front, 0, lead), frame_vpclmul_head(front, 64, lead));
    b = frame_vpclmul_fold(frame_vpclmul_head(front, 32, lead),
                           frame_vpclmul_head(front, 96, lead));
    for (front += 128; front != end; front += 64) {
        a = frame_vpclmul_fold(a, frame_vpclmul_load(front));
        b = frame_vpclmul_fold(b, frame_vpclmul_load(front + 32));
    }
    return frame_vpclmul_end(0xffffffffu, a, b);
}

/* The same without the start state. */
FRAME_TARGET
static LEVADA_ALWAYS_INLINE __m256i frame_vpclmul_keep(const uint8_t *p, size_t at, size_t lead)
{
    return _mm256_and_si256(frame_vpclmul_load(p + at),
                            frame_vpclmul_load(levada_frame_keep + 128 - lead + at));
}

/* The masked CRC of a payload. */
FRAME_TARGET
static LEVADA_ALWAYS_INLINE uint32_t frame_vpclmul_crc(const uint8_t *p, size_t n)
{
    const uint8_t *front = p + n - 128;
    size_t         lead = 128 - n;
    /* A first block without payload may be too far before it: read any other one instead. */
    const uint8_t *first = lead >= 64 ? front + 64 : front;
    __m256i        a, b;

    if (n > 128) return frame_vpclmul_long(p, n);
    a = frame_vpclmul_fold(frame_vpclmul_keep(first, 0, lead), frame_vpclmul_keep(front, 64, lead));
    b = frame_vpclmul_fold(frame_vpclmul_keep(first, 32, lead),
                           frame_vpclmul_keep(front, 96, lead));
    return frame_vpclmul_end(levada_frame_zeros[n], a, b);
}

LEVADA_FRAME_LEVEL(levada_frame_vpclmul, frame_vpclmul_walk,
                   FRAME_TARGET, frame_vpclmul_crc, levada_crc32c_sse42)
