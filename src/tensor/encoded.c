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

/* Short ones are copied with what comes after them, which the next one overwrites. */
static uint8_t *encoded_copy(const levada_item *items, int64_t n, uint8_t *to)
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

uint8_t *levada_items_decode(const levada_column *c, const levada_item *items, int64_t n,
                             uint8_t *to)
{
    const levada_kernels *k = c->encoded->kernels;
    bool                  narrow = c->field->dtype == LEVADA_INT32;

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
