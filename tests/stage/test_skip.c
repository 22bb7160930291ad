/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void leaves_out_the_first_records(void **state)
{
    const int64_t want[] = { 3, 4, 5, 6, 7, 8, 9 };

    (void)state;
    t_expect_i64("range:10 | skip:3", "value", want, 7);
    t_expect_i64("range:10 | skip:10", "value", want, 0);
    t_expect_i64("range:10 | skip:11", "value", want, 0);
    t_expect_i64("range:10,start=3 | skip:0 | take:7", "value", want, 7);
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:30 | skip:17", false, 1);
    t_iter_sweep("t_stream:30 | shuffle:8 | skip:11 | batch:4", true, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_out_the_first_records),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
