/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFRecord frames with SSE4.2.
 *
 * What costs time in small records is not arithmetic but branches on their length. So a payload is
 * rounded up at its front to whole blocks of 64 bytes, and to at least two of them (crc32c_fold.h
 * says why that changes nothing): up to 128 bytes there is no branch at all, beyond that only the
 * end of one loop. The bytes before the payload are masked away; the slack before the data exists
 * so that they can be read.
 */
#include "base/frame_x86.h"

/* 16 bytes at p, `at` bytes after the rounded-up front, where `lead` bytes are not payload. */
LEVADA_TARGET_SSE42
static LEVADA_ALWAYS_INLINE __m128i frame_sse42_head(const uint8_t *p, size_t at, size_t lead)
{
    __m128i keep = levada_crc32c_load16(levada_frame_keep + 128 - lead + at);
    __m128i start = levada_crc32c_load16(levada_frame_start + 128 - lead + at);

    return _mm_xor_si128(_mm_and_si128(levada_crc32c_load16(p + at), keep), start);
}

/* The masked CRC of a payload. */
LEVADA_TARGET_SSE42
static LEVADA_ALWAYS_INLINE uint32_t frame_sse42_crc(const uint8_t *p, size_t n)
{
    levada_crc32c_block acc;
    size_t              blocks = n <= 128 ? 2 : (n + 63) / 64;
    const uint8_t      *front = p + n - 64 * blocks;
    size_t              lead = 64 * blocks - n;
    /* A first block without payload may be too far before it: read any other one instead. */
    const uint8_t *first = lead >= 64 ? front + 64 : front;

    if (LEVADA_UNLIKELY(n < 4)) /* no space for the start state */
        return levada_crc32c_masked(~levada_crc32c_bytes(0xffffffffu, p, n));
    for (size_t i = 0; i < 4; i++) {
        __m128i late = frame_sse42_head(front, 64 + 16 * i, lead);

        acc.lane[i] = levada_crc32c_fold16(frame_sse42_head(first, 16 * i, lead),
                                           LEVADA_FOLD_512_LO, LEVADA_FOLD_512_HI, late);
    }
    for (size_t i = 2; i < blocks; i++) levada_crc32c_fold64(&acc, front + 64 * i);
    return levada_crc32c_masked(~levada_crc32c_reduce64(&acc));
}

LEVADA_FRAME_LEVEL(levada_frame_sse42, frame_sse42_walk,
                   LEVADA_TARGET_SSE42, frame_sse42_crc, levada_crc32c_sse42)
