/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the layout `ready`: its unfinished sequences with their states and keys. Batches
 * whose states are not all saved count as not taken.
 */
#include "base/alloc.h"
#include "batch/unroll_ready.h"
#include "state/damaged.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of a sequence, and of the layout. */
enum { STATE_NUMBER, STATE_SEGMENT, STATE_KEY_SIZE, STATE_EACH };
enum { STATE_SUFFIX, STATE_DISCARDED, STATE_CLOSED, STATE_OVER, STATE_COUNTS };

/* -- saving */

typedef struct state_all {
    const levada_ready_sequence **rows; /* n, ascending by number */
    int64_t n;
    int64_t *numbers; /* STATE_EACH of each */
    uint32_t *stored; /* n, and space for records that wait */
    uint8_t *bytes;   /* states and key of each */
    size_t size;
} state_all;

static int state_order(const void *a, const void *b)
{
    int64_t x = (*(const levada_ready_sequence *const *)a)->sequence.number;
    int64_t y = (*(const levada_ready_sequence *const *)b)->sequence.number;

    return x < y ? -1 : x > y;
}

/* Counts the states; after the end of all batches nothing is left of a sequence. */
static int64_t state_count(const levada_ready_state *own)
{
    int64_t n = own->over ? 0 : own->ledger.counts.ready;

    for (const levada_taken *t = own->ledger.taken; t && !own->over; t = t->next) n += t->n;
    return n;
}

static void state_collect(const levada_ready_state *own, state_all *all)
{
    size_t states = own->at[levada_ready_nstates(own)];
    int64_t n = 0;

    for (const levada_sequence *e = own->ledger.ready; e && n < all->n; e = e->next) {
        all->rows[n++] = (const levada_ready_sequence *)(const void *)e;
    }
    for (const levada_taken *t = own->ledger.taken; t && n < all->n; t = t->next) {
        for (int64_t i = 0; i < t->n; i++) {
            all->rows[n++] = levada_ready_row(levada_ready_batch_of(t), i);
        }
    }
    if (n) qsort(all->rows, (size_t)n, sizeof(*all->rows), state_order);
    for (int64_t i = 0; i < n; i++) {
        const levada_ready_sequence *e = all->rows[i];
        int64_t *to = all->numbers + i * STATE_EACH;

        to[STATE_NUMBER] = e->sequence.number;
        to[STATE_SEGMENT] = e->sequence.segment;
        to[STATE_KEY_SIZE] = (int64_t)e->key_size;
        all->stored[i] = e->record.stored;
        all->size += states + e->key_size;
    }
}

static levada_status state_put(const levada_unroll_state *s, state_all *all,
                               levada_state_writer *to, levada_error *err)
{
    const levada_ready_state *own = s->own;
    const int64_t counts[STATE_COUNTS] = { own->suffix, own->ledger.counts.discarded,
                                           own->ledger.closed, own->over };
    uint8_t *at = all->bytes = levada_alloc(all->size + 1);

    if (!at) return levada_unroll_memory(err);
    for (int64_t i = 0; i < all->n; i++) {
        size_t size = own->at[levada_ready_nstates(own)] + all->rows[i]->key_size;

        memcpy(at, all->rows[i]->bytes, size);
        at += size;
    }
    LEVADA_TRY(levada_state_put_i64(to, "batches", own->batches, err));
    LEVADA_TRY(levada_state_put_i64(to, "discarded", own->dropped, err));
    LEVADA_TRY(levada_state_put_i64s(to, "counts", counts, STATE_COUNTS, err));
    LEVADA_TRY(levada_state_put_i64s(to, "sequences", all->numbers, all->n * STATE_EACH, err));
    LEVADA_TRY(levada_state_put_bytes(to, "states", all->bytes, all->size, err));
    return levada_unroll_records_save(&s->records, all->stored, all->n, to, err);
}

levada_status levada_ready_save(const levada_unroll_state *s, levada_state_writer *to,
                                levada_error *err)
{
    state_all all = { .n = state_count(s->own) };
    size_t n = (size_t)all.n, waiting = (size_t)(s->records.n - s->records.at);
    levada_status st;

    all.rows = levada_alloc(n * sizeof(*all.rows) + 1);
    all.numbers = levada_alloc(n * STATE_EACH * sizeof *all.numbers + 1);
    all.stored = levada_alloc((n + waiting) * sizeof *all.stored + 1);
    if (all.rows && all.numbers && all.stored) {
        state_collect(s->own, &all);
        st = state_put(s, &all, to, err);
    } else {
        st = levada_unroll_memory(err);
    }
    levada_free(all.rows);
    levada_free(all.numbers);
    levada_free(all.stored);
    levada_free(all.bytes);
    return st;
}

/* -- restoring */

typedef struct state_read {
    levada_state_reader *from;
    const int64_t *numbers; /* STATE_EACH of each of n */
    int64_t n;
    const uint8_t *bytes; /* that are left */
    size_t size;
} state_read;

/* Makes the sequence with these numbers, of which `record` was measured again. */
static levada_status state_make(levada_unroll_state *s, state_read *r, const int64_t *numbers,
                                levada_unroll_record *record, levada_error *err)
{
    levada_ready_state *own = s->own;
    size_t states = own->at[levada_ready_nstates(own)];
    int64_t before = numbers > r->numbers ? numbers[STATE_NUMBER - STATE_EACH] : -1;
    int64_t segment = numbers[STATE_SEGMENT], key_size = numbers[STATE_KEY_SIZE];
    levada_ready_sequence *e;
    levada_sequence *row;

    if (numbers[STATE_NUMBER] <= before || numbers[STATE_NUMBER] >= s->records.number ||
        segment < 0 || segment >= record->segments || key_size < 0 || key_size > INT32_MAX) {
        return levada_state_damaged(r->from, "sequences", err,
                                    "sequence %lld of %lld after %lld, segment %lld of %lld",
                                    (long long)numbers[STATE_NUMBER], (long long)s->records.number,
                                    (long long)before, (long long)segment,
                                    (long long)record->segments);
    }
    if (states + (size_t)key_size > r->size) {
        return levada_state_damaged(r->from, "states", err, "%zu bytes, %zu were expected", r->size,
                                    states + (size_t)key_size);
    }
    record->number = numbers[STATE_NUMBER];
    e = levada_ready_create(own, record, r->bytes + states, (size_t)key_size);
    if (!e) return levada_unroll_memory(err);
    memcpy(e->bytes, r->bytes, states);
    r->bytes += states + (size_t)key_size;
    r->size -= states + (size_t)key_size;
    e->sequence.segment = (int32_t)segment;
    own->ledger.counts.incomplete += e->sequence.nsegments - segment - 1;
    levada_ready_add_key(own, e);
    row = &e->sequence;
    levada_ledger_resume(&own->ledger, &row, 1);
    return LEVADA_OK;
}

static levada_status state_get_counts(levada_ready_state *own, levada_state_reader *from,
                                      levada_error *err)
{
    static const int64_t most[STATE_COUNTS] = { LEVADA_COUNT_LIMIT, LEVADA_COUNT_LIMIT, 1, 1 };
    const int64_t *counts = NULL;
    int64_t n = 0;

    LEVADA_TRY(levada_state_get_count(from, "batches", LEVADA_COUNT_LIMIT, &own->batches, err));
    LEVADA_TRY(levada_state_get_count(from, "discarded", LEVADA_COUNT_LIMIT, &own->dropped, err));
    LEVADA_TRY(levada_state_get_i64s(from, "counts", &counts, &n, err));
    if (n != STATE_COUNTS) {
        return levada_state_damaged(from, "counts", err, "%lld numbers, %d were expected",
                                    (long long)n, STATE_COUNTS);
    }
    for (int i = 0; i < STATE_COUNTS; i++) {
        if (counts[i] >= 0 && counts[i] <= most[i]) continue;
        return levada_state_damaged(from, "counts", err, "must be from 0 to %lld, got %lld",
                                    (long long)most[i], (long long)counts[i]);
    }
    own->suffix = counts[STATE_SUFFIX];
    own->ledger.counts.discarded = counts[STATE_DISCARDED];
    own->ledger.closed = counts[STATE_CLOSED] != 0;
    own->over = counts[STATE_OVER] != 0;
    return LEVADA_OK;
}

static levada_status state_get(levada_unroll_state *s, state_read *r, levada_unroll_record *records,
                               levada_error *err)
{
    levada_ready_state *own = s->own;
    const void *bytes = NULL;

    LEVADA_TRY(levada_unroll_records_restore(&s->records, r->from, records, r->n, err));
    LEVADA_TRY(state_get_counts(own, r->from, err));
    LEVADA_TRY(levada_state_get_bytes(r->from, "states", &bytes, &r->size, err));
    r->bytes = bytes;
    own->ledger.counts.inserted = s->records.number;
    for (int64_t i = 0; i < r->n; i++) {
        LEVADA_TRY(state_make(s, r, r->numbers + i * STATE_EACH, &records[i], err));
    }
    if (r->size == 0 && !(own->over && r->n > 0)) return LEVADA_OK;
    return levada_state_damaged(r->from, "states", err, "%zu bytes more than the sequences have",
                                r->size);
}

levada_status levada_ready_restore(levada_unroll_state *s, levada_state_reader *from,
                                   levada_error *err)
{
    state_read r = { .from = from };
    levada_unroll_record *records;
    levada_status st;

    if (levada_state_has(from, "saver")) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the checkpoint was saved by an older version, whose layout=ready had "
                           "its sequences in a state saver; use the version of levada that "
                           "saved it");
    }
    LEVADA_TRY(levada_state_get_i64s(from, "sequences", &r.numbers, &r.n, err));
    if (r.n % STATE_EACH != 0 || r.n > LEVADA_COUNT_LIMIT / (int64_t)sizeof *records) {
        return levada_state_damaged(from, "sequences", err, "%lld numbers", (long long)r.n);
    }
    r.n /= STATE_EACH;
    records = levada_alloc((size_t)r.n * sizeof *records + 1);
    if (!records) return levada_unroll_memory(err);
    st = state_get(s, &r, records, err);
    levada_free(records);
    if (st == LEVADA_OK) levada_ready_show(s);
    return st;
}
