/* SPDX-License-Identifier: Apache-2.0 */
/* The queue between an input and its consumer: order, cuts, the end of the stream, and skipping. */
#include "run/inlet.h"
#include "support/blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const int32_t lengths[6] = { 3, 0, 1, 2, 5, 1 };

/* An item with rejects before the rows of these numbers. */
static levada_item rejecting(levada_pool *pool, const int64_t *rows, int32_t n)
{
    levada_item item = { .block = test_block(pool, lengths, 6, 0) };

    for (int32_t i = 0; i < n; i++) {
        const levada_reject reject = { .row = rows[i] };

        assert_int_equal(levada_rejects_add(&item.rejects, &reject, 1, NULL), LEVADA_OK);
    }
    return item;
}

static void expect_rows(const levada_item *item, int64_t first, int64_t n)
{
    assert_int_equal(levada_item_rows(item), n);
    for (int64_t i = 0; i < n; i++) {
        assert_int_equal(levada_column_i64(levada_block_column(item->block, "n"))[i], first + i);
    }
}

static void a_remainder_follows_what_was_returned(void **state)
{
    const int64_t at[4] = { 0, 2, 2, 5 };
    levada_pool  *pool = test_pool();
    levada_inlet  inlet = { .end = LEVADA_OK };
    levada_item   item = rejecting(pool, at, 4), next = { 0 };

    (void)state;
    assert_false(levada_inlet_take(&inlet, &next));
    assert_int_equal(levada_inlet_cut(&inlet, &item, 2, 1, NULL), LEVADA_OK);
    expect_rows(&item, 0, 2);
    assert_int_equal(item.rejects.n, 1);
    assert_false(inlet.returned);
    levada_inlet_return(&inlet, &item);
    assert_null(item.block);
    assert_true(inlet.returned);
    assert_true(levada_inlet_take(&inlet, &next));
    expect_rows(&next, 0, 2);
    levada_item_clear(&next);
    assert_false(inlet.returned);
    assert_true(levada_inlet_take(&inlet, &next));
    expect_rows(&next, 2, 4);
    assert_int_equal(next.rejects.n, 3);
    assert_int_equal(next.rejects.list[0].row, 0);
    assert_int_equal(next.rejects.list[2].row, 3);
    assert_false(levada_inlet_take(&inlet, &item));
    levada_item_clear(&next);
    levada_pool_unref(&pool);
}

static void cuts_at_either_end_lose_nothing(void **state)
{
    const int64_t at[2] = { 0, 6 };
    levada_pool  *pool = test_pool();
    levada_inlet  inlet = { .end = LEVADA_OK };
    levada_item   item = rejecting(pool, at, 2);

    (void)state;
    assert_int_equal(levada_inlet_cut(&inlet, &item, 6, 2, NULL), LEVADA_OK);
    assert_int_equal(inlet.n, 0);
    assert_int_equal(levada_inlet_cut(&inlet, &item, 6, 1, NULL), LEVADA_OK);
    expect_rows(&item, 0, 6);
    assert_int_equal(item.rejects.n, 1);
    expect_rows(&inlet.items[0], 0, 0);
    assert_int_equal(inlet.items[0].rejects.n, 1);
    assert_int_equal(inlet.items[0].rejects.list[0].row, 0);
    levada_inlet_clear(&inlet);
    assert_int_equal(levada_inlet_cut(&inlet, &item, 0, 1, NULL), LEVADA_OK);
    expect_rows(&item, 0, 0);
    assert_int_equal(item.rejects.n, 1);
    expect_rows(&inlet.items[0], 0, 6);
    assert_int_equal(inlet.items[0].rejects.n, 0);
    levada_inlet_clear(&inlet);
    levada_item_clear(&item);
    levada_pool_unref(&pool);
}

static void the_end_follows_the_items_and_is_repeated(void **state)
{
    levada_pool  *pool = test_pool();
    levada_inlet  inlet = { .end = LEVADA_EDATA_LOSS, .why = { .code = LEVADA_EDATA_LOSS } };
    levada_item   item = { .block = test_block(pool, lengths, 6, 0) };
    levada_error  err = LEVADA_ERROR_INIT;

    (void)state;
    levada_inlet_return(&inlet, &item);
    assert_int_equal(levada_inlet_report(&inlet, &err), LEVADA_OK);
    assert_int_equal(inlet.reported, LEVADA_OK);
    assert_true(levada_inlet_take(&inlet, &item));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(levada_inlet_report(&inlet, &err), LEVADA_EDATA_LOSS);
        assert_int_equal(err.code, LEVADA_EDATA_LOSS);
        assert_int_equal(inlet.reported, LEVADA_EDATA_LOSS);
    }
    levada_inlet_clear(&inlet);
    assert_int_equal(levada_inlet_report(&inlet, &err), LEVADA_OK);
    levada_inlet_restore_end(&inlet);
    assert_int_equal(levada_inlet_report(&inlet, NULL), LEVADA_END);
    levada_item_clear(&item);
    levada_pool_unref(&pool);
}

static void skipping_goes_on_in_later_items(void **state)
{
    const int64_t at[3] = { 0, 1, 3 };
    levada_pool  *pool = test_pool();
    levada_inlet  inlet = { .skip_rows = 8, .skip_rejects = 4 };

    (void)state;
    for (int i = 0; i < 3; i++) {
        levada_item item = rejecting(pool, at, 3);

        assert_int_equal(levada_inlet_skip(&inlet, &item, NULL), LEVADA_OK);
        expect_rows(&item, i == 1 ? 2 : 0, i == 0 ? 0 : i == 1 ? 4 : 6);
        assert_int_equal(item.rejects.n, i == 0 ? 0 : i == 1 ? 2 : 3);
        if (i == 1) {
            assert_int_equal(item.rejects.list[0].row, 0);
            assert_int_equal(item.rejects.list[1].row, 1);
        }
        levada_item_clear(&item);
    }
    assert_int_equal(inlet.skip_rows, 0);
    assert_int_equal(inlet.skip_rejects, 0);
    levada_pool_unref(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_remainder_follows_what_was_returned),
        cmocka_unit_test(cuts_at_either_end_lose_nothing),
        cmocka_unit_test(the_end_follows_the_items_and_is_repeated),
        cmocka_unit_test(skipping_goes_on_in_later_items),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
