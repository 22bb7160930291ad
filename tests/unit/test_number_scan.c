/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static levada_number_kind int_kind(const char *text)
{
    int64_t i;

    return levada_number_scan_int(text, strlen(text), &i);
}

static levada_number_kind float_kind(const char *text)
{
    double d;
    float  f;

    assert_int_equal(levada_number_scan_f32(text, strlen(text), &f),
                     levada_number_scan_f64(text, strlen(text), &d));
    return levada_number_scan_f64(text, strlen(text), &d);
}

static void integers_have_spaces_signs_and_zeros_around(void **state)
{
    static const char *const good[] = { "0", " 7 ", "\t-7", "+7", "007", "-9223372036854775808" };
    static const char *const bad[] = { "", " ", "-", "1 2", "0x1", "1.0", "1e3", "7a", "--7" };
    int64_t i;

    (void)state;
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        assert_int_equal(int_kind(good[k]), LEVADA_NUMBER_INT);
        assert_int_equal(levada_number_scan_int(good[k], strlen(good[k]), &i), LEVADA_NUMBER_INT);
        assert_true(i == strtoll(good[k], NULL, 10));
    }
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_equal(int_kind(bad[k]), LEVADA_NUMBER_NONE);
    }
    assert_int_equal(int_kind("9223372036854775808"), LEVADA_NUMBER_BIG);
}

static void floats_are_those_of_strtod(void **state)
{
    static const char *const good[] = { "1", ".5", "5.", "-1.25e-3", "1E5", " 2 ", "+3", "0x1p3",
                                        "1e400", "-1e400", "1e-400", "0e999999999", "INF",
                                        "-infinity", "123456789012345678901234567890",
                                        "9007199254740993", "0.1", "1e22", "1e23", "-0" };
    static const char *const bad[] = { "", "e5", "1e", "1_0", "1.2.3", ".", "-", "0x", "nan(1)",
                                       "infin", "1 2" };
    double d;
    float  f;

    (void)state;
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        double want = strtod(good[k], NULL);
        float  narrow = strtof(good[k], NULL);

        assert_int_equal(float_kind(good[k]), LEVADA_NUMBER_FLOAT);
        assert_int_equal(levada_number_scan_f64(good[k], strlen(good[k]), &d), LEVADA_NUMBER_FLOAT);
        assert_memory_equal(&d, &want, sizeof d);
        assert_int_equal(levada_number_scan_f32(good[k], strlen(good[k]), &f), LEVADA_NUMBER_FLOAT);
        assert_memory_equal(&f, &narrow, sizeof f);
    }
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_equal(float_kind(bad[k]), LEVADA_NUMBER_NONE);
    }
    assert_int_equal(levada_number_scan_f64("NaN", 3, &d), LEVADA_NUMBER_FLOAT);
    assert_true(isnan(d));
}

/* Texts of random bits, and halves between two floats, where a second rounding would be seen. */
static void floats_are_rounded_once(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (int k = 0; k < 20000; k++) {
        char   text[64];
        double d, want;
        float  f, narrow;

        seed = seed * 6364136223846793005U + 1442695040888963407U;
        memcpy(&want, &seed, sizeof want);
        if (!isfinite(want)) continue;
        if (k % 2) snprintf(text, sizeof text, "%.17g", want);
        else snprintf(text, sizeof text, "%llu.%u", (unsigned long long)(seed >> 38), k % 10 * 5);
        want = strtod(text, NULL);
        narrow = strtof(text, NULL);
        assert_int_equal(levada_number_scan_f64(text, strlen(text), &d), LEVADA_NUMBER_FLOAT);
        assert_memory_equal(&d, &want, sizeof d);
        assert_int_equal(levada_number_scan_f32(text, strlen(text), &f), LEVADA_NUMBER_FLOAT);
        assert_memory_equal(&f, &narrow, sizeof f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_have_spaces_signs_and_zeros_around),
        cmocka_unit_test(floats_are_those_of_strtod),
        cmocka_unit_test(floats_are_rounded_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
