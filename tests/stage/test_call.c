/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void calls_in_order(void **state)
{
    const int64_t want[] = { 0, 1, 3, 6, 10 };

    (void)state;
    t_expect_i64("range:5 | call:{c:sum}", "value", want, 5);
    t_expect_i64("range:5 | call:{c:sum},spec={value:{dtype:int64}} | take:3", "value", want, 3);
    assert_int_equal(t_functions_open(), 0);
}

static void bad_records_follow_the_policy(void **state)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    const int64_t       want[] = { 2, 4, 6, 8, 12, 14 };
    int64_t             n = 0, *got;
    levada_iter        *it = t_iter_open("range:8,start=1 | call:{c:picky}", 1, 3);

    (void)state;
    assert_int_equal(t_iter_fails(it, LEVADA_EDATA_LOSS, "five times"), 4);
    levada_iter_close(&it);
    o.errors = "skip";
    o.threads = 1;
    it = t_iter_open_with("range:8 | call:{c:picky}", &o);
    got = t_iter_numbers(it, "value", &n);
    assert_int_equal(n, 6);
    assert_memory_equal(got, want, sizeof want);
    free(got);
    levada_iter_close(&it);
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("range:30 | call:{c:sum},spec={value:int64}", false, 1);
    t_iter_sweep("range:30 | call:{c:sum} | shuffle:7 | batch:4", true, 1);
}

/* A mix returns what is before a failure first: its state has the block that failed. */
static void an_error_comes_again_after_a_restore(void **state)
{
    const char *const text = "mix(range:60; range:20 | call:{c:longer},spec={value:int64}):seed=2";
    levada_iter      *it = t_iter_open(text, 1, 7), *other = NULL;
    levada_block     *block = NULL;
    int64_t           cuts = 0, all = 0, rows = 0;

    (void)state;
    all = t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "must return");
    levada_iter_close(&it);
    it = t_iter_open(text, 1, 7);
    do {
        t_bytes position = t_iter_save(it);

        if (block) rows += levada_block_rows(block);
        levada_block_unref(&block);
        other = t_iter_open(text, 1, 7);
        t_iter_restore(other, position);
        assert_int_equal(t_iter_fails(other, LEVADA_EINVALID_ARGUMENT, "must return"), all - rows);
        levada_iter_close(&other);
        t_clear(&position);
        cuts++;
    } while (levada_iter_next(it, &block, NULL) == LEVADA_OK);
    assert_true(cuts > 1);
    levada_iter_close(&it);
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
        cmocka_unit_test(calls_in_order),
        cmocka_unit_test(bad_records_follow_the_policy),
        cmocka_unit_test(goes_on_after_a_restore),
        cmocka_unit_test(an_error_comes_again_after_a_restore),
    };

    return cmocka_run_group_tests(tests, add_functions, NULL);
}
