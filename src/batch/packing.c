/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/packing.h"

#include "base/alloc.h"
#include "tensor/builder_priv.h"

#include <stdio.h>
#include <string.h>

#define PACKING_NAME 256

/* Returns true for byte strings and fields with a ragged level, which are ranges that can be put
 * one after another. */
static bool packing_is_range(const levada_field *f)
{
    return f->depth > 0 || (levada_dtype_is_bytes(f->dtype) && f->ndim == 0);
}

/* Returns true if field i of `spec` is packed. */
static bool packing_has(const levada_packing *p, const levada_spec *spec, int32_t i)
{
    const levada_field *f = levada_spec_field(spec, i);

    if (p->fields.n == 0) return f->depth > 0;
    for (int64_t k = 0; k < p->fields.n; k++) {
        if (strcmp(p->fields.at[k], f->name) == 0) return true;
    }
    return false;
}

/* -- columns */

static levada_status packing_check(const levada_packing *p, const levada_spec *in,
                                   levada_error *err)
{
    bool open = levada_spec_flags_of(in) & LEVADA_SPEC_OPEN, any = false;

    for (int64_t k = 0; k < p->fields.n; k++) {
        const levada_field *f;
        int32_t             i = -1;

        LEVADA_TRY(levada_spec_require(in, p->fields.at[k], &i, err));
        f = levada_spec_field(in, i);
        if (!f || packing_is_range(f)) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' must be a sequence to be packed, got one %s per record; "
                           "omit "
                           "it from fields=", f->name, levada_dtype_name(f->dtype));
    }
    for (int32_t i = 0; i < levada_spec_count(in); i++) any = any || packing_has(p, in, i);
    if (any || open) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "no field is a ragged sequence; set fields= to the fields to pack");
}

/* Adds one level before those of a field that is not packed. */
static levada_status packing_deepen(levada_field *f, levada_error *err)
{
    if (f->depth == LEVADA_MAX_DEPTH) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' has %d ragged levels, which is the maximum, and packing "
                           "adds one; omit the field from fields=", f->name, f->depth);
    }
    f->depth++;
    memmove(f->object + 1, f->object, sizeof f->object - 1);
    f->object[0] = 0;
    f->padded = false;
    return LEVADA_OK;
}

static void packing_add(levada_field *to, char *name, const char *field, const char *what)
{
    snprintf(name, PACKING_NAME, "%s%s", field, what);
    *to = (levada_field){ .name = name, .dtype = LEVADA_INT32, .depth = 1 };
}

/* Lists the fields of `in` as they become, then those that packed fields bring; returns their
 * number. */
static int32_t packing_fields(const levada_packing *p, const levada_spec *in, levada_field *fields,
                              char (*names)[PACKING_NAME])
{
    int32_t n = levada_spec_count(in), k = 0;

    for (int32_t i = 0; i < n; i++) {
        const char *name = levada_spec_field(in, i)->name;

        if (!packing_has(p, in, i)) continue;
        packing_add(&fields[n + k], names[k], name, "_segment_lengths");
        k++;
        if (!p->ids) continue;
        packing_add(&fields[n + k], names[k], name, "_segment_ids");
        k++;
        packing_add(&fields[n + k], names[k], name, "_positions");
        k++;
    }
    return n + k;
}

levada_status levada_packing_spec(const levada_packing *p, const levada_spec *in,
                                  levada_spec **out, levada_error *err)
{
    int32_t       n = levada_spec_count(in);
    levada_field *fields;
    char (*names)[PACKING_NAME];
    levada_status st = LEVADA_OK;

    LEVADA_TRY(packing_check(p, in, err));
    fields = levada_alloc_zero((size_t)n * 4 * sizeof *fields + 1);
    names = levada_alloc((size_t)n * 3 * sizeof *names + 1);
    if (!fields || !names) {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    }
    for (int32_t i = 0; st == LEVADA_OK && i < n; i++) {
        fields[i] = *levada_spec_field(in, i);
        if (!packing_has(p, in, i)) st = packing_deepen(&fields[i], err);
        else if (fields[i].depth == 0) fields[i].dtype = LEVADA_BYTES; /* cuts characters */
    }
    if (st == LEVADA_OK) {
        n = packing_fields(p, in, fields, names);
        st = levada_spec_create(fields, n, levada_spec_flags_of(in), out, err);
    }
    levada_free(names);
    levada_free(fields);
    return st;
}

/* -- lengths */

levada_status levada_packing_measure(const levada_packing *p, const levada_block *block,
                                     int64_t *lengths, levada_error *err)
{
    bool first = true;

    LEVADA_TRY(packing_check(p, block->spec, err));
    for (int32_t i = 0; i < levada_spec_count(block->spec); i++) {
        if (!packing_has(p, block->spec, i)) continue;
        for (int64_t k = 0; k < block->n; k++) {
            int64_t             row = 0;
            const levada_level *l = &levada_block_row(block, k, &row)->columns[i].level[0];
            int64_t             length = (int64_t)l->end[row] - l->begin[row];

            lengths[k] = first || lengths[k] == length ? length : -1;
        }
        first = false;
    }
    return LEVADA_OK;
}

levada_status levada_packing_uneven(const levada_packing *p, const levada_block *record,
                                    levada_error *err)
{
    const char *name = NULL;
    int64_t     first = 0, row = 0;

    for (int32_t i = 0; i < levada_spec_count(record->spec); i++) {
        const levada_level *l;
        int64_t             length;

        if (!packing_has(p, record->spec, i)) continue;
        l = &levada_block_row(record, 0, &row)->columns[i].level[0];
        length = (int64_t)l->end[row] - l->begin[row];
        if (name && length != first) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "the packed fields of a record must have the same length, got %lld "
                               "for '%s' and %lld for '%s'",
                               (long long)first, name, (long long)length,
                               levada_spec_field(record->spec, i)->name);
        }
        name = levada_spec_field(record->spec, i)->name;
        first = length;
    }
    return LEVADA_OK;
}

/* -- pieces of records */

static levada_status packing_cut_column(levada_pool *pool, levada_column *c, int64_t begin,
                                        int64_t size, levada_error *err)
{
    levada_level  *l = &c->level[0];
    levada_buffer *owner = NULL;
    int32_t       *range;

    LEVADA_TRY(levada_buffer_create(pool, 2 * sizeof *range, &owner, err));
    range = (int32_t *)(void *)owner->data;
    range[0] = l->begin[0] + (int32_t)begin;
    range[1] = range[0] + (int32_t)size;
    levada_buffer_unref(&l->owner);
    l->owner = owner;
    l->begin = range;
    l->end = range + 1;
    return LEVADA_OK;
}

static levada_status packing_name_part(levada_pool *pool, levada_block *piece, int32_t part,
                                       levada_error *err)
{
    levada_origin origins[LEVADA_ORIGIN_PARTS];
    int32_t       n = levada_block_origin_parts(piece);

    levada_block_get_origins(piece, n, origins);
    for (int32_t i = 0; i < n; i++) origins[i].sub = part;
    return levada_block_put_origins(pool, piece, origins, n, err);
}

levada_status levada_packing_cut(const levada_packing *p, levada_pool *pool,
                                 const levada_block *block, int64_t row, int64_t begin,
                                 int64_t size, int32_t part, levada_block **out, levada_error *err)
{
    int64_t             at = 0;
    const levada_block *data = levada_block_row(block, row, &at);
    levada_block       *piece = NULL, *own = NULL;
    levada_status       st;

    LEVADA_TRY(levada_block_slice(pool, data, at, 1, &piece, err));
    if (piece == data) { /* a block of one: its columns are everybody's */
        st = levada_columns_pick(pool, data, data->spec, NULL, &own, err);
        levada_block_unref(&piece);
        if (st != LEVADA_OK) return st;
        piece = own;
    }
    st = part ? packing_name_part(pool, piece, part, err) : LEVADA_OK;
    for (int32_t i = 0; st == LEVADA_OK && i < levada_spec_count(piece->spec); i++) {
        if (!packing_has(p, piece->spec, i)) continue;
        st = packing_cut_column(pool, &piece->columns[i], begin, size, err);
    }
    if (st == LEVADA_OK) *out = piece;
    else levada_block_unref(&piece);
    return st;
}

/* -- packed records */

typedef struct packing_job {
    const levada_block *flat; /* the records, gathered: offsets are packed and begin at 0 */
    const int32_t      *ends;
    int64_t             n; /* packed records */
    levada_builder     *b;
} packing_job;

/* Joins the rows of the first level of each group, as one range. */
static levada_status packing_join(const packing_job *j, int32_t i, const levada_column *from,
                                  levada_error *err)
{
    int32_t *offsets = NULL;

    LEVADA_TRY(levada_builder_offsets(j->b, i, 0, j->n, &offsets, err));
    for (int64_t k = 0; k < j->n; k++) offsets[k + 1] = from->level[0].end[j->ends[k] - 1];
    return LEVADA_OK;
}

static levada_status packing_ends(const packing_job *j, int32_t i, levada_error *err)
{
    int32_t *offsets = NULL;

    LEVADA_TRY(levada_builder_offsets(j->b, i, 0, j->n, &offsets, err));
    memcpy(offsets + 1, j->ends, (size_t)j->n * sizeof *offsets);
    return LEVADA_OK;
}

/* Makes a list with one value per segment: the levels move on by one. */
static levada_status packing_list(const packing_job *j, int32_t i, levada_error *err)
{
    levada_column *c = &j->b->block->columns[i];

    levada_buffer_unref(&c->lengths_owner);
    c->lengths = NULL;
    memmove(&c->level[1], &c->level[0], LEVADA_MAX_DEPTH * sizeof c->level[0]);
    memset(&c->level[0], 0, sizeof c->level[0]);
    return packing_ends(j, i, err);
}

static levada_status packing_lengths(const packing_job *j, int32_t i, const levada_column *from,
                                     levada_error *err)
{
    void    *values = NULL;
    int32_t *lengths;

    LEVADA_TRY(packing_ends(j, i, err));
    LEVADA_TRY(levada_builder_values(j->b, i, j->flat->n, &values, err));
    lengths = values;
    for (int64_t r = 0; r < j->flat->n; r++) {
        lengths[r] = from->level[0].end[r] - from->level[0].begin[r];
    }
    return LEVADA_OK;
}

/* Writes the position of each step in its segment, or (ids) the number of its segment from 1. */
static levada_status packing_steps(const packing_job *j, int32_t i, const levada_column *from,
                                   bool ids, levada_error *err)
{
    const levada_level *l = &from->level[0];
    void               *values = NULL;
    int32_t            *at;

    LEVADA_TRY(packing_join(j, i, from, err));
    LEVADA_TRY(levada_builder_values(j->b, i, l->end[j->flat->n - 1], &values, err));
    at = values;
    for (int64_t k = 0, r = 0; k < j->n; k++) {
        for (int32_t id = 1; r < j->ends[k]; r++, id++) {
            int32_t size = l->end[r] - l->begin[r];

            for (int32_t t = 0; t < size; t++) at[t] = ids ? id : t;
            at += size;
        }
    }
    return LEVADA_OK;
}

static levada_status packing_columns(const packing_job *j, const levada_packing *p,
                                     levada_error *err)
{
    const levada_spec *in = j->flat->spec;
    int32_t            n = levada_spec_count(in), more = n;

    for (int32_t i = 0; i < n; i++) {
        const levada_column *from = &j->flat->columns[i];

        levada_builder_share(j->b, i, from);
        if (!packing_has(p, in, i)) {
            LEVADA_TRY(packing_list(j, i, err));
            continue;
        }
        LEVADA_TRY(packing_join(j, i, from, err));
        LEVADA_TRY(packing_lengths(j, more++, from, err));
        if (!p->ids) continue;
        LEVADA_TRY(packing_steps(j, more++, from, true, err));
        LEVADA_TRY(packing_steps(j, more++, from, false, err));
    }
    return LEVADA_OK;
}

/* Sets the origins of a packed record to those of its first one. */
static levada_status packing_origins(const packing_job *j, levada_pool *pool, levada_block *made,
                                     levada_error *err)
{
    int32_t        nparts = levada_block_origin_parts(j->flat);
    levada_origin *each[LEVADA_ORIGIN_PARTS];

    LEVADA_TRY(levada_block_reserve_origins(pool, made, nparts, each, err));
    for (int32_t part = 0; part < nparts; part++) {
        for (int64_t k = 0; k < j->n; k++) {
            each[part][k] = levada_block_origin_part(j->flat, k ? j->ends[k - 1] : 0, part);
        }
    }
    return LEVADA_OK;
}

/* Gathers a block of its own columns, with packed offsets. */
static levada_status packing_gather(levada_pool *pool, const levada_block *in, levada_block **out,
                                    levada_error *err)
{
    levada_block *all = NULL;
    int32_t      *rows;
    levada_status st;

    if (in->kind == LEVADA_BLOCK_SELECTION) return levada_block_gather(pool, in, out, err);
    rows = levada_alloc((size_t)in->n * sizeof *rows + 1);
    if (!rows)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while packing records");
    for (int64_t i = 0; i < in->n; i++) rows[i] = (int32_t)i;
    st = levada_block_select(in, rows, in->n, &all, err);
    levada_free(rows);
    if (st == LEVADA_OK) st = levada_block_gather(pool, all, out, err);
    levada_block_unref(&all);
    return st;
}

levada_status levada_packing_apply(const levada_packing *p, levada_pool *pool,
                                   const levada_block *in, const levada_spec *out_spec,
                                   levada_block **out, levada_error *err)
{
    packing_job   j = { .ends = levada_block_ends(in, &j.n) };
    levada_block *flat = NULL, *made = NULL;
    levada_status st;

    if (!j.ends)
        return levada_fail(err, LEVADA_EINTERNAL,
                           "internal error: records to pack have no groups; please report it");
    st = packing_gather(pool, in, &flat, err);
    j.flat = flat;
    if (st == LEVADA_OK) st = levada_builder_make(pool, out_spec, j.n, &j.b, err);
    if (st == LEVADA_OK) st = packing_columns(&j, p, err);
    if (st == LEVADA_OK) st = levada_builder_publish(&j.b, &made, err);
    if (st == LEVADA_OK) st = packing_origins(&j, pool, made, err);
    if (st == LEVADA_OK) {
        made->bytes += flat->bytes;
        *out = made;
        made = NULL;
    }
    levada_block_unref(&made);
    levada_builder_destroy(&j.b);
    levada_block_unref(&flat);
    return st;
}
