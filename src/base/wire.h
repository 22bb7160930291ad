/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire format of protocol buffers: tags, sizes, varints.
 *
 * Readers take p and end and return the byte after what they read, or NULL if the bytes are not a
 * message. They may look at up to LEVADA_KERNEL_SLACK bytes after end and never use them. Limits
 * are those of protobuf: tags and sizes have at most 5 bytes, varints 10, groups 100 levels.
 */
#ifndef LEVADA_BASE_WIRE_H
#define LEVADA_BASE_WIRE_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Tags of one byte: field number << 3 | wire type. */
#define LEVADA_WIRE_VARINT(field) ((uint8_t)((field) << 3))
#define LEVADA_WIRE_FIXED64(field) ((uint8_t)((field) << 3 | 1))
#define LEVADA_WIRE_SIZED(field) ((uint8_t)((field) << 3 | 2))
#define LEVADA_WIRE_FIXED32(field) ((uint8_t)((field) << 3 | 5))

/* Reads a number of up to 32 bits. */
const uint8_t *levada_wire_u32(const uint8_t *p, const uint8_t *end, uint32_t *out);
/* Reads a number of up to 64 bits; bits beyond are dropped. */
const uint8_t *levada_wire_u64(const uint8_t *p, const uint8_t *end, uint64_t *out);
/* Reads a tag, which has no field number 0 and no wire type 6 or 7. */
const uint8_t *levada_wire_tag(const uint8_t *p, const uint8_t *end, uint32_t *out);
/* Skips the value that follows `tag`, groups too. */
const uint8_t *levada_wire_skip(uint32_t tag, const uint8_t *p, const uint8_t *end);

/* Returns the size of v as a varint; the function below writes it, and returns the byte after
 * it. */
size_t levada_wire_size_of(uint64_t v);
uint8_t *levada_wire_put(uint8_t *p, uint64_t v);

/* Reads a size with that number of bytes after it, and returns the first of them. p may be beyond
 * end. */
static inline const uint8_t *levada_wire_sized(const uint8_t *p, const uint8_t *end,
                                               uint32_t *size)
{
    if (LEVADA_LIKELY(p < end && p[0] < 0x80)) {
        *size = *p++;
    } else if (end - p >= 2 && p[1] < 0x80) {
        *size = (uint32_t)(p[0] & 0x7F) | (uint32_t)p[1] << 7;
        p += 2;
    } else {
        p = levada_wire_u32(p, end, size);
        if (!p) return NULL;
    }
    return (uint64_t)*size <= (uint64_t)(end - p) ? p : NULL;
}

/* Writes the low bytes of a number in little endian, and returns the byte after them. */
static inline uint8_t *levada_wire_put_fixed(uint8_t *p, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) *p++ = (uint8_t)(value >> 8 * i);
    return p;
}

/* Reads that number, and returns the byte after it. */
static inline const uint8_t *levada_wire_get_fixed(const uint8_t *p, int bytes, uint64_t *out)
{
    *out = 0;
    for (int i = 0; i < bytes; i++) *out |= (uint64_t)*p++ << 8 * i;
    return p;
}

/* Returns the 8 bytes at p as a little endian number. */
static inline uint64_t levada_wire_load(const uint8_t *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof word);
    return word;
}

#endif
