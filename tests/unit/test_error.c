/* SPDX-License-Identifier: Apache-2.0 */
#include <levada/error.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void fills_code_and_message(void **state)
{
    levada_error err = LEVADA_ERROR_INIT;

    (void)state;
    err.record = 7;
    assert_int_equal(levada_fail(&err, LEVADA_EDATA_LOSS, "rows=%d\nis bad", 3), LEVADA_EDATA_LOSS);
    assert_string_equal(err.message, "rows=3 is bad");
    assert_int_equal(err.code, LEVADA_EDATA_LOSS);
    assert_int_equal(err.record, -1);
    assert_int_equal(levada_fail(NULL, LEVADA_EABORTED, "x"), LEVADA_EABORTED);
}

static void wraps_itself_and_keeps_the_place(void **state)
{
    levada_error err = LEVADA_ERROR_INIT;

    (void)state;
    levada_error_wrap(&err, "nothing");
    assert_string_equal(err.message, "");
    levada_fail(&err, LEVADA_ENOT_FOUND, "gone");
    levada_error_place(&err, "2.shuffle", "a.tfrecord", 3, 96);
    levada_error_place(&err, "other", NULL, 4, -1);
    levada_error_wrap(&err, "shard %s", "a");
    levada_fail(&err, err.code, "again: %s", err.message);
    assert_string_equal(err.message, "again: shard a: gone");
}

static void prints_the_place(void **state)
{
    levada_error err = LEVADA_ERROR_INIT;
    char         text[512], tiny[8];

    (void)state;
    levada_fail(&err, LEVADA_EDATA_LOSS, "bad");
    assert_string_equal(levada_error_text(&err, text, sizeof(text)), "bad");
    levada_error_place(&err, "2.shuffle", "a.tfrecord", 3, 96);
    assert_string_equal(levada_error_text(&err, text, sizeof(text)),
                        "2.shuffle \xC2\xB7 a.tfrecord record 3 at byte 96: bad");
    assert_string_equal(levada_error_text(&err, tiny, sizeof(tiny)), "2.shuff");
}

static void cuts_at_a_character(void **state)
{
    levada_error err = LEVADA_ERROR_INIT;
    char         big[700];

    (void)state;
    memset(big, 'x', sizeof(big));
    memcpy(big + sizeof(err.message) - 2, "\xC3\xA9", 2);
    big[sizeof(big) - 1] = '\0';
    levada_fail(&err, LEVADA_EUNKNOWN, "%s", big);
    assert_int_equal(strlen(err.message), sizeof(err.message) - 2);
    levada_error_wrap(&err, "%s", big);
    assert_int_equal(strlen(err.message), sizeof(err.message) - 2);
}

static void keeps_a_long_path_or_the_end_of_it(void **state)
{
    levada_error err = LEVADA_ERROR_INIT;
    char         path[1200], text[LEVADA_ERROR_TEXT];
    const size_t most = sizeof(err.file) - 1;

    (void)state;
    memset(path, 'd', sizeof(path));
    memcpy(path + most - 9, "/a.record", 10);
    levada_fail(&err, LEVADA_EDATA_LOSS, "bad");
    levada_error_place(&err, NULL, path, 3, -1);
    assert_string_equal(err.file, path);
    assert_non_null(strstr(levada_error_text(&err, text, sizeof(text)), "/a.record record 3: bad"));

    memset(path, 'd', sizeof(path));
    memcpy(path + 1100, "/b.record", 10);
    levada_fail(&err, LEVADA_EDATA_LOSS, "bad");
    levada_error_place(&err, NULL, path, 3, -1);
    assert_int_equal(strlen(err.file), most);
    assert_memory_equal(err.file, "\xE2\x80\xA6" "d", 4);
    assert_string_equal(err.file + most - 9, "/b.record");

    memset(path, 0xA9, sizeof(path)); /* not cut inside a character */
    for (size_t i = 0; i < 1000; i += 2) path[i] = '\xC3';
    path[1000] = '\0';
    levada_fail(&err, LEVADA_EDATA_LOSS, "bad");
    levada_error_place(&err, NULL, path, 3, -1);
    assert_memory_equal(err.file, "\xE2\x80\xA6\xC3\xA9", 5);
    assert_true(strlen(err.file) <= most);
}

static void the_text_of_the_longest_error_fits(void **state)
{
    levada_error err = LEVADA_ERROR_INIT;
    char         text[LEVADA_ERROR_TEXT];

    (void)state;
    err.code = LEVADA_EDATA_LOSS;
    memset(err.stage, 's', sizeof(err.stage) - 1);
    memset(err.file, 'f', sizeof(err.file) - 1);
    memset(err.key, 'k', sizeof(err.key) - 1);
    memset(err.message, 'm', sizeof(err.message) - 1);
    err.message[sizeof(err.message) - 2] = '.';
    err.record = err.offset = INT64_MAX;
    (void)levada_error_text(&err, text, sizeof(text));
    assert_int_equal(text[strlen(text) - 1], '.');
}

static void names_every_status(void **state)
{
    (void)state;
    assert_string_equal(levada_status_name(LEVADA_EDATA_LOSS), "EDATA_LOSS");
    assert_string_equal(levada_status_text(LEVADA_EDATA_LOSS), "data loss");
    assert_string_equal(levada_status_name(LEVADA_OK), "OK");
    assert_string_equal(levada_status_name((levada_status)99), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_code_and_message),
        cmocka_unit_test(wraps_itself_and_keeps_the_place),
        cmocka_unit_test(prints_the_place),
        cmocka_unit_test(cuts_at_a_character),
        cmocka_unit_test(keeps_a_long_path_or_the_end_of_it),
        cmocka_unit_test(the_text_of_the_longest_error_fits),
        cmocka_unit_test(names_every_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
