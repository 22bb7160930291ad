/* SPDX-License-Identifier: Apache-2.0 */
#include "state/ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 300, ROWS = 6, BATCHES = 500, STEPS = 900 };

/* -- the model: where each sequence is, found by looking at all of them */

typedef enum where { READY, TAKEN, FINISHED, DISCARDED, DROPPED } where;

typedef struct entry {
    levada_sequence sequence; /* first: the ledger's */
    int32_t         segment, nsegments;
    where           where;
} entry;

typedef struct batch {
    levada_taken     taken; /* first: the ledger's */
    levada_sequence *rows[ROWS];
    entry           *entries[ROWS];
    int64_t          n;
    bool             open, cancelled, abandoned, cut;
} batch;

typedef struct model {
    levada_ledger ledger;
    entry         entries[MOST];
    batch         batches[BATCHES];
    int64_t       n, nbatches, segments;
    uint64_t      state;
} model;

static int64_t draw(model *m, int64_t n)
{
    m->state = m->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((m->state >> 33) % (uint64_t)n);
}

static bool continues(const entry *e) { return e->segment + 1 < e->nsegments; }

static int64_t count(const model *m, where at)
{
    int64_t n = 0;

    for (int64_t i = 0; i < m->n; i++) n += m->entries[i].where == at;
    return n;
}

/* Rows of an open batch that have a next segment. */
static int64_t waiting(const batch *b)
{
    int64_t n = 0;

    for (int64_t i = 0; b->open && !b->cut && i < b->n; i++) n += continues(b->entries[i]);
    return n;
}

/* Nobody can do anything any more: all capacity is that of abandoned rows. */
static bool is_stuck(const model *m)
{
    int64_t live = count(m, READY), abandoned = 0;

    for (int64_t i = 0; i < m->nbatches; i++) {
        live += waiting(&m->batches[i]);
        if (m->batches[i].open && !m->batches[i].abandoned) return false;
        abandoned += waiting(&m->batches[i]);
    }
    return abandoned > 0 && m->ledger.capacity >= 0 && live >= m->ledger.capacity;
}

/* What a take of `want` is told while `entering` sequences wait for capacity. */
static levada_ledger_answer model_ask(const model *m, int64_t want, int64_t entering, int64_t *n)
{
    const levada_ledger *l = &m->ledger;
    int64_t              ready = count(m, READY), coming = is_stuck(m) ? 0 : entering, lost = 0;

    for (int64_t i = 0; i < m->nbatches; i++) {
        *(m->batches[i].abandoned ? &lost : &coming) += waiting(&m->batches[i]);
    }
    *n = want;
    if (ready >= want && (want > 0 || !l->closed)) return LEVADA_LEDGER_NOW;
    if (!l->closed && !is_stuck(m)) return LEVADA_LEDGER_WAIT;
    if (want == 0 && ready + coming > 0) return LEVADA_LEDGER_NOW;
    if (l->closed && l->small && ready > 0) {
        *n = ready;
        return LEVADA_LEDGER_NOW;
    }
    if (l->closed && coming > 0 && (l->small || ready + coming >= want)) return LEVADA_LEDGER_WAIT;
    return lost > 0 ? LEVADA_LEDGER_ABANDONED : LEVADA_LEDGER_DRAINED;
}

static void answers_agree(model *m)
{
    int64_t       want = draw(m, ROWS + 1), entering = draw(m, 3), n = -1, got = -1, total = -1;
    levada_ledger copy = m->ledger;
    levada_ledger_answer answer = model_ask(m, want, entering, &n);

    assert_int_equal(levada_ledger_ask(&copy, want, entering, &got, &total), answer);
    if (answer == LEVADA_LEDGER_NOW) assert_int_equal(got, n);
    assert_int_equal(copy.ended, m->ledger.ended || (answer == LEVADA_LEDGER_DRAINED &&
                                                     !m->ledger.small && want > 0));
}

static void agree(const model *m)
{
    const batch *oldest = NULL;
    const levada_ledger_counts *c = &m->ledger.counts;
    const levada_sequence      *ready = m->ledger.ready;
    int64_t                     live = 0, incomplete = 0, unsaved = 0, abandoned = 0;

    for (int64_t i = 0; i < m->n; i++) {
        const entry *e = &m->entries[i];
        bool         holds = e->where == READY || (e->where == TAKEN && continues(e));

        assert_int_equal(e->sequence.number, i);
        assert_int_equal(e->sequence.live, holds);
        live += holds;
        incomplete += holds ? e->nsegments - e->segment - 1 : 0;
        if (e->where != READY) continue;
        assert_ptr_equal(ready, &e->sequence); /* in the order of their numbers */
        assert_int_equal(ready->segment, e->segment);
        ready = ready->next;
    }
    assert_null(ready);
    assert_true(m->ledger.ready == NULL || m->ledger.ready_last->next == NULL);
    for (int64_t i = 0; i < m->nbatches; i++) {
        if (oldest == NULL && waiting(&m->batches[i]) > 0) oldest = &m->batches[i];
        unsaved += waiting(&m->batches[i]);
        abandoned += m->batches[i].abandoned ? waiting(&m->batches[i]) : 0;
    }
    assert_ptr_equal(levada_ledger_oldest(&m->ledger), oldest);
    assert_int_equal(c->ready, count(m, READY));
    assert_int_equal(c->live, live);
    assert_int_equal(c->incomplete, m->ledger.cancelled ? 0 : incomplete);
    assert_int_equal(c->unsaved, unsaved);
    assert_int_equal(c->abandoned, abandoned);
    assert_int_equal(c->inserted, m->n);
    assert_int_equal(c->finished, count(m, FINISHED));
    assert_int_equal(c->discarded, count(m, DISCARDED));
    assert_int_equal(c->dropped, count(m, DROPPED));
    assert_int_equal(c->segments, m->segments);
}

/* -- the same operations on both */

static void enter(model *m)
{
    entry *e = &m->entries[m->n];

    if (m->n == MOST || levada_ledger_is_full(&m->ledger)) return;
    e->nsegments = e->sequence.nsegments = 1 + (int32_t)draw(m, 4);
    m->n++;
    levada_ledger_enter(&m->ledger, &e->sequence);
}

static void take(model *m)
{
    batch  *b = &m->batches[m->nbatches];
    int64_t want = 1 + draw(m, ROWS), n = -1, total = -1;

    if (m->nbatches == BATCHES) return;
    if (levada_ledger_ask(&m->ledger, want, 0, &n, &total) != LEVADA_LEDGER_NOW) return;
    m->nbatches++;
    b->taken.rows = b->rows;
    b->open = true;
    b->n = n;
    levada_ledger_take(&m->ledger, &b->taken, n);
    for (int64_t i = 0, k = 0; i < n; k++) {
        entry *e = &m->entries[k];

        if (e->where != READY) continue;
        assert_ptr_equal(b->rows[i], &e->sequence);
        b->entries[i++] = e;
        e->where = m->ledger.cancelled && continues(e) ? DROPPED : TAKEN;
        b->cut = b->cut || e->where == DROPPED;
    }
    m->segments += n;
    assert_int_equal(b->taken.cut, b->cut);
}

static void save(model *m, batch *b)
{
    levada_sequence *finished = NULL;
    int64_t          n = 0;

    if (b->cut) return; /* its owner refuses */
    levada_ledger_save(&m->ledger, &b->taken, &finished);
    for (int64_t i = 0; i < b->n; i++) {
        entry *e = b->entries[i];

        e->where = continues(e) ? READY : FINISHED;
        if (e->where == READY) e->segment++;
        else n++;
    }
    for (; finished != NULL; finished = finished->next) n--;
    assert_int_equal(n, 0);
    assert_int_equal(b->taken.n, 0);
    b->open = false;
}

static void give_back(model *m, batch *b)
{
    levada_ledger_return(&m->ledger, &b->taken);
    for (int64_t i = 0; i < b->n; i++) b->entries[i]->where = READY;
    m->segments -= b->n;
    assert_int_equal(b->taken.n + b->taken.ncontinuing, 0);
    assert_false(levada_ledger_abandon(&m->ledger, &b->taken)); /* nothing is left to abandon */
    b->open = b->cancelled = false;
}

static void drop(model *m, batch *b)
{
    levada_ledger_drop(&m->ledger, &b->taken);
    for (int64_t i = 0; i < b->n; i++) {
        if (b->entries[i]->where == TAKEN) b->entries[i]->where = DISCARDED;
    }
    b->open = false;
}

static void abandon(model *m, batch *b)
{
    int64_t left = waiting(b);

    assert_int_equal(levada_ledger_abandon(&m->ledger, &b->taken), left > 0);
    for (int64_t i = 0; i < b->n; i++) {
        if (!continues(b->entries[i])) b->entries[i]->where = FINISHED;
    }
    b->abandoned = left > 0;
    b->open = left > 0;
}

static void cancel(model *m)
{
    levada_taken *cancelled = NULL;
    int64_t       n = 0;

    if (m->ledger.cancelled) return;
    m->ledger.closed = true;
    levada_ledger_cancel(&m->ledger, &cancelled);
    for (int64_t k = 0; k < m->nbatches; k++) {
        batch *b = &m->batches[k];

        if (waiting(b) == 0) continue;
        for (int64_t i = 0; i < b->n; i++) {
            b->entries[i]->where = continues(b->entries[i]) ? DROPPED : FINISHED;
        }
        b->open = false;
        b->cancelled = !b->abandoned;
        n++;
    }
    for (; cancelled != NULL; cancelled = cancelled->next) n--;
    assert_int_equal(n, 0);
}

static void end_a_batch(model *m)
{
    batch *b = m->nbatches > 0 ? &m->batches[draw(m, m->nbatches)] : NULL;

    if (b != NULL && b->cancelled && draw(m, 2) == 0) give_back(m, b);
    if (b == NULL || !b->open || b->abandoned) return;
    switch (draw(m, 40)) {
    case 0: abandon(m, b); break;
    case 1: case 2: case 3: drop(m, b); break;
    case 4: case 5: case 6: give_back(m, b); break;
    default: save(m, b);
    }
}

static void step(model *m)
{
    int64_t kind = draw(m, 10);

    if (kind < 3 && !m->ledger.closed) enter(m);
    else if (kind < 6) take(m);
    else end_a_batch(m);
}

static void random_operations_agree_with_a_model(void **state)
{
    model *m = malloc(sizeof *m);

    (void)state;
    assert_non_null(m);
    for (uint64_t seed = 0; seed < 200; seed++) {
        memset(m, 0, sizeof *m);
        m->state = seed;
        m->ledger.capacity = seed % 3 == 0 ? -1 : 2 + draw(m, 30);
        m->ledger.small = seed % 2 == 0;
        for (int64_t i = 0, close = draw(m, STEPS), cut = draw(m, 2 * STEPS); i < STEPS; i++) {
            if (i == close) m->ledger.closed = true;
            if (i == cut) cancel(m);
            step(m);
            agree(m);
            answers_agree(m);
        }
    }
    free(m);
}

/* -- the end */

static void ask(levada_ledger *l, int64_t want, int64_t waits, levada_ledger_answer expected)
{
    int64_t n = 0, total = 0;

    assert_int_equal(levada_ledger_ask(l, want, waits, &n, &total), expected);
}

static void a_take_waits_while_segments_may_come(void **state)
{
    levada_ledger   l = { .capacity = 2 };
    levada_sequence e[2] = { { .nsegments = 2 }, { .nsegments = 1 } }, *rows[2];
    levada_taken    t = { .rows = rows };

    (void)state;
    ask(&l, 1, 0, LEVADA_LEDGER_WAIT);
    levada_ledger_enter(&l, &e[0]);
    levada_ledger_take(&l, &t, 1);
    l.closed = true;
    ask(&l, 1, 0, LEVADA_LEDGER_WAIT); /* the second segment */
    ask(&l, 2, 0, LEVADA_LEDGER_DRAINED);
    assert_true(l.ended);
    ask(&l, 2, 1, LEVADA_LEDGER_WAIT); /* one waits to enter */
    l.counts.reserved = 1;
    ask(&l, 2, 0, LEVADA_LEDGER_WAIT);
    l.counts.reserved = 0;
    assert_true(levada_ledger_abandon(&l, &t));
    ask(&l, 1, 0, LEVADA_LEDGER_ABANDONED);
}

static void abandoned_sequences_that_fill_it_end_takes(void **state)
{
    levada_ledger   l = { .capacity = 1 };
    levada_sequence e = { .nsegments = 2 }, *rows[1];
    levada_taken    t = { .rows = rows };

    (void)state;
    levada_ledger_enter(&l, &e);
    assert_true(levada_ledger_is_full(&l));
    levada_ledger_take(&l, &t, 1);
    ask(&l, 1, 3, LEVADA_LEDGER_WAIT);
    assert_int_equal(levada_ledger_entering(&l, 3), 3);
    assert_true(levada_ledger_abandon(&l, &t));
    assert_int_equal(levada_ledger_entering(&l, 3), 0);
    ask(&l, 1, 3, LEVADA_LEDGER_ABANDONED);
    l.counts.reserved = 1; /* its sequence enters without capacity */
    ask(&l, 1, 3, LEVADA_LEDGER_WAIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations_agree_with_a_model),
        cmocka_unit_test(a_take_waits_while_segments_may_come),
        cmocka_unit_test(abandoned_sequences_that_fill_it_end_takes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
