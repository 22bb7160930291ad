/* SPDX-License-Identifier: Apache-2.0 */
#include "support/queues.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static levada_queue *seeded(int64_t seed)
{
    levada_queue_options o = LEVADA_QUEUE_OPTIONS_INIT;
    levada_dtype         dtype = LEVADA_INT64;
    levada_shape         shape = { 0, { 0 } };

    o.kind = LEVADA_QUEUE_SHUFFLE;
    o.capacity = 100;
    o.seed = seed;
    o.ncomponents = 1;
    o.dtypes = &dtype;
    o.shapes = &shape;
    return test_queue_of(NULL, &o);
}

static test_call shuffled(int64_t seed, bool one_by_one)
{
    levada_queue *queue = seeded(seed);
    test_call     all = test_call_of(queue, TEST_DEQUEUE, 20, 0);

    assert_int_equal(test_put(queue, 0, 20), LEVADA_OK);
    if (!one_by_one) test_run(&all);
    for (int i = 0; one_by_one && i < 20; i++) all.values[i] = test_take(queue);
    levada_queue_unref(&queue);
    return all;
}

static void every_element_comes_out_once(void **state)
{
    test_call all = shuffled(1, false);
    int       seen[20] = { 0 };

    (void)state;
    for (int i = 0; i < 20; i++) seen[all.values[i]]++;
    for (int i = 0; i < 20; i++) assert_int_equal(seen[i], 1);
}

static void the_seed_decides_the_order(void **state)
{
    test_call a = shuffled(1729, false), b = shuffled(1729, true), c = shuffled(87539319, false);
    test_call d = shuffled(-1, false), e = shuffled(-1, false);

    (void)state;
    assert_memory_equal(a.values, b.values, 20 * sizeof(int64_t));
    assert_memory_not_equal(a.values, c.values, 20 * sizeof(int64_t));
    assert_memory_not_equal(d.values, e.values, 20 * sizeof(int64_t));
}

static void leaves_the_least_while_it_is_open(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_SHUFFLE, 10, 2);
    test_call     third = test_call_of(queue, TEST_DEQUEUE, 1, 0);

    (void)state;
    assert_int_equal(test_put(queue, 0, 4), LEVADA_OK);
    assert_true(test_take(queue) >= 0);
    assert_true(test_take(queue) >= 0);
    test_start_waiting(&third);
    assert_int_equal(levada_queue_size(queue), 2);
    assert_int_equal(levada_queue_close(queue, false, 0, NULL), LEVADA_OK);
    test_join(&third);
    test_expect_status(&third, LEVADA_OK, NULL);
    assert_true(test_take(queue) >= 0);
    assert_int_equal(test_take(queue), LEVADA_EOUT_OF_RANGE);
    levada_queue_unref(&queue);
}

static void up_to_keeps_the_least_until_the_close(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_SHUFFLE, 10, 2);
    test_call     three = test_call_of(queue, TEST_DEQUEUE_UP_TO, 3, 0);

    (void)state;
    assert_int_equal(test_put(queue, 0, 4), LEVADA_OK);
    test_start_waiting(&three);
    assert_int_equal(levada_queue_close(queue, false, 0, NULL), LEVADA_OK);
    test_join(&three);
    assert_int_equal(three.got, 3);
    test_run(&three);
    assert_int_equal(three.got, 1);
    levada_queue_unref(&queue);
}

static void a_take_may_be_larger_than_what_fits_above_the_least(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_SHUFFLE, 5, 4);
    test_call     many = test_call_of(queue, TEST_DEQUEUE, 20, 0);
    int           seen[24] = { 0 };

    (void)state;
    test_start(&many);
    for (int64_t i = 0; i < 24; i++) {
        test_call in = test_call_of(queue, TEST_ENQUEUE, 1, i);
        test_run(&in);
    }
    test_join(&many);
    test_expect_status(&many, LEVADA_OK, NULL);
    assert_int_equal(levada_queue_size(queue), 4);
    for (int i = 0; i < 20; i++) assert_int_equal(seen[many.values[i]]++, 0);
    levada_queue_unref(&queue);
}

static void bytes_do_not_stop_what_the_least_needs(void **state)
{
    levada_queue_options o = LEVADA_QUEUE_OPTIONS_INIT;
    levada_dtype         dtype = LEVADA_INT64;
    levada_shape         shape = { 0, { 0 } };

    (void)state;
    o.kind = LEVADA_QUEUE_SHUFFLE;
    o.max_bytes = 8;
    o.min_after_dequeue = 3;
    o.ncomponents = 1;
    o.dtypes = &dtype;
    o.shapes = &shape;
    levada_queue *queue = test_queue_of(NULL, &o);
    assert_int_equal(test_put(queue, 0, 4), LEVADA_OK);
    assert_int_equal(test_put(queue, 4, 1), LEVADA_EDEADLINE_EXCEEDED);
    assert_true(test_take(queue) >= 0);
    levada_queue_unref(&queue);

    o.min_after_dequeue = INT64_MAX; /* nothing can come out before it is closed */
    queue = test_queue_of(NULL, &o);
    assert_int_equal(test_put(queue, 0, 5), LEVADA_OK);
    levada_queue_unref(&queue);
}

static void a_failed_take_gives_all_back(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_SHUFFLE, 10, 0);
    test_call     three = test_call_of(queue, TEST_DEQUEUE, 5, 0);
    int           seen[4] = { 0 };

    (void)state;
    assert_int_equal(test_put(queue, 0, 4), LEVADA_OK);
    three.timeout = TEST_SECOND / 100;
    test_run(&three);
    test_expect_status(&three, LEVADA_EDEADLINE_EXCEEDED, NULL);
    assert_int_equal(levada_queue_size(queue), 4);
    for (int i = 0; i < 4; i++) assert_int_equal(seen[test_take(queue)]++, 0);
    levada_queue_unref(&queue);
}

static void components_stay_together(void **state)
{
    levada_queue_options o = LEVADA_QUEUE_OPTIONS_INIT;
    levada_dtype         dtypes[] = { LEVADA_INT32, LEVADA_INT64 };
    levada_shape         shapes[] = { { 0, { 0 } }, { 1, { 1 } } };
    int32_t              a[50];
    int64_t              b[50], left = 50;
    const void          *in[] = { a, b };

    (void)state;
    o.kind = LEVADA_QUEUE_SHUFFLE;
    o.ncomponents = 2;
    o.dtypes = dtypes;
    o.shapes = shapes;
    levada_queue *queue = test_queue_of(NULL, &o);
    for (int i = 0; i < 50; i++) b[i] = -(a[i] = i);
    assert_int_equal(levada_queue_enqueue_rows(queue, 50, in, 0, NULL, NULL), LEVADA_OK);
    while (left > 0) {
        int32_t x[7];
        int64_t y[7], n = left < 7 ? left : 7;
        void   *out[] = { x, y };

        assert_int_equal(levada_queue_dequeue_rows(queue, n, false, out, 0, NULL, NULL), LEVADA_OK);
        for (int64_t i = 0; i < n; i++) assert_int_equal(x[i], -y[i]);
        left -= n;
    }
    levada_queue_unref(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_comes_out_once),
        cmocka_unit_test(the_seed_decides_the_order),
        cmocka_unit_test(leaves_the_least_while_it_is_open),
        cmocka_unit_test(up_to_keeps_the_least_until_the_close),
        cmocka_unit_test(a_take_may_be_larger_than_what_fits_above_the_least),
        cmocka_unit_test(bytes_do_not_stop_what_the_least_needs),
        cmocka_unit_test(a_failed_take_gives_all_back),
        cmocka_unit_test(components_stay_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
