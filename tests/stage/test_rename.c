/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void changes_names_at_once(void **state)
{
    const int64_t n[] = { 0, 1, 2 };

    (void)state;
    t_expect_i64("t_rows:3 | rename:{n:number}", "number", n, 3);
    t_expect_i64("t_rows:3 | rename:{n:l, l:n}", "l", n, 3);
    t_expect_i64("t_rows:3 | rename:{n:l, l:n} | rename:{n:l, l:n}", "n", n, 3);
}

static void refuses_what_does_not_fit(void **state)
{
    (void)state;
    t_iter_refused("t_rows:3 | rename:{n:l}", LEVADA_EINVALID_ARGUMENT, "two fields");
    t_iter_refused("t_rows:3 | rename:{y:l}", LEVADA_EINVALID_ARGUMENT, "unknown field");
    t_iter_refused("t_rows:3 | rename:{n:5}", LEVADA_EINVALID_ARGUMENT, "must be a string, got 5");
    t_iter_refused("t_rows:3 | rename:{n:\"a\\u0000b\"}", LEVADA_EINVALID_ARGUMENT, "zero byte");
    t_iter_refused("t_rows:3 | rename:[n]", LEVADA_EINVALID_ARGUMENT, "must be a map");
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:30 | rename:{x:y, n:m} | shuffle:7 | batch:4", true, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_names_at_once),
        cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
