/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void gives_the_first_records(void **state)
{
    const int64_t want[] = { 0, 1, 2, 3, 4, 5, 6 };

    (void)state;
    t_expect_i64("range:10 | take:7", "value", want, 7);
    t_expect_i64("range:5 | take:7", "value", want, 5);
    t_expect_i64("range:5 | take:0", "value", want, 0);
    t_expect_i64("range:5 | repeat | take:7 | take:2", "value", want, 2);
    t_iter_refused("range:5 | take:-1", LEVADA_EINVALID_ARGUMENT, "count");
}

static void counts_batches_once_there_are_some(void **state)
{
    const int64_t first[] = { 0, 1, 2, 3, 4, 5 }, rest[] = { 6, 7, 8, 9 }, part[] = { 3, 4, 5, 9 };

    (void)state;
    t_expect_i64("range:10 | batch:3 | take:2", "value", first, 6);
    t_expect_i64("range:10 | batch:3 | skip:2", "value", rest, 4);
    t_expect_i64("range:10 | batch:3 | shard:1,count=2", "value", part, 4);
    t_iter_sweep("t_rows:30 | batch:4 | skip:1 | take:5 | shard:0,count=2", true, 1);
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:30 | take:17", false, 1);
    t_iter_sweep("t_stream:30 | take:17 | batch:4", true, 1);
    t_iter_sweep("t_rows:30 | shuffle:8 | take:17", false, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_first_records),
        cmocka_unit_test(counts_batches_once_there_are_some),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
