/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics describe the records that the consumer has received: after each block they are the
 * same for every number of threads, although threads read ahead, and a restored iterator continues
 * them.
 */
#include "support/functions.h"
#include "support/iters.h"
#include <levada/receipt.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BLOCKS 64

/* All counts of the stats but `bytes`, which are those read, ahead too. */
typedef struct counts {
    int64_t of[7];
    char    padding[16];
    char    receipt[1200];
} counts;

static counts counts_of(levada_iter *it)
{
    static const char *const names[] = { "records", "batches", "skipped_records", "damaged_bytes",
                                         "missing_files", "empty_files", "dropped_records" };
    const char              *key = "\"padding_fraction\":";
    counts                   c = { 0 };
    char                    *json = NULL;

    for (int i = 0; i < 7; i++) c.of[i] = t_iter_stat(it, names[i]);
    assert_int_equal(levada_iter_stats(it, &json, NULL), LEVADA_OK);
    assert_non_null(strstr(json, key));
    memcpy(c.padding, strstr(json, key) + strlen(key), 8);
    levada_string_free(&json);
    assert_int_equal(levada_iter_delivered(it, &json, NULL), LEVADA_OK);
    snprintf(c.receipt, sizeof c.receipt, "%s", json);
    levada_string_free(&json);
    return c;
}

static void same_counts(const counts *got, const counts *want, const char *text, int block)
{
    bool same = strcmp(got->padding, want->padding) == 0 &&
                strcmp(got->receipt, want->receipt) == 0;

    for (int i = 0; i < 7; i++) {
        if (got->of[i] == want->of[i]) continue;
        print_error("count %d: %lld, not %lld\n", i, (long long)got->of[i], (long long)want->of[i]);
        same = false;
    }
    if (!same) fail_msg("%s: after block %d, padding %s and %s", text, block, got->padding,
                        want->padding);
}

static levada_status read_block(levada_iter *it)
{
    levada_block *block = NULL;
    levada_status st = levada_iter_next(it, &block, NULL);

    levada_block_unref(&block);
    return st;
}

/* The counts of one thread after each block, and at the end; returns the number of blocks. */
static int expected(const char *text, counts want[BLOCKS])
{
    levada_iter  *it = t_iter_open_policy(text, "skip", 1, 4);
    levada_status st;
    int           n = 0;

    want[0] = counts_of(it);
    while ((st = read_block(it)) == LEVADA_OK) {
        assert_true(n + 2 < BLOCKS);
        want[++n] = counts_of(it);
    }
    assert_int_equal(st, LEVADA_END);
    want[n + 1] = counts_of(it);
    levada_iter_close(&it);
    return n;
}

static void restored_at(const char *text, levada_iter *it, int block, const counts *want)
{
    t_bytes saved = t_iter_save(it);

    for (int32_t threads = 1; threads <= 4; threads += 3) {
        levada_iter *other = t_iter_open_policy(text, "skip", threads, 4);
        counts       got;

        (void)read_block(other); /* it does not count */
        t_iter_restore(other, saved);
        got = counts_of(other);
        assert_int_equal(got.of[0], want[0].of[0]);
        assert_int_equal(got.of[1], want[0].of[1]);
        assert_string_equal(got.padding, want[0].padding);
        (void)read_block(other);
        got = counts_of(other);
        same_counts(&got, &want[1], text, block + 1);
        levada_iter_close(&other);
    }
    t_clear(&saved);
}

static void counts_alike(const char *text, bool restores)
{
    static const int32_t threads[] = { 1, 2, 4 };
    counts               want[BLOCKS];
    int                  n = expected(text, want);

    for (int i = 0; i < 3; i++) {
        levada_iter *it = t_iter_open_policy(text, "skip", threads[i], 4);

        for (int k = 0; k <= n; k++) {
            counts got = counts_of(it);

            same_counts(&got, &want[k], text, k);
            if (restores) restored_at(text, it, k, &want[k]);
            assert_int_equal(read_block(it), k < n ? LEVADA_OK : LEVADA_END);
        }
        same_counts(&(counts[]){ counts_of(it) }[0], &want[n + 1], text, n + 1);
        levada_iter_close(&it);
    }
}

static void padding_is_that_of_batches_received(void **state)
{
    const char *rows = "t_rows:60,lengths=[1,9,2,7,3],bare=true";
    char        text[256];

    (void)state;
    (void)snprintf(text, sizeof text, "%s | padded_batch:4", rows);
    counts_alike(text, true);
    (void)snprintf(text, sizeof text, "%s | padded_batch:4 | prefetch:3 | prefetch:1", rows);
    counts_alike(text, true);
    (void)snprintf(text, sizeof text,
                   "%s | shuffle:9 | bucket_by_sequence_length:x,boundaries=[3,8],"
                   "batch_sizes=[4,4,4]", rows);
    counts_alike(text, true);
}

static void padding_that_is_cut_off_again_does_not_count(void **state)
{
    levada_iter *it = t_iter_open("t_rows:9,lengths=[1,3],bare=true | padded_batch:3 | unbatch", 1,
                                  4);

    (void)state;
    while (read_block(it) == LEVADA_OK) continue;
    assert_string_equal(counts_of(it).padding, "0.000000");
    levada_iter_close(&it);
}

static void records_dropped_count_when_the_consumer_is_there(void **state)
{
    (void)state;
    counts_alike("range:23 | batch:4,drop_remainder=true | prefetch:8", true);
    counts_alike("range:11 | batch:4,drop_remainder=true | repeat:4 | prefetch:8", true);
    counts_alike("t_rows:40,lengths=[1,9,2],bare=true | bucket_by_sequence_length:x,"
                 "boundaries=[3,8],batch_sizes=[7,7,7],drop_remainder=true | prefetch:2", true);
}

/* A good file, none, one with a damaged record, and an empty one. */
static void losses_count_when_the_consumer_is_there(void **state)
{
    t_bytes file = { 0 };
    char    text[1024];

    (void)state;
    for (int i = 0; i < 24; i++) {
        t_add_record(&file, "word", 4);
        if (i == 17) file.at[file.size - 5] ^= 1;
    }
    t_write_file(t_path("b.tfrecord"), file.at, file.size);
    t_clear(&file);
    t_write_file(t_path("c.tfrecord"), "", 0);
    (void)snprintf(text, sizeof text,
                   "tfrecord:[\"%s\",\"%s\",\"%s\"] | prefetch:9 | enumerate",
                   t_path("b.tfrecord"), t_path("none.tfrecord"), t_path("c.tfrecord"));
    counts_alike(text, true);
    counts_alike("range:60 | map:{c:picky} | prefetch:5 | shuffle:3", true);
    counts_alike("range:60 | call:{c:picky} | prefetch:5 | batch:3", true);
    counts_alike("range:4 | interleave:(range:12 | map:{c:picky}),cycle_length=2 | prefetch:5",
                 true);
}

/* Threads read on while the rounds end; what they read is not received. */
static void records_read_ahead_of_a_round_do_not_count(void **state)
{
    (void)state;
    counts_alike("range:60 | map:{c:picky} | prefetch:6 | take:9 | repeat:3", false);
    counts_alike("range:60 | call:{c:picky} | prefetch:6 | take:9 | repeat:3 | prefetch:2", false);
    counts_alike("range:20 | batch:3,drop_remainder=true | prefetch:6 | take:2 | repeat:4", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(padding_is_that_of_batches_received),
        cmocka_unit_test(padding_that_is_cut_off_again_does_not_count),
        cmocka_unit_test(records_dropped_count_when_the_consumer_is_there),
        cmocka_unit_test(losses_count_when_the_consumer_is_there),
        cmocka_unit_test(records_read_ahead_of_a_round_do_not_count),
    };

    return cmocka_run_group_tests(tests, t_functions_set_up, t_folder_tear_down);
}
