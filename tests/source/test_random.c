/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source `random`, and what the core does for all numbered sources (run/node_numbered.c).
 */
#include "description/dataset_priv.h"
#include "option/value_priv.h"
#include "state/state_priv.h"
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ORIGIN_PARTS 6 /* columns of numbers that the origins in a state have (state_rows.c) */
#define ORIGIN_RECORD 4
#define TWICE "random:{c:twice},spec={value:int64},count=30"

static void returns_the_records_in_order(void **state)
{
    const int64_t want[] = { 0, 2, 4, 6, 8 };

    (void)state;
    t_expect_i64("random:{c:twice},count=5", "value", want, 5);
    t_expect_i64("random:{c:twice},count=5,spec={value:int64}", "value", want, 5);
    t_expect_i64(TWICE ",records=[2,5]", "value", want + 2, 3);
    t_expect_i64(TWICE ",records=[1,5],part=[1,2]", "value", want + 3, 2);
    t_expect_i64("random:{c:twice},count=0", "value", want, 0);
    t_expect_i64("range:3,start=1,shuffle_records=true,part=[1,3]", "value",
                 (const int64_t[]){ 2 }, 1);
    assert_int_equal(t_functions_open(), 0);
}

/* Marks the numbers that `text` emits, each of them once. */
static void mark_all(const char *text, int64_t seen[30])
{
    levada_iter *it = t_iter_open(text, 1, 7);
    int64_t      n, *values = t_iter_numbers(it, "value", &n);

    for (int64_t i = 0; i < n; i++) {
        assert_true(values[i] >= 0 && values[i] < 60 && values[i] % 2 == 0);
        seen[values[i] / 2]++;
    }
    free(values);
    levada_iter_close(&it);
}

static void shuffles_each_record_once(void **state)
{
    static const char *const parts[] = {
        TWICE ",shuffle_records=true,part=[0,4]", TWICE ",shuffle_records=true,part=[1,4]",
        TWICE ",shuffle_records=true,part=[2,4]", TWICE ",shuffle_records=true,part=[3,4]",
    };
    int64_t seen[30] = { 0 };
    int64_t n, *first, *second;

    (void)state;
    mark_all(TWICE ",shuffle_records=true", seen);
    for (int i = 0; i < 4; i++) mark_all(parts[i], seen);
    for (int i = 0; i < 30; i++) assert_int_equal(seen[i], 2);
    levada_iter *it = t_iter_open(TWICE ",shuffle_records=true | repeat:2", 1, 7);
    first = t_iter_numbers(it, "value", &n);
    assert_int_equal(n, 60);
    second = first + 30;
    assert_int_not_equal(memcmp(first, second, 30 * sizeof *first), 0);
    free(first);
    levada_iter_close(&it);
}

static void continues_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep(TWICE, false, 1);
    t_iter_sweep(TWICE ",shuffle_records=true", false, 1);
    t_iter_sweep(TWICE ",shuffle_records=true,part=[1,2] | repeat:3 | shuffle:8 | batch:3", true,
                 1);
    t_iter_sweep("range:30,shuffle_records=true | repeat:2 | shuffle:40", false, 3);
}

/* One part each of a zip, and of a mix. */
static void is_read_again_in_combiners(void **state)
{
    (void)state;
    t_iter_sweep("zip(" TWICE ",shuffle_records=true; range:30,shuffle_records=true | "
                 "rename:{value:other}) | shuffle:9", false, 3);
    t_iter_sweep("concat(" TWICE ",shuffle_records=true; range:30,shuffle_records=true) | "
                 "shuffle:9", false, 3);
}

static void a_rejected_row_is_a_bad_record(void **state)
{
    static const char *const orders[] = { "false", "true" };

    (void)state;
    for (int i = 0; i < 2; i++) {
        char         text[120];
        int64_t      n, *values;
        levada_iter *it;

        (void)snprintf(text, sizeof text,
                       "random:{c:picky},count=20,name=numbers,shuffle_records=%s", orders[i]);
        it = t_iter_open(text, 1, 7);
        t_iter_fails(it, LEVADA_EDATA_LOSS, "five");
        levada_iter_close(&it);
        it = t_iter_open_policy(text, "skip", 2, 7);
        values = t_iter_numbers(it, "value", &n);
        assert_int_equal(n, 16);
        for (int64_t k = 0; k < n; k++) assert_int_not_equal(values[k] % 5, 0);
        free(values);
        assert_int_equal(t_iter_stat(it, "skipped_records"), 4);
        levada_iter_close(&it);
    }
}

static void an_error_names_the_record(void **state)
{
    levada_iter *it = t_iter_open("random:{c:picky},count=20,name=numbers,records=[4,8]", 1, 7);

    (void)state;
    t_iter_fails_at(it, LEVADA_EDATA_LOSS, "numbers", 5, -1);
    levada_iter_close(&it);
}

static void refuses_what_does_not_fit(void **state)
{
    levada_iter *it = t_iter_open("random:{c:longer},count=5", 1, 7);
    t_bytes      saved;
    levada_error err = LEVADA_ERROR_INIT;

    (void)state;
    t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "5 records, got 6");
    levada_iter_close(&it);
    t_iter_refused("random:{c:twice}", LEVADA_EINVALID_ARGUMENT, "count");
    t_iter_refused(TWICE ",part=[2,2]", LEVADA_EINVALID_ARGUMENT, "part must be [i, n]");
    t_iter_refused(TWICE ",records=[3,2]", LEVADA_EINVALID_ARGUMENT, "records must be");
    t_iter_refused(TWICE ",records=[3,31]", LEVADA_EOUT_OF_RANGE, "exceeds the 30 records");
    it = t_iter_open(TWICE ",mark=a", 1, 7);
    saved = t_iter_save(it);
    levada_iter_close(&it);
    it = t_iter_open(TWICE ",mark=b", 1, 7);
    assert_int_equal(levada_iter_restore(it, saved.at, saved.size, &err),
                     LEVADA_EFAILED_PRECONDITION);
    assert_non_null(strstr(err.message, "mark"));
    levada_iter_close(&it);
    t_clear(&saved);
}

/* -- forged states */

/* A rank in step of two, which reads all records, or with `lengths` its own only. */
static levada_iter *open_rank(bool lengths)
{
    levada_iter_options how = LEVADA_ITER_OPTIONS_INIT;
    levada_dataset     *parsed = NULL, *source = NULL, *buckets = NULL;
    levada_value       *options = NULL, *item;
    levada_block       *all = NULL;
    levada_iter        *it = NULL;
    char               *text = NULL;
    int64_t             each[30];

    for (int64_t i = 0; i < 30; i++) each[i] = 2 * i;
    assert_int_equal(t_numbers_block(each, 0, 30, &all, NULL), LEVADA_OK);
    assert_int_equal(levada_dataset_parse(t_iter_env(), TWICE, &parsed, NULL), LEVADA_OK);
    assert_int_equal(levada_value_parse("{spec: {value: int64}, count: 30}", &options, NULL),
                     LEVADA_OK);
    item = levada_value_copy(levada_value_get(parsed->options, "fn"));
    assert_int_equal(levada_value_set(options, "fn", &item, NULL), LEVADA_OK);
    item = lengths ? levada_value_block(all) : levada_value_null();
    assert_int_equal(levada_value_set(options, "lengths", &item, NULL), LEVADA_OK);
    assert_int_equal(levada_dataset_append(t_iter_env(), "random", options, NULL, 0, &source,
                                           NULL), LEVADA_OK);
    levada_value_destroy(&options);
    assert_int_equal(levada_value_parse("{length: [value], boundaries: [20, 40], "
                                        "batch_sizes: [4], ranks: [0, 2]}", &options, NULL),
                     LEVADA_OK);
    assert_int_equal(levada_dataset_append(t_iter_env(), "bucket_by_sequence_length", options,
                                           (const levada_dataset *const *)&source, 1, &buckets,
                                           NULL), LEVADA_OK);
    how.threads = 1;
    how.block_rows = 7;
    assert_int_equal(levada_iter_open(buckets, &how, &it, NULL), LEVADA_OK);
    assert_int_equal(levada_iter_explain(it, &text, NULL), LEVADA_OK);
    assert_int_equal(strstr(text, "its own records") != NULL, lengths);
    levada_string_free(&text);
    levada_value_destroy(&options);
    levada_block_unref(&all);
    levada_dataset_unref(&parsed);
    levada_dataset_unref(&source);
    levada_dataset_unref(&buckets);
    return it;
}

/* The state in which the first of the records that wait has this number. */
static t_bytes forge_number(t_bytes saved, int64_t number)
{
    levada_state_reader from;
    levada_state_writer all = { 0 };
    t_bytes             made = { 0 };
    char               *bytes = NULL;
    size_t              size = 0;
    int                 forged = 0;

    assert_int_equal(levada_state_decode(saved.at, saved.size, t_iter_env(), &from, NULL),
                     LEVADA_OK);
    for (int32_t i = 0; i < from.n; i++) {
        levada_entry *e = &from.entries[i];
        size_t        n = e->size / sizeof(int64_t) / ORIGIN_PARTS;

        if (n > 0 && strcmp(e->key, "rows") == 0) { /* that wait in the stage */
            memcpy(e->data + ORIGIN_RECORD * n * sizeof(int64_t), &number, sizeof number);
            forged++;
        }
        assert_int_equal(levada_state_move(&all, e, NULL), LEVADA_OK);
    }
    assert_true(forged > 0);
    assert_int_equal(levada_state_encode(&all, &from.head, t_iter_env(), &bytes, &size, NULL),
                     LEVADA_OK);
    t_add(&made, bytes, size);
    levada_string_free(&bytes);
    levada_state_reader_clear(&from);
    levada_state_writer_clear(&all);
    return made;
}

static void a_state_names_no_record_that_does_not_exist(void **state)
{
    const int64_t numbers[] = { 30, -1, INT32_MAX };

    (void)state;
    for (int lengths = 0; lengths < 2; lengths++) {
        levada_iter  *it = open_rank(lengths);
        levada_block *block = NULL;
        t_bytes       saved;

        assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
        levada_block_unref(&block);
        saved = t_iter_save(it);
        levada_iter_close(&it);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            t_bytes      forged = forge_number(saved, numbers[i]);
            levada_error err = LEVADA_ERROR_INIT;
            char         text[64];

            (void)snprintf(text, sizeof text, "record %lld does not exist: the source has 30",
                           (long long)numbers[i]);
            it = open_rank(lengths);
            assert_int_equal(levada_iter_restore(it, forged.at, forged.size, &err),
                             LEVADA_EFAILED_PRECONDITION);
            if (!strstr(err.message, text)) fail_msg("%s", err.message);
            levada_iter_close(&it);
            t_clear(&forged);
        }
        t_clear(&saved);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(returns_the_records_in_order),
        cmocka_unit_test(shuffles_each_record_once),
        cmocka_unit_test(continues_after_a_restore),
        cmocka_unit_test(is_read_again_in_combiners),
        cmocka_unit_test(a_rejected_row_is_a_bad_record),
        cmocka_unit_test(an_error_names_the_record),
        cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(a_state_names_no_record_that_does_not_exist),
    };

    return cmocka_run_group_tests(tests, t_functions_set_up, NULL);
}
