/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reserving columns. Small pieces come from one slab of the block, large ones have a buffer of
 * their own; each piece has LEVADA_SLACK bytes after it that a kernel may overwrite.
 */
#include "tensor/builder_priv.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "tensor/encoded.h"

#include <levada/state.h>

#include <string.h>

levada_status levada_builder_make(levada_pool *pool, const levada_spec *spec, int64_t rows,
                                  levada_builder **out, levada_error *err)
{
    LEVADA_TRY(levada_require_range(rows, -1, INT32_MAX, "rows", err));
    int32_t         fields = levada_spec_count(spec);
    levada_builder *b = levada_alloc_zero(sizeof *b + (size_t)fields * sizeof b->push[0]);
    levada_status   st;

    if (!b) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a builder");
    b->late = LEVADA_LATE_DECODE_NEVER;
    b->pool = levada_pool_ref(pool);
    b->rows = rows;
    st = levada_block_create(spec, rows < 0 ? 0 : rows, &b->block, err);
    if (st != LEVADA_OK) {
        levada_builder_destroy(&b);
        return st;
    }
    *out = b;
    return LEVADA_OK;
}

void levada_builder_destroy(levada_builder **builder)
{
    if (!builder) return;
    levada_builder *b = *builder;

    *builder = NULL;
    if (!b) return;
    for (int32_t i = 0; b->block && i < levada_spec_count(b->block->spec); i++) {
        for (int32_t p = 0; p < 3; p++) levada_free(b->push[i].part[p].data);
    }
    levada_free(b->origins);
    levada_block_unref(&b->block);
    levada_buffer_unref(&b->slab);
    levada_pool_unref(&b->pool);
    levada_free(b);
}

levada_status levada_builder_check(const levada_builder *b, int32_t field, levada_error *err)
{
    LEVADA_TRY(levada_require(b != NULL, "b", err));
    return levada_require_range(field, 0, levada_spec_count(b->block->spec) - 1, "field", err);
}

static levada_status builder_new_slab(levada_builder *b, levada_error *err)
{
    levada_buffer *slab = NULL;

    LEVADA_TRY(levada_buffer_create(b->pool, LEVADA_BUILDER_SLAB, &slab, err));
    levada_buffer_unref(&b->slab);
    b->slab = slab;
    b->slab_used = 0;
    return LEVADA_OK;
}

/* Reserves `size` bytes, aligned, with slack, that the block counts; *owner gets a reference in
 * place of what it had. */
static levada_status builder_piece(levada_builder *b, int64_t size, uint8_t **out,
                                   levada_buffer **owner, levada_error *err)
{
    int64_t padded = ((size + 63) & ~INT64_C(63)) + LEVADA_SLACK;

    if (size < 0 || size > LEVADA_BLOCK_LIMIT) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "a column of %lld bytes is larger than 1 GiB, the most that a block "
                           "holds; lower block_rows or batch_size", (long long)size);
    }
    levada_buffer_unref(owner);
    b->block->bytes += size;
    if (padded > LEVADA_BUILDER_SLAB / 4) {
        LEVADA_TRY(levada_buffer_create(b->pool, size, owner, err));
        *out = (*owner)->data;
        return LEVADA_OK;
    }
    if (!b->slab || b->slab_used + padded > LEVADA_BUILDER_SLAB)
        LEVADA_TRY(builder_new_slab(b, err));
    *out = b->slab->data + b->slab_used;
    b->slab_used += padded;
    *owner = levada_buffer_ref(b->slab);
    return LEVADA_OK;
}

/* Returns true if there is such a field, for calls without a status. */
static bool builder_has(const levada_builder *b, int32_t field)
{
    return b && field >= 0 && field < levada_spec_count(b->block->spec);
}

/* Finds a level of a field, and checks that a number of rows fits into a block. */
static levada_status builder_level(levada_builder *b, int32_t field, int32_t level, int64_t n,
                                   levada_level **out, levada_error *err)
{
    levada_column *c;
    bool           bytes;

    LEVADA_TRY(levada_builder_check(b, field, err));
    c = &b->block->columns[field];
    bytes = levada_dtype_is_bytes(c->field->dtype);
    LEVADA_TRY(levada_require_range(level, 0, c->field->depth - (bytes ? 0 : 1), "level", err));
    *out = &c->level[level];
    return levada_require_range(n, 0, INT32_MAX, "n", err);
}

void levada_builder_dims(levada_builder *b, int32_t field, const int64_t *dims)
{
    if (!builder_has(b, field)) return;
    levada_column *c = &b->block->columns[field];

    memcpy(c->dims, dims, c->field->ndim * sizeof c->dims[0]);
}

levada_status levada_builder_offsets(levada_builder *b, int32_t field, int32_t level, int64_t n,
                                     int32_t **out, levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_level *l = NULL;
    uint8_t      *at = NULL;

    LEVADA_TRY(builder_level(b, field, level, n, &l, err));
    LEVADA_TRY(builder_piece(b, (n + 1) * (int64_t)sizeof **out, &at, &l->owner, err));
    *out = (int32_t *)(void *)at;
    (*out)[0] = 0;
    l->begin = *out;
    l->end = *out + 1;
    return LEVADA_OK;
}

levada_status levada_builder_ranges(levada_builder *b, int32_t field, int32_t level, int64_t n,
                                    int32_t **begin, int32_t **end, levada_error *err)
{
    LEVADA_TRY(levada_require(begin != NULL, "begin", err));
    LEVADA_TRY(levada_require(end != NULL, "end", err));
    levada_level *l = NULL;
    uint8_t      *at = NULL;

    LEVADA_TRY(builder_level(b, field, level, n, &l, err));
    LEVADA_TRY(builder_piece(b, 2 * n * (int64_t)sizeof **begin, &at, &l->owner, err));
    *begin = (int32_t *)(void *)at;
    *end = *begin + n;
    l->begin = *begin;
    l->end = *end;
    return LEVADA_OK;
}

levada_status levada_builder_values(levada_builder *b, int32_t field, int64_t count, void **out,
                                    levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_builder_check(b, field, err));
    LEVADA_TRY(levada_require_range(count, 0, INT64_MAX, "count", err));
    levada_column *c = &b->block->columns[field];
    int64_t        size = levada_dtype_size(c->field->dtype);
    uint8_t       *at = NULL;

    if (size == 0) size = 1; /* bytes */
    if (count > LEVADA_BLOCK_LIMIT / size) count = LEVADA_BLOCK_LIMIT / size + 1;
    LEVADA_TRY(builder_piece(b, count * size, &at, &c->owner, err));
    c->values = at;
    *out = at;
    return LEVADA_OK;
}

levada_status levada_builder_encoded(levada_builder *b, int32_t field, const levada_encoded *how,
                                     int64_t n, const levada_buffer *owner,
                                     levada_encoded_item **out, levada_error *err)
{
    levada_column  *c = &b->block->columns[field];
    levada_encoded *e = levada_alloc_zero(sizeof *e);
    uint8_t        *at = NULL;
    levada_status   st;

    if (!e) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a column");
    atomic_init(&e->refs, 1);
    e->encoding = how->encoding;
    e->kernels = how->kernels;
    e->level = how->level;
    e->gap = how->gap;
    e->bytes_owner = owner ? levada_buffer_ref(owner) : NULL;
    st = builder_piece(b, n * (int64_t)sizeof **out, &at, &e->items_owner, err);
    if (st != LEVADA_OK) {
        levada_encoded_unref(&e);
        return st;
    }
    *out = (levada_encoded_item *)(void *)at;
    e->items = *out;
    levada_encoded_unref(&c->encoded);
    c->encoded = e;
    c->encoded_first = 0;
    return LEVADA_OK;
}

levada_status levada_builder_encoded_bytes(levada_builder *b, int32_t field, int64_t size,
                                           uint8_t **out, levada_error *err)
{
    return builder_piece(b, size, out, &b->block->columns[field].encoded->bytes_owner, err);
}

levada_status levada_builder_lengths(levada_builder *b, int32_t field, int32_t **out,
                                     levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_builder_check(b, field, err));
    levada_column *c = &b->block->columns[field];
    uint8_t       *at = NULL;

    LEVADA_TRY(builder_piece(b, b->rows * (int64_t)sizeof **out, &at, &c->lengths_owner,
                                    err));
    *out = (int32_t *)(void *)at;
    c->lengths = *out;
    return LEVADA_OK;
}

void levada_builder_share_values(levada_builder *b, int32_t field, const uint8_t *values,
                                 const levada_buffer *owner)
{
    if (!builder_has(b, field)) return;
    levada_column *c = &b->block->columns[field];

    levada_buffer_unref(&c->owner);
    c->values = values;
    c->owner = levada_buffer_ref(owner);
}

static levada_buffer *builder_ref(const levada_buffer *buffer)
{
    return buffer ? levada_buffer_ref(buffer) : NULL;
}

void levada_builder_share(levada_builder *b, int32_t field, const levada_column *column)
{
    if (!builder_has(b, field)) return;
    levada_column      *c = &b->block->columns[field];
    const levada_field *f = c->field;

    *c = *column;
    c->field = f;
    for (int32_t l = 0; l <= LEVADA_MAX_DEPTH; l++) {
        c->level[l].owner = builder_ref(column->level[l].owner);
    }
    c->owner = builder_ref(column->owner);
    c->lengths_owner = builder_ref(column->lengths_owner);
    c->encoded = levada_encoded_ref(column->encoded);
}

levada_status levada_builder_reject(levada_builder *b, int64_t row, const levada_error *why,
                                    levada_error *err)
{
    LEVADA_TRY(levada_require(b != NULL, "b", err));
    levada_block *block = b->block;

    LEVADA_TRY(levada_require_range(row, 0, (b->rows < 0 ? INT32_MAX : b->rows) - 1, "row", err));
    if (!levada_reserve(&block->rejects, &b->rejects_capacity, (int64_t)block->nrejects + 1,
                        sizeof *block->rejects)) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "out of memory while rejecting a record");
    }
    block->rejects[block->nrejects] = (levada_reject){ .row = row, .why = *why };
    /* Whatever somebody else's function says, it is an error, and one that a state can keep. */
    if (why->code >= LEVADA_OK || why->code < INT16_MIN) {
        block->rejects[block->nrejects].why.code = LEVADA_EUNKNOWN;
    }
    block->nrejects++;
    return LEVADA_OK;
}

/* A row whose origin is not given: the core numbers it. */
static const levada_origin builder_no_origin = { -1, 0, -1, 0, -1, -1 };

levada_status levada_builder_origin(levada_builder *b, int64_t row, int32_t file, int64_t record,
                                    int64_t offset, levada_error *err)
{
    LEVADA_TRY(levada_require(b != NULL, "b", err));
    LEVADA_TRY(levada_require_range(row, 0, (b->rows < 0 ? INT32_MAX : b->rows) - 1, "row", err));
    LEVADA_TRY(levada_require_range(file, 0, INT32_MAX, "file", err));
    LEVADA_TRY(levada_require_range(record, 0, LEVADA_COUNT_LIMIT, "record", err));
    LEVADA_TRY(levada_require_range(offset, -1, LEVADA_COUNT_LIMIT, "offset", err));
    if (!levada_reserve(&b->origins, &b->origins_capacity, row + 1, sizeof *b->origins)) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for origins");
    }
    while (b->norigins <= row) b->origins[b->norigins++] = builder_no_origin;
    b->origins[row].shard = file;
    b->origins[row].record = record;
    b->origins[row].offset = offset;
    return LEVADA_OK;
}

static levada_status builder_put_origins(levada_builder *b, levada_error *err)
{
    levada_origin *each[LEVADA_ORIGIN_PARTS];

    if (!b->origins || b->block->n == 0) return LEVADA_OK;
    LEVADA_TRY(levada_block_reserve_origins(b->pool, b->block, 1, each, err));
    for (int64_t i = 0; i < b->block->n; i++) {
        each[0][i] = i < b->norigins ? b->origins[i] : builder_no_origin;
    }
    return LEVADA_OK;
}

levada_status levada_builder_note(levada_builder *b, int64_t row, const char *what,
                                  levada_error *err)
{
    levada_error why = LEVADA_ERROR_INIT;

    (void)levada_fail(&why, LEVADA_EDATA_LOSS, "%s", what);
    LEVADA_TRY(levada_builder_reject(b, row, &why, err));
    b->block->rejects[b->block->nrejects - 1].loss.noted = true;
    return LEVADA_OK;
}

static levada_status builder_missing(const levada_column *c, levada_error *err)
{
    int32_t levels = c->field->depth + (levada_dtype_is_bytes(c->field->dtype) ? 1 : 0);

    for (int32_t l = 0; l < levels; l++) {
        if (!c->level[l].begin && c->n > 0) {
            return levada_fail(err, LEVADA_EINTERNAL,
                               "column '%s': level %d was not filled; call "
                               "levada_builder_offsets()", c->field->name, l);
        }
    }
    for (int32_t d = 0; d < c->field->ndim; d++) {
        if (c->dims[d] < 0) {
            return levada_fail(err, LEVADA_EINTERNAL,
                               "column '%s': dimension %d is not known; call levada_builder_dims()",
                               c->field->name, d);
        }
    }
    if (!c->values && !c->encoded && c->n > 0) {
        return levada_fail(err, LEVADA_EINTERNAL,
                           "column '%s' has no values; call levada_builder_values()",
                           c->field->name);
    }
    return LEVADA_OK;
}

levada_status levada_builder_publish(levada_builder **builder, levada_block **out,
                                     levada_error *err)
{
    LEVADA_TRY(levada_require(builder != NULL, "builder", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_builder *b = *builder;
    levada_status   st = levada_builder_flush_pushed(b, err);
    levada_block   *block = b->block;

    for (int32_t i = 0; st == LEVADA_OK && i < block->nrejects; i++) {
        st = levada_require_range(block->rejects[i].row, 0, block->n - 1, "row", err);
    }
    if (st == LEVADA_OK) st = builder_put_origins(b, err);
    for (int32_t i = 0; st == LEVADA_OK && i < levada_spec_count(block->spec); i++) {
        block->columns[i].n = block->n;
        block->encoded |= block->columns[i].encoded != NULL;
        st = builder_missing(&block->columns[i], err);
    }
    if (st == LEVADA_OK) {
        *out = block;
        for (int32_t i = 0; i < levada_spec_count(block->spec); i++) {
            for (int32_t p = 0; p < 3; p++) levada_free(b->push[i].part[p].data);
        }
        b->block = NULL;
    }
    levada_builder_destroy(builder);
    return st;
}
