/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Origins of the rows of blocks, origin part by origin part: runs stay runs where rows stay in
 * order.
 */
#include "base/random.h"
#include "tensor/block_priv.h"

#include <string.h>

static const levada_origin origins_none = { .source = -1, .record = -1, .offset = -1 };

/* Writes an origin where it belongs: a copy of a struct whose fields were just written would wait
 * for them. */
static void origins_read(const levada_origins *o, int64_t row, levada_origin *to)
{
    if (o->each) {
        *to = o->each[row];
        return;
    }
    *to = o->first;
    to->record += row;
    if (o->begin) to->offset += (int64_t)o->begin[row] - o->begin[0];
}

static levada_origin origins_at(const levada_origins *o, int64_t row)
{
    levada_origin origin;

    origins_read(o, row, &origin);
    return origin;
}

levada_origin levada_block_origin(const levada_block *block, int64_t row)
{
    if (!block || row < 0 || row >= block->n) return origins_none;
    int64_t             at;
    const levada_block *data = levada_block_row(block, row, &at);

    return origins_at(&data->origins, at);
}

uint64_t levada_draw_key(const levada_context *context, int64_t seed)
{
    return levada_random_key(seed == LEVADA_NULL_INT ? context->seed : (uint64_t)seed,
                             (uint64_t)context->epoch);
}

uint64_t levada_block_row_key(const levada_block *block, int64_t row, uint64_t key)
{
    levada_origin o = levada_block_origin(block, row);

    key = levada_random_key(key, (uint64_t)(uint32_t)o.source << 32 | (uint32_t)o.pass);
    key = levada_random_key(key, (uint64_t)(uint32_t)o.shard << 32 | (uint32_t)o.sub);
    return levada_random_key(key, (uint64_t)o.record);
}

int32_t levada_block_origin_parts(const levada_block *block)
{
    if (!block) return 0;
    int32_t more = block->nmore;

    for (int32_t i = 0; i < block->nfrom; i++) {
        if (block->from[i]->nmore > more) more = block->from[i]->nmore;
    }
    return 1 + more;
}

levada_origin levada_block_origin_part(const levada_block *block, int64_t row, int32_t part)
{
    if (!block || row < 0 || row >= block->n) return origins_none;
    int64_t             at;
    const levada_block *data = levada_block_row(block, row, &at);

    if (part == 0) return origins_at(&data->origins, at);
    return part > 0 && part <= data->nmore ? origins_at(&data->more[part - 1], at)
                                          : origins_none;
}

void levada_block_drop_origin_parts(levada_block *block)
{
    for (int32_t i = 0; i < block->nmore; i++) levada_buffer_unref(&block->more[i].owner);
    block->nmore = 0;
}

/* Clears one origin part with nothing in it. */
static void origins_clear(levada_block *block)
{
    levada_block_drop_origin_parts(block);
    levada_buffer_unref(&block->origins.owner);
    memset(&block->origins, 0, sizeof block->origins);
    block->origins.first.offset = -1;
}

/* Shares an origin part as it is, from row `first` on. */
static levada_origins origins_share(const levada_origins *from, int64_t first)
{
    levada_origins o = *from;

    if (o.owner) o.owner = levada_buffer_ref(o.owner);
    if (first == 0) return o; /* there may be no row */
    if (o.each) {
        o.each += first;
    } else {
        o.first = origins_at(from, first);
        if (o.begin) o.begin += first;
    }
    return o;
}

void levada_block_slice_origins(levada_block *to, const levada_block *from, int64_t first)
{
    to->origins = origins_share(&from->origins, first);
    to->nmore = from->nmore;
    for (int32_t i = 0; i < from->nmore; i++) to->more[i] = origins_share(&from->more[i], first);
}

void levada_block_join_origins(levada_block *to, const levada_block *from)
{
    for (int32_t i = 0; i <= from->nmore && to->nmore < LEVADA_ORIGIN_PARTS - 1; i++) {
        to->more[to->nmore++] = origins_share(i ? &from->more[i - 1] : &from->origins, 0);
    }
}

/* Reserves an array of n origins in place of an origin part that has none. */
static levada_status origins_reserve(levada_pool *pool, levada_origins *part, int64_t n,
                                  levada_origin **out, levada_error *err)
{
    LEVADA_TRY(levada_buffer_create(pool, n * (int64_t)sizeof **out, &part->owner, err));
    *out = (levada_origin *)(void *)part->owner->data;
    part->each = *out;
    return LEVADA_OK;
}

static levada_status origins_add_part(levada_pool *pool, levada_block *to,
                                      const levada_block *from, levada_error *err)
{
    int32_t        part = to->nmore + 1;
    levada_origin *each = NULL;

    memset(&to->more[to->nmore], 0, sizeof to->more[0]);
    LEVADA_TRY(origins_reserve(pool, &to->more[to->nmore], from->n, &each, err));
    to->nmore++;
    for (int64_t i = 0; i < from->n; i++) each[i] = levada_block_origin_part(from, i, part);
    return LEVADA_OK;
}

levada_status levada_block_copy_origins(levada_pool *pool, levada_block *to,
                                        const levada_block *from, levada_error *err)
{
    levada_origin *each = NULL;
    int32_t        nparts;

    origins_clear(to);
    if (from->kind == LEVADA_BLOCK_DATA) {
        levada_block_slice_origins(to, from, 0);
        return LEVADA_OK;
    }
    nparts = levada_block_origin_parts(from);
    LEVADA_TRY(origins_reserve(pool, &to->origins, from->n, &each, err));
    for (int64_t i = 0; i < from->n; i++) {
        int64_t             at;
        const levada_block *data = levada_block_row(from, i, &at);

        origins_read(&data->origins, at, &each[i]);
    }
    for (int32_t i = 1; i < nparts; i++) LEVADA_TRY(origins_add_part(pool, to, from, err));
    return LEVADA_OK;
}

void levada_block_get_origins(const levada_block *block, int32_t nparts, levada_origin *to)
{
    for (int64_t i = 0; i < block->n; i++) to[i * nparts] = levada_block_origin(block, i);
    for (int32_t part = 1; part < nparts; part++) {
        for (int64_t i = 0; i < block->n; i++) {
            to[i * nparts + part] = levada_block_origin_part(block, i, part);
        }
    }
}

levada_status levada_block_reserve_origins(levada_pool *pool, levada_block *block, int32_t nparts,
                                        levada_origin *each[LEVADA_ORIGIN_PARTS], levada_error *err)
{
    origins_clear(block);
    for (int32_t part = 0; part < nparts; part++) {
        levada_origins *o = part ? &block->more[part - 1] : &block->origins;

        memset(o, 0, sizeof *o);
        LEVADA_TRY(origins_reserve(pool, o, block->n, &each[part], err));
        block->nmore = part;
    }
    return LEVADA_OK;
}

levada_status levada_block_put_origins(levada_pool *pool, levada_block *block,
                                       const levada_origin *from, int32_t nparts, levada_error *err)
{
    levada_origin *each[LEVADA_ORIGIN_PARTS];

    LEVADA_TRY(levada_block_reserve_origins(pool, block, nparts, each, err));
    for (int32_t part = 0; part < nparts; part++) {
        for (int64_t i = 0; i < block->n; i++) each[part][i] = from[i * nparts + part];
    }
    return LEVADA_OK;
}
