/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the wire format that are not on the fast path.
 */
#include "base/wire.h"

#define WIRE_GROUPS 100

const uint8_t *levada_wire_u64(const uint8_t *p, const uint8_t *end, uint64_t *out)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (p >= end) return NULL;
        v |= (uint64_t)(*p & 0x7F) << shift;
        if (*p++ < 0x80) {
            *out = v;
            return p;
        }
    }
    return NULL;
}

const uint8_t *levada_wire_u32(const uint8_t *p, const uint8_t *end, uint32_t *out)
{
    uint64_t v = 0;
    const uint8_t *next = levada_wire_u64(p, end, &v);

    if (!next || next - p > 5 || v > UINT32_MAX) return NULL;
    *out = (uint32_t)v;
    return next;
}

const uint8_t *levada_wire_tag(const uint8_t *p, const uint8_t *end, uint32_t *out)
{
    p = levada_wire_u32(p, end, out);
    return p && *out >> 3 != 0 && (*out & 7) < 6 ? p : NULL;
}

/* Skips the value of a field that is not a group. */
static const uint8_t *wire_skip_plain(uint32_t tag, const uint8_t *p, const uint8_t *end)
{
    uint64_t v;
    uint32_t size;

    switch (tag & 7) {
    case 0: return levada_wire_u64(p, end, &v);
    case 1: return end - p >= 8 ? p + 8 : NULL;
    case 2: p = levada_wire_sized(p, end, &size); return p ? p + size : NULL;
    case 5: return end - p >= 4 ? p + 4 : NULL;
    default: return NULL;
    }
}

const uint8_t *levada_wire_skip(uint32_t tag, const uint8_t *p, const uint8_t *end)
{
    uint32_t open[WIRE_GROUPS];
    int depth = 0;

    do {
        if ((tag & 7) == 3) {
            if (depth == WIRE_GROUPS) return NULL;
            open[depth++] = tag >> 3;
        } else if ((tag & 7) == 4) {
            if (depth == 0 || open[--depth] != tag >> 3) return NULL;
        } else {
            p = wire_skip_plain(tag, p, end);
        }
        if (p && depth > 0) p = levada_wire_tag(p, end, &tag);
    } while (p && depth > 0);
    return p;
}

size_t levada_wire_size_of(uint64_t v)
{
    return (70 - LEVADA_CLZ64(v | 1)) / 7;
}

uint8_t *levada_wire_put(uint8_t *p, uint64_t v)
{
    while (v >= 0x80) {
        *p++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *p++ = (uint8_t)v;
    return p;
}
