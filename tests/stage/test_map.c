/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void calls_the_function(void **state)
{
    const int64_t want[] = { 0, 2, 4, 6, 8 }, more[] = { 0, 4, 8, 12, 16 };

    (void)state;
    t_expect_i64("range:5 | map:{c:twice}", "value", want, 5);
    t_expect_i64("range:5 | map:{c:twice} | map:{c:twice},spec={value:int64}", "value", more, 5);
    t_expect_i64("range:5,start=0 | shuffle:1 | map:{c:twice}", "value", want, 5);
    assert_int_equal(t_functions_open(), 0);
}

static void refuses_what_does_not_fit(void **state)
{
    levada_iter *it = t_iter_open("range:5 | map:{c:longer}", 1, 7);

    (void)state;
    t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "longer: the function must return 5 records, got 6");
    levada_iter_close(&it);
    it = t_iter_open("range:5 | map:{c:twice},spec={value:int32}", 1, 7);
    t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "got 'value' of int64");
    levada_iter_close(&it);
    t_iter_refused("range:5 | map:{c:sum}", LEVADA_EINVALID_ARGUMENT, "needs a pure function");
    t_iter_refused("range:5 | map:{c:twice},spec={value:int65}", LEVADA_EINVALID_ARGUMENT, "dtype");
    t_iter_refused("range:5 | map:{c:none}", LEVADA_ENOT_FOUND, "none");
    assert_int_equal(t_functions_open(), 0);
}

static void bad_records_follow_the_policy(void **state)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    const int64_t       want[] = { 2, 4, 6, 8, 12, 14 };
    int64_t             n = 0, *got;
    levada_iter        *it = t_iter_open("range:8 | map:{c:picky}", 1, 3);

    (void)state;
    assert_int_equal(t_iter_fails(it, LEVADA_EDATA_LOSS, "five times"), 0);
    levada_iter_close(&it);
    o.errors = "skip";
    o.threads = 1;
    it = t_iter_open_with("range:8 | map:{c:picky}", &o);
    got = t_iter_numbers(it, "value", &n);
    assert_int_equal(n, 6);
    assert_memory_equal(got, want, sizeof want);
    assert_int_equal(t_iter_stat(it, "skipped_records"), 2);
    free(got);
    levada_iter_close(&it);
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("range:30 | map:{c:twice}", false, 1);
    t_iter_sweep("range:30 | shuffle:7 | map:{c:twice} | shuffle:5 | batch:4", true, 1);
}

/* Each AGAIN is a chance to save and to go on in another iterator. */
static void expect_all_in_spite_of_again(const char *text, int32_t threads, bool move)
{
    const int32_t others[] = { 1, 4, 2 };
    levada_iter  *it = t_iter_open(text, threads, 7), *next;
    int64_t       sum = 0, n = 0, put_off = 0;
    t_bytes       saved;
    levada_status st;

    for (;;) {
        levada_block *block = NULL;

        st = levada_iter_next(it, &block, NULL);
        if (st < 0 || st == LEVADA_END) break;
        if (st == LEVADA_AGAIN && ++put_off && move) {
            next = t_iter_open(text, others[put_off % 3], 5);
            saved = t_iter_save(it);
            t_iter_restore(next, saved);
            t_clear(&saved);
            levada_iter_close(&it);
            it = next;
            /* The function starts again, too, and would put it off forever: */
            st = levada_iter_next(it, &block, NULL);
            if (st == LEVADA_AGAIN) st = levada_iter_next(it, &block, NULL);
        }
        for (int64_t i = 0; block && i < levada_block_rows(block); i++, n++) {
            int64_t value = levada_column_i64(levada_block_at(block, 0))[i];

            assert_true(strstr(text, "shuffle") || value == 2 * n);
            sum += value;
        }
        levada_block_unref(&block);
    }
    assert_int_equal(st, LEVADA_END);
    assert_int_equal(n, 100);
    assert_int_equal(sum, 100 * 99);
    assert_true(threads > 1 || put_off > 0);
    levada_iter_close(&it);
}

static void a_function_that_says_again_gets_the_same_block_again(void **state)
{
    static const char *const texts[] = {
        "range:100 | map:{c:hasty}",
        "range:100 | call:{c:hasty}",
        "range:100 | shuffle:20,seed=3 | map:{c:hasty} | select:[value]",
        "range:100 | shuffle:20,seed=3 | call:{c:hasty} | prefetch",
        "range:100 | batch:3 | prefetch | map:{c:hasty} | unbatch",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (int32_t threads = 1; threads <= 4; threads += 3) {
            expect_all_in_spite_of_again(texts[i], threads, false);
            expect_all_in_spite_of_again(texts[i], threads, true);
        }
    }
    assert_int_equal(t_functions_open(), 0);
}

static int add_functions(void **state)
{
    (void)state;
    t_functions_add(t_iter_env());
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_the_function),
        cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(bad_records_follow_the_policy),
        cmocka_unit_test(goes_on_after_a_restore),
        cmocka_unit_test(a_function_that_says_again_gets_the_same_block_again),
    };

    return cmocka_run_group_tests(tests, add_functions, NULL);
}
