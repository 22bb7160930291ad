/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system fails at one call after the other while files are read and written. Interrupted and
 * short calls are nobody's business; after any other the run ends with an error that names the
 * file, whatever its policy for bad records says; what came before is right, nothing is left open,
 * and what failed can be done again.
 */
#include "fault/fault_io.h"
#include "fault/fault_thread.h"
#include "support/codec.h"
#include "support/iters.h"
#include "support/length.h"

#include <levada/output.h>
#include <levada/writer.h>

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define RECORDS 30000 /* in a large file: several chunks */

/* -- files: a large one between two small ones */

static void write_file(const char *name, int first, int n, const char *filter)
{
    t_bytes file = { 0 }, packed;
    char    text[64];

    for (int i = first; i < first + n; i++) {
        int size = snprintf(text, sizeof text, "record %d", i);

        t_add_record(&file, text, (size_t)size);
    }
    packed = filter ? t_encode(filter, file.at, file.size, 0) : file;
    t_write_file(t_path(name), packed.at, packed.size);
    if (filter) t_clear(&packed);
    t_clear(&file);
}

static void write_files(const char *filter)
{
    write_file("f1", 0, 5, filter);
    write_file("f2", 5, RECORDS, filter);
    write_file("f3", 5 + RECORDS, 5, filter);
}

/* -- one run */

typedef struct run {
    levada_status st;
    levada_error  why;
    int64_t       records, left_out;
} run;

/* Checks the numbers in the records: ascending, and without a gap where nothing is skipped. */
static void look(run *r, const levada_block *block, int64_t *next, bool gaps)
{
    for (int64_t i = 0; i < levada_block_rows(block); i++) {
        int64_t        size, number = 0;
        const uint8_t *text = levada_column_bytes(levada_block_at(block, 0), i, &size);

        assert_true(size > 7);
        for (int64_t k = 7; k < size; k++) number = 10 * number + text[k] - '0';
        if (gaps) assert_true(number >= *next);
        else assert_int_equal(number, *next);
        *next = number + 1;
        r->records++;
    }
}

static levada_dataset *describe(const char *rest)
{
    levada_dataset *dataset = NULL;
    char            text[512];

    (void)snprintf(text, sizeof text, "tfrecord:%s%s", t_path("f?"), rest);
    assert_int_equal(levada_dataset_parse(t_iter_env(), text, &dataset, NULL), LEVADA_OK);
    return dataset;
}

static run read_all(const char *rest, const char *errors, int32_t threads)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    levada_dataset     *dataset = describe(rest);
    levada_iter        *it = NULL;
    levada_block       *block = NULL;
    run                 r = { .why = LEVADA_ERROR_INIT };
    int64_t             next = 0;
    levada_error        again = LEVADA_ERROR_INIT;

    o.threads = threads;
    o.errors = errors;
    r.st = levada_iter_open(dataset, &o, &it, &r.why);
    while (r.st == LEVADA_OK && (r.st = levada_iter_next(it, &block, &r.why)) == LEVADA_OK) {
        look(&r, block, &next, errors != NULL);
        levada_block_unref(&block);
    }
    if (it && r.st < 0) { /* it stays so */
        assert_int_equal(levada_iter_next(it, &block, &again), r.st);
        assert_string_equal(again.message, r.why.message);
    }
    if (it) r.left_out = t_iter_stat(it, "skipped_records");
    levada_iter_close(&it);
    levada_dataset_unref(&dataset);
    return r;
}

/* What a run may have come to. */
static void judge(const run *r, fault_io_kind kind)
{
    bool harmless = kind == FAULT_IO_EINTR || kind == FAULT_IO_SHORT;

    if (r->st == LEVADA_END) {
        assert_true(r->records == RECORDS + 10 || (kind == FAULT_IO_NONE && r->left_out > 0));
        return;
    }
    if (harmless) fail_msg("%s: %s", levada_status_name(r->st), r->why.message);
    assert_int_equal(r->st, r->why.code);
    if (kind == FAULT_IO_EIO) assert_int_equal(r->st, LEVADA_EUNAVAILABLE);
    else assert_true(r->st == LEVADA_EDATA_LOSS || r->st == LEVADA_ERESOURCE_EXHAUSTED);
    if (!strstr(r->why.file, "/f")) fail_msg("no file: %s", r->why.message);
    assert_non_null(strchr(r->why.stage, '.'));
}

static void sweep_reads(const char *rest, int32_t threads, fault_io_calls calls,
                        fault_io_kind kind, bool after)
{
    static const char *const errors[] = { NULL, "skip", "skip:100%" };
    int64_t                  descriptors = fault_io_open();

    for (int skips = 0; skips < 3; skips++) {
        bool reached = true;

        for (int64_t n = 0; reached; n++) {
            run r;

            fault_io_arm(calls, kind, n, after);
            r = read_all(rest, errors[skips], threads);
            reached = fault_io_disarm() > n;
            judge(&r, kind);
            if (!reached) assert_int_equal(r.records, RECORDS + 10);
            assert_int_equal(fault_io_open(), descriptors);
        }
    }
}

static void sweep_filter(const char *filter)
{
    static const char *const rests[] = { "", " | prefetch:2 | enumerate" };

    if (filter && !t_can(filter)) return;
    write_files(filter);
    for (int i = 0; i < 2; i++) {
        int32_t threads = 1 + 2 * i;

        sweep_reads(rests[i], threads, FAULT_IO_READS, FAULT_IO_EIO, false);
        sweep_reads(rests[i], threads, FAULT_IO_READS, FAULT_IO_EIO, true);
        sweep_reads(rests[i], threads, FAULT_IO_READS, FAULT_IO_EINTR, false);
        sweep_reads(rests[i], threads, FAULT_IO_READS, FAULT_IO_SHORT, false);
        sweep_reads(rests[i], threads, FAULT_IO_READS, FAULT_IO_SHORT, true);
        sweep_reads(rests[i], threads, FAULT_IO_READS, FAULT_IO_NONE, false);
        sweep_reads(rests[i], threads, FAULT_IO_READS, FAULT_IO_NONE, true);
        sweep_reads(rests[i], threads, FAULT_IO_OPENS, FAULT_IO_EMFILE, false);
        sweep_reads(rests[i], threads, FAULT_IO_OPENS, FAULT_IO_EIO, false);
    }
}

static void reads_of_plain_files_fail(void **state)
{
    (void)state;
    sweep_filter(NULL);
}

static void reads_of_gzip_files_fail(void **state)
{
    (void)state;
    sweep_filter("gzip");
}

static void reads_of_zstd_files_fail(void **state)
{
    (void)state;
    sweep_filter("zstd");
}

/* A restore that fails leaves the iterator as it was; one that follows finds nothing missing. */
static void restores_fail(void **state)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    bool                reached = true;

    (void)state;
    write_files(NULL);
    o.threads = 1;
    o.seed = 3;
    for (int64_t n = 0; reached; n++) {
        levada_dataset *dataset = describe(" | shuffle:3000");
        levada_iter    *it = NULL;
        levada_error    err = LEVADA_ERROR_INIT;
        t_bytes         first = { 0 }, rest = { 0 }, other = { 0 }, saved;
        levada_status   st;

        assert_int_equal(levada_iter_open(dataset, &o, &it, NULL), LEVADA_OK);
        (void)t_iter_read(it, 20, false, &first);
        saved = t_iter_save(it);
        fault_io_arm(FAULT_IO_READS, FAULT_IO_EIO, n, false);
        st = levada_iter_restore(it, saved.at, saved.size, &err);
        reached = fault_io_disarm() > n;
        if (reached) {
            if (st != LEVADA_EUNAVAILABLE) fail_msg("%s", err.message);
            assert_non_null(strstr(err.file, "/f"));
        } else {
            assert_int_equal(st, LEVADA_OK);
        }
        (void)t_iter_read(it, -1, false, &rest);
        t_iter_restore(it, saved);
        (void)t_iter_read(it, -1, false, &other);
        t_bytes_equal(rest, other, "after a restore");
        levada_iter_close(&it);
        levada_dataset_unref(&dataset);
        t_clear(&first);
        t_clear(&rest);
        t_clear(&other);
        t_clear(&saved);
    }
}

/* -- writing */

#define WRITTEN 300

static levada_status write_all(const char *filter, levada_error *err)
{
    levada_writer *w = NULL;
    char           record[5000];
    levada_status  st = levada_writer_open(t_iter_env(), t_path("out"), filter, -1, &w, err);

    for (int i = 0; i < WRITTEN && st == LEVADA_OK; i++) {
        for (size_t k = 0; k < sizeof record; k++) {
            record[k] = (char)((uint32_t)(k * k + 7 * (size_t)i) * 2654435761U >> 24);
        }
        st = levada_writer_write(w, record, i % 50 == 0 ? sizeof record : (size_t)i, err);
        if (st == LEVADA_OK && i % 100 == 99) st = levada_writer_flush(w, err);
    }
    if (w && st == LEVADA_OK) st = levada_writer_close(w, err);
    if (w && st != LEVADA_OK) { /* it stays so */
        levada_error again = LEVADA_ERROR_INIT;

        assert_int_equal(levada_writer_write(w, "x", 1, &again), st);
        assert_int_equal(levada_writer_close(w, &again), st);
        assert_string_equal(again.message, err->message);
    }
    levada_writer_destroy(&w);
    return st;
}

/* Files in the folder whose names begin with a dot: temporary ones. */
static int64_t temporaries(void)
{
    DIR           *folder = opendir(t_path("."));
    struct dirent *entry;
    int64_t        n = 0;

    assert_non_null(folder);
    while ((entry = readdir(folder))) n += entry->d_name[0] == '.' && strlen(entry->d_name) > 2;
    (void)closedir(folder);
    return n;
}

/* Whatever fails, the file is the old one or the complete new one, and nothing else is left. */
static void sweep_writes(const char *filter, fault_io_calls calls, fault_io_kind kind, bool after,
                         levada_status code)
{
    static const char old[] = "what was there before";
    levada_error err = LEVADA_ERROR_INIT;
    int64_t      descriptors = fault_io_open();
    bool         reached = true;
    t_bytes      want;

    assert_int_equal(write_all(filter, &err), LEVADA_OK);
    want = t_read_file(t_path("out"));
    for (int64_t n = 0; reached; n++) {
        levada_status st;
        t_bytes       got;

        t_write_file(t_path("out"), old, sizeof old);
        assert_int_equal(chmod(t_path("out"), 0640), 0);
        fault_io_arm(calls, kind, n, after);
        levada_error_clear(&err);
        st = write_all(filter, &err);
        reached = fault_io_disarm() > n;
        assert_int_equal(fault_io_open(), descriptors);
        got = t_read_file(t_path("out"));
        if (st == LEVADA_OK) {
            assert_true(!reached || code == LEVADA_OK);
            t_bytes_equal(want, got, "what was written");
        } else {
            if (st != code || err.code != code) fail_msg("%s", err.message);
            assert_non_null(strstr(err.file, "/out"));
            if (got.size == sizeof old) assert_memory_equal(got.at, old, sizeof old);
            else t_bytes_equal(want, got, "what was written");
        }
        assert_int_equal(temporaries(), 0);
        t_clear(&got);
    }
    t_clear(&want);
}

static void writes_fail(void **state)
{
    static const char *const filters[] = { NULL, "gzip", "zlib", "zstd" };

    (void)state;
    for (int i = 0; i < 8; i++) {
        if (filters[i % 4] && !t_can(filters[i % 4])) continue;
        fault_io_nameless(i < 4);
        sweep_writes(filters[i % 4], FAULT_IO_WRITES, FAULT_IO_ENOSPC, false,
                     LEVADA_ERESOURCE_EXHAUSTED);
        sweep_writes(filters[i % 4], FAULT_IO_WRITES, FAULT_IO_ENOSPC, true,
                     LEVADA_ERESOURCE_EXHAUSTED);
        sweep_writes(filters[i % 4], FAULT_IO_WRITES, FAULT_IO_EIO, false, LEVADA_EUNAVAILABLE);
        sweep_writes(filters[i % 4], FAULT_IO_FILES, FAULT_IO_ENOSPC, false,
                     LEVADA_ERESOURCE_EXHAUSTED);
        sweep_writes(filters[i % 4], FAULT_IO_FILES, FAULT_IO_EIO, false, LEVADA_EUNAVAILABLE);
        sweep_writes(filters[i % 4], FAULT_IO_WRITES, FAULT_IO_SHORT, false, LEVADA_OK);
        sweep_writes(filters[i % 4], FAULT_IO_WRITES, FAULT_IO_SHORT, true, LEVADA_OK);
    }
    fault_io_nameless(true);
}

/* No byte and no error, again and again, is a full disk and no reason to try forever. */
static void writes_that_take_nothing_end(void **state)
{
    levada_error err = LEVADA_ERROR_INIT;

    (void)state;
    fault_io_arm(FAULT_IO_WRITES, FAULT_IO_NONE, 0, true);
    assert_int_equal(write_all(NULL, &err), LEVADA_ERESOURCE_EXHAUSTED);
    (void)fault_io_disarm();
}

static void interrupted_writes_go_on(void **state)
{
    levada_error err = LEVADA_ERROR_INIT;

    (void)state;
    for (int64_t n = 0; n < 3; n++) {
        fault_io_arm(FAULT_IO_WRITES, FAULT_IO_EINTR, n, false);
        assert_int_equal(write_all(NULL, &err), LEVADA_OK);
        assert_true(fault_io_disarm() > n + 1); /* the last one is close() */
    }
}

/* -- signals */

static void end_by(int number)
{
    levada_output_drop_all();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

/* Saves a file again and again until a signal arrives, and writes one byte to `ready` after each
 * save. More outputs are open than one table has slots. */
static void write_until_signal(int ready)
{
    levada_output *held[100];

    (void)alarm(60); /* ends the child where the test fails before it sends the signal */
    (void)signal(SIGTERM, end_by);
    for (int i = 0; i < 100; i++) {
        if (levada_output_open(t_path("held"), &held[i], NULL) != LEVADA_OK) _exit(1);
    }
    for (;;) {
        if (levada_output_save(t_path("ended"), "complete", 8, NULL) != LEVADA_OK) _exit(2);
        if (write(ready, "", 1) != 1) _exit(3);
    }
}

/* Starts a child in write_until_signal and returns after it saved `saves` files. The caller closes
 * *ready after the child has ended. */
static pid_t start_writer(int64_t saves, int *ready)
{
    int   ends[2];
    pid_t child;
    char  byte;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) write_until_signal(ends[1]);
    (void)close(ends[1]);
    for (int64_t i = 0; i < saves; i++) assert_int_equal(read(ends[0], &byte, 1), 1);
    *ready = ends[0];
    return child;
}

static void a_signal_leaves_nothing_behind(void **state)
{
    int64_t trials = 30 * t_length();

    (void)state;
    assert_int_equal(levada_output_save(t_path("ended"), "complete", 8, NULL), LEVADA_OK);
    for (int64_t i = 0; i < trials; i++) {
        pid_t   child;
        int     status = 0, ready = -1;
        t_bytes got;

        fault_io_nameless(i % 2 == 0);
        child = start_writer(1 + i % 5, &ready);
        (void)usleep((useconds_t)(97 * i % 500)); /* another moment of a save each time */
        assert_int_equal(kill(child, SIGTERM), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        (void)close(ready);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
        got = t_read_file(t_path("ended"));
        assert_int_equal(got.size, 8);
        t_clear(&got);
        assert_int_equal(temporaries(), 0);
    }
    fault_io_nameless(true);
}

/* -- threads */

/* Which workers there are makes no difference, but none of those that were asked for is an error:
 * the same one until the iterator is closed, and no thread stays. */
static void threads_can_not_be_started(void **state)
{
    (void)state;
    write_files(NULL);
    for (int64_t n = 0; n <= 3; n++) {
        run r;

        fault_thread_arm(n);
        r = read_all(" | prefetch:2 | enumerate", NULL, 4);
        fault_thread_arm(-1);
        if (n < 3) {
            assert_int_equal(r.st, LEVADA_ERESOURCE_EXHAUSTED);
            assert_non_null(strstr(r.why.message, "thread"));
            assert_int_equal(r.records, 0);
        } else {
            assert_int_equal(r.st, LEVADA_END);
            assert_int_equal(r.records, RECORDS + 10);
        }
        assert_int_equal(fault_thread_live(), 0);
    }
}

/* More than the pieces of three frames. */
#define PIECES ((size_t)13 << 20)

/* `size` bytes through an encoder with threads, in steps; a flush in the middle. Takes no more than
 * `space` bytes of output at a time. */
static t_bytes encode_on_threads(const uint8_t *data, size_t size, int32_t threads, size_t space)
{
    const levada_filter_def *filter = levada_registry_filter(NULL, "zstd");
    void                    *state = calloc(1, filter->state_size);
    uint8_t                 *out = malloc(space);
    levada_filter_step       step = { .finished = false };
    t_bytes                  made = { 0 };
    size_t                   at = 0;
    bool                     flushing = false; /* until the output is not full */

    assert_int_equal(filter->open_encoder(state, 1, threads, NULL), LEVADA_OK);
    while (!step.finished) {
        size_t n = size - at < 300000 ? size - at : 300000;

        if (at < size / 2 && at + n > size / 2) n = size / 2 - at;
        if (flushing) n = 0;
        flushing = flushing || (n > 0 && at + n == size / 2);
        step = (levada_filter_step){ .in = data + at, .in_size = n, .out = out, .out_size = space,
                                     .flush = flushing, .in_ended = at + n == size };
        assert_int_equal(filter->encode(state, &step, NULL), LEVADA_OK);
        flushing = flushing && (step.made == space || step.used < n);
        t_add(&made, out, step.made);
        at += step.used;
    }
    filter->close_encoder(state);
    free(state);
    free(out);
    return made;
}

/* The bytes depend neither on the number of threads nor on how many of them can be started. */
static void frames_are_the_same_without_threads(void **state)
{
    uint8_t *data = malloc(PIECES);
    t_bytes  want, back = { 0 };

    (void)state;
    if (!t_can("zstd")) skip();
    for (size_t i = 0; i < PIECES; i++) data[i] = (uint8_t)(i % 251 ^ i >> 11);
    want = encode_on_threads(data, PIECES, 1, 1 << 16);
    assert_int_equal(t_decode("zstd", want, 0, 1 << 16, &back), LEVADA_OK);
    assert_int_equal(back.size, PIECES);
    assert_memory_equal(back.at, data, PIECES);
    t_clear(&back);
    for (int32_t threads = 2; threads <= 4; threads++) {
        for (int64_t n = -1; n <= 2; n++) {
            t_bytes got;

            fault_thread_arm(n);
            got = encode_on_threads(data, PIECES, threads, n == 0 ? 1 << 16 : 1000);
            fault_thread_arm(-1);
            assert_int_equal(got.size, want.size);
            assert_memory_equal(got.at, want.at, want.size);
            assert_int_equal(fault_thread_live(), 0);
            t_clear(&got);
        }
    }
    t_clear(&want);
    want = encode_on_threads(data, 0, 3, 1000); /* a frame of nothing */
    assert_in_range(want.size, 1, 100);
    t_clear(&want);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_of_plain_files_fail),
        cmocka_unit_test(reads_of_gzip_files_fail),
        cmocka_unit_test(reads_of_zstd_files_fail),
        cmocka_unit_test(restores_fail),
        cmocka_unit_test(writes_fail),
        cmocka_unit_test(writes_that_take_nothing_end),
        cmocka_unit_test(interrupted_writes_go_on),
        cmocka_unit_test(a_signal_leaves_nothing_behind),
        cmocka_unit_test(threads_can_not_be_started),
        cmocka_unit_test(frames_are_the_same_without_threads),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
