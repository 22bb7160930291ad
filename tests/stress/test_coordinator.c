/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runners, consumers, a looper and a watchdog under one coordinator, with stops, errors and cancels
 * at random moments: what went in comes out, once, and join tells the error if there was one.
 */
#include "support/coordinators.h"
#include "support/queues.h"

#include <levada/watchdog.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define PRODUCERS 3
#define CONSUMERS 3
#define EACH 400
#define ALL (PRODUCERS * EACH)

typedef struct factory {
    levada_queue *queue;
    atomic_int    errors, cancelled, ticks;
    atomic_int    in[ALL], out[ALL];
} factory;

typedef struct worker {
    factory      *f;
    unsigned      seed;
    int64_t       first, next, last; /* values; it ends at `last` */
    levada_status end;
} worker;

static int64_t draw(worker *w, int64_t bound)
{
    return (int64_t)((unsigned)rand_r(&w->seed) % (unsigned)bound);
}

static levada_status produce(void *user, levada_error *err)
{
    worker       *w = user;
    int64_t       values[8], n = 1 + draw(w, 8), done = 0;
    const void   *rows = values;
    levada_status st;

    if (w->next == w->last && w->end < 0) atomic_fetch_add(&w->f->errors, 1);
    if (w->next == w->last && w->end < 0) return levada_fail(err, w->end, "the producer fails");
    if (w->next == w->last) return w->end;
    if (n > w->last - w->next) n = w->last - w->next;
    for (int64_t i = 0; i < n; i++) values[i] = w->next + i;
    st = levada_queue_enqueue_rows(w->f->queue, n, &rows, LEVADA_FOREVER, &done, err);
    for (int64_t i = 0; i < done; i++) atomic_fetch_add(&w->f->in[values[i]], 1);
    w->next += done;
    if (st == LEVADA_ECANCELLED) atomic_fetch_add(&w->f->cancelled, 1);
    return st == LEVADA_ECANCELLED ? LEVADA_AGAIN : st; /* after the stop there is no next time */
}

static levada_status consume(levada_coordinator *c, void *user, levada_error *err)
{
    worker *w = user;
    int64_t values[8], got = 0;
    void   *rows = values;

    (void)c;
    for (;;) {
        levada_status st = levada_queue_dequeue_rows(w->f->queue, 1 + draw(w, 8), true, &rows,
                                                     LEVADA_FOREVER, &got, err);

        if (st == LEVADA_EOUT_OF_RANGE) return LEVADA_OK;
        if (st == LEVADA_ECANCELLED) continue;
        if (st != LEVADA_OK) return st;
        for (int64_t i = 0; i < got; i++) atomic_fetch_add(&w->f->out[values[i]], 1);
    }
}

static levada_status look_around(void *user, levada_error *err)
{
    factory *f = user;
    char    *text = NULL;

    LEVADA_TRY(levada_waiters_json(NULL, &text, err));
    levada_string_free(&text);
    atomic_fetch_add(&f->ticks, 1);
    return LEVADA_OK;
}

static void ignore(void *user, const levada_wait *wait)
{
    (void)user;
    (void)wait;
}

static levada_queue_runner *make_runner(factory *f, worker *in, unsigned seed)
{
    levada_queue_runner_options o = LEVADA_QUEUE_RUNNER_OPTIONS_INIT;
    levada_enqueue_op           ops[PRODUCERS];
    levada_queue_runner        *runner = NULL;

    for (int i = 0; i < PRODUCERS; i++) {
        worker *w = &in[i];

        *w = (worker){ .f = f, .seed = seed + (unsigned)i, .first = i * EACH, .next = i * EACH };
        w->last = w->first + (draw(w, 2) == 0 ? EACH : draw(w, EACH));
        w->end = draw(w, 6) == 0 ? LEVADA_EDATA_LOSS : LEVADA_END;
        ops[i] = (levada_enqueue_op){ produce, w, NULL };
    }
    o.nops = PRODUCERS;
    o.ops = ops;
    assert_int_equal(levada_queue_runner_create(f->queue, &o, &runner, NULL), LEVADA_OK);
    return runner;
}

static void start_looper(levada_coordinator *c, factory *f)
{
    levada_looper_options o = LEVADA_LOOPER_OPTIONS_INIT;

    o.interval = 50000;
    o.run = look_around;
    o.user = f;
    assert_int_equal(levada_looper_start(c, &o, NULL), LEVADA_OK);
}

static levada_watchdog *start_watchdog(bool wanted)
{
    levada_watchdog_options o = LEVADA_WATCHDOG_OPTIONS_INIT;
    levada_watchdog        *watchdog = NULL;

    o.limit = 20000;
    o.cancel = true;
    o.report = ignore;
    if (wanted) assert_int_equal(levada_watchdog_create(NULL, &o, &watchdog, NULL), LEVADA_OK);
    return watchdog;
}

/* Until the runner is done, or until somebody loses patience; cancels now and then. */
static void disturb(levada_queue_runner *runner, levada_queue *queue, worker *me)
{
    int patience = (int)draw(me, 3) == 0 ? (int)draw(me, 20) : 1000000;

    for (int i = 0; i < patience; i++) {
        if (levada_queue_runner_wait(runner, 100000, NULL) == LEVADA_OK) return;
        if (draw(me, 2) == 0) levada_queue_cancel(queue);
    }
}

static void one_round(unsigned seed)
{
    static factory       f;
    worker               in[PRODUCERS], out[CONSUMERS], me = { .seed = seed };
    levada_coordinator  *c = test_coordinator(NULL, 0);
    levada_queue_runner *runner;
    levada_watchdog     *watchdog = start_watchdog(seed % 3 == 0);

    memset(&f, 0, sizeof(f));
    f.queue = test_queue(seed % 2 == 0 ? LEVADA_QUEUE_FIFO : LEVADA_QUEUE_SHUFFLE, 4, 2);
    runner = make_runner(&f, in, seed * 100);
    for (int i = 0; i < CONSUMERS; i++) {
        out[i] = (worker){ .f = &f, .seed = seed * 100 + 50 + (unsigned)i };
        test_start_thread(c, "consumer", consume, &out[i]);
    }
    start_looper(c, &f);
    assert_int_equal(levada_queue_runner_start(runner, c, NULL), LEVADA_OK);
    disturb(runner, f.queue, &me);
    assert_int_equal(levada_coordinator_request_stop(c, NULL, NULL), LEVADA_OK);
    test_joins(c, LEVADA_FOREVER, f.errors > 0 ? LEVADA_EDATA_LOSS : LEVADA_OK, NULL);
    levada_watchdog_destroy(&watchdog);
    levada_queue_runner_destroy(&runner);
    levada_coordinator_destroy(&c);
    for (int i = 0; i < ALL; i++) {
        int went = atomic_load(&f.in[i]);

        assert_in_range(went, 0, 1);
        assert_int_equal(atomic_load(&f.out[i]), went);
    }
    assert_int_equal(levada_queue_size(f.queue), 0);
    levada_queue_unref(&f.queue);
}

static void what_went_in_comes_out_whoever_stops(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 60; seed++) one_round(seed);
}

/* -- many at once ------------------------------------------------------------------------------ */

typedef struct crowd {
    levada_coordinator *c;
    atomic_int          ran;
} crowd;

static levada_status fail_sometimes(levada_coordinator *c, void *user, levada_error *err)
{
    crowd *m = user;
    int    number = atomic_fetch_add(&m->ran, 1);

    if (number % 7 == 3) return levada_fail(err, LEVADA_EABORTED, "number %d", number);
    (void)levada_coordinator_wait_for_stop(c, number % 2 == 0 ? LEVADA_FOREVER : 1000);
    return LEVADA_OK;
}

static void *join_too(void *user)
{
    crowd *m = user;

    /* It may come before the first error: then it joins what is there. */
    return levada_coordinator_join(m->c, LEVADA_FOREVER, false, NULL) <= 0 ? user : NULL;
}

/* Threads that come and go while others join and look. */
static void threads_come_and_go(void **state)
{
    (void)state;
    for (int round = 0; round < 30; round++) {
        crowd     m = { .c = test_coordinator(NULL, 0) };
        pthread_t joiner;
        void     *same = NULL;

        for (int i = 0; i < 20; i++) {
            levada_member *member = NULL;

            test_start_thread(m.c, "one", fail_sometimes, &m);
            assert_int_equal(levada_coordinator_register(m.c, "two", &member, NULL), LEVADA_OK);
            if (i == 10) assert_int_equal(pthread_create(&joiner, NULL, join_too, &m), 0);
            levada_member_end(&member);
        }
        assert_true(levada_coordinator_wait_for_stop(m.c, LEVADA_FOREVER));
        pthread_join(joiner, &same);
        assert_ptr_equal(same, &m);
        test_joins(m.c, LEVADA_FOREVER, LEVADA_EABORTED, "number");
        assert_int_equal(m.ran, 20);
        levada_coordinator_destroy(&m.c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_went_in_comes_out_whoever_stops),
        cmocka_unit_test(threads_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
