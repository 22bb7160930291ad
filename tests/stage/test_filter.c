/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void keeps_what_holds(void **state)
{
    const int64_t one[] = { 3, 4, 6, 7, 8, 9 }, two[] = { 2, 5 }, odd[] = { 1, 3, 5, 7, 9 };
    const int64_t all[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };

    (void)state;
    t_expect_i64("range:10 | filter:\"value >= 3 and value != 5\"", "value", one, 6);
    t_expect_i64("range:10 | filter:\"value in [5, 2, 77]\"", "value", two, 2);
    t_expect_i64("range:10 | filter:\"value in []\"", "value", two, 0);
    t_expect_i64("range:10 | filter:\"value\"", "value", all, 9);
    t_expect_i64("range:10 | filter:\"value > 0.5\"", "value", all, 9);
    t_expect_i64("range:10 | filter:\"value > 0 and value <= 9.0\"", "value", all, 9);
    t_expect_i64(
        "range:10 | cast:value,dtype=float32 | filter:\"value < 3\" | filter:\"value >= 1\""
        " | cast:value,dtype=int64",
        "value", all, 2);
    t_expect_i64("range:10 | filter:fn={c:odd}", "value", odd, 5);
    t_expect_i64("range:10,start=18446744073709551 | cast:value,dtype=uint64 |"
                 " filter:\"value == 18446744073709553\" | cast:value,dtype=int64 | enumerate",
                 "index", (const int64_t[]){ 0 }, 1);
}

static void compares_texts_and_lengths(void **state)
{
    t_bytes all = t_iter_all("t_rows:40", false), same;

    (void)state;
    same = t_iter_all("t_rows:40 | filter:\"len(x) >= 0 and len(s) >= 0 and s != \x27no such\x27\"",
                      false);
    t_bytes_equal(all, same, "everything");
    t_clear(&same);
    t_clear(&all);
    same = t_iter_all("t_rows:40 | filter:\"len(v) == 2 and s == nothing\"", false);
    assert_int_equal(same.size, 0);
    t_clear(&same);
}

static void bad_records_follow_the_policy(void **state)
{
    levada_iter *it = t_iter_open("range:10,start=1 | filter:fn={c:picky}", 1, 3);

    (void)state;
    assert_int_equal(t_iter_fails(it, LEVADA_EDATA_LOSS, "five times"), 4);
    levada_iter_close(&it);
}

static void refuses_nonsense(void **state)
{
    static const char *const wrong[][2] = {
        { "value =", "column" },         { "value == ", "missing" },
        { "value == [1]", "missing" },   { "value in 3", "\x27[\x27 is missing" },
        { "value in [1", "\x27]\x27" },  { "len(value) > 2", "no length" },
        { "value == abc", "the text" },  { "y > 2", "unknown field" },
        { "value > 2 value", "and" }, { "", "missing" },
        { "len(value > 2", "\x27)\x27" }, { "value == \x27" "a", "not closed" },
        { "length(value) > 2", "only len" },
    };

    (void)state;
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        char text[128];

        (void)snprintf(text, sizeof text, "range:3 | filter:\"%s\"", wrong[k][0]);
        t_iter_refused(text, LEVADA_EINVALID_ARGUMENT, wrong[k][1]);
    }
    t_iter_refused("range:3 | filter", LEVADA_EINVALID_ARGUMENT,
                   "exactly one of expression and fn");
    t_iter_refused("range:3 | filter:fn={c:sum}", LEVADA_EINVALID_ARGUMENT,
                   "needs a pure function");
    t_iter_refused("t_rows:3 | filter:\"x == 2\"", LEVADA_EINVALID_ARGUMENT, "compare len(x)");
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:60 | filter:\"n in [1, 2, 5, 8, 13, 21, 34, 55]\"", false, 1);
    t_iter_sweep("t_rows:60 | shuffle:9 | filter:\"n > 20\" | shuffle:9 | batch:4", true, 1);
    t_iter_sweep("t_stream:60 | filter:fn={c:odd} | shuffle:9", false, 1);
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
        cmocka_unit_test(keeps_what_holds),
        cmocka_unit_test(compares_texts_and_lengths),
        cmocka_unit_test(bad_records_follow_the_policy),
        cmocka_unit_test(refuses_nonsense),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, add_functions, NULL);
}
