/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of levada/iter.h: what they promise, and what they refuse. */
#include "run/node.h"
#include "support/deaths.h"
#include "support/iters.h"

#include <levada/binding.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define MILLISECOND INT64_C(1000000)

static void pass_time(int64_t nanoseconds)
{
    struct timespec wait = { nanoseconds / 1000000000, nanoseconds % 1000000000 };

    (void)nanosleep(&wait, NULL);
}

static void end_is_repeated(void **state)
{
    (void)state;
    for (int32_t threads = 1; threads <= 4; threads++) {
        levada_iter  *it = t_iter_open("t_rows:10 | batch:4 | prefetch:2", threads, 3);
        t_bytes       all = { 0 };
        levada_block *block = NULL;

        (void)t_iter_read(it, -1, true, &all);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_END);
            assert_null(block);
        }
        t_clear(&all);
        levada_iter_close(&it);
        assert_null(it);
        levada_iter_close(&it); /* NULL is fine */
    }
}

static void an_error_is_repeated_and_not_saved(void **state)
{
    (void)state;
    for (int32_t threads = 1; threads <= 4; threads += 3) {
        levada_iter *it = t_iter_open("t_rows:100,fail_at=60 | batch:7 | prefetch:3", threads, 5);
        t_bytes      before = t_iter_save(it), rest = { 0 };
        levada_error err = LEVADA_ERROR_INIT;
        char        *bytes = NULL;
        size_t       size = 0;

        assert_int_equal(t_iter_fails(it, LEVADA_EDATA_LOSS, "record 60"), 56);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(t_iter_fails(it, LEVADA_EDATA_LOSS, "record 60"), 0);
        }
        assert_int_equal(levada_iter_save(it, &bytes, &size, &err), LEVADA_EFAILED_PRECONDITION);
        assert_non_null(strstr(err.message, "has failed"));
        assert_null(bytes);
        t_iter_restore(it, before); /* a restore mends it */
        assert_int_equal(t_iter_read(it, 3, true, &rest), 3);
        t_clear(&before);
        t_clear(&rest);
        levada_iter_close(&it);
    }
}

static void the_place_of_an_error_is_known(void **state)
{
    levada_iter  *it = t_iter_open("t_rows:100,fail_at=0 | batch:7", 1, 5);
    levada_error  err = LEVADA_ERROR_INIT;
    levada_block *block = NULL;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, &err), LEVADA_EDATA_LOSS);
    assert_string_equal(err.stage, "0.t_rows");
    assert_int_equal(err.code, LEVADA_EDATA_LOSS);
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_EDATA_LOSS);
    levada_iter_close(&it);
}

/* -- options */

static void refuse_options(int32_t threads, int32_t block_rows, const char *errors,
                           const char *message)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    levada_dataset     *d = NULL;
    levada_iter        *it = NULL;
    levada_error        err = LEVADA_ERROR_INIT;

    o.threads = threads;
    o.block_rows = block_rows;
    o.errors = errors;
    assert_int_equal(levada_dataset_parse(t_iter_env(), "t_rows:3", &d, NULL), LEVADA_OK);
    assert_int_equal(levada_iter_open(d, &o, &it, &err), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, message));
    assert_null(it);
    levada_dataset_unref(&d);
}

static void refuses_bad_options(void **state)
{
    (void)state;
    refuse_options(-1, 0, NULL, "threads=-1");
    refuse_options(257, 0, NULL, "threads=257");
    refuse_options(1, -1, NULL, "block_rows=-1");
    refuse_options(1, 65537, NULL, "65537");
    refuse_options(1, 0, "ignore", "errors='ignore'");
    refuse_options(1, 0, "skip:", "skip:");
    refuse_options(1, 0, "skip:101%", "skip:101%");
}

static void refuses_bad_numbers(void **state)
{
    static const struct {
        int64_t seed, epoch, max_record_bytes;
        const char *message;
    } wrong[] = {
        { -7, 0, 0, "seed=-7" },
        { INT64_MIN, 0, 0, "seed=-9223372036854775808" },
        { -1, -1, 0, "epoch=-1" },
        { -1, 0, -5, "max_record_bytes=-5" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
        levada_dataset *d = NULL;
        levada_iter *it = NULL;
        levada_error err = LEVADA_ERROR_INIT;

        o.seed = wrong[i].seed;
        o.epoch = wrong[i].epoch;
        o.max_record_bytes = wrong[i].max_record_bytes;
        assert_int_equal(levada_dataset_parse(t_iter_env(), "t_rows:3", &d, NULL), LEVADA_OK);
        assert_int_equal(levada_iter_open(d, &o, &it, &err), LEVADA_EINVALID_ARGUMENT);
        assert_non_null(strstr(err.message, wrong[i].message));
        levada_dataset_unref(&d);
    }
}

/* Options of an older, smaller struct: what it does not have is at its default. */
static void takes_smaller_structs(void **state)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    levada_iter        *it;

    (void)state;
    o.struct_size = offsetof(levada_iter_options, threads);
    o.seed = 5;
    o.threads = -99;
    o.block_rows = -99;
    it = t_iter_open_with("t_rows:3", &o);
    assert_int_equal(t_iter_stat(it, "seed"), 5);
    levada_iter_close(&it);
    it = t_iter_open_with("t_rows:3", NULL);
    assert_true(t_iter_stat(it, "seed") >= 0);
    levada_iter_close(&it);
}

static void a_restore_may_change_threads_and_block_rows(void **state)
{
    const char         *text = "t_rows:300 | shuffle:20 | cast:n,dtype=int32 | batch:7";
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    t_bytes             want = { 0 }, got = { 0 }, saved;
    levada_iter        *it = t_iter_open(text, 4, 7), *other;

    (void)state;
    o.seed = 11;
    o.threads = 4;
    o.block_rows = 7;
    (void)t_iter_read(it, -1, true, &want);
    levada_iter_close(&it);
    it = t_iter_open_with(text, &o);
    (void)t_iter_read(it, 9, true, &got);
    saved = t_iter_save(it);
    other = t_iter_open(text, 1, 256);
    t_iter_restore(other, saved);
    (void)t_iter_read(other, -1, true, &got);
    t_bytes_equal(got, want, "restored with other threads");
    levada_iter_close(&it);
    levada_iter_close(&other);
    t_clear(&want);
    t_clear(&got);
    t_clear(&saved);
}

static void a_drawn_seed_is_saved(void **state)
{
    levada_iter *it = t_iter_open_with("t_rows:50,bare=true | shuffle:50", NULL);
    levada_iter *other = t_iter_open_with("t_rows:50,bare=true | shuffle:50", NULL);
    t_bytes      saved = t_iter_save(it), a = { 0 }, b = { 0 };

    (void)state;
    assert_true(t_iter_stat(it, "seed") != t_iter_stat(other, "seed"));
    t_iter_restore(other, saved);
    assert_int_equal(t_iter_stat(it, "seed"), t_iter_stat(other, "seed"));
    (void)t_iter_read(it, -1, false, &a);
    (void)t_iter_read(other, -1, false, &b);
    t_bytes_equal(a, b, "drawn seed");
    t_clear(&a);
    t_clear(&b);
    t_clear(&saved);
    levada_iter_close(&it);
    levada_iter_close(&other);
}

static void the_epoch_is_saved(void **state)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    levada_iter        *it, *other = t_iter_open("t_rows:50,bare=true | shuffle:50", 1, 8);
    t_bytes             saved, a = { 0 }, b = { 0 };

    (void)state;
    o.seed = 11;
    o.epoch = 3;
    it = t_iter_open_with("t_rows:50,bare=true | shuffle:50", &o);
    saved = t_iter_save(it);
    t_iter_restore(other, saved);
    assert_int_equal(t_iter_stat(other, "epoch"), 3);
    (void)t_iter_read(it, -1, false, &a);
    (void)t_iter_read(other, -1, false, &b);
    t_bytes_equal(a, b, "epoch");
    t_clear(&a);
    t_clear(&b);
    t_clear(&saved);
    levada_iter_close(&it);
    levada_iter_close(&other);
}

/* Saved again before anything was read: what is still to be dropped is counted once. */
static void restored_and_saved_at_once(void **state)
{
    const char *text = "t_stream:200,bare=true | prefetch:2 | shuffle:30 | prefetch:2 | batch:7";
    t_bytes     want = t_iter_all(text, true), got = { 0 }, saved;
    levada_iter *it = t_iter_open(text, 4, 8);

    (void)state;
    (void)t_iter_read(it, 9, true, &got);
    for (int i = 0; i < 6; i++) {
        saved = t_iter_save(it);
        levada_iter_close(&it);
        it = t_iter_open(text, 1 + i % 4, 8 + i);
        t_iter_restore(it, saved);
        t_clear(&saved);
        if (i % 2) (void)t_iter_read(it, 1, true, &got);
    }
    (void)t_iter_read(it, -1, true, &got);
    t_bytes_equal(want, got, "again and again");
    t_clear(&want);
    t_clear(&got);
    levada_iter_close(&it);
}

/* A limit of memory is an error like any other, for all threads. */
static void memory_may_be_limited(void **state)
{
    levada_env_options  limits = LEVADA_ENV_OPTIONS_INIT;
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    levada_env         *env = NULL;
    levada_dataset     *d = NULL;
    levada_iter        *it = NULL;

    (void)state;
    limits.max_bytes = 1 << 20;
    assert_int_equal(levada_env_create(&limits, &env, NULL), LEVADA_OK);
    assert_int_equal(levada_dataset_parse(env, "range:1000000 | prefetch:2 | shuffle:1000000",
                                          &d, NULL), LEVADA_OK);
    for (o.threads = 1; o.threads <= 4; o.threads++) {
        assert_int_equal(levada_iter_open(d, &o, &it, NULL), LEVADA_OK);
        assert_int_equal(t_iter_fails(it, LEVADA_ERESOURCE_EXHAUSTED, "max_bytes=1048576"), 0);
        levada_iter_close(&it);
    }
    levada_dataset_unref(&d);
    levada_env_destroy(&env);
}

/* -- time limits and cancellation */

static void next_within_loses_nothing(void **state)
{
    static const char *const texts[] = {
        "t_rows:60,wait=1000000 | shuffle:9 | batch:4",
        "t_rows:60,wait=1000000 | prefetch:3 | shuffle:9 | batch:4",
        "t_rows:60,wait=1000000",
        "t_rows:60,wait=1000000 | shuffle:30",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (int32_t threads = 1; threads <= 4; threads += 3) {
            levada_iter *it = t_iter_open(texts[i], threads, 3);
            levada_iter *plain = t_iter_open(texts[i], 1, 3);
            t_bytes      want = { 0 }, got = { 0 };
            int64_t      again = 0;

            (void)t_iter_read(plain, -1, false, &want);
            for (;;) {
                levada_block *block = NULL;
                levada_status st = levada_iter_next_within(it, again % 3 * MILLISECOND / 2, &block,
                                                           NULL);

                if (st == LEVADA_END) break;
                if (st == LEVADA_AGAIN) {
                    assert_null(block);
                    assert_true(++again < 100000);
                    continue;
                }
                assert_int_equal(st, LEVADA_OK);
                t_iter_add(&got, block, false);
                levada_block_unref(&block);
                if (again % 4 == 0) { /* a state may be saved at any time */
                    t_bytes saved = t_iter_save(it);

                    t_iter_restore(plain, saved);
                    t_clear(&saved);
                }
            }
            assert_true(again > 0 || i == 2);
            t_bytes_equal(want, got, texts[i]);
            t_clear(&want);
            t_clear(&got);
            levada_iter_close(&it);
            levada_iter_close(&plain);
        }
    }
}

static void next_within_keeps_its_time(void **state)
{
    (void)state;
    for (int32_t threads = 1; threads <= 4; threads += 3) {
        levada_iter  *it = t_iter_open("t_rows:100000,wait=2000000,bare=true | prefetch:2 | "
                                       "shuffle:100000", threads, 10);
        levada_block *block = NULL;
        int64_t       began = levada_now();

        assert_int_equal(levada_iter_next_within(it, 20 * MILLISECOND, &block, NULL), LEVADA_AGAIN);
        assert_in_range(levada_now() - began, 19 * MILLISECOND, 500 * MILLISECOND);
        levada_iter_close(&it);
    }
}

static void a_limit_may_be_for_ever(void **state)
{
    levada_iter  *it = t_iter_open("t_rows:10", 1, 10);
    levada_block *block = NULL;

    (void)state;
    assert_int_equal(levada_iter_next_within(it, INT64_MAX, &block, NULL), LEVADA_OK);
    levada_block_unref(&block);
    assert_int_equal(levada_iter_next_within(it, LEVADA_FOREVER, &block, NULL), LEVADA_END);
    levada_iter_close(&it);
}

static void cancel_later(void *user)
{
    pass_time(5 * MILLISECOND);
    levada_iter_cancel(user);
}

static void cancel_wakes_whoever_waits(void **state)
{
    static const char *const texts[] = {
        "t_rows:1000000,wait=1000000,bare=true | shuffle:1000000",
        "t_rows:1000000,wait=1000000,bare=true | prefetch:4 | shuffle:1000000 | batch:5",
        "t_rows:1000000,wait=1000000,bare=true | batch:900000",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (int32_t threads = 1; threads <= 4; threads += 3) {
            levada_iter  *it = t_iter_open(texts[i], threads, 10);
            levada_thread thread;
            levada_block *block = NULL;
            levada_error  err = LEVADA_ERROR_INIT;
            char         *bytes = NULL;
            size_t        size = 0;

            assert_int_equal(levada_thread_start(&thread, cancel_later, it, NULL), LEVADA_OK);
            assert_int_equal(levada_iter_next(it, &block, &err), LEVADA_ECANCELLED);
            levada_thread_join(&thread);
            assert_string_equal(err.message, "cancelled");
            assert_int_equal(levada_iter_next(it, &block, &err), LEVADA_ECANCELLED);
            assert_int_equal(levada_iter_next_within(it, 0, &block, &err), LEVADA_ECANCELLED);
            assert_int_equal(levada_iter_save(it, &bytes, &size, &err), LEVADA_OK);
            assert_int_equal(levada_iter_restore(it, bytes, size, &err), LEVADA_ECANCELLED);
            assert_int_equal(levada_iter_next(it, &block, &err), LEVADA_ECANCELLED);
            levada_string_free(&bytes);
            levada_iter_close(&it);
        }
    }
}

static void what_comes_back_is_given_again_and_counted_once(void **state)
{
    levada_iter  *it = t_iter_open("t_rows:10 | batch:4", 1, 3);
    levada_block *block = NULL;
    t_bytes       all = { 0 }, expected = t_iter_all("t_rows:10 | batch:4", true);

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    levada_iter_unread(it, &block);
    assert_null(block);
    assert_int_equal(t_iter_read(it, -1, true, &all), 3);
    t_bytes_equal(all, expected, "a block that came back");
    assert_int_equal(t_iter_stat(it, "records"), 10);
    assert_int_equal(t_iter_stat(it, "batches"), 3);
    t_clear(&all);
    t_clear(&expected);
    levada_iter_close(&it);
}

/* -- what it tells */

static void stats_add_up(void **state)
{
    levada_iter *it = t_iter_open("t_rows:100 | prefetch:2 | shuffle:20 | "
                                  "batch:7,drop_remainder=true", 2, 8);
    t_bytes      all = { 0 };
    char        *json = NULL;

    (void)state;
    assert_int_equal(t_iter_read(it, -1, true, &all), 14);
    assert_int_equal(levada_iter_stats(it, &json, NULL), LEVADA_OK);
    assert_non_null(strstr(json, "\"records\":98,\"batches\":14,"));
    assert_non_null(strstr(json, "\"dropped_records\":2,"));
    assert_non_null(strstr(json, "\"seed\":11,\"epoch\":0,"));
    assert_non_null(strstr(json, "{\"path\":\"0.t_rows\",\"records\":100,\"blocks\":13,"));
    assert_non_null(strstr(json, "{\"path\":\"2.shuffle\",\"records\":100,"));
    assert_non_null(strstr(json, "{\"path\":\"3.batch\",\"records\":98,\"blocks\":14,"));
    levada_string_free(&json);
    assert_int_equal(levada_iter_report(it, &json, NULL), LEVADA_OK);
    assert_non_null(strstr(json, "\"stage\":\"3.batch\",\"state\":\"ended\""));
    assert_non_null(strstr(json, "\"stage\":\"1.prefetch\",\"state\":\"ended\""));
    levada_string_free(&json);
    t_clear(&all);
    levada_iter_close(&it);
}

static void without_workers_there_is_nothing_to_report(void **state)
{
    static const char *const texts[] = { "t_rows:10 | batch:2", "t_rows:10 | shuffle:3" };

    (void)state;
    for (int32_t i = 0; i < 2; i++) {
        levada_iter *it = t_iter_open(texts[i], 1 + 3 * i, 8);
        char        *json = NULL;

        assert_int_equal(levada_iter_report(it, &json, NULL), LEVADA_OK);
        assert_string_equal(json, "{\"threads\":[],\"stages\":[]}");
        levada_string_free(&json);
        levada_iter_close(&it);
    }
}

/* Returns how often a text is in another one. */
static int times_in(const char *text, const char *what)
{
    int n = 0;

    while ((text = strstr(text, what)) != NULL) n++, text++;
    return n;
}

static void waiting_is_measured_where_the_consumer_waits(void **state)
{
    (void)state;
    for (int32_t threads = 1; threads <= 4; threads += 3) {
        levada_iter  *it = t_iter_open("t_rows:5,wait=10000000 | batch:1 | prefetch:8", threads, 1);
        levada_block *block = NULL;
        char         *json = NULL;

        for (int i = 0; i < 2; i++) { /* the first block takes 10 ms, others are ready */
            assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
            levada_block_unref(&block);
            pass_time(100 * MILLISECOND);
        }
        assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
        levada_block_unref(&block);
        assert_int_equal(levada_iter_stats(it, &json, NULL), LEVADA_OK);
        assert_true(atof(strstr(json, "\"wait_seconds\":") + 15) >= 0.010);
        assert_true(atof(strstr(json, "\"seconds\":") + 10) >= 0.200);
        if (threads > 1) assert_int_equal(t_iter_stat(it, "ready"), 2);
        else assert_true(atof(strstr(json, "\"wait_seconds\":") + 15) >= 0.030);
        levada_string_free(&json);
        levada_iter_close(&it);
    }
}

static void a_trace_has_what_each_thread_did(void **state)
{
    levada_iter *it = t_iter_open("t_rows:100 | shuffle:7 | select:n | batch:10", 1, 16);
    t_bytes      all = { 0 };
    char        *json = NULL;

    (void)state;
    assert_int_equal(levada_iter_trace_json(it, &json, NULL), LEVADA_EFAILED_PRECONDITION);
    assert_int_equal(levada_iter_trace(it, true, NULL), LEVADA_OK);
    (void)t_iter_read(it, 3, false, &all);
    assert_int_equal(levada_iter_trace(it, false, NULL), LEVADA_OK);
    (void)t_iter_read(it, -1, false, &all);
    assert_int_equal(levada_iter_trace_json(it, &json, NULL), LEVADA_OK);
    assert_int_equal(times_in(json, "\"name\":\"next\""), 3);
    assert_true(times_in(json, "\"name\":\"1.shuffle\"") >= 2);
    assert_true(times_in(json, "\"name\":\"2.select\"") >= 2);
    assert_non_null(strstr(json, "\"dropped_events\":\"0\""));
    levada_string_free(&json);
    levada_iter_close(&it);
    t_clear(&all);
}

/* A trace has a fixed size, and tells how much it lost. */
static void a_long_trace_keeps_the_newest_events(void **state)
{
    levada_iter *it = t_iter_open("range:70000 | batch:1", 1, 1);
    t_bytes      all = { 0 };
    char        *json = NULL;

    (void)state;
    assert_int_equal(levada_iter_trace(it, true, NULL), LEVADA_OK);
    (void)t_iter_read(it, -1, false, &all);
    assert_int_equal(levada_iter_trace_json(it, &json, NULL), LEVADA_OK);
    assert_int_equal(times_in(json, "\"ph\":\"X\""), 65536);
    assert_null(strstr(json, "\"dropped_events\":\"0\""));
    levada_string_free(&json);
    levada_iter_close(&it);
    t_clear(&all);
}

static void hundreds_of_stages_may_stand_in_a_row(void **state)
{
    char         text[8192];
    size_t       size = (size_t)snprintf(text, sizeof text, "range:30 | shuffle:7");
    levada_iter *it;
    t_bytes      few = t_iter_all(text, false), many = { 0 };

    (void)state;
    for (int i = 0; i < 300; i++) {
        size += (size_t)snprintf(text + size, sizeof text - size, " | select:value");
    }
    it = t_iter_open(text, 3, 4);
    (void)t_iter_read(it, -1, false, &many);
    t_bytes_equal(few, many, "300 stages");
    levada_iter_close(&it);
    t_clear(&few);
    t_clear(&many);
}

typedef struct looking {
    levada_iter *it;
    atomic_bool  stop;
} looking;

static void look(void *user)
{
    looking *l = user;
    bool     traced = false;

    while (!atomic_load(&l->stop)) {
        levada_origin of = { 0 };
        char         *json = NULL, *path = NULL;
        int64_t       done, total;

        assert_int_equal(levada_iter_report(l->it, &json, NULL), LEVADA_OK);
        levada_string_free(&json);
        assert_int_equal(levada_iter_stats(l->it, &json, NULL), LEVADA_OK);
        levada_string_free(&json);
        assert_int_equal(levada_iter_trace(l->it, !traced, NULL), LEVADA_OK);
        assert_int_equal(levada_iter_trace_json(l->it, &json, NULL), LEVADA_OK);
        levada_string_free(&json);
        traced = !traced;
        assert_int_equal(levada_iter_origin_file(l->it, &of, &path, NULL), LEVADA_OK);
        assert_null(path);
        assert_int_equal(levada_iter_opened_file(l->it, 0, &of, &path, NULL), LEVADA_END);
        levada_iter_progress(l->it, &done, &total);
        assert_int_equal(total, -1);
    }
}

static void others_may_look_while_it_is_restored(void **state)
{
    levada_iter  *it = t_iter_open("t_rows:100,bare=true | prefetch:2 | shuffle:9 | batch:5", 3, 8);
    looking       l = { .it = it };
    levada_thread thread;
    t_bytes       all = { 0 }, saved = t_iter_save(it);

    (void)state;
    assert_int_equal(levada_thread_start(&thread, look, &l, NULL), LEVADA_OK);
    for (int i = 0; i < 30; i++) {
        (void)t_iter_read(it, 4, true, &all);
        t_iter_restore(it, saved);
    }
    atomic_store(&l.stop, true);
    levada_thread_join(&thread);
    t_clear(&all);
    t_clear(&saved);
    levada_iter_close(&it);
}

static void pull_one(void *user)
{
    levada_iter  *it = user;
    levada_block *block = NULL;

    assert_int_equal(levada_iter_next_within(it, -1, &block, NULL), LEVADA_OK);
    assert_int_equal(levada_block_rows(block), 5);
    levada_block_unref(&block);
}

static void may_go_from_thread_to_thread(void **state)
{
    levada_iter *it = t_iter_open("t_rows:50,bare=true | shuffle:9 | batch:5", 3, 8);

    (void)state;
    for (int i = 0; i < 9; i++) {
        levada_thread thread;
        t_bytes       saved;

        assert_int_equal(levada_thread_start(&thread, pull_one, it, NULL), LEVADA_OK);
        levada_thread_join(&thread);
        saved = t_iter_save(it);
        t_iter_restore(it, saved);
        t_clear(&saved);
    }
    pull_one(it);
    assert_int_equal(t_iter_stat(it, "records"), 50);
    levada_iter_close(&it);
}

static void pull_all(void *user)
{
    levada_block *block = NULL;

    while (levada_iter_next(user, &block, NULL) == LEVADA_OK) levada_block_unref(&block);
}

static void use_it_on_two_threads(void *user)
{
    levada_iter  *it = t_iter_open("t_rows:1000000,bare=true,wait=2000000", 1, 1);
    levada_thread thread;

    (void)user;
    assert_int_equal(levada_thread_start(&thread, pull_all, it, NULL), LEVADA_OK);
    for (;;) {
        char  *bytes = NULL;
        size_t size;

        assert_int_equal(levada_iter_save(it, &bytes, &size, NULL), LEVADA_OK);
        levada_string_free(&bytes);
    }
}

static void one_thread_at_a_time_is_its_owner(void **state)
{
    (void)state;
    if (!LEVADA_DEBUG) skip();
    test_aborts(use_it_on_two_threads, NULL, "other == 0 || other == self");
}

static void blocks_outlive_their_iterator(void **state)
{
    levada_iter  *it = t_iter_open("t_rows:100 | shuffle:9 | batch:50", 4, 8);
    levada_block *block = NULL;
    t_bytes       bytes = { 0 };

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    levada_iter_close(&it);
    t_iter_add(&bytes, block, true);
    assert_true(levada_block_exclusive(block));
    levada_block_unref(&block);
    t_clear(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(end_is_repeated),
        cmocka_unit_test(an_error_is_repeated_and_not_saved),
        cmocka_unit_test(the_place_of_an_error_is_known),
        cmocka_unit_test(refuses_bad_options),
        cmocka_unit_test(refuses_bad_numbers),
        cmocka_unit_test(takes_smaller_structs),
        cmocka_unit_test(a_restore_may_change_threads_and_block_rows),
        cmocka_unit_test(a_drawn_seed_is_saved),
        cmocka_unit_test(the_epoch_is_saved),
        cmocka_unit_test(restored_and_saved_at_once),
        cmocka_unit_test(memory_may_be_limited),
        cmocka_unit_test(next_within_loses_nothing),
        cmocka_unit_test(next_within_keeps_its_time),
        cmocka_unit_test(a_limit_may_be_for_ever),
        cmocka_unit_test(cancel_wakes_whoever_waits),
        cmocka_unit_test(what_comes_back_is_given_again_and_counted_once),
        cmocka_unit_test(stats_add_up),
        cmocka_unit_test(without_workers_there_is_nothing_to_report),
        cmocka_unit_test(waiting_is_measured_where_the_consumer_waits),
        cmocka_unit_test(a_trace_has_what_each_thread_did),
        cmocka_unit_test(a_long_trace_keeps_the_newest_events),
        cmocka_unit_test(hundreds_of_stages_may_stand_in_a_row),
        cmocka_unit_test(others_may_look_while_it_is_restored),
        cmocka_unit_test(may_go_from_thread_to_thread),
        cmocka_unit_test(one_thread_at_a_time_is_its_owner),
        cmocka_unit_test(blocks_outlive_their_iterator),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
