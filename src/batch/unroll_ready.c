/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout `ready` of unroll. The ledger knows segments and capacity, the records stay in the row
 * store, and a batch is cut from them as in the layout slots.
 *
 * A record is read only while fewer than batch_size segments are ready and there is capacity, so a
 * batch depends on the order of records and of saves alone. A batch whose rows are all last
 * segments needs no states: it is finished by the next call of next().
 */
#include "batch/unroll_ready.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "batch/length.h"
#include "registry/env_priv.h"
#include "run/context.h"
#include "run/node.h"
#include "tensor/segments.h"
#include "tensor/tensor_priv.h"

#include <stdio.h>
#include <string.h>

#define READY_NUMBER 32 /* bytes of a number as text */

/* -- opening */

static levada_status ready_open_layout(levada_unroll_state *s, levada_error *err)
{
    levada_ready_state *own = s->own = levada_alloc_zero(sizeof *own);
    const levada_unroll_args *a = s->records.args;
    size_t end = 0;
    int32_t n;

    if (!own) return levada_unroll_memory(err);
    own->ledger.capacity = a->capacity == LEVADA_NULL_INT ? a->batch_size : a->capacity;
    own->ledger.small = a->allow_small_batch;
    LEVADA_TRY(levada_unroll_states(a, &own->states, err));
    s->records.how.states = own->states;
    n = levada_ready_nstates(own);
    for (own->nbuckets = 16; own->nbuckets < (uint64_t)own->ledger.capacity;) own->nbuckets *= 2;
    own->buckets = levada_alloc_zero((size_t)own->nbuckets * sizeof(*own->buckets));
    own->at = levada_alloc(((size_t)n + 1) * sizeof *own->at);
    if (!own->buckets || !own->at) return levada_unroll_memory(err);
    for (int32_t i = 0; i <= n; i++) {
        const levada_field *f = i < n ? levada_spec_field(own->states, i) : NULL;
        size_t size = f ? (size_t)levada_dtype_size(f->dtype) : 0;

        for (int32_t d = 0; f && d < f->ndim; d++) size *= (size_t)f->dims[d];
        own->at[i] = end;
        end += size;
    }
    return LEVADA_OK;
}

static void ready_free_list(levada_sequence *first)
{
    while (first) {
        levada_sequence *e = first;

        first = e->next;
        levada_free(e);
    }
}

static void ready_free_batch(const levada_ready_state *own, levada_ready_batch *batch)
{
    for (int32_t i = 0; i < levada_ready_nstates(own); i++) levada_block_unref(&batch->blocks[i]);
    levada_free(batch);
}

static void ready_close_layout(levada_unroll_state *s)
{
    levada_ready_state *own = s->own;

    while (own->ledger.taken) {
        levada_ready_batch *batch = levada_ready_batch_of(own->ledger.taken);

        own->ledger.taken = batch->taken.next;
        for (int64_t i = 0; i < batch->taken.n; i++) levada_free(batch->taken.rows[i]);
        ready_free_batch(own, batch);
    }
    ready_free_list(own->ledger.ready);
    ready_free_list(own->gone);
    levada_spec_unref(&own->states);
    levada_free(own->buckets);
    levada_free(own->at);
    levada_free(own);
}

/* -- sequences and their keys */

levada_ready_sequence *levada_ready_create(const levada_ready_state *own,
                                           const levada_unroll_record *record, const void *key,
                                           size_t key_size)
{
    size_t states = own->at[levada_ready_nstates(own)];
    levada_ready_sequence *e = levada_alloc(sizeof *e + states + key_size + LEVADA_READY_SUFFIX);

    if (!e) return NULL;
    memset(e, 0, sizeof *e + states);
    e->record = *record;
    e->sequence.number = record->number;
    e->sequence.nsegments = (int32_t)record->segments;
    e->key_size = key_size;
    if (key_size) memcpy(levada_ready_key(own, e), key, key_size);
    return e;
}

static levada_ready_sequence *ready_find(const levada_ready_state *own,
                                         const levada_ready_sequence *like)
{
    const uint8_t *key = levada_ready_key(own, like);
    uint64_t hash = levada_hash64(key, like->key_size, 0);
    levada_ready_sequence *e = own->buckets[hash & (own->nbuckets - 1)];

    while (e && !(e->hash == hash && e->key_size == like->key_size &&
                  memcmp(levada_ready_key(own, e), key, e->key_size) == 0)) {
        e = e->chain;
    }
    return e;
}

void levada_ready_add_key(levada_ready_state *own, levada_ready_sequence *e)
{
    levada_ready_sequence **to;

    e->hash = levada_hash64(levada_ready_key(own, e), e->key_size, 0);
    to = &own->buckets[e->hash & (own->nbuckets - 1)];
    e->chain = *to;
    *to = e;
    e->keyed = true;
}

/* Removes the keys, because only live sequences need different keys. */
static void ready_remove_keys(levada_ready_state *own, const levada_ready_batch *batch)
{
    for (int64_t i = 0; i < batch->taken.n; i++) {
        levada_ready_sequence *e = levada_ready_row(batch, i), **at;

        if (e->sequence.live || !e->keyed) continue;
        at = &own->buckets[e->hash & (own->nbuckets - 1)];
        while (*at != e) at = &(*at)->chain;
        *at = e->chain;
        e->keyed = false;
    }
}

/* -- the end of a batch */

void levada_ready_finish(levada_ready_state *own, levada_ready_batch *batch)
{
    levada_ledger_save(&own->ledger, &batch->taken, &own->gone);
    ready_free_batch(own, batch);
}

void levada_ready_return(levada_ready_state *own, levada_ready_batch *batch)
{
    for (int64_t i = 0; i < batch->taken.n; i++) {
        levada_ready_sequence *e = levada_ready_row(batch, i);

        if (!e->keyed) levada_ready_add_key(own, e);
    }
    levada_ledger_return(&own->ledger, &batch->taken);
    ready_free_batch(own, batch);
}

void levada_ready_discard(levada_ready_state *own, levada_ready_batch *batch)
{
    levada_ledger_drop(&own->ledger, &batch->taken);
    ready_remove_keys(own, batch);
    for (int64_t i = 0; i < batch->taken.n; i++) {
        batch->taken.rows[i]->next = own->gone;
        own->gone = batch->taken.rows[i];
    }
    ready_free_batch(own, batch);
}

levada_status levada_ready_sweep(levada_unroll_state *s, levada_error *err)
{
    levada_ready_state *own = s->own;
    uint32_t *stored = NULL;
    int64_t n = 0;
    levada_status st;

    for (const levada_sequence *e = own->gone; e; e = e->next) n++;
    if (n == 0) return LEVADA_OK;
    stored = levada_alloc((size_t)n * sizeof *stored);
    if (!stored) return levada_unroll_memory(err);
    n = 0;
    for (levada_sequence *e = own->gone; e; e = e->next) {
        stored[n++] = ((const levada_ready_sequence *)(const void *)e)->record.stored;
    }
    st = levada_unroll_records_release(&s->records, stored, n, err);
    levada_free(stored);
    if (st != LEVADA_OK) return st;
    ready_free_list(own->gone);
    own->gone = NULL;
    return LEVADA_OK;
}

/* Batches that need no state are finished by the next one. */
static void ready_settle(levada_ready_state *own)
{
    levada_taken *next;

    for (levada_taken *t = own->ledger.taken; t; t = next) {
        levada_ready_batch *batch = levada_ready_batch_of(t);

        next = t->next;
        if (t->ncontinuing) continue;
        own->settled[own->nsettled++ % LEVADA_UNROLL_SETTLED] = batch->number;
        levada_ready_finish(own, batch);
    }
}

/* -- records come */

/* Finds the key of a record: the bytes of a string, or a number as text in `text`. */
static levada_status ready_key(const levada_unroll_state *s, const levada_block *row,
                               int64_t number, char text[READY_NUMBER], const void **key,
                               size_t *size, levada_error *err)
{
    const levada_column *c = NULL;
    const levada_block *data;
    int64_t at = 0, n = 0;

    *key = text;
    if (!s->records.args->key) {
        *size = (size_t)snprintf(text, READY_NUMBER, "%lld", (long long)number);
        return LEVADA_OK;
    }
    data = levada_block_row(row, 0, &at);
    c = levada_block_column(data, s->records.args->key);
    if (c && levada_dtype_is_bytes(c->field->dtype)) {
        const void *bytes = levada_column_bytes(c, at, &n);

        if (bytes) *key = bytes;
        *size = (size_t)n;
        return LEVADA_OK;
    }
    if (c && c->field->dtype >= LEVADA_INT8 && c->field->dtype <= LEVADA_UINT64) {
        n = levada_dtype_size(c->field->dtype);
        n = levada_length_number(c->field->dtype, c->values + at * n);
        *size = (size_t)snprintf(text, READY_NUMBER, "%lld", (long long)n);
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "key='%s' must be an integer or a byte string, got %s",
                       s->records.args->key, c ? levada_dtype_name(c->field->dtype) : "no field");
}

/* Writes the first value of state i: the field of its name, or zeros, which are there. */
static levada_status ready_initial(const levada_ready_state *own, const levada_block *row,
                                   int32_t i, levada_ready_sequence *e, levada_error *err)
{
    const levada_field *f = levada_spec_field(own->states, i);
    size_t bytes = own->at[i + 1] - own->at[i];
    int64_t at = 0, first;
    bool same;
    const levada_block *data = levada_block_row(row, 0, &at);
    const levada_column *c = levada_block_column(data, f->name);

    if (!c) return LEVADA_OK;
    first = at * (int64_t)bytes;
    same = memcmp(c->dims, f->dims + c->field->depth, c->field->ndim * sizeof c->dims[0]) == 0;
    if (c->field->depth) {
        same = same && levada_column_length(c, at) == f->dims[0];
        first = c->level[0].begin[at] * levada_column_inner(c) * levada_dtype_size(f->dtype);
    }
    if (!same) {
        levada_shape want = { f->ndim, { 0 } };
        levada_shape have = { c->field->depth + c->field->ndim, { 0 } };
        char         text[LEVADA_SHAPE_TEXT], got[LEVADA_SHAPE_TEXT];

        if (c->field->depth > 0) have.dims[0] = levada_column_length(c, at);
        for (int32_t d = 0; d < c->field->ndim; d++) have.dims[c->field->depth + d] = c->dims[d];
        memcpy(want.dims, f->dims, f->ndim * sizeof f->dims[0]);
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' must have the shape %s of the state in every record, got %s",
                           f->name, levada_shape_print(&want, text),
                           levada_shape_print(&have, got));
    }
    if (bytes) memcpy(e->bytes + own->at[i], c->values + first, bytes);
    return LEVADA_OK;
}

/* Appends a number of at least eight digits, so that numbers of one width never make two keys
 * equal. */
static void ready_make_unique(levada_ready_state *own, levada_ready_sequence *e)
{
    uint8_t *end = levada_ready_key(own, e) + e->key_size;
    size_t size = e->key_size;
    char digits[LEVADA_READY_SUFFIX];

    do {
        int n = snprintf(digits, sizeof digits, "%08lld", (long long)own->suffix++);

        memcpy(end, digits, (size_t)n);
        e->key_size = size + (size_t)n;
    } while (ready_find(own, e));
}

static levada_status ready_make_sequence(const levada_unroll_state *s,
                                         const levada_unroll_record *record,
                                         const levada_block *row, levada_ready_sequence **out,
                                         levada_error *err)
{
    levada_ready_state *own = s->own;
    char text[READY_NUMBER];
    const void *key = NULL;
    size_t size = 0;
    levada_ready_sequence *e;

    LEVADA_TRY(ready_key(s, row, record->number, text, &key, &size, err));
    e = *out = levada_ready_create(own, record, key, size);
    if (!e) return levada_unroll_memory(err);
    for (int32_t i = 0; i < levada_ready_nstates(own); i++) {
        LEVADA_TRY(ready_initial(own, row, i, e, err));
    }
    if (s->records.args->make_keys_unique) {
        ready_make_unique(own, e);
    } else if (ready_find(own, e)) {
        return levada_fail(err, LEVADA_EALREADY_EXISTS,
                           "a live example already has the key '%.*s'",
                           e->key_size > 64 ? 64 : (int)e->key_size,
                           (const char *)levada_ready_key(own, e));
    }
    return LEVADA_OK;
}

static levada_status ready_enter(const levada_unroll_state *s, const levada_unroll_record *record,
                                 levada_error *err)
{
    levada_ready_state *own = s->own;
    levada_ready_sequence *e = NULL;
    levada_block *row = NULL;
    levada_status st;

    LEVADA_TRY(levada_rowstore_peek(s->records.store, &record->stored, 1, &row, err));
    st = ready_make_sequence(s, record, row, &e, err);
    levada_block_unref(&row);
    if (st != LEVADA_OK) {
        levada_free(e);
        return st;
    }
    levada_ready_add_key(own, e);
    levada_ledger_enter(&own->ledger, &e->sequence);
    return LEVADA_OK;
}

static levada_status ready_read(levada_unroll_state *s, levada_input *in, levada_error *err)
{
    levada_unroll_record record = { 0 };
    levada_error why = LEVADA_ERROR_INIT;
    levada_status st;

    LEVADA_TRY(levada_unroll_records_next(&s->records, in, &record, err));
    record.number = s->records.number;
    st = ready_enter(s, &record, &why);
    if (st == LEVADA_OK) s->records.number++;
    if (st == LEVADA_EALREADY_EXISTS || st == LEVADA_EINVALID_ARGUMENT) {
        return levada_unroll_records_reject(&s->records, &record, &why, err);
    }
    if (st != LEVADA_OK && err) *err = why;
    return st;
}

/* Reads until a batch is ready, there is no capacity, or the input has ended. */
static levada_status ready_fill(levada_unroll_state *s, levada_input *in, levada_error *err)
{
    levada_ledger *l = &((levada_ready_state *)s->own)->ledger;

    while (!l->closed && l->counts.ready < s->records.args->batch_size &&
           !levada_ledger_is_full(l)) {
        levada_status st = ready_read(s, in, err);

        if (st == LEVADA_END) l->closed = true;
        else if (st != LEVADA_OK) return st;
    }
    return LEVADA_OK;
}

/* -- batches leave */

typedef struct ready_rows {
    levada_cut *cuts;
    uint32_t *stored;
    levada_unroll_row *rows;
    int64_t n;
} ready_rows;

/* Cuts the first n ready segments, which are not taken yet. */
static void ready_cut(const levada_unroll_state *s, ready_rows *to)
{
    const levada_ready_state *own = s->own;
    const levada_sequence *at = own->ledger.ready;

    for (int64_t r = 0; r < to->n; r++, at = at->next) {
        const levada_ready_sequence *e = (const levada_ready_sequence *)(const void *)at;

        to->stored[r] = e->record.stored;
        to->cuts[r] = (levada_cut){ .row = r, .number = at->number, .segment = at->segment,
                                    .segments = at->nsegments };
        to->rows[r] = (levada_unroll_row){ levada_ready_key(own, e), (int64_t)e->key_size,
                                           e->bytes };
        levada_unrolling_place(&s->records.how, e->record.steps, &to->cuts[r]);
    }
}

static levada_status ready_block(levada_unroll_state *s, ready_rows *rows, levada_block **out,
                                 levada_error *err)
{
    const levada_ready_state *own = s->own;
    const levada_unroll_taken taken = { rows->rows, own->at, own->batches };
    const levada_spec *spec = NULL;
    levada_block *records = NULL;
    levada_status st;

    ready_cut(s, rows);
    LEVADA_TRY(levada_rowstore_peek(s->records.store, rows->stored, rows->n, &records, err));
    st = levada_unroll_records_columns(&s->records, records->spec, &spec, err);
    if (st == LEVADA_OK) {
        st = levada_unrolling_batch(&s->records.how, levada_env_pool(s->records.context->env),
                                    records, rows->cuts, rows->n, &taken, spec, out, err);
    }
    levada_block_unref(&records);
    return st;
}

static levada_ready_batch *ready_new_batch(const levada_ready_state *own, int64_t n)
{
    size_t states = (size_t)levada_ready_nstates(own);
    levada_ready_batch *batch =
        levada_alloc_zero(sizeof *batch + ((size_t)n + 2 * states) * sizeof(void *));

    if (!batch) return NULL;
    batch->taken.rows = (levada_sequence **)(void *)(batch + 1);
    batch->blocks = (levada_block **)(void *)(batch->taken.rows + n);
    batch->values = (const uint8_t **)(void *)(batch->blocks + states);
    batch->number = own->batches;
    batch->nunsaved = (int32_t)states;
    return batch;
}

/* Makes the batch: everything that can fail comes before the segments are taken. */
static levada_status ready_make(levada_unroll_state *s, int64_t n, levada_block **out,
                                levada_error *err)
{
    levada_ready_state *own = s->own;
    levada_ready_batch *batch = ready_new_batch(own, n);
    ready_rows rows = { .n = n };
    levada_status st;

    rows.cuts = levada_alloc((size_t)n * sizeof *rows.cuts);
    rows.stored = levada_alloc((size_t)n * sizeof *rows.stored);
    rows.rows = levada_alloc((size_t)n * sizeof *rows.rows);
    st = batch && rows.cuts && rows.stored && rows.rows ? ready_block(s, &rows, out, err)
                                                        : levada_unroll_memory(err);
    if (st == LEVADA_OK) {
        levada_ledger_take(&own->ledger, &batch->taken, n);
        ready_remove_keys(own, batch);
        batch->taken_at = levada_now();
        own->batches++;
    } else {
        levada_free(batch);
    }
    levada_free(rows.cuts);
    levada_free(rows.stored);
    levada_free(rows.rows);
    return st;
}

/* Reports: "ready 3, incomplete 40; state 'h' of key '00001_of_00004:a' was not saved for 12.1
 * s" */
static levada_status ready_ask_for_states(const levada_ready_state *own, levada_error *err)
{
    const levada_taken *oldest = levada_ledger_oldest(&own->ledger);
    const levada_ready_batch *batch = levada_ready_batch_of(oldest);
    const levada_ready_sequence *e;
    char prefix[LEVADA_SEGMENTS_PREFIX];
    int64_t row = 0;
    int32_t state = 0;
    int n;

    if (!oldest) return levada_fail(err, LEVADA_EINTERNAL,
                                    "internal error: no batch waits for states; please report it");
    while (levada_sequence_is_last(oldest->rows[row])) row++;
    while (batch->values[state]) state++;
    e = levada_ready_row(batch, row);
    n = (int)levada_segments_prefix(e->sequence.segment, e->sequence.nsegments, prefix);
    return levada_fail(err, LEVADA_AGAIN,
                       "save these states first: ready %lld, incomplete %lld; state '%s' of key "
                       "'%.*s%.*s' was not saved for %.1f s",
                       (long long)own->ledger.counts.ready,
                       (long long)own->ledger.counts.incomplete,
                       levada_spec_field(own->states, state)->name, n, prefix,
                       e->key_size > 64 ? 64 : (int)e->key_size,
                       (const char *)levada_ready_key(own, e),
                       (double)(levada_now() - batch->taken_at) * 1e-9);
}

static levada_status ready_take(levada_unroll_state *s, levada_block **out, levada_error *err)
{
    levada_ready_state *own = s->own;
    int64_t n = 0, total = 0;

    switch (levada_ledger_ask(&own->ledger, s->records.args->batch_size, 0, &n, &total)) {
    case LEVADA_LEDGER_NOW: return ready_make(s, n, out, err);
    case LEVADA_LEDGER_WAIT: return ready_ask_for_states(own, err);
    default: break;
    }
    levada_context_dropped(s->records.context, own->ledger.counts.live);
    own->over = true;
    return LEVADA_END;
}

void levada_ready_show(const levada_unroll_state *s)
{
    const levada_ready_state *own = s->own;
    const levada_ledger_counts *c = &own->ledger.counts;
    const levada_context *context = s->records.context;
    const levada_taken *oldest = levada_ledger_oldest(&own->ledger);
    int64_t age = oldest ? levada_now() - levada_ready_batch_of(oldest)->taken_at : -1;

    levada_context_set_gauge(context, 0, "live", c->live, false);
    levada_context_set_gauge(context, 1, "ready", c->ready, false);
    levada_context_set_gauge(context, 2, "incomplete", c->incomplete, false);
    levada_context_set_gauge(context, 3, "unsaved", c->unsaved, false);
    levada_context_set_gauge(context, 4, "unsaved_seconds", age, true);
    levada_context_set_gauge(context, 5, "discarded", c->discarded, false);
    levada_context_set_gauge(context, 6, "dropped_steps", s->records.dropped_steps, false);
}

static levada_status ready_next(levada_unroll_state *s, levada_input *in, levada_block **out,
                                levada_error *err)
{
    levada_ready_state *own = s->own;
    levada_status st;

    ready_settle(own);
    LEVADA_TRY(levada_ready_sweep(s, err));
    if (own->dropped) levada_context_dropped(s->records.context, own->dropped);
    own->dropped = 0;
    if (own->over) return LEVADA_END;
    st = ready_fill(s, in, err);
    if (st == LEVADA_OK) st = ready_take(s, out, err);
    levada_ready_show(s);
    return st;
}

static void ready_take_back(levada_unroll_state *s)
{
    levada_ready_state *own = s->own;
    levada_ready_batch *batch = levada_ready_batch_of(own->ledger.taken_last);

    if (!batch || batch->number + 1 != own->batches) return;
    levada_ready_return(own, batch);
    own->batches--;
    levada_ready_show(s);
}

const levada_unroll_layout levada_unroll_ready = {
    .open = ready_open_layout,
    .close = ready_close_layout,
    .next = ready_next,
    .feed = levada_ready_feed,
    .take_back = ready_take_back,
    .save = levada_ready_save,
    .restore = levada_ready_restore,
};
