/* SPDX-License-Identifier: Apache-2.0 */
#include "support/blocks.h"
#include <levada/stage.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void copies_nested_rows(void **state)
{
    const int32_t  outer[3] = { 2, 0, 3 }, inner[5] = { 1, 2, 0, 3, 1 }, rows[4] = { 2, 1, 0, 2 };
    levada_pool   *pool = test_pool();
    levada_block  *block = test_nested(pool, outer, 3, inner), *chosen = NULL, *flat = NULL;
    const levada_column *c;
    /* values: row 0 = [[0], [1, 2]], row 1 = [], row 2 = [[], [3, 4, 5], [6]] */
    const int32_t want_outer[5] = { 0, 3, 3, 5, 8 };
    const int32_t want_inner[9] = { 0, 0, 3, 4, 5, 7, 7, 10, 11 };
    const int32_t want[11] = { 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6 };

    (void)state;
    assert_int_equal(levada_block_select(block, rows, 4, &chosen, NULL), LEVADA_OK);
    assert_int_equal(levada_block_gather(pool, chosen, &flat, NULL), LEVADA_OK);
    c = levada_block_column(flat, "w");
    assert_memory_equal(c->level[0].begin, want_outer, sizeof want_outer);
    assert_memory_equal(c->level[1].begin, want_inner, sizeof want_inner);
    assert_memory_equal(c->values, want, sizeof want);
    levada_block_unref(&flat);
    levada_block_unref(&chosen);
    levada_block_unref(&block);
    levada_pool_unref(&pool);
}

static void refuses_rows_of_different_shapes(void **state)
{
    levada_field    field = { .name = "v", .dtype = LEVADA_INT32, .ndim = 1, .dims = { -1 } };
    levada_pool    *pool = test_pool();
    levada_spec    *spec = NULL;
    levada_block   *from[2], *both = NULL, *flat = NULL;
    levada_buffer  *index = NULL;
    levada_error    err = LEVADA_ERROR_INIT;
    const uint32_t  which[2] = { 0, 1 }, row[2] = { 0, 0 };

    (void)state;
    assert_int_equal(levada_spec_create(&field, 1, 0, &spec, NULL), LEVADA_OK);
    for (int64_t i = 0; i < 2; i++) {
        levada_builder *b = NULL;
        int64_t         dims[1] = { i + 1 };
        void           *values;

        assert_int_equal(levada_builder_make(pool, spec, 1, &b, NULL), LEVADA_OK);
        levada_builder_dims(b, 0, dims);
        assert_int_equal(levada_builder_values(b, 0, i + 1, &values, NULL), LEVADA_OK);
        memset(values, 0, (size_t)(i + 1) * 4);
        assert_int_equal(levada_builder_publish(&b, &from[i], NULL), LEVADA_OK);
    }
    assert_int_equal(levada_block_selection(from, 2, which, row, 2, &index, &both, NULL),
                     LEVADA_OK);
    assert_int_equal(levada_block_gather(pool, both, &flat, &err), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "'v'"));
    levada_block_unref(&both);
    levada_spec_unref(&spec);
    levada_pool_unref(&pool);
}

#define ROWS 40

/* A selection of rows [first, ROWS) of a block whose values `seen` points to; `held` gets a
 * reference to the block if it is not NULL. */
static levada_block *chosen_from(levada_pool *pool, int32_t first, bool back,
                                 const uint8_t *seen[3], levada_block **held)
{
    int32_t       lengths[ROWS], rows[ROWS];
    levada_block *block, *chosen = NULL;

    for (int32_t i = 0; i < ROWS; i++) {
        lengths[i] = i % 4;
        rows[i] = back ? ROWS - 1 - i : first + i;
    }
    block = test_block(pool, lengths, ROWS, 7);
    for (int32_t i = 0; i < 3; i++) seen[i] = block->columns[i].values;
    assert_int_equal(levada_block_select(block, rows, ROWS - first, &chosen, NULL), LEVADA_OK);
    if (held) *held = levada_block_ref(block);
    levada_block_unref(&block);
    return chosen;
}

/* Gathers and drops the selection; checks the values of `n`, from `first` on by `step`. */
static levada_block *gathered(levada_pool *pool, levada_block **chosen, int64_t first, int64_t step)
{
    levada_block *flat = NULL;

    assert_int_equal(levada_block_gather(pool, *chosen, &flat, NULL), LEVADA_OK);
    levada_block_unref(chosen);
    for (int64_t i = 0; i < flat->n; i++) {
        int64_t value = first + i * step, size = -1;

        assert_int_equal(levada_column_i64(levada_block_at(flat, 1))[i], value);
        (void)levada_column_bytes(levada_block_at(flat, 2), i, &size);
        assert_int_equal(size, value % 5);
        assert_int_equal(levada_column_length(levada_block_at(flat, 0), i), (value - 7) % 4);
    }
    return flat;
}

static void passes_columns_of_a_whole_block_on(void **state)
{
    levada_pool   *pool = test_pool();
    const uint8_t *seen[3];
    levada_block  *chosen = chosen_from(pool, 0, false, seen, NULL), *flat;

    (void)state;
    flat = gathered(pool, &chosen, 7, 1);
    for (int32_t i = 0; i < 3; i++) assert_ptr_equal(flat->columns[i].values, seen[i]);
    assert_true(levada_block_exclusive(flat));
    assert_true(levada_block_bytes(flat) >= ROWS * 8);
    levada_block_unref(&flat);
    levada_pool_unref(&pool);
}

static void copies_what_somebody_else_has(void **state)
{
    levada_pool   *pool = test_pool();
    const uint8_t *seen[3];
    levada_block  *held = NULL, *chosen = chosen_from(pool, 0, false, seen, &held), *flat;

    (void)state;
    flat = gathered(pool, &chosen, 7, 1);
    for (int32_t i = 0; i < 3; i++) assert_ptr_not_equal(flat->columns[i].values, seen[i]);
    assert_true(levada_block_exclusive(flat));
    levada_block_unref(&held);
    levada_block_unref(&flat);
    levada_pool_unref(&pool);
}

static void copies_parts_and_other_orders(void **state)
{
    levada_pool   *pool = test_pool();
    const uint8_t *seen[3];
    levada_block  *part = chosen_from(pool, 8, false, seen, NULL), *flat;

    (void)state;
    flat = gathered(pool, &part, 15, 1);
    assert_ptr_not_equal(flat->columns[1].values, seen[1]);
    assert_int_equal(flat->columns[0].level[0].begin[0], 0);
    levada_block_unref(&flat);
    part = chosen_from(pool, 0, true, seen, NULL);
    flat = gathered(pool, &part, 7 + ROWS - 1, -1);
    assert_ptr_not_equal(flat->columns[1].values, seen[1]);
    levada_block_unref(&flat);
    levada_pool_unref(&pool);
}

/* A slice of a block that is gone would keep the memory of all its rows. */
static void copies_a_small_part_of_a_large_buffer(void **state)
{
    levada_field    field = { .name = "v", .dtype = LEVADA_INT64, .ndim = 1, .dims = { 1024 } };
    const int32_t   rows[2] = { 0, 1 };
    levada_pool    *pool = test_pool();
    levada_spec    *spec = NULL;
    levada_builder *b = NULL;
    levada_block   *block = NULL, *part = NULL, *chosen = NULL, *flat = NULL;
    void           *values = NULL;

    (void)state;
    assert_int_equal(levada_spec_create(&field, 1, 0, &spec, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_make(pool, spec, 64, &b, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_values(b, 0, 64 * 1024, &values, NULL), LEVADA_OK);
    memset(values, 1, (size_t)64 * 1024 * 8);
    assert_int_equal(levada_builder_publish(&b, &block, NULL), LEVADA_OK);
    assert_int_equal(levada_block_slice(pool, block, 0, 2, &part, NULL), LEVADA_OK);
    levada_block_unref(&block);
    assert_int_equal(levada_block_select(part, rows, 2, &chosen, NULL), LEVADA_OK);
    levada_block_unref(&part);
    assert_int_equal(levada_block_gather(pool, chosen, &flat, NULL), LEVADA_OK);
    assert_ptr_not_equal(flat->columns[0].values, values);
    assert_memory_equal(flat->columns[0].values, values, (size_t)2 * 1024 * 8);
    levada_block_unref(&chosen);
    levada_block_unref(&flat);
    levada_spec_unref(&spec);
    levada_pool_unref(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_nested_rows),
        cmocka_unit_test(passes_columns_of_a_whole_block_on),
        cmocka_unit_test(copies_what_somebody_else_has),
        cmocka_unit_test(copies_parts_and_other_orders),
        cmocka_unit_test(copies_a_small_part_of_a_large_buffer),
        cmocka_unit_test(refuses_rows_of_different_shapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
