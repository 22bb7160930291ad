/* SPDX-License-Identifier: Apache-2.0 */
#include "support/blocks.h"
#include <levada/stage.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const int32_t lengths[6] = { 3, 0, 1, 2, 5, 1 };

static void expect_row(const levada_block *block, int64_t row, int64_t is)
{
    const levada_column *x = levada_block_column(block, "x"), *s = levada_block_column(block, "s");
    int64_t              size = -1;

    assert_int_equal(levada_column_i64(levada_block_column(block, "n"))[row], is);
    assert_int_equal(levada_column_length(x, row), lengths[is]);
    for (int32_t k = x->level[0].begin[row]; k < x->level[0].end[row]; k++) {
        assert_int_equal(levada_column_i64(x)[k], is);
    }
    assert_non_null(levada_column_bytes(s, row, &size));
    assert_int_equal(size, is % 5);
}

static void a_selection_of_a_selection_names_the_first_blocks(void **state)
{
    levada_pool   *pool = test_pool();
    levada_block  *block = test_block(pool, lengths, 6, 0), *a = NULL, *b = NULL, *flat = NULL;
    const int32_t  some[4] = { 5, 3, 3, 0 }, fewer[2] = { 3, 1 };

    (void)state;
    assert_int_equal(levada_block_select(block, some, 4, &a, NULL), LEVADA_OK);
    assert_int_equal(levada_block_select(a, fewer, 2, &b, NULL), LEVADA_OK);
    assert_ptr_equal(b->from[0], block);
    assert_null(levada_block_column(b, "n"));
    assert_int_equal(levada_block_gather(pool, b, &flat, NULL), LEVADA_OK);
    expect_row(flat, 0, 0);
    expect_row(flat, 1, 3);
    assert_int_equal(levada_block_origin(flat, 1).record, 3);
    levada_block_unref(&flat);
    levada_block_unref(&b);
    levada_block_unref(&a);
    levada_block_unref(&block);
    levada_pool_unref(&pool);
}

static void a_slice_shares_and_keeps_origins(void **state)
{
    levada_pool  *pool = test_pool();
    levada_block *block = test_block(pool, lengths, 6, 0), *part = NULL, *whole = NULL;

    (void)state;
    block->origins.first.record = 100;
    assert_int_equal(levada_block_slice(pool, block, 2, 3, &part, NULL), LEVADA_OK);
    assert_int_equal(levada_block_rows(part), 3);
    for (int64_t i = 0; i < 3; i++) expect_row(part, i, i + 2);
    assert_int_equal(levada_block_origin(part, 1).record, 103);
    assert_ptr_equal(part->columns[0].values, block->columns[0].values);
    assert_int_equal(levada_block_slice(pool, block, 0, 6, &whole, NULL), LEVADA_OK);
    assert_ptr_equal(whole, block);
    assert_false(levada_block_exclusive(block));
    levada_block_unref(&whole);
    assert_false(levada_block_exclusive(block)); /* the slice shares its values */
    assert_false(levada_block_exclusive(part));
    levada_block_unref(&part);
    assert_true(levada_block_exclusive(block));
    levada_block_unref(&block);
    levada_pool_unref(&pool);
}

static void a_slice_of_a_selection_is_one(void **state)
{
    levada_pool  *pool = test_pool();
    levada_block *block = test_block(pool, lengths, 6, 0), *a = NULL, *part = NULL, *flat = NULL;
    const int32_t some[4] = { 5, 3, 2, 0 };

    (void)state;
    assert_int_equal(levada_block_select(block, some, 4, &a, NULL), LEVADA_OK);
    assert_int_equal(levada_block_slice(pool, a, 1, 2, &part, NULL), LEVADA_OK);
    levada_block_unref(&a);
    assert_int_equal(levada_block_gather(pool, part, &flat, NULL), LEVADA_OK);
    expect_row(flat, 0, 3);
    expect_row(flat, 1, 2);
    levada_block_unref(&flat);
    levada_block_unref(&part);
    levada_block_unref(&block);
    levada_pool_unref(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_selection_of_a_selection_names_the_first_blocks),
        cmocka_unit_test(a_slice_shares_and_keeps_origins),
        cmocka_unit_test(a_slice_of_a_selection_is_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
