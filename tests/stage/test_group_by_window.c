/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of records with the same key, against a model.
 */
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MOST 80

typedef struct window {
    int64_t key, n, numbers[MOST];
} window;

typedef struct model {
    int64_t nopen, ndone;
    window  open[MOST], done[MOST];
} model;

/* The window of a key, in ascending order of keys. */
static window *model_find(model *m, int64_t key)
{
    int64_t i = 0;

    while (i < m->nopen && m->open[i].key < key) i++;
    if (i < m->nopen && m->open[i].key == key) return &m->open[i];
    memmove(&m->open[i + 1], &m->open[i], (size_t)(m->nopen++ - i) * sizeof m->open[0]);
    m->open[i] = (window){ .key = key };
    return &m->open[i];
}

static void model_leave(model *m, window *w)
{
    m->done[m->ndone++] = *w;
    memmove(w, w + 1, (size_t)(m->open + m->nopen - w - 1) * sizeof *w);
    m->nopen--;
}

static void expect_windows(const char *text, const model *m)
{
    static const int32_t rows[] = { 1, 7, 256 };

    for (int32_t how = 0; how < 3; how++) {
        levada_iter  *it = t_iter_open(text, how == 1 ? 4 : 1, rows[how]);
        levada_block *batch = NULL;

        for (int64_t i = 0; i < m->ndone; i++) {
            const window *w = &m->done[i];

            assert_int_equal(levada_iter_next(it, &batch, NULL), LEVADA_OK);
            assert_int_equal(levada_block_rows(batch), w->n);
            assert_memory_equal(levada_column_i64(levada_block_column(batch, "n")), w->numbers,
                                (size_t)w->n * sizeof w->numbers[0]);
            levada_block_unref(&batch);
        }
        assert_int_equal(levada_iter_next(it, &batch, NULL), LEVADA_END);
        levada_iter_close(&it);
    }
}

static void a_window_has_records_with_one_key(void **state)
{
    static const int64_t lengths[] = { 3, 0, 5, 1, 17, 2, 9, 4 };

    (void)state;
    for (int64_t divide = 1; divide <= 6; divide++) {
        model m = { 0 };
        char  text[160];

        for (int64_t i = 0; i < MOST; i++) {
            window *w = model_find(&m, lengths[i % 8] / divide);

            w->numbers[w->n++] = i;
            if (w->n == divide) model_leave(&m, w);
        }
        while (m.nopen) model_leave(&m, &m.open[0]);
        (void)snprintf(text, sizeof text,
                       "t_rows:%d,bare=true | group_by_window:\"l // %lld\",window_size=%lld", MOST,
                       (long long)divide, (long long)divide);
        expect_windows(text, &m);
    }
}

static void many_keys_may_be_open(void **state)
{
    model m = { 0 };

    (void)state;
    for (int64_t i = MOST; i-- > 0;) {
        window *w = model_find(&m, i);

        w->numbers[w->n++] = i;
    }
    while (m.nopen) model_leave(&m, &m.open[0]);
    expect_windows("t_rows:80,bare=true | shuffle:80 | group_by_window:n,window_size=2", &m);
}

static void a_field_may_have_the_window_size(void **state)
{
    model m = { 0 };

    (void)state;
    for (int64_t i = 0; i < 40; i++) {
        window *w = model_find(&m, i % 2 ? 3 : 2);

        w->numbers[w->n++] = i;
        if (w->n == w->key) model_leave(&m, w);
    }
    while (m.nopen) model_leave(&m, &m.open[0]);
    expect_windows("t_rows:40,bare=true,lengths=[2,3] | "
                   "group_by_window:\"len(x)\",window_size_field=l",
                   &m);
}

/* The strings of t_rows differ in length and content; some are empty. */
static void byte_strings_are_keys(void **state)
{
    levada_iter  *it = t_iter_open("t_rows:40,lengths=[2,0,5] | "
                                   "group_by_window:s,window_size=3,drop_remainder=false", 1, 7);
    levada_block *batch = NULL;
    char          last[200] = "";
    int64_t       records = 0;
    bool          flushed = false;

    (void)state;
    while (levada_iter_next(it, &batch, NULL) == LEVADA_OK) {
        int64_t              n = levada_block_rows(batch), size = 0, other = 0;
        const levada_column *c = levada_block_column(batch, "s");
        const uint8_t       *key = levada_column_bytes(c, 0, &size);

        for (int64_t i = 1; i < n; i++) {
            const uint8_t *same = levada_column_bytes(c, i, &other);

            assert_int_equal(other, size);
            if (size) assert_memory_equal(same, key, (size_t)size);
        }
        if (n < 3) { /* the end: ascending */
            char text[200];

            (void)snprintf(text, sizeof text, "%.*s", (int)size, (const char *)key);
            if (flushed) assert_true(strcmp(last, text) < 0);
            flushed = true;
            memcpy(last, text, sizeof last);
        }
        records += n;
        levada_block_unref(&batch);
    }
    levada_iter_close(&it);
    assert_int_equal(records, 40);
    assert_true(flushed);
    t_iter_refused("t_rows:3 | group_by_window:\"s % 2\",window_size=2", LEVADA_EINVALID_ARGUMENT,
                   "not one integer");
    t_iter_refused("t_rows:3 | group_by_window:l,window_size_field=s", LEVADA_EINVALID_ARGUMENT,
                   "window_size_field='s' must be an integer");
}

static void bytes_do_not_depend_on_blocks_or_threads(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:60 | group_by_window:l,window_size=3", true, 1);
    t_iter_sweep("t_stream:60 | shuffle:9 | group_by_window:\"len(x) % 3\",window_size=4,"
                 "padded=true,pad_to_multiple=4 | prefetch:2",
                 true, 1);
    t_iter_sweep("t_rows:60 | group_by_window:s,window_size=3", true, 1);
    t_iter_sweep("t_stream:60 | shuffle:9 | group_by_window:s,window_size=2", true, 1);
    t_iter_sweep("t_rows:40 | group_by_window:l,window_size=2,drop_remainder=true | repeat:2", true,
                 1);
}

static void what_is_not_a_key_is_refused(void **state)
{
    static const char *const keys[] = { "l // 0", "l / 2", "len(l", "l //", "l % x", "% 3" };

    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char text[100];

        (void)snprintf(text, sizeof text, "t_rows:3 | group_by_window:\"%s\",window_size=2",
                       keys[i]);
        t_iter_refused(text, LEVADA_EINVALID_ARGUMENT, "is not a key");
    }
    t_iter_refused("t_rows:3 | group_by_window:w,window_size=2", LEVADA_EINVALID_ARGUMENT,
                   "key field 'w' is string, not one integer; len(w) is its length");
    t_iter_refused("t_rows:3 | group_by_window:\"len(l)\",window_size=2", LEVADA_EINVALID_ARGUMENT,
                   "field 'l' is a number without a length");
    t_iter_refused("t_rows:3 | group_by_window:nope,window_size=2", LEVADA_EINVALID_ARGUMENT,
                   "nope");
    t_iter_refused("t_rows:3 | group_by_window:l", LEVADA_EINVALID_ARGUMENT,
                   "exactly one of window_size and window_size_field");
    t_iter_refused("t_rows:3 | batch:2 | group_by_window:l,window_size=2",
                   LEVADA_EINVALID_ARGUMENT, "");
}

static void a_window_without_size_is_a_bad_record(void **state)
{
    levada_iter *it = t_iter_open("t_rows:4,bare=true,lengths=[1,0] | "
                                  "group_by_window:n,window_size_field=l",
                                  1, 256);

    (void)state;
    assert_int_equal(t_iter_fails(it, LEVADA_EINVALID_ARGUMENT,
                                  "window size must be greater than zero, but is 0"),
                     1);
    levada_iter_close(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_has_records_with_one_key),
        cmocka_unit_test(many_keys_may_be_open),
        cmocka_unit_test(a_field_may_have_the_window_size),
        cmocka_unit_test(byte_strings_are_keys),
        cmocka_unit_test(bytes_do_not_depend_on_blocks_or_threads),
        cmocka_unit_test(what_is_not_a_key_is_refused),
        cmocka_unit_test(a_window_without_size_is_a_bad_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
