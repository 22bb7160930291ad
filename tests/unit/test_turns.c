/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad records in the pipes of an interleave: they count when their turn comes.
 */
#include "support/codec.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PARSE "parse_example:{x:{kind:VarLen,dtype:int64}}"

/* 40 records, the first and each `every`-th behind it no message. */
static void write_undecodable(const char *name, int every)
{
    t_bytes file = { 0 };

    for (int i = 0; i < 40; i++) t_add_record(&file, "\xff\xff", i % every ? 0 : 2);
    t_write_file(t_path(name), file.at, file.size);
    t_clear(&file);
}

/* The same rows, then the same record's error; closes the iterator. */
static void ends_as(levada_iter *it, int64_t rows, const t_outcome *want)
{
    t_outcome got = { rows, LEVADA_ERROR_INIT };

    assert_int_equal(t_iter_read_rest(it, &got), want->why.code);
    assert_int_equal(got.rows, want->rows);
    assert_string_equal(got.why.file, want->why.file);
    assert_int_equal(got.why.record, want->why.record);
    levada_iter_close(&it);
}

/* Restored in front of each `step`-th block into an iterator with blocks of another size. */
static void ends_as_behind_restores(const char *text, const char *errors, int32_t threads,
                                    int32_t block_rows, int step, const t_outcome *want)
{
    levada_status st = LEVADA_OK;

    for (int cut = 0; st == LEVADA_OK; cut += step) {
        levada_iter  *it = t_iter_open_policy(text, errors, threads, block_rows), *other = NULL;
        levada_block *block = NULL;
        t_bytes       saved;
        int64_t       rows = 0;

        for (int i = 0; i < cut && st == LEVADA_OK; i++) {
            st = levada_iter_next(it, &block, NULL);
            if (st == LEVADA_OK) rows += levada_block_rows(block);
            levada_block_unref(&block);
        }
        if (st == LEVADA_OK) {
            saved = t_iter_save(it);
            other = t_iter_open_policy(text, errors, 5 - threads, 3);
            t_iter_restore(other, saved);
            ends_as(other, rows, want);
            t_clear(&saved);
        }
        levada_iter_close(&it);
    }
}

/* `steps`: restores of each way to read it. */
static void ends_alike_in_blocks(const char *text, const char *errors, int steps,
                                 const char *file, int64_t record)
{
    const int32_t sizes[] = { 1, 2, 7, 256 };
    t_outcome       want = { 0, LEVADA_ERROR_INIT };
    levada_iter  *it = t_iter_open_policy(text, errors, 1, 1);

    assert_true(t_iter_read_rest(it, &want) < 0);
    levada_iter_close(&it);
    if (!strstr(want.why.file, file)) fail_msg("%s: %s", text, want.why.file);
    assert_int_equal(want.why.record, record);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int step = 1 + (int)(want.rows / steps / sizes[k]);

        for (int32_t threads = 1; threads <= 4; threads += 3) {
            ends_as(t_iter_open_policy(text, errors, threads, sizes[k]), 0, &want);
            ends_as_behind_restores(text, errors, threads, sizes[k], step, &want);
        }
    }
}

/* A record of a pipe counts when the interleave comes to it. */
static void budgets_inside_an_interleave_depend_on_no_block(void **state)
{
    static const char *const rests[] = {
        "(tfrecord:\"{path}\" | " PARSE "),cycle_length=3",
        "(tfrecord:\"{path}\" | " PARSE " | prefetch:2 | cast:x,dtype=int32 | take:38 | "
        "enumerate),cycle_length=3",
        "(tfrecord:\"{path}\" | skip:0 | " PARSE "),cycle_length=3",
        "(tfrecord:\"{path}\" | " PARSE " | batch:1),cycle_length=3",
    };
    char text[1024];

    (void)state;
    write_undecodable("f0", 3);
    write_undecodable("f1", 11);
    write_undecodable("f2", 8);
    for (size_t k = 0; k < sizeof rests / sizeof *rests; k++) {
        (void)snprintf(text, sizeof text, "files:\"%s\" | interleave:%s", t_path("f?"), rests[k]);
        ends_alike_in_blocks(text, "skip:9", 99, "/f1", 11);
    }
}

/* 40 records, one of which is no message. */
static void write_one_bad(const char *name, int bad)
{
    t_bytes file = { 0 };

    for (int i = 0; i < 40; i++) t_add_record(&file, "\xff\xff", i == bad ? 2 : 0);
    t_write_file(t_path(name), file.at, file.size);
    t_clear(&file);
}

/* Not at the first bad record that is read, which is that of g0 with large blocks. */
static void fail_inside_an_interleave_is_at_the_first_bad_record(void **state)
{
    static const char *const rests[] = {
        "(tfrecord:\"{path}\" | " PARSE "),cycle_length=3",
        "(tfrecord:\"{path}\" | " PARSE " | cast:x,dtype=int32 | take:38),cycle_length=3",
    };
    char text[1024];

    (void)state;
    write_one_bad("g0", 30);
    write_one_bad("g1", 12);
    write_one_bad("g2", 20);
    for (size_t k = 0; k < sizeof rests / sizeof *rests; k++) {
        (void)snprintf(text, sizeof text, "files:\"%s\" | interleave:%s", t_path("g?"), rests[k]);
        ends_alike_in_blocks(text, "fail", 99, "/g1", 12);
    }
}

/* 1,000 good records, then each `every`-th is none: no message, or damaged. */
static void write_late(const char *name, int every, bool damage)
{
    t_bytes file = { 0 };

    for (int i = 0; i < 1500; i++) {
        bool bad = i >= 1000 && i % every == 0;

        t_add_record(&file, "\xff\xff", bad && !damage ? 2 : 0);
        if (bad && damage) file.at[file.size - 1] ^= 1;
    }
    t_write_file(t_path(name), file.at, file.size);
    t_clear(&file);
}

/* A share is of what came out in turn and what was left out, not of what the pipes have read. */
static void shares_inside_an_interleave_depend_on_no_block(void **state)
{
    static const char *const rests[] = {
        "(tfrecord:\"{path}\" | " PARSE "),cycle_length=3",
        "(tfrecord:\"{path}\" | " PARSE " | batch:5),cycle_length=2",
        "(tfrecord:\"{path}\"),cycle_length=3",
        "(tfrecord:\"{path}\",errors=\"skip:1%\"),cycle_length=3",
    };
    static const int64_t ends[] = { 1170, 1150, 1170, 1170 };
    char                 text[1024];

    (void)state;
    for (size_t k = 0; k < sizeof rests / sizeof *rests; k++) {
        write_late("h0", 10, k >= 2);
        write_late("h1", 23, k >= 2);
        write_late("h2", 17, k >= 2);
        (void)snprintf(text, sizeof text, "files:\"%s\" | interleave:%s", t_path("h?"), rests[k]);
        ends_alike_in_blocks(text, k < 3 ? "skip:1%" : "skip", 5, "/h", ends[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budgets_inside_an_interleave_depend_on_no_block),
        cmocka_unit_test(fail_inside_an_interleave_is_at_the_first_bad_record),
        cmocka_unit_test(shares_inside_an_interleave_depend_on_no_block),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
