/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed = 88172645463325252u;

static uint64_t drawn(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static void expect_strtod(uint64_t digits, int exponent)
{
    char   text[64];
    double got = 0, want;

    snprintf(text, sizeof text, "%llue%d", (unsigned long long)digits, exponent);
    want = strtod(text, NULL);
    if (!levada_number_decimal(digits, exponent, &got) || memcmp(&got, &want, sizeof got) != 0)
        fail_msg("%s became %a, not %a", text, got, want);
}

static void any_digits_and_tens_are_rounded_as_strtod_does(void **state)
{
    (void)state;
    for (int exponent = -64; exponent <= 64; exponent++) {
        expect_strtod(0, exponent);
        expect_strtod(UINT64_MAX, exponent);
        for (int i = 0; i < 1000; i++) expect_strtod(drawn() >> drawn() % 64, exponent);
    }
}

/* The seventeen digits of a double, and numbers exactly between two doubles. */
static void doubles_come_back_and_ties_go_to_even(void **state)
{
    (void)state;
    for (int i = 0; i < 50000; i++) {
        uint64_t bits = (drawn() >> 12) | (963 + drawn() % 120) << 52, digits;
        char     text[64];
        double   x;

        memcpy(&x, &bits, sizeof x);
        snprintf(text, sizeof text, "%.16e", x);
        digits = strtoull(text, NULL, 10) * 10000000000000000u + strtoull(text + 2, NULL, 10);
        expect_strtod(digits, atoi(strchr(text, 'e') + 1) - 16);
        expect_strtod((drawn() >> 10) | 1, (int)(drawn() % 30) - 5);
    }
}

static void far_powers_of_ten_are_left_to_strtod(void **state)
{
    double x;

    (void)state;
    assert_false(levada_number_decimal(1, 65, &x));
    assert_false(levada_number_decimal(UINT64_MAX, -65, &x));
    assert_true(levada_number_decimal(0, 100000, &x));
    assert_true(x == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_digits_and_tens_are_rounded_as_strtod_does),
        cmocka_unit_test(doubles_come_back_and_ties_go_to_even),
        cmocka_unit_test(far_powers_of_ten_are_left_to_strtod),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
