/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void keeps_items_and_grows_by_doubling(void **state)
{
    int32_t *items = NULL;
    int64_t  capacity = 0, moves = 0;

    (void)state;
    for (int32_t i = 0; i < 1000; i++) {
        int64_t before = capacity;

        assert_true(levada_reserve(&items, &capacity, i + 1, sizeof *items));
        assert_true(capacity > i);
        moves += capacity != before;
        items[i] = i;
    }
    for (int32_t i = 0; i < 1000; i++) assert_int_equal(items[i], i);
    assert_in_range(moves, 1, 10);
    levada_free(items);
}

static void grows_at_once_where_much_is_asked_for(void **state)
{
    uint8_t *items = NULL;
    int64_t  capacity = 0;

    (void)state;
    assert_true(levada_reserve(&items, &capacity, 5000, 1));
    assert_int_equal(capacity, 5000);
    assert_true(levada_reserve(&items, &capacity, 10, 1));
    assert_int_equal(capacity, 5000);
    levada_free(items);
}

static void what_does_not_fit_changes_nothing(void **state)
{
    uint64_t *items = NULL;
    int64_t   capacity = 0;

    (void)state;
    assert_true(levada_reserve(&items, &capacity, 3, sizeof *items));
    uint64_t *before = items;
    int64_t   fits = capacity;
    assert_false(levada_reserve(&items, &capacity, INT64_MAX / 4, sizeof *items));
    assert_false(levada_reserve(&items, &capacity, INT64_MAX, sizeof *items));
    assert_ptr_equal(items, before);
    assert_int_equal(capacity, fits);
    levada_free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_items_and_grows_by_doubling),
        cmocka_unit_test(grows_at_once_where_much_is_asked_for),
        cmocka_unit_test(what_does_not_fit_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
