/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RECORDS 3000

/* How often each number below RECORDS is among the values of `text`. */
static int64_t count_values(const char *text, int64_t epoch, int32_t threads, int32_t *seen)
{
    levada_dataset     *ds = NULL;
    levada_iter        *it = NULL;
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    int64_t             n = 0, *values;

    o.epoch = epoch;
    o.seed = 3;
    o.threads = threads;
    assert_int_equal(levada_dataset_parse(t_iter_env(), text, &ds, NULL), LEVADA_OK);
    assert_int_equal(levada_iter_open(ds, &o, &it, NULL), LEVADA_OK);
    values = t_iter_numbers(it, "value", &n);
    for (int64_t i = 0; i < n; i++) seen[values[i]]++;
    free(values);
    levada_iter_close(&it);
    levada_dataset_unref(&ds);
    return n;
}

/* Upstream and downstream of what moves records, in three epochs. */
static void parts_are_disjoint_in_each_epoch(void **state)
{
    static const char *const around[][2] = {
        { "range:3000", "" },
        { "range:3000 | shuffle:500", "" },
        { "range:3000", " | shuffle:500 | batch:7 | unbatch" },
        { "range:3000 | map:{c:twice} | shuffle:40 | map:{c:half} | cast:value,dtype=int64", "" },
        { "range:3000 | batch:64 | unbatch | shuffle:9", "" },
    };

    (void)state;
    for (size_t k = 0; k < sizeof around / sizeof around[0]; k++) {
        int32_t first[3][RECORDS] = { 0 };

        for (int64_t epoch = 0; epoch < 3; epoch++) {
            for (int32_t part = 0; part < 3; part++) {
                int32_t seen[RECORDS] = { 0 };
                char    text[256];
                int64_t n;

                (void)snprintf(text, sizeof text, "%s | split:[0.7, 0.1, 0.2],part=%d,seed=5%s",
                               around[k][0], (int)part, around[k][1]);
                n = count_values(text, epoch, 1 + (int32_t)epoch, seen);
                assert_in_range(n, part == 0 ? 1950 : part == 1 ? 210 : 510,
                                part == 0 ? 2250 : part == 1 ? 390 : 690);
                if (epoch == 0) memcpy(first[part], seen, sizeof seen);
                assert_memory_equal(first[part], seen, sizeof seen);
            }
        }
        for (int i = 0; i < RECORDS; i++) {
            assert_int_equal(first[0][i] + first[1][i] + first[2][i], 1);
        }
    }
}

static void a_field_keeps_equal_values_together(void **state)
{
    int32_t a[RECORDS] = { 0 }, b[RECORDS] = { 0 };

    (void)state;
    count_values("range:3000 | split:[0.5, 0.5],by=value", 0, 1, a);
    count_values("range:3000 | cast:value,dtype=int16 | split:[0.5, 0.5],by=value,part=1 |"
                 " cast:value,dtype=int64",
                 0, 1, b);
    for (int i = 0; i < RECORDS; i++) assert_int_equal(a[i] + b[i], 1);
    a[0] = 0;
    count_values("range:3000 | split:[0.5, 0.4],by=value,seed=1", 0, 1, a);
    t_iter_refused("t_rows:3 | split:[0.5],by=x", LEVADA_EINVALID_ARGUMENT, "several values");
    t_iter_refused("t_rows:3 | split:[0.5],by=y", LEVADA_EINVALID_ARGUMENT, "unknown field 'y'");
    t_bytes some = t_iter_all("t_rows:40 | split:[0.5],by=s", false);
    assert_true(some.size > 0);
    t_clear(&some);
}

static void the_edges_hold_all_and_nothing(void **state)
{
    int32_t seen[RECORDS] = { 0 };

    (void)state;
    assert_int_equal(count_values("range:3000 | split:[0, 1],part=0", 0, 1, seen), 0);
    assert_int_equal(count_values("range:3000 | split:[0, 1],part=1", 0, 1, seen), RECORDS);
    assert_int_equal(count_values("range:3000 | split:[0.1, 0.2, 0.3, 0.4, 0],part=4", 0, 1, seen),
                     0);
}

static void refuses_what_is_no_division(void **state)
{
    (void)state;
    t_iter_refused("range:3 | split:[0.9, 0.2]", LEVADA_EINVALID_ARGUMENT, "at most 1, got 1.1");
    t_iter_refused("range:3 | split:[0.9, -0.2]", LEVADA_EINVALID_ARGUMENT, "fractions[1]");
    t_iter_refused("range:3 | split:[0.9, x]", LEVADA_EINVALID_ARGUMENT, "fractions[1]");
    t_iter_refused("range:3 | split:[]", LEVADA_EINVALID_ARGUMENT, "must be a list");
    t_iter_refused("range:3 | split:[0.9, 0.1],part=2", LEVADA_EINVALID_ARGUMENT, "less than");
    t_iter_refused("range:3 | batch:2 | split:[1]", LEVADA_EINVALID_ARGUMENT, "works on records");
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:60 | split:[0.5]", false, 1);
    t_iter_sweep("t_rows:60 | shuffle:9 | split:[0.5, 0.5],part=1,by=s | shuffle:9 | batch:4", true,
                 1);
}

static int add_functions(void **state)
{
    (void)state;
    t_functions_add(t_iter_env());
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_disjoint_in_each_epoch),
        cmocka_unit_test(a_field_keeps_equal_values_together),
        cmocka_unit_test(the_edges_hold_all_and_nothing),
        cmocka_unit_test(refuses_what_is_no_division),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, add_functions, NULL);
}
