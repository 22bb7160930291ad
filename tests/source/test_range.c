/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void counts(void **state)
{
    const int64_t up[] = { 0, 1, 2, 3 }, by[] = { 5, 3, 1, -1 },
                  last[] = { INT64_MAX - 1, INT64_MAX };
    const int64_t first[] = { INT64_MIN, INT64_MIN + 1 };

    (void)state;
    t_expect_i64("range:4", "value", up, 4);
    t_expect_i64("range:count=4", "value", up, 4);
    t_expect_i64("range:stop=4", "value", up, 4);
    t_expect_i64("range:0", "value", up, 0);
    t_expect_i64("range:start=5,stop=-2,step=-2", "value", by, 4);
    t_expect_i64("range:4,start=5,step=-2", "value", by, 4);
    t_expect_i64("range:start=5,stop=5", "value", up, 0);
    t_expect_i64("range:start=5,stop=6,step=-1", "value", up, 0);
    t_expect_i64("range:2,start=9223372036854775806", "value", last, 2);
    t_expect_i64("range:start=-9223372036854775807,stop=-9223372036854775806", "value", first + 1,
                 1);
    t_expect_i64("range:1,start=7,step=-9223372036854775807", "value", (const int64_t[]){ 7 }, 1);
}

static void refuses_what_does_not_fit(void **state)
{
    (void)state;
    t_iter_refused("range", LEVADA_EINVALID_ARGUMENT, "exactly one of count and stop");
    t_iter_refused("range:4,stop=3", LEVADA_EINVALID_ARGUMENT, "exactly one of count and stop");
    t_iter_refused("range:4,step=0", LEVADA_EINVALID_ARGUMENT, "step=0");
    t_iter_refused("range:-1", LEVADA_EINVALID_ARGUMENT, "count");
    t_iter_refused("range:3,start=9223372036854775806", LEVADA_EINVALID_ARGUMENT, "64 bits");
    t_iter_refused("range:3,start=-9223372036854775807,step=-1", LEVADA_EINVALID_ARGUMENT,
                   "64 bits");
    t_iter_refused("range:start=-9223372036854775807,stop=9223372036854775807",
                   LEVADA_EINVALID_ARGUMENT, "64 bits");
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("range:30,start=-7,step=3", false, 1);
    t_iter_sweep("range:30 | shuffle:9", false, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
