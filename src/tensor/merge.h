/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging: one selection of rows that come one by one from several inputs.
 *
 * An input is a block of any kind, with the marks of the blocks that it names: their numbers in the
 * selection that is being made. A row is two stores and one look at its mark; blocks are counted
 * once for each selection, never for each row. A block that two inputs name is named twice.
 */
#ifndef LEVADA_TENSOR_MERGE_H
#define LEVADA_TENSOR_MERGE_H

#include "tensor/block_priv.h"

/* All-zero is a valid empty one. */
typedef struct levada_merge {
    levada_block **from; /* space for one of each row: no row names more */
    int64_t        reserved;
    int32_t        nfrom;
    levada_buffer *index;
    uint32_t      *which, *row;
    int64_t        n, capacity; /* rows: so far, at most */
    uint64_t       base; /* blocks named by earlier selections: marks up to here have expired */
} levada_merge;

/* All-zero is a valid one without a block. */
typedef struct levada_merge_input {
    const levada_block *block; /* borrowed: the caller holds it as long as it adds rows of it */
    uint64_t           *marks; /* one for each block that it names; 0 = none yet */
    int64_t             capacity;
} levada_merge_input;

/* Begins a selection of at most `rows` rows. */
LEVADA_MUST_USE levada_status levada_merge_begin(levada_merge *merge, levada_pool *pool,
                                                 int64_t rows, levada_error *err);
/* Ends the rows so far, at least one, as a selection. After a failure they are still there. */
LEVADA_MUST_USE levada_status levada_merge_end(levada_merge *merge, levada_block **out,
                                               levada_error *err);
void levada_merge_clear(levada_merge *merge);

/* Continues the input with another block. */
LEVADA_MUST_USE levada_status levada_merge_switch(levada_merge_input *input,
                                                  const levada_block *block, levada_error *err);
void levada_merge_input_clear(levada_merge_input *input);

/* Adds a row of the input's block. The selection must have fewer rows than its capacity. */
static inline void levada_merge_row(levada_merge *merge, levada_merge_input *input, int64_t row)
{
    const levada_block *block = input->block;
    bool                data = block->kind == LEVADA_BLOCK_DATA;
    uint32_t            which = data ? 0 : block->which[row];

    if (input->marks[which] <= merge->base) {
        merge->from[merge->nfrom++] = levada_block_ref(data ? block : block->from[which]);
        input->marks[which] = merge->base + (uint64_t)merge->nfrom;
    }
    merge->which[merge->n] = (uint32_t)(input->marks[which] - merge->base - 1);
    merge->row[merge->n++] = data ? (uint32_t)row : block->row[row];
}

#endif
