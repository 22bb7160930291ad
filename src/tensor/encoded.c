/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/encoded.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/refs.h"

#include <string.h>

levada_encoded *levada_encoded_ref(levada_encoded *encoded)
{
    if (encoded) levada_refs_add(&encoded->refs);
    return encoded;
}

void levada_encoded_unref(levada_encoded **encoded)
{
    levada_encoded *e = *encoded;

    *encoded = NULL;
    if (!e || !levada_refs_drop(&e->refs)) return;
    levada_buffer_unref(&e->items_owner);
    levada_buffer_unref(&e->bytes_owner);
    levada_free(e);
}

/* Copies items. Short ones are copied with what comes after them, which the next one overwrites. */
static uint8_t *encoded_copy(const levada_encoded_item *items, int64_t n, uint8_t *to)
{
    for (int64_t i = 0; i < n; i++) {
        size_t size = (size_t)items[i].size;

        if (size <= 64) {
            if (size) memcpy(to, items[i].at, 64);
        } else {
            memcpy(to, items[i].at, size);
        }
        to += size;
    }
    return to;
}

/* Copies the runs of n items. A copy overwrites what comes after it, as above. */
static uint8_t *encoded_runs(const levada_encoded_item *items, int64_t n, int64_t run, int64_t gap,
                             uint8_t *to)
{
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *at = items[i].at;

        for (int64_t left = items[i].size; left > 0; left -= run + gap, at += run + gap) {
            for (int64_t k = 0; k < run; k += 64) memcpy(to + k, at + k, 64);
            to += run;
        }
    }
    return to;
}

uint8_t *levada_items_decode(const levada_column *c, const levada_encoded_item *items, int64_t n,
                             uint8_t *to)
{
    const levada_kernels *k = c->encoded->kernels;
    bool                  narrow = c->field->dtype == LEVADA_INT32;

    if (c->encoded->gap) {
        int64_t run = levada_column_inner(c) * levada_dtype_size(c->field->dtype);

        return encoded_runs(items, n, run, c->encoded->gap, to);
    }
    if (c->encoded->encoding == LEVADA_ENCODING_ELEMENTS) return encoded_copy(items, n, to);
    for (int64_t i = 0; i < n; i++) {
        size_t  size = (size_t)items[i].size;
        int64_t count = 0;

        if (size == 0) continue;
        if (narrow) count = k->varint_i32(items[i].at, size, (int32_t *)(void *)to);
        else count = k->varint_i64(items[i].at, size, (int64_t *)(void *)to);
        LEVADA_ASSERT(count == items[i].count);
        to += count * (narrow ? 4 : 8);
    }
    return to;
}

static bool encoded_whole(levada_dtype dtype)
{
    return dtype == LEVADA_INT32 || dtype == LEVADA_INT64 || dtype == LEVADA_UINT64;
}

/* Returns true if all values fit in 4 bytes. Rows of an inner level may be in any order, with gaps:
 * it looks only at those in use. */
static bool encoded_fits(const levada_column *c, int32_t level, int64_t begin, int64_t end)
{
    uint32_t sizes = 0;

    for (int64_t r = begin; level < c->encoded->level && r < end; r++) {
        const levada_level *l = &c->level[level];

        if (!encoded_fits(c, level + 1, l->begin[r], l->end[r])) return false;
    }
    if (level < c->encoded->level) return true;
    for (int64_t r = begin; r < end; r++) {
        const levada_encoded_item *item = levada_column_items(c, r);

        if (item->size) {
            (void)c->encoded->kernels->varint_sizes(item->at, (size_t)item->size, &sizes);
        }
    }
    return (sizes & LEVADA_VARINT_OVER_4) == 0;
}

bool levada_items_fit(const levada_column *c, levada_dtype to)
{
    if (c->encoded->encoding != LEVADA_ENCODING_VARINTS) return false;
    if (!encoded_whole(c->field->dtype) || !encoded_whole(to)) return false;
    return c->field->dtype == LEVADA_INT32 || encoded_fits(c, 0, 0, c->n);
}
