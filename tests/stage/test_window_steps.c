/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of steps against a model: the values of each window, for columns of every kind.
 */
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const int64_t lengths[] = { 7, 0, 64, 1, 12, 3 };

#define SOURCE "lengths=[7,0,64,1,12,3]"

typedef struct shape {
    int64_t size, shift, stride;
    bool    drop;
} shape;

/* Row `row` of the block is the window of record n that begins at `begin`. */
static void expect_window(const levada_block *block, int64_t row, int64_t n, int64_t begin,
                          int64_t count, int64_t stride, int64_t number)
{
    const levada_column *x = levada_block_column(block, "x");
    const int32_t       *values = levada_column_i32(x) + x->level[0].begin[row];
    levada_origin        origin = levada_block_origin(block, row);

    assert_int_equal(levada_column_i64(levada_block_column(block, "n"))[row], n);
    assert_int_equal(x->level[0].end[row] - x->level[0].begin[row], count);
    for (int64_t t = 0; t < count; t++) {
        assert_int_equal(values[t], n * 100 + begin + t * stride);
    }
    assert_int_equal(origin.record, n);
    assert_int_equal(origin.sub, number);
}

static void expect_windows(levada_iter *it, int64_t records, shape s)
{
    levada_block *block = NULL;
    int64_t       row = 0, lost = 0;

    for (int64_t n = 0; n < records; n++) {
        int64_t length = lengths[n % 6], number = 0;

        for (int64_t begin = 0; begin < length; begin += s.shift) {
            int64_t count = (length - begin - 1) / s.stride + 1;

            if (s.drop && count < s.size) break;
            count = count < s.size ? count : s.size;
            while (!block || row == levada_block_rows(block)) {
                levada_block_unref(&block);
                assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
                row = 0;
            }
            expect_window(block, row++, n, begin, count, s.stride, number++);
        }
        lost += number == 0;
    }
    assert_true(!block || row == levada_block_rows(block));
    levada_block_unref(&block);
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_END);
    assert_int_equal(t_iter_stat(it, "dropped_records"), lost);
}

static void windows_are_those_of_the_model(void **state)
{
    (void)state;
    for (int64_t k = 0; k < 200; k++) {
        shape        s = { 1 + k % 11, 1 + k / 2 % 9, 1 + k % 3, k % 5 < 2 };
        int64_t      records = k * 5 % 38;
        char         text[200];
        levada_iter *it;

        snprintf(text, sizeof text,
                 "t_rows:%d,bare=true," SOURCE " | window_steps:%d,shift=%d,stride=%d,"
                 "drop_remainder=%s", (int)records, (int)s.size, (int)s.shift, (int)s.stride,
                 s.drop ? "true" : "false");
        it = t_iter_open(text, 1 + (int32_t)(k % 3), 1 + (int32_t)(k % 10));
        expect_windows(it, records, s);
        levada_iter_close(&it);
    }
}

/* One record has more windows than a block. */
static void a_long_record_has_many_windows(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:9,bare=true,lengths=[64,0,3] | repeat:8 | window_steps:2,shift=1", false,
                 1);
}

static void columns_of_every_kind_go_on_after_a_restore(void **state)
{
    static const char *const fields[] = { "x", "w", "z", "s" };

    (void)state;
    for (int i = 0; i < 4; i++) {
        for (int stride = 1; stride < 3; stride++) {
            char text[120];

            snprintf(text, sizeof text,
                     "t_rows:20," SOURCE " | window_steps:3,shift=2,stride=%d,fields=%s", stride,
                     fields[i]);
            t_iter_sweep(text, false, 1);
        }
    }
    t_iter_sweep("t_stream:20,bare=true | shuffle:5 | window_steps:3 | batch:4", true, 1);
}

static void uneven_fields_are_bad_records(void **state)
{
    const char  *text = "t_rows:4,lengths=[2,40] | window_steps:2,fields=[x,s]";
    levada_iter *it = t_iter_open(text, 1, 256);
    t_bytes      read = { 0 };

    (void)state;
    (void)t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "the same length");
    levada_iter_close(&it);
    it = t_iter_open_policy(text, "skip", 1, 256);
    t_iter_read(it, -1, false, &read);
    assert_int_equal(t_iter_stat(it, "skipped_records"), 4);
    levada_iter_close(&it);
    t_clear(&read);
}

static void refuses_what_does_not_fit(void **state)
{
    (void)state;
    t_iter_refused("range:9 | window_steps:3", LEVADA_EINVALID_ARGUMENT, "no field is a ragged");
    t_iter_refused("t_rows:9 | window_steps:3,fields=n", LEVADA_EINVALID_ARGUMENT,
                   "'n' must be a sequence");
    t_iter_refused("t_rows:9 | window_steps:3,fields=nn", LEVADA_EINVALID_ARGUMENT, "nn");
    t_iter_refused("t_rows:9 | batch:2 | window_steps:3", LEVADA_EINVALID_ARGUMENT, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_are_those_of_the_model),
        cmocka_unit_test(a_long_record_has_many_windows),
        cmocka_unit_test(columns_of_every_kind_go_on_after_a_restore),
        cmocka_unit_test(uneven_fields_are_bad_records),
        cmocka_unit_test(refuses_what_does_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
