/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/collecting.h"

#include "base/alloc.h"
#include "description/columns.h"
#include "tensor/builder_priv.h"
#include <levada/stage.h>

#include <string.h>

static bool collecting_is_key(const char *key, const levada_field *f)
{
    return key && strcmp(key, f->name) == 0;
}

static levada_status collecting_deepen(levada_field *f, levada_error *err)
{
    if (f->padded) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' is padded; collect batches without padding, such as those "
                           "of batch",
                           f->name);
    }
    if (f->depth == LEVADA_MAX_DEPTH) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' has %d ragged levels, which is the maximum, and collecting "
                           "adds one; drop the field with select", f->name, f->depth);
    }
    f->depth++;
    memmove(f->object + 1, f->object, sizeof f->object - 1);
    f->object[0] = 0;
    return LEVADA_OK;
}

levada_status levada_collecting_spec(const levada_spec *in, const char *key, levada_spec **out,
                                     levada_error *err)
{
    int32_t       n = levada_spec_count(in), flags = levada_spec_flags_of(in);
    levada_field *fields = levada_spec_copy_fields(in);
    levada_status st = LEVADA_OK;

    if (!fields) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    for (int32_t i = 0; st == LEVADA_OK && i < n; i++) {
        if (!collecting_is_key(key, &fields[i])) st = collecting_deepen(&fields[i], err);
    }
    if (st == LEVADA_OK) {
        st = levada_spec_create(fields, n, flags & ~LEVADA_SPEC_BATCHED, out, err);
    }
    levada_free(fields);
    return st;
}

/* Shares the column, and puts a level on top of those that it has. */
static levada_status collecting_column(levada_builder *b, int32_t i, const levada_column *from,
                                       const int32_t *ends, int64_t n, levada_error *err)
{
    levada_column *c = &b->block->columns[i];
    int32_t       *begin = NULL, *end = NULL;

    levada_builder_share(b, i, from);
    c->n = n;
    memmove(c->level + 1, c->level, LEVADA_MAX_DEPTH * sizeof c->level[0]);
    memset(&c->level[0], 0, sizeof c->level[0]);
    LEVADA_TRY(levada_builder_ranges(b, i, 0, n, &begin, &end, err));
    for (int64_t k = 0; k < n; k++) {
        begin[k] = k ? ends[k - 1] : 0;
        end[k] = ends[k];
    }
    return LEVADA_OK;
}

/* Makes the key column: its value in the first row of each group. */
static levada_status collecting_key(levada_pool *pool, levada_builder *b, int32_t i,
                                    const levada_block *in, const int32_t *first, int64_t n,
                                    levada_error *err)
{
    levada_spec  *spec = NULL;
    levada_block *key = NULL, *rows = NULL, *flat = NULL;
    levada_status st;

    st = levada_spec_create(levada_spec_field(in->spec, i), 1, LEVADA_SPEC_PLAIN, &spec, err);
    if (st == LEVADA_OK) st = levada_columns_pick(pool, in, spec, &i, &key, err);
    if (st == LEVADA_OK) st = levada_block_select(key, first, n, &rows, err);
    if (st == LEVADA_OK) st = levada_block_gather(pool, rows, &flat, err);
    if (st == LEVADA_OK) levada_builder_share(b, i, &flat->columns[0]);
    levada_block_unref(&flat);
    levada_block_unref(&rows);
    levada_block_unref(&key);
    levada_spec_unref(&spec);
    return st;
}

static levada_status collecting_origins(levada_pool *pool, const levada_block *in,
                                        const int32_t *first, levada_block *made,
                                        levada_error *err)
{
    int32_t        nparts = levada_block_origin_parts(in);
    levada_origin *each[LEVADA_ORIGIN_PARTS];

    LEVADA_TRY(levada_block_reserve_origins(pool, made, nparts, each, err));
    for (int32_t part = 0; part < nparts; part++) {
        for (int64_t k = 0; k < made->n; k++) {
            each[part][k] = levada_block_origin_part(in, first[k], part);
        }
    }
    return LEVADA_OK;
}

levada_status levada_collecting_block(levada_pool *pool, const levada_spec *spec, const char *key,
                                      const levada_block *in, const int32_t *ends, int64_t n,
                                      levada_block **out, levada_error *err)
{
    int32_t        *first = levada_alloc((size_t)n * sizeof *first + 1);
    levada_builder *b = NULL;
    levada_block   *made = NULL;
    levada_status   st;

    if (!first) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for collected records");
    }
    for (int64_t k = 0; k < n; k++) first[k] = k ? ends[k - 1] : 0;
    st = levada_builder_make(pool, spec, n, &b, err);
    for (int32_t i = 0; st == LEVADA_OK && i < levada_spec_count(spec); i++) {
        st = collecting_is_key(key, levada_spec_field(spec, i))
                 ? collecting_key(pool, b, i, in, first, n, err)
                 : collecting_column(b, i, &in->columns[i], ends, n, err);
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, &made, err);
    if (st == LEVADA_OK) st = collecting_origins(pool, in, first, made, err);
    if (st == LEVADA_OK) {
        made->bytes += in->bytes;
        *out = made;
        made = NULL;
    }
    levada_block_unref(&made);
    levada_builder_destroy(&b);
    levada_free(first);
    return st;
}
