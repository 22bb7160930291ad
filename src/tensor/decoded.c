/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks with encoded columns as blocks without.
 */
#include "base/alloc.h"
#include "tensor/builder_priv.h"
#include "tensor/encoded.h"
#include "tensor/gather.h"

#include <string.h>

/* Begins a block with decoded columns. `only` is the column to decode, or -1 for all. */
static levada_status decoded_columns(levada_pool *pool, const levada_block *block, int32_t only,
                                     levada_builder **b, levada_error *err)
{
    LEVADA_TRY(levada_builder_make(pool, block->spec, block->n, b, err));
    for (int32_t i = 0; i < levada_spec_count(block->spec); i++) {
        const levada_column *c = &block->columns[i];

        if (c->encoded && (only < 0 || only == i))
            LEVADA_TRY(levada_gather_decoded(*b, i, block, err));
        else levada_builder_share(*b, i, c);
    }
    return LEVADA_OK;
}

static levada_status decoded_data(levada_pool *pool, const levada_block *block, int32_t only,
                                  levada_block **out, levada_error *err)
{
    levada_builder *b = NULL;
    levada_block   *made = NULL;
    levada_status   st = decoded_columns(pool, block, only, &b, err);

    if (st == LEVADA_OK) st = levada_builder_publish(&b, &made, err);
    if (st == LEVADA_OK) st = levada_block_copy_origins(pool, made, block, err);
    if (st == LEVADA_OK) {
        made->bytes += block->bytes;
        levada_block_set_layout(made, block->layout);
        *out = made;
        made = NULL;
    }
    levada_block_unref(&made);
    levada_builder_destroy(&b);
    return st;
}

levada_status levada_block_decoded(levada_pool *pool, const levada_block *block,
                                   levada_block **out, levada_error *err)
{
    if (!block->encoded) {
        *out = levada_block_ref(block);
        return LEVADA_OK;
    }
    if (block->kind == LEVADA_BLOCK_DATA) return decoded_data(pool, block, -1, out, err);
    return levada_block_gather(pool, block, out, err);
}

levada_status levada_block_decode_column(levada_pool *pool, const levada_block *block,
                                         int32_t field, levada_block **out, levada_error *err)
{
    return decoded_data(pool, block, field, out, err);
}

levada_status levada_block_decode(levada_pool *pool, levada_block **block, levada_error *err)
{
    levada_block *made = NULL;

    if (!(*block)->encoded) return LEVADA_OK;
    LEVADA_TRY(levada_block_decoded(pool, *block, &made, err));
    levada_block_unref(block);
    *block = made;
    return LEVADA_OK;
}
