/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records in a state: their origins, or where they cannot be read again, their values.
 */
#include "base/alloc.h"
#include "base/text.h"
#include "state/damaged.h"
#include "state/file_names.h"
#include "tensor/builder_priv.h"

#include <stdio.h>
#include <string.h>

#define ROWS_ORIGIN_PARTS 6

static void rows_part_key(char *to, size_t size, const char *key, int32_t part)
{
    if (part) snprintf(to, size, "%s+%d", key, (int)part);
    else snprintf(to, size, "%s", key);
}

/* Puts origins column by column, so that the differences of each part are small. */
levada_status levada_origins_put(levada_state_writer *to, const char *key, const levada_origin *o,
                                 int64_t n, int32_t nparts, levada_error *err)
{
    int64_t      *parts = levada_alloc((size_t)n * ROWS_ORIGIN_PARTS * sizeof *parts + 1);
    char          name[LEVADA_STATE_NAME];
    levada_status st = LEVADA_OK;

    if (!parts) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                   "out of memory for a checkpoint");
    for (int32_t part = 0; st == LEVADA_OK && part < nparts; part++) {
        for (int64_t i = 0, k = part; i < n; i++, k += nparts) {
            parts[i] = o[k].source;
            parts[n + i] = o[k].pass;
            parts[2 * n + i] = o[k].shard;
            parts[3 * n + i] = o[k].sub;
            parts[4 * n + i] = o[k].record;
            parts[5 * n + i] = o[k].offset;
        }
        rows_part_key(name, sizeof name, key, part);
        st = levada_state_put_i64s(to, name, parts, n * ROWS_ORIGIN_PARTS, err);
    }
    levada_free(parts);
    return st;
}

/* Returns true if the parts of n origins are numbers that origins can have: leaves from `leaf` on.
 * */
static bool rows_are_origins(const int64_t *parts, int64_t n, int64_t source)
{
    for (int64_t i = 0; i < n; i++) {
        if (parts[i] < source || parts[i] > INT32_MAX) return false;
    }
    for (int64_t i = n; i < 4 * n; i++) {
        if (parts[i] < 0 || parts[i] > INT32_MAX) return false;
    }
    for (int64_t i = 4 * n; i < ROWS_ORIGIN_PARTS * n; i++) {
        if (parts[i] < -1 || parts[i] > LEVADA_COUNT_LIMIT) return false;
    }
    return true;
}

/* Reads the numbers of origin part `part`, which is under `key`, of *n rows; the first origin part
 * determines how many. */
static levada_status rows_get_part(levada_state_reader *from, const char *key, int32_t part,
                                   const int64_t **parts, int64_t *n, levada_error *err)
{
    int64_t count = 0;
    char    name[LEVADA_STATE_NAME];

    rows_part_key(name, sizeof name, key, part);
    LEVADA_TRY(levada_state_get_i64s(from, name, parts, &count, err));
    if (part == 0) *n = count / ROWS_ORIGIN_PARTS;
    if (count != *n * ROWS_ORIGIN_PARTS || !rows_are_origins(*parts, *n, part ? -1 : 0)) {
        return levada_state_damaged(from, name, err, "not the origins of %lld records",
                                    (long long)*n);
    }
    return LEVADA_OK;
}

/* Returns how many origin parts are saved under `key`. */
static int32_t rows_count_parts(const levada_state_reader *from, const char *key)
{
    int32_t nparts = 1;
    char    name[LEVADA_STATE_NAME];

    for (; nparts < LEVADA_ORIGIN_PARTS; nparts++) {
        rows_part_key(name, sizeof name, key, nparts);
        if (!levada_state_has(from, name)) break;
    }
    return nparts;
}

levada_status levada_origins_get(levada_state_reader *from, const char *key, levada_origin **out,
                                 int64_t *n_out, int32_t *nparts_out, levada_error *err)
{
    const int64_t *parts = NULL;
    int64_t        n = 0;
    int32_t        nparts = rows_count_parts(from, key);
    levada_origin *o;
    levada_status  st;

    LEVADA_TRY(rows_get_part(from, key, 0, &parts, &n, err));
    o = levada_alloc((size_t)n * (size_t)nparts * sizeof *o + 1);
    if (!o) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a checkpoint");
    for (int32_t part = 0; part < nparts; part++) {
        st = rows_get_part(from, key, part, &parts, &n, err);
        if (st != LEVADA_OK) {
            levada_free(o);
            return st;
        }
        for (int64_t i = 0, k = part; i < n; i++, k += nparts) {
            o[k].source = (int32_t)parts[i];
            o[k].pass = (int32_t)parts[n + i];
            o[k].shard = (int32_t)parts[2 * n + i];
            o[k].sub = (int32_t)parts[3 * n + i];
            o[k].record = parts[4 * n + i];
            o[k].offset = parts[5 * n + i];
        }
    }
    *out = o;
    *n_out = n;
    *nparts_out = nparts;
    return LEVADA_OK;
}

/* -- values */

static int32_t rows_levels(const levada_field *f)
{
    return f->depth + (levada_dtype_is_bytes(f->dtype) ? 1 : 0);
}

/* Returns the number of rows of level l of a gathered column: offsets are packed and begin at 0. */
static int64_t rows_count(const levada_column *c, int32_t l)
{
    int64_t n = c->n;

    for (int32_t k = 0; k < l; k++) n = n ? c->level[k].end[n - 1] : 0;
    if (levada_dtype_is_bytes(c->field->dtype) && l == c->field->depth) n *= levada_column_inner(c);
    return n;
}

/* Elements (bytes of byte strings) of the values. */
static int64_t rows_values(const levada_column *c)
{
    int32_t levels = rows_levels(c->field);
    int64_t n = rows_count(c, levels);

    if (!levada_dtype_is_bytes(c->field->dtype)) return n * levada_column_inner(c);
    n = rows_count(c, levels - 1);
    return n ? c->level[levels - 1].end[n - 1] : 0;
}

/* -- columns: saved where the description does not know them */

#define ROWS_FIELD_PARTS (6 + LEVADA_MAX_DIMS)

static void rows_field_parts(const levada_field *f, int64_t *to)
{
    to[0] = f->dtype;
    to[1] = f->depth;
    to[2] = f->ndim;
    to[3] = f->padded + 2 * f->left;
    for (int32_t l = 0; l < LEVADA_MAX_DEPTH; l++)
        to[3] += (int64_t)f->object[l] << (8 + 8 * l);
    memcpy(to + 4, f->pad, sizeof f->pad); /* two of them */
    memcpy(to + 6, f->dims, sizeof f->dims);
}

static levada_status rows_put_spec(levada_state_writer *to, const char *key,
                                   const levada_spec *spec, levada_error *err)
{
    int32_t       n = levada_spec_count(spec);
    int64_t      *parts = levada_alloc((size_t)n * ROWS_FIELD_PARTS * sizeof *parts + 1);
    levada_text   names = { 0 };
    char          name[LEVADA_STATE_NAME];
    levada_status st = LEVADA_OK;

    for (int32_t i = 0; parts && i < n; i++) {
        const levada_field *f = levada_spec_field(spec, i);

        rows_field_parts(f, parts + i * ROWS_FIELD_PARTS);
        levada_text_add(&names, f->name, strlen(f->name) + 1);
    }
    if (!parts || names.failed) {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a checkpoint");
    }
    snprintf(name, sizeof name, "%s.fields", key);
    if (st == LEVADA_OK) {
        st = levada_state_put_i64s(to, name, parts, (int64_t)n * ROWS_FIELD_PARTS, err);
    }
    snprintf(name, sizeof name, "%s.names", key);
    if (st == LEVADA_OK) st = levada_state_put_bytes(to, name, names.at, names.size, err);
    levada_text_clear(&names);
    levada_free(parts);
    return st;
}

static bool rows_read_field(const int64_t *parts, const char **names, const char *end,
                            levada_field *f)
{
    const char *stop = *names < end ? memchr(*names, 0, (size_t)(end - *names)) : NULL;

    if (!stop || parts[0] < LEVADA_BOOL || parts[0] > LEVADA_TEXT || parts[1] < 0 ||
        parts[1] > LEVADA_MAX_DEPTH || parts[2] < 0 || parts[2] > LEVADA_MAX_DIMS) {
        return false;
    }
    f->name = *names;
    f->dtype = (levada_dtype)parts[0];
    f->depth = (uint8_t)parts[1];
    f->ndim = (uint8_t)parts[2];
    f->padded = parts[3] & 1;
    f->left = parts[3] >> 1 & 1;
    for (int32_t l = 0; l < LEVADA_MAX_DEPTH; l++)
        f->object[l] = (uint8_t)((uint64_t)parts[3] >> (8 + 8 * l) & 0xff);
    memcpy(f->pad, parts + 4, sizeof f->pad);
    memcpy(f->dims, parts + 6, sizeof f->dims);
    *names = stop + 1;
    for (int64_t d = 0; d < parts[2]; d++) {
        if (f->dims[d] < -1) return false;
    }
    return true;
}

/* Reads the columns that were saved, or those of `declared`. */
static levada_status rows_get_spec(levada_state_reader *from, const char *key,
                                   const levada_spec *declared, levada_spec **out,
                                   levada_error *err)
{
    const int64_t *parts = NULL;
    const void    *names = NULL;
    int64_t        n = 0, i = 0;
    const char    *at, *end;
    size_t         size = 0;
    levada_field  *fields;
    levada_status  st;
    char           name[LEVADA_STATE_NAME];

    snprintf(name, sizeof name, "%s.fields", key);
    if (!levada_state_has(from, name)) {
        *out = levada_spec_ref(declared);
        return LEVADA_OK;
    }
    if (!(levada_spec_flags_of(declared) & LEVADA_SPEC_OPEN)) {
        return levada_state_damaged(from, name, err, "columns that the pipeline declares already");
    }
    LEVADA_TRY(levada_state_get_i64s(from, name, &parts, &n, err));
    snprintf(name, sizeof name, "%s.names", key);
    LEVADA_TRY(levada_state_get_bytes(from, name, &names, &size, err));
    if (n % ROWS_FIELD_PARTS) {
        return levada_state_damaged(from, name, err, "%lld numbers of fields, not %d for each",
                                    (long long)n, ROWS_FIELD_PARTS);
    }
    n /= ROWS_FIELD_PARTS;
    fields = levada_alloc_zero((size_t)n * sizeof *fields + 1);
    if (!fields) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                    "out of memory for a checkpoint");
    end = (const char *)names + size;
    for (at = names; i < n; i++) {
        if (!rows_read_field(parts + i * ROWS_FIELD_PARTS, &at, end, &fields[i])) break;
    }
    st = i < n || at != end
             ? levada_state_damaged(from, name, err, "names of %lld columns that no spec can have",
                                    (long long)n)
             : levada_spec_create(fields, (int32_t)n,
                                  levada_spec_flags_of(declared) & ~LEVADA_SPEC_OPEN, out, err);
    levada_free(fields);
    if (st != LEVADA_EINVALID_ARGUMENT) return st;
    return levada_state_damaged(from, name, err, "two columns have the same name");
}

static levada_status rows_put_level(levada_state_writer *to, const char *key,
                                    const levada_column *c, int32_t l, levada_error *err)
{
    int64_t       n = rows_count(c, l);
    int64_t      *ends = levada_alloc((size_t)n * sizeof *ends + 1);
    levada_status st;

    if (!ends) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                  "out of memory for a checkpoint");
    for (int64_t i = 0; i < n; i++) ends[i] = c->level[l].end[i];
    st = levada_state_put_i64s(to, key, ends, n, err);
    levada_free(ends);
    return st;
}

static levada_status rows_put_column(levada_state_writer *to, const char *key, int32_t i,
                                     const levada_column *c, levada_error *err)
{
    int64_t size = levada_dtype_is_bytes(c->field->dtype) ? 1 : levada_dtype_size(c->field->dtype);
    char    name[LEVADA_STATE_NAME];

    snprintf(name, sizeof name, "%s.%d.dims", key, i);
    LEVADA_TRY(levada_state_put_i64s(to, name, c->dims, c->field->ndim, err));
    for (int32_t l = 0; l < rows_levels(c->field); l++) {
        snprintf(name, sizeof name, "%s.%d.%d", key, i, l);
        LEVADA_TRY(rows_put_level(to, name, c, l, err));
    }
    if (c->lengths) {
        snprintf(name, sizeof name, "%s.%d.len", key, i);
        LEVADA_TRY(levada_state_put_bytes(to, name, c->lengths, (size_t)c->n * sizeof *c->lengths,
                                          err));
    }
    snprintf(name, sizeof name, "%s.%d.values", key, i);
    return levada_state_put_bytes(to, name, c->values, (size_t)(rows_values(c) * size), err);
}

levada_status levada_rows_put(levada_state_writer *to, const char *key, const levada_block *block,
                              bool columns, struct levada_file_names *names, levada_error *err)
{
    int32_t        nparts = levada_block_origin_parts(block);
    int64_t        n = block->n * nparts;
    levada_origin *o = levada_alloc((size_t)n * sizeof *o + 1);
    char           name[LEVADA_STATE_NAME];
    levada_status  st = LEVADA_OK;

    if (!o) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a checkpoint");
    levada_block_get_origins(block, nparts, o);
    snprintf(name, sizeof name, "%s.origins", key);
    st = levada_origins_put(to, name, o, block->n, nparts, err);
    if (st == LEVADA_OK) st = levada_file_names_put(names, to, key, o, n, err);
    levada_free(o);
    if (st == LEVADA_OK && columns) st = rows_put_spec(to, key, block->spec, err);
    for (int32_t i = 0; st == LEVADA_OK && i < levada_spec_count(block->spec); i++) {
        st = rows_put_column(to, key, i, &block->columns[i], err);
    }
    return st;
}

static levada_status rows_get_level(levada_state_reader *from, const char *key, levada_builder *b,
                                    int32_t i, int32_t l, int64_t n, int64_t *total,
                                    levada_error *err)
{
    const int64_t *ends = NULL;
    int64_t        count = 0, before = 0;
    int32_t       *offsets = NULL;

    LEVADA_TRY(levada_state_get_i64s(from, key, &ends, &count, err));
    if (count != n) {
        return levada_state_damaged(from, key, err, "%lld ends for %lld rows", (long long)count,
                                    (long long)n);
    }
    LEVADA_TRY(levada_builder_offsets(b, i, l, n, &offsets, err));
    for (int64_t k = 0; k < n; k++) {
        if (ends[k] < before || ends[k] > LEVADA_BLOCK_LIMIT) {
            return levada_state_damaged(from, key, err, "row %lld ends at %lld, after %lld",
                                        (long long)k, (long long)ends[k], (long long)before);
        }
        offsets[k + 1] = (int32_t)ends[k];
        before = ends[k];
    }
    *total = before;
    return LEVADA_OK;
}

/* Reads the bytes of `n` values, before memory is reserved for them. Borrowed. */
static levada_status rows_get_bytes(levada_state_reader *from, const char *key, int64_t n,
                                    int64_t each, const void **out, levada_error *err)
{
    size_t size = 0;

    LEVADA_TRY(levada_state_get_bytes(from, key, out, &size, err));
    if ((int64_t)size % each == 0 && (int64_t)size / each == n) return LEVADA_OK;
    return levada_state_damaged(from, key, err, "%zu bytes for %lld values of %lld", size,
                                (long long)n, (long long)each);
}

static levada_status rows_get_dims(levada_state_reader *from, const char *key, levada_builder *b,
                                   int32_t i, int64_t *inner, levada_error *err)
{
    const levada_field *f = levada_spec_field(b->block->spec, i);
    const int64_t      *dims = NULL;
    int64_t             n = 0;

    LEVADA_TRY(levada_state_get_i64s(from, key, &dims, &n, err));
    if (n != f->ndim) {
        return levada_state_damaged(from, key, err, "%lld numbers for %d dimensions", (long long)n,
                                    (int)f->ndim);
    }
    *inner = 1;
    for (int64_t d = 0; d < n; d++) {
        bool fits = f->dims[d] < 0 || f->dims[d] == dims[d];

        if (fits && dims[d] >= 0 && dims[d] <= LEVADA_BLOCK_LIMIT) *inner *= dims[d];
        else fits = false;
        if (!fits || *inner > LEVADA_BLOCK_LIMIT) {
            return levada_state_damaged(from, key, err, "dimension %lld is %lld", (long long)d,
                                        (long long)dims[d]);
        }
    }
    levada_builder_dims(b, i, dims);
    return LEVADA_OK;
}

/* Reads lengths before padding, which a row cannot have more of than its first dimension. */
static levada_status rows_get_lengths(levada_state_reader *from, const char *key, levada_builder *b,
                                      int32_t i, int64_t n, levada_error *err)
{
    const levada_column *c = &b->block->columns[i];
    int32_t             *lengths = NULL;
    const void          *saved = NULL;

    if (!levada_state_has(from, key)) return LEVADA_OK;
    if (!c->field->padded || c->field->ndim == 0) {
        return levada_state_damaged(from, key, err, "lengths of '%.64s', which is not padded",
                                    c->field->name);
    }
    LEVADA_TRY(rows_get_bytes(from, key, n, sizeof *lengths, &saved, err));
    LEVADA_TRY(levada_builder_lengths(b, i, &lengths, err));
    if (n > 0) memcpy(lengths, saved, (size_t)n * sizeof *lengths);
    for (int64_t k = 0; k < n; k++) {
        if (lengths[k] >= 0 && lengths[k] <= c->dims[0]) continue;
        return levada_state_damaged(from, key, err, "row %lld has length %d of %lld", (long long)k,
                                    (int)lengths[k], (long long)c->dims[0]);
    }
    return LEVADA_OK;
}

static levada_status rows_get_column(levada_state_reader *from, const char *key, levada_builder *b,
                                     int32_t i, int64_t n, levada_error *err)
{
    const levada_field *f = levada_spec_field(b->block->spec, i);
    bool                bytes = levada_dtype_is_bytes(f->dtype);
    int64_t             inner = 1, size = bytes ? 1 : levada_dtype_size(f->dtype), rows = n;
    const void         *saved = NULL;
    void               *values = NULL;
    char                name[LEVADA_STATE_NAME];

    snprintf(name, sizeof name, "%s.%d.dims", key, i);
    LEVADA_TRY(rows_get_dims(from, name, b, i, &inner, err));
    for (int32_t l = 0; l < rows_levels(f); l++) {
        snprintf(name, sizeof name, "%s.%d.%d", key, i, l);
        if (bytes && l == f->depth) rows *= inner;
        LEVADA_TRY(rows_get_level(from, name, b, i, l, rows, &rows, err));
    }
    if (!bytes) rows *= inner;
    snprintf(name, sizeof name, "%s.%d.len", key, i);
    LEVADA_TRY(rows_get_lengths(from, name, b, i, n, err));
    snprintf(name, sizeof name, "%s.%d.values", key, i);
    LEVADA_TRY(rows_get_bytes(from, name, rows, size, &saved, err));
    LEVADA_TRY(levada_builder_values(b, i, rows, &values, err));
    if (rows > 0) memcpy(values, saved, (size_t)(rows * size));
    return LEVADA_OK;
}

levada_status levada_rows_get(levada_state_reader *from, const char *key,
                              const levada_spec *declared, levada_block **out, levada_error *err)
{
    levada_pool    *pool = levada_env_pool(from->env);
    levada_spec    *spec = NULL;
    levada_origin  *o = NULL;
    levada_builder *b = NULL;
    levada_block   *block = NULL;
    int64_t         n = 0;
    int32_t         nparts = 1;
    char            name[LEVADA_STATE_NAME];
    levada_status   st;

    snprintf(name, sizeof name, "%s.origins", key);
    LEVADA_TRY(levada_origins_get(from, name, &o, &n, &nparts, err));
    st = levada_file_names_get(from, key, err);
    if (st == LEVADA_OK) st = rows_get_spec(from, key, declared, &spec, err);
    if (st == LEVADA_OK) st = levada_builder_make(pool, spec, n, &b, err);
    for (int32_t i = 0; st == LEVADA_OK && i < levada_spec_count(spec); i++) {
        st = rows_get_column(from, key, b, i, n, err);
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, &block, err);
    if (st == LEVADA_OK) st = levada_block_put_origins(pool, block, o, nparts, err);
    if (st == LEVADA_OK) {
        *out = block;
        block = NULL;
    }
    levada_block_unref(&block);
    levada_builder_destroy(&b);
    levada_spec_unref(&spec);
    levada_free(o);
    return st;
}
