/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/refs.h"
#include "tensor/encoded.h"

#include <string.h>

levada_status levada_block_create(const levada_spec *spec, int64_t n, levada_block **out,
                                  levada_error *err)
{
    int32_t       fields = levada_spec_count(spec);
    levada_block *block = levada_alloc_zero(sizeof *block + (size_t)fields * sizeof(levada_column));

    if (!block) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a block");
    atomic_init(&block->refs, 1);
    block->kind = LEVADA_BLOCK_DATA;
    block->n = n;
    block->spec = levada_spec_ref(spec);
    block->columns = (levada_column *)(block + 1);
    for (int32_t i = 0; i < fields; i++) {
        block->columns[i].field = levada_spec_field(spec, i);
        block->columns[i].n = n;
        memcpy(block->columns[i].dims, block->columns[i].field->dims,
               sizeof block->columns[i].dims);
    }
    block->origins.first.offset = -1;
    *out = block;
    return LEVADA_OK;
}

levada_block *levada_block_ref(const levada_block *block)
{
    if (!block) return NULL;
    levada_block *b = (levada_block *)(uintptr_t)block;

    levada_refs_add(&b->refs);
    return b;
}

static inline void block_drop(levada_buffer **buffer)
{
    if (*buffer) levada_buffer_unref(buffer);
}

static void block_free(levada_block *block)
{
    int32_t fields = block->columns ? levada_spec_count(block->spec) : 0;

    for (int32_t i = 0; i < fields; i++) {
        levada_column *c = &block->columns[i];

        for (int32_t l = 0; l <= LEVADA_MAX_DEPTH; l++) block_drop(&c->level[l].owner);
        block_drop(&c->owner);
        block_drop(&c->lengths_owner);
        levada_encoded_unref(&c->encoded);
    }
    for (int32_t i = 0; i < block->nfrom; i++) levada_block_unref(&block->from[i]);
    levada_free(block->from);
    levada_buffer_unref(&block->index_owner);
    levada_buffer_unref(&block->origins.owner);
    for (int32_t i = 0; i < block->nmore; i++) levada_buffer_unref(&block->more[i].owner);
    levada_layout_unref(&block->layout);
    levada_free(block->rejects);
    levada_spec_unref(&block->spec);
    levada_free(block);
}

void levada_block_unref(levada_block **block)
{
    if (!block) return;
    levada_block *b = *block;

    *block = NULL;
    if (b && levada_refs_drop(&b->refs)) block_free(b);
}

int64_t levada_block_rows(const levada_block *block)
{
    if (!block) return 0;
    return block->n;
}

const levada_spec *levada_block_spec(const levada_block *block)
{
    if (!block) return NULL;
    return block->spec;
}

/* References that this block itself holds to a buffer: its columns may share one slab. */
static int32_t block_references(const levada_block *block, const levada_buffer *buffer)
{
    int32_t n = block->origins.owner == buffer;

    for (int32_t i = 0; i < block->nmore; i++) n += block->more[i].owner == buffer;
    for (int32_t i = 0; i < levada_spec_count(block->spec); i++) {
        const levada_column *c = &block->columns[i];

        for (int32_t l = 0; l <= LEVADA_MAX_DEPTH; l++) n += c->level[l].owner == buffer;
        n += (c->owner == buffer) + (c->lengths_owner == buffer);
    }
    return n;
}

static int32_t block_refs(const levada_buffer *buffer)
{
    return atomic_load_explicit(&((levada_buffer *)(uintptr_t)buffer)->refs, memory_order_acquire);
}

/* Returns true if nobody else reads the block. A slice shares its buffers with the block that it
 * was cut from, so the block's own count is not enough. */
bool levada_block_exclusive(const levada_block *block)
{
    if (!block) return false;
    const levada_buffer *last = NULL; /* neighbors often share one */
    levada_block        *self = (levada_block *)(uintptr_t)block;

    if (atomic_load_explicit(&self->refs, memory_order_acquire) != 1) return false;
    for (int32_t i = 0; block->columns && i < levada_spec_count(block->spec); i++) {
        const levada_buffer *owner = block->columns[i].owner;

        if (!owner || owner == last) continue;
        if (owner->flags & LEVADA_BUFFER_READONLY) return false;
        if (block_refs(owner) != 1 && block_refs(owner) != block_references(block, owner)) {
            return false;
        }
        last = owner;
    }
    return true;
}

int64_t levada_block_bytes(const levada_block *block)
{
    if (!block) return 0;
    return block->bytes;
}

const levada_column *levada_block_at(const levada_block *block, int32_t i)
{
    if (!block) return NULL;
    if (!block->columns || i < 0 || i >= levada_spec_count(block->spec)) return NULL;
    return &block->columns[i];
}

const levada_column *levada_block_column(const levada_block *block, const char *name)
{
    if (!block) return NULL;
    return levada_block_at(block, levada_spec_find(block->spec, name));
}

const int64_t *levada_column_i64(const levada_column *c)
{
    return c && c->field->dtype == LEVADA_INT64 ? (const int64_t *)(const void *)c->values : NULL;
}

const int32_t *levada_column_i32(const levada_column *c)
{
    return c && c->field->dtype == LEVADA_INT32 ? (const int32_t *)(const void *)c->values : NULL;
}

const float *levada_column_f32(const levada_column *c)
{
    return c && c->field->dtype == LEVADA_FLOAT32 ? (const float *)(const void *)c->values : NULL;
}

const double *levada_column_f64(const levada_column *c)
{
    return c && c->field->dtype == LEVADA_FLOAT64 ? (const double *)(const void *)c->values : NULL;
}

const uint8_t *levada_column_u8(const levada_column *c)
{
    bool fits = c && (c->field->dtype == LEVADA_UINT8 || c->field->dtype == LEVADA_BOOL);

    return fits ? c->values : NULL;
}

const uint8_t *levada_column_bytes(const levada_column *c, int64_t row, int64_t *size)
{
    if (!c || !levada_dtype_is_bytes(c->field->dtype) || c->field->depth || row < 0 ||
        row >= c->n) {
        return NULL;
    }
    *size = (int64_t)c->level[0].end[row] - c->level[0].begin[row];
    return c->values + c->level[0].begin[row];
}

int64_t levada_column_dim(const levada_column *c, int32_t d)
{
    if (!c) return -1;
    if (d == 0) return c->n;
    return d > 0 && d <= c->field->ndim ? c->dims[d - 1] : -1;
}

int64_t levada_column_inner(const levada_column *c)
{
    if (!c) return 0;
    int64_t product = 1;

    for (int32_t d = 0; d < c->field->ndim; d++) product *= c->dims[d];
    return product;
}

const levada_field *levada_column_field(const levada_column *c) { return c ? c->field : NULL; }
int64_t             levada_column_rows(const levada_column *c) { return c ? c->n : 0; }
const void         *levada_column_values(const levada_column *c) { return c ? c->values : NULL; }
const int32_t      *levada_column_lengths(const levada_column *c) { return c ? c->lengths : NULL; }

static const levada_level *block_column_level(const levada_column *c, int32_t level)
{
    int32_t n = c ? c->field->depth + (levada_dtype_is_bytes(c->field->dtype)) : 0;

    return level >= 0 && level < n ? &c->level[level] : NULL;
}

const int32_t *levada_column_begins(const levada_column *c, int32_t level)
{
    const levada_level *of = block_column_level(c, level);

    return of ? of->begin : NULL;
}

const int32_t *levada_column_ends(const levada_column *c, int32_t level)
{
    const levada_level *of = block_column_level(c, level);

    return of ? of->end : NULL;
}

int64_t levada_column_length(const levada_column *c, int64_t row)
{
    if (!c || row < 0 || row >= c->n) return 0;
    if (c->field->depth > 0) return (int64_t)c->level[0].end[row] - c->level[0].begin[row];
    if (c->lengths) return c->lengths[row];
    return c->field->ndim > 0 ? c->dims[0] : 1;
}
