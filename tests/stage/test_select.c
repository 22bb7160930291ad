/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void keeps_the_fields_in_that_order(void **state)
{
    const int64_t want[] = { 0, 1, 2 };
    levada_iter  *it = t_iter_open("t_rows:3 | select:[s, n, x]", 1, 7);
    levada_block *block = NULL;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_int_equal(levada_spec_count(levada_block_spec(block)), 3);
    assert_string_equal(levada_block_at(block, 0)->field->name, "s");
    assert_string_equal(levada_block_at(block, 1)->field->name, "n");
    assert_string_equal(levada_block_at(block, 2)->field->name, "x");
    assert_int_equal(levada_block_origin(block, 2).record, 2);
    levada_block_unref(&block);
    levada_iter_close(&it);
    t_expect_i64("t_rows:3 | select:n", "n", want, 3);
    t_expect_i64("range:3 | map:{c:twice} | select:value | cast:value,dtype=int64 | take:1",
                 "value", want, 1);
}

static void refuses_a_field_that_is_not_there(void **state)
{
    (void)state;
    t_iter_refused("t_rows:3 | select:[n, y]", LEVADA_EINVALID_ARGUMENT, "unknown field 'y'");
    t_iter_refused("t_rows:3 | select:[n, n]", LEVADA_EINVALID_ARGUMENT, "two fields");
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:30 | select:[w, z, v] | shuffle:7", false, 1);
    t_iter_sweep("t_rows:30 | shuffle:7 | select:[x, n] | batch:4", true, 1);
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
        cmocka_unit_test(keeps_the_fields_in_that_order),
        cmocka_unit_test(refuses_a_field_that_is_not_there),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, add_functions, NULL);
}
