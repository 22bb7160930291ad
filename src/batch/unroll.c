/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unroll - long sequences as batches of segments, for training with a state that is carried from
 * one segment to the next.
 *
 * A sequence keeps its slot, which is its row of each batch, from its first to its last segment.
 * The slot is filled with the next sequence at once, in the order of slots. So the model keeps one
 * state per row, and resets the rows where is_first. When the input has ended, slots without a
 * sequence are rows of padding.
 *
 * Records wait whole in the row store, by reference, from the arrival of their block until their
 * last segment. Batches depend on the order of records alone.
 */
#include "base/alloc.h"
#include "batch/unrolling.h"
#include "description/columns.h"
#include "registry/env_priv.h"
#include <levada/rowstore.h>

#include <string.h>

#define UNROLL_ROWS  65536
#define UNROLL_STEPS (INT64_C(1) << 28)
#define UNROLL_MOST  INT32_MAX /* segments of a sequence */
#define UNROLL_BAD   (-1)

typedef struct unroll_args {
    int64_t      num_unroll, batch_size, burn_in, shift, min_segment, zero_length;
    const char  *key, *length;
    levada_texts sequences, context, targets;
    bool         pad, allow_small_batch;
} unroll_args;

typedef struct unroll_slot {
    bool     used;
    uint32_t stored; /* its record, in the row store */
    int64_t  number, steps, segment;
    int64_t  segments; /* UNROLL_BAD: the record cannot be cut */
} unroll_slot;

typedef struct unroll_state {
    const levada_context *context;
    const unroll_args    *args;
    levada_unrolling      how;
    levada_rowstore      *store;
    unroll_slot          *slots;   /* batch_size of them */
    levada_cut           *cuts;    /* of the next batch  */
    uint32_t             *stored;  /* scratch: slots of the row store */
    unroll_slot          *waiting; /* records [at, n) of the last block have no slot yet */
    int64_t               at, n, waiting_capacity;
    int64_t               nused;
    int64_t               number; /* of the next sequence */
    levada_derived        columns;
} unroll_state;

static const levada_arg unroll_options[] = {
    LEVADA_ARG(INT, unroll_args, num_unroll, .required = true, .positional = true, .min = 1,
               .max = UNROLL_STEPS, .doc = "steps of a segment"),
    LEVADA_ARG(INT, unroll_args, batch_size, .required = true, .min = 1, .max = UNROLL_ROWS,
               .doc = "slots: sequences that are read at the same time, one per row of the batch"),
    LEVADA_ARG(TEXTS, unroll_args, sequences,
               .doc = "fields to cut, which have the same length in each record; null = all with "
                      "one ragged level"),
    LEVADA_ARG(TEXTS, unroll_args, context,
               .doc = "fields to repeat in each segment; null = all others"),
    LEVADA_ARG(TEXT, unroll_args, key,
               .doc = "field that names the sequences; null = their number, from 0"),
    LEVADA_ARG(TEXT, unroll_args, length,
               .doc = "integer field: steps of a record; null = as long as its sequences"),
    LEVADA_ARG(INT, unroll_args, burn_in, .otherwise = "0", .min = 0, .max = UNROLL_STEPS,
               .doc = "last steps of a segment that the next one repeats; loss_mask is false at "
                      "steps that were in the segment before"),
    LEVADA_ARG(INT, unroll_args, shift, .otherwise = "0", .min = 0, .max = UNROLL_STEPS,
               .doc = "also FIELD_target: the sequences, that many steps later. Steps without a "
                      "target are dropped"),
    LEVADA_ARG(TEXTS, unroll_args, targets, .doc = "sequences with a target; null = all"),
    LEVADA_ARG(INT, unroll_args, min_segment, .otherwise = "1", .min = 1, .max = UNROLL_STEPS,
               .doc = "fewest new steps of a last segment; shorter ones are dropped, and a "
                      "sequence without any other is dropped and counted"),
    LEVADA_ARG(CHOICE, unroll_args, zero_length, .choices = "error|skip|segment",
               .doc = "records without a step: bad records, skipped and counted, or one empty "
                      "segment"),
    LEVADA_ARG(BOOL, unroll_args, pad, .otherwise = "true",
               .doc = "pad the last segment of a sequence; else records must fill it"),
    LEVADA_ARG(BOOL, unroll_args, allow_small_batch, .otherwise = "true",
               .doc = "at the end of the input go on while any slot has a sequence; else stop when "
                      "one has none, and drop and count the sequences in the others"),
    LEVADA_ARG_END
};

static levada_unrolling unroll_how(const unroll_args *a)
{
    levada_unrolling u = { .width = a->num_unroll, .overlap = a->burn_in, .shift = a->shift,
                           .least = a->min_segment, .zero_length = a->zero_length,
                           .whole = !a->pad, .key = a->key, .length = a->length,
                           .sequences = a->sequences, .context = a->context,
                           .targets = a->targets };

    return u;
}

static levada_status unroll_check(const void *args, const levada_spec *in, levada_spec **out,
                                  levada_error *err)
{
    const unroll_args *a = args;
    levada_unrolling   u = unroll_how(a);

    if (a->burn_in >= a->num_unroll) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "burn_in=%lld must be less than num_unroll=%lld",
                           (long long)a->burn_in, (long long)a->num_unroll);
    }
    if (a->min_segment > a->num_unroll - a->burn_in) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "min_segment=%lld must not exceed the %lld new steps of a segment",
                           (long long)a->min_segment, (long long)(a->num_unroll - a->burn_in));
    }
    if (a->targets.n && !a->shift) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "targets= needs shift=");
    }
    return levada_unrolling_spec(&u, in, out, err);
}

static levada_status unroll_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for the slots");
}

static levada_status unroll_open(void *state, const void *args, const levada_context *context,
                                 levada_error *err)
{
    unroll_state      *s = state;
    const unroll_args *a = args;

    s->context = context;
    s->args = a;
    s->how = unroll_how(a);
    s->slots = levada_alloc_zero((size_t)a->batch_size * sizeof *s->slots);
    s->cuts = levada_alloc_zero((size_t)a->batch_size * sizeof *s->cuts);
    s->stored = levada_alloc((size_t)a->batch_size * sizeof *s->stored);
    if (!s->slots || !s->cuts || !s->stored) return unroll_memory(err);
    return levada_rowstore_create(context, &s->store, err);
}

static void unroll_close(void *state)
{
    unroll_state *s = state;

    levada_rowstore_destroy(&s->store);
    levada_derived_clear(&s->columns);
    levada_free(s->slots);
    levada_free(s->cuts);
    levada_free(s->stored);
    levada_free(s->waiting);
}

/* -- sequences come */

static levada_status unroll_reserve(unroll_state *s, int64_t rows, levada_error *err)
{
    return levada_reserve(&s->waiting, &s->waiting_capacity, rows, sizeof *s->waiting)
               ? LEVADA_OK
               : unroll_memory(err);
}

static levada_status unroll_measure(const unroll_state *s, const levada_block *rows, int64_t row,
                                    unroll_slot *to, levada_error *err)
{
    LEVADA_TRY(levada_unrolling_measure(&s->how, rows, row, &to->steps, err));
    LEVADA_TRY(levada_unrolling_count(&s->how, to->steps, &to->segments, err));
    if (to->segments <= UNROLL_MOST) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "a sequence has too many segments");
}

/* Notes how record `row` is cut. A bad one is rejected when its turn has come. */
static void unroll_note(const unroll_state *s, const levada_block *rows, int64_t row,
                        unroll_slot *to)
{
    if (unroll_measure(s, rows, row, to, NULL) != LEVADA_OK) to->segments = UNROLL_BAD;
}

static levada_status unroll_columns(unroll_state *s, const levada_spec *in,
                                    const levada_spec **out, levada_error *err)
{
    return levada_derived_get(&s->columns, unroll_check, s->args, in, out, err);
}

/* The records of a block wait in the store together, so that it knows what a block still pins. */
static levada_status unroll_arrive(unroll_state *s, const levada_block *block, levada_error *err)
{
    const levada_spec *spec = NULL;
    uint32_t          *stored;
    levada_status      st;

    LEVADA_TRY(unroll_columns(s, block->spec, &spec, err));
    LEVADA_TRY(unroll_reserve(s, block->n, err));
    stored = levada_alloc((size_t)block->n * sizeof *stored + 1);
    if (!stored) return unroll_memory(err);
    st = levada_rowstore_add(s->store, block, 0, block->n, stored, err);
    for (int64_t i = 0; st == LEVADA_OK && i < block->n; i++) {
        s->waiting[i] = (unroll_slot){ .used = true, .stored = stored[i] };
        unroll_note(s, block, i, &s->waiting[i]);
    }
    levada_free(stored);
    if (st != LEVADA_OK) return st;
    s->at = 0;
    s->n = block->n;
    return LEVADA_OK;
}

/* A bad record: the `errors` policy of the iterator skips and counts it, or fails. */
static levada_status unroll_reject(const unroll_state *s, const levada_block *record,
                                   levada_error *err)
{
    levada_error why = LEVADA_ERROR_INIT;
    unroll_slot  none = { 0 };

    if (unroll_measure(s, record, 0, &none, &why) == LEVADA_OK) return LEVADA_OK;
    return levada_context_reject(s->context, record, s->n - s->at, &why, err);
}

/* The next record has no segment, or is bad. */
static levada_status unroll_leave_out(unroll_state *s, levada_error *err)
{
    bool          bad = s->waiting[s->at].segments == UNROLL_BAD;
    levada_block *record = NULL;
    levada_status st = LEVADA_OK;

    LEVADA_TRY(levada_rowstore_take(s->store, &s->waiting[s->at].stored, 1, &record, err));
    s->at++;
    if (bad) st = unroll_reject(s, record, err);
    else levada_context_dropped(s->context, 1);
    levada_block_unref(&record);
    return st;
}

/* Assigns the slot to the next record that has segments. */
static levada_status unroll_refill(unroll_state *s, unroll_slot *to, levada_input *in,
                                   levada_error *err)
{
    for (;;) {
        levada_block *block = NULL;
        levada_status st;

        while (s->at < s->n && s->waiting[s->at].segments <= 0) {
            LEVADA_TRY(unroll_leave_out(s, err));
        }
        if (s->at < s->n) break;
        LEVADA_TRY(levada_input_next(in, &block, err));
        st = unroll_arrive(s, block, err);
        levada_block_unref(&block);
        LEVADA_TRY(st);
    }
    *to = s->waiting[s->at++];
    to->number = s->number++;
    s->nused++;
    return LEVADA_OK;
}

/* Fills the free slots in their order. END: the input has ended, and some are free. */
static levada_status unroll_fill(unroll_state *s, levada_input *in, levada_error *err)
{
    for (int64_t i = 0; s->nused < s->args->batch_size; i++) {
        if (!s->slots[i].used) LEVADA_TRY(unroll_refill(s, &s->slots[i], in, err));
    }
    return LEVADA_OK;
}

/* -- batches leave */

/* What each slot has of the next batch; the records of the used ones, in order. */
static void unroll_cut(unroll_state *s)
{
    int64_t row = 0;

    for (int64_t i = 0; i < s->args->batch_size; i++) {
        const unroll_slot *slot = &s->slots[i];
        levada_cut         cut = { .row = -1 };

        if (slot->used) {
            s->stored[row] = slot->stored;
            cut = (levada_cut){ .row = row++, .number = slot->number, .segment = slot->segment,
                                .segments = slot->segments };
            levada_unrolling_place(&s->how, slot->steps, &cut);
        }
        s->cuts[i] = cut;
    }
}

/* The records of the slots that have emitted their last segment, or of all, leave the store. */
static levada_status unroll_release(unroll_state *s, bool all, levada_error *err)
{
    levada_block *gone = NULL;
    int64_t       n = 0;

    for (int64_t i = 0; i < s->args->batch_size; i++) {
        const unroll_slot *slot = &s->slots[i];

        if (slot->used && (all || slot->segment + 1 == slot->segments)) {
            s->stored[n++] = slot->stored;
        }
    }
    if (n == 0) return LEVADA_OK;
    LEVADA_TRY(levada_rowstore_take(s->store, s->stored, n, &gone, err));
    levada_block_unref(&gone);
    s->nused -= n;
    return LEVADA_OK;
}

static void unroll_advance(unroll_state *s)
{
    for (int64_t i = 0; i < s->args->batch_size; i++) {
        unroll_slot *slot = &s->slots[i];

        if (slot->used && ++slot->segment == slot->segments) slot->used = false;
    }
}

static levada_status unroll_emit(unroll_state *s, levada_block **out, levada_error *err)
{
    const levada_spec *spec = NULL;
    levada_block      *rows = NULL, *made = NULL;
    levada_status      st;

    unroll_cut(s);
    LEVADA_TRY(levada_rowstore_peek(s->store, s->stored, s->nused, &rows, err));
    st = unroll_columns(s, rows->spec, &spec, err);
    if (st == LEVADA_OK) {
        st = levada_unrolling_batch(&s->how, levada_env_pool(s->context->env), rows, s->cuts,
                                    s->args->batch_size, spec, &made, err);
    }
    if (st == LEVADA_OK) st = unroll_release(s, false, err);
    if (st == LEVADA_OK) {
        unroll_advance(s);
        *out = made;
        made = NULL;
    }
    levada_block_unref(&made);
    levada_block_unref(&rows);
    return st;
}

/* The input has ended, and batches would have rows of padding. */
static levada_status unroll_drop(unroll_state *s, levada_error *err)
{
    int64_t n = s->nused;

    LEVADA_TRY(unroll_release(s, true, err));
    levada_context_dropped(s->context, n);
    for (int64_t i = 0; i < s->args->batch_size; i++) s->slots[i].used = false;
    return LEVADA_END;
}

static levada_status unroll_next(void *state, const void *args, levada_input *in,
                                 levada_block **out, levada_error *err)
{
    unroll_state *s = state;
    levada_status st = unroll_fill(s, in, err);

    (void)args;
    if (st != LEVADA_OK && st != LEVADA_END) return st;
    if (st == LEVADA_END && (s->nused == 0 || !s->args->allow_small_batch)) {
        return s->nused ? unroll_drop(s, err) : LEVADA_END;
    }
    return unroll_emit(s, out, err);
}

/* -- states: of each slot its segment (-1 = free) and its number; then the records of the slots,
 * and those that wait */

static levada_status unroll_put(const unroll_state *s, int64_t *at, uint32_t *stored,
                                levada_state_writer *to, levada_error *err)
{
    int64_t n = s->args->batch_size, rows = 0;

    for (int64_t i = 0; i < n; i++) {
        const unroll_slot *slot = &s->slots[i];

        at[i] = slot->used ? slot->segment : -1;
        at[n + i] = slot->used ? slot->number : -1;
        if (slot->used) stored[rows++] = slot->stored;
    }
    for (int64_t i = s->at; i < s->n; i++) stored[rows++] = s->waiting[i].stored;
    LEVADA_TRY(levada_state_put_i64(to, "number", s->number, err));
    LEVADA_TRY(levada_state_put_i64(to, "waiting", s->n - s->at, err));
    LEVADA_TRY(levada_state_put_i64s(to, "segments", at, n, err));
    LEVADA_TRY(levada_state_put_i64s(to, "numbers", at + n, n, err));
    return levada_rowstore_save(s->store, stored, rows, to, "rows", err);
}

static levada_status unroll_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const unroll_state *s = state;
    int64_t             n = s->args->batch_size;
    int64_t            *at = levada_alloc((size_t)n * 2 * sizeof *at);
    uint32_t           *stored = levada_alloc((size_t)(n + s->n - s->at) * sizeof *stored);
    levada_status st = at && stored ? unroll_put(s, at, stored, to, err) : unroll_memory(err);

    levada_free(at);
    levada_free(stored);
    return st;
}

static levada_status unroll_damaged(levada_error *err)
{
    return levada_fail(err, LEVADA_EDATA_LOSS, "the saved state is damaged");
}

/* The slots, as far as the lists describe them. */
static levada_status unroll_restore_slots(unroll_state *s, levada_state_reader *from,
                                          levada_error *err)
{
    const int64_t *segments = NULL, *numbers = NULL;
    int64_t        n = 0, m = 0;

    LEVADA_TRY(levada_state_get_count(from, "number", LEVADA_COUNT_LIMIT, &s->number, err));
    LEVADA_TRY(levada_state_get_i64s(from, "segments", &segments, &n, err));
    LEVADA_TRY(levada_state_get_i64s(from, "numbers", &numbers, &m, err));
    if (n != s->args->batch_size || m != n) return unroll_damaged(err);
    s->nused = 0;
    for (int64_t i = 0; i < n; i++) {
        bool used = segments[i] >= 0;

        if (used && (numbers[i] < 0 || numbers[i] >= s->number)) return unroll_damaged(err);
        s->slots[i] = (unroll_slot){ .used = used, .segment = used ? segments[i] : 0,
                                     .number = used ? numbers[i] : 0 };
        s->nused += used;
    }
    return LEVADA_OK;
}

/* Measures the records again: those of the slots first. */
static levada_status unroll_restore_rows(unroll_state *s, const uint32_t *stored,
                                         const levada_block *rows, levada_error *err)
{
    const levada_spec *spec = NULL;
    int64_t            row = 0;

    LEVADA_TRY(unroll_columns(s, rows->spec, &spec, err));
    for (int64_t i = 0; i < s->args->batch_size; i++) {
        unroll_slot *slot = &s->slots[i];

        if (!slot->used) continue;
        slot->stored = stored[row];
        unroll_note(s, rows, row++, slot);
        if (slot->segment >= slot->segments) return unroll_damaged(err);
    }
    for (int64_t i = 0; i < s->n; i++) {
        s->waiting[i] = (unroll_slot){ .used = true, .stored = stored[row] };
        unroll_note(s, rows, row++, &s->waiting[i]);
    }
    return LEVADA_OK;
}

static levada_status unroll_restore(void *state, levada_state_reader *from, levada_error *err)
{
    unroll_state *s = state;
    uint32_t     *stored = NULL;
    levada_block *rows = NULL;
    levada_status st;

    LEVADA_TRY(unroll_restore_slots(s, from, err));
    LEVADA_TRY(levada_state_get_count(from, "waiting", INT32_MAX, &s->n, err));
    LEVADA_TRY(levada_rowstore_restore(s->store, from, "rows", s->nused + s->n, &stored, err));
    s->at = 0;
    st = unroll_reserve(s, s->n, err);
    if (st == LEVADA_OK && s->nused + s->n) {
        st = levada_rowstore_peek(s->store, stored, s->nused + s->n, &rows, err);
        if (st == LEVADA_OK) st = unroll_restore_rows(s, stored, rows, err);
    }
    levada_block_unref(&rows);
    levada_slots_free(&stored);
    return st;
}

const levada_stage_def levada_stage_unroll = {
    .struct_size = sizeof(levada_stage_def),
    .name = "unroll",
    .doc = "long sequences in segments of num_unroll steps; each sequence keeps its row of the "
           "batch, so that a model carries its state",
    .example = "text_lines:lines.txt | decode_raw:uint8,field=line | unroll:4,batch_size=2,"
               "zero_length=segment",
    .mode = LEVADA_MODE_SERIAL,
    .rows = LEVADA_ROWS_FREE,
    .batches = true,
    .args = unroll_options,
    .args_size = sizeof(unroll_args),
    .state_size = sizeof(unroll_state),
    .state_version = 1,
    .check = unroll_check,
    .open = unroll_open,
    .close = unroll_close,
    .next = unroll_next,
    .save = unroll_save,
    .restore = unroll_restore,
    .saves = "the sequences in the slots by origin, and the segment of each",
};
