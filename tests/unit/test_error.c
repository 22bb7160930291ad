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
    char         big[400];

    (void)state;
    memset(big, 'x', sizeof(big));
    memcpy(big + sizeof(err.message) - 2, "\xC3\xA9", 2);
    big[sizeof(big) - 1] = '\0';
    levada_fail(&err, LEVADA_EUNKNOWN, "%s", big);
    assert_int_equal(strlen(err.message), sizeof(err.message) - 2);
    levada_error_wrap(&err, "%s", big);
    assert_int_equal(strlen(err.message), sizeof(err.message) - 2);
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
        cmocka_unit_test(names_every_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
