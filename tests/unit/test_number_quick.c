/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/number.h"
#include "base/number_quick.h"

static uint64_t seed = 7;

static uint64_t drawn(uint64_t most)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % most;
}

/* The slack in front must not matter: it holds digits. */
static void same(const char *text)
{
    char           padded[64] = "9999999999999999";
    size_t         n = strlen(text);
    const uint8_t *at = (const uint8_t *)padded + 16;
    int64_t        i = 0, quick_i = 0;
    double         f = 0, quick_f = 0;

    memcpy(padded + 16, text, n);
    if (levada_quick_int(at, n, &quick_i)) {
        assert_int_equal(levada_number_scan_int(text, n, &i), LEVADA_NUMBER_INT);
        assert_int_equal(i, quick_i);
    }
    if (levada_quick_double(at, n, &quick_f)) {
        assert_int_equal(levada_number_scan_f64(text, n, &f), LEVADA_NUMBER_FLOAT);
        assert_memory_equal(&f, &quick_f, sizeof f);
    }
}

static void common_numbers_are_read(void **state)
{
    static const char *const texts[] = { "0", "-1", "12345678", "1234567890123456", "-7" };
    static const char *const floats[] = { "0.5", "-812.28", "5.", ".5", "-533.83110", "1234567.25",
                                          "0.00000000000001", "123456789.12345", "-0" };
    char    padded[64] = "";
    int64_t i;
    double  f;

    (void)state;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        memcpy(padded + 16, texts[k], strlen(texts[k]) + 1);
        assert_true(levada_quick_int((uint8_t *)padded + 16, strlen(texts[k]), &i));
        same(texts[k]);
    }
    for (size_t k = 0; k < sizeof floats / sizeof *floats; k++) {
        memcpy(padded + 16, floats[k], strlen(floats[k]) + 1);
        assert_true(levada_quick_double((uint8_t *)padded + 16, strlen(floats[k]), &f));
        same(floats[k]);
    }
}

/* What they take is what the slow functions take, with the same result. */
static void any_text_is_read_alike(void **state)
{
    static const char letters[] = "0123456789012345678901234567890123456789..--+e /:x";
    char              text[24];

    (void)state;
    for (int i = 0; i < 2000000; i++) {
        size_t n = drawn(19), most = drawn(4) ? 42 : sizeof letters - 1;

        for (size_t k = 0; k < n; k++) text[k] = letters[drawn(most)];
        text[n] = '\0';
        same(text);
    }
}

static void neighbors_of_digits_are_not_digits(void **state)
{
    char text[12];

    (void)state;
    for (int c = 1; c < 256; c++) {
        for (int at = 0; at < 10; at++) {
            memcpy(text, "1234567890", 11);
            text[at] = (char)c;
            same(text);
            same(text + 4);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(common_numbers_are_read),
        cmocka_unit_test(any_text_is_read_alike),
        cmocka_unit_test(neighbors_of_digits_are_not_digits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
