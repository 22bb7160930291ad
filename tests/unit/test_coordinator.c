/* SPDX-License-Identifier: Apache-2.0 */
/* Named cases of TensorFlow's coordinator_test.py stand at the tests that make the same claim. */
#include "runtime/coordinator_priv.h"
#include "support/coordinators.h"
#include "support/deaths.h"
#include "support/queues.h"

#include <levada/binding.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define MS INT64_C(1000000)

/* testStopAPI */
static void a_stop_is_seen_by_all_who_look(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);

    (void)state;
    assert_false(levada_coordinator_should_stop(c));
    assert_false(levada_coordinator_wait_for_stop(c, 0));
    assert_false(levada_coordinator_wait_for_stop(c, 10 * MS));
    assert_int_equal(test_stop(c, LEVADA_OK, ""), LEVADA_OK);
    assert_true(levada_coordinator_should_stop(c));
    assert_true(levada_coordinator_wait_for_stop(c, 10 * MS));
    assert_true(levada_coordinator_wait_for_stop(c, LEVADA_FOREVER));
    levada_coordinator_destroy(&c);
    assert_null(c);
    levada_coordinator_destroy(&c);
}

static levada_status ask(levada_coordinator *c, void *user, levada_error *err)
{
    (void)err;
    test_until(user, 1);
    return levada_coordinator_request_stop(c, NULL, NULL);
}

/* testStopAsync */
static void a_stop_wakes_whoever_waits_for_it(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);
    test_gate           gate = { .open = 1 };
    atomic_int          go = 0;

    (void)state;
    for (int i = 0; i < 3; i++) {
        test_start_thread(c, "waiter", test_gate_run_until_stop, &gate);
    }
    test_start_thread(c, "asker", ask, &go);
    assert_false(levada_coordinator_should_stop(c));
    assert_int_equal(atomic_load(&gate.left), 0);
    atomic_store(&go, 1);
    assert_true(levada_coordinator_wait_for_stop(c, LEVADA_FOREVER));
    test_joins(c, LEVADA_FOREVER, LEVADA_OK, NULL);
    assert_int_equal(gate.left, 3);
    levada_coordinator_destroy(&c);
}

/* testJoin: threads that end by themselves do not ask for the stop. */
static void join_waits_for_threads_that_end_by_themselves(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);
    test_gate           gate = { 0 };

    (void)state;
    for (int i = 0; i < 3; i++) test_start_thread(c, "t", test_gate_run, &gate);
    test_until(&gate.reached, 3);
    assert_false(levada_coordinator_joined(c));
    atomic_store(&gate.open, 1);
    test_joins(c, 0, LEVADA_OK, NULL);
    assert_int_equal(gate.left, 3);
    assert_false(levada_coordinator_should_stop(c));
    assert_true(levada_coordinator_joined(c));
    levada_coordinator_destroy(&c);
}

typedef struct foreign {
    levada_member *member;
    test_gate     *gate;
    pthread_t      thread;
} foreign;

static void *foreign_main(void *user)
{
    foreign *f = user;

    (void)test_gate_run(NULL, f->gate, NULL);
    levada_member_end(&f->member);
    return NULL;
}

/* testJoinAllRegistered, testJoinSomeRegistered */
static void join_waits_for_registered_threads_as_well(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);
    test_gate           gate = { 0 };
    foreign             f[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        f[i].gate = &gate;
        assert_int_equal(levada_coordinator_register(c, "mine", &f[i].member, NULL), LEVADA_OK);
        assert_int_equal(pthread_create(&f[i].thread, NULL, foreign_main, &f[i]), 0);
    }
    test_start_thread(c, "ours", test_gate_run, &gate);
    test_until(&gate.reached, 3);
    atomic_store(&gate.open, 1);
    test_joins(c, 0, LEVADA_OK, NULL);
    assert_int_equal(gate.left, 3);
    for (int i = 0; i < 2; i++) {
        pthread_join(f[i].thread, NULL);
        assert_null(f[i].member);
    }
    levada_coordinator_destroy(&c);
}

static void a_registered_thread_may_end_after_the_coordinator(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);
    levada_member      *m = NULL;

    (void)state;
    assert_int_equal(levada_coordinator_register(c, "late", &m, NULL), LEVADA_OK);
    assert_int_equal(test_stop(c, LEVADA_OK, ""), LEVADA_OK);
    test_joins(c, 0, LEVADA_EDEADLINE_EXCEEDED, "threads still running: late");
    levada_coordinator_destroy(&c);
    levada_member_end(&m);
    assert_null(m);
}

static void join_without_threads_returns_at_once(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);

    (void)state;
    test_joins(c, LEVADA_FOREVER, LEVADA_OK, NULL);
    assert_true(levada_coordinator_joined(c));
    assert_false(levada_coordinator_should_stop(c));
    levada_coordinator_destroy(&c);
}

/* testJoinGraceExpires */
static void threads_that_would_not_stop_are_named(void **state)
{
    const int64_t graces[] = { 0, 1, 2 * MS, 100 * MS };

    (void)state;
    for (size_t i = 0; i < sizeof(graces) / sizeof(graces[0]); i++) {
        levada_coordinator *c = test_coordinator(NULL, 0);
        test_gate           gate = { 0 }, gone = { .open = 1 };
        struct timespec     before, after;

        test_start_thread(c, "sleeper", test_gate_run, &gate);
        test_start_thread(c, "gone", test_gate_run_until_stop, &gone);
        test_start_thread(c, "snorer", test_gate_run, &gate);
        test_until(&gate.reached, 2);
        assert_int_equal(test_stop(c, LEVADA_OK, ""), LEVADA_OK);
        clock_gettime(CLOCK_MONOTONIC, &before);
        test_joins(c, graces[i], LEVADA_EDEADLINE_EXCEEDED,
                   graces[i] == 100 * MS
                       ? "Coordinator stopped with threads still running: sleeper snorer"
                       : "threads still running: sleeper");
        clock_gettime(CLOCK_MONOTONIC, &after); /* never before the grace is used up */
        assert_true((after.tv_sec - before.tv_sec) * 1000 * MS + after.tv_nsec - before.tv_nsec >=
                    graces[i]);
        atomic_store(&gate.open, 1);
        levada_coordinator_destroy(&c); /* waits for them */
        assert_int_equal(gate.left, 2);
    }
}

/* testJoinWithoutGraceExpires */
static void live_threads_are_ignored_where_that_is_asked_for(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);
    test_gate           gate = { 0 };

    (void)state;
    test_start_thread(c, "sleeper", test_gate_run, &gate);
    assert_int_equal(test_stop(c, LEVADA_OK, ""), LEVADA_OK);
    assert_int_equal(levada_coordinator_join(c, MS, true, NULL), LEVADA_OK);
    assert_int_equal(gate.left, 0);
    test_joins(c, LEVADA_FOREVER, LEVADA_OK, NULL); /* the next join does not wait for it */
    atomic_store(&gate.open, 1);
    levada_coordinator_destroy(&c);
}

static levada_status blocked(levada_coordinator *c, void *user, levada_error *err)
{
    int64_t value;
    void   *rows = &value;

    (void)c;
    return levada_queue_dequeue_rows(user, 1, false, &rows, LEVADA_FOREVER, NULL, err);
}

static void join_tells_what_they_wait_for(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);
    levada_queue       *queue = test_queue(LEVADA_QUEUE_FIFO, 3, 0);

    (void)state;
    test_start_thread(c, "reader", blocked, queue);
    test_until_waiting(NULL, 1);
    assert_int_equal(test_stop(c, LEVADA_OK, ""), LEVADA_OK);
    test_joins(c, MS, LEVADA_EDEADLINE_EXCEEDED,
               "still running: reader; reader waits for dequeue(1) in fifo_queue since 0");
    levada_queue_cancel(queue);
    levada_coordinator_destroy(&c);
    levada_queue_unref(&queue);
}

/* What a call gets that the stop has cancelled is not an error of the program. */
static void a_cancelled_call_after_the_stop_is_no_error(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);
    levada_queue       *queue = test_queue(LEVADA_QUEUE_FIFO, 3, 0);

    (void)state;
    test_start_thread(c, "reader", blocked, queue);
    test_until_waiting(NULL, 1);
    assert_int_equal(test_stop(c, LEVADA_OK, ""), LEVADA_OK);
    levada_queue_cancel(queue);
    test_joins(c, LEVADA_FOREVER, LEVADA_OK, NULL);
    levada_coordinator_clear_stop(c);
    test_start_thread(c, "reader", blocked, queue);
    test_until_waiting(NULL, 1);
    levada_queue_cancel(queue); /* without a stop it is one */
    test_joins(c, LEVADA_FOREVER, LEVADA_ECANCELLED, "thread 'reader': ");
    levada_queue_unref(&queue);
    levada_coordinator_destroy(&c);
}

/* testJoinRaiseReportException */
static void the_first_error_wins(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);

    (void)state;
    assert_int_equal(test_stop(c, LEVADA_EINTERNAL, "First"), LEVADA_OK);
    assert_int_equal(test_stop(c, LEVADA_EDATA_LOSS, "Too late"), LEVADA_OK);
    test_joins(c, LEVADA_FOREVER, LEVADA_EINTERNAL, "First");
    test_joins(c, LEVADA_FOREVER, LEVADA_EINTERNAL, "First"); /* it is not consumed */
    assert_int_equal(levada_coordinator_raise_requested(c, NULL), LEVADA_EINTERNAL);
    assert_string_equal(levada_coordinator_error(c, 0)->message, "First");
    assert_string_equal(levada_coordinator_error(c, 1)->message, "Too late");
    assert_null(levada_coordinator_error(c, 2));
    assert_null(levada_coordinator_error(c, -1));
    levada_coordinator_destroy(&c);
}

static levada_status failing(levada_coordinator *c, void *user, levada_error *err)
{
    (void)c;
    return levada_fail(err, LEVADA_EDATA_LOSS, "%s", (const char *)user);
}

static levada_status failing_mutely(levada_coordinator *c, void *user, levada_error *err)
{
    (void)c;
    (void)user;
    (void)err;
    return LEVADA_EABORTED;
}

/* testJoinRaiseReportExceptionUsingHandler */
static void an_error_of_a_thread_stops_all(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);
    test_gate           gate = { .open = 1 };
    char                text[] = "record 3 is damaged";

    (void)state;
    test_start_thread(c, "other", test_gate_run_until_stop, &gate);
    test_start_thread(c, "reader", failing, text);
    test_joins(c, LEVADA_FOREVER, LEVADA_EDATA_LOSS, "thread 'reader': record 3 is damaged");
    assert_int_equal(gate.left, 1);
    levada_coordinator_clear_stop(c);
    test_start_thread(c, "mute", failing_mutely, NULL);
    test_joins(c, LEVADA_FOREVER, LEVADA_EABORTED, "thread 'mute': failed: aborted");
    levada_coordinator_destroy(&c);
}

static void an_error_wins_over_threads_that_still_run(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);
    test_gate           gate = { 0 };

    (void)state;
    test_start_thread(c, "sleeper", test_gate_run, &gate);
    assert_int_equal(test_stop(c, LEVADA_EINTERNAL, "broken"), LEVADA_OK);
    test_joins(c, 0, LEVADA_EINTERNAL, "broken");
    atomic_store(&gate.open, 1);
    levada_coordinator_destroy(&c);
}

/* testJoinIgnoresOutOfRange */
static void out_of_range_is_a_clean_stop(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);

    (void)state;
    assert_int_equal(test_stop(c, LEVADA_EOUT_OF_RANGE, "end"), LEVADA_OK);
    assert_true(levada_coordinator_should_stop(c));
    assert_int_equal(levada_coordinator_raise_requested(c, NULL), LEVADA_OK);
    test_joins(c, LEVADA_FOREVER, LEVADA_OK, NULL);
    levada_coordinator_destroy(&c);
}

/* testJoinIgnoresMyExceptionType: a list takes the place of the usual one. */
static void clean_codes_are_those_that_were_given(void **state)
{
    const levada_status mine[] = { LEVADA_EUNAVAILABLE, LEVADA_EABORTED };
    levada_coordinator *c = test_coordinator(mine, 2);

    (void)state;
    assert_int_equal(test_stop(c, LEVADA_EABORTED, "clean"), LEVADA_OK);
    assert_int_equal(levada_coordinator_raise_requested(c, NULL), LEVADA_OK);
    assert_int_equal(test_stop(c, LEVADA_EOUT_OF_RANGE, "end"), LEVADA_OK);
    test_joins(c, LEVADA_FOREVER, LEVADA_EOUT_OF_RANGE, "end");
    levada_coordinator_destroy(&c);
    c = test_coordinator(mine, 0); /* none at all */
    assert_int_equal(test_stop(c, LEVADA_EABORTED, "error"), LEVADA_OK);
    test_joins(c, LEVADA_FOREVER, LEVADA_EABORTED, "error");
    levada_coordinator_destroy(&c);
}

static void refuses_clean_codes_that_are_no_errors(void **state)
{
    const levada_status none[] = { LEVADA_EABORTED, LEVADA_END };
    levada_coordinator *c = NULL;
    levada_error        err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(levada_coordinator_create(NULL, none, 2, &c, &err), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "clean[1]=1"));
    assert_int_equal(levada_coordinator_create(NULL, none, -1, &c, &err), LEVADA_EINVALID_ARGUMENT);
    assert_null(c);
}

/* In TensorFlow it is lost (C1). */
static void an_error_after_a_clean_stop_is_raised(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);

    (void)state;
    assert_int_equal(test_stop(c, LEVADA_OK, ""), LEVADA_OK);
    assert_int_equal(test_stop(c, LEVADA_EINTERNAL, "real"), LEVADA_OK);
    test_joins(c, LEVADA_FOREVER, LEVADA_EINTERNAL, "real");
    levada_coordinator_destroy(&c);
}

/* testClearStopClearsExceptionToo */
static void clear_stop_forgets_the_error_too(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);

    (void)state;
    assert_int_equal(test_stop(c, LEVADA_EINTERNAL, "First"), LEVADA_OK);
    test_joins(c, LEVADA_FOREVER, LEVADA_EINTERNAL, "First");
    levada_coordinator_clear_stop(c);
    assert_false(levada_coordinator_should_stop(c));
    assert_false(levada_coordinator_joined(c));
    assert_int_equal(levada_coordinator_raise_requested(c, NULL), LEVADA_OK);
    assert_int_equal(test_stop(c, LEVADA_EDATA_LOSS, "Second"), LEVADA_OK);
    test_joins(c, LEVADA_FOREVER, LEVADA_EDATA_LOSS, "Second");
    levada_coordinator_destroy(&c);
}

/* testRequestStopRaisesIfJoined, testRequestStopRaisesIfJoined_ExcInfo */
static void after_join_an_error_goes_to_the_caller(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);

    (void)state;
    test_joins(c, LEVADA_FOREVER, LEVADA_OK, NULL);
    assert_int_equal(test_stop(c, LEVADA_EINTERNAL, "Too late"), LEVADA_EINTERNAL);
    assert_false(levada_coordinator_should_stop(c));
    assert_null(levada_coordinator_error(c, 0));
    assert_int_equal(test_stop(c, LEVADA_EOUT_OF_RANGE, "end"), LEVADA_OK);
    levada_coordinator_clear_stop(c);
    assert_int_equal(test_stop(c, LEVADA_EINTERNAL, "in time"), LEVADA_OK);
    test_joins(c, LEVADA_FOREVER, LEVADA_EINTERNAL, "in time");
    levada_coordinator_destroy(&c);
}

static void expect_state(levada_coordinator *c, levada_coordinator_state state, bool stop,
                         bool joined)
{
    assert_int_equal(atomic_load(&c->state), state);
    assert_int_equal(levada_coordinator_should_stop(c), stop);
    assert_int_equal(levada_coordinator_joined(c), joined);
}

static void its_state_tells_stop_and_join(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);
    levada_member      *m = NULL;

    (void)state;
    expect_state(c, LEVADA_COORDINATOR_NEW, false, false);
    assert_int_equal(levada_coordinator_register(c, "a", &m, NULL), LEVADA_OK);
    expect_state(c, LEVADA_COORDINATOR_RUNNING, false, false);
    assert_int_equal(test_stop(c, LEVADA_OK, ""), LEVADA_OK);
    expect_state(c, LEVADA_COORDINATOR_STOPPING, true, false);
    levada_coordinator_clear_stop(c);
    expect_state(c, LEVADA_COORDINATOR_RUNNING, false, false);
    levada_member_end(&m);
    test_joins(c, LEVADA_FOREVER, LEVADA_OK, NULL);
    expect_state(c, LEVADA_COORDINATOR_ENDED, false, true);
    levada_coordinator_clear_stop(c);
    expect_state(c, LEVADA_COORDINATOR_NEW, false, false);
    assert_int_equal(test_stop(c, LEVADA_OK, ""), LEVADA_OK);
    test_joins(c, LEVADA_FOREVER, LEVADA_OK, NULL);
    expect_state(c, LEVADA_COORDINATOR_STOPPED, true, true);
    levada_coordinator_clear_stop(c);
    assert_int_equal(test_stop(c, LEVADA_EINTERNAL, "x"), LEVADA_OK);
    test_joins(c, LEVADA_FOREVER, LEVADA_EINTERNAL, "x");
    expect_state(c, LEVADA_COORDINATOR_FAILED, true, true);
    levada_coordinator_destroy(&c);
}

static void fail_at_once(void *user)
{
    levada_coordinator_move_locked(user, LEVADA_COORDINATOR_FAILED);
}

static void moves_that_make_no_sense_are_found(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);

    (void)state;
    if (LEVADA_DEBUG) test_aborts(fail_at_once, c, "coordinator_next[from]");
    levada_coordinator_destroy(&c);
}

static levada_status fail_behind_the_gate(levada_coordinator *c, void *user, levada_error *err)
{
    (void)test_gate_run(c, user, err);
    return levada_fail(err, LEVADA_EDATA_LOSS, "late");
}

/* Nobody else would ever see it. */
static void an_error_of_a_thread_after_join_is_for_the_next_join(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);
    test_gate           gate = { 0 };

    (void)state;
    test_start_thread(c, "slow", fail_behind_the_gate, &gate);
    assert_int_equal(test_stop(c, LEVADA_OK, ""), LEVADA_OK);
    test_joins(c, 0, LEVADA_EDEADLINE_EXCEEDED, "slow");
    atomic_store(&gate.open, 1);
    for (int i = 0; i < 100000 && levada_coordinator_error(c, 0) == NULL; i++) {
        nanosleep(&(struct timespec){ 0, 100000 }, NULL);
    }
    test_joins(c, LEVADA_FOREVER, LEVADA_EDATA_LOSS, "thread 'slow': late");
    levada_coordinator_destroy(&c);
}

static levada_status join_it(levada_coordinator *c, void *user, levada_error *err)
{
    (void)err;
    *(levada_status *)user = levada_coordinator_join(c, LEVADA_FOREVER, false, NULL);
    return LEVADA_OK;
}

static void a_thread_of_its_own_cannot_join_it(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);
    levada_status       got = LEVADA_OK;

    (void)state;
    test_start_thread(c, "joiner", join_it, &got);
    test_joins(c, LEVADA_FOREVER, LEVADA_OK, NULL);
    assert_int_equal(got, LEVADA_EFAILED_PRECONDITION);
    levada_coordinator_destroy(&c);
}

typedef struct joiner {
    levada_coordinator *c;
    levada_status       got;
    pthread_t           thread;
} joiner;

static void *joiner_main(void *user)
{
    joiner *j = user;

    j->got = levada_coordinator_join(j->c, LEVADA_FOREVER, false, NULL);
    return NULL;
}

static void two_may_join_at_once(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);
    test_gate           gate = { 0 };
    joiner              j[2] = { { .c = c }, { .c = c } };

    (void)state;
    for (int i = 0; i < 4; i++) test_start_thread(c, "t", test_gate_run_until_stop, &gate);
    for (int i = 0; i < 2; i++) pthread_create(&j[i].thread, NULL, joiner_main, &j[i]);
    test_until_waiting(NULL, 2);
    assert_int_equal(test_stop(c, LEVADA_EABORTED, "enough"), LEVADA_OK);
    atomic_store(&gate.open, 1);
    for (int i = 0; i < 2; i++) {
        pthread_join(j[i].thread, NULL);
        assert_int_equal(j[i].got, LEVADA_EABORTED);
    }
    assert_int_equal(gate.left, 4);
    levada_coordinator_destroy(&c);
}

static void destroy_asks_for_the_stop_and_waits(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);
    test_gate           gate = { .open = 1 };

    (void)state;
    for (int i = 0; i < 3; i++) test_start_thread(c, "t", test_gate_run_until_stop, &gate);
    levada_coordinator_destroy(&c);
    assert_int_equal(gate.left, 3);
}

static void an_error_with_the_token_of_another_one_is_listed_once(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);
    levada_error        why = LEVADA_ERROR_INIT, err = LEVADA_ERROR_INIT;
    static const uint64_t tokens[] = { 7, 7, 9, 0, 0, 7 }, listed[] = { 7, 9, 0, 0 };

    (void)state;
    for (int i = 0; i < 6; i++) {
        levada_fail(&why, LEVADA_EUNKNOWN, "alike");
        levada_error_set_token(&why, tokens[i]);
        assert_int_equal(levada_coordinator_request_stop(c, &why, NULL), LEVADA_OK);
    }
    for (int i = 0; i < 4; i++) {
        assert_true(levada_error_token(levada_coordinator_error(c, i)) == listed[i]);
    }
    assert_null(levada_coordinator_error(c, 4));
    assert_int_equal(levada_coordinator_raise_requested(c, &err), LEVADA_EUNKNOWN);
    assert_true(levada_error_token(&err) == 7);
    levada_coordinator_destroy(&c);
}

/* The other member, and a thread that runs, do not hold the join up. */
static void one_member_may_be_joined_alone(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);
    levada_member      *members[2] = { NULL, NULL };
    levada_error        err = LEVADA_ERROR_INIT;
    int64_t             number;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(levada_coordinator_register(c, "group", &members[i], NULL), LEVADA_OK);
        assert_true(levada_member_number(members[i]) == i + 1);
    }
    number = levada_member_number(members[1]);
    levada_member_end(&members[1]);
    assert_int_equal(levada_coordinator_join_member(c, number, 0, false, NULL), LEVADA_OK);
    assert_int_equal(levada_coordinator_join_member(c, 0, 0, false, NULL), LEVADA_OK);
    assert_true(levada_coordinator_joined(c));
    levada_coordinator_clear_stop(c);
    assert_int_equal(levada_coordinator_request_stop(c, NULL, NULL), LEVADA_OK);
    assert_int_equal(levada_coordinator_join_member(c, 1, 0, false, &err),
                     LEVADA_EDEADLINE_EXCEEDED);
    assert_int_equal(levada_coordinator_join_member(c, 1, 0, true, NULL), LEVADA_OK);
    levada_member_end(&members[0]);
    levada_coordinator_destroy(&c);
}

static bool ask_no_more(void *user) { return --*(int *)user > 0; }

static void a_poll_ends_waits_without_marking_it_joined(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);
    levada_member      *member = NULL;
    levada_error        err = LEVADA_ERROR_INIT;
    int                 left = 3;

    (void)state;
    levada_coordinator_set_poll(c, ask_no_more, &left, MS);
    assert_false(levada_coordinator_wait_for_stop(c, LEVADA_FOREVER));
    assert_int_equal(left, 0);
    assert_int_equal(levada_coordinator_register(c, "group", &member, NULL), LEVADA_OK);
    left = 1;
    assert_int_equal(levada_coordinator_join_member(c, 1, LEVADA_FOREVER, false, &err),
                     LEVADA_ECANCELLED);
    assert_false(levada_coordinator_joined(c));
    levada_member_end(&member);
    levada_coordinator_destroy(&c);
}

static void a_long_list_of_names_is_cut(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);
    test_gate           gate = { 0 };
    levada_error        err = LEVADA_ERROR_INIT;

    (void)state;
    for (int i = 0; i < 40; i++) test_start_thread(c, "with_a_long_name", test_gate_run, &gate);
    assert_int_equal(test_stop(c, LEVADA_OK, ""), LEVADA_OK);
    assert_int_equal(levada_coordinator_join(c, 0, false, &err), LEVADA_EDEADLINE_EXCEEDED);
    assert_true(strlen(err.message) < sizeof(err.message));
    atomic_store(&gate.open, 1);
    levada_coordinator_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_is_seen_by_all_who_look),
        cmocka_unit_test(a_stop_wakes_whoever_waits_for_it),
        cmocka_unit_test(join_waits_for_threads_that_end_by_themselves),
        cmocka_unit_test(join_waits_for_registered_threads_as_well),
        cmocka_unit_test(a_registered_thread_may_end_after_the_coordinator),
        cmocka_unit_test(join_without_threads_returns_at_once),
        cmocka_unit_test(threads_that_would_not_stop_are_named),
        cmocka_unit_test(live_threads_are_ignored_where_that_is_asked_for),
        cmocka_unit_test(join_tells_what_they_wait_for),
        cmocka_unit_test(a_cancelled_call_after_the_stop_is_no_error),
        cmocka_unit_test(the_first_error_wins),
        cmocka_unit_test(an_error_of_a_thread_stops_all),
        cmocka_unit_test(an_error_wins_over_threads_that_still_run),
        cmocka_unit_test(out_of_range_is_a_clean_stop),
        cmocka_unit_test(clean_codes_are_those_that_were_given),
        cmocka_unit_test(refuses_clean_codes_that_are_no_errors),
        cmocka_unit_test(an_error_after_a_clean_stop_is_raised),
        cmocka_unit_test(clear_stop_forgets_the_error_too),
        cmocka_unit_test(after_join_an_error_goes_to_the_caller),
        cmocka_unit_test(its_state_tells_stop_and_join),
        cmocka_unit_test(moves_that_make_no_sense_are_found),
        cmocka_unit_test(an_error_of_a_thread_after_join_is_for_the_next_join),
        cmocka_unit_test(a_thread_of_its_own_cannot_join_it),
        cmocka_unit_test(two_may_join_at_once),
        cmocka_unit_test(destroy_asks_for_the_stop_and_waits),
        cmocka_unit_test(an_error_with_the_token_of_another_one_is_listed_once),
        cmocka_unit_test(one_member_may_be_joined_alone),
        cmocka_unit_test(a_poll_ends_waits_without_marking_it_joined),
        cmocka_unit_test(a_long_list_of_names_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
