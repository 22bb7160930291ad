/* SPDX-License-Identifier: Apache-2.0 */
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FIRST                                                                                    \
    "mix(range:60 | shuffle:9; range:50,start=100; range:40,start=200 | repeat:2):"              \
    "names=[a,b,c],weights=[1,2,1]"
#define SECOND                                                                                   \
    "mix(range:20,start=300; range:50,start=100; range:60 | shuffle:9):"                         \
    "names=[d,b,a],weights=[1,1,5]"
#define VALUES 400

static const char *const downstream[] = {
    "",
    " | shuffle:11",
    " | shuffle:11 | batch:4 | unbatch | shuffle:3",
    " | filter:\"value >= 0\" | prefetch:3 | shuffle:5",
};

static void restore_mix(levada_iter *it, t_bytes state)
{
    levada_error err = LEVADA_ERROR_INIT;

    if (levada_iter_restore_mix(it, state.at, state.size, &err) != LEVADA_OK) {
        fail_msg("%s", err.message);
    }
}

/* Counts how often each value comes in at most `blocks` blocks (-1 = all). */
static int count_values(levada_iter *it, int blocks, int times[VALUES])
{
    levada_block *block = NULL;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st = LEVADA_OK;
    int           n = 0;

    for (; n != blocks && (st = levada_iter_next(it, &block, &err)) == LEVADA_OK; n++) {
        const int64_t *values = levada_column_i64(levada_block_column(block, "value"));

        for (int64_t i = 0; i < block->n; i++) times[values[i] % VALUES]++;
        levada_block_unref(&block);
    }
    if (st < 0) fail_msg("%s", err.message);
    return n;
}

static void expect_times(const int times[VALUES], int first, int end, int want, int cut)
{
    for (int i = first; i < end; i++) {
        if (times[i] != want) fail_msg("cut %d: %d comes %d times", cut, i, times[i]);
    }
}

/* Returns the number of records of 'c' that the note says were drawn. */
static int drawn_of_removed(levada_iter *it)
{
    char       *json = NULL;
    const char *found;
    int         n = -1;

    assert_int_equal(levada_iter_stats(it, &json, NULL), LEVADA_OK);
    found = strstr(json, "'c' was removed after ");
    if (found) n = atoi(found + strlen("'c' was removed after "));
    levada_string_free(&json);
    return n;
}

/* A mixture that has come to its end, some records before the consumer has, begins nothing. */
static int change_at(const char *stages, int cut, int32_t threads, int32_t block_rows)
{
    char         first[400], second[400];
    levada_iter *it, *other;
    t_bytes      state;
    int          times[VALUES] = { 0 }, ended, begins, removed = 0;

    (void)snprintf(first, sizeof first, FIRST "%s", stages);
    (void)snprintf(second, sizeof second, SECOND "%s", stages);
    it = t_iter_open(first, threads, block_rows);
    other = t_iter_open(second, 4 / threads, 1 + block_rows / 2);
    ended = count_values(it, cut, times) < cut;
    state = t_iter_save(it);
    restore_mix(other, state);
    (void)count_values(other, -1, times);
    expect_times(times, 0, 60, 1, cut);
    expect_times(times, 100, 150, 1, cut);
    begins = times[300];
    expect_times(times, 300, 320, begins, cut);
    for (int i = 200; i < 240; i++) removed += times[i];
    if (!begins) assert_int_equal(removed, 80);
    if (ended) assert_false(begins);
    assert_int_equal(removed, drawn_of_removed(other));
    levada_iter_close(&it);
    levada_iter_close(&other);
    t_clear(&state);
    return ended;
}

static void inputs_of_both_continue_and_others_begin(void **state)
{
    const int32_t sizes[] = { 1, 7, 256 };

    (void)state;
    for (size_t k = 0; k < sizeof downstream / sizeof *downstream; k++) {
        for (int32_t i = 0; i < 9; i++) {
            for (int cut = 0; !change_at(downstream[k], cut, 1 << (i % 3), sizes[i / 3]);) {
                cut += 1 + (i / 3 == 0 ? cut / 3 : 0);
            }
        }
    }
}

/* What was restored so is a position like any other one. */
static void a_changed_mixture_is_saved_and_restored(void **state)
{
    levada_iter *it = t_iter_open(FIRST " | shuffle:11", 2, 7);
    levada_iter *other = t_iter_open(SECOND " | shuffle:11", 2, 7);
    levada_iter *again = t_iter_open(SECOND " | shuffle:11", 1, 4);
    t_bytes      saved, rest = { 0 }, same = { 0 };
    int          times[VALUES] = { 0 };

    (void)state;
    (void)count_values(it, 6, times);
    saved = t_iter_save(it);
    restore_mix(other, saved);
    t_clear(&saved);
    (void)count_values(other, 2, times);
    saved = t_iter_save(other);
    t_iter_restore(again, saved);
    (void)t_iter_read(other, -1, false, &rest);
    (void)t_iter_read(again, -1, false, &same);
    t_bytes_equal(rest, same, "the rest");
    restore_mix(again, saved);
    t_clear(&same);
    (void)t_iter_read(again, -1, false, &same);
    t_bytes_equal(rest, same, "the rest, with the same mixture");
    t_clear(&rest);
    t_clear(&same);
    t_clear(&saved);
    levada_iter_close(&it);
    levada_iter_close(&other);
    levada_iter_close(&again);
}

/* Returns what is left after a restore that has to fail. */
static void refused(const char *text, const char *other, levada_status code, const char *message)
{
    levada_iter  *it = t_iter_open(text, 1, 4), *mine = t_iter_open(other, 1, 4);
    levada_block *block = NULL;
    levada_error  err = LEVADA_ERROR_INIT;
    t_bytes       state, all = t_iter_all(other, false), rest = { 0 };

    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    levada_block_unref(&block);
    state = t_iter_save(it);
    assert_int_equal(levada_iter_restore_mix(mine, state.at, state.size, &err), code);
    if (!strstr(err.message, message)) fail_msg("'%s' is not in '%s'", message, err.message);
    (void)t_iter_read(mine, -1, false, &rest);
    t_bytes_equal(all, rest, "an iterator that refused a state");
    levada_iter_close(&it);
    levada_iter_close(&mine);
    t_clear(&state);
    t_clear(&all);
    t_clear(&rest);
}

static void all_but_mixtures_must_be_the_same(void **state)
{
    const levada_status other = LEVADA_EFAILED_PRECONDITION;

    (void)state;
    refused(FIRST, SECOND " | shuffle:4", other, "another pipeline");
    refused(FIRST " | shuffle:5", SECOND " | shuffle:4", other, "another pipeline");
    refused("mix(range:9; range:8):names=[a,b]", "mix(range:9; range:7):names=[a,b]", other,
            "another pipeline");
    refused("mix(range:9; range:8)", "mix(range:9; range:8):weights=[1,2]", other,
            "another pipeline");
    refused("mix(range:9; range:8):names=[a,b]", "mix(range:9; range:8)", other,
            "another pipeline");
    refused("mix(range:9; range:8):names=[a,b]", "mix(range:9):names=[a],stop=first_exhausted",
            other, "another pipeline");
    refused("mix(range:9; range:8):names=[a,b]", "mix(range:9):names=[a],seed=3", other,
            "another pipeline");
    refused("range:9", "mix(range:9):names=[a]", other, "another pipeline");
}

static void what_is_no_state_is_refused(void **state)
{
    levada_iter *it = t_iter_open(FIRST, 1, 4);
    t_bytes      saved = t_iter_save(it);

    (void)state;
    assert_int_equal(levada_iter_restore_mix(it, "", 0, NULL), LEVADA_EDATA_LOSS);
    for (size_t size = 0; size < saved.size; size += 7) {
        assert_int_equal(levada_iter_restore_mix(it, saved.at, size, NULL), LEVADA_EDATA_LOSS);
    }
    restore_mix(it, saved);
    levada_iter_close(&it);
    t_clear(&saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_of_both_continue_and_others_begin),
        cmocka_unit_test(a_changed_mixture_is_saved_and_restored),
        cmocka_unit_test(all_but_mixtures_must_be_the_same),
        cmocka_unit_test(what_is_no_state_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
