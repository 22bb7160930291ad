/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selections: naming rows instead of copying them.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "tensor/encoded.h"
#include <levada/stage.h>

#include <string.h>

static levada_status select_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a selection of records");
}

levada_status levada_block_selection(levada_block **from, int32_t nfrom, const uint32_t *which,
                                     const uint32_t *row, int64_t n, levada_buffer **index,
                                     levada_block **out, levada_error *err)
{
    levada_block *block = levada_alloc_zero(sizeof *block);
    int64_t       bytes = 0;

    if (!block) return select_memory(err);
    block->from = levada_alloc((size_t)nfrom * sizeof *from);
    if (!block->from) {
        levada_free(block);
        return select_memory(err);
    }
    memcpy(block->from, from, (size_t)nfrom * sizeof *from);
    for (int32_t i = 0; i < nfrom; i++) {
        bytes += from[i]->bytes;
        block->encoded |= from[i]->encoded;
    }
    atomic_init(&block->refs, 1);
    block->kind = LEVADA_BLOCK_SELECTION;
    block->n = n;
    block->bytes = bytes;
    block->spec = levada_spec_ref(from[0]->spec);
    block->nfrom = nfrom;
    block->which = which;
    block->row = row;
    block->index_owner = *index;
    *index = NULL;
    *out = block;
    return LEVADA_OK;
}

/* Makes an index buffer of 2 n numbers: which, then row. Selections outlive no pool: plain memory.
 * */
static levada_status select_index(int64_t n, levada_buffer **index, uint32_t **which,
                                  uint32_t **row, levada_error *err)
{
    uint32_t     *memory = levada_alloc((size_t)n * 2 * sizeof *memory);
    levada_status st;

    if (!memory) return select_memory(err);
    st = levada_buffer_wrap(memory, n * 8, levada_free, memory, index, err);
    if (st != LEVADA_OK) {
        levada_free(memory);
        return st;
    }
    *which = memory;
    *row = memory + n;
    return LEVADA_OK;
}

static levada_status select_share(const levada_block *block, levada_buffer **index,
                                  const uint32_t *which, const uint32_t *row, int64_t n,
                                  levada_block **out, levada_error *err)
{
    levada_block       *self = (levada_block *)(uintptr_t)block;
    levada_block      **from = block->kind == LEVADA_BLOCK_DATA ? &self : block->from;
    int32_t             nfrom = block->kind == LEVADA_BLOCK_DATA ? 1 : block->nfrom;
    levada_status       st = levada_block_selection(from, nfrom, which, row, n, index, out, err);

    if (st == LEVADA_OK) {
        for (int32_t i = 0; i < nfrom; i++) levada_block_ref(from[i]);
    }
    return st;
}

levada_status levada_block_select(const levada_block *block, const int32_t *rows, int64_t n,
                                  levada_block **out, levada_error *err)
{
    LEVADA_TRY(levada_require(block != NULL, "block", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_buffer *index = NULL;
    uint32_t      *which = NULL, *row = NULL;
    levada_status  st;

    LEVADA_TRY(levada_require_range(n, 0, INT32_MAX, "n", err));
    LEVADA_TRY(select_index(n, &index, &which, &row, err));
    for (int64_t i = 0; i < n; i++) {
        bool data = block->kind == LEVADA_BLOCK_DATA;

        which[i] = data ? 0 : block->which[rows[i]];
        row[i] = data ? (uint32_t)rows[i] : block->row[rows[i]];
    }
    st = select_share(block, &index, which, row, n, out, err);
    if (st == LEVADA_OK && (!block->layout || block->layout->n == 0)) {
        levada_block_set_layout(*out, block->layout); /* groups are of neighbors: not these rows */
    }
    levada_buffer_unref(&index);
    return st;
}

static void select_slice_column(levada_column *c, const levada_column *from, int64_t first,
                                int64_t n)
{
    const levada_field *field = c->field;
    int64_t             at = field->depth > 0 ? first : first * levada_column_inner(from);

    *c = *from;
    c->field = field;
    c->n = n;
    for (int32_t l = 0; l <= LEVADA_MAX_DEPTH; l++) {
        if (c->level[l].owner) c->level[l].owner = levada_buffer_ref(c->level[l].owner);
    }
    if (at > 0 && (field->depth > 0 || levada_dtype_is_bytes(field->dtype))) {
        c->level[0].begin += at; /* NULL in an empty block, where `at` is 0 */
        c->level[0].end += at;
    } else if (at > 0 && c->values) {
        c->values += at * levada_dtype_size(field->dtype);
    }
    c->encoded = levada_encoded_ref(c->encoded);
    c->encoded_first += first;
    if (c->lengths) c->lengths += first;
    if (c->owner) c->owner = levada_buffer_ref(c->owner);
    if (c->lengths_owner) c->lengths_owner = levada_buffer_ref(c->lengths_owner);
}

static levada_status select_slice_data(const levada_block *block, int64_t first, int64_t n,
                                       levada_block **out, levada_error *err)
{
    levada_block *b;

    LEVADA_TRY(levada_block_create(block->spec, n, &b, err));
    for (int32_t i = 0; i < levada_spec_count(block->spec); i++) {
        select_slice_column(&b->columns[i], &block->columns[i], first, n);
    }
    levada_block_slice_origins(b, block, first);
    b->encoded = block->encoded;
    b->bytes = block->n ? block->bytes / block->n * n : 0;
    *out = b;
    return LEVADA_OK;
}

/* Makes a block of its own, even of all rows. */
static levada_status select_part(const levada_block *block, int64_t first, int64_t n,
                                 levada_block **out, levada_error *err)
{
    levada_block *made = NULL;
    levada_status st;

    if (block->kind == LEVADA_BLOCK_DATA) {
        LEVADA_TRY(select_slice_data(block, first, n, &made, err));
    } else {
        levada_buffer *index = levada_buffer_ref(block->index_owner);

        st = select_share(block, &index, block->which + first, block->row + first, n, &made, err);
        levada_buffer_unref(&index);
        if (st != LEVADA_OK) return st;
    }
    st = levada_block_slice_layout(made, block->layout, first, err);
    if (st == LEVADA_OK) *out = made;
    else levada_block_unref(&made);
    return st;
}

levada_status levada_block_slice(levada_pool *pool, const levada_block *block, int64_t first,
                                 int64_t n, levada_block **out, levada_error *err)
{
    (void)pool;
    if (first > 0 || n < block->n) return select_part(block, first, n, out, err);
    *out = levada_block_ref(block);
    return LEVADA_OK;
}

levada_status levada_block_copy_rows(const levada_block *block, levada_block **out,
                                     levada_error *err)
{
    LEVADA_TRY(select_part(block, 0, block->n, out, err));
    (*out)->bytes = block->bytes;
    return LEVADA_OK;
}
