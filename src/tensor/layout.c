/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts: what is known of a batch as a whole.
 */
#include "base/alloc.h"
#include "base/refs.h"
#include "tensor/block_priv.h"

levada_status levada_layout_create(int64_t bound, levada_layout **out, levada_error *err)
{
    levada_layout *layout = levada_alloc_zero(sizeof *layout);

    if (!layout) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for the layout of a batch");
    }
    atomic_init(&layout->refs, 1);
    layout->bound = bound;
    *out = layout;
    return LEVADA_OK;
}

void levada_layout_unref(levada_layout **layout)
{
    levada_layout *l = *layout;

    *layout = NULL;
    if (l && levada_refs_drop(&l->refs)) levada_free(l);
}

void levada_block_set_layout(levada_block *block, levada_layout *layout)
{
    if (layout) levada_refs_add(&layout->refs);
    levada_layout_unref(&block->layout);
    block->layout = layout;
}

int64_t levada_block_bound(const levada_block *block)
{
    return block->layout ? block->layout->bound : -1;
}
