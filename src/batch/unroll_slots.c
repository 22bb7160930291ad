/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout `slots` of unroll: a sequence keeps its slot, which is its row of each batch, from its
 * first to its last segment. The slot is filled with the next sequence at once, in the order of
 * slots. So the model keeps one state per row, and resets the rows where is_first. When the input
 * has ended, slots without a sequence are rows of padding.
 *
 * Ranks in step all fill the slots of all ranks, and each makes batches of its own: so all have as
 * many, and a sequence stays with its rank.
 */
#include "base/alloc.h"
#include "batch/unroll_priv.h"
#include "registry/env_priv.h"
#include "run/context.h"
#include "state/damaged.h"

#include <string.h>

typedef struct slots_slot {
    bool used;
    int64_t segment;
    levada_unroll_record record;
} slots_slot;

typedef struct slots_state {
    slots_slot *slots;  /* n of them: batch_size of each rank */
    levada_cut *cuts;   /* of the next batches of all ranks */
    int64_t n, first;   /* first: of this rank */
    uint32_t *stored; /* scratch: slots of the row store */
    int64_t nused, empty; /* empty: rows of padding so far */
} slots_state;

static levada_status slots_open(levada_unroll_state *s, levada_error *err)
{
    const levada_unroll_args *a = s->records.args;
    size_t n = (size_t)(a->batch_size * (a->ranks.n ? a->ranks.at[1] : 1));
    slots_state *own = s->own = levada_alloc_zero(sizeof *own);

    if (!own) return levada_unroll_memory(err);
    own->n = (int64_t)n;
    own->first = a->ranks.n ? a->batch_size * a->ranks.at[0] : 0;
    own->slots = levada_alloc_zero(n * sizeof *own->slots);
    own->cuts = levada_alloc_zero(n * sizeof *own->cuts);
    own->stored = levada_alloc(n * sizeof *own->stored);
    return own->slots && own->cuts && own->stored ? LEVADA_OK : levada_unroll_memory(err);
}

static void slots_close(levada_unroll_state *s)
{
    slots_state *own = s->own;

    if (!own) return;
    levada_free(own->slots);
    levada_free(own->cuts);
    levada_free(own->stored);
    levada_free(own);
}

static void slots_show(const levada_unroll_state *s)
{
    const slots_state *own = s->own;
    const levada_context *context = s->records.context;

    levada_context_set_gauge(context, 0, "slots", own->n, false);
    levada_context_set_gauge(context, 1, "used_slots", own->nused, false);
    levada_context_set_gauge(context, 2, "empty_rows", own->empty, false);
    levada_context_set_gauge(context, 3, "dropped_steps", s->records.dropped_steps, false);
}

/* Fills the free slots in their order. END: the input has ended, and some are free. */
static levada_status slots_fill(levada_unroll_state *s, levada_input *in, levada_error *err)
{
    slots_state *own = s->own;

    for (int64_t i = 0; own->nused < own->n; i++) {
        slots_slot *slot = &own->slots[i];

        if (slot->used) continue;
        LEVADA_TRY(levada_unroll_records_next(&s->records, in, &slot->record, err));
        slot->record.number = s->records.number++;
        slot->segment = 0;
        slot->used = true;
        own->nused++;
    }
    return LEVADA_OK;
}

/* Notes what each slot has of the next batch, and the records of the used slots, in order. */
static void slots_cut(const levada_unroll_state *s)
{
    slots_state *own = s->own;
    int64_t row = 0;

    for (int64_t i = 0; i < own->n; i++) {
        const slots_slot *slot = &own->slots[i];
        levada_cut cut = { .row = -1 };

        if (slot->used) {
            own->stored[row] = slot->record.stored;
            cut = (levada_cut){ .row = row++, .number = slot->record.number,
                                .segment = slot->segment, .segments = slot->record.segments };
            levada_unrolling_place(&s->records.how, slot->record.steps, &cut);
        }
        own->cuts[i] = cut;
    }
}

/* Releases from the store the records of the slots that have emitted their last segment, or of all
 * slots. */
static levada_status slots_release(levada_unroll_state *s, bool all, levada_error *err)
{
    slots_state *own = s->own;
    int64_t n = 0;

    for (int64_t i = 0; i < own->n; i++) {
        const slots_slot *slot = &own->slots[i];

        if (slot->used && (all || slot->segment + 1 == slot->record.segments)) {
            own->stored[n++] = slot->record.stored;
        }
    }
    LEVADA_TRY(levada_unroll_records_release(&s->records, own->stored, n, err));
    own->nused -= n;
    return LEVADA_OK;
}

static void slots_advance(const levada_unroll_state *s)
{
    slots_state *own = s->own;

    for (int64_t i = 0; i < own->n; i++) {
        slots_slot *slot = &own->slots[i];

        if (slot->used && ++slot->segment == slot->record.segments) slot->used = false;
    }
}

static levada_status slots_make(levada_unroll_state *s, const levada_block *rows,
                                levada_block **out, levada_error *err)
{
    const slots_state *own = s->own;
    levada_unroll_records *r = &s->records;
    const levada_spec *spec = NULL;

    LEVADA_TRY(levada_unroll_records_columns(r, rows->spec, &spec, err));
    return levada_unrolling_batch(&r->how, levada_env_pool(r->context->env), rows,
                                  own->cuts + own->first, r->args->batch_size, NULL, spec, out,
                                  err);
}

/* Counts the rows of padding in the batch of this rank. */
static int64_t slots_empty(const levada_unroll_state *s)
{
    const slots_state *own = s->own;
    int64_t n = 0;

    for (int64_t i = 0; i < s->records.args->batch_size; i++) {
        n += own->cuts[own->first + i].row < 0;
    }
    return n;
}

static levada_status slots_emit(levada_unroll_state *s, levada_block **out, levada_error *err)
{
    slots_state *own = s->own;
    levada_block *rows = NULL, *made = NULL;
    int64_t empty;
    levada_status st;

    slots_cut(s);
    empty = slots_empty(s);
    LEVADA_TRY(levada_rowstore_peek(s->records.store, own->stored, own->nused, &rows, err));
    st = slots_make(s, rows, &made, err);
    if (st == LEVADA_OK) st = slots_release(s, false, err);
    if (st == LEVADA_OK) {
        slots_advance(s);
        own->empty += empty;
        *out = made;
        made = NULL;
    }
    levada_block_unref(&made);
    levada_block_unref(&rows);
    return st;
}

/* Drops unfinished sequences when the input has ended and batches would have rows of padding. */
static levada_status slots_drop(levada_unroll_state *s, levada_error *err)
{
    slots_state *own = s->own;
    int64_t n = own->nused;

    LEVADA_TRY(slots_release(s, true, err));
    levada_context_dropped(s->records.context, n);
    for (int64_t i = 0; i < own->n; i++) own->slots[i].used = false;
    return LEVADA_END;
}

static levada_status slots_next(levada_unroll_state *s, levada_input *in, levada_block **out,
                                levada_error *err)
{
    const slots_state *own = s->own;
    levada_status st = slots_fill(s, in, err);

    if (st != LEVADA_OK && st != LEVADA_END) return st;
    if (st == LEVADA_END && (own->nused == 0 || !s->records.args->allow_small_batch)) {
        st = own->nused ? slots_drop(s, err) : LEVADA_END;
    } else {
        st = slots_emit(s, out, err);
    }
    slots_show(s);
    return st;
}

/* -- states: of each slot its segment (-1 = free) and its number; then the records */

static levada_status slots_put(const levada_unroll_state *s, int64_t *at, uint32_t *stored,
                               levada_state_writer *to, levada_error *err)
{
    const slots_state *own = s->own;
    int64_t n = own->n, rows = 0;

    for (int64_t i = 0; i < n; i++) {
        const slots_slot *slot = &own->slots[i];

        at[i] = slot->used ? slot->segment : -1;
        at[n + i] = slot->used ? slot->record.number : -1;
        if (slot->used) stored[rows++] = slot->record.stored;
    }
    LEVADA_TRY(levada_state_put_i64s(to, "segments", at, n, err));
    LEVADA_TRY(levada_state_put_i64s(to, "numbers", at + n, n, err));
    return levada_unroll_records_save(&s->records, stored, rows, to, err);
}

static levada_status slots_save(const levada_unroll_state *s, levada_state_writer *to,
                                levada_error *err)
{
    int64_t n = ((const slots_state *)s->own)->n, waiting = s->records.n - s->records.at;
    int64_t *at = levada_alloc((size_t)n * 2 * sizeof *at);
    uint32_t *stored = levada_alloc((size_t)(n + waiting) * sizeof *stored);
    levada_status st = at && stored ? slots_put(s, at, stored, to, err)
                                    : levada_unroll_memory(err);

    levada_free(at);
    levada_free(stored);
    return st;
}

/* Reads from the lists which slots are used. */
static levada_status slots_read(levada_unroll_state *s, levada_state_reader *from,
                                const int64_t **segments, const int64_t **numbers,
                                levada_error *err)
{
    slots_state *own = s->own;
    int64_t n = 0, m = 0;

    LEVADA_TRY(levada_state_get_i64s(from, "segments", segments, &n, err));
    LEVADA_TRY(levada_state_get_i64s(from, "numbers", numbers, &m, err));
    if (n != own->n || m != n) {
        return levada_state_damaged(from, n != own->n ? "segments" : "numbers", err,
                                    "%lld numbers for %lld slots", (long long)(n != own->n ? n : m),
                                    (long long)own->n);
    }
    own->nused = 0;
    for (int64_t i = 0; i < n; i++) {
        own->slots[i] = (slots_slot){ .used = (*segments)[i] >= 0 };
        own->nused += own->slots[i].used;
    }
    return LEVADA_OK;
}

static levada_status slots_adopt(levada_unroll_state *s, const levada_state_reader *from,
                                 const levada_unroll_record *records, const int64_t *segments,
                                 const int64_t *numbers, levada_error *err)
{
    slots_state *own = s->own;

    for (int64_t i = 0; i < own->n; i++) {
        slots_slot *slot = &own->slots[i];

        if (!slot->used) continue;
        slot->record = *records++;
        slot->record.number = numbers[i];
        slot->segment = segments[i];
        if (numbers[i] < 0 || numbers[i] >= s->records.number) {
            return levada_state_damaged(from, "numbers", err, "sequence %lld of %lld",
                                        (long long)numbers[i], (long long)s->records.number);
        }
        if (slot->segment >= slot->record.segments) {
            return levada_state_damaged(from, "segments", err, "segment %lld of %lld",
                                        (long long)slot->segment, (long long)slot->record.segments);
        }
    }
    return LEVADA_OK;
}

static levada_status slots_restore(levada_unroll_state *s, levada_state_reader *from,
                                   levada_error *err)
{
    const slots_state *own = s->own;
    const int64_t *segments = NULL, *numbers = NULL;
    levada_unroll_record *records;
    levada_status st;

    LEVADA_TRY(slots_read(s, from, &segments, &numbers, err));
    records = levada_alloc((size_t)own->nused * sizeof *records + 1);
    if (!records) return levada_unroll_memory(err);
    st = levada_unroll_records_restore(&s->records, from, records, own->nused, err);
    if (st == LEVADA_OK) st = slots_adopt(s, from, records, segments, numbers, err);
    levada_free(records);
    if (st == LEVADA_OK) slots_show(s);
    return st;
}

const levada_unroll_layout levada_unroll_slots = {
    .open = slots_open,
    .close = slots_close,
    .next = slots_next,
    .save = slots_save,
    .restore = slots_restore,
};
