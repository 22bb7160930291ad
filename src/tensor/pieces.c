/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/pieces.h"

#include <string.h>

static void pieces_numbers(const levada_piece *pieces, int64_t n, int64_t each, int64_t size,
                           uint8_t *to)
{
    for (int64_t i = 0; i < n; i++) {
        const levada_piece *p = &pieces[i];
        int64_t             places = each < 0 ? p->count : each;
        size_t              bytes = (size_t)(p->count * size);

        if (bytes > 0) memcpy(to, p->tensor->data + p->first * size, bytes);
        if (places > p->count) memset(to + bytes, 0, (size_t)((places - p->count) * size));
        to += places * size;
    }
}

static int64_t pieces_bytes(const levada_piece *pieces, int64_t n)
{
    int64_t bytes = 0;

    for (int64_t i = 0; i < n; i++) {
        const int32_t *at = pieces[i].tensor->offsets + pieces[i].first;

        if (pieces[i].count > 0) bytes += at[pieces[i].count] - at[0];
    }
    return bytes;
}

static void pieces_strings(const levada_piece *pieces, int64_t n, int64_t each, levada_tensor *t)
{
    int32_t *offset = t->offsets, end = 0;

    for (int64_t i = 0; i < n; i++) {
        const levada_piece *p = &pieces[i];
        const int32_t      *at = p->tensor->offsets + p->first;
        int32_t             bytes = p->count > 0 ? at[p->count] - at[0] : 0;

        if (bytes > 0) memcpy(t->data + end, p->tensor->data + at[0], (size_t)bytes);
        for (int64_t k = 0; k < p->count; k++) *offset++ = end + (at[k] - at[0]);
        end += bytes;
        for (int64_t k = p->count; k < each; k++) *offset++ = end;
    }
    *offset = end;
}

levada_status levada_pieces_join(levada_pool *pool, levada_dtype dtype, const levada_shape *shape,
                                 const levada_piece *pieces, int64_t n, int64_t each,
                                 levada_tensor **out, levada_error *err)
{
    levada_tensor *t = NULL;

    if (levada_dtype_is_bytes(dtype)) {
        LEVADA_TRY(levada_tensor_make_strings(pool, shape, pieces_bytes(pieces, n), &t, err));
        pieces_strings(pieces, n, each, t);
    } else {
        LEVADA_TRY(levada_tensor_make(pool, dtype, shape, &t, err));
        pieces_numbers(pieces, n, each, levada_dtype_size(dtype), t->data);
    }
    *out = t;
    return LEVADA_OK;
}
