/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What closing, cancelling and time do to calls that wait. (The words of spec rules Q5 to Q11.)
 */
#include "support/coordinators.h"
#include "support/queues.h"

#include <levada/binding.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static void close_now(levada_queue *queue, bool cancel)
{
    assert_int_equal(levada_queue_close(queue, cancel, 0, NULL), LEVADA_OK);
}

static test_call run(levada_queue *queue, test_act act, int64_t n, int64_t first)
{
    test_call call = test_call_of(queue, act, n, first);

    call.timeout = 0;
    test_run(&call);
    return call;
}

static void a_closed_queue_drains_then_is_out_of_range(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);

    (void)state;
    assert_int_equal(test_put(queue, 1, 4), LEVADA_OK);
    assert_false(levada_queue_is_closed(queue));
    close_now(queue, false);
    assert_true(levada_queue_is_closed(queue));
    test_expect(queue, 1, 4);
    test_call last = run(queue, TEST_DEQUEUE, 1, 0);
    test_expect_status(&last, LEVADA_EOUT_OF_RANGE,
                       "is closed and has insufficient elements (requested 1, current size 0)");
    test_call late = run(queue, TEST_ENQUEUE, 1, 9);
    test_expect_status(&late, LEVADA_ECANCELLED, "FIFOQueue 'fifo_queue' is closed");
    late = run(queue, TEST_ENQUEUE, 3, 9);
    test_expect_status(&late, LEVADA_ECANCELLED, "is closed");
    levada_queue_unref(&queue);
}

static void closing_twice_is_an_error_but_not_with_cancel(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);

    (void)state;
    close_now(queue, false);
    test_call again = run(queue, TEST_CLOSE, 0, 0);
    test_expect_status(&again, LEVADA_ECANCELLED, "is already closed");
    close_now(queue, true);
    close_now(queue, true);
    again = run(queue, TEST_CLOSE, 0, 0);
    test_expect_status(&again, LEVADA_ECANCELLED, "is already closed");
    levada_queue_unref(&queue);
}

static void a_waiting_dequeue_gets_the_close(void **state)
{
    (void)state;
    for (int act = TEST_DEQUEUE; act <= TEST_DEQUEUE_UP_TO; act++) {
        levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
        test_call     call = test_call_of(queue, (test_act)act, 4, 0);

        test_start_waiting(&call);
        close_now(queue, false);
        test_join(&call);
        test_expect_status(&call, LEVADA_EOUT_OF_RANGE, "is closed and has insufficient");
        levada_queue_unref(&queue);
    }
}

static void a_failed_dequeue_of_many_gives_its_elements_back(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 4, 0);
    test_call     four = test_call_of(queue, TEST_DEQUEUE, 4, 0);

    (void)state;
    test_start_waiting(&four);
    for (int64_t i = 0; i < 3; i++) assert_int_equal(test_put(queue, i, 1), LEVADA_OK);
    assert_int_equal(levada_queue_size(queue), 0);
    close_now(queue, false);
    test_join(&four);
    test_expect_status(&four, LEVADA_EOUT_OF_RANGE, "requested 4, current size 3");
    assert_int_equal(levada_queue_size(queue), 3);
    test_expect(queue, 0, 3);
    assert_int_equal(levada_queue_size(queue), 0);
    levada_queue_unref(&queue);
}

static void what_comes_back_stands_in_front(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 2, 0);
    test_call     many = test_call_of(queue, TEST_DEQUEUE, 6, 0);

    (void)state;
    test_start_waiting(&many);
    for (int64_t i = 0; i < 5; i++) assert_int_equal(test_put(queue, i, 1), LEVADA_OK);
    levada_queue_cancel(queue);
    test_join(&many);
    test_expect_status(&many, LEVADA_ECANCELLED, "Dequeue operation was cancelled");
    assert_int_equal(levada_queue_size(queue), 5); /* above the capacity for a while */
    assert_int_equal(test_put(queue, 5, 1), LEVADA_EDEADLINE_EXCEEDED);
    test_expect(queue, 0, 4);
    assert_int_equal(test_put(queue, 5, 1), LEVADA_OK);
    test_expect(queue, 4, 2);
    levada_queue_unref(&queue);
}

static void up_to_any_number_needs_memory_for_what_a_closed_queue_has(void **state)
{
    levada_queue  *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    levada_tensor *out = NULL;
    int64_t        most = INT64_MAX / 16;

    (void)state;
    assert_int_equal(test_put(queue, 0, 4), LEVADA_OK);
    close_now(queue, false);
    assert_int_equal(levada_queue_dequeue_many(queue, most, true, &out, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_tensor_shape(out)->dims[0], 4);
    levada_tensor_unref(&out);
    assert_int_equal(levada_queue_dequeue_many(queue, most, true, &out, 0, NULL),
                     LEVADA_EOUT_OF_RANGE);
    levada_queue_unref(&queue);
}

static void a_closed_queue_refuses_any_number_without_memory_for_it(void **state)
{
    levada_queue  *queue = test_queue(LEVADA_QUEUE_SHUFFLE, 10, 2);
    levada_tensor *out = NULL;
    levada_error   err = LEVADA_ERROR_INIT;
    int64_t        most = INT64_MAX / 16;

    (void)state;
    assert_int_equal(test_put(queue, 0, 4), LEVADA_OK);
    assert_int_equal(levada_queue_dequeue_many(queue, most, false, &out, 0, &err),
                     LEVADA_ERESOURCE_EXHAUSTED); /* it is open: they may come */
    close_now(queue, false);
    assert_int_equal(levada_queue_dequeue_many(queue, most, false, &out, 0, &err),
                     LEVADA_EOUT_OF_RANGE);
    assert_non_null(strstr(err.message, "(requested 576460752303423487, current size 4)"));
    assert_int_equal(levada_queue_dequeue_many(queue, 4, false, &out, 0, NULL), LEVADA_OK);
    levada_tensor_unref(&out);
    levada_queue_unref(&queue);
}

static void up_to_waits_for_all_until_the_close(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    test_call     three = test_call_of(queue, TEST_DEQUEUE_UP_TO, 3, 0);

    (void)state;
    assert_int_equal(test_put(queue, 0, 4), LEVADA_OK);
    test_run(&three);
    assert_int_equal(three.got, 3);
    test_start_waiting(&three);
    close_now(queue, false);
    test_join(&three);
    test_expect_status(&three, LEVADA_OK, NULL);
    assert_int_equal(three.got, 1);
    assert_int_equal(three.values[0], 3);
    levada_queue_unref(&queue);
}

static void a_close_waits_behind_earlier_enqueues(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 4, 0);
    test_call     in = test_call_of(queue, TEST_ENQUEUE, 2, 4);
    test_call     end = test_call_of(queue, TEST_CLOSE, 0, 0);
    test_call     late = test_call_of(queue, TEST_ENQUEUE, 1, 99);

    (void)state;
    assert_int_equal(test_put(queue, 0, 4), LEVADA_OK);
    test_start_waiting(&in);
    test_start_waiting(&end);
    test_start_waiting(&late);
    assert_false(levada_queue_is_closed(queue));
    test_expect(queue, 0, 1);
    assert_int_equal(test_waiting(NULL), 3);
    test_expect(queue, 1, 1); /* frees all three */
    test_join(&in);
    test_join(&end);
    test_join(&late);
    test_expect_status(&in, LEVADA_OK, NULL);
    test_expect_status(&end, LEVADA_OK, NULL);
    test_expect_status(&late, LEVADA_ECANCELLED, "is closed");
    test_expect(queue, 2, 4);
    assert_int_equal(test_take(queue), LEVADA_EOUT_OF_RANGE);
    levada_queue_unref(&queue);
}

static void a_cancelling_close_ends_all_that_wait_to_enqueue(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 4, 0);
    test_call     in = test_call_of(queue, TEST_ENQUEUE, 6, 0);
    test_call     end = test_call_of(queue, TEST_CLOSE, 0, 0);

    (void)state;
    test_start_waiting(&in);
    test_start_waiting(&end);
    close_now(queue, true);
    test_join(&in);
    test_join(&end);
    test_expect_status(&in, LEVADA_ECANCELLED, "Enqueue operation was cancelled");
    test_expect_status(&end, LEVADA_ECANCELLED, "operation was cancelled");
    assert_int_equal(in.got, 4);
    test_expect(queue, 0, 4); /* what was in stays */
    assert_int_equal(test_take(queue), LEVADA_EOUT_OF_RANGE);
    levada_queue_unref(&queue);
}

static void a_close_that_gave_up_still_takes_effect(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 1, 0);
    test_call     in = test_call_of(queue, TEST_ENQUEUE, 1, 1);
    test_call     end = test_call_of(queue, TEST_CLOSE, 0, 0);

    (void)state;
    assert_int_equal(test_put(queue, 0, 1), LEVADA_OK);
    test_start_waiting(&in);
    end.timeout = TEST_SECOND / 100;
    test_run(&end);
    test_expect_status(&end, LEVADA_EDEADLINE_EXCEEDED, "close timed out after 0.010 s");
    assert_null(strstr(end.err.message, "elements")); /* it moves none */
    test_run(&end); /* a second one just leaves */
    test_expect_status(&end, LEVADA_EDEADLINE_EXCEEDED, NULL);
    assert_false(levada_queue_is_closed(queue));
    test_expect(queue, 0, 1);
    test_join(&in);
    assert_true(levada_queue_is_closed(queue));
    test_expect(queue, 1, 1);
    levada_queue_unref(&queue);
}

static void cancel_ends_every_waiting_call_and_no_more(void **state)
{
    levada_queue *full = test_queue(LEVADA_QUEUE_FIFO, 1, 0);
    levada_queue *empty = test_queue(LEVADA_QUEUE_FIFO, 1, 0);
    test_call     calls[6] = { test_call_of(full, TEST_ENQUEUE, 1, 1),
                               test_call_of(full, TEST_ENQUEUE, 5, 2),
                               test_call_of(full, TEST_CLOSE, 0, 0),
                               test_call_of(empty, TEST_DEQUEUE, 1, 0),
                               test_call_of(empty, TEST_DEQUEUE, 3, 0),
                               test_call_of(empty, TEST_DEQUEUE_UP_TO, 3, 0) };

    (void)state;
    assert_int_equal(test_put(full, 0, 1), LEVADA_OK);
    for (int i = 0; i < 6; i++) test_start_waiting(&calls[i]);
    levada_queue_cancel(full);
    levada_queue_cancel(empty);
    for (int i = 0; i < 6; i++) {
        test_join(&calls[i]);
        test_expect_status(&calls[i], LEVADA_ECANCELLED, "operation was cancelled");
    }
    test_expect(full, 0, 1);
    assert_int_equal(test_put(full, 37, 1), LEVADA_OK);
    test_expect(full, 37, 1);
    levada_queue_unref(&full);
    levada_queue_unref(&empty);
}

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * TEST_SECOND + t.tv_nsec;
}

static void a_wait_ends_in_time_and_the_queue_goes_on(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 2, 0);
    test_call     out = test_call_of(queue, TEST_DEQUEUE, 3, 0);
    int64_t       begin = now();

    (void)state;
    assert_int_equal(test_put(queue, 7, 2), LEVADA_OK);
    out.timeout = TEST_SECOND / 50;
    test_run(&out);
    test_expect_status(&out, LEVADA_EDEADLINE_EXCEEDED, "dequeue_many timed out after 0.020 s");
    assert_true(now() - begin >= TEST_SECOND / 50);
    assert_true(now() - begin < 5 * TEST_SECOND);
    test_expect(queue, 7, 2); /* nothing lost */
    assert_int_equal(test_put(queue, 37, 1), LEVADA_OK);
    test_expect(queue, 37, 1);
    levada_queue_unref(&queue);
}

static void one_that_gives_up_lets_the_next_one_go(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    test_call     many = test_call_of(queue, TEST_DEQUEUE, 5, 0);
    test_call     one = test_call_of(queue, TEST_DEQUEUE, 2, 0);

    (void)state;
    assert_int_equal(test_put(queue, 0, 2), LEVADA_OK);
    many.timeout = TEST_SECOND / 5;
    test_start_waiting(&many);
    test_start_waiting(&one);
    test_join(&many);
    test_join(&one);
    test_expect_status(&many, LEVADA_EDEADLINE_EXCEEDED, NULL);
    test_expect_status(&one, LEVADA_OK, NULL);
    assert_int_equal(one.values[1], 1);
    levada_queue_unref(&queue);
}

static void tensors_are_not_lost_either(void **state)
{
    levada_queue_options o = LEVADA_QUEUE_OPTIONS_INIT;
    levada_dtype         dtype = LEVADA_BYTES;
    levada_shape         shape = { 0, { 0 } };
    const char *const    words[] = { "a", "bc", "" };
    levada_tensor       *in = test_strings(1, (int64_t[]){ 3 }, words), *out = NULL;
    int64_t              done = 0;

    (void)state;
    o.ncomponents = 1;
    o.dtypes = &dtype;
    o.shapes = &shape;
    o.capacity = 2;
    levada_queue *queue = test_queue_of(NULL, &o);
    assert_int_equal(levada_queue_enqueue_many(queue, &in, TEST_SECOND / 100, &done, NULL),
                     LEVADA_EDEADLINE_EXCEEDED);
    assert_int_equal(done, 2);
    assert_int_equal(levada_queue_dequeue_many(queue, 3, false, &out, TEST_SECOND / 100, NULL),
                     LEVADA_EDEADLINE_EXCEEDED);
    close_now(queue, false);
    assert_int_equal(levada_queue_dequeue_many(queue, 3, false, &out, -1, NULL),
                     LEVADA_EOUT_OF_RANGE);
    assert_int_equal(levada_queue_dequeue_many(queue, 3, true, &out, -1, NULL), LEVADA_OK);
    assert_int_equal(levada_tensor_count(out), 2);
    assert_memory_equal(levada_tensor_data(out), "abc", 3);
    levada_tensor_unref(&in);
    levada_tensor_unref(&out);
    levada_queue_unref(&queue);
}

static bool stop_at_three(void *user) { return atomic_fetch_add((atomic_int *)user, 1) < 2; }

static void a_poll_can_end_a_wait(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    test_call     out = test_call_of(queue, TEST_DEQUEUE, 3, 0);
    atomic_int    polls = 0;

    (void)state;
    levada_queue_set_poll(queue, stop_at_three, &polls, TEST_SECOND / 1000);
    assert_int_equal(test_put(queue, 7, 2), LEVADA_OK);
    test_run(&out);
    test_expect_status(&out, LEVADA_ECANCELLED, "operation was cancelled");
    assert_int_equal(polls, 3);
    test_expect(queue, 7, 2);
    levada_queue_unref(&queue);
}

static bool go_on(void *user)
{
    (void)user;
    return true;
}

/* Nor is a time between two polls; the sums with the clock must not overflow. */
static void no_time_to_wait_is_too_long(void **state)
{
    static const int64_t times[] = { INT64_MAX, INT64_MAX - 1, INT64_MAX / 2, LEVADA_FOREVER };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 1, 0);
        test_call     out = test_call_of(queue, TEST_DEQUEUE, 1, 0);

        out.timeout = times[i];
        levada_queue_set_poll(queue, go_on, NULL, INT64_MAX - (int64_t)i);
        test_start_waiting(&out);
        assert_int_equal(test_put(queue, 7, 1), LEVADA_OK);
        test_join(&out);
        test_expect_status(&out, LEVADA_OK, NULL);
        levada_queue_unref(&queue);
    }
}

static bool put_and_stop(void *user)
{
    assert_int_equal(test_put(user, 9, 1), LEVADA_OK);
    return false;
}

static void who_is_stopped_too_late_gives_its_elements_back(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    test_call     out = test_call_of(queue, TEST_DEQUEUE, 3, 0);

    (void)state;
    levada_queue_set_poll(queue, put_and_stop, queue, TEST_SECOND / 1000);
    assert_int_equal(test_put(queue, 7, 2), LEVADA_OK);
    test_run(&out);
    test_expect_status(&out, LEVADA_ECANCELLED, "operation was cancelled");
    assert_int_equal(levada_queue_size(queue), 3);
    test_expect(queue, 7, 3);
    levada_queue_unref(&queue);
}

static bool accepts(void *user) { return atomic_fetch_add((atomic_int *)user, 1) > 0; }

static void what_is_not_accepted_goes_back(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 2, 0);
    test_call     out = test_call_of(queue, TEST_DEQUEUE, 3, 0);
    atomic_int    asked = 0;

    (void)state;
    levada_queue_set_accept(queue, accepts, &asked);
    assert_int_equal(test_put(queue, 7, 2), LEVADA_OK);
    test_start_waiting(&out);
    assert_int_equal(test_put(queue, 9, 1), LEVADA_OK);
    test_join(&out);
    test_expect_status(&out, LEVADA_ECANCELLED, "operation was cancelled");
    assert_int_equal(levada_queue_size(queue), 3); /* beyond the capacity, for once */
    test_expect(queue, 7, 3);
    assert_int_equal(asked, 1); /* not by calls that did not wait */
    test_start_waiting(&out);
    assert_int_equal(test_put(queue, 1, 2), LEVADA_OK);
    assert_int_equal(test_put(queue, 3, 1), LEVADA_OK);
    test_join(&out);
    assert_int_equal(out.status, LEVADA_OK);
    assert_int_equal(asked, 2);
    levada_queue_unref(&queue);
}

static void at_once_means_all_or_nothing(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 4, 0);
    test_call     in = test_call_of(queue, TEST_ENQUEUE, 3, 1);
    test_call     out = test_call_of(queue, TEST_DEQUEUE, 5, 0);

    (void)state;
    assert_int_equal(test_put(queue, 0, 4), LEVADA_OK);
    test_expect(queue, 0, 3);
    in.timeout = out.timeout = LEVADA_AT_ONCE;
    test_run(&in);
    assert_int_equal(in.status, LEVADA_OK);
    test_run(&in);
    assert_int_equal(in.status, LEVADA_AGAIN);
    test_run(&out);
    assert_int_equal(out.status, LEVADA_AGAIN);
    assert_int_equal(levada_queue_size(queue), 4);
    out.n = 4;
    test_run(&out);
    assert_int_equal(out.status, LEVADA_OK);
    assert_int_equal(out.values[0], 3);
    assert_int_equal(out.values[1], 1);
    levada_queue_unref(&queue);
}

static void who_waits_for_what_can_be_listed(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    test_call     out = test_call_of(queue, TEST_DEQUEUE, 3, 0);
    char         *text = NULL;

    (void)state;
    test_start_waiting(&out);
    assert_int_equal(levada_waiters_json(NULL, &text, NULL), LEVADA_OK);
    assert_non_null(strstr(text, "{\"thread\": \"thread "));
    assert_non_null(strstr(text, "\"object\": \"fifo_queue\", \"waits_for\": \"dequeue_many(3)\", "
                                 "\"seconds\": 0."));
    free(text);
    levada_queue_cancel(queue);
    test_join(&out);
    assert_int_equal(test_waiting(NULL), 0);
    levada_queue_unref(&queue);
}

static levada_status close_put(void *user, levada_error *err)
{
    const int64_t     one = 1;
    const void *const rows[] = { &one };

    return levada_queue_enqueue_rows(user, 1, rows, LEVADA_FOREVER, NULL, err);
}

/* Somebody closes the queue of a runner: no error, and what is left is delivered. */
static void a_close_ends_a_queue_runner_cleanly(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        levada_queue               *queue = test_queue(LEVADA_QUEUE_FIFO, 5, 0);
        levada_coordinator         *c = i < 2 ? test_coordinator(NULL, 0) : NULL;
        levada_queue_runner_options o = LEVADA_QUEUE_RUNNER_OPTIONS_INIT;
        const levada_enqueue_op     ops[] = { { close_put, queue, NULL },
                                              { close_put, queue, NULL } };
        levada_queue_runner        *r = NULL;
        int                         left = 0;

        o.nops = 2;
        o.ops = ops;
        assert_int_equal(levada_queue_runner_create(queue, &o, &r, NULL), LEVADA_OK);
        assert_int_equal(levada_queue_runner_start(r, c, NULL), LEVADA_OK);
        test_until_waiting(NULL, c != NULL ? 3 : 2); /* for space; one for the stop */
        /* A plain close waits in line after the enqueues, even when it does not wait. */
        assert_int_equal(levada_queue_close(queue, i % 2 != 0, 0, NULL),
                         i % 2 != 0 ? LEVADA_OK : LEVADA_EDEADLINE_EXCEEDED);
        while (test_take(queue) >= 0) left++;
        assert_true(left >= 5);
        assert_int_equal(levada_queue_runner_wait(r, LEVADA_FOREVER, NULL), LEVADA_OK);
        assert_int_equal(test_take(queue), LEVADA_EOUT_OF_RANGE);
        assert_null(levada_queue_runner_error(r, 0));
        if (c != NULL) {
            assert_false(levada_coordinator_should_stop(c));
            assert_int_equal(test_stop(c, LEVADA_OK, ""), LEVADA_OK);
            test_joins(c, LEVADA_FOREVER, LEVADA_OK, NULL);
        }
        levada_queue_runner_destroy(&r);
        levada_coordinator_destroy(&c);
        levada_queue_unref(&queue);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_close_ends_a_queue_runner_cleanly),
        cmocka_unit_test(a_closed_queue_drains_then_is_out_of_range),
        cmocka_unit_test(closing_twice_is_an_error_but_not_with_cancel),
        cmocka_unit_test(a_waiting_dequeue_gets_the_close),
        cmocka_unit_test(a_failed_dequeue_of_many_gives_its_elements_back),
        cmocka_unit_test(what_comes_back_stands_in_front),
        cmocka_unit_test(up_to_any_number_needs_memory_for_what_a_closed_queue_has),
        cmocka_unit_test(a_closed_queue_refuses_any_number_without_memory_for_it),
        cmocka_unit_test(up_to_waits_for_all_until_the_close),
        cmocka_unit_test(a_close_waits_behind_earlier_enqueues),
        cmocka_unit_test(a_cancelling_close_ends_all_that_wait_to_enqueue),
        cmocka_unit_test(a_close_that_gave_up_still_takes_effect),
        cmocka_unit_test(cancel_ends_every_waiting_call_and_no_more),
        cmocka_unit_test(a_wait_ends_in_time_and_the_queue_goes_on),
        cmocka_unit_test(one_that_gives_up_lets_the_next_one_go),
        cmocka_unit_test(tensors_are_not_lost_either),
        cmocka_unit_test(a_poll_can_end_a_wait),
        cmocka_unit_test(no_time_to_wait_is_too_long),
        cmocka_unit_test(who_is_stopped_too_late_gives_its_elements_back),
        cmocka_unit_test(what_is_not_accepted_goes_back),
        cmocka_unit_test(at_once_means_all_or_nothing),
        cmocka_unit_test(who_waits_for_what_can_be_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
