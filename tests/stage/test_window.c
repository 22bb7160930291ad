/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of records against a model: which records share a batch, for windows that overlap, touch
 * and leave gaps; what is dropped; and the same rest from a state saved at each cut.
 */
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Expects the windows of records 0 ... n - 1; returns how many of them are in no window. */
static int64_t expect_windows(levada_iter *it, int64_t n, int64_t size, int64_t shift,
                              int64_t stride, bool drop)
{
    levada_block *block = NULL;
    int64_t       covered = 0;

    for (int64_t first = 0; first < n; first += shift) {
        int64_t rows = (n - first - 1) / stride + 1, span = (size - 1) * stride + 1;
        const int64_t *values;

        if (rows < size && drop) continue;
        rows = rows < size ? rows : size;
        assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
        assert_int_equal(levada_block_rows(block), rows);
        values = levada_column_i64(levada_block_column(block, "n"));
        for (int64_t i = 0; i < rows; i++) assert_int_equal(values[i], first + i * stride);
        covered = first + span;
        levada_block_unref(&block);
    }
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_END);
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_END);
    return n > covered ? n - covered : 0;
}

static void windows_are_those_of_the_model(void **state)
{
    (void)state;
    for (int64_t k = 0; k < 300; k++) {
        int64_t      n = k * 7 % 41, size = 1 + k % 9, shift = 1 + k / 3 % 12, stride = 1 + k % 4;
        bool         drop = k % 2;
        char         text[200];
        levada_iter *it;
        int64_t      lost;

        snprintf(text, sizeof text,
                 "t_rows:%d | window:%d,shift=%d,stride=%d,drop_remainder=%s", (int)n, (int)size,
                 (int)shift, (int)stride, drop ? "true" : "false");
        it = t_iter_open(text, 1 + (int32_t)(k % 3), 1 + (int32_t)(k % 10));
        lost = expect_windows(it, n, size, shift, stride, drop);
        if (drop && stride == 1 && shift <= size) {
            assert_int_equal(t_iter_stat(it, "dropped_records"), lost);
        }
        levada_iter_close(&it);
    }
}

static void windows_touch_without_a_shift(void **state)
{
    levada_iter *it = t_iter_open("range:10 | rename:{value:n} | window:4", 1, 3);

    (void)state;
    (void)expect_windows(it, 10, 4, 4, 1, false);
    levada_iter_close(&it);
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:60 | window:7,shift=3,stride=2", true, 1);
    t_iter_sweep("t_rows:60 | window:2,shift=9", true, 1);
    t_iter_sweep("t_stream:60 | shuffle:8 | window:5,shift=2,padded=true", true, 1);
    t_iter_sweep("t_rows:23 | window:5,shift=2,drop_remainder=true | unbatch | batch:3", true, 1);
}

static void refuses_what_does_not_fit(void **state)
{
    (void)state;
    t_iter_refused("range:9 | window:0", LEVADA_EINVALID_ARGUMENT, "size");
    t_iter_refused("range:9 | window:3,shift=0", LEVADA_EINVALID_ARGUMENT, "shift");
    t_iter_refused("range:9 | window:3,stride=0", LEVADA_EINVALID_ARGUMENT, "stride");
    t_iter_refused("range:9 | window:16777216,stride=16777216", LEVADA_EINVALID_ARGUMENT,
                   "2^31 records");
    t_iter_refused("range:9 | batch:2 | window:3", LEVADA_EINVALID_ARGUMENT, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_are_those_of_the_model),
        cmocka_unit_test(windows_touch_without_a_shift),
        cmocka_unit_test(goes_on_after_a_restore),
        cmocka_unit_test(refuses_what_does_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
