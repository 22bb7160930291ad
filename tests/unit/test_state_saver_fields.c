/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of all kinds, padding, keys, and the memory of what is live. */
#include "support/queues.h"
#include "support/savers.h"
#include "tensor/pool.h"

#include <levada/levada.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* One dense and one ragged sequence, one dense and one ragged context, one state of strings. */
static const levada_saver_field sequences[] = { { "words", LEVADA_NONE, { -1, { 0 } }, false },
                                                { "links", LEVADA_INT64, { 0, { 0 } }, true } };
static const levada_saver_field context[] = { { "tags", LEVADA_BYTES, { 0, { 0 } }, true },
                                              { "size", LEVADA_NONE, { -1, { 0 } }, false } };
static const levada_saver_field states[] = { { "name", LEVADA_NONE, { -1, { 0 } }, false } };

static levada_state_saver *make(bool pad, bool unique)
{
    levada_state_saver_options o = test_saver_options(2, 2);
    levada_state_saver        *s = NULL;

    o.pad = pad;
    o.make_keys_unique = unique;
    o.nsequences = o.ncontext = 2;
    o.nstates = 1;
    o.sequences = sequences;
    o.context = context;
    o.states = states;
    assert_int_equal(levada_state_saver_create(NULL, &o, &s, NULL), LEVADA_OK);
    return s;
}

/* Words w0, w1, ...; step t has t links k * 100 + 0, 1, ...; tags "x" k times; the state "s". */
static levada_status insert(levada_state_saver *s, const char *key, int64_t k, int64_t words,
                            int64_t linked, int64_t length, levada_error *err)
{
    const char *text[16] = { "w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7" };
    const char *tags[16] = { "x", "x", "x", "x", "x", "x", "x", "x" }, *name = "s";
    int64_t     links[64], marks[16] = { 0 }, n = linked + 1;

    for (int64_t t = 0; t < linked; t++) {
        for (int64_t i = 0; i < t; i++) links[marks[t] + i] = k * 100 + i;
        marks[t + 1] = marks[t] + t;
    }
    levada_tensor *seq[] = { test_strings(1, &words, text),
                             test_tensor(LEVADA_INT64, 1, &marks[linked], links) };
    levada_tensor *offsets[] = { NULL, test_tensor(LEVADA_INT64, 1, &n, marks) };
    levada_tensor *ctx[] = { test_strings(1, &k, tags), test_tensor(LEVADA_INT32, 0, NULL, &k) };
    levada_tensor *init[] = { test_strings(0, NULL, &name) };
    levada_saver_example e = LEVADA_SAVER_EXAMPLE_INIT;
    e.key = key;
    e.key_size = strlen(key);
    e.length = length;
    e.sequences = seq;
    e.offsets = offsets;
    e.context = ctx;
    e.states = init;
    levada_status st = levada_state_saver_insert(s, &e, false, 0, err);
    levada_tensor *all[] = { seq[0], seq[1], offsets[1], ctx[0], ctx[1], init[0] };
    for (int i = 0; i < 6; i++) levada_tensor_unref(&all[i]);
    return st;
}

static levada_segment_view take(levada_state_saver *s, levada_segment_batch **batch)
{
    levada_segment_view v = LEVADA_SEGMENT_VIEW_INIT;

    assert_int_equal(levada_state_saver_next(s, -1, 0, batch, NULL), LEVADA_OK);
    assert_int_equal(levada_segment_batch_get(*batch, &v, NULL), LEVADA_OK);
    return v;
}

/* Strings with commas between them. */
static void expect_strings(const levada_tensor *t, const char *want)
{
    const int32_t *at = levada_tensor_offsets(t);
    char           text[512] = "", *to = text;

    for (int64_t i = 0; i < levada_tensor_count(t); i++) {
        to += sprintf(to, "%s%.*s", i > 0 ? "," : "", (int)(at[i + 1] - at[i]),
                      (const char *)levada_tensor_data(t) + at[i]);
    }
    assert_string_equal(text, want);
}

static void expect_numbers(const levada_tensor *t, int64_t n, const int64_t *want)
{
    assert_int_equal(levada_tensor_count(t), n);
    for (int64_t i = 0; i < n; i++) {
        int64_t have = levada_tensor_dtype(t) == LEVADA_INT32
                           ? ((const int32_t *)levada_tensor_data(t))[i]
                           : ((const int64_t *)levada_tensor_data(t))[i];

        assert_int_equal(have, want[i]);
    }
}

static void save_names(levada_segment_batch **batch, const char *a, const char *b)
{
    const char    *names[] = { a, b };
    int64_t        two = 2;
    levada_tensor *t = test_strings(1, &two, names);

    assert_int_equal(levada_segment_batch_save(*batch, 0, t, NULL), LEVADA_OK);
    levada_tensor_unref(&t);
    levada_segment_batch_destroy(batch);
}

/* Words of 3 steps are padded to 4; links of a and b have 3 and 1 steps. */
static void ragged_and_string_fields_are_cut(void **state)
{
    levada_state_saver   *s = make(true, false);
    levada_segment_batch *batch = NULL;
    levada_segment_view   v;

    (void)state;
    assert_int_equal(insert(s, "a", 1, 3, 3, -1, NULL), LEVADA_OK);
    assert_int_equal(insert(s, "b", 2, 3, 1, 2, NULL), LEVADA_OK);
    v = take(s, &batch);
    expect_strings(v.key, "00000_of_00002:a,00000_of_00002:b");
    expect_strings(v.sequences[0], "w0,w1,w0,w1");
    expect_numbers(v.sequences[1], 1, (int64_t[]){ 100 });
    expect_numbers(v.sequence_offsets[1], 5, (int64_t[]){ 0, 0, 1, 1, 1 });
    assert_null(v.sequence_offsets[0]);
    expect_strings(v.context[0], "x,x,x");
    expect_numbers(v.context_offsets[0], 3, (int64_t[]){ 0, 1, 3 });
    expect_numbers(v.context[1], 2, (int64_t[]){ 1, 2 });
    expect_strings(v.states[0], "s,s");
    expect_numbers(v.length, 2, (int64_t[]){ 2, 2 });
    save_names(&batch, "first", "second");
    v = take(s, &batch);
    expect_strings(v.next_key, "STOP:a,STOP:b");
    expect_strings(v.sequences[0], "w2,,w2,");
    expect_numbers(v.sequences[1], 2, (int64_t[]){ 100, 101 });
    expect_numbers(v.sequence_offsets[1], 5, (int64_t[]){ 0, 2, 2, 2, 2 });
    expect_strings(v.states[0], "first,second");
    expect_numbers(v.length, 2, (int64_t[]){ 1, 0 });
    expect_numbers(v.total_length, 2, (int64_t[]){ 3, 2 });
    levada_segment_batch_destroy(&batch);
    levada_state_saver_unref(&s);
}

static void refuse(levada_state_saver *s, int64_t words, int64_t linked, int64_t length,
                   const char *text)
{
    levada_error err = LEVADA_ERROR_INIT;

    assert_int_equal(insert(s, "k", 1, words, linked, length, &err), LEVADA_EINVALID_ARGUMENT);
    if (strstr(err.message, text) == NULL) fail_msg("'%s' is not in '%s'", text, err.message);
    assert_int_equal(test_saver_stats(s).live, 0);
}

static void steps_must_match(void **state)
{
    levada_state_saver *s = make(false, false);

    (void)state;
    refuse(s, 4, 2, 4, "labeled sorted_sequences_links should be: 4, shape received: 2");
    refuse(s, 3, 3, 3, "should be a multiple of: 2, but saw value: 3");
    refuse(s, 4, 4, 5, "Input length should be <= than length from sequences: 5");
    refuse(s, 4, 4, -1, "Input length"); /* only with pad */
    levada_state_saver_unref(&s);
    s = make(true, false);
    refuse(s, 2, 3, -1, "All sequence lengths must match, but received lengths: 2 and 3");
    assert_int_equal(insert(s, "k", 1, 3, 3, 4, NULL), LEVADA_OK); /* 4 = 3, padded */
    levada_state_saver_unref(&s);
}

/* The first good example fixes dtypes and shapes; a bad one does not. */
static void the_first_example_fixes_what_is_open(void **state)
{
    levada_state_saver  *s = make(true, false);
    int64_t              one = 1, marks[2] = { 0, 1 }, two = 2;
    const char          *word = "w";
    levada_error         err = LEVADA_ERROR_INIT;
    levada_saver_example e = LEVADA_SAVER_EXAMPLE_INIT;

    (void)state;
    levada_tensor *numbers = test_tensor(LEVADA_INT64, 1, &one, marks);
    levada_tensor *offsets[] = { NULL, test_tensor(LEVADA_INT64, 1, &two, marks) };
    levada_tensor *bad[] = { NULL, numbers }, *seq[] = { numbers, numbers };
    levada_tensor *tags = test_strings(1, &one, &word), *ctx[] = { tags, tags };
    e.key = "a";
    e.key_size = 1;
    e.sequences = bad;
    e.offsets = offsets;
    e.context = ctx;
    e.states = ctx;
    assert_int_equal(levada_state_saver_insert(s, &e, false, 0, &err), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "sequence 'words' of key 'a' is missing"));
    marks[1] = 2;
    e.sequences = seq;
    ((int64_t *)levada_tensor_data(offsets[1]))[1] = 2;
    assert_int_equal(levada_state_saver_insert(s, &e, false, 0, &err), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "ascend from 0 to its number of values, 1"));
    assert_int_equal(insert(s, "b", 1, 2, 2, -1, NULL), LEVADA_OK);
    ((int64_t *)levada_tensor_data(offsets[1]))[1] = 1;
    assert_int_equal(levada_state_saver_insert(s, &e, false, 0, &err), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "sequence 'words' of key 'a' is int64, not string"));
    levada_tensor *all[] = { numbers, offsets[1], tags };
    for (int i = 0; i < 3; i++) levada_tensor_unref(&all[i]);
    levada_state_saver_unref(&s);
}

static void unique_keys_get_a_number(void **state)
{
    levada_state_saver   *s = make(true, true);
    levada_segment_batch *batch = NULL;
    levada_segment_view   v;

    (void)state;
    for (int i = 0; i < 2; i++) assert_int_equal(insert(s, "STOP:x", 1, 2, 2, 2, NULL), LEVADA_OK);
    v = take(s, &batch);
    expect_strings(v.key, "00000_of_00001:STOP:x00000000,00000_of_00001:STOP:x00000001");
    levada_segment_batch_destroy(&batch);
    levada_state_saver_unref(&s);
}

/* A key of six digits; every segment of a long sequence comes once, in order. */
static void more_segments_than_five_digits(void **state)
{
    levada_state_saver *s = test_saver(1, 1);
    int64_t             k, segment;

    (void)state;
    test_saver_put(s, 1, 100003);
    for (int64_t i = 0; i < 100003; i++) {
        levada_segment_batch *batch = NULL;

        if (i % 1000 == 0 || i > 99990) {
            batch = test_saver_take(s, 1);
            assert_int_equal(test_batch_rows(batch, &k, &segment), 1);
            assert_int_equal(segment, i);
            assert_int_equal(test_batch_save(batch, NULL), LEVADA_OK);
        } else {
            levada_segment_view v = LEVADA_SEGMENT_VIEW_INIT;
            int64_t             dims[] = { 1, TEST_SAVER_H }, next = 1 + i + 1;
            float               h[] = { (float)(i + 1), (float)(i + 1), (float)(i + 1) };

            assert_int_equal(levada_state_saver_next(s, 1, 0, &batch, NULL), LEVADA_OK);
            assert_int_equal(levada_segment_batch_get(batch, &v, NULL), LEVADA_OK);
            levada_tensor *t[] = { test_tensor(LEVADA_FLOAT32, 2, dims, h),
                                   test_tensor(LEVADA_INT64, 1, dims, &next) };
            for (int32_t j = 0; j < 2; j++) {
                assert_int_equal(levada_segment_batch_save(batch, j, t[j], NULL), LEVADA_OK);
                levada_tensor_unref(&t[j]);
            }
        }
        levada_segment_batch_destroy(&batch);
    }
    assert_int_equal(test_saver_stats(s).finished, 1);
    levada_state_saver_unref(&s);
}

/* Rows that were permuted by different lengths keep their states: checked by test_saver_take. */
static void states_follow_their_rows(void **state)
{
    levada_state_saver *s = test_saver(4, 2);

    (void)state;
    for (int64_t k = 0; k < 6; k++) test_saver_put(s, k, 2 + 2 * (k % 3));
    test_saver_step(s, 4, "k0/0 k1/0 k2/0 k3/0");
    test_saver_step(s, 4, "k1/1 k2/1 k4/0 k5/0");
    test_saver_step(s, 1, "k2/2");
    test_saver_step(s, 2, "k4/1 k5/1");
    test_saver_step(s, 1, "k5/2");
    levada_state_saver_unref(&s);
}

/* Whatever is inserted and taken, data stays within capacity x longest sequence, and states within
 * a small multiple of theirs. */
static void memory_is_bounded_by_the_capacity(void **state)
{
    enum { CAPACITY = 8, STEPS = 8192, STATE = 4096 };
    const levada_shape         scalar = { 0, { 0 } };
    const levada_saver_field   x = { "x", LEVADA_INT64, scalar, false };
    const levada_saver_field   h = { "h", LEVADA_FLOAT32, { 1, { STATE } }, false };
    levada_state_saver_options o = test_saver_options(4, 1024);
    levada_env                *env = NULL;
    levada_state_saver        *s = NULL;
    levada_saver_example       e = LEVADA_SAVER_EXAMPLE_INIT;
    int64_t                    most = 0;
    char                       key[16];

    (void)state;
    assert_int_equal(levada_env_create(NULL, &env, NULL), LEVADA_OK);
    o.capacity = CAPACITY;
    o.nsequences = o.nstates = 1;
    o.sequences = &x;
    o.states = &h;
    assert_int_equal(levada_state_saver_create(env, &o, &s, NULL), LEVADA_OK);
    for (int64_t k = 0; k < 200;) {
        levada_shape          shape = { 1, { STEPS - 1024 * (k % 8) } }, row = { 1, { STATE } };
        levada_shape          rows = { 2, { 4, STATE } };
        levada_tensor        *data = NULL, *start = NULL, *next = NULL;
        levada_segment_batch *batch = NULL;

        assert_int_equal(levada_tensor_create(env, LEVADA_INT64, &shape, NULL, &data, NULL), 0);
        assert_int_equal(levada_tensor_create(env, LEVADA_FLOAT32, &row, NULL, &start, NULL), 0);
        e.key_size = (size_t)snprintf(key, sizeof(key), "%d", (int)k);
        e.key = key;
        e.length = shape.dims[0];
        e.sequences = &data;
        e.states = &start;
        levada_status st = levada_state_saver_insert(s, &e, false, 0, NULL);
        levada_tensor_unref(&data);
        levada_tensor_unref(&start);
        k += st == LEVADA_OK;
        if (levada_pool_used(levada_env_pool(env)) > most) {
            most = levada_pool_used(levada_env_pool(env));
        }
        if (st == LEVADA_OK) continue;
        assert_int_equal(st, LEVADA_EDEADLINE_EXCEEDED);
        assert_int_equal(levada_state_saver_next(s, -1, 0, &batch, NULL), LEVADA_OK);
        assert_int_equal(levada_tensor_create(env, LEVADA_FLOAT32, &rows, NULL, &next, NULL), 0);
        assert_int_equal(levada_segment_batch_save(batch, 0, next, NULL), LEVADA_OK);
        levada_tensor_unref(&next);
        levada_segment_batch_destroy(&batch);
    }
    /* Buffers of the pool may be twice as large as what they hold. */
    assert_in_range(most, CAPACITY * STEPS * 4, 2 * CAPACITY * (STEPS * 8 + 4 * STATE * 4));
    levada_state_saver_unref(&s);
    assert_int_equal(levada_pool_used(levada_env_pool(env)), 0);
    levada_env_destroy(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ragged_and_string_fields_are_cut),
        cmocka_unit_test(steps_must_match),
        cmocka_unit_test(the_first_example_fixes_what_is_open),
        cmocka_unit_test(unique_keys_get_a_number),
        cmocka_unit_test(more_segments_than_five_digits),
        cmocka_unit_test(states_follow_their_rows),
        cmocka_unit_test(memory_is_bounded_by_the_capacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
