/* SPDX-License-Identifier: Apache-2.0 */
/*
 * errors="skip": what is skipped is counted and named, nothing else is lost, and the budget ends
 * at the same record whatever the threads do and wherever a run was cut in two.
 */
#include "files/window.h"
#include "support/codec.h"
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define BIG 700000 /* more than a chunk, in which any record passes */

static levada_iter *open_skipping(const char *text, const char *errors, int32_t threads)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;

    o.seed = 11;
    o.threads = threads;
    o.block_rows = 3;
    o.errors = errors;
    o.max_record_bytes = 1; /* as small as can be: a chunk */
    return t_iter_open_with(text, &o);
}

/* All records of one BYTES column, each with a space after it; long ones as their length. */
static levada_status read_words(levada_iter *it, t_bytes *text, levada_error *err)
{
    levada_block *block = NULL;
    levada_status st;
    char          number[32];

    t_add(text, NULL, 0);
    while ((st = levada_iter_next(it, &block, err)) == LEVADA_OK) {
        for (int64_t i = 0; i < levada_block_rows(block); i++) {
            int64_t        size;
            const uint8_t *data = levada_column_bytes(levada_block_at(block, 0), i, &size);
            int            n = snprintf(number, sizeof number, "%d", (int)size);

            t_add(text, size < 32 ? data : (void *)number, size < 32 ? (size_t)size : (size_t)n);
            t_add(text, " ", 1);
        }
        levada_block_unref(&block);
    }
    return st;
}

/* What the statistics say, with the names of the test's folder skipped. */
static void expect_stats(levada_iter *it, const char *const *parts)
{
    char *json = NULL;

    assert_int_equal(levada_iter_stats(it, &json, NULL), LEVADA_OK);
    for (; *parts; parts++) {
        if (!strstr(json, *parts)) fail_msg("'%s' is not in %s", *parts, json);
    }
    levada_string_free(&json);
}

static void expect_words(const char *text, const char *words, const char *const *stats)
{
    for (int32_t threads = 1; threads <= 4; threads += 3) {
        levada_iter *it = open_skipping(text, "skip", threads);
        levada_error err = LEVADA_ERROR_INIT;
        t_bytes      got = { 0 };

        assert_int_equal(read_words(it, &got, &err), LEVADA_END);
        assert_string_equal((char *)got.at, words);
        expect_stats(it, stats);
        levada_iter_close(&it);
        t_clear(&got);
    }
}

static void expect_error(const char *text, levada_status code, const char *file, int64_t record,
                         int64_t offset)
{
    levada_iter *it = open_skipping(text, "fail", 1);
    levada_error err = LEVADA_ERROR_INIT;
    t_bytes      got = { 0 };

    assert_int_equal(read_words(it, &got, &err), code);
    if (!strstr(err.file, file)) fail_msg("'%s' is not in '%s'", file, err.file);
    assert_non_null(strstr(err.stage, "0."));
    assert_int_equal(err.record, record);
    assert_int_equal(err.offset, offset);
    levada_iter_close(&it);
    t_clear(&got);
}

/* -- files */

static void write_words(const char *name, const char *const *words, const char *filter)
{
    t_bytes file = { 0 }, packed;

    t_add(&file, NULL, 0);
    for (; *words; words++) {
        char  *big = strcmp(*words, "BIG") == 0 ? calloc(1, BIG) : NULL;
        size_t size = big ? BIG : strlen(*words);

        t_add_record(&file, big ? big : *words, size);
        free(big);
    }
    packed = filter ? t_encode(filter, file.at, file.size, 0) : file;
    t_write_file(t_path(name), packed.at, packed.size);
    if (filter) t_clear(&packed);
    t_clear(&file);
}

static char *describe(const char *format, const char *a, const char *b, const char *c)
{
    static char text[1024];

    (void)snprintf(text, sizeof text, "%s:[\"%s\",\"%s\",\"%s\"]", format, t_path(a), t_path(b),
                   t_path(c));
    return text;
}

static void a_missing_file_is_left_out(void **state)
{
    const char *a[] = { "a0", "a1", NULL }, *c[] = { "c0", NULL };
    const char *stats[] = { "\"skipped_records\":1,", "\"missing_files\":1,", "gone\"",
                            "cannot open", NULL };

    (void)state;
    write_words("a", a, NULL);
    write_words("c", c, NULL);
    expect_words(describe("tfrecord", "a", "gone", "c"), "a0 a1 c0 ", stats);
    expect_error(describe("tfrecord", "a", "gone", "c"), LEVADA_ENOT_FOUND, "gone", -1, -1);
}

static void an_empty_file_is_no_error_but_told(void **state)
{
    const char *a[] = { "a0", "a1", NULL }, *none[] = { NULL };
    const char *two[] = { "\"skipped_records\":0,", "\"empty_files\":2,", "/b\"", "/packed\"",
                          "no record", NULL };
    const char *one[] = { "\"empty_files\":1,", "/b\"", NULL };
    const char *lines[] = { "\"empty_files\":1,", "/b\"", NULL };
    char        text[512];

    (void)state;
    write_words("a", a, NULL);
    t_write_file(t_path("b"), "", 0);
    t_write_file(t_path("text"), "x\ny\n", 4);
    write_words("packed", none, t_can("gzip") ? "gzip" : NULL);
    expect_words(describe("tfrecord", "b", "a", "packed"), "a0 a1 ", two);
    expect_words(describe("text_lines", "text", "b", "text"), "x y x y ", lines);
    (void)snprintf(text, sizeof text, "tfrecord:%s", t_path("b"));
    expect_words(text, "", one);
    t_iter_refused("tfrecord:[]", LEVADA_ENOT_FOUND, "the list of files is empty");
    t_iter_refused("files:[]", LEVADA_ENOT_FOUND, "the list of files is empty");
    t_iter_refused("text_lines:/nowhere/x-*.txt", LEVADA_ENOT_FOUND, "'/nowhere/x-*.txt'");
}

static void log_line(void *user, levada_log_level level, const char *line)
{
    assert_int_equal(level, LEVADA_LOG_WARNING);
    (void)snprintf(user, 256, "%s", line);
}

static void an_empty_file_is_logged(void **state)
{
    levada_env_options o = LEVADA_ENV_OPTIONS_INIT;
    levada_env        *env = NULL;
    levada_dataset    *dataset = NULL;
    levada_iter       *it = NULL;
    levada_block      *block = NULL;
    char               line[256] = "", text[512];

    (void)state;
    o.log = log_line;
    o.user = line;
    t_write_file(t_path("b"), "", 0);
    (void)snprintf(text, sizeof text, "tfrecord:%s", t_path("b"));
    assert_int_equal(levada_env_create(&o, &env, NULL), LEVADA_OK);
    assert_int_equal(levada_dataset_parse(env, text, &dataset, NULL), LEVADA_OK);
    assert_int_equal(levada_iter_open(dataset, NULL, &it, NULL), LEVADA_OK);
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_END);
    assert_non_null(strstr(line, "/b: the file has no records"));
    levada_iter_close(&it);
    levada_dataset_unref(&dataset);
    levada_env_destroy(&env);
}

static void a_record_beyond_the_limit_is_left_out(void **state)
{
    const char *words[] = { "a0", "BIG", "a2", "BIG", NULL }, *c[] = { "c0", NULL };
    const char *filters[] = { NULL, "gzip", "zstd" };
    char        limit[160];
    const char *stats[] = { "\"skipped_records\":4,", "\"damaged_bytes\":0,", limit,
                            "\"record\":3,", NULL };

    (void)state;
    (void)snprintf(
        limit, sizeof limit,
        "\"record\":1,\"offset\":18,\"lost\":true,\"message\":\"a record of 700016 bytes is longer "
        "than max_record_bytes=%lld: raise it (--max-record-bytes",
        (long long)LEVADA_CHUNK);
    write_words("c", c, NULL);
    for (size_t f = 0; f < 3; f++) {
        if (filters[f] && !t_can(filters[f])) continue;
        write_words("a", words, filters[f]);
        expect_words(describe("tfrecord", "a", "c", "a"), "a0 a2 c0 a0 a2 ", stats);
        expect_error(describe("tfrecord", "a", "c", "a"), LEVADA_ERESOURCE_EXHAUSTED, "/a", 1, 18);
    }
}

static void a_line_beyond_the_limit_is_left_out(void **state)
{
    static char line[BIG + 1];
    const char *stats[] = { "\"skipped_records\":2,", "\"record\":1,\"offset\":2,", NULL };
    t_bytes     file = { 0 };

    (void)state;
    memset(line, 'x', BIG);
    line[BIG] = '\n';
    t_add(&file, "a\n", 2);
    t_add(&file, line, BIG + 1);
    t_add(&file, "\nb\r\n", 4); /* an empty line right after it */
    t_add(&file, line, BIG);
    t_write_file(t_path("long"), file.at, file.size);
    t_write_file(t_path("text"), "x\ny", 3);
    expect_words(describe("text_lines", "text", "long", "text"), "x y a  b x y ", stats);
    t_clear(&file);
}

/* -- files that change */

#define MANY 20000

static void write_many(const char *name)
{
    t_bytes file = { 0 };
    char    record[101];

    for (int i = 0; i < MANY; i++) {
        t_add_record(&file, record, (size_t)snprintf(record, sizeof record, "%0100d", i));
    }
    t_write_file(t_path(name), file.at, file.size);
    t_clear(&file);
}

static void a_file_that_shrinks_is_damage(void **state)
{
    const char *c[] = { "c0", NULL };
    const char *stats[] = { "\"skipped_records\":1,", "shrank from 2320000 to ", NULL };

    (void)state;
    write_words("c", c, NULL);
    for (int skip = 0; skip < 2; skip++) {
        levada_iter  *it;
        levada_error  err = LEVADA_ERROR_INIT;
        levada_block *block = NULL;
        t_bytes       got = { 0 };
        levada_status st;

        write_many("many");
        it = open_skipping(describe("tfrecord", "many", "c", "c"), skip ? "skip" : NULL, 1);
        assert_int_equal(levada_iter_next(it, &block, &err), LEVADA_OK);
        levada_block_unref(&block);
        assert_int_equal(truncate(t_path("many"), 1000), 0);
        st = read_words(it, &got, &err);
        if (skip) {
            assert_int_equal(st, LEVADA_END);
            assert_string_equal((char *)got.at + got.size - 6, "c0 c0 ");
            expect_stats(it, stats);
        } else {
            assert_int_equal(st, LEVADA_EDATA_LOSS);
            assert_non_null(strstr(err.file, "many"));
            assert_true(err.record == LEVADA_STEP / 116);
            assert_true(err.offset == err.record * 116);
        }
        levada_iter_close(&it);
        t_clear(&got);
    }
}

static void a_file_that_vanishes_is_missing_or_read_to_its_end(void **state)
{
    const char *c[] = { "c0", NULL };
    const char *stats[] = { "\"missing_files\":1,", "/c\"", NULL };

    (void)state;
    levada_iter  *it;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_block *block = NULL;
    t_bytes       got = { 0 };

    write_words("c", c, NULL);
    write_many("many");
    it = open_skipping(describe("tfrecord", "many", "c", "many"), "skip", 1);
    assert_int_equal(levada_iter_next(it, &block, &err), LEVADA_OK);
    levada_block_unref(&block);
    assert_int_equal(unlink(t_path("c")), 0);
    assert_int_equal(read_words(it, &got, &err), LEVADA_END);
    assert_int_equal(t_iter_stat(it, "records"), 2 * MANY);
    expect_stats(it, stats);
    levada_iter_close(&it);
    t_clear(&got);
}

/* -- budgets */

/* Where the budget ends does not depend on threads, nor on a restore at any block. */
static void ends_alike(const char *text, const char *errors, int64_t record)
{
    t_outcome      want = { 0, LEVADA_ERROR_INIT };
    levada_iter *it = open_skipping(text, errors, 1);

    assert_int_equal(t_iter_read_rest(it, &want), LEVADA_EDATA_LOSS);
    assert_int_equal(want.why.record, record);
    levada_iter_close(&it);
    for (int32_t threads = 1; threads <= 4; threads += 3) {
        levada_status st = LEVADA_OK;

        for (int cut = 0; st == LEVADA_OK; cut++) {
            levada_iter  *other = open_skipping(text, errors, 5 - threads);
            t_outcome       got = { 0, LEVADA_ERROR_INIT };
            t_bytes       saved;
            levada_block *block = NULL;

            it = open_skipping(text, errors, threads);
            for (int i = 0; i < cut && st == LEVADA_OK; i++) {
                st = levada_iter_next(it, &block, &got.why);
                if (st == LEVADA_OK) got.rows += levada_block_rows(block);
                levada_block_unref(&block);
            }
            if (st == LEVADA_OK) {
                saved = t_iter_save(it);
                t_iter_restore(other, saved);
                assert_int_equal(t_iter_read_rest(other, &got), LEVADA_EDATA_LOSS);
                t_clear(&saved);
            }
            assert_int_equal(got.rows, want.rows);
            assert_string_equal(got.why.message, want.why.message);
            assert_int_equal(got.why.record, want.why.record);
            levada_iter_close(&it);
            levada_iter_close(&other);
        }
        assert_int_equal(st, LEVADA_EDATA_LOSS);
    }
}

/* Every fifth value is a bad one: 0, 5, 10, 15, ... */
static void budgets_of_stages_end_at_the_same_record(void **state)
{
    (void)state;
    ends_alike("range:60 | map:{c:picky}", "skip:5", 25);
    ends_alike("range:60 | prefetch:3 | map:{c:picky} | prefetch:2 | cast:value,dtype=int32",
               "skip:5", 25);
    ends_alike("range:60 | map:{c:picky} | shuffle:7 | batch:2", "skip:5", 25);
    ends_alike("range:60 | call:{c:picky} | batch:2", "skip:5", 25);
}

static void write_damaged(const char *name, int from)
{
    t_bytes file = { 0 };
    char    word[16];

    for (int i = 0; i < 30; i++) {
        t_add_record(&file, word, (size_t)snprintf(word, sizeof word, "%02d", from + i));
        if (i % 3 == 2) file.at[file.size - 5] ^= 1;
    }
    t_write_file(t_path(name), file.at, file.size);
    t_clear(&file);
}

static void budgets_of_files_end_at_the_same_record(void **state)
{
    (void)state;
    write_damaged("a", 0);
    write_damaged("b", 30);
    ends_alike(describe("tfrecord", "a", "b", "a"), "skip:13", 11);
}

/* The slots of an interleave have one budget, not one each. */
static void budgets_inside_an_interleave_are_one(void **state)
{
    char text[1024];

    (void)state;
    write_damaged("a", 0);
    write_damaged("b", 30);
    (void)snprintf(text, sizeof text,
                   "files:[\"%s\",\"%s\"] | interleave:(tfrecord:\"{path}\"),cycle_length=2",
                   t_path("a"), t_path("b"));
    ends_alike(text, "skip:5", 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_file_is_left_out),
        cmocka_unit_test(an_empty_file_is_no_error_but_told),
        cmocka_unit_test(an_empty_file_is_logged),
        cmocka_unit_test(a_record_beyond_the_limit_is_left_out),
        cmocka_unit_test(a_line_beyond_the_limit_is_left_out),
        cmocka_unit_test(a_file_that_shrinks_is_damage),
        cmocka_unit_test(a_file_that_vanishes_is_missing_or_read_to_its_end),
        cmocka_unit_test(budgets_of_stages_end_at_the_same_record),
        cmocka_unit_test(budgets_of_files_end_at_the_same_record),
        cmocka_unit_test(budgets_inside_an_interleave_are_one),
    };

    return cmocka_run_group_tests(tests, t_functions_set_up, t_folder_tear_down);
}
