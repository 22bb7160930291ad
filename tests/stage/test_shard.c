/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

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

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:40 | shard:1,count=3", false, 1);
    t_iter_sweep("t_stream:40 | shuffle:5 | shard:2,count=3 | batch:4", true, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_make_the_whole),
        cmocka_unit_test(refuses_a_part_that_is_not_there),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
