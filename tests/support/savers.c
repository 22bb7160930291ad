/* SPDX-License-Identifier: Apache-2.0 */
#include "support/savers.h"

#include "support/queues.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

levada_state_saver_options test_saver_options(int64_t batch_size, int64_t num_unroll)
{
    levada_state_saver_options o = LEVADA_STATE_SAVER_OPTIONS_INIT;

    o.batch_size = batch_size;
    o.num_unroll = num_unroll;
    o.name = "saver";
    return o;
}

levada_state_saver *test_saver_of(const levada_state_saver_options *options)
{
    const levada_shape         scalar = { 0, { 0 } }, floats = { 1, { TEST_SAVER_H } };
    const levada_saver_field   tokens = { "tokens", LEVADA_INT64, scalar, false };
    const levada_saver_field   id = { "id", LEVADA_INT64, scalar, false };
    const levada_saver_field   states[] = { { "h", LEVADA_FLOAT32, floats, false },
                                            { "c", LEVADA_INT64, scalar, false } };
    levada_state_saver_options all = *options;
    levada_state_saver        *saver = NULL;
    levada_error               err = LEVADA_ERROR_INIT;

    all.nsequences = all.ncontext = 1;
    all.nstates = 2;
    all.sequences = &tokens;
    all.context = &id;
    all.states = states;
    if (levada_state_saver_create(NULL, &all, &saver, &err) != LEVADA_OK) {
        fail_msg("%s", err.message);
    }
    return saver;
}

levada_state_saver *test_saver(int64_t batch_size, int64_t num_unroll)
{
    levada_state_saver_options o = test_saver_options(batch_size, num_unroll);

    return test_saver_of(&o);
}

levada_status test_saver_insert(levada_state_saver *saver, int64_t k, int64_t steps,
                                int64_t ordinal, bool reserved, int64_t timeout, levada_error *err)
{
    int64_t             *data = malloc((size_t)(steps + 1) * sizeof(*data));
    int64_t              floats = TEST_SAVER_H;
    const float          zero[TEST_SAVER_H] = { 0 };
    char                 key[32];
    levada_saver_example e = LEVADA_SAVER_EXAMPLE_INIT;
    levada_status        st;

    assert_non_null(data);
    for (int64_t t = 0; t < steps; t++) data[t] = k * 10000 + t;
    levada_tensor *tokens = test_tensor(LEVADA_INT64, 1, &steps, data);
    levada_tensor *id = test_tensor(LEVADA_INT64, 0, NULL, &k);
    levada_tensor *states[] = { test_tensor(LEVADA_FLOAT32, 1, &floats, zero),
                                test_tensor(LEVADA_INT64, 0, NULL, &k) };
    free(data);
    e.key_size = (size_t)snprintf(key, sizeof(key), "k%lld", (long long)k);
    e.key = key;
    e.length = steps;
    e.ordinal = ordinal;
    e.sequences = &tokens;
    e.context = &id;
    e.states = states;
    st = levada_state_saver_insert(saver, &e, reserved, timeout, err);
    levada_tensor_unref(&tokens);
    levada_tensor_unref(&id);
    levada_tensor_unref(&states[0]);
    levada_tensor_unref(&states[1]);
    return st;
}

void test_saver_put(levada_state_saver *saver, int64_t k, int64_t steps)
{
    levada_error err = LEVADA_ERROR_INIT;

    if (test_saver_insert(saver, k, steps, -1, false, 0, &err) != LEVADA_OK) {
        fail_msg("%s", err.message);
    }
}

static void savers_key(const levada_tensor *keys, int64_t row, char *to)
{
    const int32_t *at = levada_tensor_offsets(keys) + row;

    memcpy(to, (const char *)levada_tensor_data(keys) + at[0], (size_t)(at[1] - at[0]));
    to[at[1] - at[0]] = '\0';
}

static int64_t savers_i64(const levada_tensor *t, int64_t i)
{
    return ((const int64_t *)levada_tensor_data(t))[i];
}

static int32_t savers_i32(const levada_tensor *t, int64_t i)
{
    return ((const int32_t *)levada_tensor_data(t))[i];
}

/* Everything of a row that follows from its key. */
static int64_t savers_check_row(const levada_segment_view *v, int64_t row)
{
    char      key[64], next[64], expected[64];
    long long segment, count, k;
    int64_t   unroll = levada_tensor_shape(v->sequences[0])->dims[1];
    int64_t   length = savers_i32(v->total_length, row);

    savers_key(v->key, row, key);
    savers_key(v->next_key, row, next);
    assert_int_equal(sscanf(key, "%lld_of_%lld:k%lld", &segment, &count, &k), 3);
    snprintf(expected, sizeof(expected), "%05lld_of_%05lld:k%lld", segment, count, k);
    assert_string_equal(key, expected);
    snprintf(expected, sizeof(expected), "%05lld_of_%05lld:k%lld", segment + 1, count, k);
    if (segment + 1 == count) snprintf(expected, sizeof(expected), "STOP:k%lld", k);
    assert_string_equal(next, expected);
    assert_int_equal(savers_i32(v->sequence, row), segment);
    assert_int_equal(savers_i32(v->sequence_count, row), count);
    assert_int_equal(savers_i64(v->context[0], row), k);
    assert_int_equal(savers_i64(v->states[1], row), k + segment);
    for (int64_t i = 0; i < TEST_SAVER_H; i++) {
        float h = ((const float *)levada_tensor_data(v->states[0]))[row * TEST_SAVER_H + i];

        assert_true(h == (float)segment);
    }
    int64_t real = length - segment * unroll;
    real = real < 0 ? 0 : real > unroll ? unroll : real;
    assert_int_equal(savers_i32(v->length, row), real);
    for (int64_t t = 0; t < unroll; t++) {
        int64_t want = t < real ? k * 10000 + segment * unroll + t : 0;

        assert_int_equal(savers_i64(v->sequences[0], row * unroll + t), want);
    }
    return savers_i64(v->insertion_index, row);
}

static levada_segment_view savers_view(levada_segment_batch *batch)
{
    levada_segment_view v = LEVADA_SEGMENT_VIEW_INIT;

    assert_int_equal(levada_segment_batch_get(batch, &v, NULL), LEVADA_OK);
    return v;
}

levada_segment_batch *test_saver_wait(levada_state_saver *saver, int64_t n, int64_t timeout,
                                      levada_status *status, levada_error *err)
{
    levada_segment_batch *batch = NULL;
    int64_t               before = INT64_MIN;

    *status = levada_state_saver_next(saver, n, timeout, &batch, err);
    if (*status != LEVADA_OK) return NULL;
    levada_segment_view v = savers_view(batch);
    for (int64_t i = 0; i < v.n; i++) {
        int64_t index = savers_check_row(&v, i);

        assert_true(i == 0 || index > before);
        before = index;
    }
    return batch;
}

levada_segment_batch *test_saver_take(levada_state_saver *saver, int64_t n)
{
    levada_status         st;
    levada_error          err = LEVADA_ERROR_INIT;
    levada_segment_batch *batch = test_saver_wait(saver, n, 0, &st, &err);

    if (st != LEVADA_OK && st != LEVADA_EDEADLINE_EXCEEDED && st != LEVADA_EOUT_OF_RANGE) {
        fail_msg("%s", err.message);
    }
    return batch;
}

int64_t test_batch_rows(levada_segment_batch *batch, int64_t *k, int64_t *segment)
{
    levada_segment_view v = savers_view(batch);

    for (int64_t i = 0; i < v.n; i++) {
        k[i] = savers_i64(v.context[0], i);
        segment[i] = savers_i32(v.sequence, i);
    }
    return v.n;
}

const char *test_batch_text(levada_segment_batch *batch, char *text)
{
    int64_t k[256], segment[256], n = batch != NULL ? test_batch_rows(batch, k, segment) : 0;
    char   *to = text;

    *to = '\0';
    for (int64_t i = 0; i < n; i++) {
        to += sprintf(to, "%sk%lld/%lld", i > 0 ? " " : "", (long long)k[i], (long long)segment[i]);
    }
    return text;
}

levada_status test_batch_save(levada_segment_batch *batch, levada_error *err)
{
    levada_segment_view v = savers_view(batch);
    int64_t             dims[] = { v.n, TEST_SAVER_H };
    levada_tensor      *h = test_tensor(LEVADA_FLOAT32, 2, dims, levada_tensor_data(v.states[0]));
    levada_tensor      *c = test_tensor(LEVADA_INT64, 1, dims, levada_tensor_data(v.states[1]));
    levada_status       st;

    for (int64_t i = 0; i < v.n; i++) {
        for (int64_t j = 0; j < TEST_SAVER_H; j++) {
            ((float *)levada_tensor_data(h))[i * TEST_SAVER_H + j] += 1;
        }
        ((int64_t *)levada_tensor_data(c))[i]++;
    }
    st = levada_segment_batch_save(batch, 1, c, err);
    if (st == LEVADA_OK) st = levada_segment_batch_save(batch, 0, h, err);
    levada_tensor_unref(&h);
    levada_tensor_unref(&c);
    return st;
}

void test_saver_step(levada_state_saver *saver, int64_t n, const char *rows)
{
    levada_segment_batch *batch = test_saver_take(saver, n);
    char                  text[4096];
    levada_error          err = LEVADA_ERROR_INIT;

    assert_string_equal(test_batch_text(batch, text), rows);
    if (batch == NULL) return;
    if (test_batch_save(batch, &err) != LEVADA_OK) fail_msg("%s", err.message);
    levada_segment_batch_destroy(&batch);
}

levada_state_saver_stats test_saver_stats(const levada_state_saver *saver)
{
    levada_state_saver_stats stats = LEVADA_STATE_SAVER_STATS_INIT;

    assert_int_equal(levada_state_saver_get_stats(saver, &stats, NULL), LEVADA_OK);
    return stats;
}
