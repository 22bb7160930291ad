/* SPDX-License-Identifier: Apache-2.0 */
#include <levada/lengths.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define MOST 12

static int64_t padded(const int64_t *at, const int64_t *count, int64_t n, int64_t multiple,
                      const int64_t *boundaries, int64_t nb)
{
    int64_t cells = 0, i = 0;

    for (int64_t b = 0; b <= nb; b++) {
        int64_t records = 0, longest = 0;

        for (; i < n && (b == nb || at[i] < boundaries[b]); i++) {
            records += count[i];
            longest = at[i];
        }
        cells += records * ((longest + multiple - 1) / multiple * multiple);
    }
    return cells;
}

/* The least over all ways to cut n lengths into k buckets: one bit per possible boundary. */
static int64_t least(const int64_t *at, const int64_t *count, int64_t n, int64_t k,
                     int64_t multiple)
{
    int64_t best = INT64_MAX;

    for (uint32_t cuts = 0; cuts < UINT32_C(1) << (n - 1); cuts++) {
        int64_t boundaries[MOST], nb = 0, cells;

        for (int64_t i = 0; i + 1 < n; i++) {
            if (cuts >> i & 1) boundaries[nb++] = at[i] + 1;
        }
        if (nb >= k) continue;
        cells = padded(at, count, n, multiple, boundaries, nb);
        if (cells < best) best = cells;
    }
    return best;
}

/* From 1 to `most`. */
static int64_t draw(uint32_t *seed, int64_t most)
{
    *seed = *seed * 1664525u + 1013904223u;
    return 1 + (int64_t)(*seed >> 16) % most;
}

static void pads_no_more_than_the_best_of_all_cuts(void **state)
{
    uint32_t seed = 1;

    (void)state;
    for (int trial = 0; trial < 3000; trial++) {
        int64_t at[MOST], count[MOST], out[MOST], nout = -1, n, k, multiple, last = -1;

        n = draw(&seed, MOST);
        k = draw(&seed, MOST);
        multiple = draw(&seed, 9);
        for (int64_t i = 0; i < n; i++) {
            last += draw(&seed, 20);
            at[i] = last;
            count[i] = draw(&seed, 50);
        }
        assert_int_equal(levada_optimal_boundaries(at, count, n, k, multiple, out, &nout, NULL),
                         LEVADA_OK);
        assert_true(nout >= 0 && nout < k);
        for (int64_t i = 1; i < nout; i++) assert_true(out[i] > out[i - 1]);
        assert_int_equal(padded(at, count, n, multiple, out, nout),
                         least(at, count, n, k, multiple));
    }
}

static void enough_buckets_pad_nothing(void **state)
{
    const int64_t at[] = {0, 3, 5, 1000}, count[] = {2, 1, 7, 1};
    int64_t       out[8], nout = 0;

    (void)state;
    assert_int_equal(levada_optimal_boundaries(at, count, 4, 8, 1, out, &nout, NULL), LEVADA_OK);
    assert_int_equal(nout, 3);
    assert_int_equal(out[0], 1);
    assert_int_equal(out[1], 4);
    assert_int_equal(out[2], 6);
}

static void arguments_that_do_not_fit_are_refused(void **state)
{
    const int64_t falling[] = {3, 2}, good[] = {2, 3}, ones[] = {1, 1}, none[] = {1, 0};
    const int64_t huge[] = {1, INT64_MAX / 4};
    const int64_t beyond[] = {1, INT64_MAX};
    int64_t       out[4], nout = 0;

    (void)state;
    assert_int_equal(levada_optimal_boundaries(falling, ones, 2, 2, 1, out, &nout, NULL),
                     LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_optimal_boundaries(good, none, 2, 2, 1, out, &nout, NULL),
                     LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_optimal_boundaries(good, ones, 2, 0, 1, out, &nout, NULL),
                     LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_optimal_boundaries(good, ones, 2, 2, 0, out, &nout, NULL),
                     LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_optimal_boundaries(NULL, ones, 2, 2, 1, out, &nout, NULL),
                     LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_optimal_boundaries(huge, ones, 2, 2, 1, out, &nout, NULL),
                     LEVADA_ERESOURCE_EXHAUSTED);
    assert_int_equal(levada_optimal_boundaries(beyond, ones, 2, 2, 1, out, &nout, NULL),
                     LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_optimal_boundaries(NULL, NULL, 0, 2, 1, out, &nout, NULL), LEVADA_OK);
    assert_int_equal(nout, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pads_no_more_than_the_best_of_all_cuts),
        cmocka_unit_test(enough_buckets_pad_nothing),
        cmocka_unit_test(arguments_that_do_not_fit_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
