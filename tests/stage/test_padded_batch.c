/* SPDX-License-Identifier: Apache-2.0 */
#include "support/iters.h"
#include <levada/views.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Rows and padded widths of x of each batch, to the end. */
static void expect_shapes(const char *text, const int64_t (*shapes)[2], int64_t n)
{
    levada_iter  *it = t_iter_open(text, 1, 7);
    levada_block *block = NULL;

    for (int64_t i = 0; i < n; i++) {
        assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
        assert_int_equal(levada_block_rows(block), shapes[i][0]);
        assert_int_equal(levada_column_dim(levada_block_column(block, "x"), 1), shapes[i][1]);
        levada_block_unref(&block);
    }
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_END);
    levada_iter_close(&it);
}

static void pads_to_the_longest_of_the_batch(void **state)
{
    const int64_t some[3][2] = { { 3, 4 }, { 3, 9 }, { 1, 2 } },
                  eight[3][2] = { { 3, 8 }, { 3, 16 } };
    const int64_t empty[1][2] = { { 5, 0 } }, given[3][2] = { { 3, 10 }, { 3, 10 }, { 1, 10 } };

    (void)state;
    expect_shapes("t_rows:7,lengths=[1,4,0,9,3,3,2] | padded_batch:3", some, 3);
    expect_shapes("t_rows:7,lengths=[1,4,0,9,3,3,2] | "
                  "padded_batch:3,pad_to_multiple=8,drop_remainder=true",
                  eight, 2);
    expect_shapes("t_rows:5,lengths=[0] | padded_batch:9", empty, 1);
    expect_shapes("t_rows:7,lengths=[1,4,0,9,3,3,2] | padded_batch:3,padded_shapes={x:[10]}", given,
                  3);
    expect_shapes("t_rows:7,lengths=[1,4,0,9,3,3,2] | "
                  "padded_batch:3,padded_shapes={x:[null]},pad_to_multiple=2,drop_remainder=true",
                  (const int64_t[2][2]){ { 3, 4 }, { 3, 10 } }, 2);
    expect_shapes("t_rows:0 | padded_batch:3", NULL, 0);
}

static void fills_with_the_padding_value(void **state)
{
    levada_iter *it =
        t_iter_open("t_rows:3,lengths=[1,3,2] | padded_batch:3,padding_values={x:-1,z:7,"
                    "v:2.5,w:none},padded_shapes={v:[3]}",
                    1, 256);
    const int32_t x[9] = { 0, -1, -1, 100, 101, 102, 200, 201, -1 };
    const int16_t z[18] = { 7, 7, 7, 7, 7, 7, 1, 7, 7, 7, 7, 7, 2, 3, 7, 4, 5, 6 };
    const float   v[9] = { 0, 0, 2.5f, .25f, -1, 2.5f, .5f, -2, 2.5f };
    levada_block *block = NULL;
    const levada_column *c;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_memory_equal(levada_block_column(block, "x")->values, x, sizeof x);
    c = levada_block_column(block, "z");
    assert_int_equal(levada_column_dim(c, 1), 2);
    assert_int_equal(levada_column_dim(c, 2), 3);
    assert_memory_equal(c->values, z, sizeof z);
    assert_memory_equal(levada_block_column(block, "v")->values, v, sizeof v);
    c = levada_block_column(block, "w");
    assert_int_equal(levada_column_dim(c, 1), 2);
    assert_memory_equal(c->values + c->level[0].begin[0], "none", 4);
    assert_int_equal(c->lengths[2], 2);
    levada_block_unref(&block);
    levada_iter_close(&it);
}

static void a_shape_that_is_too_small_is_data_loss(void **state)
{
    levada_iter *it =
        t_iter_open("t_rows:9,lengths=[3,2,5] | padded_batch:2,padded_shapes={x:[4]}", 1, 256);

    (void)state;
    assert_int_equal(t_iter_fails(it, LEVADA_EDATA_LOSS, "smaller size than the input element"), 2);
    levada_iter_close(&it);
    it = t_iter_open("t_rows:9 | padded_batch:2,padded_shapes={v:[1]}", 2, 256);
    assert_int_equal(t_iter_fails(it, LEVADA_EDATA_LOSS, "'v'"), 0);
    levada_iter_close(&it);
}

static void errors_name_the_record(void **state)
{
    levada_iter *it =
        t_iter_open("t_rows:9,lengths=[3,2,5] | shuffle:4 | padded_batch:9,padded_shapes={x:[4]}",
                    1, 4);
    levada_error  err = LEVADA_ERROR_INIT;
    levada_block *block = NULL;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, &err), LEVADA_EDATA_LOSS);
    assert_true(err.record >= 0 && err.record % 3 == 2); /* the first of them in that order */
    levada_iter_close(&it);
    it = t_iter_open("t_rows:9,lengths=[3,2,5] | padded_batch:9,padded_shapes={x:[4]}", 3, 2);
    t_iter_fails_at(it, LEVADA_EDATA_LOSS, "", 2, -1);
    levada_iter_close(&it);
}

/* Payload over all elements of the columns that are padded. */
static void counts_its_padding(void **state)
{
    levada_iter *it = t_iter_open("t_rows:2,lengths=[1,3],bare=true | padded_batch:2", 1, 256);
    char        *json = NULL;
    t_bytes      all = { 0 };

    (void)state;
    (void)t_iter_read(it, -1, true, &all);
    assert_int_equal(levada_iter_stats(it, &json, NULL), LEVADA_OK);
    assert_non_null(strstr(json, "\"padding_fraction\":0.333333"));
    levada_string_free(&json);
    t_clear(&all);
    levada_iter_close(&it);
}

static void goes_on_after_restores(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:50 | padded_batch:4", true, 1);
    t_iter_sweep("t_stream:50 | padded_batch:4,pad_to_multiple=8", true, 1);
    t_iter_sweep("t_stream:50 | shuffle:20 | padded_batch:6,drop_remainder=true | prefetch:2", true,
                 1);
    t_iter_sweep("t_stream:9 | padded_batch:4 | repeat:3", true, 1);
}

static void refuses_bad_options(void **state)
{
    (void)state;
    t_iter_refused("t_rows:3 | padded_batch", LEVADA_EINVALID_ARGUMENT, "batch_size");
    t_iter_refused("t_rows:3 | padded_batch:0", LEVADA_EINVALID_ARGUMENT, "batch_size");
    t_iter_refused("t_rows:3 | padded_batch:3,pad_to_multiple=0", LEVADA_EINVALID_ARGUMENT,
                   "pad_to_multiple");
    t_iter_refused("t_rows:3 | padded_batch:3,padded_shapes={y:[3]}", LEVADA_EINVALID_ARGUMENT,
                   "padded_shapes: unknown field 'y'; available: ");
    t_iter_refused("t_rows:3 | padded_batch:3,padded_shapes={x:3}", LEVADA_EINVALID_ARGUMENT,
                   "must be a list of lengths");
    t_iter_refused("t_rows:3 | padded_batch:3,padded_shapes={x:[a]}", LEVADA_EINVALID_ARGUMENT,
                   "must hold lengths or null");
    t_iter_refused("t_rows:3 | padded_batch:3,padded_shapes={z:[1]}", LEVADA_EINVALID_ARGUMENT,
                   "same rank");
    t_iter_refused("t_rows:3 | padded_batch:3,padding_values={y:1}", LEVADA_EINVALID_ARGUMENT,
                   "padding_values: unknown field 'y'; available: ");
    t_iter_refused("t_rows:3 | padded_batch:3,padding_values={x:3000000000}",
                   LEVADA_EINVALID_ARGUMENT, "'x'");
    t_iter_refused("t_rows:3 | padded_batch:3,padding_values={z:32768}", LEVADA_EINVALID_ARGUMENT,
                   "'z'");
    t_iter_refused("t_rows:3 | padded_batch:3,padding_values={z:1.5}", LEVADA_EINVALID_ARGUMENT,
                   "'z'");
    t_iter_refused("t_rows:3 | padded_batch:3,padding_values={w:1}", LEVADA_EINVALID_ARGUMENT,
                   "'w' must be a string");
}

static void padding_may_precede_the_values(void **state)
{
    static const char *const stages[] = {
        "padded_batch:2,padding_side=left",
        "group_by_window:\"n // 2\",window_size=2,padded=true,padding_side=left",
        "window:2,padded=true,padding_side=left",
        "bucket_by_sequence_length:x,boundaries=[],batch_sizes=2,padding_side=left",
    };
    const int32_t want[] = { 0, 0, 0, 100, 101, 102 };
    const uint8_t mask[] = { 0, 0, 1, 1, 1, 1 };
    const int32_t positions[] = { 0, 0, 0, 0, 1, 2 };
    t_bytes       one, other;

    (void)state;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        levada_batch_sizes sizes = LEVADA_BATCH_SIZES_INIT;
        levada_block      *batch = NULL;
        levada_iter       *it;
        char               text[200];
        uint8_t            got[6];
        int32_t            at[6];

        (void)snprintf(text, sizeof text, "t_rows:4,lengths=[1,3] | %s", stages[i]);
        it = t_iter_open(text, 1, 256);
        assert_int_equal(levada_iter_next(it, &batch, NULL), LEVADA_OK);
        assert_memory_equal(levada_column_i32(levada_block_column(batch, "x")), want, sizeof want);
        assert_int_equal(levada_batch_mask(batch, "x", false, got, NULL), LEVADA_OK);
        assert_memory_equal(got, mask, sizeof mask);
        assert_int_equal(levada_batch_positions(batch, "x", at, NULL), LEVADA_OK);
        assert_memory_equal(at, positions, sizeof positions);
        assert_int_equal(levada_batch_measure(batch, "x", &sizes, NULL), LEVADA_OK);
        assert_true(sizes.left);
        levada_block_unref(&batch);
        levada_iter_close(&it);
    }
    t_iter_sweep("t_stream:30 | padded_batch:4,padding_side=left | prefetch:2", true, 1);
    one = t_iter_all("t_rows:30,bare=true | padded_batch:4,padding_side=left | unbatch", false);
    other = t_iter_all("t_rows:30,bare=true", false);
    t_bytes_equal(one, other, "records out of batches");
    free(one.at);
    free(other.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pads_to_the_longest_of_the_batch),
        cmocka_unit_test(fills_with_the_padding_value),
        cmocka_unit_test(a_shape_that_is_too_small_is_data_loss),
        cmocka_unit_test(errors_name_the_record),
        cmocka_unit_test(counts_its_padding),
        cmocka_unit_test(goes_on_after_restores),
        cmocka_unit_test(padding_may_precede_the_values),
        cmocka_unit_test(refuses_bad_options),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
