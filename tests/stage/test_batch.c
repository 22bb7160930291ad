/* SPDX-License-Identifier: Apache-2.0 */
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Rows of each block, to the end. */
static void expect_sizes(const char *text, const int64_t *sizes, int64_t n)
{
    for (int32_t rows = 1; rows < 300; rows += 50) {
        levada_iter  *it = t_iter_open(text, 1, rows);
        levada_block *block = NULL;

        for (int64_t i = 0; i < n; i++) {
            assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
            assert_int_equal(levada_block_rows(block), sizes[i]);
            levada_block_unref(&block);
        }
        assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_END);
        assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_END);
        levada_iter_close(&it);
    }
}

static void cuts_into_batches(void **state)
{
    const int64_t some[] = { 4, 4, 2 }, one[] = { 10 }, ones[] = { 1, 1, 1 }, two[] = { 5, 5 };

    (void)state;
    expect_sizes("t_rows:10 | batch:4", some, 3);
    expect_sizes("t_rows:10 | batch:4,drop_remainder=true", some, 2);
    expect_sizes("t_rows:10 | batch:10", one, 1);
    expect_sizes("t_rows:10 | batch:16777216", one, 1);
    expect_sizes("t_rows:10 | batch:11,drop_remainder=true", one, 0);
    expect_sizes("t_rows:10 | batch:5,drop_remainder=true", two, 2);
    expect_sizes("t_rows:3 | batch:1", ones, 3);
    expect_sizes("t_rows:0 | batch:1", ones, 0);
}

static void keeps_order_and_columns(void **state)
{
    t_bytes all = t_iter_all("t_rows:100", false), cut = t_iter_all("t_rows:100 | batch:7", false);

    (void)state;
    t_bytes_equal(all, cut, "batches");
    t_clear(&all);
    t_clear(&cut);
}

/* Ragged columns stay ragged; their offsets are packed and begin at 0 (cu_seqlens). */
static void offsets_are_packed(void **state)
{
    levada_iter  *it = t_iter_open("t_rows:20 | batch:6", 1, 4);
    levada_block *block = NULL;

    (void)state;
    while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
        const levada_level *l = &levada_block_column(block, "x")->level[0];

        assert_ptr_equal(l->end, l->begin + 1);
        assert_int_equal(l->begin[0], 0);
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
}

static void counts_what_it_drops(void **state)
{
    levada_iter *it = t_iter_open("t_rows:10 | batch:4,drop_remainder=true", 1, 256);
    t_bytes      all = { 0 };

    (void)state;
    assert_int_equal(t_iter_read(it, -1, true, &all), 2);
    assert_int_equal(t_iter_stat(it, "dropped_records"), 2);
    assert_int_equal(t_iter_stat(it, "records"), 8);
    assert_int_equal(t_iter_stat(it, "batches"), 2);
    t_clear(&all);
    levada_iter_close(&it);
}

static void goes_on_after_restores(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:50 | batch:4", true, 1);
    t_iter_sweep("t_stream:50 | batch:4", true, 1);
    t_iter_sweep("t_stream:50 | batch:13,drop_remainder=true", true, 1);
    t_iter_sweep("t_stream:50 | batch:3 | unbatch | batch:5", true, 1);
    t_iter_sweep("t_rows:50 | batch:100", true, 1);
    t_iter_sweep("t_rows:50 | batch:4 | prefetch:3", true, 1);
    t_iter_sweep("t_rows:50 | prefetch:2 | batch:4 | prefetch:3 | unbatch | batch:6", true, 1);
    t_iter_sweep("t_stream:50 | shuffle:17 | batch:4", true, 1);
}

static void repeats(void **state)
{
    const int64_t inside[] = { 4, 3, 4, 3 }, outside[] = { 4, 4, 4, 2 };

    (void)state;
    expect_sizes("t_rows:7 | batch:4 | repeat:2", inside, 4);
    expect_sizes("t_rows:7 | repeat:2 | batch:4", outside, 4);
    t_iter_sweep("t_rows:7 | batch:4 | repeat:3", true, 1);
    t_iter_sweep("t_rows:7 | repeat:3 | batch:4", true, 1);
    t_iter_sweep("t_rows:7 | prefetch:2 | repeat:3 | batch:4", true, 1);
    t_iter_sweep("t_stream:7 | prefetch:2 | batch:4 | repeat:3 | unbatch | batch:3", true, 1);
}

static void refuses_bad_options(void **state)
{
    (void)state;
    t_iter_refused("t_rows:3 | batch", LEVADA_EINVALID_ARGUMENT, "batch_size");
    t_iter_refused("t_rows:3 | batch:0", LEVADA_EINVALID_ARGUMENT, "batch_size");
    t_iter_refused("t_rows:3 | batch:-1", LEVADA_EINVALID_ARGUMENT, "batch_size");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_into_batches),
        cmocka_unit_test(keeps_order_and_columns),
        cmocka_unit_test(offsets_are_packed),
        cmocka_unit_test(counts_what_it_drops),
        cmocka_unit_test(goes_on_after_restores),
        cmocka_unit_test(repeats),
        cmocka_unit_test(refuses_bad_options),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
