/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prefetching of rows (base/prefetch.h) where a batch is made of them. The rows of a selection lie
 * anywhere in memory, and encoded ones are found through their items. So a loop over rows fetches
 * the item of the row LEVADA_PREFETCH_ITEMS ahead, and the values of the row LEVADA_PREFETCH_ROWS
 * ahead. `level` is the one that `row` is a row of: 0, or the last ragged one.
 */
#ifndef LEVADA_TENSOR_PREFETCH_ROW_H
#define LEVADA_TENSOR_PREFETCH_ROW_H

#include "base/prefetch.h"
#include "tensor/encoded.h"

#define LEVADA_PREFETCH_ITEMS (2 * LEVADA_PREFETCH_ROWS)
#define LEVADA_PREFETCH_BLOCKS 8
#define LEVADA_PREFETCH_LARGE 512

/* Returns false if looking ahead only costs, because rows of a few blocks are still in the cache:
 * encoded ones, which their stage has read, and small ones. `row_bytes`: of a row in the batch. */
static inline bool levada_prefetch_helps(const levada_block *block, int64_t row_bytes)
{
    bool large = block->nfrom > 0 && !block->encoded && row_bytes >= LEVADA_PREFETCH_LARGE;

    return large || block->nfrom > LEVADA_PREFETCH_BLOCKS;
}

/* Prefetches what is found next to the values: an item, or the range of a row. */
static LEVADA_ALWAYS_INLINE void levada_prefetch_item(const levada_column *c, int32_t level,
                                                      int64_t row)
{
    if (!c->encoded || c->encoded->level > level + 1) return;
    if (c->encoded->level > level) row = c->level[level].begin[row];
    LEVADA_PREFETCH(levada_column_items(c, row));
}

/* Prefetches the values of the row, as they are. Returns where they begin, which is `before` of the
 * next row. */
static LEVADA_ALWAYS_INLINE const void *levada_prefetch_values(const levada_column *c,
                                                               int32_t level, int64_t row,
                                                               const void *before)
{
    bool           ragged = c->field->depth > level;
    int64_t        begin = ragged ? c->level[level].begin[row] : row;
    int64_t        end = ragged ? c->level[level].end[row] : row + 1;
    const uint8_t *at;

    if (c->encoded) {
        const levada_encoded_item *first, *last;
        bool               deeper = c->encoded->level > level;

        first = levada_column_items(c, deeper ? begin : row);
        last = deeper ? first + (end - begin) - 1 : first;
        if (c->encoded->level > level + 1 || last < first) return before;
        at = first->at;
        if (!levada_prefetch_near(before, at)) levada_prefetch(at, last->at + last->size - at);
    } else {
        int64_t size = levada_column_inner(c) * levada_dtype_size(c->field->dtype);

        if (c->field->depth > level + 1) return before;
        at = c->values + begin * size;
        if (!levada_prefetch_near(before, at)) levada_prefetch(at, (end - begin) * size);
    }
    return at;
}

#endif
