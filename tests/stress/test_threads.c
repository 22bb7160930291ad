/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Iterators with four threads, in many combinations of next, save, restore, cancel, report and
 * close at every moment. What they return is compared; races are for the thread sanitizer to find.
 */
#include "runtime/lock.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static char over_a_file[512], repeated[512];

static const char *const texts[] = {
    over_a_file,
    repeated,
    "t_rows:300,bare=true | prefetch:2 | shuffle:40 | prefetch:1 | batch:7 | prefetch:3",
    "t_rows:300 | shuffle:40 | bucket_by_sequence_length:x,boundaries=[2,5],batch_sizes=[4,3,2]",
    "t_stream:300 | prefetch:5,bytes=100 | padded_batch:6 | unbatch | batch:2 | prefetch:4",
    "t_rows:60,bare=true | prefetch:2 | repeat:5 | shuffle:90 | batch:7",
    "t_rows:300,wait=20000,bare=true | prefetch:2 | batch:5 | prefetch:2",
    "t_rows:50 | batch:4 | repeat:6 | prefetch:2",
    "t_rows:300,bare=true | shuffle:40 | unroll:4,batch_size=5,zero_length=skip | prefetch:3",
};

#define TEXTS (sizeof texts / sizeof *texts)

static uint64_t draw(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *random >> 33;
}

typedef struct other {
    levada_iter *it;
    int64_t      wait; /* before cancel; -1 = asks until stop */
    atomic_bool  stop;
} other;

static void interfere(void *user)
{
    other *o = user;

    if (o->wait >= 0) {
        struct timespec wait = { 0, (long)o->wait };

        (void)nanosleep(&wait, NULL);
        levada_iter_cancel(o->it);
    }
    while (o->wait < 0 && !atomic_load(&o->stop)) {
        char   *json = NULL, *path = NULL;
        int64_t done, total;

        if (levada_iter_report(o->it, &json, NULL) != LEVADA_OK) abort();
        levada_string_free(&json);
        if (levada_iter_stats(o->it, &json, NULL) != LEVADA_OK) abort();
        levada_string_free(&json);
        if (levada_iter_explain(o->it, &json, NULL) != LEVADA_OK) abort();
        levada_string_free(&json);
        levada_iter_progress(o->it, &done, &total);
        if (levada_iter_origin_file(o->it, &(levada_origin){ 0 }, &path, NULL)) abort();
        levada_string_free(&path);
    }
}

/* One block, or the news that there is none now. False at the end. */
static bool step(levada_iter *it, uint64_t *random, t_bytes *got, bool cancelled)
{
    levada_block *block = NULL;
    levada_status st = draw(random) % 3 ? levada_iter_next(it, &block, NULL)
                                        : levada_iter_next_within(it, 50000, &block, NULL);

    if (st == LEVADA_OK) t_iter_add(got, block, true);
    levada_block_unref(&block);
    if (st == LEVADA_ECANCELLED && cancelled) return false;
    if (st == LEVADA_END) return false;
    assert_true(st == LEVADA_OK || st == LEVADA_AGAIN);
    return true;
}

/* Moves the position into another iterator now and then; the rest is the same. */
static void one_life(const char *text, t_bytes want, uint64_t *random, bool cancel)
{
    levada_iter  *it = t_iter_open(text, 4, 8);
    other         o = { .it = it, .wait = cancel ? (int64_t)(draw(random) % 2000000) : -1 };
    levada_thread thread;
    t_bytes       got = { 0 };
    int64_t       steps = cancel ? 1000000 : (int64_t)(draw(random) % 60);
    bool          more = true;

    t_add(&got, NULL, 0);
    assert_int_equal(levada_thread_start(&thread, interfere, &o, NULL), LEVADA_OK);
    for (int64_t i = 0; more && i < steps; i++) {
        if (draw(random) % 8 == 0) {
            t_bytes saved = t_iter_save(it);

            levada_status st = levada_iter_restore(it, saved.at, saved.size, NULL);

            assert_true(st == LEVADA_OK || (cancel && st == LEVADA_ECANCELLED));
            t_clear(&saved);
        }
        if (draw(random) % 8 == 0) (void)t_iter_stat(it, "records");
        more = step(it, random, &got, cancel);
    }
    atomic_store(&o.stop, true);
    levada_thread_join(&thread);
    assert_true(got.size <= want.size);
    assert_memory_equal(got.at, want.at, got.size);
    if (!more && !cancel) assert_int_equal(got.size, want.size);
    t_clear(&got);
    levada_iter_close(&it); /* in the middle of it all */
}

static void many_lives(bool cancel)
{
    uint64_t random = 1;

    for (size_t t = 0; t < TEXTS; t++) {
        t_bytes want = t_iter_all(texts[t], true);

        for (int i = 0; i < 25; i++) one_life(texts[t], want, &random, cancel);
        t_clear(&want);
    }
}

static void saved_and_restored_on_the_way(void **state)
{
    (void)state;
    many_lives(false);
}

static void cancelled_on_the_way(void **state)
{
    (void)state;
    many_lives(true);
}

static void opened_and_closed(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        levada_iter  *it = t_iter_open(texts[(size_t)i % TEXTS], 4, 8);
        levada_block *block = NULL;

        if (i % 3 > 0) assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
        levada_block_unref(&block);
        levada_iter_close(&it);
    }
}

/* More threads than there is work for. */
static void a_crowd(void **state)
{
    (void)state;
    for (size_t t = 0; t < TEXTS; t++) {
        t_bytes      want = t_iter_all(texts[t], true), got = { 0 };
        levada_iter *it = t_iter_open(texts[t], 64, 8);

        (void)t_iter_read(it, -1, true, &got);
        t_bytes_equal(want, got, texts[t]);
        t_clear(&want);
        t_clear(&got);
        levada_iter_close(&it);
    }
}

/* One dataset and one environment under iterators of several threads. */
static void live_alone(void *user)
{
    t_bytes *want = user;

    for (int i = 0; i < 10; i++) {
        levada_iter  *it = t_iter_open(texts[2], 2, 8);
        levada_block *block = NULL;
        t_bytes       got = { 0 };

        while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
            t_iter_add(&got, block, true);
            levada_block_unref(&block);
        }
        if (got.size != want->size || memcmp(got.at, want->at, got.size) != 0) abort();
        t_clear(&got);
        levada_iter_close(&it);
    }
}

static void side_by_side(void **state)
{
    t_bytes       want = t_iter_all(texts[2], true);
    levada_thread threads[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(levada_thread_start(&threads[i], live_alone, &want, NULL), LEVADA_OK);
    }
    for (int i = 0; i < 3; i++) levada_thread_join(&threads[i]);
    t_clear(&want);
}

static int write_the_file(void **state)
{
    t_bytes file = { 0 };
    char    record[100];

    (void)state;
    for (int i = 0; i < 400; i++) {
        memset(record, 'a' + i % 26, sizeof record);
        t_add_record(&file, record, (size_t)(i * 31 % 97));
    }
    (void)t_folder();
    t_write_file(t_path("a.tfrecord"), file.at, file.size);
    (void)snprintf(over_a_file, sizeof over_a_file,
                   "tfrecord:%s | shuffle:60 | bucket_by_sequence_length:record,boundaries=[30,60],"
                   "batch_sizes=5 | prefetch:2", t_path("a.tfrecord"));
    (void)snprintf(repeated, sizeof repeated,
                   "tfrecord:%s | decode_raw:uint8,field=record | batch:1 | repeat:3",
                   t_path("a.tfrecord"));
    t_clear(&file);
    return 0;
}

static int drop_the_file(void **state)
{
    (void)state;
    t_folder_drop();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saved_and_restored_on_the_way),
        cmocka_unit_test(cancelled_on_the_way),
        cmocka_unit_test(opened_and_closed),
        cmocka_unit_test(a_crowd),
        cmocka_unit_test(side_by_side),
    };

    return cmocka_run_group_tests(tests, write_the_file, drop_the_file);
}
