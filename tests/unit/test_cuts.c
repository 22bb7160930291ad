/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cuts of a sorted window: within the budget, and no others cost less.
 */
#include "batch/cuts.h"
#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MOST 64

/* The least cost of the first n records, over all ways to cut them. */
static double least_cost(const double *each, int32_t n, double budget, double price)
{
    double least[MOST + 1] = { 0 };

    for (int32_t j = 1; j <= n; j++) {
        least[j] = least[j - 1] + each[j - 1] + price; /* one record may exceed the budget */
        for (int32_t i = 0; i < j - 1; i++) {
            double batch = (j - i) * each[j - 1];

            if (batch <= budget && least[i] + batch + price < least[j]) {
                least[j] = least[i] + batch + price;
            }
        }
    }
    return least[n];
}

static void cuts_cost_least_within_the_budget(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 4000; seed++) {
        int32_t n = 1 + (int32_t)(seed % MOST), begin[MOST + 1] = { 0 };
        double  each[MOST], budget = 1 + (double)(seed * 7 % 300), cost = 0;
        double  price = seed % 3 ? budget / (double)(seed % 3) : 0;

        for (int32_t i = 0; i < n; i++) {
            uint64_t step = levada_random_below(levada_random_draw(seed, 0, (uint64_t)i), 5);

            each[i] = i ? each[i - 1] + (step > 2 ? (double)(step - 2) : 0) : 1;
            if (seed % 7 == 0) each[i] = each[0]; /* all alike */
        }
        assert_int_equal(levada_cuts_find(each, n, budget, price, begin, NULL), LEVADA_OK);
        for (int32_t j = n; j > 0; j = begin[j]) {
            double batch = (j - begin[j]) * each[j - 1];

            assert_in_range(begin[j], 0, j - 1);
            assert_true(batch <= budget || begin[j] == j - 1);
            cost += batch + price;
        }
        if (cost > least_cost(each, n, budget, price)) fail_msg("seed %d", (int)seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(cuts_cost_least_within_the_budget) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
