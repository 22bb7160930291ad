/* SPDX-License-Identifier: Apache-2.0 */
#include "support/blocks.h"
#include "tensor/merge.h"
#include <levada/stage.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define INPUTS 3
#define ROWS 16

static const int32_t lengths[ROWS] = { 3, 0, 1, 2, 5, 1, 0, 4, 2, 2, 1, 0, 7, 1, 1, 3 };

typedef struct fixture {
    levada_pool       *pool;
    levada_merge       merge;
    levada_merge_input inputs[INPUTS];
    levada_block      *blocks[INPUTS]; /* that the inputs are at */
    uint64_t           random;
} fixture;

static uint64_t draw(fixture *f, uint64_t below)
{
    f->random = f->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (f->random >> 33) % below;
}

/* A selection of rows of two blocks, in any order. */
static levada_block *selection(fixture *f, int64_t first)
{
    levada_block  *from[2], *out = NULL;
    levada_buffer *index = NULL;
    uint32_t      *which;

    from[0] = test_block(f->pool, lengths, ROWS, first);
    from[1] = test_block(f->pool, lengths, ROWS, first + ROWS);
    assert_int_equal(levada_buffer_create(f->pool, (int64_t)ROWS * 8, &index, NULL), LEVADA_OK);
    which = (uint32_t *)(void *)index->data;
    for (int i = 0; i < ROWS; i++) {
        which[i] = (uint32_t)draw(f, 2);
        which[ROWS + i] = (uint32_t)draw(f, ROWS);
    }
    assert_int_equal(levada_block_selection(from, 2, which, which + ROWS, ROWS, &index, &out,
                                            NULL), LEVADA_OK);
    return out;
}

static void go_on(fixture *f, int input, int64_t first)
{
    levada_block_unref(&f->blocks[input]);
    f->blocks[input] =
        draw(f, 2) ? selection(f, first) : test_block(f->pool, lengths, ROWS, first);
    assert_int_equal(levada_merge_switch(&f->inputs[input], f->blocks[input], NULL), LEVADA_OK);
}

static int64_t number(const levada_block *block, int64_t i)
{
    int64_t             row;
    const levada_block *data = levada_block_row(block, i, &row);

    return levada_column_i64(levada_block_column(data, "n"))[row];
}

static void close_fixture(fixture *f)
{
    for (int i = 0; i < INPUTS; i++) {
        levada_merge_input_clear(&f->inputs[i]);
        levada_block_unref(&f->blocks[i]);
    }
    levada_merge_clear(&f->merge);
    assert_int_equal(levada_pool_used(f->pool), 0);
    levada_pool_unref(&f->pool);
}

/* Rows of random inputs against a list of what they hold. */
static void rows_are_those_that_were_added(void **state)
{
    fixture f = { .random = 7 };
    int64_t first = 0;

    (void)state;
    f.pool = test_pool();
    for (int i = 0; i < INPUTS; i++) go_on(&f, i, first += 2 * ROWS);
    for (int round = 0; round < 300; round++) {
        int64_t       want[ROWS], n = 1 + (int64_t)draw(&f, ROWS);
        levada_block *out = NULL;

        assert_int_equal(levada_merge_begin(&f.merge, f.pool, n + round % 3, NULL), LEVADA_OK);
        for (int64_t k = 0; k < n; k++) {
            int     input = (int)draw(&f, INPUTS);
            int64_t row;

            if (draw(&f, 5) == 0) go_on(&f, input, first += 2 * ROWS);
            row = (int64_t)draw(&f, ROWS);
            want[k] = number(f.blocks[input], row);
            levada_merge_row(&f.merge, &f.inputs[input], row);
        }
        assert_int_equal(levada_merge_end(&f.merge, &out, NULL), LEVADA_OK);
        assert_int_equal(levada_block_rows(out), n);
        for (int64_t k = 0; k < n; k++) assert_int_equal(number(out, k), want[k]);
        levada_block_unref(&out);
    }
    close_fixture(&f);
}

static void a_block_is_named_once_for_each_input(void **state)
{
    fixture       f = { .random = 1 };
    levada_block *out = NULL;

    (void)state;
    f.pool = test_pool();
    go_on(&f, 0, 0);
    go_on(&f, 1, 100);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(levada_merge_begin(&f.merge, f.pool, 8, NULL), LEVADA_OK);
        for (int k = 0; k < 8; k++) levada_merge_row(&f.merge, &f.inputs[0], 3);
        assert_int_equal(levada_merge_end(&f.merge, &out, NULL), LEVADA_OK);
        assert_int_equal(out->nfrom, 1);
        levada_block_unref(&out);
    }
    close_fixture(&f);
}

/* What was not finished is dropped with its references. */
static void begins_anew(void **state)
{
    fixture       f = { .random = 1 };
    levada_block *out = NULL;

    (void)state;
    f.pool = test_pool();
    go_on(&f, 0, 0);
    assert_int_equal(levada_merge_begin(&f.merge, f.pool, 4, NULL), LEVADA_OK);
    for (int64_t k = 0; k < 4; k++) levada_merge_row(&f.merge, &f.inputs[0], k);
    assert_int_equal(levada_merge_begin(&f.merge, f.pool, 9, NULL), LEVADA_OK);
    levada_merge_row(&f.merge, &f.inputs[0], 9);
    assert_int_equal(levada_merge_end(&f.merge, &out, NULL), LEVADA_OK);
    assert_int_equal(levada_block_rows(out), 1);
    assert_int_equal(number(out, 0), number(f.blocks[0], 9));
    levada_block_unref(&out);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_that_were_added),
        cmocka_unit_test(a_block_is_named_once_for_each_input),
        cmocka_unit_test(begins_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
