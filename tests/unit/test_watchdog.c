/* SPDX-License-Identifier: Apache-2.0 */
#include "support/queues.h"

#include <levada/barrier.h>
#include <levada/watchdog.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define MS INT64_C(1000000)

static levada_watchdog *open_watchdog(levada_env *env, int64_t limit, bool cancel,
                                      void (*report)(void *user, const levada_wait *wait),
                                      void *user)
{
    levada_watchdog_options o = LEVADA_WATCHDOG_OPTIONS_INIT;
    levada_watchdog        *watchdog = NULL;
    levada_error            err = LEVADA_ERROR_INIT;

    o.limit = limit;
    o.cancel = cancel;
    o.report = report;
    o.user = user;
    if (levada_watchdog_create(env, &o, &watchdog, &err) != LEVADA_OK) fail_msg("%s", err.message);
    return watchdog;
}

static levada_env *new_env(void)
{
    levada_env *env = NULL;

    assert_int_equal(levada_env_create(NULL, &env, NULL), LEVADA_OK);
    return env;
}

static levada_queue *named_queue(levada_env *env, const char *name)
{
    levada_queue_options o = LEVADA_QUEUE_OPTIONS_INIT;
    levada_dtype         dtype = LEVADA_INT64;
    levada_shape         shape = { 0, { 0 } };

    o.capacity = 10;
    o.ncomponents = 1;
    o.dtypes = &dtype;
    o.shapes = &shape;
    o.name = name;
    return test_queue_of(env, &o);
}

static void *wait_named(void *user)
{
    levada_waiter_name("reader 1");
    test_run(user);
    levada_waiter_name("");
    return NULL;
}

static void names_who_waits_for_what_and_how_long(void **state)
{
    levada_env      *env = new_env();
    levada_queue    *queue = named_queue(env, "words");
    levada_watchdog *watchdog = open_watchdog(env, 20 * MS, false, NULL, NULL);
    test_call        call = test_call_of(queue, TEST_DEQUEUE, 3, 0);
    levada_wait      wait = LEVADA_WAIT_INIT;

    (void)state;
    pthread_create(&call.thread, NULL, wait_named, &call);
    assert_int_equal(levada_watchdog_next(watchdog, LEVADA_FOREVER, &wait, NULL), LEVADA_OK);
    assert_string_equal(wait.thread, "reader 1");
    assert_string_equal(wait.object, "words");
    assert_string_equal(wait.waits_for, "dequeue_many(3)");
    assert_true(wait.nanoseconds >= 20 * MS);
    assert_false(wait.cancelled);
    /* Once for each wait, and the call continues. */
    assert_int_equal(levada_watchdog_next(watchdog, 50 * MS, &wait, NULL), LEVADA_AGAIN);
    assert_int_equal(test_put(queue, 7, 3), LEVADA_OK);
    test_join(&call);
    assert_int_equal(call.status, LEVADA_OK);
    levada_watchdog_destroy(&watchdog);
    levada_queue_unref(&queue);
    levada_env_destroy(&env);
}

static void a_cancelled_wait_loses_nothing(void **state)
{
    levada_env      *env = new_env();
    levada_queue    *queue = named_queue(env, "words");
    levada_watchdog *watchdog = open_watchdog(env, 20 * MS, true, NULL, NULL);
    test_call        call = test_call_of(queue, TEST_DEQUEUE, 5, 0);
    levada_wait      wait = LEVADA_WAIT_INIT;

    (void)state;
    assert_int_equal(test_put(queue, 1, 3), LEVADA_OK);
    test_start(&call);
    assert_int_equal(levada_watchdog_next(watchdog, LEVADA_FOREVER, &wait, NULL), LEVADA_OK);
    assert_true(wait.cancelled);
    test_join(&call);
    test_expect_status(&call, LEVADA_ECANCELLED, "Dequeue operation was cancelled");
    test_expect(queue, 1, 3); /* what it held is there again, in order */

    call = test_call_of(queue, TEST_ENQUEUE, 12, 0);
    test_start(&call);
    assert_int_equal(levada_watchdog_next(watchdog, LEVADA_FOREVER, &wait, NULL), LEVADA_OK);
    test_join(&call);
    test_expect_status(&call, LEVADA_ECANCELLED, NULL);
    assert_int_equal(call.got, 10); /* as after a cancel: a prefix stays, and the call says so */
    test_expect(queue, 0, 10);
    assert_false(levada_queue_is_closed(queue));
    levada_watchdog_destroy(&watchdog);
    levada_queue_unref(&queue);
    levada_env_destroy(&env);
}

typedef struct take {
    levada_barrier *barrier;
    levada_status   got;
    pthread_t       thread;
} take;

static void *take_two(void *user)
{
    take               *t = user;
    levada_barrier_take how = { sizeof(how), 2, false, false, LEVADA_FOREVER };
    levada_tensor      *tensors[3] = { 0 };

    t->got = levada_barrier_take_many(t->barrier, &how, &tensors[0], &tensors[1], &tensors[2],
                                      NULL);
    return NULL;
}

static void takes_of_a_barrier_are_watched(void **state)
{
    levada_env      *env = new_env();
    levada_dtype     dtype = LEVADA_INT64;
    levada_barrier_options o = LEVADA_BARRIER_OPTIONS_INIT;
    levada_watchdog *watchdog = open_watchdog(env, 10 * MS, true, NULL, NULL);
    take             t = { NULL, LEVADA_OK, 0 };
    levada_wait      wait = LEVADA_WAIT_INIT;

    (void)state;
    o.ncomponents = 1;
    o.dtypes = &dtype;
    o.name = "keys";
    assert_int_equal(levada_barrier_create(env, &o, &t.barrier, NULL), LEVADA_OK);
    assert_int_equal(pthread_create(&t.thread, NULL, take_two, &t), 0);
    assert_int_equal(levada_watchdog_next(watchdog, LEVADA_FOREVER, &wait, NULL), LEVADA_OK);
    assert_string_equal(wait.object, "keys");
    assert_string_equal(wait.waits_for, "take_many(2)");
    pthread_join(t.thread, NULL);
    assert_int_equal(t.got, LEVADA_ECANCELLED);
    levada_barrier_unref(&t.barrier);
    levada_watchdog_destroy(&watchdog);
    levada_env_destroy(&env);
}

static void leaves_short_waits_alone(void **state)
{
    levada_env      *env = new_env();
    levada_queue    *queue = named_queue(env, "words");
    levada_watchdog *watchdog = open_watchdog(env, 3600 * TEST_SECOND, true, NULL, NULL);
    test_call        call = test_call_of(queue, TEST_DEQUEUE, 1, 0);
    levada_wait      wait = LEVADA_WAIT_INIT;

    (void)state;
    test_start(&call);
    test_until_waiting(env, 1);
    assert_int_equal(levada_watchdog_next(watchdog, 0, &wait, NULL), LEVADA_AGAIN);
    assert_int_equal(levada_watchdog_next(watchdog, 30 * MS, &wait, NULL), LEVADA_AGAIN);
    assert_int_equal(test_put(queue, 1, 1), LEVADA_OK);
    test_join(&call);
    assert_int_equal(call.status, LEVADA_OK);
    levada_watchdog_destroy(&watchdog);
    levada_queue_unref(&queue);
    levada_env_destroy(&env);
}

typedef struct reports {
    atomic_int n;
    atomic_int mask; /* of the queues that were named: a = 1, b = 2, ... */
} reports;

static void count_report(void *user, const levada_wait *wait)
{
    reports *r = user;

    atomic_fetch_or(&r->mask, 1 << (wait->object[0] - 'a'));
    atomic_fetch_add(&r->n, 1);
}

static void reports_each_wait_once_on_its_own_thread(void **state)
{
    levada_env      *env = new_env();
    reports          r = { 0 };
    levada_watchdog *watchdog = open_watchdog(env, MS, true, count_report, &r);
    levada_queue    *queues[4];
    test_call        calls[4];

    (void)state;
    for (int i = 0; i < 4; i++) {
        char name[2] = { (char)('a' + i), '\0' };

        queues[i] = named_queue(env, name);
        calls[i] = test_call_of(queues[i], TEST_DEQUEUE, 1, 0);
        test_start(&calls[i]);
    }
    for (int i = 0; i < 4; i++) {
        test_join(&calls[i]);
        assert_int_equal(calls[i].status, LEVADA_ECANCELLED);
    }
    levada_watchdog_destroy(&watchdog);
    assert_int_equal(r.n, 4);
    assert_int_equal(r.mask, 15);
    for (int i = 0; i < 4; i++) levada_queue_unref(&queues[i]);
    levada_env_destroy(&env);
}

static void *next_forever(void *user)
{
    levada_wait wait = LEVADA_WAIT_INIT;

    return levada_watchdog_next(user, LEVADA_FOREVER, &wait, NULL) == LEVADA_END ? user : NULL;
}

static void a_stop_ends_the_watch_at_once(void **state)
{
    levada_env      *env = new_env();
    levada_watchdog *watchdog = open_watchdog(env, 3600 * TEST_SECOND, true, NULL, NULL);
    levada_wait      wait = LEVADA_WAIT_INIT;
    pthread_t        thread;
    void            *ended = NULL;

    (void)state;
    pthread_create(&thread, NULL, next_forever, watchdog);
    levada_watchdog_stop(watchdog);
    levada_watchdog_stop(watchdog);
    pthread_join(thread, &ended);
    assert_ptr_equal(ended, watchdog);
    assert_int_equal(levada_watchdog_next(watchdog, LEVADA_FOREVER, &wait, NULL), LEVADA_END);
    levada_env_destroy(&env); /* it may outlive its environment */
    levada_watchdog_destroy(&watchdog);
    assert_null(watchdog);
    levada_watchdog_destroy(&watchdog);
}

static void refuses_a_limit_below_one(void **state)
{
    levada_watchdog_options o = LEVADA_WATCHDOG_OPTIONS_INIT;
    levada_watchdog        *watchdog = NULL;
    levada_error            err = LEVADA_ERROR_INIT;

    (void)state;
    o.limit = 0;
    assert_int_equal(levada_watchdog_create(NULL, &o, &watchdog, &err), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "limit=0"));
    assert_null(watchdog);
}

/* Waits end by themselves, by a cancel of the watchdog, or by both at the same time. */
static void *hand_over(void *user)
{
    levada_queue *queue = user;

    for (int64_t i = 0; i < 300; i++) {
        const void   *rows = &i;
        levada_status st = LEVADA_ECANCELLED;

        nanosleep(&(struct timespec){ 0, 100000 + (i % 5) * 300000 }, NULL);
        /* The queue may be full for longer than the limit: the watchdog cancels that wait, too. */
        while (st == LEVADA_ECANCELLED) {
            st = levada_queue_enqueue_rows(queue, 1, &rows, -1, NULL, NULL);
        }
        if (st != LEVADA_OK) return queue;
    }
    return NULL;
}

static void no_element_is_lost_between_serving_and_cancelling(void **state)
{
    levada_env      *env = new_env();
    levada_queue    *queue = named_queue(env, "a");
    reports          r = { 0 };
    levada_watchdog *watchdog = open_watchdog(env, MS, true, count_report, &r);
    pthread_t        thread;
    void            *failed = NULL;
    int64_t          want = 0;

    (void)state;
    pthread_create(&thread, NULL, hand_over, queue);
    while (want < 300) {
        int64_t       got = -1;
        void         *rows = &got;
        levada_status st = levada_queue_dequeue_rows(queue, 1, false, &rows, -1, NULL, NULL);

        if (st == LEVADA_ECANCELLED) continue;
        assert_int_equal(st, LEVADA_OK);
        assert_int_equal(got, want++);
    }
    pthread_join(thread, &failed);
    assert_null(failed);
    levada_watchdog_destroy(&watchdog);
    levada_queue_unref(&queue);
    levada_env_destroy(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_who_waits_for_what_and_how_long),
        cmocka_unit_test(a_cancelled_wait_loses_nothing),
        cmocka_unit_test(takes_of_a_barrier_are_watched),
        cmocka_unit_test(leaves_short_waits_alone),
        cmocka_unit_test(reports_each_wait_once_on_its_own_thread),
        cmocka_unit_test(a_stop_ends_the_watch_at_once),
        cmocka_unit_test(refuses_a_limit_below_one),
        cmocka_unit_test(no_element_is_lost_between_serving_and_cancelling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
