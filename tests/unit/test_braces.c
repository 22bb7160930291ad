/* SPDX-License-Identifier: Apache-2.0 */
#include "files/braces.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static levada_status join(void *user, const char *pattern, levada_error *err)
{
    (void)err;
    (void)strcat(strcat(user, pattern), " ");
    return LEVADA_OK;
}

/* The expanded patterns, joined; expectations are those of bash where it agrees on the syntax. */
static const char *expanded(const char *pattern)
{
    static char  text[512];
    levada_error err = LEVADA_ERROR_INIT;

    text[0] = '\0';
    assert_int_equal(levada_braces_expand(pattern, join, text, &err), LEVADA_OK);
    return text;
}

static void expands_as_a_shell(void **state)
{
    (void)state;
    assert_string_equal(expanded("plain*.txt"), "plain*.txt ");
    assert_string_equal(expanded(""), " ");
    assert_string_equal(expanded("a{b,c}d"), "abd acd ");
    assert_string_equal(expanded("{b,c}{1,2}"), "b1 b2 c1 c2 ");
    assert_string_equal(expanded("x{,a}"), "x xa ");
    assert_string_equal(expanded("{a,{b,c}d}e"), "ae bde cde ");
    assert_string_equal(expanded("{a,{1..2}}"), "a 1 2 ");
    assert_string_equal(expanded("{0..3}"), "0 1 2 3 ");
    assert_string_equal(expanded("s{0008..0010}.tar"), "s0008.tar s0009.tar s0010.tar ");
    assert_string_equal(expanded("{8..010}"), "008 009 010 ");
    assert_string_equal(expanded("{9..1..4}"), "9 5 1 ");
    assert_string_equal(expanded("{1..9..-4}"), "1 5 9 ");
    assert_string_equal(expanded("{-1..1}"), "-1 0 1 ");
    assert_string_equal(expanded("{a..e..2}"), "a c e ");
    assert_string_equal(expanded("{3..3}"), "3 ");
}

static void keeps_what_is_not_a_group(void **state)
{
    const char *plain[] = { "{a}", "{", "}", "a{b,c", "a}b,c{", "{1..}", "{..2}", "{1..b}",
                            "\\{a,b}", "[{]a,b}", "{}", "{path}", "{1..2..}",
                            "{1..9999999999999999999}" };

    (void)state;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        char want[64];

        (void)snprintf(want, sizeof want, "%s ", plain[i]);
        assert_string_equal(expanded(plain[i]), want);
    }
    assert_string_equal(expanded("{a}{b,c}"), "{a}b {a}c ");
}

static levada_status count(void *user, const char *pattern, levada_error *err)
{
    (void)pattern;
    if (++*(int64_t *)user == 5) return levada_fail(err, LEVADA_EINTERNAL, "stop");
    return LEVADA_OK;
}

static levada_status drop(void *user, const char *pattern, levada_error *err)
{
    (void)user;
    (void)pattern;
    (void)err;
    return LEVADA_OK;
}

static void ends_at_a_failure_and_at_its_limit(void **state)
{
    levada_error err = LEVADA_ERROR_INIT;
    int64_t      n = 0;

    (void)state;
    assert_int_equal(levada_braces_expand("{1..9}", count, &n, &err), LEVADA_EINTERNAL);
    assert_int_equal(n, 5);
    assert_int_equal(levada_braces_expand("{1..1048576}", drop, NULL, &err), LEVADA_OK);
    assert_int_equal(levada_braces_expand("{1..1048577}", drop, NULL, &err),
                     LEVADA_ERESOURCE_EXHAUSTED);
    assert_int_equal(levada_braces_expand("{1..1000000000000000}", drop, NULL, &err),
                     LEVADA_ERESOURCE_EXHAUSTED);
    assert_int_equal(levada_braces_expand("{1..2000}{1..2000}", drop, NULL, &err),
                     LEVADA_ERESOURCE_EXHAUSTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expands_as_a_shell),
        cmocka_unit_test(keeps_what_is_not_a_group),
        cmocka_unit_test(ends_at_a_failure_and_at_its_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
