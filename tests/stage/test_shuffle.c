/* SPDX-License-Identifier: Apache-2.0 */
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int64_t *order(const char *text, int64_t seed, int64_t epoch, int64_t *n)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    levada_iter        *it;
    int64_t            *numbers;

    o.seed = seed;
    o.epoch = epoch;
    o.threads = 1;
    it = t_iter_open_with(text, &o);
    numbers = t_iter_numbers(it, "n", n);
    levada_iter_close(&it);
    return numbers;
}

/* Each of 0..n-1 exactly `times` times. */
static void expect_all(const int64_t *numbers, int64_t n, int64_t times)
{
    int64_t *count = calloc((size_t)n, sizeof *count);

    assert_non_null(count);
    for (int64_t i = 0; i < n; i++) {
        assert_in_range(numbers[i], 0, n / times - 1);
        count[numbers[i]]++;
    }
    for (int64_t i = 0; i < n / times; i++) assert_int_equal(count[i], times);
    free(count);
}

static bool same(const char *a_text, int64_t a_seed, int64_t a_epoch, const char *b_text,
                 int64_t b_seed, int64_t b_epoch)
{
    int64_t  n = 0, m = 0;
    int64_t *a = order(a_text, a_seed, a_epoch, &n), *b = order(b_text, b_seed, b_epoch, &m);
    bool     is;

    assert_int_equal(n, m);
    is = memcmp(a, b, (size_t)n * sizeof *a) == 0;
    free(a);
    free(b);
    return is;
}

static void gives_each_record_once(void **state)
{
    static const char *const texts[] = {
        "t_rows:1000,bare=true | shuffle:1",    "t_rows:1000,bare=true | shuffle:2",
        "t_rows:1000,bare=true | shuffle:100",  "t_rows:1000,bare=true | shuffle:999",
        "t_rows:1000,bare=true | shuffle:1000", "t_rows:1000,bare=true | shuffle:1000000000",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int64_t  n = 0;
        int64_t *numbers = order(texts[i], 3, 0, &n);

        assert_int_equal(n, 1000);
        expect_all(numbers, n, 1);
        free(numbers);
    }
}

static void a_buffer_of_one_changes_nothing(void **state)
{
    int64_t  n = 0;
    int64_t *numbers = order("t_rows:300,bare=true | shuffle:1", 3, 0, &n);

    (void)state;
    for (int64_t i = 0; i < n; i++) assert_int_equal(numbers[i], i);
    free(numbers);
}

/* The contract of the buffer: what leaves as number i is one of the first i + buffer_size. */
static void no_record_leaves_before_its_time(void **state)
{
    int64_t  n = 0, early = 0;
    int64_t *numbers = order("t_rows:1000,bare=true | shuffle:64", 5, 0, &n);

    (void)state;
    for (int64_t i = 0; i < n; i++) {
        assert_true(numbers[i] < i + 65);
        early += numbers[i] > i;
    }
    assert_in_range(early, 300, 900);
    free(numbers);
}

/* All 24 orders of four records, each about as often. */
static void a_whole_buffer_is_uniform(void **state)
{
    int64_t count[256] = { 0 }, kinds = 0, least = 1000;

    (void)state;
    for (int64_t seed = 0; seed < 2400; seed++) {
        int64_t  n = 0;
        int64_t *a = order("t_rows:4,bare=true | shuffle:4", seed, 0, &n);

        count[a[0] * 64 + a[1] * 16 + a[2] * 4 + a[3]]++;
        free(a);
    }
    for (int i = 0; i < 256; i++) {
        kinds += count[i] > 0;
        if (count[i] && count[i] < least) least = count[i];
    }
    assert_int_equal(kinds, 24);
    assert_true(least > 60); /* 100 on average, deviation 10 */
}

static void order_follows_seed_and_epoch(void **state)
{
    const char *text = "t_rows:200,bare=true | shuffle:50";
    const char *fixed = "t_rows:200,bare=true | shuffle:50,reshuffle=false";
    const char *own = "t_rows:200,bare=true | shuffle:50,seed=9";

    (void)state;
    assert_true(same(text, 1, 0, text, 1, 0));
    assert_false(same(text, 1, 0, text, 2, 0));
    assert_false(same(text, 1, 0, text, 1, 1));
    assert_true(same(fixed, 1, 0, fixed, 1, 5));
    assert_false(same(fixed, 1, 0, fixed, 2, 0));
    assert_true(same(own, 1, 0, own, 2, 0));
    assert_false(same(own, 1, 0, own, 1, 1));
}

static void repeat_reshuffles(void **state)
{
    int64_t  n = 0;
    int64_t *a = order("t_rows:100,bare=true | shuffle:100 | repeat:2", 1, 0, &n);

    (void)state;
    assert_int_equal(n, 200);
    expect_all(a, 100, 1);
    expect_all(a + 100, 100, 1);
    assert_memory_not_equal(a, a + 100, 100 * sizeof *a);
    free(a);
    a = order("t_rows:100,bare=true | shuffle:100,reshuffle=false | repeat:2", 1, 0, &n);
    assert_memory_equal(a, a + 100, 100 * sizeof *a);
    free(a);
    a = order("t_rows:100,bare=true | repeat:3 | shuffle:150", 1, 0, &n);
    assert_int_equal(n, 300);
    expect_all(a, 300, 3);
    free(a);
}

/* A second shuffle draws other numbers than the first; a prefetch in between changes nothing. */
static void stages_draw_for_themselves(void **state)
{
    (void)state;
    assert_false(same("t_rows:100,bare=true | shuffle:100 | shuffle:100", 1, 0,
                      "t_rows:100,bare=true | shuffle:100", 1, 0));
    assert_true(same("t_rows:100,bare=true | prefetch:4 | shuffle:100 | prefetch:2 | shuffle:9", 1,
                     0, "t_rows:100,bare=true | shuffle:100 | shuffle:9", 1, 0));
}

static void saved_anywhere_by_origin(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:83 | shuffle:20", false, 1);
    t_iter_sweep("t_rows:83 | shuffle:200", false, 3);
    t_iter_sweep("t_rows:30 | repeat:3 | shuffle:45", false, 2);
    t_iter_sweep("t_rows:30 | shuffle:20 | repeat:3", false, 2);
    t_iter_sweep("t_rows:83 | shuffle:20 | shuffle:31", false, 2);
    t_iter_sweep("t_rows:0 | shuffle:20", false, 1);
}

static void saved_anywhere_by_value(void **state)
{
    (void)state;
    t_iter_sweep("t_stream:83 | shuffle:20", false, 1);
    t_iter_sweep("t_stream:83 | shuffle:200", false, 3);
    t_iter_sweep("t_stream:30 | repeat:3 | shuffle:45", false, 2);
    t_iter_sweep("t_stream:83 | shuffle:20 | shuffle:31", false, 2);
    t_iter_sweep("t_stream:83 | prefetch:3 | shuffle:20 | prefetch:3", false, 1);
}

/* Records are shuffled, not batches. */
static void after_batches(void **state)
{
    (void)state;
    t_iter_refused("t_rows:83,bare=true | padded_batch:4 | shuffle:11", LEVADA_EINVALID_ARGUMENT,
                   "unbatch() first");
    t_iter_sweep("t_rows:83 | batch:4 | unbatch | shuffle:11", false, 3);
}

static void refuses_bad_options(void **state)
{
    (void)state;
    t_iter_refused("t_rows:3 | shuffle", LEVADA_EINVALID_ARGUMENT, "buffer_size");
    t_iter_refused("t_rows:3 | shuffle:0", LEVADA_EINVALID_ARGUMENT, "buffer_size");
    t_iter_refused("t_rows:3 | shuffle:3,seed=-1", LEVADA_EINVALID_ARGUMENT, "seed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_each_record_once),
        cmocka_unit_test(a_buffer_of_one_changes_nothing),
        cmocka_unit_test(no_record_leaves_before_its_time),
        cmocka_unit_test(a_whole_buffer_is_uniform),
        cmocka_unit_test(order_follows_seed_and_epoch),
        cmocka_unit_test(repeat_reshuffles),
        cmocka_unit_test(stages_draw_for_themselves),
        cmocka_unit_test(saved_anywhere_by_origin),
        cmocka_unit_test(saved_anywhere_by_value),
        cmocka_unit_test(after_batches),
        cmocka_unit_test(refuses_bad_options),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
