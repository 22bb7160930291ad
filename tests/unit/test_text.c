/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include "base/alloc.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void grows(void **state)
{
    levada_text text = {0};
    char       *out = NULL;

    (void)state;
    for (int i = 0; i < 1000; i++) levada_text_format(&text, "%d,", i);
    levada_text_put(&text, "end");
    levada_text_char(&text, '.');
    assert_int_equal(text.size, 3894);
    assert_int_equal(levada_text_steal(&text, &out, NULL), LEVADA_OK);
    assert_string_equal(out + 3885, ",999,end.");
    assert_int_equal(text.size, 0);
    levada_free(out);
}

static void an_empty_text_is_a_text(void **state)
{
    levada_text text = {0};
    char       *out = NULL;

    (void)state;
    assert_int_equal(levada_text_steal(&text, &out, NULL), LEVADA_OK);
    assert_string_equal(out, "");
    levada_free(out);
}

static void remembers_that_memory_was_short(void **state)
{
    levada_text  text = {0};
    levada_error err = LEVADA_ERROR_INIT;
    char        *out = NULL;

    (void)state;
    levada_text_put(&text, "a");
    text.failed = true;
    levada_text_put(&text, "b");
    assert_int_equal(text.size, 1);
    assert_int_equal(levada_text_steal(&text, &out, &err), LEVADA_ERESOURCE_EXHAUSTED);
    assert_null(out);
    assert_null(text.at);
}

static void escapes_json(void **state)
{
    levada_text text = {0};

    (void)state;
    levada_text_json(&text, "a\"\\\n\x01\xC3\xA9\0z", 9);
    assert_string_equal(text.at, "\"a\\\"\\\\\\n\\u0001\xC3\xA9\\u0000z\"");
    levada_text_clear(&text);
}

static void checks_utf8(void **state)
{
    (void)state;
    assert_int_equal(levada_utf8_check("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 10), 10);
    assert_int_equal(levada_utf8_check("ab\xFFz", 4), 2);
    assert_int_equal(levada_utf8_check("\xC0\x80", 2), 0);
    assert_int_equal(levada_utf8_check("\xED\xA0\x80", 3), 0);
    assert_int_equal(levada_utf8_check("x\xE2\x82", 3), 1);
    assert_int_equal(levada_utf8_check("\xF4\x90\x80\x80", 4), 0);
}

static const char *nearest(const char *name, const char *a, const char *b)
{
    const char *best = NULL;
    size_t      distance = SIZE_MAX;

    levada_nearest(name, a, &best, &distance);
    levada_nearest(name, b, &best, &distance);
    return best;
}

static void finds_the_nearest_name(void **state)
{
    (void)state;
    assert_string_equal(nearest("shufle", "repeat", "shuffle"), "shuffle");
    assert_string_equal(nearest("bufer_size", "buffer_size", "seed"), "buffer_size");
    assert_string_equal(nearest("tkae", "take", "skip"), "take");
    assert_string_equal(nearest("buffer", "buffer_size", "seed"), "buffer_size");
    assert_null(nearest("xyz", "take", "skip"));
    assert_null(nearest("", "take", "skip"));
}

static void says_what_the_numbers_of_the_system_mean(void **state)
{
    char text[96], tiny[3];

    (void)state;
    assert_ptr_equal(levada_text_errno(ENOENT, text, sizeof text), text);
    assert_string_equal(text, strerror(ENOENT));
    assert_string_not_equal(levada_text_errno(123456, text, sizeof text), "");
    assert_true(strlen(levada_text_errno(ENOENT, tiny, sizeof tiny)) < sizeof tiny);
}

static void hides_what_grants_access(void **state)
{
    static const char *const lines[][2] = {
        { "", "" },
        { "a?b", "a?b" },
        { "http://h/a?part=3&x=key", "http://h/a?part=3&x=key" },
        { "http://h/a?X-Amz-Signature=abcdef was cut", "http://h/a?X-Amz-Signature=... was cut" },
        { "h?sig=abcdef&part=3", "h?sig=...&part=3" },
        { "\"h?a=1&access_token=abcdef\"", "\"h?a=1&access_token=...\"" },
        { "h?X-Amz-Security-Token=a", "h?X-Amz-Security-Token=." },
        { "h?SIGNATURE=", "h?SIGNATURE=" },
        { "h?a=b?token=abcdef", "h?a=b?token=..." },
    };

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char line[80];

        (void)snprintf(line, sizeof line, "%s", lines[i][0]);
        levada_text_hide_secrets(line);
        assert_string_equal(line, lines[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows),
        cmocka_unit_test(an_empty_text_is_a_text),
        cmocka_unit_test(remembers_that_memory_was_short),
        cmocka_unit_test(escapes_json),
        cmocka_unit_test(checks_utf8),
        cmocka_unit_test(finds_the_nearest_name),
        cmocka_unit_test(says_what_the_numbers_of_the_system_mean),
        cmocka_unit_test(hides_what_grants_access),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
