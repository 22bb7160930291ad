/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory or threads run out at one place after the other while buckets work: the call or the
 * consumer gets that error, nothing leaks or hangs, and every element is delivered or counted.
 */
#include "conformance/fault.h"
#include "fault/fault_thread.h"
#include "support/buckets.h"
#include "support/coordinators.h"
#include "support/queues.h"

#include <levada/levada.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int64_t of_four(int64_t i) { return i % 4; }

static const int64_t bounds[] = { 1, 2, 3 }, four = 4;

static levada_bucket_options options_for(test_source *s, const levada_dataset *ds)
{
    levada_bucket_options o = test_bucket_options(s, 0, &four);

    o.boundaries = bounds;
    o.nboundaries = 3;
    o.num_threads = 2;
    o.capacity = 8;
    o.allow_smaller_final_batch = true;
    o.shared_name = "fault";
    if (ds != NULL) {
        o.next = NULL;
        o.dataset = ds;
        o.ncomponents = 0;
        o.dtypes = NULL;
        o.shapes = NULL;
        o.key_component = 0;
    }
    return o;
}

/* Rows until the end, and why it ended. A call for which memory is short is made again. */
static int64_t take(levada_bucket *bucket, levada_status *end, levada_error *err)
{
    levada_tensor *t[4] = { NULL }, *lengths = NULL;
    int64_t        rows = 0;
    int32_t        index, failed = 0;

    for (;;) {
        *end = levada_bucket_next(bucket, &index, &lengths, t, LEVADA_FOREVER, err);
        if (*end == LEVADA_ERESOURCE_EXHAUSTED && failed++ == 0) continue;
        if (*end != LEVADA_OK) return rows;
        rows += levada_tensor_shape(t[0])->dims[0];
        for (int i = 0; i < 4; i++) levada_tensor_unref(&t[i]);
        levada_tensor_unref(&lengths);
    }
}

static void run_on(const levada_dataset *ds)
{
    test_source           s = { .n = 40, .key = of_four, .fails_at = -1 };
    levada_bucket_options o = options_for(&s, ds);
    levada_coordinator   *c = NULL;
    levada_bucket        *bucket = NULL;
    levada_error          why = LEVADA_ERROR_INIT;
    levada_bucket_counts  counts;
    levada_status         end, joined;
    int64_t               rows;

    FAULT_AGAIN(levada_coordinator_create(NULL, NULL, 0, &c, err));
    FAULT_AGAIN(levada_bucket_create(NULL, &o, &bucket, err));
    FAULT_AGAIN(levada_bucket_start(bucket, c, err));
    rows = take(bucket, &end, &why);
    if (end != LEVADA_EOUT_OF_RANGE) fault_expect_short(end, &why);
    joined = levada_coordinator_request_stop(c, NULL, NULL);
    assert_int_equal(joined, LEVADA_OK);
    joined = levada_coordinator_join(c, LEVADA_FOREVER, false, &why);
    if (joined != LEVADA_OK) fault_expect_short(joined, &why);
    counts = test_bucket_counts(bucket);
    assert_int_equal(counts.records, rows);
    if (end == LEVADA_EOUT_OF_RANGE && joined == LEVADA_OK) assert_int_equal(rows, 40);
    levada_bucket_destroy(&bucket);
    levada_coordinator_destroy(&c);
}

static void run_function(void) { run_on(NULL); }

static levada_dataset *numbers;

static void run_dataset(void) { run_on(numbers); }

static void sweep(void (*run)(void))
{
    bool reached = true;

    run(); /* what the library makes once is there */
    for (int64_t number = 0; reached; number++) {
        int64_t before = fault_live();

        fault_arm(number);
        run();
        reached = fault_disarm() > number;
        fault_expect_live(before, number);
        assert_int_equal(fault_thread_live(), 0);
    }
}

static void short_memory_is_an_error_and_loses_nothing(void **state)
{
    (void)state;
    assert_int_equal(levada_dataset_parse(NULL, "range:40", &numbers, NULL), LEVADA_OK);
    sweep(run_function);
    sweep(run_dataset);
    levada_dataset_unref(&numbers);
}

static void a_start_without_threads_can_be_repeated(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);
    levada_error        err = LEVADA_ERROR_INIT;

    (void)state;
    for (int number = 0; number < 4 + 1 + 2 + 1; number++) { /* buckets, source, their stops */
        test_source           s = { .n = 40, .key = of_four, .fails_at = -1 };
        levada_bucket_options o = options_for(&s, NULL);
        levada_bucket        *bucket = test_bucket(&o);
        levada_status         end;

        fault_thread_arm(number);
        assert_int_equal(levada_bucket_start(bucket, c, &err), LEVADA_ERESOURCE_EXHAUSTED);
        fault_thread_arm(-1);
        assert_int_equal(levada_bucket_start(bucket, c, &err), LEVADA_OK);
        int64_t rows = take(bucket, &end, &err);
        if (rows != 40) fail_msg("%d: %d %d %s", number, (int)rows, end, err.message);
        assert_int_equal(levada_coordinator_request_stop(c, NULL, NULL), LEVADA_OK);
        test_joins(c, LEVADA_FOREVER, LEVADA_OK, NULL);
        levada_coordinator_clear_stop(c);
        levada_bucket_destroy(&bucket);
    }
    levada_coordinator_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_memory_is_an_error_and_loses_nothing),
        cmocka_unit_test(a_start_without_threads_can_be_repeated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
