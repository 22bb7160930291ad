/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void numbers_records(void **state)
{
    const int64_t want[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, more[] = { -2, -1, 0, 1 };

    (void)state;
    t_expect_i64("range:10,start=40 | enumerate", "index", want, 10);
    t_expect_i64("range:10,start=40 | shuffle:5 | enumerate", "index", want, 10);
    t_expect_i64("range:4 | enumerate:-2,field=n", "n", more, 4);
    t_expect_i64("range:10 | enumerate", "value", want, 10);
    t_expect_i64("range:10 | map:{c:twice} | enumerate", "index", want, 10);
}

static void refuses_a_name_that_is_taken(void **state)
{
    (void)state;
    t_iter_refused("range:4 | enumerate:field=value", LEVADA_EINVALID_ARGUMENT, "value");
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:30 | enumerate", false, 1);
    t_iter_sweep("t_stream:30 | shuffle:5 | enumerate | shuffle:5 | batch:4", true, 1);
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
        cmocka_unit_test(numbers_records),
        cmocka_unit_test(refuses_a_name_that_is_taken),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, add_functions, NULL);
}
