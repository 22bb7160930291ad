/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State savers with many threads.
 *
 * - Random calls of several threads, one at a time, against a sequential model of what is live:
 *   every batch has exactly the rows that the model would return.
 * - Inserters and consumers without any order between them (upstream's test with 32 and 100
 *   threads): every segment comes once, with its state, also where steps fail at random.
 */
#include "support/length.h"
#include "support/queues.h"
#include "support/savers.h"

#include <levada/levada.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* -- against a model --------------------------------------------------------------------------- */

enum { MOST = 4096, HELD = 6, CAPACITY = 12, UNROLL = 2 };

typedef struct model_example {
    int64_t k, segment, count;
    enum { GONE, READY, TAKEN } where;
    bool counted; /* holds capacity */
} model_example;

typedef struct model {
    pthread_mutex_t     mutex;
    levada_state_saver *saver;
    uint64_t            random;
    model_example       all[MOST]; /* in the order of inserts */
    int64_t             n, next_key, live;
    bool                closed, cancelled, small;
    struct {
        levada_segment_batch *batch;
        int64_t               rows[8], n;
        bool                  dead; /* cancelled */
        bool                  cut;  /* taken after a cancel, and a row had a next segment */
    } held[HELD];
    int64_t takes, rows;
} model;

static uint64_t model_draw(model *m, uint64_t n)
{
    m->random = m->random * 6364136223846793005u + 1442695040888963407u;
    return (m->random >> 33) % n;
}

static void model_insert(model *m)
{
    model_example e = { m->next_key, 0, 1 + (int64_t)model_draw(m, 4), READY, true };
    levada_status st = test_saver_insert(m->saver, e.k, e.count * UNROLL, -1, false, 0, NULL);

    if (m->closed) {
        assert_int_equal(st, LEVADA_ECANCELLED);
    } else if (m->live >= CAPACITY) {
        assert_int_equal(st, LEVADA_EDEADLINE_EXCEEDED);
    } else {
        assert_int_equal(st, LEVADA_OK);
        m->all[m->n++] = e;
        m->live++;
        m->next_key++;
    }
}

static int64_t model_count(const model *m, int where)
{
    int64_t n = 0;

    for (int64_t i = 0; i < m->n; i++) n += (int)m->all[i].where == where;
    return n;
}

/* What the model returns for n: rows and their number, or a status. */
static levada_status model_take(model *m, int64_t n, int64_t *rows, int64_t *got)
{
    int64_t ready = model_count(m, READY), coming = 0;

    for (int64_t i = 0; i < m->n; i++) coming += m->all[i].where == TAKEN && m->all[i].counted;
    *got = n;
    if (ready < n) {
        if (!m->closed) return LEVADA_EDEADLINE_EXCEEDED;
        if (m->small && ready > 0) *got = ready;
        else if (coming > 0 && (m->small || ready + coming >= n)) return LEVADA_EDEADLINE_EXCEEDED;
        else return LEVADA_EOUT_OF_RANGE;
    }
    if (n == 0 && m->closed && ready + coming == 0) return LEVADA_EOUT_OF_RANGE;
    for (int64_t i = 0, r = 0; r < *got; i++) {
        model_example *e = &m->all[i];

        if (e->where != READY) continue;
        rows[r++] = i;
        e->where = TAKEN;
        if (e->segment + 1 == e->count || m->cancelled) {
            e->counted = false;
            m->live--;
        }
    }
    return LEVADA_OK;
}

/* Whether a row of the batch would have a next segment: after a cancel no state is saved. */
static bool model_continues(const model *m, int slot)
{
    for (int64_t i = 0; i < m->held[slot].n; i++) {
        const model_example *e = &m->all[m->held[slot].rows[i]];

        if (e->segment + 1 < e->count) return true;
    }
    return false;
}

static void model_next(model *m, int slot)
{
    int64_t       n = (int64_t)model_draw(m, 6), rows[8], got = 0, k[8], segment[8];
    levada_status st, want = model_take(m, n, rows, &got);
    levada_error  err = LEVADA_ERROR_INIT;

    m->held[slot].batch = test_saver_wait(m->saver, n, 0, &st, &err);
    if (st != want) {
        fail_msg("%s, not %s: %s", levada_status_name(st), levada_status_name(want), err.message);
    }
    if (st != LEVADA_OK) return;
    assert_int_equal(test_batch_rows(m->held[slot].batch, k, segment), got);
    m->takes++;
    m->rows += got;
    m->held[slot].n = got;
    m->held[slot].dead = m->held[slot].cut = false;
    for (int64_t i = 0; i < got; i++) {
        assert_int_equal(k[i], m->all[rows[i]].k);
        assert_int_equal(segment[i], m->all[rows[i]].segment);
        m->held[slot].rows[i] = rows[i];
        if (m->cancelled) m->all[rows[i]].where = GONE;
    }
    m->held[slot].cut = m->cancelled && model_continues(m, slot);
}

static void model_save(model *m, int slot)
{
    levada_status st = test_batch_save(m->held[slot].batch, NULL);

    if (m->held[slot].dead || m->held[slot].cut) {
        assert_int_equal(st, LEVADA_ECANCELLED);
        return;
    }
    assert_int_equal(st, LEVADA_OK);
    for (int64_t i = 0; i < m->held[slot].n; i++) {
        model_example *e = &m->all[m->held[slot].rows[i]];

        if (e->where != TAKEN) continue;
        if (++e->segment < e->count) e->where = READY;
        else e->where = GONE;
    }
}

static void model_requeue(model *m, int slot)
{
    levada_status st = levada_segment_batch_requeue(m->held[slot].batch, NULL);

    if (m->held[slot].dead) {
        assert_int_equal(st, LEVADA_ECANCELLED);
        return;
    }
    assert_int_equal(st, LEVADA_OK);
    for (int64_t i = 0; i < m->held[slot].n; i++) {
        model_example *e = &m->all[m->held[slot].rows[i]];

        e->where = READY;
        if (e->counted) continue;
        e->counted = true;
        m->live++;
    }
}

static void model_discard(model *m, int slot)
{
    assert_int_equal(levada_segment_batch_discard(m->held[slot].batch, NULL), LEVADA_OK);
    for (int64_t i = 0; i < m->held[slot].n && !m->held[slot].dead; i++) {
        model_example *e = &m->all[m->held[slot].rows[i]];

        e->where = GONE;
        if (e->counted) m->live--;
        e->counted = false;
    }
}

static void model_close(model *m, bool cancel)
{
    levada_status st = levada_state_saver_close(m->saver, cancel, NULL);

    assert_int_equal(st, m->closed && !cancel ? LEVADA_ECANCELLED : LEVADA_OK);
    m->closed = true;
    if (!cancel || m->cancelled) return;
    m->cancelled = true;
    for (int slot = 0; slot < HELD; slot++) {
        if (m->held[slot].batch == NULL || !model_continues(m, slot)) continue;
        m->held[slot].dead = true;
        for (int64_t i = 0; i < m->held[slot].n; i++) {
            model_example *e = &m->all[m->held[slot].rows[i]];

            if (e->counted) m->live--;
            e->counted = false;
            e->where = GONE;
        }
    }
}

static void model_step(model *m)
{
    int      slot = (int)model_draw(m, HELD);
    uint64_t what = model_draw(m, 1000);

    if (what < 400) model_insert(m);
    else if (what == 400 && model_draw(m, 4) == 0) model_close(m, false);
    else if (what == 401 && model_draw(m, 4) == 0) model_close(m, true);
    else if (m->held[slot].batch == NULL) model_next(m, slot);
    else {
        if (what < 850) model_save(m, slot);
        else if (what < 940 || m->cancelled) model_requeue(m, slot);
        else model_discard(m, slot);
        levada_segment_batch_destroy(&m->held[slot].batch);
    }
    levada_state_saver_stats stats = test_saver_stats(m->saver);
    assert_int_equal(stats.live, m->live);
    assert_int_equal(stats.ready, model_count(m, READY));
}

static void *model_thread(void *user)
{
    model *m = user;

    for (int i = 0; i < 300; i++) {
        pthread_mutex_lock(&m->mutex);
        model_step(m);
        pthread_mutex_unlock(&m->mutex);
    }
    return NULL;
}

static void calls_of_several_threads_equal_a_sequential_model(void **state)
{
    static model m;
    int64_t      takes = 0, rounds = 40 * t_length();

    (void)state;
    for (int64_t round = 0; round < rounds; round++) {
        levada_state_saver_options o = test_saver_options(1, UNROLL);
        pthread_t                  threads[4];

        memset(&m, 0, sizeof(m));
        pthread_mutex_init(&m.mutex, NULL);
        m.random = (uint64_t)round * 77 + 1;
        m.small = o.allow_small_batch = round % 2;
        o.capacity = CAPACITY;
        m.saver = test_saver_of(&o);
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, model_thread, &m);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
        for (int slot = 0; slot < HELD; slot++) levada_segment_batch_destroy(&m.held[slot].batch);
        levada_state_saver_unref(&m.saver);
        pthread_mutex_destroy(&m.mutex);
        takes += m.takes;
    }
    assert_true(takes > rounds * 100);
}

/* -- without order ----------------------------------------------------------------------------- */

enum { INSERTERS = 8, CONSUMERS = 12, EXAMPLES = 60, SEGMENTS = 10 };

typedef struct crowd {
    levada_state_saver *saver;
    atomic_int          seen[INSERTERS * EXAMPLES][SEGMENTS];
    atomic_int          inserters, number, retries;
    bool                fails;
} crowd;

static void *crowd_insert(void *user)
{
    crowd  *c = user;
    int64_t first = (int64_t)atomic_fetch_add(&c->number, 1) * EXAMPLES;

    for (int64_t k = first; k < first + EXAMPLES; k++) {
        levada_error  err = LEVADA_ERROR_INIT;
        levada_status st;

        if (k % 2 == 0)
            assert_int_equal(levada_state_saver_reserve(c->saver, LEVADA_FOREVER, NULL), 0);
        st = test_saver_insert(c->saver, k, 2 * (1 + k % SEGMENTS), k, k % 2 == 0, LEVADA_FOREVER,
                               &err);
        if (st != LEVADA_OK) fail_msg("%s", err.message);
    }
    if (atomic_fetch_sub(&c->inserters, 1) == 1) {
        assert_int_equal(levada_state_saver_close(c->saver, false, NULL), LEVADA_OK);
    }
    return NULL;
}

static void crowd_count(crowd *c, levada_segment_batch *batch)
{
    int64_t k[16], segment[16], n = test_batch_rows(batch, k, segment);

    for (int64_t i = 0; i < n; i++) atomic_fetch_add(&c->seen[k[i]][segment[i]], 1);
}

static void *crowd_consume(void *user)
{
    crowd   *c = user;
    uint64_t random = (uint64_t)(uintptr_t)&random;

    for (;;) {
        levada_status         st;
        levada_error          err = LEVADA_ERROR_INIT;
        levada_segment_batch *batch = test_saver_wait(c->saver, -1, LEVADA_FOREVER, &st, &err);

        if (st == LEVADA_EOUT_OF_RANGE) return NULL;
        if (st != LEVADA_OK) fail_msg("%s", err.message);
        random = random * 6364136223846793005u + 1;
        if (c->fails && random >> 61 == 0) {
            atomic_fetch_add(&c->retries, 1);
            assert_int_equal(levada_segment_batch_requeue(batch, NULL), LEVADA_OK);
        } else {
            crowd_count(c, batch);
            assert_int_equal(test_batch_save(batch, NULL), LEVADA_OK);
        }
        levada_segment_batch_destroy(&batch);
    }
}

/* Every segment of every example once; `small`: to the last one. */
static void crowd_run(bool small, bool fails)
{
    static crowd               c;
    levada_state_saver_options o = test_saver_options(8, 2);
    pthread_t                  inserters[INSERTERS], consumers[CONSUMERS];
    int64_t                    missing = 0;

    memset(&c, 0, sizeof(c));
    o.capacity = 40;
    o.allow_small_batch = small;
    c.fails = fails;
    atomic_init(&c.inserters, INSERTERS);
    c.saver = test_saver_of(&o);
    for (int i = 0; i < CONSUMERS; i++) pthread_create(&consumers[i], NULL, crowd_consume, &c);
    for (int i = 0; i < INSERTERS; i++) pthread_create(&inserters[i], NULL, crowd_insert, &c);
    for (int i = 0; i < INSERTERS; i++) pthread_join(inserters[i], NULL);
    for (int i = 0; i < CONSUMERS; i++) pthread_join(consumers[i], NULL);
    for (int64_t k = 0; k < INSERTERS * EXAMPLES; k++) {
        for (int64_t segment = 0; segment <= k % SEGMENTS; segment++) {
            int seen = atomic_load(&c.seen[k][segment]);

            assert_in_range(seen, 0, 1);
            missing += seen == 0;
        }
    }
    if (small) assert_int_equal(missing, 0);
    else assert_true(missing <= 7 * SEGMENTS); /* of examples that do not fill a batch */
    if (fails) assert_true(atomic_load(&c.retries) > 0);
    assert_int_equal(test_saver_stats(c.saver).dropped > 0, missing > 0);
    levada_state_saver_unref(&c.saver);
}

static void many_threads_get_every_segment_once(void **state)
{
    (void)state;
    crowd_run(true, false);
    crowd_run(false, false);
    crowd_run(true, true);
}

static void *crowd_until_cancelled(void *user)
{
    crowd *c = user;

    for (int64_t k = (int64_t)atomic_fetch_add(&c->number, 1) * 100000;; k++) {
        levada_status st = test_saver_insert(c->saver, k, 2 * (1 + k % SEGMENTS), -1, false,
                                             LEVADA_FOREVER, NULL);

        if (st == LEVADA_ECANCELLED) return NULL;
        assert_int_equal(st, LEVADA_OK);
    }
}

static void *crowd_consume_until_cancelled(void *user)
{
    crowd *c = user;

    for (;;) {
        levada_status         st;
        levada_segment_batch *batch = test_saver_wait(c->saver, -1, LEVADA_FOREVER, &st, NULL);

        if (st == LEVADA_EOUT_OF_RANGE) return NULL;
        assert_int_equal(st, LEVADA_OK);
        st = test_batch_save(batch, NULL);
        assert_true(st == LEVADA_OK || st == LEVADA_ECANCELLED);
        levada_segment_batch_destroy(&batch);
    }
}

/* testStateSaverWithManyInputsReadWriteThread: a cancel in the middle ends all of them. */
static void a_cancel_ends_all_threads(void **state)
{
    static crowd c;

    (void)state;
    for (int64_t round = 0; round < 20 * t_length(); round++) {
        levada_state_saver_options o = test_saver_options(8, 2);
        pthread_t                  threads[16];

        memset(&c, 0, sizeof(c));
        o.capacity = 30;
        c.saver = test_saver_of(&o);
        for (int i = 0; i < 16; i++) {
            pthread_create(&threads[i], NULL,
                           i % 2 ? crowd_until_cancelled : crowd_consume_until_cancelled, &c);
        }
        usleep(2000 * (unsigned)(round % 10));
        assert_int_equal(levada_state_saver_close(c.saver, true, NULL), LEVADA_OK);
        for (int i = 0; i < 16; i++) pthread_join(threads[i], NULL);
        /* What is left is fewer than a batch, and all of it is counted as dropped. */
        assert_in_range(test_saver_stats(c.saver).live, 0, 7);
        assert_int_equal(test_saver_stats(c.saver).live, test_saver_stats(c.saver).ready);
        assert_int_equal(test_saver_stats(c.saver).inserted,
                         test_saver_stats(c.saver).finished + test_saver_stats(c.saver).dropped);
        levada_state_saver_unref(&c.saver);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_several_threads_equal_a_sequential_model),
        cmocka_unit_test(many_threads_get_every_segment_once),
        cmocka_unit_test(a_cancel_ends_all_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
