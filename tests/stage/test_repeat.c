/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void begins_again(void **state)
{
    const int64_t want[] = { 0, 1, 2, 0, 1, 2, 0, 1, 2 };

    (void)state;
    t_expect_i64("range:3 | repeat:3", "value", want, 9);
    t_expect_i64("range:3 | repeat:0", "value", want, 0);
    t_expect_i64("range:3 | repeat:1", "value", want, 3);
    t_expect_i64("range:3 | repeat | take:8", "value", want, 8);
    t_expect_i64("range:3 | repeat:2 | repeat:2 | take:9", "value", want, 9);
    t_expect_i64("range:9 | take:3 | repeat:3", "value", want, 9);
}

static void nothing_for_ever_is_nothing(void **state)
{
    (void)state;
    t_expect_i64("range:0 | repeat", "value", NULL, 0);
    t_expect_i64("range:3 | skip:3 | repeat:5", "value", NULL, 0);
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:10 | repeat:3", false, 1);
    t_iter_sweep("t_stream:10 | shuffle:4 | repeat:3", false, 1);
    t_iter_sweep("t_rows:11 | shuffle:4 | repeat:3 | shuffle:5 | batch:4", true, 1);
    t_iter_sweep("range:40 | map:{c:twice} | take:9 | repeat:3 | map:{c:twice}", false, 1);
}

/* A take leaves a round early: how many passes there were above it by then depends on threads and
 * on the size of blocks, and the orders of the next round must not. */
static void rounds_in_rounds_are_alike(void **state)
{
    (void)state;
    t_iter_sweep("range:14 | shuffle:8 | repeat:2 | prefetch:2 | take:20 | repeat:3", false, 3);
    t_iter_sweep("range:14 | shuffle:8 | repeat | prefetch:3 | take:20 | repeat:2 | take:29 |"
                 " repeat:2",
                 false, 3);
    t_iter_sweep("zip(range:30; mix(range:10 | rename:{value:x} | shuffle:8 | repeat;"
                 " range:14 | rename:{value:x})) | repeat:3",
                 false, 5);
    t_iter_sweep("range:3 | interleave:(range:5 | shuffle:5 | repeat | prefetch:2 | take:7 |"
                 " repeat:2),cycle_length=2 | take:20 | repeat:2",
                 false, 5);
}

/* As they always were where each round runs to its end. */
static void passes_are_counted(void **state)
{
    levada_iter  *it = t_iter_open("range:2 | repeat:3 | prefetch:2 | repeat:2", 2, 2);
    levada_block *block = NULL;

    (void)state;
    for (int32_t pass = 0; pass < 6; pass++) {
        assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
        assert_int_equal(levada_block_origin(block, 0).pass, pass);
        assert_int_equal(levada_block_origin(block, 0).record, 0);
        levada_block_unref(&block);
    }
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_END);
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
        cmocka_unit_test(begins_again),
        cmocka_unit_test(nothing_for_ever_is_nothing),
        cmocka_unit_test(goes_on_after_a_restore),
        cmocka_unit_test(rounds_in_rounds_are_alike),
        cmocka_unit_test(passes_are_counted),
    };

    return cmocka_run_group_tests(tests, add_functions, NULL);
}
