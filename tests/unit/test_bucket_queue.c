/* SPDX-License-Identifier: Apache-2.0 */
/* Named cases of TensorFlow's bucket_ops_test.py stand at the tests that make the same claim. */
#include "support/buckets.h"
#include "support/coordinators.h"
#include "support/queues.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int64_t parity(int64_t i) { return i % 2; }
static int64_t number(int64_t i) { return i; }
static bool    is_even(int64_t i) { return i % 2 == 0; }

static const int64_t one = 1, eight = 8, ten = 10, thirty_two = 32;

/* -- the upstream tests ------------------------------------------------------------------------ */

static void look_single(const test_batch *batch, void *user)
{
    (void)user;
    assert_int_equal(batch->bucket, 0);
    assert_int_equal(batch->rows, 32);
    assert_int_equal(batch->width, 31);
}

/* testSingleBucket */
static void one_bucket_of_two_gets_everything(void **state)
{
    test_source           s = test_source_of(32, NULL);
    levada_bucket_options o = test_bucket_options(&s, 2, &thirty_two);
    test_taken            all;

    (void)state;
    o.num_threads = 10;
    all = test_bucket_run(&o, NULL, look_single, NULL);
    test_bucket_came(&all, 32);
    assert_int_equal(all.batches, 1);
    test_bucket_ends(&all, LEVADA_EOUT_OF_RANGE,
                     "top_queue' is closed and has insufficient elements");
}

static void look_sizes(const test_batch *batch, void *user)
{
    const int64_t *sizes = user;

    assert_int_equal(batch->rows, sizes[batch->bucket]);
    for (int64_t k = 0; k < batch->rows; k++) {
        assert_int_equal(batch->numbers[k] % 2, batch->bucket);
    }
}

/* testBatchSizePerBucket */
static void each_bucket_has_a_batch_size(void **state)
{
    test_source           s = test_source_of(30, parity);
    const int64_t         sizes[] = { 5, 10 };
    levada_bucket_options o = test_bucket_options(&s, 2, sizes);
    levada_bucket_counts  counts;
    test_taken            all;

    (void)state;
    o.nbatch_sizes = 2;
    all = test_bucket_run(&o, &counts, look_sizes, (void *)(uintptr_t)sizes);
    assert_int_equal(all.batches, 3 + 1);
    assert_int_equal(counts.records, 25);
    assert_int_equal(counts.dropped, 5);
}

static void look_even_odd(const test_batch *batch, void *user)
{
    (void)user;
    assert_int_equal(batch->width, batch->bucket == 0 ? 62 : 63);
}

/* testEvenOddBuckets */
static void even_and_odd_are_padded_apart(void **state)
{
    test_source           s = test_source_of(64, parity);
    levada_bucket_options o = test_bucket_options(&s, 2, &thirty_two);
    test_taken            all;

    (void)state;
    s.length = number;
    o.num_threads = 10;
    all = test_bucket_run(&o, NULL, look_even_odd, NULL);
    test_bucket_came(&all, 64);
    assert_int_equal(all.batches, 2);
}

/* testEvenOddBucketsFilterOutAllOdd */
static void elements_that_are_not_kept_are_counted(void **state)
{
    test_source           s = test_source_of(128, parity);
    levada_bucket_options o = test_bucket_options(&s, 2, &thirty_two);
    levada_bucket_counts  counts;
    test_taken            all;

    (void)state;
    s.keep = is_even;
    o.keep_component = 3;
    o.num_threads = 10;
    all = test_bucket_run(&o, &counts, NULL, NULL);
    assert_int_equal(all.batches, 2);
    for (int64_t i = 0; i < 128; i++) assert_int_equal(all.seen[i], i % 2 == 0);
    assert_int_equal(counts.filtered, 64);
    assert_int_equal(counts.dropped, 0);
}

static int64_t length_of(int64_t i) { return ((const int64_t[]){ 1, 3, 4, 5, 6, 10 })[i % 6]; }

static const int64_t bounds[] = { 3, 4, 5, 10 };

static int64_t bucket_of(int64_t length)
{
    int64_t i = 0;

    while (i < 4 && length >= bounds[i]) i++;
    return i;
}

typedef struct lengths_seen {
    int64_t smaller[5], most;
} lengths_seen;

static void look_lengths(const test_batch *batch, void *user)
{
    lengths_seen *seen = user;

    if (batch->rows < seen->most) seen->smaller[batch->bucket] += batch->rows;
    assert_true(batch->rows <= seen->most);
    for (int64_t k = 0; k < batch->rows; k++) {
        assert_int_equal(batch->lengths[k], length_of(batch->numbers[k]));
        assert_int_equal(bucket_of(batch->lengths[k]), batch->bucket);
    }
}

static levada_bucket_options by_length(test_source *s, int32_t threads, bool smaller)
{
    levada_bucket_options o;

    *s = test_source_of(500, length_of);
    s->length = length_of;
    o = test_bucket_options(s, 0, &eight);
    o.num_threads = threads;
    o.boundaries = bounds;
    o.nboundaries = 4;
    o.allow_smaller_final_batch = smaller;
    return o;
}

/* testBucketBySequenceLength */
static void full_batches_of_lengths(void **state)
{
    lengths_seen          seen = { .most = 8 };
    levada_bucket_counts  counts;
    test_source           s;
    test_taken            all;
    levada_bucket_options o = by_length(&s, 10, false);

    (void)state;
    all = test_bucket_run(&o, &counts, look_lengths, &seen);
    for (int i = 0; i < 5; i++) assert_int_equal(seen.smaller[i], 0);
    assert_int_equal(counts.records, all.rows);
    assert_int_equal(counts.records + counts.dropped, 500);
    assert_in_range(counts.dropped, 0, 5 * 7);
    for (int64_t i = 0; i < 500; i++) assert_in_range(all.seen[i], 0, 1);
}

/* testBucketBySequenceLengthAllow, with the length as a field and as a dimension */
static void smaller_final_batches_deliver_everything(void **state)
{
    levada_bucket_counts counts;
    test_source          s;

    (void)state;
    for (int32_t threads = 1; threads <= 10; threads += 9) {
        for (int32_t component = 1; component <= 2; component++) {
            levada_bucket_options o = by_length(&s, threads, true);
            lengths_seen          seen = { .most = 8 };
            test_taken            all;

            o.key_component = component;
            all = test_bucket_run(&o, &counts, look_lengths, &seen);
            test_bucket_came(&all, 500);
            assert_int_equal(counts.dropped, 0);
        }
    }
}

/* testBucketBySequenceLengthBucketCapacities, testFailOnWrongBucketCapacities */
static void capacities_are_one_for_each_bucket(void **state)
{
    const int64_t         capacities[] = { 48, 40, 32, 24, 16 };
    test_source           s;
    test_taken            all;
    levada_bucket_options o = by_length(&s, 10, true);
    levada_bucket        *bucket;

    (void)state;
    o.capacities = capacities;
    o.ncapacities = 4;
    test_bucket_refused(&o, "must have exactly num_buckets (5)");
    o.ncapacities = 5;
    bucket = test_bucket(&o);
    for (int32_t i = 0; i < 5; i++) {
        levada_queue *queue = levada_bucket_queue(bucket, i);

        assert_int_equal(levada_queue_info(queue)->capacity, capacities[i]);
    }
    assert_int_equal(levada_queue_info(levada_bucket_queue(bucket, -1))->capacity, 32);
    levada_bucket_destroy(&bucket);
    atomic_store(&s.next, 0);
    all = test_bucket_run(&o, NULL, NULL, NULL);
    test_bucket_came(&all, 500);
}

/* testBucketBySequenceLengthShutdown */
static void stops_in_the_middle(void **state)
{
    test_source           s;
    levada_bucket_options o = by_length(&s, 10, false);
    levada_coordinator   *c = test_coordinator(NULL, 0);
    levada_bucket        *bucket;
    static test_batch     batch;

    (void)state;
    s.n = TEST_ELEMENTS;
    bucket = test_bucket(&o);
    test_bucket_start(bucket, c);
    for (int64_t rows = 0; rows < 320; rows += batch.rows) {
        assert_int_equal(test_bucket_next(bucket, &batch, NULL), LEVADA_OK);
    }
    assert_int_equal(levada_coordinator_request_stop(c, NULL, NULL), LEVADA_OK);
    test_joins(c, TEST_SECOND * 60, LEVADA_OK, NULL);
    levada_bucket_destroy(&bucket);
    levada_coordinator_destroy(&c);
}

/* -- keys -------------------------------------------------------------------------------------- */

static int64_t unfit_at_40(int64_t i) { return i == 40 ? 7 : 0; }

static void a_key_that_fits_no_bucket_is_an_error_for_consumers(void **state)
{
    test_source           s = test_source_of(100, unfit_at_40);
    levada_bucket_options o = test_bucket_options(&s, 2, &ten);
    test_taken            all;

    (void)state;
    o.allow_smaller_final_batch = true;
    for (int own = 0; own < 2; own++) {
        levada_bucket *bucket;

        atomic_store(&s.next, 0);
        if (own) {
            bucket = test_bucket(&o);
            test_bucket_start(bucket, NULL);
            test_bucket_take(bucket, &all, NULL, NULL);
            levada_bucket_destroy(&bucket);
            test_bucket_came(&all, 40); /* nobody stops those before it */
        } else {
            all = test_bucket_run(&o, NULL, NULL, NULL);
            assert_in_range(all.rows, 0, 40);
        }
        test_bucket_ends(&all, LEVADA_EINVALID_ARGUMENT, "which_bucket=7 is not in [0, 2)");
    }
}

static void every_length_at_a_boundary_has_its_bucket(void **state)
{
    test_source           s;
    levada_bucket_options o = by_length(&s, 1, false);
    levada_bucket        *bucket = test_bucket(&o);
    int32_t               index = -1;
    levada_error          err = LEVADA_ERROR_INIT;

    (void)state;
    for (int64_t length = -2; length < 13; length++) {
        assert_int_equal(levada_bucket_index(bucket, length, &index, &err), LEVADA_OK);
        assert_int_equal(index, bucket_of(length));
    }
    assert_int_equal(levada_bucket_index(bucket, INT32_MIN, &index, &err), LEVADA_OK);
    assert_int_equal(index, 0);
    assert_int_equal(levada_bucket_index(bucket, INT32_MAX, &index, &err), LEVADA_OK);
    assert_int_equal(index, 4);
    for (int64_t sign = -1; sign < 2; sign += 2) {
        assert_int_equal(levada_bucket_index(bucket, sign * ((int64_t)1 << 31) + (sign - 1) / 2,
                                             &index, &err),
                         LEVADA_EINVALID_ARGUMENT);
        assert_non_null(strstr(err.message, "is not an int32"));
    }
    levada_bucket_destroy(&bucket);
}

static levada_status key_function(void *user, levada_tensor *const *components, int64_t *key,
                                  levada_error *err)
{
    (void)user;
    *key = *(int64_t *)levada_tensor_data(components[0]) % 4;
    if (*key < 4) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINTERNAL, "never");
}

static int64_t keep_fails_at = -1;

static levada_status keep_function(void *user, levada_tensor *const *components, bool *keep,
                                   levada_error *err)
{
    int64_t i = *(int64_t *)levada_tensor_data(components[0]);

    *keep = i % 3 != 0;
    (void)user;
    if (i != keep_fails_at) return LEVADA_OK;
    return levada_fail(err, LEVADA_EDATA_LOSS, "keep fails");
}

static void functions_choose_buckets(void **state)
{
    test_source           s = test_source_of(96, NULL);
    levada_bucket_options o = test_bucket_options(&s, 4, &eight);
    levada_bucket_counts  counts;
    test_taken            all;

    (void)state;
    o.key = key_function;
    o.keep = keep_function;
    o.keep_component = 3;
    all = test_bucket_run(&o, &counts, NULL, NULL);
    for (int64_t i = 0; i < 96; i++) assert_int_equal(all.seen[i], i % 3 != 0);
    assert_int_equal(all.batches, 8);
    assert_int_equal(counts.filtered, 32);
    atomic_store(&s.next, 0);
    keep_fails_at = 20;
    all = test_bucket_run(&o, NULL, NULL, NULL);
    keep_fails_at = -1;
    test_bucket_ends(&all, LEVADA_EDATA_LOSS, "keep fails");
}

static void a_key_must_be_an_integer(void **state)
{
    test_source           s = test_source_of(4, NULL);
    levada_bucket_options o = test_bucket_options(&s, 2, &one);
    test_taken            all;

    (void)state;
    o.key_component = 1;
    all = test_bucket_run(&o, NULL, NULL, NULL);
    test_bucket_ends(&all, LEVADA_EINVALID_ARGUMENT,
               "component 1 (int64 of rank 1) is not the number of a bucket");
    atomic_store(&s.next, 0);
    o.key_component = 2;
    o.keep_component = 1;
    all = test_bucket_run(&o, NULL, NULL, NULL);
    test_bucket_ends(&all, LEVADA_EINVALID_ARGUMENT, "is not a bool");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_bucket_of_two_gets_everything),
        cmocka_unit_test(each_bucket_has_a_batch_size),
        cmocka_unit_test(even_and_odd_are_padded_apart),
        cmocka_unit_test(elements_that_are_not_kept_are_counted),
        cmocka_unit_test(full_batches_of_lengths),
        cmocka_unit_test(smaller_final_batches_deliver_everything),
        cmocka_unit_test(capacities_are_one_for_each_bucket),
        cmocka_unit_test(stops_in_the_middle),
        cmocka_unit_test(a_key_that_fits_no_bucket_is_an_error_for_consumers),
        cmocka_unit_test(every_length_at_a_boundary_has_its_bucket),
        cmocka_unit_test(functions_choose_buckets),
        cmocka_unit_test(a_key_must_be_an_integer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
