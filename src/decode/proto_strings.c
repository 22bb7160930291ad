/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings from plain payload to ranges of bytes. If all of them are in the buffer of the records,
 * the column shares it and no byte is copied.
 */
#include "decode/proto.h"

#include "tensor/pool.h"

/* Returns the next string of a payload that was checked. */
static const uint8_t *strings_next(const uint8_t *p, const uint8_t *end, uint32_t *size)
{
    return levada_wire_sized(p + 1, end, size);
}

/* Walks strings in a payload; -1 if it is broken, -2 if it has a field of another number. */
static int64_t strings_walk(const levada_span *span)
{
    const uint8_t *p = span->at, *end = p + span->size;
    int64_t n = 0;

    for (; p < end; n++) {
        uint32_t size;

        if (*p != LEVADA_WIRE_SIZED(1)) return -2;
        p = strings_next(p, end, &size);
        if (!p) return -1;
        p += size;
    }
    return n;
}

static levada_status strings_of(levada_proto *x, levada_span *span, int64_t *out,
                                levada_error *err)
{
    levada_plain plain;

    *out = span->at ? strings_walk(span) : 0;
    if (LEVADA_LIKELY(*out != -2)) return LEVADA_OK;
    plain = levada_list_plain(&x->arena, LEVADA_LIST_BYTES, span);
    if (plain == LEVADA_PLAIN_MEMORY) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a list of strings");
    }
    *out = plain == LEVADA_PLAIN_OK ? strings_walk(span) : -1;
    return LEVADA_OK;
}

levada_status levada_strings_count(levada_proto *x, const levada_feature *f,
                                   const levada_items *items, int32_t *offsets, levada_error *err)
{
    int64_t total = 0;

    for (int64_t i = 0; i < items->n; i++) {
        levada_span *span = &items->at[i];
        int64_t count;
        bool bad;

        LEVADA_TRY(strings_of(x, span, &count, err));
        bad = count < 0 || (f->per == 0 ? count != 0 : count % f->per != 0);
        if (!bad && f->per > 1) count /= f->per;
        offsets[i] = (int32_t)total;
        if (bad) {
            LEVADA_TRY(levada_proto_wrong_count(x, f, items, i, count, err));
            *span = (levada_span){ 0 };
            continue;
        }
        total += count;
        if (total * f->per > INT32_MAX) {
            return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                               "feature '%s': more than 2^31 strings in one block; lower "
                               "block_rows", f->name);
        }
    }
    offsets[items->n] = (int32_t)total;
    return LEVADA_OK;
}

/* Returns true if every string is within 2 GiB of the buffer that owns the records. */
static bool strings_share(const levada_proto *x, const levada_items *items)
{
    const levada_buffer *owner = x->in->owner;

    if (!owner || owner->size > INT32_MAX) return false;
    for (int64_t i = 0; i < items->n; i++) {
        const levada_span *span = &items->at[i];

        if (!span->at) continue;
        if (span->loose || span->at < owner->data ||
            span->at + span->size > owner->data + owner->size) {
            return false;
        }
    }
    return true;
}

/* Where the strings of a column go to. */
typedef struct strings_target {
    int32_t *begin, *end;
    const uint8_t *base; /* shared: ranges count from here    */
    uint8_t *copy; /* copied: the column's own bytes    */
    int64_t used;
} strings_target;

static void strings_put(strings_target *t, const levada_span *span, int64_t at)
{
    const uint8_t *p = span->at, *end = p + span->size;

    while (p < end) {
        uint32_t size;
        int64_t from;

        p = strings_next(p, end, &size);
        from = t->copy ? t->used : p - t->base;
        if (size == 0) from = 0;
        if (t->copy) memcpy(t->copy + t->used, p, size);
        t->used += size;
        t->begin[at] = (int32_t)from;
        t->end[at++] = (int32_t)(from + size);
        p += size;
    }
}

/* Makes the target of a copy, which takes no more bytes than the payload. */
static levada_status strings_target_make(levada_proto *x, int32_t column, int32_t level,
                                         const levada_items *items, int64_t total,
                                         strings_target *t, levada_error *err)
{
    int64_t bytes = 0;

    LEVADA_TRY(levada_builder_ranges(x->out, column, level, total, &t->begin, &t->end, err));
    if (strings_share(x, items)) {
        t->base = x->in->owner->data;
        levada_builder_share_values(x->out, column, t->base, x->in->owner);
        return LEVADA_OK;
    }
    for (int64_t i = 0; i < items->n; i++) bytes += items->at[i].size;
    return levada_builder_values(x->out, column, bytes, (void **)&t->copy, err);
}

levada_status levada_strings_fill(levada_proto *x, int32_t column, int32_t level,
                                  const levada_items *items, const int32_t *offsets, int64_t per,
                                  int32_t **begin, int32_t **end, levada_error *err)
{
    strings_target t = { 0 };

    LEVADA_TRY(strings_target_make(x, column, level, items, offsets[items->n] * per, &t, err));
    for (int64_t i = 0; i < items->n; i++) {
        if (items->at[i].at) strings_put(&t, &items->at[i], offsets[i] * per);
    }
    if (begin) {
        *begin = t.begin;
        *end = t.end;
    }
    return LEVADA_OK;
}

/* Counts, and puts the default where an item is missing. */
static levada_status strings_check(levada_proto *x, const levada_feature *f,
                                   const levada_items *items, levada_error *err)
{
    for (int64_t i = 0; i < items->n; i++) {
        levada_span *span = &items->at[i];
        int64_t count;

        if (!span->at && f->otherwise) {
            if (f->otherwise_empty) continue; /* like ranges without bytes: still shared */
            span->at = f->otherwise;
            span->size = (int32_t)f->otherwise_size;
            span->loose = true;
            continue;
        }
        LEVADA_TRY(strings_of(x, span, &count, err));
        if (count == f->per || (!span->at && !items->first)) continue;
        LEVADA_TRY(levada_proto_wrong_count(x, f, items, i, count, err));
        *span = (levada_span){ 0 };
    }
    return LEVADA_OK;
}

levada_status levada_strings_fixed(levada_proto *x, const levada_feature *f,
                                   const levada_items *items, levada_error *err)
{
    strings_target t = { 0 };
    int32_t level = f->steps ? 1 : 0;

    if (items->n > 0 && f->per > INT32_MAX / items->n) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "feature '%s': more than 2^31 strings in one block; lower block_rows",
                           f->name);
    }
    LEVADA_TRY(strings_check(x, f, items, err));
    LEVADA_TRY(strings_target_make(x, f->column, level, items, items->n * f->per, &t, err));
    for (int64_t i = 0; i < items->n; i++) {
        if (items->at[i].at) {
            strings_put(&t, &items->at[i], i * f->per);
            continue;
        }
        memset(t.begin + i * f->per, 0, (size_t)f->per * sizeof *t.begin);
        memset(t.end + i * f->per, 0, (size_t)f->per * sizeof *t.end);
    }
    return LEVADA_OK;
}
