/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void parts_make_the_whole(void **state)
{
    const int64_t zero[] = { 0, 3, 6, 9 }, one[] = { 1, 4, 7 }, two[] = { 2, 5, 8 };
    const int64_t all[] = { 0, 1, 2 };

    (void)state;
    t_expect_i64("range:10 | shard:0,count=3", "value", zero, 4);
    t_expect_i64("range:10 | shard:1,count=3", "value", one, 3);
    t_expect_i64("range:10 | shard:2,count=3", "value", two, 3);
    t_expect_i64("range:3 | shard:0,count=1", "value", all, 3);
    t_expect_i64("range:3 | shard:5,count=9", "value", all, 0);
    t_expect_i64("range:10 | shard:1,count=3 | shard:1,count=3", "value", one + 1, 1);
}

static void refuses_a_part_that_is_not_there(void **state)
{
    (void)state;
    t_iter_refused("range:3 | shard:3,count=3", LEVADA_EINVALID_ARGUMENT, "index=3 must be below");
    t_iter_refused("range:3 | shard:0,count=0", LEVADA_EINVALID_ARGUMENT, "count");
    t_iter_refused("range:3 | shard:0", LEVADA_EINVALID_ARGUMENT, "count");
}

#define BUCKETS "t_rows:40 | bucket_by_sequence_length:x,boundaries=[4],batch_sizes=2"

static void expect_same(const char *text, const char *want)
{
    levada_dataset *one = NULL, *two = NULL;
    char           *a = NULL, *b = NULL;

    assert_int_equal(levada_dataset_parse(t_iter_env(), text, &one, NULL), LEVADA_OK);
    assert_int_equal(levada_dataset_parse(t_iter_env(), want, &two, NULL), LEVADA_OK);
    assert_int_equal(levada_dataset_text(one, &a, NULL), LEVADA_OK);
    assert_int_equal(levada_dataset_text(two, &b, NULL), LEVADA_OK);
    assert_string_equal(a, b);
    levada_string_free(&a);
    levada_string_free(&b);
    levada_dataset_unref(&one);
    levada_dataset_unref(&two);
}

static void ranks_in_step_are_those_of_the_buckets(void **state)
{
    (void)state;
    expect_same(BUCKETS " | shard:1,count=3,sync=buckets", BUCKETS ",ranks=[1,3],tail=pad");
    expect_same(BUCKETS " | shard:1,count=3,sync=buckets,equal=pad", BUCKETS ",ranks=[1,3]");
    expect_same(BUCKETS " | prefetch:2 | prefetch:3 | shard:0,count=1,sync=buckets,equal=drop",
                BUCKETS ",ranks=[0,1],tail=drop | prefetch:2 | prefetch:3");
    t_iter_sweep(BUCKETS " | shard:1,count=3,sync=buckets | prefetch:2", true, 1);
}

static void refuses_to_divide_what_is_not_in_buckets(void **state)
{
    (void)state;
    t_iter_refused("t_rows:40 | batch:2 | shard:0,count=2,sync=buckets", LEVADA_EINVALID_ARGUMENT,
                   "shard: sync=buckets must follow bucket_by_sequence_length, got batch");
    t_iter_refused("t_rows:40 | shard:0,count=2,sync=buckets", LEVADA_EINVALID_ARGUMENT,
                   "must follow bucket_by_sequence_length, got t_rows");
    t_iter_refused(BUCKETS " | shard:0,count=2,sync=bucket", LEVADA_EINVALID_ARGUMENT,
                   "sync='bucket' must be buckets");
    t_iter_refused(BUCKETS " | shard:2,count=2,sync=buckets", LEVADA_EINVALID_ARGUMENT,
                   "index=2 must be below count=2");
    t_iter_refused(BUCKETS " | shard:0,count=2,sync=buckets,equal=x", LEVADA_EINVALID_ARGUMENT,
                   "equal='x' must be drop or pad");
    t_iter_refused(BUCKETS " | shard:0,count=2,sync=buckets | prefetch:2 | "
                   "shard:0,count=2,sync=buckets", LEVADA_EINVALID_ARGUMENT,
                   "the buckets are divided between ranks already");
}

static void goes_on_after_a_restore(void **state)
{
    const char *pipes[] = {
        "t_rows:40 | shard:0,count=3,equal=drop | batch:3",
        "t_rows:40 | shard:2,count=3,equal=pad | batch:3",
        "t_stream:41 | shard:0,count=3,equal=drop | batch:3",
        "t_stream:41 | shard:2,count=3,equal=pad | shuffle:5 | batch:3",
        "t_rows:41 | shuffle:7 | shard:1,count=7,equal=pad | shuffle:3 | padded_batch:2",
        "t_rows:41 | shuffle:7 | shard:1,count=7,equal=drop | shuffle:3 | padded_batch:2",
        "t_rows:41 | padded_batch:4 | shard:1,count=4,equal=drop",
        "t_rows:41 | padded_batch:4 | shard:3,count=4,equal=pad",
        "t_rows:41 | batch:4 | shard:0,count=4,equal=drop",
        "t_rows:41 | batch:4 | shard:3,count=4,equal=pad | repeat:2",
        "t_rows:41 | bucket_by_sequence_length:x,boundaries=[2,4],batch_sizes=[3,4,5]"
        " | shard:1,count=3,equal=pad",
        "t_rows:10 | shard:3,count=4,equal=drop | repeat:3 | batch:2",
    };

    (void)state;
    t_iter_sweep("t_rows:40 | shard:1,count=3", false, 1);
    t_iter_sweep("t_stream:40 | shuffle:5 | shard:2,count=3 | batch:4", true, 1);
    for (size_t i = 0; i < sizeof pipes / sizeof pipes[0]; i++) t_iter_sweep(pipes[i], true, 1);
}

/* The last round of 10 records in 3 parts has 1 record. */
static void drops_an_incomplete_round(void **state)
{
    const int64_t zero[] = { 0, 3, 6 }, one[] = { 1, 4, 7 }, two[] = { 2, 5, 8 };

    (void)state;
    t_expect_i64("range:10 | shard:0,count=3,equal=drop", "value", zero, 3);
    t_expect_i64("range:10 | shard:1,count=3,equal=drop", "value", one, 3);
    t_expect_i64("range:10 | shard:2,count=3,equal=drop", "value", two, 3);
    t_expect_i64("range:2 | shard:0,count=3,equal=drop", "value", zero, 0);
    t_expect_i64("range:3 | shard:0,count=1,equal=drop | skip:2", "value", two, 1);
}

static void pads_an_incomplete_round(void **state)
{
    const int64_t zero[] = { 0, 3, 6, 9 }, one[] = { 1, 4, 7, 9 }, two[] = { 2, 5, 8, 9 };
    const int64_t none[] = { 0, 0, 0, 0 }, last[] = { 0, 0, 0, 1 };
    char          text[96];

    (void)state;
    t_expect_i64("range:10 | shard:0,count=3,equal=pad", "value", zero, 4);
    t_expect_i64("range:10 | shard:1,count=3,equal=pad", "value", one, 4);
    t_expect_i64("range:10 | shard:2,count=3,equal=pad", "value", two, 4);
    for (int part = 0; part < 3; part++) {
        (void)snprintf(text, sizeof text,
                       "range:10 | shard:%d,count=3,equal=pad | cast:is_padding,dtype=int64", part);
        t_expect_i64(text, "is_padding", part == 0 ? none : last, 4);
    }
    t_expect_i64("range:0 | shard:2,count=3,equal=pad", "value", zero, 0);
}

/* Batches of 4 of 10 records, in 2 parts: batch 2 has a copy in part 1, with empty sequences. */
static void a_padding_batch_has_empty_sequences(void **state)
{
    const char *pipes[] = { "t_rows:10 | padded_batch:4 | shard:1,count=2,equal=pad",
                            "t_rows:10 | batch:4 | shard:1,count=2,equal=pad" };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        levada_iter  *it = t_iter_open(pipes[i], 2, 0);
        levada_block *block = NULL;
        levada_error  err = LEVADA_ERROR_INIT;

        for (int64_t k = 0; k < 2; k++) {
            const levada_column *x, *flag;

            assert_int_equal(levada_iter_next(it, &block, &err), LEVADA_OK);
            assert_int_equal(levada_block_rows(block), k ? 2 : 4);
            x = levada_block_column(block, "x");
            flag = levada_block_column(block, "is_padding");
            for (int64_t row = 0; row < levada_block_rows(block); row++) {
                assert_int_equal(flag->values[row], k);
                if (k) assert_int_equal(levada_column_length(x, row), 0);
            }
            levada_block_unref(&block);
        }
        assert_int_equal(levada_iter_next(it, &block, &err), LEVADA_END);
        levada_iter_close(&it);
    }
}

static void counts_what_it_drops(void **state)
{
    const char *pipes[] = { "range:11 | shard:0,count=4,equal=drop",
                            "range:11 | batch:2 | shard:1,count=4,equal=drop",
                            "range:11 | shard:3,count=4,equal=drop" };
    const int64_t dropped[] = { 1, 1, 0 }; /* batches 4 and 5 have 2 records and 1 */

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        levada_iter *it = t_iter_open(pipes[i], 1, 0);
        t_bytes      all = { 0 };

        (void)t_iter_read(it, -1, false, &all);
        assert_int_equal(t_iter_stat(it, "dropped_records"), dropped[i]);
        t_clear(&all);
        levada_iter_close(&it);
    }
}

static void refuses_another_equal(void **state)
{
    (void)state;
    t_iter_refused("range:3 | shard:0,count=2,equal=wrap", LEVADA_EINVALID_ARGUMENT,
                   "equal='wrap' must be drop or pad");
    t_iter_refused("range:3 | shard:0,count=2,equal=pad | shard:0,count=2,equal=pad",
                   LEVADA_EINVALID_ARGUMENT, "is_padding");
}

static levada_status opened(const char *text, int64_t seed, levada_error *err)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    levada_dataset *ds = NULL;
    levada_iter *it = NULL;
    levada_status st;

    o.seed = seed;
    assert_int_equal(levada_dataset_parse(t_iter_env(), text, &ds, NULL), LEVADA_OK);
    st = levada_iter_open(ds, &o, &it, err);
    levada_iter_close(&it);
    levada_dataset_unref(&ds);
    return st;
}

static void refuses_orders_that_differ_between_processes(void **state)
{
    static const char *const drawn[] = {
        "range:9 | shuffle:3 | shard:0,count=2",
        "range:9 | shuffle:3 | take:4 | shard:0,count=2 | batch:2",
        "range:9 | shuffle:3,seed=1 | shuffle:3 | shard:1,count=2",
        "mix(range:4; range:4) | shard:0,count=2",
        "concat(range:4; range:4 | shuffle:2 | shard:0,count=2)",
        "range:9 | shuffle:3 | bucket_by_sequence_length:value,boundaries=[4],batch_sizes=2,"
        "ranks=[0,2]",
    };
    static const char *const good[] = {
        "range:9 | shuffle:3,seed=1 | shard:0,count=2",
        "range:9 | shuffle:3 | shard:0,count=1",
        "range:9 | shard:0,count=2 | shuffle:3",
        "range:9 | shuffle:3",
    };
    levada_error err = LEVADA_ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++) {
        assert_int_equal(opened(drawn[i], -1, &err), LEVADA_EFAILED_PRECONDITION);
        assert_non_null(strstr(err.message, "upstream of shard must have a seed"));
        assert_int_equal(opened(drawn[i], 7, &err), LEVADA_OK);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(opened(good[i], -1, &err), LEVADA_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_make_the_whole),
        cmocka_unit_test(refuses_a_part_that_is_not_there),
        cmocka_unit_test(ranks_in_step_are_those_of_the_buckets),
        cmocka_unit_test(refuses_to_divide_what_is_not_in_buckets),
        cmocka_unit_test(goes_on_after_a_restore),
        cmocka_unit_test(drops_an_incomplete_round),
        cmocka_unit_test(pads_an_incomplete_round),
        cmocka_unit_test(a_padding_batch_has_empty_sequences),
        cmocka_unit_test(counts_what_it_drops),
        cmocka_unit_test(refuses_another_equal),
        cmocka_unit_test(refuses_orders_that_differ_between_processes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
