/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void prints(double x, const char *want)
{
    char   out[LEVADA_NUMBER_TEXT];
    double back = 0;
    int64_t i;

    assert_string_equal(levada_number_write(x, out), want);
    if (!isfinite(x)) return;
    assert_int_equal(levada_number_read(out, strlen(out), &i, &back), LEVADA_NUMBER_FLOAT);
    assert_memory_equal(&x, &back, sizeof(x));
}

static void prints_the_shortest(void **state)
{
    (void)state;
    prints(0.1, "0.1");
    prints(5, "5.0");
    prints(100, "100.0");
    prints(1e15, "1000000000000000.0");
    prints(0.00001, "0.00001");
    prints(1e-7, "1e-07");
    prints(-123.456, "-123.456");
    prints(2251799813685249.5, "2251799813685249.5");
    prints(-0.0, "-0.0");
    prints(1e20, "1e+20");
    prints(1.0 / 3, "0.3333333333333333");
    prints(0.1 + 0.2, "0.30000000000000004");
    prints(DBL_MAX, "1.7976931348623157e+308");
    prints(5e-324, "5e-324");
    prints(123456789.125, "123456789.125");
    prints(NAN, "nan");
    prints(-INFINITY, "-inf");
}

static levada_number_kind kind(const char *text)
{
    int64_t i;
    double  f;

    return levada_number_read(text, strlen(text), &i, &f);
}

static void reads_json_numbers(void **state)
{
    int64_t i = 0;
    double  f = 0;

    (void)state;
    assert_int_equal(levada_number_read("-9223372036854775808", 20, &i, &f), LEVADA_NUMBER_INT);
    assert_true(i == INT64_MIN);
    assert_int_equal(levada_number_read("1.5e3", 5, &i, &f), LEVADA_NUMBER_FLOAT);
    assert_true(f == 1500.0);
    assert_int_equal(kind("9223372036854775808"), LEVADA_NUMBER_BIG);
    assert_int_equal(kind("1e999"), LEVADA_NUMBER_BIG);
    assert_int_equal(kind("1e-999"), LEVADA_NUMBER_FLOAT);
    assert_int_equal(kind("-0"), LEVADA_NUMBER_INT);
}

static void leaves_words_alone(void **state)
{
    static const char *const words[] = {"",   "-",   "01", "1.",  ".5",  "+1",  "1e",
                                        "1e+", "0x1", "1_0", "1a", "nan", "--1", "1.5.2"};

    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        assert_int_equal(kind(words[i]), LEVADA_NUMBER_NONE);
    }
}

static void ignores_the_locale(void **state)
{
    (void)state;
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL && setlocale(LC_NUMERIC, "de_DE") == NULL) {
        return; /* not on this machine */
    }
    prints(0.5, "0.5");
    setlocale(LC_NUMERIC, "C");
}

/* Digits from the first to the last that is not 0. */
static int significant(const char *text)
{
    int n = 0, all = 0;

    for (; *text != '\0' && *text != 'e'; text++) {
        if (*text < '0' || *text > '9' || (all == 0 && *text == '0')) continue;
        all++;
        if (*text != '0') n = all;
    }
    return n;
}

static void writes_the_fewest_digits_that_read_back(void **state)
{
    static const uint64_t tens[] = { 10, 1000, 100000, 1000000000, 1000000000000000,
                                     10000000000000000, UINT64_MAX };
    uint64_t seed = 1;
    char     text[64], out[LEVADA_NUMBER_TEXT];

    (void)state;
    for (int i = 0; i < 100000; i++) {
        int    digits = 0;
        double x, back;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        snprintf(text, sizeof text, "%s%llue-%d", i % 2 ? "-" : "",
                 (unsigned long long)((seed >> 1) % tens[i % 7]), i % 23);
        x = strtod(text, NULL);
        back = strtod(levada_number_write(x, out), NULL);
        assert_memory_equal(&back, &x, sizeof x);
        do snprintf(text, sizeof text, "%.*e", digits, x);
        while (strtod(text, NULL) != x && ++digits < 17);
        assert_int_equal(significant(out), significant(text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_the_shortest),
        cmocka_unit_test(writes_the_fewest_digits_that_read_back),
        cmocka_unit_test(reads_json_numbers),
        cmocka_unit_test(leaves_words_alone),
        cmocka_unit_test(ignores_the_locale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
