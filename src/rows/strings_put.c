/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/strings_put.h"

#include "tensor/builder_priv.h"
#include "tensor/pool.h"

#include <string.h>

static bool put_holds(const levada_buffer *owner, const levada_text_span *field)
{
    return field->at >= owner->data && field->at + field->size <= owner->data + owner->size;
}

levada_status levada_strings_put(levada_builder *out, int32_t column, int32_t level,
                                 const levada_text_span *spans, int64_t n,
                                 const levada_buffer *owner, levada_error *err)
{
    bool                 shared = owner && owner->size <= INT32_MAX;
    int32_t             *begin = NULL, *end = NULL;
    int64_t              bytes = 0, used = 0;
    uint8_t             *copy = NULL;

    for (int64_t i = 0; i < n; i++) {
        bytes += spans[i].size;
        if (shared && spans[i].size > 0) shared = put_holds(owner, &spans[i]);
    }
    if (bytes > INT32_MAX)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "more than 2 GiB in one block; lower block_rows");
    LEVADA_TRY(levada_builder_ranges(out, column, level, n, &begin, &end, err));
    if (!shared) LEVADA_TRY(levada_builder_values(out, column, bytes, (void **)&copy, err));
    for (int64_t i = 0; i < n; i++) {
        const levada_text_span *field = &spans[i];

        begin[i] = 0;
        if (field->size > 0) {
            begin[i] = (int32_t)(shared ? field->at - owner->data : used);
            if (!shared) memcpy(copy + used, field->at, (size_t)field->size);
        }
        end[i] = begin[i] + field->size;
        used += field->size;
    }
    if (shared) {
        levada_builder_share_values(out, column, owner->data, owner);
        out->block->bytes += bytes;
    }
    return LEVADA_OK;
}
