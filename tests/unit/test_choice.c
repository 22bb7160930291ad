/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boundaries that are chosen while data flows: from the first records, again when the lengths
 * change, once where the shapes of batches are fixed; and the choice is in the state.
 */
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BUCKET " | bucket_by_sequence_length:"
#define LENGTHS "lengths=[1,2,3,5,8,13,21,34,55,3,2,1,2,3,5,4,1,9,11,60,2,3]"

typedef struct totals {
    int64_t records, batches, cells, real, widths; /* widths: distinct ones */
} totals;

static totals read_all(const char *text, int64_t budget)
{
    levada_iter  *it = t_iter_open(text, 2, 256);
    levada_block *block = NULL;
    bool          widths[4096] = { false };
    totals        t = { 0 };

    while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
        const levada_column *x = levada_block_column(block, "x");
        int64_t              rows = levada_block_rows(block), width = levada_column_dim(x, 1);

        assert_true(rows * width <= budget);
        for (int64_t i = 0; i < rows; i++) t.real += x->lengths[i];
        t.cells += rows * width;
        t.records += rows;
        t.batches++;
        t.widths += width < 4096 && !widths[width];
        if (width < 4096) widths[width] = true;
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    return t;
}

static void a_choice_from_the_first_records_pads_little(void **state)
{
    totals none = read_all("t_rows:20000,bare=true," LENGTHS BUCKET
                           "x,boundaries=[],max_tokens=2000", 2000);
    totals all = read_all("t_rows:20000,bare=true," LENGTHS BUCKET "x,max_tokens=2000", 2000);
    totals four = read_all("t_rows:20000,bare=true," LENGTHS BUCKET
                           "x,max_tokens=2000,num_buckets=4", 2000);

    (void)state;
    assert_int_equal(all.records, 20000);
    assert_int_equal(all.real, none.real);
    assert_int_equal(all.cells, all.real); /* 14 lengths, 16 buckets */
    assert_true(four.cells > four.real && four.cells - four.real < (none.cells - none.real) / 6);
    /* Fewer records than the first choice needs. */
    all = read_all("t_rows:100,bare=true," LENGTHS BUCKET "x,max_tokens=2000", 2000);
    assert_int_equal(all.records, 100);
    assert_int_equal(all.cells, all.real);
    all = read_all("t_rows:0,bare=true," LENGTHS BUCKET "x,max_tokens=2000", 2000);
    assert_int_equal(all.records, 0);
}

/* The number of shapes is that of buckets, and one for each power of two beyond. */
static void shapes_are_fixed_by_the_first_choice(void **state)
{
    totals t = read_all("concat(t_rows:9000,bare=true,lengths=[1,2,3,4,5,6,7,8,9,10]; "
                        "t_rows:3000,bare=true,lengths=[40,11,17,30,64])" BUCKET
                        "x,max_tokens=640,num_buckets=3,pad_to_bucket_boundary=true", 640);

    (void)state;
    assert_int_equal(t.records, 12000);
    assert_true(t.widths >= 3 && t.widths <= 3 + 3); /* 16, 32, 64 */
    t = read_all("t_rows:9000,bare=true,lengths=[1,2,3,4,5,6,7,8,9,10]" BUCKET
                 "x,batch_sizes=7,num_buckets=3,pad_to_bucket_boundary=true,pad_to_multiple=4",
                 1 << 20);
    assert_int_equal(t.widths, 3); /* 4, 8, 12 */
}

static void numbers_of_any_size_are_lengths(void **state)
{
    const char *const huge = "t_rows:9000,bare=true,lengths=[1,9223372036854775807,3,"
                             "4611686018427387904,-5,2147483648]" BUCKET "l,batch_sizes=50";
    char              text[256];
    levada_iter      *it;

    (void)state;
    t_iter_sweep(huge, true, 60);
    (void)snprintf(text, sizeof text, "%s,pad_to_bucket_boundary=true", huge);
    it = t_iter_open(text, 2, 64);
    (void)t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "cannot be padded");
    levada_iter_close(&it);
}

/* The lengths change after the first choice. */
static void another_choice_follows_the_data(void **state)
{
    const char *const input = "concat(t_rows:5000,bare=true,lengths=[1,2,3]; "
                              "t_rows:200000,bare=true,lengths=[20,30,40,50,60])" BUCKET
                              "x,max_tokens=600,num_buckets=5";
    totals            t = read_all(input, 600);

    (void)state;
    assert_int_equal(t.records, 205000);
    /* Without it a third of the elements would be padding. */
    assert_true((double)(t.cells - t.real) < 0.01 * (double)t.cells);
}

static void the_choice_is_in_the_state(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:9000,bare=true," LENGTHS BUCKET "x,max_tokens=4000,num_buckets=4", true,
                 3);
    t_iter_sweep("t_stream:6000,bare=true," LENGTHS BUCKET
                 "x,max_tokens=4000,num_buckets=4,pad_to_bucket_boundary=true", true, 5);
    t_iter_sweep("t_rows:6000,bare=true | shuffle:100" BUCKET "[x,l],batch_sizes=200,num_buckets=4",
                 true, 3);
    t_iter_sweep("t_rows:60" BUCKET "x,max_tokens=100", true, 1);
    t_iter_sweep("t_rows:60" BUCKET "x,max_tokens=10,too_long=alone", true, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_choice_from_the_first_records_pads_little),
        cmocka_unit_test(shapes_are_fixed_by_the_first_choice),
        cmocka_unit_test(numbers_of_any_size_are_lengths),
        cmocka_unit_test(another_choice_follows_the_data),
        cmocka_unit_test(the_choice_is_in_the_state),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
