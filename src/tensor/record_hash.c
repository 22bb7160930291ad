/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/record_hash.h"

#include "base/hash.h"

#include <string.h>

static bool hash_floating(levada_dtype dtype)
{
    return dtype >= LEVADA_FLOAT16 && dtype <= LEVADA_COMPLEX128;
}

/* Hashes n innermost values of a column, from number `first` on. */
static uint64_t hash_values(const levada_column *c, int64_t first, int64_t n, uint64_t hash)
{
    int64_t inner = levada_column_inner(c), size = levada_dtype_size(c->field->dtype);

    if (!levada_dtype_is_bytes(c->field->dtype)) {
        return levada_hash64(c->values + first * inner * size, (size_t)(n * inner * size), hash);
    }
    for (int64_t i = first * inner; i < (first + n) * inner; i++) {
        const levada_level *l = &c->level[c->field->depth];

        hash = levada_hash64(c->values + l->begin[i], (size_t)(l->end[i] - l->begin[i]), hash);
    }
    return hash;
}

/* Hashes row `row` of a level: how many it covers, and these. */
static uint64_t hash_row(const levada_column *c, int32_t level, int64_t row, uint64_t hash)
{
    int64_t begin, end, n;

    if (level == c->field->depth) return hash_values(c, row, 1, hash);
    begin = c->level[level].begin[row];
    end = c->level[level].end[row];
    n = end - begin;
    hash = levada_hash64(&n, sizeof n, hash);
    if (level + 1 == c->field->depth) return hash_values(c, begin, n, hash);
    for (int64_t i = begin; i < end; i++) hash = hash_row(c, level + 1, i, hash);
    return hash;
}

uint64_t levada_record_hash(const levada_block *block, int64_t i, bool exact)
{
    bool                chosen = block->kind == LEVADA_BLOCK_SELECTION;
    const levada_block *data = chosen ? block->from[block->which[i]] : block;
    int64_t             row = chosen ? block->row[i] : i;
    uint64_t            hash = 0;

    for (int32_t f = 0; f < levada_spec_count(data->spec); f++) {
        const levada_column *c = &data->columns[f];

        if (!c->encoded && (exact || !hash_floating(c->field->dtype)))
            hash = hash_row(c, 0, row, hash);
        if (c->lengths) hash = levada_hash64(&c->lengths[row], sizeof c->lengths[row], hash);
    }
    return hash;
}

/* -- a block */

/* Returns the bytes of the values of record i. */
static int64_t hash_size(const levada_block *block, int64_t i)
{
    bool                chosen = block->kind == LEVADA_BLOCK_SELECTION;
    const levada_block *data = chosen ? block->from[block->which[i]] : block;
    int64_t             row = chosen ? block->row[i] : i, bytes = 0;

    for (int32_t f = 0; f < levada_spec_count(data->spec); f++) {
        const levada_column *c = &data->columns[f];
        int64_t              begin = row, end = row + 1, inner = levada_column_inner(c);
        int32_t              depth = c->field->depth;

        for (int32_t l = 0; l < depth && end > begin; l++) {
            end = c->level[l].end[end - 1];
            begin = c->level[l].begin[begin];
        }
        if (!levada_dtype_is_bytes(c->field->dtype))
            bytes += (end - begin) * inner * levada_dtype_size(c->field->dtype);
        else if (end > begin)
            bytes += c->level[depth].end[end * inner - 1] - c->level[depth].begin[begin * inner];
    }
    return bytes;
}

/* Returns how many records are hashed, of which a few say how large they are. */
static int64_t hash_count(const levada_block *block)
{
    int64_t n = block->n < LEVADA_HASHED_RECORDS ? block->n : LEVADA_HASHED_RECORDS;
    int64_t few = n < 64 ? n : 64, bytes = 0, most;

    for (int64_t k = 0; k < few; k++) bytes += hash_size(block, k * block->n / few);
    if (bytes <= 0) return n;
    most = LEVADA_HASHED_BYTES / bytes * few;
    most = most < few ? few : most;
    return n < most ? n : most;
}

uint64_t levada_columns_hash(const levada_block *block)
{
    uint64_t hash = levada_hash64(&block->n, sizeof block->n, 0);

    for (int32_t f = 0; f < levada_spec_count(block->spec); f++) {
        const levada_field *field = levada_spec_field(block->spec, f);
        int64_t             kind[3] = { field->dtype, field->depth, field->ndim };

        hash = levada_hash64(field->name, strlen(field->name), hash);
        hash = levada_hash64(kind, sizeof kind, hash);
        hash = levada_hash64(field->dims, sizeof field->dims[0] * field->ndim, hash);
    }
    return hash;
}

uint64_t levada_records_hash(const levada_block *block)
{
    int64_t  n = hash_count(block);
    uint64_t hash = levada_columns_hash(block);

    for (int64_t k = 0; k < n; k++) {
        uint64_t record = levada_record_hash(block, k * block->n / n, true);

        hash = levada_hash64(&record, sizeof record, hash);
    }
    return hash;
}
