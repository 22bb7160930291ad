/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/merge.h"

#include "base/alloc.h"

#include <string.h>

static levada_status merge_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a selection of records");
}

static void merge_drop(levada_merge *merge)
{
    for (int32_t i = 0; i < merge->nfrom; i++) levada_block_unref(&merge->from[i]);
    merge->base += (uint64_t)merge->nfrom;
    merge->nfrom = 0;
    merge->n = 0;
}

levada_status levada_merge_begin(levada_merge *merge, levada_pool *pool, int64_t rows,
                                 levada_error *err)
{
    merge_drop(merge);
    if (!levada_reserve(&merge->from, &merge->reserved, rows, sizeof(*merge->from))) {
        return merge_memory(err);
    }
    if (rows != merge->capacity) levada_buffer_unref(&merge->index);
    merge->capacity = rows;
    if (!merge->index) LEVADA_TRY(levada_buffer_create(pool, rows * 8, &merge->index, err));
    merge->which = (uint32_t *)(void *)merge->index->data;
    merge->row = merge->which + rows;
    return LEVADA_OK;
}

levada_status levada_merge_end(levada_merge *merge, levada_block **out, levada_error *err)
{
    LEVADA_TRY(levada_block_selection(merge->from, merge->nfrom, merge->which, merge->row,
                                      merge->n, &merge->index, out, err));
    merge->base += (uint64_t)merge->nfrom; /* the references went with the selection */
    merge->nfrom = 0;
    merge->n = 0;
    return LEVADA_OK;
}

void levada_merge_clear(levada_merge *merge)
{
    merge_drop(merge);
    levada_free(merge->from);
    levada_buffer_unref(&merge->index);
    memset(merge, 0, sizeof *merge);
}

levada_status levada_merge_switch(levada_merge_input *input, const levada_block *block,
                                  levada_error *err)
{
    int32_t n = block->kind == LEVADA_BLOCK_DATA ? 1 : block->nfrom;

    input->block = NULL;
    if (!levada_reserve(&input->marks, &input->capacity, n, sizeof *input->marks)) {
        return merge_memory(err);
    }
    memset(input->marks, 0, (size_t)n * sizeof *input->marks);
    input->block = block;
    return LEVADA_OK;
}

void levada_merge_input_clear(levada_merge_input *input)
{
    levada_free(input->marks);
    memset(input, 0, sizeof *input);
}
