/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Budgets of bucket_by_sequence_length: costs of one and of several lengths, costs that a function
 * computes, and records that exceed the budget by themselves.
 */
#include "batch/cost.h"
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BUCKET " | bucket_by_sequence_length:"

/* "[n n n] " of every batch, with the lengths of x in it if `lengths`; then the error. */
static void expect(const char *text, bool lengths, const char *want)
{
    for (int32_t threads = 1; threads <= 4; threads += 3) {
        levada_iter  *it = t_iter_open(text, threads, threads == 1 ? 256 : 3);
        levada_block *block = NULL;
        levada_error  err = LEVADA_ERROR_INIT;
        t_bytes       got = { 0 };
        char          word[64];

        t_add(&got, NULL, 0);
        while (levada_iter_next(it, &block, &err) == LEVADA_OK) {
            const int64_t       *n = levada_column_i64(levada_block_column(block, "n"));
            const levada_column *x = levada_block_column(block, "x");

            for (int64_t i = 0; i < levada_block_rows(block); i++) {
                int k = snprintf(word, sizeof word, lengths ? "%s%lld:%lld" : "%s%lld",
                                 i ? " " : "[", (long long)n[i],
                                 (long long)levada_column_length(x, i));
                t_add(&got, word, (size_t)k);
            }
            t_add(&got, "] ", 2);
            levada_block_unref(&block);
        }
        t_add(&got, err.message, strlen(err.message));
        assert_string_equal((char *)got.at, want);
        t_clear(&got);
        levada_iter_close(&it);
    }
}

static int64_t dropped(const char *text)
{
    levada_iter *it = t_iter_open(text, 2, 5);
    t_bytes      all = { 0 };
    int64_t      n;

    (void)t_iter_read(it, -1, true, &all);
    n = t_iter_stat(it, "dropped_records");
    t_clear(&all);
    levada_iter_close(&it);
    return n;
}

static void a_quadratic_budget_counts_squares(void **state)
{
    (void)state;
    expect("t_rows:7,lengths=[3,3,3,4,1,1,1],bare=true" BUCKET
           "x,boundaries=[],max_tokens=32,cost=quadratic", false, "[0 1 2] [3 4] [5 6] ");
    expect("t_rows:3,lengths=[3,5,6],bare=true" BUCKET
           "x,boundaries=[],max_tokens=32,cost=quadratic,pad_to_multiple=4", false,
           "a record of length 5 costs 64, more than max_tokens=32; raise max_tokens, or set "
           "too_long=skip");
}

/* x has the length clamp(l, 0, 64); l itself may be longer. */
static void several_lengths_add_up(void **state)
{
    (void)state;
    expect("t_rows:6,lengths=[3,5,2,2,9,1],bare=true" BUCKET "[x,l],boundaries=[],max_tokens=20",
           false, "[0 1] [2 3] [4] [5] ");
    expect("t_rows:4,lengths=[3,3,3,3],bare=true" BUCKET
           "[x,l],boundaries=[],max_tokens=24,pad_to_multiple=4", false, "[0 1 2] [3] ");
    expect("t_rows:1,lengths=[6],bare=true" BUCKET "[x,l],boundaries=[],max_tokens=10", false,
           "a record of lengths 6, 6 costs 12, more than max_tokens=10; raise max_tokens, or set "
           "too_long=skip");
    /* numbers bound the sum of the lengths */
    expect("t_rows:4,lengths=[3,5,3,5],bare=true" BUCKET "[x,l],boundaries=[7],batch_sizes=2",
           false, "[0 2] [1 3] ");
}

static void a_2d_budget_counts_products(void **state)
{
    (void)state;
    expect("t_rows:5,lengths=[3,4,2,7,1],bare=true" BUCKET
           "[x,l],boundaries=[],max_tokens=50,cost=2d", false, "[0 1 2] [3] [4] ");
}

static void pairs_bound_both_lengths(void **state)
{
    (void)state;
    expect("t_rows:6,lengths=[3,70,9,100,4,300],bare=true" BUCKET
           "[x,l],boundaries=[[5,5],[65,80],[65,200]],batch_sizes=2", false,
           "[1 2] [0 4] [3] [5] ");
    expect("t_rows:6,lengths=[3,70,9,100,4,300],bare=true" BUCKET
           "[x,l],boundaries=[[5,5],[65,80],[65,200]],max_tokens=1000", false,
           "[0 4] [1 2] [3] [5] ");
}

static void boundaries_and_costs_are_checked(void **state)
{
    (void)state;
    t_iter_refused("t_rows:3" BUCKET "[x,l],boundaries=[[5,5],[5,4]],batch_sizes=2",
                   LEVADA_EINVALID_ARGUMENT, "no record can be in bucket 1");
    t_iter_refused("t_rows:3" BUCKET "x,boundaries=[[5,5]],batch_sizes=2",
                   LEVADA_EINVALID_ARGUMENT, "length must list 2 fields");
    t_iter_refused("t_rows:3" BUCKET "[x,l],boundaries=[[5,5],6],batch_sizes=2",
                   LEVADA_EINVALID_ARGUMENT, "boundaries[1] must be a pair");
    t_iter_refused("t_rows:3" BUCKET "x,boundaries=[1.5],batch_sizes=2", LEVADA_EINVALID_ARGUMENT,
                   "must be integers");
    t_iter_refused("t_rows:3" BUCKET "x,boundaries=[5000000000],batch_sizes=2",
                   LEVADA_EINVALID_ARGUMENT, "bucket boundary 5000000000 is not");
    t_iter_refused("t_rows:3" BUCKET "x,max_tokens=9,cost=cubic", LEVADA_EINVALID_ARGUMENT,
                   "cost='cubic' must be linear, quadratic, 2d or a function; that of a plug-in is "
                   "{c:cubic}");
    t_iter_refused("t_rows:3" BUCKET "x,max_tokens=9,cost=2d", LEVADA_EINVALID_ARGUMENT,
                   "cost='2d' needs two fields");
    t_iter_refused("t_rows:3" BUCKET "x,batch_sizes=9,cost=linear", LEVADA_EINVALID_ARGUMENT,
                   "cost needs max_tokens");
    t_iter_refused("t_rows:3" BUCKET "x,batch_sizes=9,too_long=skip", LEVADA_EINVALID_ARGUMENT,
                   "too_long needs max_tokens");
    t_iter_refused("t_rows:3" BUCKET "x,boundaries=[4],num_buckets=3,max_tokens=9",
                   LEVADA_EINVALID_ARGUMENT, "boundaries or num_buckets, not both");
    t_iter_refused("t_rows:3" BUCKET "[x,l,x,l,x],boundaries=[4],max_tokens=9",
                   LEVADA_EINVALID_ARGUMENT, "fields, got 5");
    t_iter_refused("t_rows:3" BUCKET "l,boundaries=[4],max_tokens=9,too_long=truncate",
                   LEVADA_EINVALID_ARGUMENT, "'l' is not a sequence");
    t_iter_refused("t_rows:3" BUCKET "[x,l],boundaries=[4],max_tokens=9,"
                   "pad_to_bucket_boundary=true", LEVADA_EINVALID_ARGUMENT, "single length");
}

#define LONG "t_rows:7,lengths=[3,20,4,3,50,4,12],bare=true" BUCKET "x,boundaries=[],max_tokens=12"

/* 2^53 - 1 is the largest budget: integers up to there are exact as doubles. */
static void the_largest_budget_is_exact(void **state)
{
    levada_cost   cost = { .kind = LEVADA_COST_QUADRATIC, .fields = 1, .multiple = 1,
                           .budget = LEVADA_COST_MOST, .width = { -1 } };
    const int64_t root = 94906265, larger = root + 1, most = LEVADA_COST_MOST, more = most + 1;
    double        each = 0;

    (void)state;
    assert_int_equal(levada_cost_record(&cost, &root, &each, NULL), LEVADA_OK);
    assert_false(levada_cost_exceeds(&cost, 1, each));
    assert_int_equal(levada_cost_record(&cost, &larger, &each, NULL), LEVADA_OK);
    assert_true(levada_cost_exceeds(&cost, 1, each));
    cost.kind = LEVADA_COST_LINEAR;
    assert_int_equal(levada_cost_record(&cost, &most, &each, NULL), LEVADA_OK);
    assert_false(levada_cost_exceeds(&cost, 1, each));
    assert_int_equal(levada_cost_record(&cost, &more, &each, NULL), LEVADA_OK);
    assert_true(levada_cost_exceeds(&cost, 1, each));
    assert_true(levada_cost_exceeds(&cost, 2, each / 2));
    assert_false(levada_cost_exceeds(&cost, 1, each / 2));
    t_iter_refused("t_rows:2" BUCKET "x,max_tokens=9007199254740992", LEVADA_EINVALID_ARGUMENT,
                   "max_tokens");
}

static void a_record_over_the_budget_is_what_was_asked_for(void **state)
{
    (void)state;
    expect(LONG, true,
           "a record of length 20 (padded 20) is larger than max_tokens=12; raise max_tokens, or "
           "set too_long=truncate or skip");
    expect(LONG ",too_long=skip", true, "[0:3 2:4 3:3] [5:4] [6:12] ");
    assert_int_equal(dropped(LONG ",too_long=skip"), 2);
    expect(LONG ",too_long=alone", true, "[1:20] [4:50] [0:3 2:4 3:3] [5:4] [6:12] ");
    expect(LONG ",too_long=truncate", true, "[0:3] [1:12] [2:4 3:3] [4:12] [5:4] [6:12] ");
    expect(LONG ",too_long=truncate,pad_to_multiple=5", true,
           "[0:3] [1:10] [2:4 3:3] [4:10] [5:4] [6:10] ");
    expect(LONG ",too_long=truncate,no_padding=true", true,
           "[0:3] [1:12] [2:4 3:3] [4:12] [5:4] [6:12] ");
}

static void a_record_alone_has_the_shape_of_its_bucket(void **state)
{
    (void)state;
    expect("t_rows:4,lengths=[3,7,3,3],bare=true" BUCKET
           "x,boundaries=[5,12],max_tokens=8,pad_to_bucket_boundary=true,too_long=alone", false,
           "[1] [0 2] [3] ");
}

/* c:twice: a record of padded length n costs 2 n. */
static void a_function_computes_costs(void **state)
{
    const char *const twice = "t_rows:90,bare=true" BUCKET
                              "x,boundaries=[3,9],max_tokens=80,cost={c:twice}";

    (void)state;
    expect("t_rows:6,lengths=[3,3,4,4,4,1],bare=true" BUCKET
           "x,boundaries=[],max_tokens=24,cost={c:twice}", false, "[0 1 2] [3 4 5] ");
    expect("t_rows:6,lengths=[3,3,4,4,4,1],bare=true" BUCKET
           "x,boundaries=[],max_tokens=7,cost={c:twice}", false,
           "[0] a record of length 4 costs 8, more than max_tokens=7; raise max_tokens, or set "
           "too_long=skip");
    expect("t_rows:6,lengths=[3,3,4,4,5,1],bare=true" BUCKET
           "x,boundaries=[],max_tokens=6,cost={c:half}", false, "[0 1 2] [3 4] [5] ");
    expect("t_rows:2,lengths=[3,5],bare=true" BUCKET "x,boundaries=[],max_tokens=2,cost={c:half}",
           false,
           "a record of length 5 costs 2.5, more than max_tokens=2; raise max_tokens, or set "
           "too_long=skip");
    t_iter_sweep(twice, true, 1);
    t_iter_sweep("t_rows:90" BUCKET "x,lookahead=30,max_tokens=80,cost={c:twice}", true, 1);
    t_iter_refused("t_rows:9" BUCKET
                   "x,max_tokens=80,cost={c:twice},too_long=truncate", LEVADA_EINVALID_ARGUMENT,
                   "needs a cost of linear");
}

static void goes_on_after_a_restore_at_any_cut(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:90" BUCKET "x,boundaries=[3,9],max_tokens=200,cost=quadratic,"
                 "too_long=skip", true, 1);
    t_iter_sweep("t_stream:90" BUCKET "[x,l],boundaries=[[4,4],[9,30]],max_tokens=200,cost=2d,"
                 "too_long=alone", true, 1);
    t_iter_sweep("t_rows:90" BUCKET "x,boundaries=[3,9],max_tokens=7,too_long=alone", true, 1);
    t_iter_sweep("t_rows:90" BUCKET "x,boundaries=[3,9],max_tokens=7,too_long=truncate", true, 1);
    t_iter_sweep("t_stream:90" BUCKET "x,boundaries=[3,9],max_tokens=7,too_long=truncate | "
                 "prefetch:2", true, 1);
    t_iter_sweep("t_rows:90" BUCKET "s,boundaries=[3,9],max_tokens=3,too_long=truncate", true, 1);
    t_iter_sweep("t_rows:90" BUCKET "z,boundaries=[3,9],max_tokens=3,too_long=truncate", true, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quadratic_budget_counts_squares),
        cmocka_unit_test(several_lengths_add_up),
        cmocka_unit_test(a_2d_budget_counts_products),
        cmocka_unit_test(pairs_bound_both_lengths),
        cmocka_unit_test(boundaries_and_costs_are_checked),
        cmocka_unit_test(the_largest_budget_is_exact),
        cmocka_unit_test(a_record_over_the_budget_is_what_was_asked_for),
        cmocka_unit_test(a_record_alone_has_the_shape_of_its_bucket),
        cmocka_unit_test(a_function_computes_costs),
        cmocka_unit_test(goes_on_after_a_restore_at_any_cut),
    };

    return cmocka_run_group_tests(tests, t_functions_set_up, NULL);
}
