/* SPDX-License-Identifier: Apache-2.0 */
#include "description/policy.h"

#include <levada/iter.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void reads_its_words(void **state)
{
    levada_policy p;

    (void)state;
    assert_int_equal(levada_policy_parse(NULL, &p, NULL), LEVADA_OK);
    assert_false(p.skip);
    assert_int_equal(levada_policy_parse("fail", &p, NULL), LEVADA_OK);
    assert_false(p.skip);
    assert_int_equal(levada_policy_parse("skip", &p, NULL), LEVADA_OK);
    assert_true(p.skip && p.most == -1 && p.share < 0);
    assert_int_equal(levada_policy_parse("skip:12", &p, NULL), LEVADA_OK);
    assert_true(p.skip && p.most == 12 && p.share < 0);
    assert_int_equal(levada_policy_parse("skip:0.5%", &p, NULL), LEVADA_OK);
    assert_true(p.skip && p.most == -1 && p.share > 0.0049 && p.share < 0.0051);
}

static void refuses_other_words(void **state)
{
    const char   *wrong[] = {"",         "no",       "skipped", "skip:",   "skip:x",  "skip:-1",
                             "skip: 1",  "skip:1x",  "skip:%",  "skip:1%%", "skip:101%", "skip:inf",
                             "skip:nan%", "skip:1 %", "fail:1",  "Skip",   "skip:0x1%"};
    levada_policy p = {.most = 77};
    levada_error  err = LEVADA_ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(levada_policy_parse(wrong[i], &p, &err), LEVADA_EINVALID_ARGUMENT);
        assert_non_null(strstr(err.message, "errors='"));
        assert_int_equal(levada_errors_check(wrong[i], NULL), LEVADA_EINVALID_ARGUMENT);
    }
    assert_int_equal(p.most, 77);
    assert_int_equal(levada_errors_check("fail", NULL), LEVADA_OK);
    assert_int_equal(levada_errors_check("skip:0.1%", NULL), LEVADA_OK);
}

static void keeps_to_its_budget(void **state)
{
    levada_policy fail = {.most = -1, .share = -1}, count = {.skip = true, .most = 2, .share = -1};
    levada_policy share = {.skip = true, .most = -1, .share = 0.002};

    (void)state;
    assert_true(levada_policy_allows(&fail, 0, 10));
    assert_false(levada_policy_allows(&fail, 1, 10));
    assert_true(levada_policy_allows(&count, 2, 2));
    assert_false(levada_policy_allows(&count, 3, 1000000));
    assert_true(levada_policy_allows(&share, 2, 2)); /* as if of 1000 */
    assert_false(levada_policy_allows(&share, 3, 1000));
    assert_true(levada_policy_allows(&share, 20, 10000));
    assert_false(levada_policy_allows(&share, 21, 10000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_its_words),
        cmocka_unit_test(refuses_other_words),
        cmocka_unit_test(keeps_to_its_budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
