/* SPDX-License-Identifier: Apache-2.0 */
#include "base/datetime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static const int64_t ticks[] = { 1, 1000, 1000000, 1000000000 };

static void every_day_is_that_of_the_c_library(void **state)
{
    (void)state;
    for (int64_t day = -719162; day < 2932897; day += 13) { /* 0001-01-01 to 9999-12-31 */
        time_t    at = (time_t)(day * 86400 + (day * 7919) % 86400 * (day > 0 ? 1 : 0));
        struct tm tm;
        char      text[64];
        int64_t   got = 0;

        assert_non_null(gmtime_r(&at, &tm));
        snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900,
                 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
        assert_null(levada_datetime_read(text, strlen(text), 1, &got));
        assert_true(got == (int64_t)at);
    }
}

static void units_have_their_ticks(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        int64_t got = 0;

        assert_true(levada_datetime_ticks(levada_datetime_word(ticks[i])) == ticks[i]);
        assert_null(levada_datetime_read("1970-01-02", 10, ticks[i], &got));
        assert_true(got == 86400 * ticks[i]);
    }
    assert_true(levada_datetime_ticks("datetime64[h]") == 0);
    assert_true(levada_datetime_ticks(NULL) == 0);
}

static void fractions_must_be_whole_ticks(void **state)
{
    int64_t got = 0;

    (void)state;
    assert_null(levada_datetime_read("1969-12-31T23:59:59.999", 23, 1000, &got));
    assert_true(got == -1);
    assert_null(levada_datetime_read("1970-01-01T00:00:00,000000001000", 32, 1000000000, &got));
    assert_true(got == 1);
    assert_non_null(levada_datetime_read("1970-01-01T00:00:00.0000000001", 30, 1000000000, &got));
    assert_non_null(levada_datetime_read("1970-01-01T00:00:00.5", 21, 1, &got));
    assert_non_null(levada_datetime_read("1970-01-01T00:00:00.", 20, 1000, &got));
}

static void the_range_is_that_of_int64(void **state)
{
    int64_t got = 0;

    (void)state;
    assert_null(levada_datetime_read("2262-04-11T23:47:16.854775807", 29, 1000000000, &got));
    assert_true(got == INT64_MAX);
    assert_non_null(levada_datetime_read("2262-04-11T23:47:16.854775808", 29, 1000000000, &got));
    assert_null(levada_datetime_read("1677-09-21T00:12:43.145224193", 29, 1000000000, &got));
    assert_true(got == INT64_MIN + 1);
    assert_non_null(levada_datetime_read("1677-09-21T00:12:43.145224192", 29, 1000000000, &got));
}

static void other_texts_are_refused(void **state)
{
    static const char *const bad[] = {
        "", " ", "0000-01-01", "2023-02-29", "2024-02-30", "1900-02-29", "2024-00-01",
        "2024-13-01", "2024-1-1", "24-01-01", "2024-01-01T", "2024-01-01T24:00", "2024-01-01T1",
        "2024-01-01T12:60", "2024-01-01T12:00:60", "2024-01-01T12:00+", "2024-01-01T12:00+24:00",
        "2024-01-01T12:00ZZ", "2024-01-01Z", "2024-01-01x", "01/02/2024", "2024-W01-1", "1",
        "1709209815", "2024-01-01T12:0000", "2024-02-01\n", "+2024-01-01", "202402", "2024-01-",
    };
    static const char zero[] = "2024-01-01\0";
    int64_t got = 0;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!levada_datetime_read(bad[i], strlen(bad[i]), 1000, &got))
            fail_msg("'%s' was read as a date", bad[i]);
    assert_non_null(levada_datetime_read(zero, sizeof zero - 1, 1000, &got));
}

static void zones_are_distances_to_utc(void **state)
{
    static const char *const same[] = {
        "2024-03-01T00:30:00Z", "2024-03-01 00:30", "20240301T003000Z", "20240301t0030z",
        "2024-03-01T02:30:00+02:00", "2024-02-29T19:00:00-0530", "  2024-03-01 00:30:00 +00 ",
        "2024-03-01T00:30:00.000000000000Z",
    };
    int64_t want = 1709253000000, got = 0;

    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const char *wrong = levada_datetime_read(same[i], strlen(same[i]), 1000, &got);

        if (wrong) fail_msg("'%s': %s", same[i], wrong);
        assert_true(got == want);
    }
    assert_null(levada_datetime_read("2024", 4, 1, &got));
    assert_true(got == 1704067200);
    assert_null(levada_datetime_read("2024-01", 7, 1, &got));
    assert_true(got == 1704067200);
}

/* Nothing outside of text[0, n) is read, and every text ends. */
static void drawn_texts_end(void **state)
{
    static const char letters[] = "0123456789-:.,TZ+ 2024";
    uint64_t          seed = 7;

    (void)state;
    for (int k = 0; k < 200000; k++) {
        char    text[24];
        int64_t got = 0;
        size_t  n = (size_t)k % 24;

        for (size_t i = 0; i < n; i++) {
            seed = seed * 6364136223846793005U + 1442695040888963407U;
            text[i] = letters[(seed >> 33) % (sizeof letters - 1)];
        }
        (void)levada_datetime_read(text, n, ticks[k % 4], &got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_day_is_that_of_the_c_library),
        cmocka_unit_test(units_have_their_ticks),
        cmocka_unit_test(fractions_must_be_whole_ticks),
        cmocka_unit_test(the_range_is_that_of_int64),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(zones_are_distances_to_utc),
        cmocka_unit_test(drawn_texts_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
