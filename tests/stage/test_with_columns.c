/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* `y` of range:6 from -2 on. */
static void expect_of_range(const char *expression, const int64_t want[6])
{
    char text[160];

    (void)snprintf(text, sizeof text,
                   "range:6,start=-2 | with_columns:{y: \"%s\"} | cast:y,dtype=int64", expression);
    t_expect_i64(text, "y", want, 6);
}

static void computes_numbers(void **state)
{
    (void)state;
    expect_of_range("value + 1", (const int64_t[]){ -1, 0, 1, 2, 3, 4 });
    expect_of_range("2 * value - 1", (const int64_t[]){ -5, -3, -1, 1, 3, 5 });
    expect_of_range("2 * (value - 1)", (const int64_t[]){ -6, -4, -2, 0, 2, 4 });
    expect_of_range("value // 2", (const int64_t[]){ -1, -1, 0, 0, 1, 1 });
    expect_of_range("value % 3", (const int64_t[]){ 1, 2, 0, 1, 2, 0 });
    expect_of_range("value // 0", (const int64_t[]){ 0, 0, 0, 0, 0, 0 });
    expect_of_range("- value", (const int64_t[]){ 2, 1, 0, -1, -2, -3 });
    expect_of_range("abs(value)", (const int64_t[]){ 2, 1, 0, 1, 2, 3 });
    expect_of_range("value / 2 * 2", (const int64_t[]){ -2, -1, 0, 1, 2, 3 });
    expect_of_range("value < 1 or value == 3", (const int64_t[]){ 1, 1, 1, 0, 0, 1 });
    expect_of_range("not value", (const int64_t[]){ 0, 0, 1, 0, 0, 0 });
    expect_of_range("value not in [1, 2]", (const int64_t[]){ 1, 1, 1, 0, 0, 1 });
    expect_of_range("value", (const int64_t[]){ -2, -1, 0, 1, 2, 3 });
    expect_of_range("7", (const int64_t[]){ 7, 7, 7, 7, 7, 7 });
}

static void replaces_and_adds_fields(void **state)
{
    levada_iter  *it = t_iter_open("t_rows:40 | with_columns:{x: \"x / 2\", k: \"len(x)\","
                                   " v: \"v * n\", same: \"s == s1\", word: \"'web'\"}",
                                   2, 7);
    levada_block *block = NULL;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_string_equal(levada_block_at(block, 7)->field->name, "k");
    assert_int_equal(levada_block_column(block, "x")->field->dtype, LEVADA_FLOAT64);
    assert_int_equal(levada_block_column(block, "v")->field->dtype, LEVADA_FLOAT64);
    assert_int_equal(levada_block_column(block, "same")->field->dtype, LEVADA_BOOL);
    for (int64_t r = 0; r < levada_block_rows(block); r++) {
        const levada_column *x = levada_block_column(block, "x");
        int64_t              n = levada_column_i64(levada_block_column(block, "k"))[r], size = 0;

        assert_int_equal(levada_column_length(x, r), n);
        for (int64_t i = 0; i < n; i++) {
            double want = ((double)levada_block_origin(block, r).record * 100 + (double)i) / 2;

            assert_true(levada_column_f64(x)[x->level[0].begin[r] + i] == want);
        }
        assert_memory_equal(levada_column_bytes(levada_block_column(block, "word"), r, &size),
                            "web", 3);
        assert_int_equal(size, 3);
    }
    levada_block_unref(&block);
    levada_iter_close(&it);
}

static void refuses_what_has_no_value(void **state)
{
    (void)state;
    t_iter_refused("t_rows:9 | with_columns:{y: \"x + v\"}", LEVADA_EINVALID_ARGUMENT,
                   "got int32 [?] and float32 [2]");
    t_iter_refused("t_rows:9 | with_columns:{y: \"z + 1\"}", LEVADA_EINVALID_ARGUMENT, "len(z)");
    t_iter_refused("t_rows:9 | with_columns:{y: \"s + 1\"}", LEVADA_EINVALID_ARGUMENT,
                   "byte strings cannot be computed");
    t_iter_refused("t_rows:9 | with_columns:{y: \"n + \"}", LEVADA_EINVALID_ARGUMENT, "missing");
    t_iter_refused("t_rows:9 | with_columns:{y: \"u + 1\"}", LEVADA_EINVALID_ARGUMENT,
                   "unknown field 'u'");
    t_iter_refused("t_rows:9 | with_columns:{y: 3}", LEVADA_EINVALID_ARGUMENT,
                   "must be an expression");
    t_iter_refused("range:9 | cast:value,dtype=int8 | with_columns:{y: \"value + 300\"}",
                   LEVADA_EINVALID_ARGUMENT, "300 does not fit in int8");
    t_iter_refused("range:9 | batch:2 | with_columns:{y: \"value\"}", LEVADA_EINVALID_ARGUMENT,
                   "works on records");
}

static void long_expressions_end_somewhere(void **state)
{
    char text[4000] = "range:3 | with_columns:{y: \"";

    (void)state;
    for (int i = 0; i < 200; i++) strcat(text, "(");
    strcat(text, "value\"}");
    t_iter_refused(text, LEVADA_EINVALID_ARGUMENT, "more than 64 levels");
    strcpy(text, "range:3 | with_columns:{y: \"value");
    for (int i = 0; i < 200; i++) strcat(text, " + value");
    strcat(text, "\"}");
    t_iter_refused(text, LEVADA_EINVALID_ARGUMENT, "more than 64 levels");
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:40 | with_columns:{y: \"x * n / 3\", z: \"x == 100\"} | shuffle:9", false,
                 1);
    t_iter_sweep("t_stream:40 | shuffle:7 | with_columns:{y: \"x % 7\"} | batch:4", true, 1);
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
        cmocka_unit_test(computes_numbers),
        cmocka_unit_test(replaces_and_adds_fields),
        cmocka_unit_test(refuses_what_has_no_value),
        cmocka_unit_test(long_expressions_end_somewhere),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, add_functions, NULL);
}
