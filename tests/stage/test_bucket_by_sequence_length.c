/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of tf.data's bucket_by_sequence_length, clause by clause (D1 to D9 of the rules that
 * the golden vectors were recorded for), and what levada adds: max_tokens, exact restores.
 */
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BUCKET " | bucket_by_sequence_length:"

/* Every batch as "[n n n]*width ", where width is the padded dimension of x (none without padding);
 * then the status that ended it. */
static levada_status batches(const char *text, int32_t threads, int32_t rows, t_bytes *out)
{
    levada_iter  *it = t_iter_open(text, threads, rows);
    levada_block *block = NULL;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;
    char          word[64];

    t_add(out, NULL, 0);
    while ((st = levada_iter_next(it, &block, &err)) == LEVADA_OK) {
        const int64_t *n = levada_column_i64(levada_block_column(block, "n"));
        int64_t        width = levada_column_dim(levada_block_column(block, "x"), 1);

        for (int64_t i = 0; i < levada_block_rows(block); i++) {
            t_add(out, word, (size_t)snprintf(word, sizeof word, "%s%lld", i ? " " : "[",
                                              (long long)n[i]));
        }
        t_add(out, word, (size_t)(width < 0 ? snprintf(word, sizeof word, "] ")
                                            : snprintf(word, sizeof word, "]*%lld ",
                                                       (long long)width)));
        levada_block_unref(&block);
    }
    if (st != LEVADA_END) t_add(out, err.message, strlen(err.message));
    levada_iter_close(&it);
    return st;
}

static void expect(const char *text, levada_status status, const char *want)
{
    static const int32_t how[4][2] = { { 1, 1 }, { 1, 256 }, { 2, 3 }, { 4, 7 } };

    for (int i = 0; i < 4; i++) {
        t_bytes got = { 0 };

        assert_int_equal(batches(text, how[i][0], how[i][1], &got), status);
        assert_string_equal((char *)got.at, want);
        t_clear(&got);
    }
}

static void d1_options_are_checked(void **state)
{
    (void)state;
    t_iter_refused("t_rows:3" BUCKET "x,boundaries=[3,5],batch_sizes=[2,2]",
                   LEVADA_EINVALID_ARGUMENT, "len(batch_sizes)=2 must be len(boundaries)+1=3");
    t_iter_refused("t_rows:3" BUCKET "x,boundaries=[3,3],batch_sizes=[2,2,2]",
                   LEVADA_EINVALID_ARGUMENT, "increasing lengths, but saw: 3 before 3");
    t_iter_refused("t_rows:3" BUCKET "x,boundaries=[5,3],batch_sizes=[2,2,2]",
                   LEVADA_EINVALID_ARGUMENT, "increasing lengths");
    t_iter_refused("t_rows:3" BUCKET "x,boundaries=[5]", LEVADA_EINVALID_ARGUMENT,
                   "exactly one of batch_sizes and max_tokens");
    t_iter_refused("t_rows:3" BUCKET "x,boundaries=[5],batch_sizes=2,max_tokens=5",
                   LEVADA_EINVALID_ARGUMENT, "exactly one of batch_sizes and max_tokens");
    t_iter_refused("t_rows:3" BUCKET "q,boundaries=[5],batch_sizes=2", LEVADA_EINVALID_ARGUMENT,
                   "length='q' is not a field");
    t_iter_refused("t_rows:3" BUCKET "x,boundaries=[5],batch_sizes=2,padded_shapes={q:[1]}",
                   LEVADA_EINVALID_ARGUMENT, "'q'");
    t_iter_refused("t_rows:3" BUCKET "x,boundaries=[5],batch_sizes=2,padded_shapes={x:[1,2]}",
                   LEVADA_EINVALID_ARGUMENT, "same rank");
    t_iter_refused("t_rows:3" BUCKET "x,boundaries=[5],batch_sizes=2,padding_values={w:1}",
                   LEVADA_EINVALID_ARGUMENT, "'w'");
    t_iter_refused("t_rows:3" BUCKET "x", LEVADA_EINVALID_ARGUMENT,
                   "exactly one of batch_sizes and max_tokens");
}

/* Half-open: b-1 belongs to the bucket below, b and b+1 to the one above. */
static void d2_bounds_are_half_open(void **state)
{
    (void)state;
    expect("t_rows:6,lengths=[9,10,11,19,20,21],bare=true" BUCKET
           "x,boundaries=[10,20],batch_sizes=100",
           LEVADA_END, "[0]*9 [1 2 3]*19 [4 5]*21 ");
    expect("t_rows:4,lengths=[0,1,0,5],bare=true" BUCKET "x,boundaries=[1],batch_sizes=100",
           LEVADA_END, "[0 2]*0 [1 3]*5 ");
    expect("t_rows:3,lengths=[4,0,2],bare=true" BUCKET "x,boundaries=[],batch_sizes=100",
           LEVADA_END, "[0 1 2]*4 ");
    /* a boundary of 0: nothing but negative numbers lies below it */
    expect("t_rows:3,lengths=[0,-1,1],bare=true" BUCKET "l,boundaries=[0,1],batch_sizes=9",
           LEVADA_END, "[1]*0 [0]*0 [2]*1 ");
}

static void d2_any_integer_has_a_bucket(void **state)
{
    (void)state;
    expect("t_rows:8,lengths=[2147483646,2147483647,2147483648,-1,-2147483648,9223372036854775807,"
           "4095,4096],bare=true" BUCKET "l,boundaries=[10,4096,2147483647],batch_sizes=9",
           LEVADA_END, "[3 4]*0 [6]*64 [0 7]*64 [1 2 5]*64 ");
    expect("t_rows:5,lengths=[4094,4095,4096,4097,5000],bare=true" BUCKET
           "l,boundaries=[4095,4096,4097],batch_sizes=9",
           LEVADA_END, "[0]*64 [1]*64 [2]*64 [3 4]*64 ");
}

/* The example of tf.data's documentation; d4: what is left comes in ascending order. */
static void d3_a_batch_leaves_as_soon_as_it_is_full(void **state)
{
    (void)state;
    expect("t_rows:6,lengths=[1,4,3,5,6,2],bare=true" BUCKET "x,boundaries=[3,5],batch_sizes=2",
           LEVADA_END, "[1 2]*4 [3 4]*6 [0 5]*2 ");
    expect("t_rows:6,lengths=[1,4,3,5,6,2],bare=true" BUCKET
           "x,boundaries=[3,5],batch_sizes=[3,1,9]",
           LEVADA_END, "[1]*4 [2]*3 [0 5]*2 [3 4]*6 ");
}

static void d4_the_rest_comes_in_ascending_order(void **state)
{
    levada_iter *it = t_iter_open("t_rows:7,lengths=[7,5,3,1],bare=true" BUCKET
                                  "x,boundaries=[2,4,6],batch_sizes=2,drop_remainder=true", 1, 3);
    t_bytes      all = { 0 };

    (void)state;
    expect("t_rows:7,lengths=[7,5,3,1],bare=true" BUCKET "x,boundaries=[2,4,6],batch_sizes=9",
           LEVADA_END, "[3]*1 [2 6]*3 [1 5]*5 [0 4]*7 ");
    expect("t_rows:7,lengths=[7,5,3,1],bare=true" BUCKET
           "x,boundaries=[2,4,6],batch_sizes=2,drop_remainder=true",
           LEVADA_END, "[0 4]*7 [1 5]*5 [2 6]*3 ");
    (void)t_iter_read(it, -1, true, &all);
    assert_int_equal(t_iter_stat(it, "dropped_records"), 1);
    assert_int_equal(t_iter_stat(it, "records"), 6);
    t_clear(&all);
    levada_iter_close(&it);
}

static void d5_given_shapes_win(void **state)
{
    (void)state;
    expect("t_rows:4,lengths=[1,2,5,6],bare=true" BUCKET
           "x,boundaries=[4],batch_sizes=2,padded_shapes={x:[8]}",
           LEVADA_END, "[0 1]*8 [2 3]*8 ");
    expect("t_rows:4,lengths=[1,2,3,2],bare=true" BUCKET
           "x,boundaries=[4],batch_sizes=2,padded_shapes={x:[8]},pad_to_bucket_boundary=true",
           LEVADA_END, "[0 1]*8 [2 3]*8 ");
    expect("t_rows:4,lengths=[1,2,5,6],bare=true" BUCKET
           "x,boundaries=[4],batch_sizes=2,padded_shapes={x:[null]}",
           LEVADA_END, "[0 1]*2 [2 3]*6 ");
    expect(
        "t_rows:4,lengths=[1,2,5,6],bare=true" BUCKET
        "x,boundaries=[4],batch_sizes=2,padded_shapes={x:[5]}",
        LEVADA_EDATA_LOSS,
        "[0 1]*5 attempted to pad to a smaller size than the input element: column 'x' has length "
        "6 in dimension 0, but padded_shapes allows 5; raise padded_shapes, or truncate with "
        "slice");
}

static void d6_pads_to_the_boundary(void **state)
{
    const char *late = "when pad_to_bucket_boundary=True, elements must have length < "
                       "max(bucket_boundaries): one has 35";
    char        want[256];

    (void)state;
    expect("t_rows:10,lengths=[1,2,3,4,5,6,7,8,9,10],bare=true" BUCKET
           "x,boundaries=[3,7,11],batch_sizes=2,pad_to_bucket_boundary=true",
           LEVADA_END, "[0 1]*2 [2 3]*6 [4 5]*6 [6 7]*10 [8 9]*10 ");
    /* The last bucket's batch is the error, when it is made: full, or at the final flush after all
     * others, and then also where it would be dropped. */
    (void)snprintf(want, sizeof want, "[0 2]*9 %s", late);
    expect("t_rows:4,lengths=[8,35],bare=true" BUCKET
           "x,boundaries=[10,20],batch_sizes=2,pad_to_bucket_boundary=true",
           LEVADA_EINVALID_ARGUMENT, want);
    (void)snprintf(want, sizeof want, "[0]*9 [2]*19 %s", late);
    expect("t_rows:3,lengths=[8,35,13],bare=true" BUCKET
           "x,boundaries=[10,20],batch_sizes=5,pad_to_bucket_boundary=true",
           LEVADA_EINVALID_ARGUMENT, want);
    expect("t_rows:3,lengths=[8,35,13],bare=true" BUCKET
           "x,boundaries=[10,20],batch_sizes=5,pad_to_bucket_boundary=true,drop_remainder=true",
           LEVADA_EINVALID_ARGUMENT, late);
    /* w has up to three elements, the bucket's boundary leaves space for one */
    expect("t_rows:4,lengths=[1]" BUCKET
           "x,boundaries=[2],batch_sizes=4,pad_to_bucket_boundary=true",
           LEVADA_EDATA_LOSS,
           "attempted to pad to a smaller size than the input element: column 'w' has length 3 in "
           "dimension 0, but padded_shapes allows 1; raise padded_shapes, or truncate with slice");
}

static void errors_name_file_record_and_offset(void **state)
{
    char         text[512];
    levada_iter *it;

    (void)state;
    (void)t_folder();
    t_write_file(t_path("a.txt"), "a\nb\n", 4);
    t_write_file(t_path("b.txt"), "a\nb\na\nccc\ndddd\n", 15);
    (void)snprintf(text, sizeof text,
                   "text_lines:[\"%s\",\"%s\"] | bucket_by_sequence_length:line,boundaries=[2,3],"
                   "batch_sizes=2,pad_to_bucket_boundary=true",
                   t_path("a.txt"), t_path("b.txt"));
    it = t_iter_open(text, 3, 2);
    t_iter_fails_at(it, LEVADA_EINVALID_ARGUMENT, "b.txt", 3, 6);
    levada_iter_close(&it);
    t_folder_drop();
}

static void d7_without_padding(void **state)
{
    expect("t_rows:6,lengths=[1,4,3,5,6,2],bare=true" BUCKET
           "x,boundaries=[3,5],batch_sizes=2,no_padding=true",
           LEVADA_END, "[1 2] [3 4] [0 5] ");
    /* without padding there is nothing that a boundary could be too small for */
    expect("t_rows:3,lengths=[8,35,13],bare=true" BUCKET
           "x,boundaries=[10,20],batch_sizes=5,pad_to_bucket_boundary=true,no_padding=true",
           LEVADA_END, "[0] [2] [1] ");
    (void)state;
}

static void a_batch_size_must_be_positive_when_it_is_used(void **state)
{
    (void)state;
    expect("t_rows:4,lengths=[1,1,1,4],bare=true" BUCKET "x,boundaries=[3],batch_sizes=[3,0]",
           LEVADA_EINVALID_ARGUMENT,
           "[0 1 2]*1 window size must be greater than zero, but got 0");
    expect("t_rows:4,lengths=[1,1,1,4],bare=true" BUCKET "x,boundaries=[3],batch_sizes=[3,-1]",
           LEVADA_EINVALID_ARGUMENT,
           "[0 1 2]*1 window size must be greater than zero, but got -1");
    expect("t_rows:4,lengths=[1,1,1,2],bare=true" BUCKET "x,boundaries=[3],batch_sizes=[3,0]",
           LEVADA_END, "[0 1 2]*1 [3]*2 ");
}

/* -- max_tokens */

static void expect_budget(const char *options, int64_t budget)
{
    char         text[256];
    levada_iter *it;
    int64_t      seen = 0;

    (void)snprintf(text, sizeof text,
                   "t_rows:500,bare=true,lengths=[3,0,5,1,17,2,9,4,8,8,8,31,40,1,1,1,0]" BUCKET
                   "x,boundaries=[4,10,32],%s,max_tokens=%lld",
                   options, (long long)budget);
    it = t_iter_open(text, 2, 7);
    for (;;) {
        levada_block *block = NULL;
        levada_status st = levada_iter_next(it, &block, NULL);
        int64_t       n, width;

        if (st == LEVADA_END) break;
        assert_int_equal(st, LEVADA_OK);
        n = levada_block_rows(block);
        width = levada_column_dim(levada_block_column(block, "x"), 1);
        if (n * width > budget) {
            fail_msg("%s: %lld records of width %lld", text, (long long)n, (long long)width);
        }
        seen += n;
        levada_block_unref(&block);
    }
    assert_int_equal(seen, 500);
    levada_iter_close(&it);
}

static void max_tokens_is_never_exceeded(void **state)
{
    (void)state;
    expect_budget("no_padding=false", 40);
    expect_budget("no_padding=false", 41);
    expect_budget("no_padding=false", 1000);
    expect_budget("drop_remainder=true", 97);
    expect_budget("pad_to_multiple=8", 40);
    expect_budget("pad_to_multiple=8", 100);
    expect_budget("padded_shapes={x:[40]}", 100);
    expect("t_rows:6,lengths=[3,3,4,4,4,1],bare=true" BUCKET "x,boundaries=[],max_tokens=12",
           LEVADA_END, "[0 1 2]*4 [3 4 5]*4 ");
    expect("t_rows:5,lengths=[2,2,2,2,9],bare=true" BUCKET
           "x,boundaries=[4,10],max_tokens=9,pad_to_bucket_boundary=true",
           LEVADA_END, "[0 1 2]*3 [3]*3 [4]*9 ");
    /* A record that is too long by itself. */
    expect("t_rows:3,lengths=[3,3,13],bare=true" BUCKET "x,boundaries=[],max_tokens=12",
           LEVADA_EINVALID_ARGUMENT,
           "a record of length 13 (padded 13) is larger than max_tokens=12; raise max_tokens, or "
           "set too_long=truncate or skip");
    expect("t_rows:3,lengths=[3,3,11],bare=true" BUCKET
           "x,boundaries=[],max_tokens=12,pad_to_multiple=8",
           LEVADA_EINVALID_ARGUMENT,
           "[0]*8 a record of length 11 (padded 16) is larger than max_tokens=12; raise "
           "max_tokens, or set too_long=truncate or skip");
}

/* Records without elements take no space: they must not gather without end. */
static void records_of_length_zero_are_bounded(void **state)
{
    (void)state;
    expect("t_rows:7,lengths=[0],bare=true" BUCKET "x,boundaries=[],max_tokens=3", LEVADA_END,
           "[0 1 2]*0 [3 4 5]*0 [6]*0 ");
}

static void pads_with_the_value_asked_for(void **state)
{
    levada_iter  *it = t_iter_open("t_rows:2,lengths=[1,3]" BUCKET
                                  "x,boundaries=[9],batch_sizes=2,padding_values={x:-7,w:pad}",
                                  1, 9);
    levada_block *block = NULL;
    const levada_column *x, *w;
    const int32_t want[6] = { 0, -7, -7, 100, 101, 102 }, lengths[2] = { 1, 3 };

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    x = levada_block_column(block, "x");
    w = levada_block_column(block, "w");
    assert_memory_equal(x->values, want, sizeof want);
    assert_memory_equal(x->lengths, lengths, sizeof lengths);
    assert_int_equal(w->level[0].end[0] - w->level[0].begin[0], 3);
    assert_memory_equal(w->values + w->level[0].begin[0], "pad", 3);
    assert_int_equal(t_iter_stat(it, "records"), 2);
    levada_block_unref(&block);
    levada_iter_close(&it);
}

/* What comes in goes out, once. */
static void loses_nothing(void **state)
{
    for (int32_t threads = 1; threads <= 4; threads += 3) {
        levada_iter *it = t_iter_open(
            "t_rows:1000" BUCKET "x,boundaries=[2,4,10],batch_sizes=[7,3,5,2]", threads, 64);
        int64_t      n = 0, count[1000] = { 0 };
        int64_t     *numbers = t_iter_numbers(it, "n", &n);

        assert_int_equal(n, 1000);
        for (int64_t i = 0; i < n; i++) count[numbers[i]]++;
        for (int64_t i = 0; i < n; i++) assert_int_equal(count[i], 1);
        free(numbers);
        levada_iter_close(&it);
    }
    (void)state;
}

static void d9_goes_on_after_restores(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:90" BUCKET "x,boundaries=[2,5,10],batch_sizes=[4,3,2,1]", true, 1);
    t_iter_sweep("t_stream:90" BUCKET "x,boundaries=[2,5,10],batch_sizes=[4,3,2,1]", true, 1);
    t_iter_sweep("t_stream:90" BUCKET "s,boundaries=[2,5],batch_sizes=6,drop_remainder=true", true,
                 1);
    t_iter_sweep("t_stream:90" BUCKET "l,boundaries=[2,5],batch_sizes=6,no_padding=true", true, 1);
    t_iter_sweep("t_rows:90" BUCKET "x,boundaries=[2,5],max_tokens=20", true, 1);
    t_iter_sweep("t_rows:90,lengths=[1,2,3,4],bare=true" BUCKET
                 "x,boundaries=[3,5],batch_sizes=4,pad_to_bucket_boundary=true | prefetch:2",
                 true, 1);
    t_iter_sweep("t_rows:90 | shuffle:40" BUCKET "x,boundaries=[2,5],batch_sizes=4", true, 1);
    t_iter_sweep("t_rows:90 | prefetch:3 | shuffle:40 | prefetch:3" BUCKET
                 "x,boundaries=[2,5],batch_sizes=4 | prefetch:2", true, 1);
}

/* A batch that could not be padded is in the state, with the boundary that it is padded to, until
 * the records before the error have come. */
static void a_batch_that_failed_keeps_its_boundary(void **state)
{
    const char *const text = "mix(t_rows:40,bare=true,lengths=[5,9]" BUCKET
                             "n,boundaries=[7,40],batch_sizes=3,pad_to_bucket_boundary=true | "
                             "unbatch; t_rows:90,bare=true):weights=[1,9]";

    (void)state;
    for (int32_t threads = 1; threads <= 4; threads++) {
        levada_iter  *it = t_iter_open(text, threads, 64);
        levada_block *block = NULL;
        t_bytes       saved;

        assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
        assert_true(levada_block_rows(block) < 64); /* what is before the error */
        levada_block_unref(&block);
        saved = t_iter_save(it);
        levada_iter_close(&it);
        it = t_iter_open(text, threads, 64);
        t_iter_restore(it, saved);
        assert_int_equal(t_iter_fails(it, LEVADA_EDATA_LOSS, "pad"), 0);
        t_clear(&saved);
        levada_iter_close(&it);
    }
}

static void repeats(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:20" BUCKET "x,boundaries=[2,5],batch_sizes=3 | repeat:3", true, 1);
    t_iter_sweep("t_rows:20 | repeat:3 | shuffle:9" BUCKET "x,boundaries=[2,5],batch_sizes=3", true,
                 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(d1_options_are_checked),
        cmocka_unit_test(d2_bounds_are_half_open),
        cmocka_unit_test(d2_any_integer_has_a_bucket),
        cmocka_unit_test(d3_a_batch_leaves_as_soon_as_it_is_full),
        cmocka_unit_test(d4_the_rest_comes_in_ascending_order),
        cmocka_unit_test(d5_given_shapes_win),
        cmocka_unit_test(d6_pads_to_the_boundary),
        cmocka_unit_test(errors_name_file_record_and_offset),
        cmocka_unit_test(d7_without_padding),
        cmocka_unit_test(a_batch_size_must_be_positive_when_it_is_used),
        cmocka_unit_test(max_tokens_is_never_exceeded),
        cmocka_unit_test(records_of_length_zero_are_bounded),
        cmocka_unit_test(pads_with_the_value_asked_for),
        cmocka_unit_test(loses_nothing),
        cmocka_unit_test(d9_goes_on_after_restores),
        cmocka_unit_test(a_batch_that_failed_keeps_its_boundary),
        cmocka_unit_test(repeats),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
