/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk over TFRecord frames for all levels of x86, which differ in the CRC of a payload alone.
 * A macro, because a function would be compiled for one level.
 */
#ifndef LEVADA_BASE_FRAME_X86_H
#define LEVADA_BASE_FRAME_X86_H

#include "base/crc32c_sse42.h"

/* Defines the kernel `frame`, and `walk_frames` for it. `crc` returns the
 * masked CRC of n bytes at p, and is inlined; `crc32c` is the kernel with which a walk that met
 * damage is checked again. */
#define LEVADA_FRAME_LEVEL(frame, walk_frames, target, crc, crc32c)                              \
    target static LEVADA_ALWAYS_INLINE void walk_frames(levada_frame_walk *walk, bool payloads)  \
    {                                                                                            \
        const uint8_t *data = walk->data;                                                        \
        size_t         at = 0, n = walk->n;                                                      \
        uint32_t       bad = 0;                                                                  \
        int32_t        i = 0;                                                                    \
                                                                                                 \
        for (; i < walk->max_records && n - at >= LEVADA_FRAME_EXTRA; i++) {                     \
            uint64_t length = levada_load_u64(data + at);                                        \
            size_t   begin = at + LEVADA_FRAME_HEADER;                                           \
                                                                                                 \
            if (length > n - at - LEVADA_FRAME_EXTRA) break;                                     \
            bad |= levada_crc32c_of_length(length) ^ levada_load_u32(data + at + 8);             \
            at = begin + (size_t)length;                                                         \
            walk->begin[i] = (int32_t)begin;                                                     \
            walk->end[i] = (int32_t)at;                                                          \
            if (payloads) bad |= crc(data + begin, (size_t)length) ^ levada_load_u32(data + at); \
            at += 4;                                                                             \
        }                                                                                        \
        walk->used = at;                                                                         \
        walk->records = i;                                                                       \
        walk->bad = bad;                                                                         \
    }                                                                                            \
                                                                                                 \
    target levada_frame_result frame(const uint8_t *data, size_t n, levada_frame_check check,    \
                                     int32_t *begin, int32_t *end, int32_t max_records)          \
    {                                                                                            \
        levada_frame_walk walk = {                                                               \
            .data = data, .n = n, .begin = begin, .end = end, .max_records = max_records         \
        };                                                                                       \
                                                                                                 \
        switch (check) {                                                                         \
        case LEVADA_FRAME_CHECK_NONE: levada_frame_hop(&walk); break;                            \
        case LEVADA_FRAME_CHECK_LENGTH: walk_frames(&walk, false); break;               \
        default: walk_frames(&walk, true); break;                                       \
        }                                                                                        \
        return levada_frame_finish(&walk, check, crc32c);                                        \
    }

#endif
