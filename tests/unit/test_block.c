/* SPDX-License-Identifier: Apache-2.0 */
#include "support/blocks.h"
#include <levada/stage.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const int32_t lengths[4] = { 2, 0, 3, 1 };

static void columns_by_name_and_number(void **state)
{
    levada_pool  *pool = test_pool();
    levada_block *block = test_block(pool, lengths, 4, 0);
    const levada_column *n = levada_block_column(block, "n");

    (void)state;
    assert_int_equal(levada_block_rows(block), 4);
    assert_ptr_equal(levada_block_at(block, 1), n);
    assert_null(levada_block_column(block, "q"));
    assert_null(levada_block_at(block, 3));
    assert_null(levada_block_at(block, -1));
    assert_non_null(levada_column_i64(n));
    assert_null(levada_column_i32(n));
    assert_null(levada_column_f32(n));
    assert_null(levada_column_f64(n));
    assert_null(levada_column_u8(n));
    assert_null(levada_column_i64(NULL));
    levada_block_unref(&block);
    levada_pool_unref(&pool);
}

static void bytes_of_rows(void **state)
{
    levada_pool  *pool = test_pool();
    levada_block *block = test_block(pool, lengths, 4, 0);
    const levada_column *s = levada_block_column(block, "s");
    int64_t       size = -7;

    (void)state;
    assert_memory_equal(levada_column_bytes(s, 3, &size), "ddd", 3);
    assert_int_equal(size, 3);
    assert_null(levada_column_bytes(s, 4, &size));
    assert_null(levada_column_bytes(s, -1, &size));
    assert_null(levada_column_bytes(levada_block_column(block, "n"), 0, &size));
    assert_null(levada_column_bytes(NULL, 0, &size));
    levada_block_unref(&block);
    levada_pool_unref(&pool);
}

static void dimensions_and_lengths(void **state)
{
    levada_pool  *pool = test_pool();
    levada_block *block = test_block(pool, lengths, 4, 0);
    const levada_column *x = levada_block_column(block, "x"), *n = levada_block_column(block, "n");

    (void)state;
    assert_int_equal(levada_column_dim(x, 0), 4);
    assert_int_equal(levada_column_dim(x, 1), -1);
    assert_int_equal(levada_column_dim(x, -1), -1);
    assert_int_equal(levada_column_dim(NULL, 0), -1);
    assert_int_equal(levada_column_length(x, 2), 3);
    assert_int_equal(levada_column_length(n, 2), 1);
    levada_block_unref(&block);
    levada_pool_unref(&pool);
}

static void references(void **state)
{
    levada_pool  *pool = test_pool();
    levada_block *block = test_block(pool, lengths, 4, 0), *second = levada_block_ref(block);

    (void)state;
    assert_false(levada_block_exclusive(block));
    levada_block_unref(&second);
    assert_null(second);
    assert_true(levada_block_exclusive(block));
    levada_block_unref(&block);
    levada_block_unref(&block); /* NULL is fine */
    assert_int_equal(levada_pool_used(pool), 0);
    levada_pool_unref(&pool);
}

/* A selection keeps its blocks; a slice keeps the buffers of its block. */
static void what_is_made_of_it_outlives_it(void **state)
{
    levada_pool  *pool = test_pool();
    levada_block *block = test_block(pool, lengths, 4, 0), *chosen = NULL, *part = NULL;
    const int32_t rows[2] = { 3, 2 };

    (void)state;
    assert_int_equal(levada_block_select(block, rows, 2, &chosen, NULL), LEVADA_OK);
    assert_int_equal(levada_block_slice(pool, block, 1, 2, &part, NULL), LEVADA_OK);
    levada_block_unref(&block);
    assert_false(levada_block_exclusive(part));
    assert_int_equal(levada_block_origin(chosen, 0).record, 3);
    levada_block_unref(&chosen);
    assert_true(levada_block_exclusive(part));
    assert_int_equal(levada_column_i64(levada_block_column(part, "n"))[1], 2);
    levada_block_unref(&part);
    assert_int_equal(levada_pool_used(pool), 0);
    levada_pool_unref(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_by_name_and_number),
        cmocka_unit_test(bytes_of_rows),
        cmocka_unit_test(dimensions_and_lengths),
        cmocka_unit_test(references),
        cmocka_unit_test(what_is_made_of_it_outlives_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
