/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFRecord frames with AVX-512: as frame_sse42.c, with blocks of 64 bytes in one register and
 * masked loads in place of the slack in front.
 */
#include "base/crc32c_avx512.h"
#include "base/frame_x86.h"

/* 64 bytes at p, `at` bytes after the rounded-up front, without those before `lead`. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __m512i frame_avx512_head(const uint8_t *p, char at, __m512i lead)
{
    __m512i place = _mm512_add_epi8(_mm512_load_si512(levada_kernel_count), _mm512_set1_epi8(at));

    return _mm512_maskz_loadu_epi8(_mm512_cmpge_epu8_mask(place, lead), p);
}

/* The CRC of a payload of at most 128 bytes: two blocks, no branch. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE uint32_t frame_avx512_short(const uint8_t *p, size_t n)
{
    const uint8_t *front = p + n - 128;
    __m512i        lead = _mm512_set1_epi8((char)(128 - n));
    __m512i        first = frame_avx512_head(front, 0, lead);
    __m512i        second = frame_avx512_head(front + 64, 64, lead);

    second = levada_crc32c_fold512(first, LEVADA_FOLD_512_LO, LEVADA_FOLD_512_HI, second);
    return levada_frame_zeros[n] ^ levada_crc32c_reduce512(second);
}

/* The masked CRC of a payload. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE uint32_t frame_avx512_crc(const uint8_t *p, size_t n)
{
    if (LEVADA_LIKELY(n <= 128)) return levada_crc32c_masked(frame_avx512_short(p, n));
    return levada_crc32c_masked(~levada_crc32c_long512(0xffffffffu, p, n));
}

LEVADA_FRAME_LEVEL(levada_frame_avx512, frame_avx512_walk,
                   LEVADA_TARGET_AVX512, frame_avx512_crc, levada_crc32c_avx512)
