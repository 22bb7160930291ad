/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void refused(const char *text, const char *part)
{
    levada_dataset *ds = NULL;
    levada_error    err = LEVADA_ERROR_INIT;

    assert_int_equal(levada_dataset_parse(NULL, text, &ds, &err), LEVADA_EINVALID_ARGUMENT);
    if (!strstr(err.message, part)) fail_msg("'%s' is not in '%s'", part, err.message);
}

static void values_stay_in_their_order(void **state)
{
    const int64_t want[] = { 0, 1, 2, 3 };

    (void)state;
    t_expect_i64("range:4 | reshape:value,shape=[-1] | reshape:value,shape=[1,1] | "
                 "reshape:value,shape=[]", "value", want, 4);
}

static void what_cannot_be_is_refused_at_once(void **state)
{
    (void)state;
    refused("range:4 | reshape:value,shape=[2]", "has 1 values, but shape needs");
    refused("range:4 | reshape:value,shape=[1,-1]", "only the first dimension may be -1");
    refused("range:4 | reshape:value,shape=[0]", "dimension 0 is 0");
    refused("range:4 | reshape:value,shape=[2147483647,2147483647]", "fewer than 2^31 values");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_stay_in_their_order),
        cmocka_unit_test(what_cannot_be_is_refused_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
