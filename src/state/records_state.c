/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that wait at the input of a stage, in a state: as origins where that input can be read
 * again, else by value. Reading again goes through each file once: origins are sorted, read in
 * pieces, and the rows put back into the order that was saved. Records that zips put together have
 * an origin for each part; the zip reads each of its inputs like this (node_combiner.c).
 */
#include "base/alloc.h"
#include "state/state_priv.h"
#include "tensor/block_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS_PIECE 8192

levada_status levada_records_pack(levada_pool *pool, const levada_block *block, levada_block **out,
                                  levada_error *err)
{
    int32_t      *rows = levada_alloc((size_t)block->n * sizeof *rows + 1);
    levada_block *all = NULL;
    levada_status st;

    if (!rows) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                  "out of memory for a checkpoint");
    for (int64_t i = 0; i < block->n; i++) rows[i] = (int32_t)i;
    st = levada_block_select(block, rows, block->n, &all, err);
    levada_free(rows);
    if (st == LEVADA_OK) st = levada_block_gather(pool, all, out, err);
    levada_block_unref(&all);
    return st;
}

/* Returns true if records can be saved by their origins. After a zip all origin parts must be
 * there, and each must be of the records of its input. */
static bool records_by_origin(const levada_edge *edge, const levada_origin *o, int64_t n,
                              int32_t nparts)
{
    if (!edge || !edge->ops->rereadable(edge) || edge->ops->nparts(edge) != nparts) return false;
    for (int32_t part = 0; part < nparts; part++) {
        for (int64_t i = part; i < n * nparts; i += nparts) {
            bool same = i > part && o[i].source == o[i - nparts].source;

            if (o[i].sub) return false;
            if (!same && !edge->ops->owns_source(edge, part, o[i].source)) return false;
        }
    }
    return true;
}

static levada_status records_no_edge(const char *path, levada_error *err)
{
    return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                       "'%s' does not have exactly one input, so its records cannot be saved",
                       path);
}

levada_status levada_records_put(levada_state_writer *to, const char *key, levada_block *block,
                                 levada_error *err)
{
    int32_t        nparts = levada_block_origin_parts(block);
    levada_origin *o;
    levada_status  st;

    if (!to->scope.edge) return records_no_edge(to->scope.path, err);
    o = levada_alloc((size_t)block->n * (size_t)nparts * sizeof *o + 1);
    if (!o) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a checkpoint");
    levada_block_get_origins(block, nparts, o);
    if (records_by_origin(to->scope.edge, o, block->n, nparts)) {
        st = levada_origins_put(to, key, o, block->n, nparts, err);
        if (st == LEVADA_OK) st = levada_records_put_sums(to, key, block, err);
    } else {
        st = levada_state_put_records(to, key, block, err);
    }
    levada_free(o);
    return st;
}

/* Materializes the entries of one that holds records, in the scope in which they were put. */
static levada_status records_materialize(levada_state_writer *to, const levada_entry *e,
                                   levada_pool *pool, struct levada_file_names *names,
                                   levada_error *err)
{
    levada_block *flat = NULL;
    levada_status st;

    LEVADA_TRY(levada_records_pack(pool, e->records, &flat, err));
    to->scope = (levada_state_scope){ .path = e->path, .version = e->version };
    st = levada_rows_put(to, e->key, flat, e->open, names, err);
    levada_block_unref(&flat);
    return st;
}

levada_status levada_records_materialize(levada_state_writer *w, levada_env *env,
                                   struct levada_file_names *names, levada_error *err)
{
    levada_state_writer all = { 0 };
    levada_status       st = LEVADA_OK;

    for (int32_t i = 0; st == LEVADA_OK && i < w->n; i++) {
        levada_entry *e = &w->entries[i];

        st = e->type == LEVADA_ENTRY_RECORDS
                 ? records_materialize(&all, e, levada_env_pool(env), names, err)
                 : levada_state_move(&all, e, err);
    }
    all.scope = w->scope;
    levada_state_writer_clear(w);
    *w = all;
    return st;
}

/* -- reading again */

typedef struct records_place {
    const levada_origin *of; /* one of each origin part         */
    int64_t              at; /* index in the saved order */
    int32_t              nparts;
} records_place;

static int records_order_lane(const levada_origin *x, const levada_origin *y)
{
    if (x->source != y->source) return x->source < y->source ? -1 : 1;
    if (x->shard != y->shard) return x->shard < y->shard ? -1 : 1;
    if (x->record != y->record) return x->record < y->record ? -1 : 1;
    if (x->pass != y->pass) return x->pass < y->pass ? -1 : 1;
    return 0;
}

static int records_order(const void *a, const void *b)
{
    const records_place *x = a, *y = b;
    int                  order = records_order_lane(x->of, y->of);

    for (int32_t i = 1; !order && i < x->nparts; i++) {
        order = records_order_lane(&x->of[i], &y->of[i]);
    }
    return order;
}

typedef struct records_work {
    levada_edge   *edge;
    levada_read    how;
    int32_t        nparts;
    records_place *places; /* sorted */
    int64_t        n, at;  /* at: the first that was not read yet */
    int64_t        most;   /* records in a piece */
    levada_block **pieces;
    int32_t        npieces;
    int64_t        capacity; /* of pieces */
    uint32_t      *which, *row; /* of the selection, in the saved order */
} records_work;

static levada_status records_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                       "out of memory while reading records again");
}

/* Picks the next distinct origins; *next = the first place after them. */
static int64_t records_pick(records_work *w, levada_origin *o, int64_t *next)
{
    int64_t n = 0, i;

    for (i = w->at; i < w->n; i++) {
        bool same = i > w->at && records_order(&w->places[i - 1], &w->places[i]) == 0;

        if (!same && n == w->most) break;
        if (!same) memcpy(o + n++ * w->nparts, w->places[i].of, (size_t)w->nparts * sizeof *o);
        w->which[w->places[i].at] = (uint32_t)w->npieces;
        w->row[w->places[i].at] = (uint32_t)(n - 1);
    }
    *next = i;
    return n;
}

/* Reads a piece. Where it is larger than a block may be, it is to be read again in smaller ones. */
static levada_status records_piece(records_work *w, levada_error *err)
{
    bool fits = levada_reserve(&w->pieces, &w->capacity, w->npieces + 1, sizeof *w->pieces);
    levada_origin *o = levada_alloc((size_t)w->most * (size_t)w->nparts * sizeof *o);
    levada_block  *block = NULL;
    int64_t        next = 0, n;
    levada_status  st;

    if (!fits || !o) {
        levada_free(o);
        return records_memory(err);
    }
    n = records_pick(w, o, &next);
    st = w->edge->ops->read(w->edge, o, n, w->how, &block, err);
    levada_free(o);
    if (st == LEVADA_ERESOURCE_EXHAUSTED && w->most > 1) {
        w->most = w->most > 8 ? w->most / 8 : 1;
        levada_error_clear(err);
        return LEVADA_OK;
    }
    if (st != LEVADA_OK) return st;
    w->pieces[w->npieces++] = block;
    w->at = next;
    return LEVADA_OK;
}

/* Resolves the DATA blocks of the pieces, which may be selections, in one row; numbers follow. */
static int32_t records_resolve(records_work *w, uint32_t *base, levada_block **from)
{
    int32_t n = 0;

    for (int32_t p = 0; p < w->npieces; p++) {
        const levada_block *piece = w->pieces[p];

        base[p] = (uint32_t)n;
        if (piece->kind == LEVADA_BLOCK_DATA) from[n++] = levada_block_ref(piece);
        if (piece->kind == LEVADA_BLOCK_DATA) continue;
        for (int32_t i = 0; i < piece->nfrom; i++) from[n++] = levada_block_ref(piece->from[i]);
    }
    for (int64_t i = 0; i < w->n; i++) {
        const levada_block *piece = w->pieces[w->which[i]];
        bool                data = piece->kind == LEVADA_BLOCK_DATA;

        w->which[i] = base[w->which[i]] + (data ? 0 : piece->which[w->row[i]]);
        w->row[i] = data ? w->row[i] : piece->row[w->row[i]];
    }
    return n;
}

static levada_status records_assemble(records_work *w, levada_buffer **index, levada_block **out,
                                      levada_error *err)
{
    uint32_t      *base = levada_alloc((size_t)w->npieces * sizeof *base);
    levada_block **from = NULL;
    int32_t        n = 0;
    levada_status  st = LEVADA_OK;

    for (int32_t p = 0; p < w->npieces; p++) n += w->pieces[p]->nfrom + 1;
    from = levada_alloc((size_t)n * sizeof(*from));
    if (base && from) {
        n = records_resolve(w, base, from);
        st = levada_block_selection(from, n, w->which, w->row, w->n, index, out, err);
        for (int32_t i = 0; st != LEVADA_OK && i < n; i++) levada_block_unref(&from[i]);
    } else {
        st = records_memory(err);
    }
    levada_free(base);
    levada_free(from);
    return st;
}

static levada_status records_prepare(records_work *w, const levada_origin *o,
                                     levada_buffer **index, levada_error *err)
{
    w->places = levada_alloc((size_t)w->n * sizeof *w->places);
    if (!w->places) return records_memory(err);
    LEVADA_TRY(levada_buffer_create(levada_env_pool(w->edge->at->env), w->n * 8, index, err));
    w->which = (uint32_t *)(void *)(*index)->data;
    w->row = w->which + w->n;
    for (int64_t i = 0; i < w->n; i++) {
        w->places[i] = (records_place){ .of = o + i * w->nparts, .at = i, .nparts = w->nparts };
    }
    qsort(w->places, (size_t)w->n, sizeof *w->places, records_order);
    return LEVADA_OK;
}

levada_status levada_records_read(levada_edge *edge, const levada_origin *o, int64_t n,
                                  levada_read how, levada_block **out, levada_error *err)
{
    records_work   w = { .edge = edge, .how = how, .n = n, .most = RECORDS_PIECE };
    levada_buffer *index = NULL;
    levada_status  st;

    w.nparts = edge->ops->nparts(edge);
    if (w.most > n) w.most = n;
    st = records_prepare(&w, o, &index, err);
    while (st == LEVADA_OK && w.at < n) {
        st = edge->ops->check_cancelled(edge, err);
        if (st == LEVADA_OK) st = records_piece(&w, err);
    }
    if (st == LEVADA_OK) st = records_assemble(&w, &index, out, err);
    for (int32_t i = 0; i < w.npieces; i++) levada_block_unref(&w.pieces[i]);
    levada_buffer_unref(&index);
    levada_free(w.places);
    levada_free(w.pieces);
    return st;
}

/* Reads records that the entry names again. */
static levada_status records_reread_entry(const levada_state_reader *from, const char *key,
                                          const levada_origin *origins, int64_t n,
                                          levada_block **out, levada_error *err)
{
    levada_status st = levada_records_read(from->scope.edge, origins, n, LEVADA_READ_AGAIN,
                                           out, err);

    if (st == LEVADA_EDATA_LOSS) levada_error_wrap(err, "entry '%s/%s'", from->scope.path, key);
    return st;
}

/* Returns true if each record has the origins that it takes to read it again. */
static bool records_are_whole(const levada_edge *edge, const levada_origin *o, int64_t n,
                              int32_t nparts)
{
    if (n == 0 || nparts != edge->ops->nparts(edge)) return false;
    for (int64_t i = 0; i < n * nparts; i++) {
        if (o[i].source < 0) return false;
    }
    return true;
}

/* Returns true if a record has exactly the origins that it takes to read it again. Others of the
 * state may have more, if they are of an input that is gone. */
static bool records_can_read(const levada_edge *edge, const levada_origin *row, int32_t nparts)
{
    int32_t own = edge->ops->nparts(edge);

    for (int32_t part = own; part < nparts; part++) {
        if (row[part].source >= 0) return false;
    }
    return nparts >= own && records_by_origin(edge, row, 1, own);
}

/* Sets *n to the number of records that can be read again, and rows to their numbers. False: one is
 * neither of these, nor of an input that is gone. */
static bool records_sort(const levada_edge *edge, const levada_origin *o, int64_t all,
                         int32_t nparts, int32_t *rows, int64_t *n)
{
    *n = 0;
    for (int64_t i = 0; i < all; i++) {
        const levada_origin *row = o + i * nparts;
        bool                 gone = false;

        if (records_can_read(edge, row, nparts)) {
            rows[(*n)++] = (int32_t)i;
            continue;
        }
        for (int32_t part = 0; part < nparts; part++) {
            gone = gone || edge->ops->gone_source(edge, row[part].source);
        }
        if (!gone) return false;
    }
    return true;
}

/* Checks records of a state by those that the input has, and sets *out to these, or to all of the
 * state if some are of an input that is gone. */
static levada_status records_compare(levada_state_reader *from, const char *key,
                                     levada_block *saved, const int32_t *rows, int64_t n,
                                     levada_block **out, levada_error *err)
{
    levada_pool   *pool = levada_env_pool(from->env);
    levada_edge   *edge = from->scope.edge;
    int32_t        nparts = levada_block_origin_parts(saved), read = edge->ops->nparts(edge);
    levada_block  *some = NULL, *own = NULL, *made = NULL;
    levada_origin *o = levada_alloc((size_t)n * (size_t)nparts * sizeof *o + 1);
    levada_status  st = o ? levada_block_select(saved, rows, n, &some, err) : records_memory(err);

    if (st == LEVADA_OK) st = levada_block_gather(pool, some, &own, err);
    if (st == LEVADA_OK) levada_block_get_origins(own, nparts, o);
    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        memmove(o + i * read, o + i * nparts, (size_t)read * sizeof *o);
    }
    if (st == LEVADA_OK) st = records_reread_entry(from, key, o, n, &made, err);
    if (st == LEVADA_OK) st = levada_records_check_values(from, own, made, err);
    if (st == LEVADA_OK) *out = levada_block_ref(n == saved->n ? made : saved);
    levada_free(o);
    levada_block_unref(&some);
    levada_block_unref(&own);
    levada_block_unref(&made);
    return st;
}

/* Reads records by value. A state must not choose what an input emits: if that can be read again,
 * the values are those of the input, and those in the state must be the same. */
static levada_status records_get_values(levada_state_reader *from, const char *key,
                                        levada_block **out, levada_error *err)
{
    levada_edge   *edge = from->scope.edge;
    levada_block  *saved = NULL;
    int32_t        nparts, *rows;
    int64_t        n = 0;
    levada_origin *o;
    char           name[LEVADA_STATE_NAME];
    levada_status  st;

    LEVADA_TRY(levada_rows_get(from, key, edge->spec, &saved, err));
    if (!edge->ops->rereadable(edge)) {
        *out = saved;
        return LEVADA_OK;
    }
    nparts = levada_block_origin_parts(saved);
    o = levada_alloc((size_t)saved->n * (size_t)nparts * sizeof *o + 1);
    rows = levada_alloc((size_t)saved->n * sizeof *rows + 1);
    st = o && rows ? LEVADA_OK : records_memory(err);
    if (st == LEVADA_OK) levada_block_get_origins(saved, nparts, o);
    if (st == LEVADA_OK && !records_sort(edge, o, saved->n, nparts, rows, &n)) {
        snprintf(name, sizeof name, "%s.origins", key);
        st = levada_state_damaged(from, name, err, "not the origins of records of this input");
    }
    if (st == LEVADA_OK && n == 0) *out = levada_block_ref(saved);
    else if (st == LEVADA_OK) st = records_compare(from, key, saved, rows, n, out, err);
    levada_free(o);
    levada_free(rows);
    levada_block_unref(&saved);
    return st;
}

levada_status levada_records_get(levada_state_reader *from, const char *key, levada_block **out,
                                 levada_error *err)
{
    levada_edge   *edge = from->scope.edge;
    levada_origin *o = NULL;
    levada_block  *made = NULL;
    int64_t        n = 0;
    int32_t        nparts = 1;
    char           name[LEVADA_STATE_NAME];
    levada_status  st;

    if (!edge) return records_no_edge(from->scope.path, err);
    snprintf(name, sizeof name, "%s.origins", key);
    if (levada_state_has(from, name)) {
        return records_get_values(from, key, out, err);
    }
    LEVADA_TRY(levada_origins_get(from, key, &o, &n, &nparts, err));
    if (!records_are_whole(edge, o, n, nparts)) {
        st = levada_state_damaged(from, key, err, "not the origins of records of this input");
    } else {
        st = records_reread_entry(from, key, o, n, &made, err);
        if (st == LEVADA_OK) st = levada_records_check_sums(from, key, made, err);
    }
    levada_free(o);
    if (st == LEVADA_OK) {
        *out = made;
    } else {
        levada_block_unref(&made);
    }
    return st;
}
