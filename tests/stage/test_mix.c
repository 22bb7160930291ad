/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void one_input_comes_as_it_is(void **state)
{
    const int64_t want[] = { 0, 1, 2, 3 };

    (void)state;
    t_expect_i64("mix(range:4)", "value", want, 4);
    t_expect_i64("mix(range:4; range:9,start=100):weights=[1,0] | take:4", "value", want, 4);
    t_expect_i64("mix(range:0; range:0)", "value", want, 0);
}

static void an_ended_input_drops_out(void **state)
{
    const int64_t want[] = { 100, 101, 102 };

    (void)state;
    t_expect_i64("mix(range:0; range:3,start=100):weights=[5,1]", "value", want, 3);
}

static int64_t count_below(const char *text, int64_t bound, int64_t *all)
{
    levada_iter *it = t_iter_open(text, 2, 7);
    int64_t     *values = t_iter_numbers(it, "value", all), below = 0;

    for (int64_t i = 0; i < *all; i++) below += values[i] < bound;
    free(values);
    levada_iter_close(&it);
    return below;
}

/* Input 0 has the numbers below 1000. */
static void the_epoch_ends_as_stop_says(void **state)
{
    int64_t all = 0, below;

    (void)state;
    below = count_below("mix(range:500; range:20,start=1000):stop=first_exhausted", 1000, &all);
    assert_int_equal(all - below, 20);
    assert_in_range(below, 5, 60);
    below = count_below("mix(range:100; range:20,start=1000):stop=all_read", 1000, &all);
    assert_int_equal(below, 100);
    assert_in_range(all - below, 60, 150);
    below = count_below("mix(range:40; range:0; range:5,start=1000):stop=all_read", 1000, &all);
    assert_int_equal(below, 40);
    assert_true(all - below > 20);
    below = count_below("mix(range:40; range:5,start=1000):stop=all_read,weights=[1,0]", 1000,
                        &all);
    assert_int_equal(below, 40);
    assert_int_equal(all, 40);
    assert_int_equal(count_below("mix(range:0; range:0):stop=all_read", 9, &all), 0);
    (void)count_below("mix(range:40; range:50):epoch_size=30", 9, &all);
    assert_int_equal(all, 30);
    (void)count_below("mix(range:9; range:9):epoch_size=30", 9, &all);
    assert_int_equal(all, 18);
    (void)count_below("mix(range:9 | batch:3; range:9 | batch:3):epoch_size=5 | unbatch", 9, &all);
    assert_int_equal(all, 15);
}

static void tokens_are_shared_by_weight(void **state)
{
    levada_iter *it = t_iter_open("mix(range:4000,start=1; range:90000 | map:{c:twice} |"
                                  " filter:\"value in [14, 600]\" | repeat:4000):"
                                  "weights=[3,1],by=value,epoch_size=300",
                                  1, 7);
    int64_t      n = 0, *values = t_iter_numbers(it, "value", &n), tokens[2] = { 0 }, next = 1;

    (void)state;
    for (int64_t i = 0; i < n; i++) {
        bool first = values[i] == next;

        next += first;
        tokens[!first] += values[i];
        assert_true(llabs(tokens[0] - 3 * tokens[1]) <= 3 * 600 + 600);
    }
    assert_int_equal(n, 300);
    free(values);
    levada_iter_close(&it);
    t_iter_refused("mix(range:3; range:3):by=y", LEVADA_EINVALID_ARGUMENT, "'y' is not a field");
}

static void a_temperature_makes_weights_more_equal(void **state)
{
    int64_t all = 0, below;

    (void)state;
    below = count_below("mix(range:999; range:999,start=1000):weights=[81,1],temperature=2,"
                        "epoch_size=900",
                        1000, &all);
    assert_in_range(below, 760, 850); /* 9 of 10 */
    t_iter_refused("mix(range:3):temperature=0", LEVADA_EINVALID_ARGUMENT, "more than 0");
    t_iter_refused("mix(range:3):names=[a, b]", LEVADA_EINVALID_ARGUMENT, "len(names)=2");
}

/* Which input each draw is from, up to `n` draws: 'a' for numbers below 1000. */
static void draws(const char *text, int32_t rows, char *out, int64_t n)
{
    levada_iter *it = t_iter_open(text, 1, rows);
    int64_t      all = 0, *values = t_iter_numbers(it, "value", &all);

    for (int64_t i = 0; i < n; i++) out[i] = i >= all ? '.' : values[i] < 1000 ? 'a' : 'b';
    out[n] = '\0';
    free(values);
    levada_iter_close(&it);
}

static void weights_change_at_their_steps(void **state)
{
    char          got[32];
    const int32_t rows[] = { 1, 3, 256 };

    (void)state;
    for (int i = 0; i < 3; i++) {
        draws("mix(range:99; range:99,start=1000):weights=[[0,[1,0]],[3,[0,1]],[8,[1,0]]] | "
              "take:12", rows[i], got, 12);
        assert_string_equal(got, "aaabbbbbaaaa");
        /* the next weights begin early where nothing is left for those before */
        draws("mix(range:2; range:99,start=1000):weights=[[0,[1,0]],[5,[0,1]]] | take:4", rows[i],
              got, 4);
        assert_string_equal(got, "aabb");
        draws("mix(range:2; range:1,start=1000):weights=[[0,[1,0]],[5,[0,1]]]", rows[i], got, 4);
        assert_string_equal(got, "aab.");
        draws("mix(range:9; range:9,start=1000):weights=[[0,[1,0]],[2,[0,1]]],"
              "stop=first_exhausted", rows[i], got, 12);
        assert_string_equal(got, "aabbbbbbbbb.");
        draws("mix(range:2; range:3,start=1000):weights=[[0,[1,0]],[4,[0,1]]],stop=all_read",
              rows[i], got, 9);
        assert_string_equal(got, "aaaabbb..");
    }
    draws("mix(range:9 | batch:2; range:9,start=1000 | batch:2):weights=[[0,[1,0]],[2,[0,1]]] |"
          " take:3 | unbatch", 256, got, 6);
    assert_string_equal(got, "aaaabb");
}

/* Shares are those of the tokens since the weights began. */
static void tokens_are_counted_from_the_begin_of_weights(void **state)
{
    levada_iter *it = t_iter_open("mix(range:1,start=1 | repeat:900; range:1,start=2 | repeat:900)"
                                  ":weights=[[0,[1,0]],[300,[1,1]]],by=value,epoch_size=600",
                                  1, 7);
    int64_t      n = 0, *values = t_iter_numbers(it, "value", &n), tokens[2] = { 0 };

    (void)state;
    assert_int_equal(n, 600);
    for (int64_t i = 0; i < 300; i++) assert_int_equal(values[i], 1);
    for (int64_t i = 300; i < 600; i++) {
        tokens[values[i] - 1] += values[i];
        assert_true(llabs(tokens[0] - tokens[1]) <= 2);
    }
    free(values);
    levada_iter_close(&it);
}

static void weights_by_step_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    t_iter_refused("mix(range:3; range:3):weights=[[1,[1,1]]]", LEVADA_EINVALID_ARGUMENT,
                   "weights[0]: step 1 must be 0");
    t_iter_refused("mix(range:3; range:3):weights=[[0,[1,1]],[0,[1,2]]]", LEVADA_EINVALID_ARGUMENT,
                   "weights[1]: step 0 must be more than the one before");
    t_iter_refused("mix(range:3; range:3):weights=[[0,[1,1]],[4,[1]]]", LEVADA_EINVALID_ARGUMENT,
                   "len(weights)=1");
    t_iter_refused("mix(range:3; range:3):weights=[[0,[1,1]],[4,[0,0]]]", LEVADA_EINVALID_ARGUMENT,
                   "more than 0");
    t_iter_refused("mix(range:3; range:3):weights=[[0,[1,1]],5]", LEVADA_EINVALID_ARGUMENT,
                   "weights[1] must be [step, [a number for each input]]");
    t_iter_refused("mix(range:3; range:3):weights=[[0.5,[1,1]]]", LEVADA_EINVALID_ARGUMENT,
                   "weights[0] must be");
    t_iter_refused("mix(range:3; range:3):weights=[1,[0,[1,1]]]", LEVADA_EINVALID_ARGUMENT,
                   "weights[1] must be a number");
}

static void refuses_weights_that_do_not_fit(void **state)
{
    (void)state;
    t_iter_refused("mix(range:3; range:3):weights=[1]", LEVADA_EINVALID_ARGUMENT,
                   "len(weights)=1 must be the number of inputs, 2");
    t_iter_refused("mix(range:3; range:3):weights=[1,-1]", LEVADA_EINVALID_ARGUMENT, "weights[1]");
    t_iter_refused("mix(range:3; range:3):weights=[0,0]", LEVADA_EINVALID_ARGUMENT, "more than 0");
    t_iter_refused("mix(range:3; range:3 | rename:{value:x})", LEVADA_EINVALID_ARGUMENT,
                   "input 0 has 'value'");
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("mix(range:20; range:9,start=100 | shuffle:4; range:3,start=500):weights=[3,2,1]",
                 false, 1);
    t_iter_sweep("mix(range:20; range:9,start=100):seed=5 | repeat:2 | shuffle:5 | batch:4", true,
                 1);
}

static void each_stop_goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("mix(range:20; range:9,start=100 | shuffle:4):weights=[[0,[3,1]],[7,[0,1]],"
                 "[11,[1,1]]] | shuffle:3", false, 1);
    t_iter_sweep("mix(range:4; range:9,start=100):weights=[[0,[1,0]],[6,[0,1]]] | repeat:2", false,
                 1);
    t_iter_sweep("mix(t_rows:30; t_rows:9 | shuffle:3):by=x,weights=[[0,[1,2]],[5,[2,1]],"
                 "[9,[1,0]]],stop=all_read,epoch_size=25", false, 3);
    t_iter_sweep("mix(range:20; range:5,start=100 | shuffle:4):stop=all_read | shuffle:3", false,
                 1);
    t_iter_sweep("mix(range:20; range:9,start=100):stop=first_exhausted,names=[a, b]", false, 1);
    t_iter_sweep("mix(t_rows:30; t_rows:9 | shuffle:3):by=x,weights=[1,2],stop=all_read |"
                 " repeat:2",
                 false, 3);
    t_iter_sweep("mix(t_rows:30 | batch:3; t_rows:9 | batch:2):by=x,stop=all_read,epoch_size=20",
                 true, 1);
}

/* How many that are depends on no size of blocks. */
static void what_is_in_front_of_an_error_comes_first(void **state)
{
    const int32_t sizes[] = { 1, 7, 256 };

    (void)state;
    for (int i = 0; i < 3; i++) {
        levada_iter *it = t_iter_open("mix(t_rows:60,fail_at=33; t_rows:60,fail_at=50)", 1, 1);
        int64_t      want = t_iter_fails(it, LEVADA_EDATA_LOSS, "");

        levada_iter_close(&it);
        assert_in_range(want, 33, 33 + 50);
        it = t_iter_open("mix(t_rows:60,fail_at=33; t_rows:60,fail_at=50)", 1 + i, sizes[i]);
        assert_int_equal(t_iter_fails(it, LEVADA_EDATA_LOSS, ""), want);
        levada_iter_close(&it);
    }
}

/* Read to its error after `front` blocks, or from a position saved there. */
static int64_t rows_until_it_fails(const char *text, int32_t threads, int64_t front, bool again,
                                   int64_t *blocks)
{
    levada_iter  *it = t_iter_open(text, threads, 16);
    levada_error  err = LEVADA_ERROR_INIT;
    levada_block *block = NULL;
    t_bytes       rows = { 0 }, state;
    int64_t       n = 0;

    (void)t_iter_read(it, front, false, &rows);
    if (again) {
        state = t_iter_save(it);
        levada_iter_close(&it);
        it = t_iter_open(text, threads, 16);
        t_iter_restore(it, state);
        t_clear(&state);
    }
    for (*blocks = 0; levada_iter_next(it, &block, &err) == LEVADA_OK; ++*blocks) {
        n += levada_block_rows(block);
        levada_block_unref(&block);
    }
    if (err.code != LEVADA_EDATA_LOSS || err.record != 128 - 9) {
        fail_msg("record %lld: %s", (long long)err.record, err.message);
    }
    levada_iter_close(&it);
    t_clear(&rows);
    return n;
}

/* A block for which a stage fails is in the state until the error is told. */
static void an_error_comes_again_after_a_restore(void **state)
{
    const char *const text = "mix(range:300,start=9 | shuffle:1 | cast:value,dtype=int8; "
                             "range:110 | cast:value,dtype=int8)";

    (void)state;
    for (int32_t threads = 1; threads <= 4; threads++) {
        int64_t blocks = 0, left = 1;

        for (int64_t front = 0; left > 0; front++) {
            int64_t want = rows_until_it_fails(text, threads, front, false, &left);

            assert_int_equal(rows_until_it_fails(text, threads, front, true, &blocks), want);
            assert_int_equal(blocks, left);
        }
    }
}

static void expect_no_save(const char *text, const char *stage, const char *cause)
{
    levada_iter  *it = t_iter_open(text, 1, 7);
    levada_error  err = LEVADA_ERROR_INIT;
    levada_block *block = NULL;
    t_bytes       before = t_iter_save(it), again;
    char         *bytes = NULL;
    size_t        size = 0;

    while (levada_iter_save(it, &bytes, &size, &err) == LEVADA_OK) {
        levada_string_free(&bytes);
        assert_int_equal(levada_iter_next(it, &block, &err), LEVADA_OK);
        levada_block_unref(&block);
    }
    assert_int_equal(err.code, LEVADA_EFAILED_PRECONDITION);
    assert_non_null(strstr(err.message, "records may be lost"));
    assert_non_null(strstr(err.message, cause));
    assert_string_equal(err.stage, stage);
    t_iter_fails(it, LEVADA_EDATA_LOSS, cause);
    t_iter_restore(it, before); /* mends it */
    again = t_iter_save(it);
    t_bytes_equal(before, again, "restored after a failure");
    t_clear(&before);
    t_clear(&again);
    levada_iter_close(&it);
}

/* What a source had in its hands when it failed is gone. */
static void no_position_lacks_what_was_lost(void **state)
{
    (void)state;
    expect_no_save("mix(t_rows:60; t_rows:60,fail_at=33)", "1.t_rows", "record 33");
}

#define WAITING                                                          \
    "mix(range:40 | map:{c:hasty},spec={value:int64}; range:30,start=100 | " \
    "shuffle:7):weights=[2,1]"

/* Adds the numbers of `value` until there is nothing for now, or nothing more. */
static levada_status read_numbers(levada_iter *it, int64_t *values, int64_t *n)
{
    levada_block *block = NULL;
    levada_status st;

    while ((st = levada_iter_next(it, &block, NULL)) == LEVADA_OK) {
        const int64_t *value = levada_column_i64(levada_block_column(block, "value"));

        for (int64_t i = 0; i < levada_block_rows(block); i++) values[(*n)++] = value[i];
        levada_block_unref(&block);
    }
    return st;
}

/* Another iterator that continues from there returns the rest. */
static void expect_rest(levada_iter *from, int32_t rows, const int64_t *want, int64_t n)
{
    t_bytes      state = t_iter_save(from);
    levada_iter *it = t_iter_open(WAITING, 1, rows);
    int64_t      values[70], got = 0;

    t_iter_restore(it, state);
    t_clear(&state);
    while (read_numbers(it, values, &got) == LEVADA_AGAIN) {}
    assert_int_equal(got, n);
    assert_memory_equal(values, want, (size_t)n * sizeof *want);
    levada_iter_close(&it);
}

/* Where an input has nothing for now, the records before it come, and a state has the rest. */
static void waiting_changes_no_record(void **state)
{
    const int32_t sizes[] = { 1, 7, 256 };
    levada_iter  *it = t_iter_open("mix(range:40 | map:{c:twice},spec={value:int64}; "
                                   "range:30,start=100 | shuffle:7):weights=[2,1]", 1, 16);
    int64_t       want[70], values[70], n = 0;

    (void)state;
    assert_int_equal(read_numbers(it, want, &n), LEVADA_END);
    assert_int_equal(n, 70);
    levada_iter_close(&it);
    for (int i = 0; i < 3; i++) {
        it = t_iter_open(WAITING, 1, sizes[i]);
        for (n = 0; read_numbers(it, values, &n) == LEVADA_AGAIN;) {
            expect_rest(it, sizes[2 - i], want + n, 70 - n);
        }
        assert_int_equal(n, 70);
        assert_memory_equal(values, want, sizeof want);
        levada_iter_close(&it);
    }
}

/* What a state holds of an input has the columns of all inputs, too. */
static void restored_records_have_the_columns_of_all(void **state)
{
    (void)state;
    t_iter_sweep("mix(t_rows:40,bare=true | select:[x,n]; t_rows:30,bare=true | select:[x,n] | "
                 "shuffle:7):weights=[2,1]", false, 1);
}

static int add_functions(void **state)
{
    (void)state;
    t_functions_add(t_iter_env());
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_input_comes_as_it_is),
        cmocka_unit_test(an_ended_input_drops_out),
        cmocka_unit_test(the_epoch_ends_as_stop_says),
        cmocka_unit_test(tokens_are_shared_by_weight),
        cmocka_unit_test(a_temperature_makes_weights_more_equal),
        cmocka_unit_test(each_stop_goes_on_after_a_restore),
        cmocka_unit_test(weights_change_at_their_steps),
        cmocka_unit_test(tokens_are_counted_from_the_begin_of_weights),
        cmocka_unit_test(weights_by_step_that_make_no_sense_are_refused),
        cmocka_unit_test(refuses_weights_that_do_not_fit),
        cmocka_unit_test(goes_on_after_a_restore),
        cmocka_unit_test(what_is_in_front_of_an_error_comes_first),
        cmocka_unit_test(an_error_comes_again_after_a_restore),
        cmocka_unit_test(no_position_lacks_what_was_lost),
        cmocka_unit_test(waiting_changes_no_record),
        cmocka_unit_test(restored_records_have_the_columns_of_all),
    };

    return cmocka_run_group_tests(tests, add_functions, NULL);
}
