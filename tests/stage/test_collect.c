/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void a_batch_becomes_one_record(void **state)
{
    const int64_t        want[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    const int64_t        windows[] = { 0, 2, 4, 3, 5, 7, 6, 8, 9 };
    const levada_column *c;
    levada_iter         *it = t_iter_open("range:10 | batch:4 | collect", 1, 7);
    levada_block        *block = NULL;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_int_equal(levada_block_rows(block), 1);
    c = levada_block_column(block, "value");
    assert_int_equal(c->field->depth, 1);
    assert_int_equal(levada_column_length(c, 0), 4);
    assert_int_equal(levada_block_origin(block, 0).record, 0);
    levada_block_unref(&block);
    levada_iter_close(&it);
    t_expect_i64("range:10 | batch:4 | collect | unbatch", "value", want, 10);
    t_expect_i64("range:10 | window:3,shift=3,stride=2 | collect | unbatch", "value", windows, 9);
    t_expect_i64("range:10 | batch:4 | collect | filter:\"len(value) < 4\" | unbatch", "value",
                 want + 8, 2);
}

/* Every kind of column: what is collected and split again is as it was. */
static void fields_get_a_level(void **state)
{
    static const char *const collected[] = {
        "t_rows:40 | select:[n, x, s, v, w, z] | batch:7 | collect | unbatch",
        "t_rows:40 | select:[n, x, s, v, w, z] | batch:7 | collect | shuffle:1 | unbatch",
        "t_rows:40 | select:[n, x, s, v, w, z] | batch:7 | collect | batch:3 | unbatch | unbatch",
        "t_rows:40 | select:[n, x, s, v, w, z] | group_by:\"n // 7\" | unbatch",
    };
    t_bytes want = t_iter_all("t_rows:40 | select:[n, x, s, v, w, z]", false);

    (void)state;
    for (size_t k = 0; k < sizeof collected / sizeof collected[0]; k++) {
        t_bytes is = t_iter_all(collected[k], false);

        t_bytes_equal(want, is, collected[k]);
        t_clear(&is);
    }
    t_clear(&want);
}

static void refuses_what_it_cannot_collect(void **state)
{
    (void)state;
    t_iter_refused("range:10 | collect", LEVADA_EINVALID_ARGUMENT, "after batch or window");
    t_iter_refused("t_rows:10 | select:x | padded_batch:2 | collect", LEVADA_EINVALID_ARGUMENT,
                   "'x' is padded");
    t_iter_refused("t_rows:9 | select:z | batch:2 | collect | batch:2 | collect | batch:2 |"
                   " collect",
                   LEVADA_EINVALID_ARGUMENT, "4 ragged levels, which is the maximum");
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:30 | batch:4 | collect", false, 1);
    t_iter_sweep("t_rows:30 | window:5,shift=2,stride=2 | collect | shuffle:4 |"
                 " padded_batch:2,padded_shapes={z: [null, null, null]}",
                 true, 1);
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
        cmocka_unit_test(a_batch_becomes_one_record),
        cmocka_unit_test(fields_get_a_level),
        cmocka_unit_test(refuses_what_it_cannot_collect),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, add_functions, NULL);
}
