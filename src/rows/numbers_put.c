/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/numbers_put.h"

#include "tensor/builder_priv.h"
#include "tensor/pool.h"

#include <string.h>

/* Returns true if the numbers can be used where they are: all strings are in the owner's buffer, at
 * multiples of the width. */
static bool put_is_shared(const levada_strings *in, int64_t width)
{
    const levada_buffer *owner = in->owner;

    if (!owner || owner->size > INT32_MAX || (uintptr_t)owner->data % (uintptr_t)width)
        return false;
    for (int64_t i = 0; i < in->n; i++) {
        const uint8_t *at = in->data[i];

        if (in->size[i] == 0) continue;
        if (at < owner->data || in->size[i] > owner->data + owner->size - at ||
            (at - owner->data) % width)
            return false;
    }
    return true;
}

static levada_status put_shared(levada_builder *out, int32_t column, const levada_strings *in,
                                int64_t width, levada_error *err)
{
    const uint8_t *base = in->owner->data;
    int32_t       *begin = NULL, *end = NULL;
    int64_t        total = 0;

    LEVADA_TRY(levada_builder_ranges(out, column, 0, in->n, &begin, &end, err));
    for (int64_t i = 0; i < in->n; i++) {
        int64_t n = in->size[i] / width;

        begin[i] = n ? (int32_t)((in->data[i] - base) / width) : 0;
        end[i] = begin[i] + (int32_t)n;
        total += n;
    }
    levada_builder_share_values(out, column, base, in->owner);
    out->block->bytes += total * width;
    return LEVADA_OK;
}

levada_status levada_numbers_copy(levada_builder *out, int32_t column, const levada_strings *in,
                                  int64_t width, void **values, int64_t *total, levada_error *err)
{
    int32_t *offsets = NULL;

    *total = 0;
    LEVADA_TRY(levada_builder_offsets(out, column, 0, in->n, &offsets, err));
    for (int64_t i = 0; i < in->n; i++) {
        *total += in->size[i] / width;
        if (*total > INT32_MAX)
            return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                               "2^31 numbers or more in one block; lower block_rows");
        offsets[i + 1] = (int32_t)*total;
    }
    LEVADA_TRY(levada_builder_values(out, column, *total, values, err));
    for (int64_t i = 0; i < in->n; i++) {
        int64_t n = offsets[i + 1] - offsets[i];

        if (n > 0)
            memcpy((uint8_t *)*values + offsets[i] * width, in->data[i], (size_t)(n * width));
    }
    return LEVADA_OK;
}

levada_status levada_numbers_put(levada_builder *out, int32_t column, const levada_strings *in,
                                 int64_t width, levada_error *err)
{
    void   *values = NULL;
    int64_t total;

    if (put_is_shared(in, width)) return put_shared(out, column, in, width, err);
    return levada_numbers_copy(out, column, in, width, &values, &total, err);
}
