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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_nested_rows),
        cmocka_unit_test(refuses_rows_of_different_shapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
