/* SPDX-License-Identifier: Apache-2.0 */
/* Named cases of TensorFlow's LooperTest stand at the tests that make the same claim. */
#include "support/coordinators.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define MS INT64_C(1000000)
#define MOST 64

typedef struct loop {
    levada_coordinator *c;
    int                 last; /* the tick that asks for the stop */
    levada_status       start_says, run_says; /* run_says: in the last tick */
    int64_t             slow_ns; /* the first tick takes so long */
    int64_t             at[MOST];
    int                 starts, runs, stops, stops_before_run;
} loop;

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 * MS + t.tv_nsec;
}

static levada_status on_start(void *user, levada_error *err)
{
    loop *l = user;

    l->starts++;
    if (l->start_says != LEVADA_OK) return levada_fail(err, l->start_says, "start");
    return LEVADA_OK;
}

static levada_status on_run(void *user, levada_error *err)
{
    loop *l = user;

    if (l->stops > 0) l->stops_before_run++;
    if (l->runs < MOST) l->at[l->runs] = now();
    if (l->runs == 0 && l->slow_ns > 0) {
        nanosleep(&(struct timespec){ 0, (long)l->slow_ns }, NULL);
    }
    if (++l->runs < l->last) return LEVADA_OK;
    if (l->run_says < 0) return levada_fail(err, l->run_says, "run");
    if (l->run_says > 0) return l->run_says;
    return levada_coordinator_request_stop(l->c, NULL, err);
}

static void on_stop(void *user) { ((loop *)user)->stops++; }

static void start(loop *l, int64_t interval)
{
    levada_looper_options o = LEVADA_LOOPER_OPTIONS_INIT;
    levada_error          err = LEVADA_ERROR_INIT;

    o.interval = interval;
    o.start = on_start;
    o.run = on_run;
    o.stop = on_stop;
    o.user = l;
    o.name = "beat";
    if (levada_looper_start(l->c, &o, &err) != LEVADA_OK) fail_msg("%s", err.message);
}

/* testTargetArgs, testTargetKwargs, testTargetMixedArgs */
static void runs_until_the_stop(void **state)
{
    const int64_t intervals[] = { -1, 0, 1, 100000 };

    (void)state;
    for (size_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
        loop l = { .c = test_coordinator(NULL, 0), .last = 3 };

        start(&l, intervals[i]);
        test_joins(l.c, LEVADA_FOREVER, LEVADA_OK, NULL);
        assert_int_equal(l.starts, 1);
        assert_int_equal(l.runs, 3);
        assert_int_equal(l.stops, 1);
        assert_int_equal(l.stops_before_run, 0);
        levada_coordinator_destroy(&l.c);
    }
}

/* Tick k is never before k intervals, however late the ones before it were: late ticks are made up
 * for one after the other. */
/* Twelve ticks of 5 ms, the first of which takes four intervals; whether one of those after it came
 * without waiting. */
static bool catches_up(void)
{
    loop    l = { .c = test_coordinator(NULL, 0), .last = 12, .slow_ns = 20 * MS };
    int64_t begin = now();
    bool    caught = false;

    start(&l, 5 * MS);
    test_joins(l.c, LEVADA_FOREVER, LEVADA_OK, NULL);
    assert_int_equal(l.runs, 12);
    for (int k = 0; k < 12; k++) assert_true(l.at[k] - begin >= k * 5 * MS);
    for (int k = 2; k < 5; k++) caught = caught || l.at[k] - l.at[k - 1] < 5 * MS;
    levada_coordinator_destroy(&l.c);
    return caught;
}

static void ticks_do_not_drift(void **state)
{
    int turn = 0;

    (void)state;
    while (!catches_up()) assert_true(++turn < 50); /* a busy machine may be late at each of them */
}

static void the_stop_ends_a_long_wait_for_a_tick(void **state)
{
    loop l = { .c = test_coordinator(NULL, 0), .last = MOST };

    (void)state;
    start(&l, INT64_MAX); /* 292 years: the second tick never comes */
    for (int i = 0; i < 100000; i++) {
        char *text = NULL;
        bool  found;

        assert_int_equal(levada_waiters_json(NULL, &text, NULL), LEVADA_OK);
        found = strstr(text, "{\"thread\": \"beat\", \"object\": \"coordinator\", \"waits_for\": "
                             "\"the next tick\"") != NULL;
        levada_string_free(&text);
        if (found) break;
        nanosleep(&(struct timespec){ 0, 100000 }, NULL);
    }
    assert_int_equal(test_stop(l.c, LEVADA_OK, ""), LEVADA_OK);
    test_joins(l.c, LEVADA_FOREVER, LEVADA_OK, NULL);
    assert_int_equal(l.runs, 1);
    assert_int_equal(l.stops, 1);
    levada_coordinator_destroy(&l.c);
}

/* In TensorFlow it is skipped after an error (L9). */
static void the_closing_hook_runs_after_an_error_too(void **state)
{
    loop l = { .c = test_coordinator(NULL, 0), .last = 2, .run_says = LEVADA_EDATA_LOSS };

    (void)state;
    start(&l, -1);
    test_joins(l.c, LEVADA_FOREVER, LEVADA_EDATA_LOSS, "thread 'beat': run");
    assert_int_equal(l.runs, 2);
    assert_int_equal(l.stops, 1);
    levada_coordinator_destroy(&l.c);
    l = (loop){ .c = test_coordinator(NULL, 0), .last = 2, .start_says = LEVADA_EABORTED };
    start(&l, -1);
    test_joins(l.c, LEVADA_FOREVER, LEVADA_EABORTED, "thread 'beat': start");
    assert_int_equal(l.runs, 0);
    assert_int_equal(l.stops, 1);
    levada_coordinator_destroy(&l.c);
}

static void an_error_stops_the_others(void **state)
{
    loop      l = { .c = test_coordinator(NULL, 0), .last = 2, .run_says = LEVADA_EDATA_LOSS };
    test_gate gate = { .open = 1 };

    (void)state;
    test_start_thread(l.c, "other", test_gate_run_until_stop, &gate);
    start(&l, 1);
    test_joins(l.c, LEVADA_FOREVER, LEVADA_EDATA_LOSS, NULL);
    assert_int_equal(gate.left, 1);
    levada_coordinator_destroy(&l.c);
}

static void the_end_of_a_loop_is_no_stop(void **state)
{
    loop l = { .c = test_coordinator(NULL, 0), .last = 4, .run_says = LEVADA_END };

    (void)state;
    start(&l, -1);
    test_joins(l.c, LEVADA_FOREVER, LEVADA_OK, NULL);
    assert_false(levada_coordinator_should_stop(l.c));
    assert_int_equal(l.runs, 4);
    assert_int_equal(l.stops, 1);
    levada_coordinator_destroy(&l.c);
}

/* L10 */
static void a_stopped_coordinator_runs_the_hooks_only(void **state)
{
    const int64_t intervals[] = { -1, 1000 };

    (void)state;
    for (int i = 0; i < 2; i++) {
        loop l = { .c = test_coordinator(NULL, 0), .last = MOST };

        assert_int_equal(test_stop(l.c, LEVADA_OK, ""), LEVADA_OK);
        start(&l, intervals[i]);
        test_joins(l.c, LEVADA_FOREVER, LEVADA_OK, NULL);
        assert_int_equal(l.starts, 1);
        assert_int_equal(l.runs, 0);
        assert_int_equal(l.stops, 1);
        levada_coordinator_destroy(&l.c);
    }
}

/* L1, L2 */
static void refuses_what_can_not_loop(void **state)
{
    levada_coordinator   *c = test_coordinator(NULL, 0);
    levada_looper_options o = LEVADA_LOOPER_OPTIONS_INIT;
    levada_error          err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(levada_looper_start(c, &o, &err), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "a function to run"));
    o.run = on_run;
    assert_int_equal(levada_looper_start(NULL, &o, &err), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "a coordinator"));
    levada_coordinator_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_until_the_stop),
        cmocka_unit_test(ticks_do_not_drift),
        cmocka_unit_test(the_stop_ends_a_long_wait_for_a_tick),
        cmocka_unit_test(the_closing_hook_runs_after_an_error_too),
        cmocka_unit_test(an_error_stops_the_others),
        cmocka_unit_test(the_end_of_a_loop_is_no_stop),
        cmocka_unit_test(a_stopped_coordinator_runs_the_hooks_only),
        cmocka_unit_test(refuses_what_can_not_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
