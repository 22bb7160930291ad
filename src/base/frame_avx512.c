/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFRecord frames with AVX-512: as frame_sse42.c, with blocks of 64 bytes in one register and
 * masked loads in place of the slack in front.
 */
#include "base/crc32c_avx512.h"
#include "base/frame_x86.h"

/* The masked CRC of a payload. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE uint32_t frame_avx512_crc(const uint8_t *p, size_t n)
{
    return levada_crc32c_masked(~levada_crc32c_any512(0xffffffffu, p, n));
}

LEVADA_FRAME_LEVEL(levada_frame_avx512, frame_avx512_walk, LEVADA_TARGET_AVX512, frame_avx512_crc,
                   levada_crc32c_avx512)
