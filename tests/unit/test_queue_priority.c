/* SPDX-License-Identifier: Apache-2.0 */
#include "support/queues.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A priority and a payload. */
static levada_queue *make(int64_t capacity)
{
    levada_queue_options o = LEVADA_QUEUE_OPTIONS_INIT;
    levada_dtype         dtypes[] = { LEVADA_INT64, LEVADA_INT64 };
    levada_shape         shapes[] = { { 0, { 0 } }, { 0, { 0 } } };

    o.kind = LEVADA_QUEUE_PRIORITY;
    o.capacity = capacity;
    o.ncomponents = 2;
    o.dtypes = dtypes;
    o.shapes = shapes;
    return test_queue_of(NULL, &o);
}

static levada_status put(levada_queue *queue, const int64_t *priorities, const int64_t *values,
                         int64_t n)
{
    return levada_queue_enqueue_rows(queue, n, (const void *[]){ priorities, values }, 0, NULL,
                                     NULL);
}

static levada_status take(levada_queue *queue, int64_t *priorities, int64_t *values, int64_t n,
                          bool up_to, int64_t *got)
{
    return levada_queue_dequeue_rows(queue, n, up_to, (void *[]){ priorities, values }, 0, got,
                                     NULL);
}

/* Sorted, and what is alike in the order in which it came. */
static void expect_sorted(const int64_t *priorities, const int64_t *values, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        assert_true(priorities[i - 1] <= priorities[i]);
        if (priorities[i - 1] == priorities[i]) assert_true(values[i - 1] < values[i]);
    }
}

static void the_lowest_comes_first_and_ties_in_order(void **state)
{
    levada_queue *queue = make(-1);
    int64_t       p[1000], v[1000], q[1000], w[1000];

    (void)state;
    srand(3);
    for (int round = 0; round < 3; round++) {
        for (int64_t i = 0; i < 1000; i++) {
            p[i] = rand() % 10 - 5;
            v[i] = i;
        }
        assert_int_equal(put(queue, p, v, 1000), LEVADA_OK);
        if (round == 0) {
            assert_int_equal(take(queue, q, w, 1000, false, NULL), LEVADA_OK);
        }
        for (int64_t i = 0; round == 1 && i < 1000; i++) {
            assert_int_equal(take(queue, q + i, w + i, 1, false, NULL), LEVADA_OK);
        }
        for (int64_t i = 0; round == 2 && i < 1000; i += 50) {
            assert_int_equal(take(queue, q + i, w + i, 50, false, NULL), LEVADA_OK);
        }
        expect_sorted(q, w, 1000);
        for (int64_t i = 0; i < 1000; i++) assert_int_equal(p[w[i]], q[i]);
    }
    levada_queue_unref(&queue);
}

static void many_come_at_once_and_sorted(void **state)
{
    levada_queue *queue = make(10);
    int64_t       p[] = { 5, 1, 3 }, v[] = { 0, 1, 2 }, q[4], w[4], got;

    (void)state;
    assert_int_equal(put(queue, p, v, 3), LEVADA_OK);
    assert_int_equal(take(queue, q, w, 4, false, NULL), LEVADA_EDEADLINE_EXCEEDED);
    assert_int_equal(levada_queue_size(queue), 3); /* it held nothing */
    assert_int_equal(levada_queue_close(queue, false, 0, NULL), LEVADA_OK);
    assert_int_equal(take(queue, q, w, 4, false, NULL), LEVADA_EOUT_OF_RANGE);
    assert_int_equal(take(queue, q, w, 4, true, &got), LEVADA_OK);
    assert_int_equal(got, 3);
    assert_memory_equal(q, ((int64_t[]){ 1, 3, 5 }), sizeof(p));
    levada_queue_unref(&queue);
}

static void more_than_the_capacity_is_an_error_and_no_wait(void **state)
{
    levada_queue *queue = make(3);
    int64_t       p[] = { 5, 1, 3 }, v[] = { 0, 1, 2 }, q[9], w[9], got;

    (void)state;
    assert_int_equal(take(queue, q, w, 4, false, NULL), LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(put(queue, p, v, 3), LEVADA_OK);
    assert_int_equal(take(queue, q, w, 9, true, &got), LEVADA_OK);
    assert_int_equal(got, 3);
    levada_queue_unref(&queue);
}

static void wants_a_scalar_priority(void **state)
{
    levada_queue  *queue = make(10);
    levada_tensor *pair = test_tensor(LEVADA_INT64, 1, (int64_t[]){ 2 }, NULL);
    levada_tensor *one = test_tensor(LEVADA_INT64, 0, NULL, NULL);
    levada_tensor *square = test_tensor(LEVADA_INT64, 2, (int64_t[]){ 2, 2 }, NULL);
    levada_tensor *other = test_tensor(LEVADA_INT32, 0, NULL, NULL);
    levada_error   err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(levada_queue_enqueue(queue, (levada_tensor *[]){ pair, one }, 0, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_string_equal(err.message, "Shape mismatch in tuple component 0. Expected [], got [2]");
    assert_int_equal(
        levada_queue_enqueue_many(queue, (levada_tensor *[]){ square, pair }, 0, NULL, &err),
        LEVADA_EINVALID_ARGUMENT);
    assert_string_equal(err.message,
                        "Shape mismatch in tuple component 0. Expected [2], got [2,2]");
    assert_int_equal(levada_queue_enqueue(queue, (levada_tensor *[]){ other, one }, 0, &err),
                     LEVADA_EINVALID_ARGUMENT);
    levada_tensor_unref(&pair);
    levada_tensor_unref(&one);
    levada_tensor_unref(&square);
    levada_tensor_unref(&other);
    levada_queue_unref(&queue);
}

typedef struct worker {
    levada_queue *queue;
    int64_t       id, sum, count;
    pthread_t     thread;
} worker;

static void *produce(void *user)
{
    worker *w = user;

    for (int64_t i = 0; i < w->id % 10; i++) {
        int64_t p = i, v = w->id;

        if (levada_queue_enqueue_rows(w->queue, 1, (const void *[]){ &p, &v }, -1, NULL, NULL) !=
            LEVADA_OK) {
            break;
        }
        w->sum += v;
    }
    return NULL;
}

static void *consume(void *user)
{
    worker *w = user;
    int64_t p[10], v[10], n = w->id % 10;

    if (levada_queue_dequeue_rows(w->queue, n, false, (void *[]){ p, v }, -1, &w->count, NULL) !=
        LEVADA_OK) {
        w->count = 0;
    }
    for (int64_t i = 0; i < w->count; i++) {
        if (i > 0 && p[i - 1] > p[i]) w->sum = INT64_MIN / 2;
        w->sum += v[i];
    }
    return NULL;
}

static void threads_lose_nothing_through_a_small_one(void **state)
{
    levada_queue *queue = make(10);
    worker        in[40], out[40];
    int64_t       sum = 0;

    (void)state;
    for (int i = 0; i < 40; i++) {
        in[i] = out[i] = (worker){ queue, i, 0, 0, 0 };
        pthread_create(&out[i].thread, NULL, consume, &out[i]);
        pthread_create(&in[i].thread, NULL, produce, &in[i]);
    }
    for (int i = 0; i < 40; i++) {
        pthread_join(in[i].thread, NULL);
        pthread_join(out[i].thread, NULL);
        sum += in[i].sum - out[i].sum;
    }
    assert_int_equal(sum, 0);
    assert_int_equal(levada_queue_size(queue), 0);
    levada_queue_unref(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lowest_comes_first_and_ties_in_order),
        cmocka_unit_test(many_come_at_once_and_sorted),
        cmocka_unit_test(more_than_the_capacity_is_an_error_and_no_wait),
        cmocka_unit_test(wants_a_scalar_priority),
        cmocka_unit_test(threads_lose_nothing_through_a_small_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
