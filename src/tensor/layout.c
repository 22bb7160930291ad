/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts: what is known of a batch as a whole.
 */
#include "base/alloc.h"
#include "base/refs.h"
#include "tensor/block_priv.h"

#include <string.h>

static levada_status layout_make(int64_t bound, int64_t n, levada_layout **out, levada_error *err)
{
    levada_layout *layout = levada_alloc_zero(sizeof *layout + (size_t)n * sizeof layout->ends[0]);

    if (!layout) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "out of memory for the layout of a batch");
    }
    atomic_init(&layout->refs, 1);
    layout->bound = bound;
    layout->n = n;
    *out = layout;
    return LEVADA_OK;
}

levada_status levada_layout_create(int64_t bound, levada_layout **out, levada_error *err)
{
    return layout_make(bound, 0, out, err);
}

levada_status levada_layout_create_least(int32_t columns, int64_t bound, levada_layout **out,
                                         levada_error *err)
{
    size_t n = (size_t)columns * LEVADA_MAX_DIMS;

    LEVADA_TRY(layout_make(bound, 0, out, err));
    (*out)->columns = columns;
    (*out)->least = levada_alloc_zero(n * sizeof *(*out)->least + 1);
    if ((*out)->least) return LEVADA_OK;
    levada_layout_unref(out);
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for the layout of a batch");
}

levada_status levada_layout_create_ends(const int32_t *ends, int64_t n, levada_layout **out,
                                        levada_error *err)
{
    LEVADA_TRY(layout_make(-1, n, out, err));
    memcpy((*out)->ends, ends, (size_t)n * sizeof *ends);
    return LEVADA_OK;
}

levada_status levada_block_slice_layout(levada_block *block, levada_layout *from, int64_t first,
                                        levada_error *err)
{
    levada_layout *layout = NULL;
    int64_t        a = 0, b;

    if (!from || from->n == 0) {
        levada_block_set_layout(block, from);
        return LEVADA_OK;
    }
    while (a < from->n && from->ends[a] <= first) a++;
    for (b = a; b < from->n && from->ends[b] < first + block->n;) b++;
    LEVADA_TRY(layout_make(from->bound, b - a + 1, &layout, err));
    for (int64_t i = a; i < b; i++) layout->ends[i - a] = from->ends[i] - (int32_t)first;
    layout->ends[b - a] = (int32_t)block->n;
    levada_block_set_layout(block, layout);
    levada_layout_unref(&layout);
    return LEVADA_OK;
}

levada_layout *levada_layout_ref(levada_layout *layout)
{
    if (layout) levada_refs_add(&layout->refs);
    return layout;
}

void levada_layout_unref(levada_layout **layout)
{
    levada_layout *l = *layout;

    *layout = NULL;
    if (!l || !levada_refs_drop(&l->refs)) return;
    levada_block_unref(&l->keys);
    levada_free(l->least);
    levada_free(l);
}

void levada_block_set_layout(levada_block *block, levada_layout *layout)
{
    (void)levada_layout_ref(layout);
    levada_layout_unref(&block->layout);
    block->layout = layout;
}

int64_t levada_block_bound(const levada_block *block)
{
    return block->layout ? block->layout->bound : -1;
}

const int32_t *levada_block_ends(const levada_block *block, int64_t *n)
{
    *n = block->layout ? block->layout->n : 0;
    return *n ? block->layout->ends : NULL;
}
