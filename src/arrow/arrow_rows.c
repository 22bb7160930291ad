/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays whose blocks share their memory, and rows of several such arrays as one block. */
#include "arrow/arrow_import.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "registry/env_priv.h"
#include "tensor/block_priv.h"

#include <string.h>

/* It lives as long as `owner`, which blocks refer to. */
struct levada_arrow_rows {
    levada_buffer     *owner;
    levada_spec       *spec;
    struct ArrowSchema schema;
    struct ArrowArray  array;
    levada_arrow_from  from;
};

static void rows_free(void *user)
{
    levada_arrow_rows *rows = user;

    levada_spec_unref(&rows->spec);
    if (rows->schema.release) rows->schema.release(&rows->schema);
    if (rows->array.release) rows->array.release(&rows->array);
    levada_free(rows);
}

static levada_status rows_fill(levada_arrow_rows *rows, const levada_arrow_options *options,
                               levada_error *err)
{
    levada_arrow_options all;

    LEVADA_TRY(levada_require(rows->schema.release != NULL, "schema", err));
    LEVADA_TRY(levada_require(rows->array.release != NULL, "array", err));
    LEVADA_TRY(levada_arrow_read(options, &all, err));
    LEVADA_TRY(levada_arrow_import_spec(&rows->schema, &all, &rows->spec, err));
    LEVADA_TRY(levada_buffer_wrap(NULL, 0, rows_free, rows, &rows->owner, err));
    rows->owner->flags |= LEVADA_BUFFER_READONLY;
    rows->from = (levada_arrow_from){ .spec = rows->spec,
                                      .schema = &rows->schema,
                                      .array = &rows->array,
                                      .nulls = all.nulls,
                                      .owner = rows->owner,
                                      .readable = all.readable,
                                      .readable_size = all.readable_size };
    return LEVADA_OK;
}

levada_status levada_arrow_hold(struct ArrowSchema *schema, struct ArrowArray *array,
                                const levada_arrow_options *options, levada_arrow_rows **out,
                                levada_error *err)
{
    LEVADA_TRY(levada_require(schema != NULL, "schema", err));
    LEVADA_TRY(levada_require(array != NULL, "array", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_arrow_rows *rows = levada_alloc_zero(sizeof *rows);
    levada_status      st;

    if (!rows) {
        if (schema->release) schema->release(schema);
        if (array->release) array->release(array);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an Arrow array");
    }
    rows->schema = *schema;
    rows->array = *array;
    schema->release = NULL;
    array->release = NULL;
    st = rows_fill(rows, options, err);
    if (st == LEVADA_OK) *out = rows;
    else rows_free(rows);
    return st;
}

void levada_arrow_rows_unref(levada_arrow_rows **rows)
{
    levada_buffer *owner = rows && *rows ? (*rows)->owner : NULL;

    if (rows) *rows = NULL;
    levada_buffer_unref(&owner);
}

/* -- rows of several arrays */

typedef struct rows_pick {
    levada_pool   *pool;
    levada_block **parts;  /* of each array; then of those that have rows */
    int64_t       *counts; /* rows of each array, and later where the rows of the next begin */
    int64_t       *rows;   /* by array */
    uint32_t      *part;   /* number of each array among those that have rows */
    levada_buffer *index;  /* part and row of each record */
} rows_pick;

static void rows_pick_clear(rows_pick *p, int32_t count)
{
    for (int32_t i = 0; p->parts && i < count; i++) levada_block_unref(&p->parts[i]);
    levada_free(p->parts);
    levada_free(p->counts);
    levada_free(p->rows);
    levada_free(p->part);
    levada_buffer_unref(&p->index);
}

static levada_status rows_of(levada_pool *pool, const levada_arrow_rows *from, const int64_t *rows,
                             int64_t n, levada_block **out, levada_error *err)
{
    int64_t first = n ? rows[0] : 0, i = 0;

    while (i < n && rows[i] == first + i) i++;
    return levada_arrow_import_rows(pool, &from->from, first, i == n ? NULL : rows, n, out, err);
}

static levada_status rows_pick_reserve(rows_pick *p, int32_t count, int64_t n, levada_error *err)
{
    p->parts = levada_alloc_zero((size_t)count * sizeof *p->parts);
    p->counts = levada_alloc_zero(((size_t)count + 1) * sizeof *p->counts);
    p->rows = levada_alloc(((size_t)n + 1) * sizeof *p->rows);
    p->part = levada_alloc((size_t)count * sizeof *p->part);
    if (!p->parts || !p->counts || !p->rows || !p->part)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for rows of Arrow");
    return levada_buffer_create(p->pool, 2 * n * (int64_t)sizeof(uint32_t), &p->index, err);
}

/* Sorts the rows by array; the index gets the place of each among those of its array. */
static void rows_pick_sort(rows_pick *p, const int32_t *which, const int64_t *rows, int32_t count,
                           int64_t n)
{
    uint32_t *row = (uint32_t *)(void *)p->index->data + n;

    for (int64_t i = 0; i < n; i++) row[i] = (uint32_t)p->counts[which[i] + 1]++;
    for (int32_t k = 0; k < count; k++) p->counts[k + 1] += p->counts[k];
    for (int64_t i = 0; i < n; i++) p->rows[p->counts[which[i]] + row[i]] = rows[i];
}

static levada_status rows_pick_parts(rows_pick *p, levada_arrow_rows *const *from, int32_t count,
                                     int32_t *nparts, levada_error *err)
{
    for (int32_t k = 0; k < count; k++) {
        int64_t first = p->counts[k], n = p->counts[k + 1] - first;

        if (n == 0) continue;
        p->part[k] = (uint32_t)*nparts;
        LEVADA_TRY(rows_of(p->pool, from[k], p->rows + first, n, &p->parts[*nparts], err));
        ++*nparts;
    }
    return LEVADA_OK;
}

static levada_status rows_pick_join(rows_pick *p, const int32_t *which, int64_t n, int32_t nparts,
                                    levada_block **out, levada_error *err)
{
    uint32_t     *to = (void *)p->index->data;
    levada_block *joined = NULL;
    levada_status st;

    for (int64_t i = 0; i < n; i++) to[i] = p->part[which[i]];
    LEVADA_TRY(levada_block_selection(p->parts, nparts, to, to + n, n, &p->index, &joined, err));
    memset(p->parts, 0, (size_t)nparts * sizeof *p->parts); /* they are the selection's */
    st = levada_block_gather(p->pool, joined, out, err);
    levada_block_unref(&joined);
    return st;
}

static levada_status rows_pick_check(levada_arrow_rows *const *from, int32_t count,
                                     const int32_t *which, const int64_t *rows, int64_t n,
                                     levada_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        int32_t k = which ? which[i] : 0;

        if (k < 0 || k >= count)
            return levada_fail(err, LEVADA_EOUT_OF_RANGE, "row %lld is of array %d, of %d arrays",
                               (long long)i, (int)k, (int)count);
        if (rows[i] < 0 || rows[i] >= from[k]->array.length)
            return levada_fail(err, LEVADA_EOUT_OF_RANGE, "array %d has %lld rows, and no row %lld",
                               (int)k, (long long)from[k]->array.length, (long long)rows[i]);
    }
    return LEVADA_OK;
}

levada_status levada_arrow_pick(levada_env *env, levada_arrow_rows *const *from, int32_t count,
                                const int32_t *which, const int64_t *rows, int64_t n,
                                levada_block **out, levada_error *err)
{
    LEVADA_TRY(levada_require(from != NULL, "from", err));
    LEVADA_TRY(levada_require_range(count, 1, INT32_MAX, "count", err));
    LEVADA_TRY(levada_require(rows != NULL || n == 0, "rows", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require_range(n, 0, INT32_MAX, "n", err));
    LEVADA_TRY(rows_pick_check(from, count, which, rows, n, err));
    rows_pick     p = { .pool = levada_env_pool(env) };
    int32_t       nparts = 0;
    levada_status st;

    if (!p.pool) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    if (count == 1 || !which || n == 0) return rows_of(p.pool, from[0], rows, n, out, err);
    st = rows_pick_reserve(&p, count, n, err);
    if (st == LEVADA_OK) {
        rows_pick_sort(&p, which, rows, count, n);
        st = rows_pick_parts(&p, from, count, &nparts, err);
    }
    if (st == LEVADA_OK) st = rows_pick_join(&p, which, n, nparts, out, err);
    rows_pick_clear(&p, count);
    return st;
}
