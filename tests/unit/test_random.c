/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The order of records stands on these: they never change. */
static void stays_the_same(void **state)
{
    (void)state;
    assert_true(levada_random_draw(0, 0, 0) == UINT64_C(0x85C61A300EC70FA1));
    assert_true(levada_random_draw(7, 1, 123) == UINT64_C(0x2178116BCD380755));
    assert_true(levada_random_draw(7, 1, 123) ==
                levada_random_at(levada_random_key(7, 1), 123));
}

static void epochs_and_seeds_differ(void **state)
{
    (void)state;
    assert_true(levada_random_key(1, 0) != levada_random_key(0, 1));
    assert_true(levada_random_key(1, 0) != levada_random_key(1, 1));
    assert_true(levada_random_at(1, 0) != levada_random_at(0, 1));
}

static void all_numbers_below_come_alike(void **state)
{
    int      counts[10] = {0};
    uint64_t key = levada_random_key(3, 4);

    (void)state;
    for (uint64_t i = 0; i < 100000; i++) {
        counts[levada_random_below(levada_random_at(key, i), 10)]++;
    }
    for (int i = 0; i < 10; i++) assert_in_range(counts[i], 9600, 10400);
}

static void bounds_hold(void **state)
{
    (void)state;
    assert_int_equal(levada_random_below(UINT64_MAX, 1), 0);
    assert_int_equal(levada_random_below(UINT64_MAX, 0), 0);
    assert_int_equal(levada_random_below(0, 100), 0);
    assert_int_equal(levada_random_below(UINT64_MAX, 100), 99);
    assert_true(levada_random_below(UINT64_MAX, UINT64_MAX) == UINT64_MAX - 1);
    assert_true(levada_random_below(UINT64_C(1) << 63, UINT64_C(1) << 40) == UINT64_C(1) << 39);
    assert_true(levada_random_unit(0) == 0.0);
    assert_true(levada_random_unit(UINT64_MAX) < 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stays_the_same),
        cmocka_unit_test(epochs_and_seeds_differ),
        cmocka_unit_test(all_numbers_below_come_alike),
        cmocka_unit_test(bounds_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
