/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Saving: a snapshot of references is made with the lock held, and written without it. The entries
 * are those of a state file (state/state_priv.h) under the path "state_saver"; each column of the
 * unfinished examples is one entry.
 */
#include "base/alloc.h"
#include "base/process.h"
#include "state/state_priv.h"
#include "tensor/pieces.h"
#include "train/state_saver_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct save_row {
    levada_saver_live   *e;
    levada_saver_states *states;
    int64_t              row, segment;
} save_row;

typedef struct save_all {
    levada_state_saver *s;
    bool                data;
    levada_state_writer to;
    save_row           *rows; /* ascending by number */
    int64_t             n;
    int64_t            *numbers; /* n + 1, scratch */
    levada_piece       *pieces;  /* n, scratch */
    int64_t             counts[LEVADA_SAVER_COUNTS];
    int64_t            *seen, nseen;
} save_all;

static levada_status save_no_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a checkpoint");
}

/* -- the snapshot ------------------------------------------------------------------------------ */

static int64_t save_count_locked(const levada_state_saver *s)
{
    int64_t n = s->ledger.counts.ready + s->awaited.left;

    for (const levada_taken *t = s->ledger.taken; t != NULL; t = t->next) n += t->n;
    return n;
}

static void save_add(save_all *all, levada_sequence *sequence)
{
    levada_saver_live *e = (levada_saver_live *)(void *)sequence;

    levada_refs_add(&e->refs);
    levada_refs_add(&e->states->refs);
    all->rows[all->n++] = (save_row){ e, e->states, e->row, e->sequence.segment };
}

static void save_collect_locked(save_all *all)
{
    levada_state_saver *s = all->s;
    const levada_ledger_counts *c = &s->ledger.counts;
    const int64_t counts[] = { c->inserted, s->suffix, c->finished, s->skipped,
                               c->discarded, c->dropped, s->seen.all, all->data };

    memcpy(all->counts, counts, sizeof(counts));
    for (levada_sequence *e = s->ledger.ready; e != NULL; e = e->next) save_add(all, e);
    for (const levada_taken *t = s->ledger.taken; t != NULL; t = t->next) {
        for (int64_t i = 0; i < t->n; i++) {
            /* The last segments of an abandoned batch are finished. */
            if (!t->abandoned || !levada_sequence_is_last(t->rows[i])) save_add(all, t->rows[i]);
        }
    }
    for (int64_t i = 0; i < s->awaited.n; i++) {
        if (s->awaited.rows[i]->awaited) save_add(all, &s->awaited.rows[i]->sequence);
    }
    if (s->seen.n > 0) memcpy(all->seen, s->seen.more, (size_t)s->seen.n * sizeof(*all->seen));
    all->nseen = s->seen.n;
}

static int save_order(const void *a, const void *b)
{
    int64_t x = ((const save_row *)a)->e->sequence.number;
    int64_t y = ((const save_row *)b)->e->sequence.number;

    return x < y ? -1 : x > y;
}

/* Takes a snapshot. Memory is allocated without the lock; again if it has become too small. */
static levada_status save_snapshot(save_all *all, levada_error *err)
{
    levada_state_saver *s = all->s;
    int64_t             space = 0, seen = 0, nrows = 0, nseen = 0;

    levada_lock_take(&s->lock);
    while (save_count_locked(s) > nrows || s->seen.n > nseen) {
        int64_t rows = save_count_locked(s) + 16, more = s->seen.n + 16;

        levada_lock_give(&s->lock);
        if (!levada_reserve(&all->rows, &space, rows, sizeof(*all->rows)) ||
            !levada_reserve(&all->seen, &seen, more, sizeof(*all->seen))) {
            return save_no_memory(err);
        }
        nrows = rows;
        nseen = more;
        levada_lock_take(&s->lock);
    }
    if (all->data && s->awaited.left > 0) {
        levada_lock_give(&s->lock);
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "State saver '%s': %lld restored examples have no data yet", s->name,
                           (long long)s->awaited.left);
    }
    save_collect_locked(all);
    levada_lock_give(&s->lock);
    if (all->n > 0) qsort(all->rows, (size_t)all->n, sizeof(*all->rows), save_order);
    all->numbers = levada_alloc((size_t)(all->n + 1) * sizeof(*all->numbers));
    all->pieces = levada_alloc((size_t)(all->n + 1) * sizeof(*all->pieces));
    return all->numbers != NULL && all->pieces != NULL ? LEVADA_OK : save_no_memory(err);
}

static void save_clear(save_all *all)
{
    for (int64_t i = 0; i < all->n; i++) {
        levada_saver_states_drop(all->s, all->rows[i].states, 1);
        levada_saver_live_unref(all->s, all->rows[i].e);
    }
    levada_free(all->rows);
    levada_free(all->numbers);
    levada_free(all->pieces);
    levada_free(all->seen);
    levada_state_writer_clear(&all->to);
}

/* -- entries ----------------------------------------------------------------------------------- */

static levada_status save_fields(const levada_state_saver *s, levada_state_writer *to,
                                 levada_error *err)
{
    int32_t       n = s->nsequences + s->ncontext + s->nstates;
    int64_t       head[] = { s->nsequences, s->ncontext, s->nstates, s->unroll };
    int64_t       dims[LEVADA_MAX_DIMS + 2];
    levada_text   names = { 0 };
    char         *bytes = NULL, key[LEVADA_SAVER_ENTRY];
    size_t        size;
    levada_status st = levada_state_put_i64s(to, "fields", head, 4, err);

    for (int32_t i = 0; i < n && st == LEVADA_OK; i++) {
        const levada_saver_field *f = &s->fields[i];

        levada_text_add(&names, f->name, strlen(f->name) + 1);
        levada_text_add(&names, levada_dtype_name(f->dtype),
                        strlen(levada_dtype_name(f->dtype)) + 1);
        dims[0] = f->ragged;
        dims[1] = f->shape.rank;
        for (int32_t d = 0; d < f->shape.rank; d++) dims[d + 2] = f->shape.dims[d];
        (void)snprintf(key, sizeof(key), "field+%d", (int)i);
        st = levada_state_put_i64s(to, key, dims, 2 + (f->shape.rank > 0 ? f->shape.rank : 0), err);
    }
    size = names.size;
    if (st == LEVADA_OK) st = levada_text_steal(&names, &bytes, err);
    if (st == LEVADA_OK) st = levada_state_put_bytes(to, "names", bytes, size, err);
    levada_text_clear(&names);
    levada_free(bytes);
    return st;
}

/* Saves the pieces as bytes under that name; of byte strings their offsets too. */
static levada_status save_values(save_all *all, const char *key, levada_dtype dtype,
                                 levada_error *err)
{
    levada_shape   shape = { 1, { 0 } };
    levada_tensor *t = NULL;
    char           sizes[LEVADA_SAVER_ENTRY + 8];
    int64_t       *offsets = NULL;
    levada_status  st;

    for (int64_t i = 0; i < all->n; i++) shape.dims[0] += all->pieces[i].count;
    LEVADA_TRY(levada_pieces_join(all->s->pool, dtype, &shape, all->pieces, all->n, -1, &t, err));
    st = levada_state_put_bytes(&all->to, key, t->data, (size_t)t->bytes, err);
    if (st == LEVADA_OK && levada_dtype_is_bytes(dtype)) {
        (void)snprintf(sizes, sizeof(sizes), "%s.ends", key);
        offsets = levada_alloc((size_t)t->count * sizeof(*offsets) + 1);
        if (offsets == NULL) st = save_no_memory(err);
        for (int64_t i = 0; offsets != NULL && i < t->count; i++) offsets[i] = t->offsets[i + 1];
        if (st == LEVADA_OK) {
            st = levada_state_put_i64s(&all->to, sizes, offsets, t->count, err);
        }
        levada_free(offsets);
    }
    levada_tensor_unref(&t);
    return st;
}

/* Saves the values of a field of all examples, whole tensors; and their numbers of rows. */
static levada_status save_field(save_all *all, const char *word, int32_t i, int32_t value,
                                levada_dtype dtype, levada_error *err)
{
    char key[LEVADA_SAVER_ENTRY], rows[LEVADA_SAVER_ENTRY + 8];

    (void)snprintf(key, sizeof(key), "%s+%d", word, (int)i);
    (void)snprintf(rows, sizeof(rows), "%s.rows", key);
    for (int64_t r = 0; r < all->n; r++) {
        const levada_tensor *t = all->rows[r].e->values[value];

        all->pieces[r] = (levada_piece){ t, 0, t->count };
        all->numbers[r] = t->shape.rank > 0 ? t->shape.dims[0] : 1;
    }
    LEVADA_TRY(levada_state_put_i64s(&all->to, rows, all->numbers, all->n, err));
    return save_values(all, key, dtype, err);
}

static levada_status save_data(save_all *all, levada_error *err)
{
    const levada_state_saver *s = all->s;

    for (int32_t i = 0; i < s->nsequences; i++) {
        LEVADA_TRY(save_field(all, "sequence", i, i, s->fields[i].dtype, err));
        if (!s->fields[i].ragged) continue;
        LEVADA_TRY(save_field(all, "offsets", i, s->nsequences + i, LEVADA_INT64, err));
    }
    for (int32_t i = 0; i < s->ncontext; i++) {
        LEVADA_TRY(save_field(all, "context", i, 2 * s->nsequences + i,
                              levada_saver_context(s)[i].dtype, err));
    }
    return LEVADA_OK;
}

static levada_status save_states(save_all *all, levada_error *err)
{
    const levada_state_saver *s = all->s;
    char                      key[LEVADA_SAVER_ENTRY];

    for (int32_t i = 0; i < s->nstates; i++) {
        const levada_saver_field *f = &levada_saver_state(s)[i];
        int64_t                   each = levada_shape_count(&f->shape);

        for (int64_t r = 0; r < all->n; r++) {
            const save_row *row = &all->rows[r];

            all->pieces[r] = (levada_piece){ row->states->values[i], row->row * each, each };
        }
        (void)snprintf(key, sizeof(key), "state+%d", (int)i);
        LEVADA_TRY(save_values(all, key, f->dtype, err));
    }
    return LEVADA_OK;
}

static int64_t save_number(const save_row *row, int which)
{
    const levada_saver_live *e = row->e;

    switch (which) {
    case 0: return e->sequence.number;
    case 1: return e->sequence.nsegments;
    case 2: return row->segment;
    case 3: return e->length;
    case 4: return e->ordinal;
    default: return e->key_size;
    }
}

static levada_status save_positions(save_all *all, levada_error *err)
{
    levada_text   keys = { 0 };
    char         *bytes = NULL;
    size_t        size;
    levada_status st;

    for (int i = 0; i < LEVADA_SAVER_COLUMNS; i++) {
        for (int64_t r = 0; r < all->n; r++) all->numbers[r] = save_number(&all->rows[r], i);
        LEVADA_TRY(levada_state_put_i64s(&all->to, levada_saver_columns[i], all->numbers, all->n,
                                         err));
    }
    for (int64_t r = 0; r < all->n; r++) {
        const levada_saver_live *e = all->rows[r].e;

        levada_text_add(&keys, levada_saver_key(all->s, e), (size_t)e->key_size);
    }
    size = keys.size;
    LEVADA_TRY(levada_text_steal(&keys, &bytes, err));
    st = levada_state_put_bytes(&all->to, "keys", bytes, size, err);
    levada_free(bytes);
    return st;
}

static levada_status save_entries(save_all *all, const void *extra, size_t extra_size,
                                  levada_error *err)
{
    LEVADA_TRY(save_fields(all->s, &all->to, err));
    LEVADA_TRY(levada_state_put_i64s(&all->to, "counts", all->counts, LEVADA_SAVER_COUNTS, err));
    LEVADA_TRY(levada_state_put_i64s(&all->to, "seen", all->seen, all->nseen, err));
    LEVADA_TRY(save_positions(all, err));
    if (all->n > 0) LEVADA_TRY(save_states(all, err));
    if (all->n > 0 && all->data) LEVADA_TRY(save_data(all, err));
    return levada_state_put_bytes(&all->to, "extra", extra, extra_size, err);
}

levada_status levada_state_saver_save(levada_state_saver *saver, bool data, const void *extra,
                                      size_t extra_size, char **out, size_t *size,
                                      levada_error *err)
{
    levada_state_head head = { { 0 }, 0, 0 };
    save_all          all = { .s = saver, .data = data };
    levada_status     st;

    LEVADA_TRY(LEVADA_USABLE(saver, "state saver", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require(size != NULL, "size", err));
    LEVADA_TRY(levada_require(extra != NULL || extra_size == 0, "extra", err));
    LEVADA_TRY(levada_require_size(extra_size, "extra_size", err));
    all.to.scope = (levada_state_scope){ LEVADA_SAVER_PATH, LEVADA_SAVER_VERSION, NULL };
    st = save_snapshot(&all, err);
    if (st == LEVADA_OK) st = save_entries(&all, extra, extra_size, err);
    if (st == LEVADA_OK) st = levada_state_encode(&all.to, &head, saver->env, out, size, err);
    save_clear(&all);
    return st;
}
