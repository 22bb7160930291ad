/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

static unsigned bits(uint64_t x)
{
    unsigned n = 0;

    for (; x != 0; x &= x - 1) n++;
    return n;
}

/* States keep these: a change of them is a change of the format. */
static void stays_the_same(void **state)
{
    (void)state;
    assert_true(levada_hash64("", 0, 0) == UINT64_C(0xDB103D6E06341B58));
    assert_true(levada_hash64("levada", 6, 0) == UINT64_C(0xFF65CF70C4686943));
    assert_true(levada_hash64("levada", 6, 1) != levada_hash64("levada", 6, 0));
}

static void each_bit_of_the_input_matters(void **state)
{
    unsigned char bytes[37] = {0};
    uint64_t      whole = levada_hash64(bytes, sizeof(bytes), 0);
    unsigned      least = 64, most = 0;

    (void)state;
    for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        unsigned changed = bits(levada_hash64(bytes, sizeof(bytes), 0) ^ whole);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        if (changed < least) least = changed;
        if (changed > most) most = changed;
    }
    assert_in_range(least, 12, 32);
    assert_in_range(most, 32, 52);
}

static void the_length_matters(void **state)
{
    static const char zeros[64];
    uint8_t           all[65][16];

    (void)state;
    for (size_t n = 0; n <= sizeof(zeros); n++) {
        levada_hash128(zeros, n, 3, all[n]);
        for (size_t i = 0; i < n; i++) assert_memory_not_equal(all[i], all[n], 16);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stays_the_same),
        cmocka_unit_test(each_bit_of_the_input_matters),
        cmocka_unit_test(the_length_matters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
