/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void makes_any_number_of_records(void **state)
{
    const int64_t want[] = { 10, 20, 21, 40, 50, 51 }, again[] = { 100, 200, 201, 400, 500, 501 };

    (void)state;
    t_expect_i64("range:6 | flat_map:{c:spread}", "value", want, 6);
    t_expect_i64("range:6 | flat_map:{c:spread},spec={value:int64}", "value", want, 6);
    t_expect_i64("range:1 | flat_map:{c:spread}", "value", NULL, 0);
    t_expect_i64("range:6 | flat_map:{c:spread} | flat_map:{c:spread}", "value", again, 6);
    assert_int_equal(t_functions_open(), 0);
}

static void origins_number_the_records_of_a_record(void **state)
{
    const int64_t records[] = { 1, 2, 2, 4, 5, 5 };
    const int32_t subs[] = { 0, 0, 1, 0, 0, 1 };
    levada_iter  *it = t_iter_open("range:6 | flat_map:{c:spread}", 1, 6);
    levada_block *block = NULL;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_int_equal(levada_block_rows(block), 6);
    for (int64_t i = 0; i < 6; i++) {
        assert_int_equal(levada_block_origin(block, i).record, records[i]);
        assert_int_equal(levada_block_origin(block, i).sub, subs[i]);
    }
    levada_block_unref(&block);
    levada_iter_close(&it);
}

static void refuses_what_does_not_fit(void **state)
{
    levada_iter *it = t_iter_open("range:5 | flat_map:{c:longer}", 1, 7);

    (void)state;
    t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "record 5 was made of row 5: rows must ascend");
    levada_iter_close(&it);
    it = t_iter_open("range:5 | flat_map:{c:odd}", 1, 7);
    t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "the first column of the result");
    levada_iter_close(&it);
    it = t_iter_open("range:5 | flat_map:{c:spread},spec={value:int32}", 1, 7);
    t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "got 'value' of int64");
    levada_iter_close(&it);
    t_iter_refused("range:5 | flat_map:{c:sum}", LEVADA_EINVALID_ARGUMENT, "needs a pure function");
    t_iter_refused("range:5 | batch:2 | flat_map:{c:spread}", LEVADA_EINVALID_ARGUMENT, "records");
    assert_int_equal(t_functions_open(), 0);
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("range:30 | flat_map:{c:spread}", false, 1);
    t_iter_sweep("range:30 | shuffle:7 | flat_map:{c:spread} | shuffle:5 | batch:4", true, 1);
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
        cmocka_unit_test(makes_any_number_of_records),
        cmocka_unit_test(origins_number_the_records_of_a_record),
        cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, add_functions, NULL);
}
