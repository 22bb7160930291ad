/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void one_input_comes_as_it_is(void **state)
{
    const int64_t want[] = { 0, 1, 2, 3 };

    (void)state;
    t_expect_i64("mix(range:4)", "value", want, 4);
    t_expect_i64("mix(range:4; range:9,start=100):weights=[1,0] | take:4", "value", want, 4);
    t_expect_i64("mix(range:0; range:0)", "value", want, 0);
}

static void an_ended_input_drops_out(void **state)
{
    const int64_t want[] = { 100, 101, 102 };

    (void)state;
    t_expect_i64("mix(range:0; range:3,start=100):weights=[5,1]", "value", want, 3);
}

static void refuses_weights_that_do_not_fit(void **state)
{
    (void)state;
    t_iter_refused("mix(range:3; range:3):weights=[1]", LEVADA_EINVALID_ARGUMENT,
                   "1 weights for 2 inputs");
    t_iter_refused("mix(range:3; range:3):weights=[1,-1]", LEVADA_EINVALID_ARGUMENT, "weight 1");
    t_iter_refused("mix(range:3; range:3):weights=[0,0]", LEVADA_EINVALID_ARGUMENT, "more than 0");
    t_iter_refused("mix(range:3; range:3 | rename:{value:x})", LEVADA_EINVALID_ARGUMENT,
                   "other fields");
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("mix(range:20; range:9,start=100 | shuffle:4; range:3,start=500):weights=[3,2,1]",
                 false, 1);
    t_iter_sweep("mix(range:20; range:9,start=100):seed=5 | repeat:2 | shuffle:5 | batch:4", true,
                 1);
}

/* How many that are depends on no size of blocks. */
static void what_is_in_front_of_an_error_comes_first(void **state)
{
    const int32_t sizes[] = { 1, 7, 256 };

    (void)state;
    for (int i = 0; i < 3; i++) {
        levada_iter *it = t_iter_open("mix(t_rows:60,fail_at=33; t_rows:60,fail_at=50)", 1, 1);
        int64_t      want = t_iter_fails(it, LEVADA_EDATA_LOSS, "");

        levada_iter_close(&it);
        assert_in_range(want, 33, 33 + 50);
        it = t_iter_open("mix(t_rows:60,fail_at=33; t_rows:60,fail_at=50)", 1 + i, sizes[i]);
        assert_int_equal(t_iter_fails(it, LEVADA_EDATA_LOSS, ""), want);
        levada_iter_close(&it);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_input_comes_as_it_is),
        cmocka_unit_test(an_ended_input_drops_out),
        cmocka_unit_test(refuses_weights_that_do_not_fit),
        cmocka_unit_test(goes_on_after_a_restore),
        cmocka_unit_test(what_is_in_front_of_an_error_comes_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
