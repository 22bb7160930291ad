/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a web server: the same records as from a local file, whatever the server does; else an
 * error that says what happened.
 */
#include "support/iters.h"
#include "support/web_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define RECORDS 40000
#define TAG "\"first\""

static t_bytes      file;
static t_bytes      nothing; /* what is read and not looked at */
static t_web_server server;
static char         text[600];

static int make_file(void **state)
{
    uint8_t record[200];

    if (t_folder_set_up(state) != 0) return 1;
    for (int i = 0; i < RECORDS; i++) {
        memset(record, i & 255, sizeof record);
        memcpy(record, &i, sizeof i);
        t_add_record(&file, record, 100 + (size_t)(i % 100));
    }
    t_write_file(t_path("a.tfrecord"), file.at, file.size);
    return 0;
}

static int drop_file(void **state)
{
    t_clear(&nothing);
    t_clear(&file);
    return t_folder_tear_down(state);
}

/* Starts the server with this plan; `text` is the pipeline that reads it. */
static void serve(t_web_answer (*plan)(void *user, const t_web_request *request), void *user)
{
    char url[128];

    server = (t_web_server){ .data = file.at, .size = (int64_t)file.size, .etag = TAG,
                             .plan = plan, .user = user };
    t_web_start(&server);
    (void)snprintf(text, sizeof text, "tfrecord:%s | batch:64",
                   t_web_url(&server, "a.tfrecord", url, sizeof url));
}

static t_bytes local(void)
{
    char of_file[600];

    (void)snprintf(of_file, sizeof of_file, "tfrecord:%s | batch:64", t_path("a.tfrecord"));
    return t_iter_all(of_file, true);
}

static void the_same(int32_t threads)
{
    t_bytes      expected = local(), got = { 0 };
    levada_iter *it = t_iter_open(text, threads, 256);

    (void)t_iter_read(it, -1, true, &got);
    levada_iter_close(&it);
    t_bytes_equal(got, expected, text);
    t_clear(&got);
    t_clear(&expected);
}

static void reads_what_a_local_file_has(void **state)
{
    (void)state;
    for (int32_t threads = 0; threads < 4; threads++) {
        serve(NULL, NULL);
        the_same(threads);
        assert_int_equal(atomic_load(&server.unconditional), 0);
        t_web_stop(&server);
    }
}

static t_web_answer late(void *user, const t_web_request *r)
{
    (void)user, (void)r;
    return (t_web_answer){ .delay = 20 };
}

static void asks_for_several_ranges_at_a_time(void **state)
{
    (void)state;
    serve(late, NULL);
    the_same(1);
    assert_true(atomic_load(&server.most_at_once) >= 2);
    assert_true(atomic_load(&server.requests) <= 8);
    t_web_stop(&server);
}

static void restores_at_every_part(void **state)
{
    t_bytes expected = local();

    (void)state;
    serve(NULL, NULL);
    for (int64_t cut = 0; cut < RECORDS / 64; cut += 150) {
        levada_iter *it = t_iter_open(text, 2, 256), *again = t_iter_open(text, 1, 64);
        t_bytes      got = { 0 }, state_bytes;

        (void)t_iter_read(it, cut, true, &got);
        state_bytes = t_iter_save(it);
        levada_iter_close(&it);
        t_iter_restore(again, state_bytes);
        (void)t_iter_read(again, -1, true, &got);
        levada_iter_close(&again);
        t_bytes_equal(got, expected, "restored");
        t_clear(&got);
        t_clear(&state_bytes);
    }
    t_clear(&expected);
    t_web_stop(&server);
}

/* A fault at the request of this number, once or from then on. */
typedef struct fault {
    int64_t      at;
    bool         lasts;
    t_web_answer what;
} fault;

static t_web_answer fails_at(void *user, const t_web_request *r)
{
    const fault *f = user;

    return r->number == f->at || (f->lasts && r->number > f->at) ? f->what : (t_web_answer){ 0 };
}

static void survives_each_fault_at_each_request(void **state)
{
    static const t_web_answer faults[] = {
        { .status = 503 },
        { .status = 429, .retry_after = "0" },
        { .status = 408 },
        { .status = 500 },
        { .cut = 1 },
        { .cut = 100000 },
        { .wrong_range = true },
    };

    (void)state;
    for (size_t k = 0; k < sizeof faults / sizeof faults[0]; k++) {
        for (int64_t at = 0; at < 4; at++) {
            fault f = { .at = at, .what = faults[k] };

            serve(fails_at, &f);
            the_same((int32_t)(at % 3));
            t_web_stop(&server);
        }
    }
}

static void set_io(int32_t attempts, int64_t milliseconds, int64_t read_ahead)
{
    levada_io_options io = LEVADA_IO_OPTIONS_INIT;

    io.attempts = attempts;
    io.deadline = milliseconds * 1000000;
    io.read_ahead = read_ahead;
    assert_int_equal(levada_env_set_io(t_iter_env(), &io, NULL), LEVADA_OK);
}

/* Reads all: the records of the local file, or those before an error that is known. */
static void the_same_or_an_error(const t_bytes *expected, int32_t threads)
{
    levada_iter  *it = t_iter_open(text, threads, 256);
    t_bytes       got = { 0 };
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;
    time_t        begun = time(NULL);

    for (;;) {
        levada_block *block = NULL;

        st = levada_iter_next(it, &block, &err);
        if (st != LEVADA_OK) break;
        t_iter_add(&got, block, true);
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    assert_true(time(NULL) - begun < 8); /* a request that stalls ends after 10 seconds */
    assert_true(got.size <= expected->size);
    assert_true(got.size == 0 || memcmp(got.at, expected->at, got.size) == 0);
    if (st == LEVADA_END) {
        assert_int_equal(got.size, expected->size);
    } else {
        assert_true(st == LEVADA_EUNAVAILABLE || st == LEVADA_EDEADLINE_EXCEEDED ||
                    st == LEVADA_EFAILED_PRECONDITION || st == LEVADA_EUNIMPLEMENTED);
        assert_non_null(strstr(err.file, "a.tfrecord"));
    }
    t_clear(&got);
}

static void each_fault_at_each_request_is_survived_or_named(void **state)
{
    static const t_web_answer faults[] = {
        { .status = 503 },
        { .status = 429, .retry_after = "1" },
        { .status = 429, .retry_after = "50" },
        { .cut = 1 },
        { .cut = 100000 },
        { .stalls = true },
        { .cut = 1000, .half_open = true },
        { .trickle = 2000 },
        { .etag = "\"second\"" },
        { .ignores_ranges = true },
        { .wrong_range = true },
    };
    static const int64_t read_ahead[] = { INT64_C(1) << 20, INT64_C(64) << 20 };
    t_bytes              expected = local();

    (void)state;
    for (size_t k = 0; k < sizeof faults / sizeof faults[0]; k++) {
        for (int which = 0; which < 16; which++) { /* request, once or always, 1 or 8 in flight */
            fault f = { .at = which / 4, .lasts = which & 1, .what = faults[k] };

            set_io(2, 100, read_ahead[(which >> 1) & 1]);
            serve(fails_at, &f);
            the_same_or_an_error(&expected, which % 3);
            t_web_stop(&server);
        }
    }
    set_io(5, 120000, INT64_C(64) << 20);
    t_clear(&expected);
}

/* Bytes arrive steadily, so that no pause of the server ends the request. */
static void slow_answers_end_at_the_deadline(void **state)
{
    fault        f = { .at = 1, .lasts = true, .what = { .trickle = 1000 } };
    levada_iter *it;

    (void)state;
    set_io(5, 300, INT64_C(64) << 20);
    serve(fails_at, &f);
    it = t_iter_open(text, 1, 256);
    (void)t_iter_ends(it, LEVADA_EDEADLINE_EXCEEDED, "within the deadline of 0.3 s");
    t_web_stop(&server);
    set_io(5, 120000, INT64_C(64) << 20);
}

static void names_what_lasts(void **state)
{
    static const struct {
        t_web_answer  what;
        levada_status code;
        const char   *message;
    } faults[] = {
        { { .status = 404 }, LEVADA_ENOT_FOUND, "status 404" },
        { { .status = 403 }, LEVADA_EPERMISSION_DENIED, "status 403" },
        { { .status = 401 }, LEVADA_EPERMISSION_DENIED, "status 401" },
        { { .status = 503 }, LEVADA_EUNAVAILABLE, "status 503 (2 attempts)" },
        { { .etag = "\"second\"" }, LEVADA_EFAILED_PRECONDITION, "replaced while it was read" },
        { { .cut = 1000 }, LEVADA_EUNAVAILABLE, "(2 attempts)" },
    };

    (void)state;
    set_io(2, 120000, INT64_C(64) << 20);
    for (size_t k = 0; k < sizeof faults / sizeof faults[0]; k++) {
        fault        f = { .at = 1, .lasts = true, .what = faults[k].what };
        levada_iter *it;

        serve(fails_at, &f);
        it = t_iter_open(text, 1, 256);
        (void)t_iter_ends(it, faults[k].code, faults[k].message);
        t_web_stop(&server);
    }
    set_io(5, 120000, INT64_C(64) << 20);
}

static void reads_from_servers_without_ranges(void **state)
{
    fault f = { .lasts = true, .what = { .ignores_ranges = true } };

    (void)state;
    serve(fails_at, &f);
    the_same(1);
    assert_int_equal(atomic_load(&server.requests), 1);
    t_web_stop(&server);
}

static void follows_redirects(void **state)
{
    fault f = { .what = { .status = 302, .location = "/moved" } };

    (void)state;
    serve(fails_at, &f);
    the_same(1);
    t_web_stop(&server);
}

static void reads_empty_files(void **state)
{
    levada_iter *it;

    (void)state;
    serve(NULL, NULL);
    server.size = 0;
    it = t_iter_open(text, 1, 256);
    assert_int_equal(t_iter_read(it, -1, false, &nothing), 0);
    levada_iter_close(&it);
    t_web_stop(&server);
}

static void refuses_changed_files_at_a_restore(void **state)
{
    levada_iter  *it, *again;
    t_bytes       saved;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;

    (void)state;
    serve(NULL, NULL);
    it = t_iter_open(text, 1, 256);
    (void)t_iter_read(it, 100, false, &nothing);
    saved = t_iter_save(it);
    levada_iter_close(&it);
    server.etag = "\"second\"";
    again = t_iter_open(text, 1, 256);
    st = levada_iter_restore(again, saved.at, saved.size, &err);
    if (st == LEVADA_OK) {
        levada_block *block = NULL;

        st = levada_iter_next(again, &block, &err);
    }
    assert_int_equal(st, LEVADA_EFAILED_PRECONDITION);
    levada_iter_close(&again);
    t_clear(&saved);
    t_web_stop(&server);
}

static void ends_when_it_is_closed(void **state)
{
    fault        f = { .at = 1, .lasts = true, .what = { .stalls = true } };
    levada_iter *it;

    (void)state;
    serve(fails_at, &f);
    it = t_iter_open(text, 2, 256);
    (void)t_iter_read(it, 1, false, &nothing);
    levada_iter_close(&it); /* requests are on their way */
    t_web_stop(&server);
}

static void refuses_passwords_in_names(void **state)
{
    (void)state;
    levada_iter *it = t_iter_open("tfrecord:\"http://me:secret@127.0.0.1:1/a\"", 1, 256);

    (void)t_iter_ends(it, LEVADA_EINVALID_ARGUMENT, "netrc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_a_local_file_has),
        cmocka_unit_test(asks_for_several_ranges_at_a_time),
        cmocka_unit_test(restores_at_every_part),
        cmocka_unit_test(survives_each_fault_at_each_request),
        cmocka_unit_test(each_fault_at_each_request_is_survived_or_named),
        cmocka_unit_test(slow_answers_end_at_the_deadline),
        cmocka_unit_test(names_what_lasts),
        cmocka_unit_test(reads_from_servers_without_ranges),
        cmocka_unit_test(follows_redirects),
        cmocka_unit_test(reads_empty_files),
        cmocka_unit_test(refuses_changed_files_at_a_restore),
        cmocka_unit_test(ends_when_it_is_closed),
        cmocka_unit_test(refuses_passwords_in_names),
    };

    if (!t_has("curl")) return 77;
    return cmocka_run_group_tests(tests, make_file, drop_file);
}
