/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad records in the pipes of an interleave: they count when their turn comes.
 */
#include "support/codec.h"
#include "support/iters.h"
#include "support/register.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PARSE "parse_example:{x:{kind:VarLen,dtype:int64}}"

/* 40 records, the first and each `every`-th after it no message. */
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

/* Restored before each `step`-th block into an iterator with blocks of another size. */
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

/* 40 records, one of which is not a message. */
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

/* A share is of what came out in turn and what was skipped, not of what the pipes have read. */
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

/* -- how often records are decoded */

static atomic_llong decoded;

static levada_status counting_check(const void *args, levada_spec **out, levada_error *err)
{
    const levada_field field = { .name = "size", .dtype = LEVADA_INT64 };

    (void)args;
    return levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, out, err);
}

/* A record of two bytes is bad. */
static levada_status counting_decode(void *state, const void *args, const levada_strings *in,
                                     levada_builder *out, levada_error *err)
{
    void        *sizes = NULL;
    levada_error why = LEVADA_ERROR_INIT;

    (void)state, (void)args;
    (void)levada_fail(&why, LEVADA_EINVALID_ARGUMENT, "two bytes");
    (void)atomic_fetch_add(&decoded, in->n);
    LEVADA_TRY(levada_builder_values(out, 0, in->n, &sizes, err));
    for (int64_t i = 0; i < in->n; i++) {
        ((int64_t *)sizes)[i] = in->size[i];
        if (in->size[i] == 2) LEVADA_TRY(levada_builder_reject(out, i, &why, err));
    }
    return LEVADA_OK;
}

static const levada_decoder_def counting = {
    .struct_size = sizeof(levada_decoder_def), .name = "t_counting", .doc = "counts records",
    .example = "t_rows:3 | t_counting", .field = "record", .check = counting_check,
    .decode = counting_decode,
};

/* Also where a block has bad records: 14, 4 and 5 of 40. */
static void a_record_of_an_interleave_is_decoded_once(void **state)
{
    char text[1024];

    (void)state;
    assert_int_equal(t_register(t_iter_env(), LEVADA_FAMILY_DECODER, &counting, NULL, NULL),
                     LEVADA_OK);
    write_undecodable("h0", 3);
    write_undecodable("h1", 11);
    write_undecodable("h2", 8);
    (void)snprintf(text, sizeof text,
                   "files:\"%s\" | interleave:(tfrecord:\"{path}\" | t_counting),cycle_length=3",
                   t_path("h?"));
    for (int32_t rows = 1; rows <= 256; rows *= 16) {
        levada_iter *it = t_iter_open_policy(text, "skip", 1, rows);
        t_outcome    got = { 0, LEVADA_ERROR_INIT };

        atomic_store(&decoded, 0);
        assert_int_equal(t_iter_read_rest(it, &got), LEVADA_END);
        assert_int_equal(t_iter_stat(it, "skipped_records"), 14 + 4 + 5);
        assert_int_equal(got.rows, 120 - 23);
        assert_int_equal(atomic_load(&decoded), 120);
        levada_iter_close(&it);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budgets_inside_an_interleave_depend_on_no_block),
        cmocka_unit_test(fail_inside_an_interleave_is_at_the_first_bad_record),
        cmocka_unit_test(shares_inside_an_interleave_depend_on_no_block),
        cmocka_unit_test(a_record_of_an_interleave_is_decoded_once),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
