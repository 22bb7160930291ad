/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of records with one key, against a model: lengths of t_rows have runs of any length.
 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Reads the numbers from 0 on, in groups of `most`. */
static int64_t read_groups(levada_iter *it, int64_t most, int64_t all)
{
    levada_block *block = NULL;
    int64_t       next = 0;

    while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
        const levada_column *c = levada_block_column(block, "value");

        for (int64_t r = 0; r < c->n; r++) {
            const int64_t *v = levada_column_i64(c) + c->level[0].begin[r];
            int64_t        n = levada_column_length(c, r);

            assert_int_equal(levada_block_origin(block, r).record, next);
            assert_int_equal(n, all - next < most ? all - next : most);
            for (int64_t i = 0; i < n; i++) assert_int_equal(v[i], next++);
        }
        levada_block_unref(&block);
    }
    return next;
}

static void records_of_one_key_become_one(void **state)
{
    static const int32_t rows[] = { 1, 7, 256 };

    (void)state;
    for (int64_t divide = 1; divide <= 300; divide += 13) {
        for (int how = 0; how < 3; how++) {
            char         text[80];
            levada_iter *it;

            (void)snprintf(text, sizeof text, "range:700 | group_by:\"value // %lld\"",
                           (long long)divide);
            it = t_iter_open(text, 1 + how, rows[how]);
            assert_int_equal(read_groups(it, divide, 700), 700);
            levada_iter_close(&it);
        }
    }
}

/* A field that is the key stays one value, and a key that returns is a group of its own. */
static void a_key_field_stays_one_value(void **state)
{
    const int64_t want[] = { 0, 1, 0, 1, 0 };

    (void)state;
    t_expect_i64("range:5 | map:{c:odd} | cast:keep,dtype=int64 | group_by:keep", "keep", want, 5);
    t_expect_i64("range:10,start=5 | group_by:value | enumerate", "index",
                 (const int64_t[]){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, 10);
}

static void a_group_is_bounded(void **state)
{
    levada_iter *it = t_iter_open("range:40 | group_by:\"value // 10\",max_records=9", 1, 7);

    (void)state;
    assert_int_equal(t_iter_fails(it, LEVADA_ERESOURCE_EXHAUSTED,
                                  "the same in more than max_records=9 consecutive records"),
                     0);
    levada_iter_close(&it);
    t_iter_refused("range:9 | group_by:y", LEVADA_EINVALID_ARGUMENT, "unknown field 'y'");
    t_iter_refused("t_rows:9 | group_by:v", LEVADA_EINVALID_ARGUMENT, "not one integer");
    t_iter_refused("range:9 | batch:2 | group_by:value", LEVADA_EINVALID_ARGUMENT,
                   "works on records");
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:40 | group_by:\"n // 3\"", false, 1);
    t_iter_sweep("t_stream:40 | group_by:l | batch:2", true, 1);
    t_iter_sweep("t_rows:40 | shuffle:9 | group_by:\"len(s) // 4\" | shuffle:5", false, 1);
    t_iter_sweep("t_rows:60 | group_by:s | shuffle:3", false, 1);
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
        cmocka_unit_test(records_of_one_key_become_one),
        cmocka_unit_test(a_key_field_stays_one_value),
        cmocka_unit_test(a_group_is_bounded),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, add_functions, NULL);
}
