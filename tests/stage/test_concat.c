/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void gives_one_after_the_other(void **state)
{
    const int64_t want[] = { 0, 1, 2, 3, 100, 101, 0, 1, 2 };

    (void)state;
    t_expect_i64("concat(range:4; range:2,start=100; range:0; range:3)", "value", want, 9);
    t_expect_i64("concat(range:4)", "value", want, 4);
    t_expect_i64("concat(range:0; range:0)", "value", want, 0);
    t_expect_i64("concat(range:9 | take:4; range:2,start=100) | take:6", "value", want, 6);
}

static void fields_go_by_name(void **state)
{
    const int64_t n[] = { 0, 1, 2, 0, 1, 2, 3 };

    (void)state;
    t_expect_i64("concat(t_rows:3 | select:[n, x]; t_rows:4 | select:[x, n])", "n", n, 7);
    t_iter_refused("concat(range:3; t_rows:3)", LEVADA_EINVALID_ARGUMENT, "fields");
    t_iter_refused("concat(range:3; range:3 | rename:{value:x})", LEVADA_EINVALID_ARGUMENT,
                   "input 0 has \x27value\x27, input 1 has not");
    t_iter_refused("concat(range:3; range:3 | cast:value,dtype=int8)", LEVADA_EINVALID_ARGUMENT,
                   "int8");
    t_iter_refused("concat(range:3; range:3 | batch:2)", LEVADA_EINVALID_ARGUMENT, "batches");
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("concat(t_rows:20; t_rows:9 | shuffle:4; t_stream:3)", false, 1);
    t_iter_sweep(
        "concat(t_rows:9 | select:[n, x]; t_rows:14 | select:[x, n]) | repeat:2 | shuffle:5"
        " | batch:4",
        true, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_one_after_the_other),
        cmocka_unit_test(fields_go_by_name),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
