/* SPDX-License-Identifier: Apache-2.0 */
#include "support/iters.h"
#include <levada/views.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static levada_block *first(const char *text)
{
    levada_iter  *it = t_iter_open(text, 1, 256);
    levada_block *batch = NULL;

    assert_int_equal(levada_iter_next(it, &batch, NULL), LEVADA_OK);
    levada_iter_close(&it);
    return batch;
}

static levada_batch_sizes sizes_of(const levada_block *batch, const char *field)
{
    levada_batch_sizes s = LEVADA_BATCH_SIZES_INIT;

    assert_int_equal(levada_batch_measure(batch, field, &s, NULL), LEVADA_OK);
    return s;
}

typedef levada_status (*view)(const levada_block *batch, const char *field, int32_t *to,
                              levada_error *err);

static void expect_view(view fill, const levada_block *batch, const char *field,
                        const int32_t *want, size_t size)
{
    int32_t got[64];

    memset(got, 0x5a, sizeof got);
    assert_int_equal(fill(batch, field, got, NULL), LEVADA_OK);
    assert_memory_equal(got, want, size);
    assert_int_equal(got[size / sizeof *got], 0x5a5a5a5a); /* and no more */
}

static void expect_mask(const levada_block *batch, const char *field, bool left, const char *want)
{
    uint8_t got[64] = { 0 };
    size_t  n = strlen(want);

    assert_int_equal(levada_batch_mask(batch, field, left, got, NULL), LEVADA_OK);
    for (size_t i = 0; i < n; i++) assert_int_equal(got[i], want[i] - '0');
}

#define EXPECT_VIEW(fill, batch, ...)                                          \
    do {                                                                       \
        const int32_t want[] = { __VA_ARGS__ };                                \
        expect_view(fill, batch, "x", want, sizeof want);                      \
    } while (0)

static void a_padded_column_has_a_sequence_in_each_row(void **state)
{
    levada_block      *batch = first("t_rows:3,lengths=[2,0,3] | padded_batch:3");
    levada_batch_sizes s = sizes_of(batch, "x");

    (void)state;
    assert_true(s.padded && !s.packed && s.rows == 3 && s.sequences == 3 && s.steps == 5);
    assert_true(s.width == 3 && s.elements == 9 && s.longest == 3);
    EXPECT_VIEW(levada_batch_cu_seqlens, batch, 0, 2, 2, 5);
    EXPECT_VIEW(levada_batch_positions, batch, 0, 1, 0, 0, 0, 0, 0, 1, 2);
    EXPECT_VIEW(levada_batch_segment_ids, batch, 1, 1, 0, 0, 0, 0, 1, 1, 1);
    expect_mask(batch, "x", false, "110000111");
    levada_block_unref(&batch);
}

static void a_ragged_column_counts_its_rows(void **state)
{
    levada_block      *batch = first("t_rows:3,lengths=[2,0,3] | batch:3");
    levada_batch_sizes s = sizes_of(batch, "x");

    (void)state;
    assert_true(!s.padded && s.sequences == 3 && s.steps == 5 && s.elements == 5 && s.width == 3);
    EXPECT_VIEW(levada_batch_cu_seqlens, batch, 0, 2, 2, 5);
    EXPECT_VIEW(levada_batch_positions, batch, 0, 1, 0, 1, 2);
    EXPECT_VIEW(levada_batch_segment_ids, batch, 1, 1, 3, 3, 3);
    expect_mask(batch, "x", false, "110000111");
    expect_mask(batch, "x", true, "011000111");
    levada_block_unref(&batch);
}

static void segments_of_a_packed_column_are_sequences(void **state)
{
    const char   *text = "t_rows:4,lengths=[2,3,4,1] | select:[n,x] | pack:5,open_bins=2 | ";
    char          padded[120], ragged[120];
    levada_block *batch;

    (void)state;
    (void)snprintf(padded, sizeof padded, "%s padded_batch:3,pad_to_multiple=6", text);
    (void)snprintf(ragged, sizeof ragged, "%s batch:3", text);
    batch = first(padded);
    assert_true(sizes_of(batch, "x").packed);
    assert_int_equal(sizes_of(batch, "x").longest, 4);
    EXPECT_VIEW(levada_batch_cu_seqlens, batch, 0, 2, 5, 9, 10);
    EXPECT_VIEW(levada_batch_positions, batch, 0, 1, 0, 1, 2, 0, 0, 1, 2, 3, 0, 0);
    EXPECT_VIEW(levada_batch_segment_ids, batch, 1, 1, 2, 2, 2, 0, 1, 1, 1, 1, 2, 0);
    expect_mask(batch, "x", false, "111110111110");
    levada_block_unref(&batch);
    batch = first(ragged);
    EXPECT_VIEW(levada_batch_cu_seqlens, batch, 0, 2, 5, 9, 10);
    EXPECT_VIEW(levada_batch_positions, batch, 0, 1, 0, 1, 2, 0, 1, 2, 3, 0);
    EXPECT_VIEW(levada_batch_segment_ids, batch, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4);
    levada_block_unref(&batch);
}

static void segments_are_found_behind_padding_on_the_left(void **state)
{
    levada_block *batch = first("t_rows:5,lengths=[2,3,4,1,1] | select:[n,x] | "
                                "pack:6,fields=x,open_bins=1 | "
                                "padded_batch:3,pad_to_multiple=6,padding_side=left");

    (void)state;
    assert_true(sizes_of(batch, "x").packed && sizes_of(batch, "x").left);
    EXPECT_VIEW(levada_batch_cu_seqlens, batch, 0, 2, 5, 9, 10, 11);
    EXPECT_VIEW(levada_batch_positions, batch, 0, 0, 1, 0, 1, 2, 0, 1, 2, 3, 0, 0);
    EXPECT_VIEW(levada_batch_segment_ids, batch, 0, 1, 1, 2, 2, 2, 1, 1, 1, 1, 2, 3);
    expect_mask(batch, "x", true, "011111111111");
    levada_block_unref(&batch);
}

static void pads_a_ragged_column_on_either_side(void **state)
{
    const int32_t        minus = -1, left[6] = { -1, 0, 1, 100, 101, 102 };
    const int32_t        right[8] = { 0, 1, 0, 0, 100, 101, 102, 0 };
    levada_batch_padding how = LEVADA_BATCH_PADDING_INIT;
    levada_block        *batch = first("t_rows:2,lengths=[2,3] | batch:2"), *made = NULL;
    levada_error         err = LEVADA_ERROR_INIT;

    (void)state;
    how.left = true;
    how.value = &minus;
    assert_int_equal(levada_batch_pad(t_iter_env(), batch, "x", &how, &made, NULL), LEVADA_OK);
    assert_memory_equal(levada_block_at(made, 0)->values, left, sizeof left);
    assert_int_equal(levada_block_at(made, 0)->lengths[0], 2);
    levada_block_unref(&made);
    levada_batch_padding_init(&how, sizeof how);
    how.multiple = 4;
    assert_int_equal(levada_batch_pad(t_iter_env(), batch, "x", &how, &made, NULL), LEVADA_OK);
    assert_memory_equal(levada_block_at(made, 0)->values, right, sizeof right);
    levada_block_unref(&made);
    how.width = 2;
    assert_int_equal(levada_batch_pad(t_iter_env(), batch, "x", &how, &made, &err),
                     LEVADA_EDATA_LOSS);
    levada_error_clear(&err);
    assert_int_equal(levada_batch_pad(t_iter_env(), batch, "v", &how, &made, &err),
                     LEVADA_EINVALID_ARGUMENT);
    levada_error_clear(&err);
    levada_block_unref(&batch);
}

static void what_does_not_fit_is_refused(void **state)
{
    levada_block *batch = first("t_rows:2,lengths=[2,3] | select:[n,x,z] | "
                                "rename:{x:y,z:w,n:y_segment_lengths} | batch:2");
    levada_block *padded = first("t_rows:2,lengths=[2,3] | padded_batch:2");
    levada_batch_sizes s = LEVADA_BATCH_SIZES_INIT;
    levada_error       err = LEVADA_ERROR_INIT;
    uint8_t            mask[16];

    (void)state;
    assert_int_equal(levada_batch_measure(batch, "nope", &s, &err), LEVADA_ENOT_FOUND);
    levada_error_clear(&err);
    assert_int_equal(levada_batch_measure(batch, "y", &s, &err), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "'y_segment_lengths'"));
    levada_error_clear(&err);
    assert_int_equal(levada_batch_mask(padded, "x", true, mask, &err), LEVADA_EINVALID_ARGUMENT);
    levada_error_clear(&err);
    s.struct_size = 0;
    assert_int_equal(levada_batch_measure(padded, "x", &s, &err), LEVADA_EINVALID_ARGUMENT);
    levada_error_clear(&err);
    levada_block_unref(&batch);
    levada_block_unref(&padded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_padded_column_has_a_sequence_in_each_row),
        cmocka_unit_test(a_ragged_column_counts_its_rows),
        cmocka_unit_test(segments_of_a_packed_column_are_sequences),
        cmocka_unit_test(segments_are_found_behind_padding_on_the_left),
        cmocka_unit_test(pads_a_ragged_column_on_either_side),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
