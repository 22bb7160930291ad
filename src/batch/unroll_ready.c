/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout `ready` of unroll: a state saver inside a pipeline. The saver knows keys, segments,
 * states and capacity: to it an example has one step of no values per segment. The records stay in
 * the row store, and the batch is cut from them as in the layout slots.
 *
 * A record is read only while fewer than batch_size segments are ready and there is capacity, so a
 * batch depends on the order of records and of saves alone. A batch whose rows are all last
 * segments needs no states: it is finished by the next call of next().
 */
#include "base/alloc.h"
#include "batch/length.h"
#include "batch/unroll_ready.h"
#include "registry/env_priv.h"
#include "run/context.h"

#include <stdio.h>
#include <string.h>

#define READY_NUMBER 32 /* bytes of a number as text */

/* -- opening */

static levada_status ready_zeros(const levada_unroll_state *s, levada_saver_field *fields,
                                 levada_error *err)
{
    levada_ready_state *own = s->own;

    for (int32_t i = 0; i < levada_ready_nstates(own); i++) {
        const levada_field *f = levada_spec_field(own->states, i);
        levada_shape shape = { f->ndim, { 0 } };

        memcpy(shape.dims, f->dims, f->ndim * sizeof f->dims[0]);
        fields[i] = (levada_saver_field){ f->name, f->dtype, shape, false };
        LEVADA_TRY(levada_tensor_create(s->records.context->env, f->dtype, &shape, NULL,
                                        &own->zeros[i], err));
        memset(levada_tensor_data(own->zeros[i]), 0, (size_t)levada_tensor_bytes(own->zeros[i]));
    }
    return LEVADA_OK;
}

static levada_status ready_saver(levada_unroll_state *s, const levada_saver_field *states,
                                 levada_error *err)
{
    static const levada_saver_field segments = { "segments", LEVADA_UINT8, { 1, { 0 } }, false };
    const levada_unroll_args *a = s->records.args;
    levada_state_saver_options o = LEVADA_STATE_SAVER_OPTIONS_INIT;
    levada_ready_state *own = s->own;

    o.batch_size = a->batch_size;
    o.capacity = a->capacity == LEVADA_NULL_INT ? a->batch_size : a->capacity;
    o.allow_small_batch = a->allow_small_batch;
    o.make_keys_unique = a->make_keys_unique;
    o.check_finite = a->check_finite;
    o.nsequences = 1;
    o.sequences = &segments;
    o.nstates = levada_ready_nstates(own);
    o.states = states;
    o.name = "unroll";
    return levada_state_saver_create(s->records.context->env, &o, &own->saver, err);
}

static levada_status ready_open_layout(levada_unroll_state *s, levada_error *err)
{
    levada_ready_state *own = s->own = levada_alloc_zero(sizeof *own);
    levada_saver_field *fields;
    size_t n;
    levada_status st;

    if (!own) return levada_unroll_memory(err);
    LEVADA_TRY(levada_unroll_states(s->records.args, &own->states, err));
    s->records.how.states = own->states;
    n = (size_t)levada_ready_nstates(own);
    own->zeros = levada_alloc_zero(n * sizeof(*own->zeros));
    own->values = levada_alloc_zero(n * sizeof(*own->values));
    fields = levada_alloc(n * sizeof *fields);
    st = own->zeros && own->values && fields ? ready_zeros(s, fields, err)
                                             : levada_unroll_memory(err);
    if (st == LEVADA_OK) st = ready_saver(s, fields, err);
    levada_free(fields);
    return st;
}

static void ready_close_layout(levada_unroll_state *s)
{
    levada_ready_state *own = s->own;

    for (int64_t i = 0; i < own->nopen; i++) levada_segment_batch_destroy(&own->open[i].batch);
    levada_state_saver_unref(&own->saver);
    for (int32_t i = 0; own->zeros && i < levada_ready_nstates(own); i++) {
        levada_tensor_unref(&own->zeros[i]);
    }
    levada_spec_unref(&own->states);
    levada_free(own->zeros);
    levada_free(own->values);
    levada_free(own->live);
    levada_free(own->open);
    levada_free(own);
}

/* -- records that are unfinished */

/* The record of that number, or NULL. */
static levada_ready_live *ready_find(const levada_ready_state *own, int64_t number)
{
    int64_t low = 0, high = own->nlive;

    while (low < high) {
        int64_t middle = (low + high) / 2;

        if (own->live[middle].record.number < number) low = middle + 1;
        else high = middle;
    }
    return low < own->nlive && own->live[low].record.number == number ? &own->live[low] : NULL;
}

/* Records that are done leave the store. */
levada_status levada_ready_sweep(levada_unroll_state *s, levada_error *err)
{
    levada_ready_state *own = s->own;
    uint32_t *stored = NULL;
    int64_t n = 0, kept = 0;
    levada_status st;

    for (int64_t i = 0; i < own->nlive; i++) n += own->live[i].done;
    if (n == 0) return LEVADA_OK;
    stored = levada_alloc((size_t)n * sizeof *stored);
    if (!stored) return levada_unroll_memory(err);
    n = 0;
    for (int64_t i = 0; i < own->nlive; i++) {
        if (own->live[i].done) stored[n++] = own->live[i].record.stored;
    }
    st = levada_unroll_records_release(&s->records, stored, n, err);
    levada_free(stored);
    if (st != LEVADA_OK) return st;
    for (int64_t i = 0; i < own->nlive; i++) {
        if (!own->live[i].done) own->live[kept++] = own->live[i];
    }
    own->nlive = kept;
    return LEVADA_OK;
}

void levada_ready_forget(levada_ready_state *own, levada_ready_open *open)
{
    int64_t after = own->nopen - (open - own->open) - 1;

    levada_segment_batch_destroy(&open->batch);
    memmove(open, open + 1, (size_t)after * sizeof *open);
    own->nopen--;
}

/* A batch ends: records of last segments are done, and with `all` those of every row. */
levada_status levada_ready_finish(const levada_unroll_state *s, levada_ready_open *open, bool all,
                                  levada_error *err)
{
    levada_ready_state *own = s->own;
    levada_segment_view view = LEVADA_SEGMENT_VIEW_INIT;
    const int64_t *index;
    const int32_t *at, *count;

    LEVADA_TRY(levada_segment_batch_get(open->batch, &view, err));
    index = levada_tensor_data(view.insertion_index);
    at = levada_tensor_data(view.sequence);
    count = levada_tensor_data(view.sequence_count);
    for (int64_t r = 0; r < view.n; r++) {
        levada_ready_live *live = ready_find(own, index[r] - INT64_MIN);

        if (live && (all || at[r] + 1 == count[r])) live->done = true;
    }
    levada_ready_forget(own, open);
    return LEVADA_OK;
}

/* Batches that need no state are finished by the next one. */
static levada_status ready_settle(const levada_unroll_state *s, levada_error *err)
{
    levada_ready_state *own = s->own;

    for (int64_t i = 0; i < own->nopen;) {
        if (own->open[i].continues) {
            i++;
            continue;
        }
        own->settled[own->nsettled++ % LEVADA_UNROLL_SETTLED] = own->open[i].number;
        LEVADA_TRY(levada_ready_finish(s, &own->open[i], false, err));
    }
    return LEVADA_OK;
}

/* -- records come */

/* The key of a record as bytes: those of a string, or a number as text in `text`. */
static levada_status ready_key(const levada_unroll_state *s, const levada_block *row,
                               int64_t number, char text[READY_NUMBER],
                               levada_saver_example *to, levada_error *err)
{
    const levada_column *c = NULL;
    const levada_block *data;
    int64_t at = 0, size = 0;

    to->key = text;
    if (!s->records.args->key) {
        to->key_size = (size_t)snprintf(text, READY_NUMBER, "%lld", (long long)number);
        return LEVADA_OK;
    }
    data = levada_block_row(row, 0, &at);
    c = levada_block_column(data, s->records.args->key);
    if (c && c->field->dtype == LEVADA_BYTES) {
        to->key = levada_column_bytes(c, at, &size);
        to->key_size = (size_t)size;
        if (!to->key) to->key = text;
        return LEVADA_OK;
    }
    if (c && c->field->dtype >= LEVADA_INT8 && c->field->dtype <= LEVADA_UINT64) {
        size = levada_dtype_size(c->field->dtype);
        size = levada_length_number(c->field->dtype, c->values + at * size);
        to->key_size = (size_t)snprintf(text, READY_NUMBER, "%lld", (long long)size);
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "key='%s' must be an integer or a byte string", s->records.args->key);
}

/* The first value of state i: that of the field of its name, or zeros. */
static levada_status ready_initial(const levada_unroll_state *s, const levada_block *row,
                                   int32_t i, levada_tensor **out, levada_error *err)
{
    const levada_ready_state *own = s->own;
    const levada_field *f = levada_spec_field(own->states, i);
    const levada_shape *shape = levada_tensor_shape(own->zeros[i]);
    int64_t at = 0, first, bytes = levada_tensor_bytes(own->zeros[i]);
    bool same;
    const levada_block *data = levada_block_row(row, 0, &at);
    const levada_column *c = levada_block_column(data, f->name);

    if (!c) {
        *out = levada_tensor_ref(own->zeros[i]);
        return LEVADA_OK;
    }
    first = at * bytes;
    same = memcmp(c->dims, shape->dims + c->field->depth, c->field->ndim * sizeof c->dims[0]) == 0;
    if (c->field->depth) {
        same = same && levada_column_length(c, at) == shape->dims[0];
        first = c->level[0].begin[at] * levada_column_inner(c) * levada_dtype_size(f->dtype);
    }
    if (same) {
        return levada_tensor_create(s->records.context->env, f->dtype, shape, c->values + first,
                                    out, err);
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "field '%s' does not have the shape of the state", f->name);
}

static levada_status ready_put(const levada_unroll_state *s, const levada_unroll_record *record,
                               const levada_block *row, levada_tensor **states, bool reserved,
                               levada_error *err)
{
    const levada_ready_state *own = s->own;
    levada_saver_example example = LEVADA_SAVER_EXAMPLE_INIT;
    levada_shape shape = { 2, { record->segments, 0 } };
    levada_tensor *steps = NULL;
    char text[READY_NUMBER];
    levada_status st = LEVADA_OK;

    LEVADA_TRY(ready_key(s, row, record->number, text, &example, err));
    for (int32_t i = 0; i < levada_ready_nstates(own) && st == LEVADA_OK; i++) {
        st = ready_initial(s, row, i, &states[i], err);
    }
    if (st == LEVADA_OK) {
        st = levada_tensor_create(s->records.context->env, LEVADA_UINT8, &shape, NULL, &steps, err);
    }
    example.length = record->segments;
    example.ordinal = record->number;
    example.sequences = &steps;
    example.states = states;
    if (st == LEVADA_OK) {
        st = levada_state_saver_insert(own->saver, &example, reserved, LEVADA_AT_ONCE, err);
    }
    levada_tensor_unref(&steps);
    return st;
}

/* Hands a record to the saver. */
levada_status levada_ready_insert(const levada_unroll_state *s, const levada_unroll_record *record,
                                  bool reserved, levada_error *err)
{
    const levada_ready_state *own = s->own;
    levada_block *row = NULL;
    size_t n = (size_t)levada_ready_nstates(own);
    levada_tensor **states = levada_alloc_zero(n * sizeof(*states));
    levada_status st = states ? levada_rowstore_peek(s->records.store, &record->stored, 1,
                                                     &row, err)
                              : levada_unroll_memory(err);

    if (st == LEVADA_OK) st = ready_put(s, record, row, states, reserved, err);
    for (size_t i = 0; states && i < n; i++) levada_tensor_unref(&states[i]);
    levada_free(states);
    levada_block_unref(&row);
    return st;
}

/* One more record for the saver, which has reserved capacity for it. */
static levada_status ready_read_reserved(levada_unroll_state *s, levada_input *in, bool *used,
                                         levada_error *err)
{
    levada_unroll_record record = { 0 };
    levada_error why = LEVADA_ERROR_INIT;
    levada_ready_state *own = s->own;
    levada_status st;

    if (!levada_reserve(&own->live, &own->live_capacity, own->nlive + 1, sizeof *own->live)) {
        return levada_unroll_memory(err);
    }
    LEVADA_TRY(levada_unroll_records_next(&s->records, in, &record, err));
    record.number = s->records.number;
    st = levada_ready_insert(s, &record, true, &why);
    if (st == LEVADA_OK) {
        own->live[own->nlive++] = (levada_ready_live){ .record = record };
        s->records.number++;
        *used = true;
        return LEVADA_OK;
    }
    if (st == LEVADA_EALREADY_EXISTS || st == LEVADA_EINVALID_ARGUMENT) {
        return levada_unroll_records_reject(&s->records, &record, &why, err);
    }
    if (err) *err = why;
    return st;
}

/* AGAIN: the input has none now, or (*full) the saver has no capacity. */
static levada_status ready_read(levada_unroll_state *s, levada_input *in, bool *full,
                                levada_error *err)
{
    levada_ready_state *own = s->own;
    bool used = false;
    levada_status st = levada_state_saver_reserve(own->saver, LEVADA_AT_ONCE, err);

    *full = st == LEVADA_AGAIN;
    if (st != LEVADA_OK) return st;
    st = ready_read_reserved(s, in, &used, err);
    if (!used) levada_state_saver_release(own->saver);
    return st;
}

/* Reads until a batch is ready, the saver is full, or the input has ended. */
static levada_status ready_fill(levada_unroll_state *s, levada_input *in, levada_error *err)
{
    levada_state_saver_stats stats = LEVADA_STATE_SAVER_STATS_INIT;
    levada_ready_state *own = s->own;
    levada_status st;
    bool full;

    while (!own->closed) {
        LEVADA_TRY(levada_state_saver_get_stats(own->saver, &stats, err));
        if (stats.ready >= s->records.args->batch_size) break;
        st = ready_read(s, in, &full, err);
        if (full) break;
        if (st != LEVADA_OK && st != LEVADA_END) return st;
        if (st == LEVADA_OK) continue;
        own->closed = true;
        LEVADA_TRY(levada_state_saver_close(own->saver, false, err));
    }
    return LEVADA_OK;
}

/* -- batches leave */

typedef struct ready_rows {
    levada_cut *cuts;
    uint32_t *stored;
    bool continues;
} ready_rows;

static levada_status ready_cut(const levada_unroll_state *s, const levada_segment_view *view,
                               ready_rows *rows, levada_error *err)
{
    const int64_t *index = levada_tensor_data(view->insertion_index);
    const int32_t *at = levada_tensor_data(view->sequence);

    for (int64_t r = 0; r < view->n; r++) {
        const levada_ready_live *live = ready_find(s->own, index[r] - INT64_MIN);

        if (!live) return levada_fail(err, LEVADA_EINTERNAL,
                                      "a record of a batch does not exist any more");
        rows->stored[r] = live->record.stored;
        rows->cuts[r] = (levada_cut){ .row = r, .number = live->record.number, .segment = at[r],
                                      .segments = live->record.segments };
        levada_unrolling_place(&s->records.how, live->record.steps, &rows->cuts[r]);
        rows->continues = rows->continues || at[r] + 1 < live->record.segments;
    }
    return LEVADA_OK;
}

static levada_status ready_block(levada_unroll_state *s, const levada_segment_view *view,
                                 ready_rows *rows, levada_block **out, levada_error *err)
{
    const levada_unroll_taken taken = { view, ((levada_ready_state *)s->own)->batches };
    const levada_spec *spec = NULL;
    levada_block *records = NULL;
    levada_status st;

    LEVADA_TRY(ready_cut(s, view, rows, err));
    LEVADA_TRY(levada_rowstore_peek(s->records.store, rows->stored, view->n, &records, err));
    st = levada_unroll_records_columns(&s->records, records->spec, &spec, err);
    if (st == LEVADA_OK) {
        st = levada_unrolling_batch(&s->records.how, levada_env_pool(s->records.context->env),
                                    records, rows->cuts, view->n, &taken, spec, out, err);
    }
    levada_block_unref(&records);
    return st;
}

static levada_status ready_make(levada_unroll_state *s, levada_segment_batch *batch,
                                levada_block **out, levada_error *err)
{
    levada_ready_state *own = s->own;
    levada_segment_view view = LEVADA_SEGMENT_VIEW_INIT;
    ready_rows rows = { 0 };
    levada_status st = levada_segment_batch_get(batch, &view, err);

    if (st != LEVADA_OK) return st;
    rows.cuts = levada_alloc((size_t)view.n * sizeof *rows.cuts);
    rows.stored = levada_alloc((size_t)view.n * sizeof *rows.stored);
    st = rows.cuts && rows.stored &&
                 levada_reserve(&own->open, &own->open_capacity, own->nopen + 1, sizeof *own->open)
             ? ready_block(s, &view, &rows, out, err)
             : levada_unroll_memory(err);
    if (st == LEVADA_OK) {
        own->open[own->nopen++] = (levada_ready_open){ batch, own->batches++, view.n,
                                                       levada_ready_nstates(own),
                                                       rows.continues };
    }
    levada_free(rows.cuts);
    levada_free(rows.stored);
    return st;
}

/* The input has ended, and no batch can be filled any more. */
static levada_status ready_end(levada_unroll_state *s, levada_error *err)
{
    levada_state_saver_stats stats = LEVADA_STATE_SAVER_STATS_INIT;
    levada_ready_state *own = s->own;

    LEVADA_TRY(levada_state_saver_get_stats(own->saver, &stats, err));
    levada_context_dropped(s->records.context, stats.live);
    for (int64_t i = 0; i < own->nlive; i++) own->live[i].done = true;
    own->over = true;
    LEVADA_TRY(levada_ready_sweep(s, err));
    return LEVADA_END;
}

static levada_status ready_take(levada_unroll_state *s, levada_block **out, levada_error *err)
{
    levada_ready_state *own = s->own;
    levada_segment_batch *batch = NULL;
    levada_error why = LEVADA_ERROR_INIT;
    levada_status st = levada_state_saver_next(own->saver, -1, 0, &batch, &why);

    if (st == LEVADA_EOUT_OF_RANGE) return ready_end(s, err);
    if (st == LEVADA_EDEADLINE_EXCEEDED) {
        return levada_fail(err, LEVADA_AGAIN, "save these states first: %s", why.message);
    }
    if (st != LEVADA_OK) {
        if (err) *err = why;
        return st;
    }
    st = ready_make(s, batch, out, err);
    if (st == LEVADA_OK) return st;
    if (levada_segment_batch_requeue(batch, NULL) != LEVADA_OK) {
        st = levada_fail(err, LEVADA_EINTERNAL, "a batch cannot be requeued");
    }
    levada_segment_batch_destroy(&batch);
    return st;
}

void levada_ready_show(const levada_unroll_state *s)
{
    levada_state_saver_stats stats = LEVADA_STATE_SAVER_STATS_INIT;
    const levada_ready_state *own = s->own;
    const levada_context *context = s->records.context;

    if (levada_state_saver_get_stats(own->saver, &stats, NULL) != LEVADA_OK) return;
    levada_context_show(context, 0, "live", stats.live, false);
    levada_context_show(context, 1, "ready", stats.ready, false);
    levada_context_show(context, 2, "incomplete", stats.incomplete, false);
    levada_context_show(context, 3, "unsaved", stats.unsaved, false);
    levada_context_show(context, 4, "unsaved_seconds", stats.oldest_unsaved, true);
    levada_context_show(context, 5, "discarded", stats.discarded, false);
    levada_context_show(context, 6, "dropped_steps", s->records.dropped_steps, false);
}

static levada_status ready_next(levada_unroll_state *s, levada_input *in, levada_block **out,
                                levada_error *err)
{
    levada_ready_state *own = s->own;
    levada_status st = ready_settle(s, err);

    if (st == LEVADA_OK) st = levada_ready_sweep(s, err);
    if (st != LEVADA_OK) return st;
    if (own->dropped) levada_context_dropped(s->records.context, own->dropped);
    own->dropped = 0;
    st = ready_fill(s, in, err);
    if (st == LEVADA_OK) st = ready_take(s, out, err);
    levada_ready_show(s);
    return st;
}

static void ready_take_back(levada_unroll_state *s)
{
    levada_ready_state *own = s->own;
    levada_ready_open *open = own->nopen ? &own->open[own->nopen - 1] : NULL;

    if (!open || open->number + 1 != own->batches) return;
    if (levada_segment_batch_requeue(open->batch, NULL) != LEVADA_OK) return;
    levada_ready_forget(own, open);
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
