/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The look-ahead of bucket_by_sequence_length: every record once, in batches within the budget,
 * that waste little, leave in random order, and are the same after a restore at any cut.
 */
#include "batch/lookahead.h"
#include "base/random.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BUCKET " | bucket_by_sequence_length:"

typedef struct totals {
    int64_t records, batches, cells, real;
    int64_t costs;  /* cells, at least one for each record */
    int64_t latest; /* how many records after its turn a record left */
} totals;

/* Reads all batches of padded x; each record must come once, and no batch exceed the limits. */
static totals read_all(const char *text, int64_t records, int64_t budget, int64_t batch_size)
{
    levada_iter  *it = t_iter_open(text, 2, 64);
    levada_block *block = NULL;
    uint8_t      *seen = calloc((size_t)records + 1, 1);
    totals        t = { 0 };

    assert_non_null(seen);
    while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
        const levada_column *x = levada_block_column(block, "x");
        const int64_t       *n = levada_column_i64(levada_block_column(block, "n"));
        int64_t              rows = levada_block_rows(block), width = levada_column_dim(x, 1);

        assert_true(rows * (width ? width : 1) <= budget && rows <= batch_size);
        for (int64_t i = 0; i < rows; i++) {
            assert_true(n[i] >= 0 && n[i] < records && !seen[n[i]]);
            seen[n[i]] = 1;
            t.real += x->lengths[i];
            if (t.records + i - n[i] > t.latest) t.latest = t.records + i - n[i];
        }
        t.cells += rows * width;
        t.costs += rows * (width ? width : 1);
        t.records += rows;
        t.batches++;
        levada_block_unref(&block);
    }
    assert_int_equal(t.records, records);
    free(seen);
    levada_iter_close(&it);
    return t;
}

/* "1,17,3": lengths up to 64, most of them short. */
static const char *lengths(int64_t n, uint64_t seed, char *text, size_t size)
{
    size_t at = 0;

    for (int64_t i = 0; i < n && at + 8 < size; i++) {
        uint64_t a = levada_random_below(levada_random_draw(seed, 0, (uint64_t)i), 65);
        uint64_t b = levada_random_below(levada_random_draw(seed, 1, (uint64_t)i), 65);

        at += (size_t)snprintf(text + at, size - at, "%s%d", i ? "," : "", (int)(a * b / 64));
    }
    return text;
}

static void every_record_comes_once_within_the_budget(void **state)
{
    char some[2048], text[4096];

    (void)state;
    for (int64_t seed = 1; seed <= 40; seed++) {
        int64_t budget = 64 + seed * 23, ahead = 1 + seed * seed % 700, n = 100 * (seed % 8);
        int64_t size = seed % 3 ? INT64_MAX : 1 + seed;

        (void)lengths(331, (uint64_t)seed, some, sizeof some);
        (void)snprintf(text, sizeof text,
                       "t_rows:%lld,bare=true,lengths=[%s]" BUCKET "x,lookahead=%lld,%s=%lld",
                       (long long)n, some, (long long)ahead,
                       seed % 3 ? "max_tokens" : "batch_sizes",
                       (long long)(seed % 3 ? budget : size));
        (void)read_all(text, n, seed % 3 ? budget : INT64_MAX, size);
    }
}

/* The padding of a window of 500 records is less than a tenth of that in the order of arrival. */
static void batches_waste_little(void **state)
{
    char   some[2048], text[4096];
    totals plain, ahead;

    (void)state;
    (void)lengths(397, 5, some, sizeof some);
    (void)snprintf(text, sizeof text, "t_rows:4000,bare=true,lengths=[%s]" BUCKET
                   "x,boundaries=[],max_tokens=640", some);
    plain = read_all(text, 4000, 640, INT64_MAX);
    (void)snprintf(text, sizeof text, "t_rows:4000,bare=true,lengths=[%s]" BUCKET
                   "x,lookahead=500,max_tokens=640", some);
    ahead = read_all(text, 4000, 640, INT64_MAX);
    assert_int_equal(plain.real, ahead.real);
    assert_true(10 * (ahead.cells - ahead.real) < plain.cells - plain.real);
    assert_true(ahead.batches < plain.batches); /* and they are full */
    /* A record waits for at most LEVADA_LOOKAHEAD_AGE windows after its own. */
    assert_true(ahead.latest <= 500 * (LEVADA_LOOKAHEAD_AGE + 2));
}

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Twice the least cost over all ways to cut the sorted lengths: a batch costs its cells, where a
 * record has at least one, and half of the budget. */
static int64_t least_cost(const char *text, int64_t n, int64_t budget)
{
    int     sorted[16];
    int64_t least[17] = { 0 };

    for (int64_t i = 0; i < n; i++) {
        sorted[i] = (int)strtol(text, (char **)(uintptr_t)&text, 10);
        text += *text == ',';
    }
    qsort(sorted, (size_t)n, sizeof *sorted, compare);
    for (int64_t to = 1; to <= n; to++) {
        int64_t each = sorted[to - 1] > 1 ? sorted[to - 1] : 1;

        least[to] = INT64_MAX;
        for (int64_t from = to - 1; from >= 0 && (to - from) * each <= budget; from--) {
            int64_t cost = least[from] + 2 * (to - from) * each + budget;

            if (cost < least[to]) least[to] = cost;
        }
    }
    return least[n];
}

static void one_window_pads_least(void **state)
{
    char some[256], text[512];

    (void)state;
    for (int64_t seed = 1; seed <= 120; seed++) {
        int64_t n = 1 + seed % 16, budget = 64 + seed * 7 % 200;
        totals  t;

        (void)lengths(n, (uint64_t)seed, some, sizeof some);
        (void)snprintf(text, sizeof text,
                       "t_rows:%lld,bare=true,lengths=[%s]" BUCKET "x,lookahead=%lld,"
                       "max_tokens=%lld", (long long)n, some, (long long)(n + seed % 3),
                       (long long)budget);
        t = read_all(text, n, budget, INT64_MAX);
        if (2 * t.costs + t.batches * budget != least_cost(some, n, budget)) fail_msg("%s", text);
    }
}

/* The order of widths as it is emitted. */
static int64_t descents(const char *text, int64_t epoch, t_bytes *widths)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    levada_iter        *it;
    levada_block       *block = NULL;
    int64_t             last = 0, n = 0;

    o.seed = 3;
    o.epoch = epoch;
    it = t_iter_open_with(text, &o);
    t_add(widths, NULL, 0);
    while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
        int64_t width = levada_column_dim(levada_block_column(block, "x"), 1);

        n += width < last;
        last = width;
        t_add(widths, &width, sizeof width);
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    return n;
}

static void batches_are_shuffled_by_seed_and_epoch(void **state)
{
    const char *const text = "t_rows:600,bare=true" BUCKET "l,lookahead=600,max_tokens=60";
    t_bytes           a = { 0 }, b = { 0 }, c = { 0 };
    int64_t           n = descents(text, 0, &a);

    (void)state;
    assert_true(n > 3);
    assert_int_equal(descents(text, 0, &b), n);
    t_bytes_equal(a, b, "the same epoch");
    (void)descents(text, 1, &c);
    assert_true(a.size != c.size || memcmp(a.at, c.at, a.size) != 0);
    t_clear(&a);
    t_clear(&b);
    t_clear(&c);
}

static void goes_on_after_a_restore_at_any_cut(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:90" BUCKET "x,lookahead=20,max_tokens=80", true, 1);
    t_iter_sweep("t_stream:90" BUCKET "x,lookahead=33,max_tokens=80", true, 1);
    t_iter_sweep("t_rows:90 | shuffle:30" BUCKET "x,lookahead=64,batch_sizes=5", true, 1);
    t_iter_sweep("t_rows:90" BUCKET "x,lookahead=1,batch_sizes=5,drop_remainder=true", true, 1);
    t_iter_sweep("t_rows:90" BUCKET "x,lookahead=500,max_tokens=70,no_padding=true", true, 1);
    t_iter_sweep("t_rows:30 | repeat:3" BUCKET "x,lookahead=25,max_tokens=100 | prefetch:2", true,
                 1);
    t_iter_sweep("t_rows:30" BUCKET "x,lookahead=25,max_tokens=100 | repeat:3", true, 1);
    t_iter_sweep("t_stream:90" BUCKET "[x,l],lookahead=40,max_tokens=180", true, 1);
    t_iter_sweep("t_rows:90" BUCKET "[x,l],cost=2d,lookahead=40,max_tokens=5000", true, 1);
    t_iter_sweep("t_rows:90" BUCKET "x,lookahead=20,max_tokens=9,too_long=alone", true, 1);
    t_iter_sweep("t_rows:90" BUCKET "x,lookahead=20,max_tokens=9,too_long=truncate", true, 1);
    t_iter_sweep("t_rows:90" BUCKET "x,lookahead=20,max_tokens=9,too_long=skip", true, 1);
}

static void only_a_remainder_is_dropped(void **state)
{
    levada_iter *it = t_iter_open("t_rows:103,bare=true" BUCKET
                                  "x,lookahead=40,batch_sizes=10,drop_remainder=true", 1, 7);
    t_bytes      all = { 0 };

    (void)state;
    assert_int_equal(t_iter_read(it, -1, true, &all), 10);
    assert_int_equal(t_iter_stat(it, "dropped_records"), 3);
    t_clear(&all);
    levada_iter_close(&it);
}

static void conflicts_are_refused(void **state)
{
    (void)state;
    t_iter_refused("t_rows:3" BUCKET "x,lookahead=5", LEVADA_EINVALID_ARGUMENT,
                   "exactly one of batch_sizes and max_tokens");
    t_iter_refused("t_rows:3" BUCKET "x,lookahead=5,boundaries=[3],max_tokens=9",
                   LEVADA_EINVALID_ARGUMENT, "lookahead cannot be combined with");
    t_iter_refused("t_rows:3" BUCKET "x,lookahead=5,num_buckets=3,max_tokens=9",
                   LEVADA_EINVALID_ARGUMENT, "lookahead cannot be combined with");
    t_iter_refused("t_rows:3" BUCKET "x,lookahead=5,max_tokens=9,pad_to_bucket_boundary=true",
                   LEVADA_EINVALID_ARGUMENT, "needs boundaries");
    t_iter_refused("t_rows:3" BUCKET "x,lookahead=5,batch_sizes=[1,2]", LEVADA_EINVALID_ARGUMENT,
                   "batch_sizes must be one number unless boundaries are set, got 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_record_comes_once_within_the_budget),
        cmocka_unit_test(batches_waste_little),
        cmocka_unit_test(one_window_pads_least),
        cmocka_unit_test(batches_are_shuffled_by_seed_and_epoch),
        cmocka_unit_test(goes_on_after_a_restore_at_any_cut),
        cmocka_unit_test(only_a_remainder_is_dropped),
        cmocka_unit_test(conflicts_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
