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

static void a_part_of_the_dimensions_stays(void **state)
{
    const int64_t want[] = { 0, 1, 2, 3 };

    (void)state;
    t_expect_i64("range:4 | reshape:value,shape=[1,1] | slice:value,begin=[0,0],size=[1] | "
                 "reshape:value,shape=[]", "value", want, 4);
}

static void what_cannot_be_is_refused_at_once(void **state)
{
    (void)state;
    refused("range:4 | slice:value,begin=[0],size=[1]",
            "has 0 dimensions, but begin and size have 1");
    refused("range:4 | reshape:value,shape=[1] | slice:value,begin=[1],size=[1]",
            "dimension 0 has size 1, which does not contain begin=1 with size=1");
    refused("range:4 | reshape:value,shape=[1] | slice:value,begin=[-1],size=[1]", "begin");
    refused("range:4 | slice:other,begin=[0],size=[1]", "other");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_of_the_dimensions_stays),
        cmocka_unit_test(what_cannot_be_is_refused_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
