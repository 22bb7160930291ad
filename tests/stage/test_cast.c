/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static levada_block *only(const char *text)
{
    levada_iter  *it = t_iter_open(text, 1, 256);
    levada_block *block = NULL;

    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    levada_iter_close(&it);
    return block;
}

static void converts_between_all_kinds(void **state)
{
    static const char *const names[] = { "bool", "int8", "int16", "int32", "int64", "uint8",
                                         "uint16", "uint32", "uint64", "float16", "bfloat16",
                                         "float32", "float64" };
    const int64_t want[] = { 0, 1, 2, 3, 4 }, truths[] = { 0, 1, 1, 1, 1 };

    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        for (size_t l = 0; l < sizeof names / sizeof names[0]; l++) {
            char text[160];
            bool truth = k == 0 || l == 0;

            (void)snprintf(text, sizeof text,
                           "range:5 | cast:value,dtype=%s | cast:value,dtype=%s"
                           " | cast:value,dtype=int64", names[k], names[l]);
            t_expect_i64(text, "value", truth ? truths : want, 5);
        }
    }
}

static void keeps_ragged_rows(void **state)
{
    const int64_t want[] = { 6, 7, 8, 9 };
    levada_block *block = only("t_rows:10 | skip:6 | cast:x,dtype=int16 | cast:z,dtype=float64");
    levada_block *same = only("t_rows:10 | skip:6");

    (void)state;
    for (int64_t r = 0; r < 4; r++) {
        const levada_column *a = levada_block_column(block, "x");
        const levada_column *b = levada_block_column(same, "x");
        const int16_t       *x = (const int16_t *)(const void *)a->values + a->level[0].begin[r];
        const int32_t       *y = levada_column_i32(b) + b->level[0].begin[r];

        assert_int_equal(levada_column_length(a, r), levada_column_length(b, r));
        for (int64_t k = 0; k < levada_column_length(a, r); k++) assert_int_equal(x[k], y[k]);
        assert_int_equal(levada_column_i64(levada_block_column(block, "n"))[r], want[r]);
    }
    levada_block_unref(&block);
    levada_block_unref(&same);
}

static void a_number_that_does_not_fit_is_a_bad_record(void **state)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    const int64_t       want[] = { -128, -127, 126, 127 };
    int64_t             n = 0, *got;
    levada_iter        *it = t_iter_open("range:300 | cast:value,dtype=int8", 1, 256);

    (void)state;
    t_iter_fails(it, LEVADA_EDATA_LOSS, "does not fit in int8");
    levada_iter_close(&it);
    o.errors = "skip";
    o.threads = 1;
    it = t_iter_open_with("concat(range:4,start=-130; range:4,start=126) | cast:value,dtype=int8"
                          " | cast:value,dtype=int64", &o);
    got = t_iter_numbers(it, "value", &n);
    assert_int_equal(n, 4);
    assert_memory_equal(got, want, sizeof want);
    free(got);
    levada_iter_close(&it);
}

static void refuses_strings(void **state)
{
    (void)state;
    t_iter_refused("t_rows:3 | cast:s,dtype=int64", LEVADA_EINVALID_ARGUMENT, "cannot be cast to");
    t_iter_refused("t_rows:3 | cast:n,dtype=string", LEVADA_EINVALID_ARGUMENT, "cannot be cast to");
    t_iter_refused("t_rows:3 | cast:y,dtype=int64", LEVADA_EINVALID_ARGUMENT, "unknown field");
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:30 | shuffle:6 | cast:x,dtype=float32 | cast:z,dtype=int64 | shuffle:5"
                 " | batch:4", true, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(converts_between_all_kinds),
        cmocka_unit_test(keeps_ragged_rows),
        cmocka_unit_test(a_number_that_does_not_fit_is_a_bad_record),
        cmocka_unit_test(refuses_strings),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
