/* SPDX-License-Identifier: Apache-2.0 */
#include "base/permutation.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void expect_all_once(uint64_t n, uint64_t key)
{
    levada_permutation p = levada_permutation_of(n, key);
    unsigned char     *seen = calloc(n + 1, 1);

    assert_non_null(seen);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = levada_permutation_at(&p, i);

        assert_true(at < n);
        assert_int_equal(seen[at]++, 0);
    }
    free(seen);
}

static void every_number_comes_once(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 300; n++) expect_all_once(n, n * 7);
    for (int bits = 9; bits <= 17; bits++) {
        for (int near = -1; near <= 1; near++) {
            expect_all_once((UINT64_C(1) << bits) + (uint64_t)(int64_t)near, 5);
        }
    }
}

/* The order of records stands on these: they never change. */
static void stays_the_same(void **state)
{
    levada_permutation small = levada_permutation_of(10, 1);
    levada_permutation large = levada_permutation_of(UINT64_C(1) << 62, 1);
    uint64_t           at = 0;

    (void)state;
    for (uint64_t i = 0; i < 10; i++) at = at * 10 + levada_permutation_at(&small, i);
    assert_int_equal(at, UINT64_C(3821095674));
    assert_int_equal(levada_permutation_at(&large, 123), UINT64_C(333315526164419739));
}

static void keys_differ(void **state)
{
    levada_permutation a = levada_permutation_of(1000, 1), b = levada_permutation_of(1000, 2);
    int                same = 0;

    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        same += levada_permutation_at(&a, i) == levada_permutation_at(&b, i);
    }
    assert_true(same < 10); /* 1 is expected */
}

/* Over many keys, each number comes alike to each place (chi-square with 15 degrees of freedom:
 * beyond 60 once in a million times). */
static void places_are_alike(void **state)
{
    enum { N = 16, KEYS = 20000 };
    static int counts[N][N];

    (void)state;
    for (uint64_t key = 0; key < KEYS; key++) {
        levada_permutation p = levada_permutation_of(N, levada_random_at(3, key));

        for (uint64_t i = 0; i < N; i++) counts[i][levada_permutation_at(&p, i)]++;
    }
    for (int i = 0; i < N; i++) {
        double chi = 0, mean = (double)KEYS / N;

        for (int k = 0; k < N; k++) chi += (counts[i][k] - mean) * (counts[i][k] - mean) / mean;
        assert_true(chi < 60);
    }
}

/* Records that lie beside each other lie apart afterwards: the mean distance of random places is a
 * third of their number. */
static void neighbors_part(void **state)
{
    enum { N = 100000 };
    levada_permutation p = levada_permutation_of(N, 9);
    double             sum = 0;

    (void)state;
    for (uint64_t i = 0; i + 1 < N; i++) {
        double d = (double)levada_permutation_at(&p, i) - (double)levada_permutation_at(&p, i + 1);

        sum += d < 0 ? -d : d;
    }
    assert_true(sum / N > N / 3.0 * 0.98 && sum / N < N / 3.0 * 1.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_comes_once), cmocka_unit_test(stays_the_same),
        cmocka_unit_test(keys_differ),             cmocka_unit_test(places_are_alike),
        cmocka_unit_test(neighbors_part),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
