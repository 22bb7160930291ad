/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void gives_what_the_function_gives(void **state)
{
    const int64_t want[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };

    (void)state;
    t_expect_i64("records:{c:numbers}", "value", want, 10);
    t_expect_i64("records:{c:numbers},spec={value:int64}", "value", want, 10);
    t_expect_i64("records:{c:numbers} | repeat | take:10", "value", want, 10);
    assert_int_equal(t_functions_open(), 0);
}

static void refuses_what_was_not_declared(void **state)
{
    levada_iter *it = t_iter_open("records:{c:numbers},spec={value:float32}", 1, 7);

    (void)state;
    t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "float32");
    levada_iter_close(&it);
    it = t_iter_open("records:{c:numbers},spec={value:{dtype:int64,kind:VarLen}}", 1, 7);
    t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "ragged");
    levada_iter_close(&it);
    t_iter_refused("records:{c:numbers},spec=[1]", LEVADA_EINVALID_ARGUMENT, "a map");
    t_iter_refused("records", LEVADA_EINVALID_ARGUMENT, "fn");
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("records:{c:numbers},spec={value:int64}", false, 1);
    t_iter_sweep("records:{c:numbers} | shuffle:4 | batch:3", true, 1);
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
        cmocka_unit_test(gives_what_the_function_gives),
        cmocka_unit_test(refuses_what_was_not_declared),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, add_functions, NULL);
}
