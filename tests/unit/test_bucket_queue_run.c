/* SPDX-License-Identifier: Apache-2.0 */
/* Order, capacity, end, errors and stops of buckets. */
#include "support/buckets.h"
#include "support/coordinators.h"
#include "support/queues.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static int64_t of_four(int64_t i) { return i % 4; }

static const int64_t eight = 8, thirty_two = 32;

/* -- order, capacity, end ---------------------------------------------------------------------- */

typedef struct order {
    int64_t last[4];  /* the last number of each bucket */
    int32_t smaller;  /* bucket of the last smaller batch */
    int64_t most;
} order;

static void look_order(const test_batch *batch, void *user)
{
    order *o = user;

    for (int64_t k = 0; k < batch->rows; k++) {
        assert_true(batch->numbers[k] > o->last[batch->bucket]);
        o->last[batch->bucket] = batch->numbers[k];
    }
    if (batch->rows == o->most) {
        assert_int_equal(o->smaller, -1); /* full batches come first */
        return;
    }
    assert_true(batch->bucket > o->smaller);
    o->smaller = batch->bucket;
}

static void one_thread_keeps_the_order_and_remainders_ascend(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 40; n++) {
        test_source           s = test_source_of(n, of_four);
        levada_bucket_options o = test_bucket_options(&s, 4, &eight);
        order                 seen = { { -1, -1, -1, -1 }, -1, 8 };
        test_taken            all;

        o.allow_smaller_final_batch = true;
        o.capacity = 1 + n % 3;
        all = test_bucket_run(&o, NULL, look_order, &seen);
        test_bucket_came(&all, n);
        test_bucket_ends(&all, LEVADA_EOUT_OF_RANGE, "");
    }
}

static void a_batch_may_exceed_the_capacity(void **state)
{
    test_source           s = test_source_of(320, of_four);
    levada_bucket_options o = test_bucket_options(&s, 4, &thirty_two);
    test_taken            all;

    (void)state;
    o.capacity = 1;
    all = test_bucket_run(&o, NULL, NULL, NULL);
    assert_int_equal(all.batches, 8);
}

static void remainders_are_counted_as_dropped(void **state)
{
    levada_bucket_counts counts;

    (void)state;
    for (int64_t n = 0; n < 70; n += 23) {
        test_source           s = test_source_of(n, of_four);
        levada_bucket_options o = test_bucket_options(&s, 4, &eight);
        test_taken            all = test_bucket_run(&o, &counts, NULL, NULL);

        assert_int_equal(counts.records, all.rows);
        assert_int_equal(counts.batches, all.batches);
        assert_int_equal(counts.dropped, n - all.rows);
        assert_true(n - all.rows <= 4 * 7);
    }
}

/* Waits until the top queue and a bucket queue are full, and so everybody waits for space. */
static void until_blocked(const levada_bucket *bucket, int64_t capacity)
{
    const struct timespec pause = { 0, 100000 };

    for (bool full = false; !full; (void)nanosleep(&pause, NULL)) {
        bool top = levada_queue_size(levada_bucket_queue(bucket, -1)) == capacity;

        for (int32_t i = 0; top && i < 4; i++) {
            full |= levada_queue_size(levada_bucket_queue(bucket, i)) == capacity;
        }
    }
    test_until_waiting(NULL, 1 + 4);
}

static void a_bucket_that_nobody_empties_blocks_the_input(void **state)
{
    test_source           s = test_source_of(TEST_ELEMENTS, of_four);
    levada_bucket_options o = test_bucket_options(&s, 4, &eight);
    levada_coordinator   *c = test_coordinator(NULL, 0);
    levada_bucket        *bucket;
    levada_bucket_counts  counts;

    (void)state;
    o.capacity = 5;
    bucket = test_bucket(&o);
    test_bucket_start(bucket, c);
    assert_int_equal(levada_bucket_start(bucket, c, NULL), LEVADA_AGAIN);
    until_blocked(bucket, 5);
    assert_int_equal(levada_queue_size(levada_bucket_queue(bucket, -1)), 5);
    assert_int_equal(levada_coordinator_request_stop(c, NULL, NULL), LEVADA_OK);
    test_joins(c, TEST_SECOND * 60, LEVADA_OK, NULL);
    counts = test_bucket_counts(bucket);
    assert_int_equal(counts.batches, 5);
    /* Everything that was read is delivered, or counted. */
    assert_int_equal(counts.records + counts.dropped, atomic_load(&s.next));
    levada_bucket_destroy(&bucket);
    levada_coordinator_destroy(&c);
}

static void each_queue_has_the_elements_of_its_bucket(void **state)
{
    test_source           s = test_source_of(7, of_four);
    levada_bucket_options o = test_bucket_options(&s, 4, &eight);
    const int64_t         sizes[] = { 0, 3, 0, 1 };
    levada_tensor        *t[4];
    levada_bucket        *bucket;

    (void)state;
    o.next = NULL;
    bucket = test_bucket(&o);
    for (int64_t i = 0; i < 7; i++) {
        assert_int_equal(test_source_next(&s, t, NULL), LEVADA_OK);
        if (i == 1 || i == 3 || i == 5) {
            assert_int_equal(levada_bucket_put(bucket, t, 0, NULL), LEVADA_OK);
            if (i == 5) assert_int_equal(levada_bucket_put(bucket, t, 0, NULL), LEVADA_OK);
        }
        for (int k = 0; k < 4; k++) levada_tensor_unref(&t[k]);
    }
    for (int32_t i = 0; i < 4; i++) {
        assert_int_equal(levada_queue_size(levada_bucket_queue(bucket, i)), sizes[i]);
    }
    assert_int_equal(levada_queue_size(levada_bucket_queue(bucket, -1)), 0);
    levada_bucket_destroy(&bucket);
}

/* -- errors and stops -------------------------------------------------------------------------- */

static void an_error_of_the_source_follows_the_batches(void **state)
{
    test_source           s = test_source_of(100, of_four);
    levada_bucket_options o = test_bucket_options(&s, 4, &eight);
    levada_bucket        *bucket;
    test_taken            all;

    (void)state;
    s.fails_at = 64;
    s.fails_with = LEVADA_EDATA_LOSS;
    bucket = test_bucket(&o);
    test_bucket_start(bucket, NULL);
    test_bucket_take(bucket, &all, NULL, NULL);
    test_bucket_came(&all, 64);
    test_bucket_ends(&all, LEVADA_EDATA_LOSS, "element 64");
    levada_bucket_destroy(&bucket);
    atomic_store(&s.next, 0);
    s.fails_with = LEVADA_ECANCELLED; /* as upstream: the end of the input */
    all = test_bucket_run(&o, NULL, NULL, NULL);
    test_bucket_ends(&all, LEVADA_EOUT_OF_RANGE, "");
}

static void cancelled_calls_of_open_queues_are_an_error(void **state)
{
    (void)state;
    for (int top = 0; top < 2; top++) {
        test_source           s = test_source_of(TEST_ELEMENTS, of_four);
        levada_bucket_options o = test_bucket_options(&s, 4, &eight);
        levada_bucket        *bucket;
        test_taken            all;

        o.capacity = 2;
        bucket = test_bucket(&o);
        test_bucket_start(bucket, NULL);
        until_blocked(bucket, 2);
        /* A thread that was just woken misses a cancel. The first one that does not closes them. */
        while (!levada_queue_is_closed(levada_bucket_queue(bucket, 0))) {
            for (int32_t i = top ? -1 : 0; i < (top ? 0 : 4); i++) {
                levada_queue_cancel(levada_bucket_queue(bucket, i));
            }
        }
        test_bucket_take(bucket, &all, NULL, NULL);
        test_bucket_ends(&all, LEVADA_EABORTED, "the input is incomplete");
        for (int64_t i = 0; i < TEST_ELEMENTS; i++) assert_in_range(all.seen[i], 0, 1);
        levada_bucket_destroy(&bucket);
    }
}

static void a_bucket_may_be_destroyed_before_its_coordinator(void **state)
{
    test_source           s = test_source_of(TEST_ELEMENTS, of_four);
    levada_bucket_options o = test_bucket_options(&s, 4, &eight);
    levada_coordinator   *c = test_coordinator(NULL, 0);

    (void)state;
    for (int i = 0; i < 8; i++) {
        levada_bucket    *bucket;
        static test_batch batch;

        atomic_store(&s.next, 0);
        bucket = test_bucket(&o);
        if (i > 0) test_bucket_start(bucket, i % 2 == 0 ? c : NULL);
        if (i > 2) assert_int_equal(test_bucket_next(bucket, &batch, NULL), LEVADA_OK);
        levada_bucket_destroy(&bucket);
    }
    assert_int_equal(levada_coordinator_request_stop(c, NULL, NULL), LEVADA_OK);
    test_joins(c, TEST_SECOND * 60, LEVADA_OK, NULL);
    levada_coordinator_destroy(&c);
}

static void timeouts_lose_nothing(void **state)
{
    test_source           s = test_source_of(8, NULL);
    levada_bucket_options o = test_bucket_options(&s, 1, &eight);
    levada_bucket        *bucket = test_bucket(&o);
    levada_tensor        *t[4];
    int32_t               index;
    test_taken            all;

    (void)state;
    assert_int_equal(levada_bucket_next(bucket, &index, NULL, t, 1000000, NULL),
                     LEVADA_EDEADLINE_EXCEEDED);
    test_bucket_start(bucket, NULL);
    test_bucket_take(bucket, &all, NULL, NULL);
    test_bucket_came(&all, 8);
    levada_bucket_destroy(&bucket);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_keeps_the_order_and_remainders_ascend),
        cmocka_unit_test(a_batch_may_exceed_the_capacity),
        cmocka_unit_test(remainders_are_counted_as_dropped),
        cmocka_unit_test(a_bucket_that_nobody_empties_blocks_the_input),
        cmocka_unit_test(each_queue_has_the_elements_of_its_bucket),
        cmocka_unit_test(an_error_of_the_source_follows_the_batches),
        cmocka_unit_test(cancelled_calls_of_open_queues_are_an_error),
        cmocka_unit_test(a_bucket_may_be_destroyed_before_its_coordinator),
        cmocka_unit_test(timeouts_lose_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
