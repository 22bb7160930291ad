/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ten thousand calls wait in one queue: every other call touches the first and the last of them
 * alone, so it costs the same however many there are. The links of those between lead nowhere: who
 * walks along the line faults.
 */
#include "runtime/queue_priv.h"
#include "support/queues.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MANY = 10000, SERVED = 8 };

static levada_queue_op crowd[MANY];
static int64_t         value;
static uint8_t *const  cells[] = { (uint8_t *)(void *)&value };

static void crowd_stands(levada_line *line, levada_queue_act act)
{
    levada_waiter *nowhere = (levada_waiter *)(uintptr_t)64;

    for (int i = 0; i < MANY; i++) {
        levada_queue_op_init(&crowd[i], act, "crowd", 1);
        crowd[i].cells = cells;
        levada_line_append(line, &crowd[i].waiter);
    }
    for (int i = SERVED; i < MANY - 1; i++) {
        crowd[i].waiter.next = nowhere;
        crowd[i + 1].waiter.prev = nowhere;
    }
}

static void crowd_expect_served(int n)
{
    for (int i = 0; i <= SERVED; i++) assert_int_equal(crowd[i].waiter.linked, i >= n);
}

/* Calls that wait in line after all others for a moment, or do not even that. */
static void one_more_gives_up(levada_queue *queue, test_act act)
{
    const int64_t       timeouts[] = { 0, TEST_SECOND / 1000, LEVADA_AT_ONCE };
    const levada_status ends[] = { LEVADA_EDEADLINE_EXCEEDED, LEVADA_EDEADLINE_EXCEEDED,
                                   LEVADA_AGAIN };

    for (int i = 0; i < 3; i++) {
        test_call call = test_call_of(queue, act, 1, 0);

        call.timeout = timeouts[i];
        test_run(&call);
        assert_int_equal(call.status, ends[i]);
    }
}

static void dequeues_that_wait_cost_others_nothing(void **state)
{
    (void)state;
    for (int kind = LEVADA_QUEUE_FIFO; kind <= LEVADA_QUEUE_PRIORITY; kind++) {
        levada_queue *queue = test_queue((levada_queue_kind)kind, 100, 0);

        crowd_stands(&queue->dequeues, LEVADA_QUEUE_DEQUEUE);
        assert_int_equal(test_put(queue, 5, 1), LEVADA_OK);
        crowd_expect_served(1);
        assert_int_equal(value, 5);
        assert_int_equal(test_put(queue, 6, SERVED - 1), LEVADA_OK);
        crowd_expect_served(SERVED);
        one_more_gives_up(queue, TEST_DEQUEUE);
        assert_int_equal(levada_queue_size(queue), 0);
        assert_false(levada_queue_is_closed(queue));
        queue->dequeues = (levada_line){ 0 };
        levada_queue_unref(&queue);
    }
}

static void enqueues_that_wait_cost_others_nothing(void **state)
{
    (void)state;
    value = 3;
    for (int kind = LEVADA_QUEUE_FIFO; kind <= LEVADA_QUEUE_PRIORITY; kind++) {
        levada_queue *queue = test_queue((levada_queue_kind)kind, SERVED, 0);

        assert_int_equal(test_put(queue, 3, 1), LEVADA_OK);
        for (int i = 1; i < SERVED; i++) assert_int_equal(test_put(queue, 3, 1), LEVADA_OK);
        crowd_stands(&queue->enqueues, LEVADA_QUEUE_ENQUEUE);
        assert_int_equal(test_take(queue), 3);
        crowd_expect_served(1);
        for (int i = 1; i < SERVED; i++) assert_int_equal(test_take(queue), 3);
        crowd_expect_served(SERVED);
        one_more_gives_up(queue, TEST_ENQUEUE);
        assert_int_equal(levada_queue_close(queue, false, 0, NULL), LEVADA_EDEADLINE_EXCEEDED);
        assert_true(queue->has_late_close);
        assert_int_equal(levada_queue_size(queue), SERVED);
        queue->enqueues = (levada_line){ 0 };
        queue->has_late_close = false;
        levada_queue_unref(&queue);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dequeues_that_wait_cost_others_nothing),
        cmocka_unit_test(enqueues_that_wait_cost_others_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
