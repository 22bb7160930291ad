/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFRecord frames with AVX-512: as frame_sse42.c, with blocks of 64 bytes in one register and
 * masked loads in place of the slack in front.
 */
#include "base/crc32c_avx512.h"

LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE void frame_avx512_walk(levada_frame_walk *walk, bool payloads)
{
    const uint8_t *data = walk->data;
    size_t         at = 0, n = walk->n;
    uint32_t       bad = 0;
    int32_t        i = 0;

    for (; i < walk->max_records && n - at >= LEVADA_FRAME_EXTRA; i++) {
        uint64_t length = levada_load_u64(data + at);
        size_t   begin = at + LEVADA_FRAME_HEADER;

        if (length > n - at - LEVADA_FRAME_EXTRA) break;
        bad |= levada_crc32c_of_length(length) ^ levada_load_u32(data + at + 8);
        at = begin + (size_t)length;
        walk->begin[i] = (int32_t)begin;
        walk->end[i] = (int32_t)at;
        if (payloads) {
            uint32_t state = levada_crc32c_any512(0xffffffffu, data + begin, (size_t)length);

            bad |= levada_crc32c_masked(~state) ^ levada_load_u32(data + at);
        }
        at += 4;
    }
    walk->used = at;
    walk->records = i;
    walk->bad = bad;
}

LEVADA_TARGET_AVX512
levada_frame_result levada_frame_avx512(const uint8_t *data, size_t n, levada_frame_check check,
                                        int32_t *begin, int32_t *end, int32_t max_records)
{
    levada_frame_walk walk = {
        .data = data, .n = n, .begin = begin, .end = end, .max_records = max_records};

    switch (check) {
    case LEVADA_FRAME_CHECK_NONE: levada_frame_hop(&walk); break;
    case LEVADA_FRAME_CHECK_LENGTH: frame_avx512_walk(&walk, false); break;
    default: frame_avx512_walk(&walk, true); break;
    }
    return levada_frame_finish(&walk, check, levada_crc32c_avx512);
}
