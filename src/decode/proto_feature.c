/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One Feature message in whatever form protobuf allows, to plain payload: the last list wins,
 * lists of one kind in a row are joined, numbers may be packed, unpacked, or both, unknown fields
 * are skipped.
 */
#include "decode/proto.h"

#include "base/alloc.h"

#define FEATURE_CHUNK (64 << 10)

struct levada_arena_chunk {
    struct levada_arena_chunk *next;
    size_t size, used;
    uint8_t bytes[];
};

static struct levada_arena_chunk *feature_new_chunk(levada_arena *arena, size_t need)
{
    size_t size = need > FEATURE_CHUNK ? need : FEATURE_CHUNK;
    struct levada_arena_chunk *chunk = levada_alloc(sizeof *chunk + size);

    if (!chunk) return NULL;
    chunk->size = size;
    chunk->used = 0;
    if (arena->now) {
        chunk->next = arena->now->next;
        arena->now->next = chunk;
    } else {
        chunk->next = arena->first;
        arena->first = chunk;
    }
    arena->now = chunk;
    return chunk;
}

uint8_t *levada_arena_take(levada_arena *arena, size_t size)
{
    size_t need = size + 2 * LEVADA_KERNEL_SLACK;
    struct levada_arena_chunk *chunk = arena->now ? arena->now : arena->first;
    uint8_t *at;

    while (chunk && chunk->size - chunk->used < need) {
        chunk = chunk->next;
        if (chunk) chunk->used = 0;
    }
    if (chunk) {
        arena->now = chunk;
    } else {
        chunk = feature_new_chunk(arena, need);
        if (!chunk) return NULL;
    }
    at = chunk->bytes + chunk->used + LEVADA_KERNEL_SLACK;
    chunk->used += need;
    return at;
}

void levada_arena_reset(levada_arena *arena)
{
    arena->now = NULL;
    if (arena->first) arena->first->used = 0;
}

void levada_arena_clear(levada_arena *arena)
{
    while (arena->first) {
        struct levada_arena_chunk *chunk = arena->first;

        arena->first = chunk->next;
        levada_free(chunk);
    }
    arena->now = NULL;
}

/* Checks whole varints of at most 10 bytes each, because a list may be dropped unread if a later
 * kind of the same Feature wins. */
static bool feature_run(const uint8_t *p, uint32_t size)
{
    uint32_t more = 0;

    for (uint32_t i = 0; i < size; i++) {
        more = p[i] >= 0x80 ? more + 1 : 0;
        if (more > 9) return false;
    }
    return more == 0;
}

/* Returns the number of bytes of the value after its tag in the list; NULL if it is broken. */
static const uint8_t *feature_value(levada_list list, uint32_t tag, const uint8_t *p,
                                    const uint8_t *end, bool *known, uint32_t *size)
{
    uint64_t v;
    const uint8_t *next;

    *known = true;
    if (tag == LEVADA_WIRE_SIZED(1)) {
        p = levada_wire_sized(p, end, size);
        if (!p) return NULL;
        if (list == LEVADA_LIST_FLOAT && *size % 4 != 0) return NULL;
        if (list == LEVADA_LIST_INT64 && !feature_run(p, *size)) return NULL;
        return p;
    }
    if (list == LEVADA_LIST_INT64 && tag == LEVADA_WIRE_VARINT(1)) {
        next = levada_wire_u64(p, end, &v);
        *size = next ? (uint32_t)(next - p) : 0;
        return next ? p : NULL;
    }
    if (list == LEVADA_LIST_FLOAT && tag == LEVADA_WIRE_FIXED32(1)) {
        *size = 4;
        return end - p >= 4 ? p : NULL;
    }
    *known = false;
    next = levada_wire_skip(tag, p, end);
    *size = next ? (uint32_t)(next - p) : 0;
    return next ? p : NULL;
}

/* Appends the payload of one list message to `to`; NULL where it is broken. Packed and unpacked
 * numbers may be mixed: all values are kept, in order, as in protobuf. */
static uint8_t *feature_list(levada_list list, const uint8_t *p, const uint8_t *end, uint8_t *to)
{
    while (p < end) {
        uint32_t tag, size;
        bool known;

        p = levada_wire_tag(p, end, &tag);
        if (!p) return NULL;
        p = feature_value(list, tag, p, end, &known, &size);
        if (!p) return NULL;
        if (known && list == LEVADA_LIST_BYTES) {
            *to++ = LEVADA_WIRE_SIZED(1);
            to = levada_wire_put(to, size);
        }
        if (known) {
            memcpy(to, p, size);
            to += size;
        }
        p += size;
    }
    return to;
}

levada_plain levada_feature_plain(levada_arena *arena, const uint8_t *p, const uint8_t *end,
                                  levada_list *list, levada_span *out)
{
    uint8_t *start = levada_arena_take(arena, (size_t)(end - p));
    uint8_t *to = start;

    if (!start) return LEVADA_PLAIN_MEMORY;
    *list = LEVADA_LIST_NONE;
    while (p < end) {
        uint32_t tag, size;
        levada_list now;

        p = levada_wire_tag(p, end, &tag);
        if (!p) return LEVADA_PLAIN_BROKEN;
        if ((tag & 7) != 2 || tag >> 3 > LEVADA_LIST_INT64) {
            p = levada_wire_skip(tag, p, end);
            if (!p) return LEVADA_PLAIN_BROKEN;
            continue;
        }
        now = (levada_list)(tag >> 3);
        if (now != *list) to = start;
        *list = now;
        p = levada_wire_sized(p, end, &size);
        if (!p) return LEVADA_PLAIN_BROKEN;
        to = feature_list(now, p, p + size, to);
        if (!to) return LEVADA_PLAIN_BROKEN;
        p += size;
    }
    out->at = start;
    out->size = (int32_t)(to - start);
    out->loose = true;
    return LEVADA_PLAIN_OK;
}

levada_plain levada_list_plain(levada_arena *arena, levada_list list, levada_span *span)
{
    uint8_t *start = levada_arena_take(arena, (size_t)span->size);
    uint8_t *to;

    if (!start) return LEVADA_PLAIN_MEMORY;
    to = feature_list(list, span->at, span->at + span->size, start);
    if (!to) return LEVADA_PLAIN_BROKEN;
    *span = (levada_span){ .at = start, .size = (int32_t)(to - start), .loose = true };
    return LEVADA_PLAIN_OK;
}
