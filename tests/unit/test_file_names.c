/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a stage rejects is named with its file, whatever has become of the source: inside an
 * interleave and after it, with threads, after a restore, and among more sources than are listed.
 */
#include "run/run.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PARSE "parse_example:{x:{kind:VarLen,dtype:int64}}"
#define RECORDS 12

static const char *const names[] = { "a", "b", "c", "d", "e" };
#define FILES (int)(sizeof names / sizeof *names)

/* Records without features; `bad` (-1 = none) is not a message at all. */
static void write_records(const char *name, int n, int bad)
{
    t_bytes file = { 0 };

    t_add(&file, NULL, 0);
    for (int i = 0; i < n; i++) t_add_record(&file, "\xff\xff", i == bad ? 2 : 0);
    t_write_file(t_path(name), file.at, file.size);
    t_clear(&file);
}

/* Record i of the i-th file is bad. */
static void write_files(void)
{
    for (int i = 0; i < FILES; i++) write_records(names[i], RECORDS, i);
}

static const char *over_files(const char *rest)
{
    static char text[1024];

    (void)snprintf(text, sizeof text, "files:\"%s\" | %s", t_path("?"), rest);
    return text;
}

static int64_t read_blocks(levada_iter *it, int64_t most)
{
    levada_block *block = NULL;
    int64_t       n = 0;

    while (most-- && levada_iter_next(it, &block, NULL) == LEVADA_OK) {
        n += levada_block_rows(block);
        levada_block_unref(&block);
    }
    return n;
}

/* Each file stands among the causes with its own record. */
static void expect_causes(levada_iter *it, const char *stage)
{
    char *json = NULL;

    assert_int_equal(levada_iter_stats(it, &json, NULL), LEVADA_OK);
    for (int i = 0; i < FILES; i++) {
        char want[512];

        (void)snprintf(want, sizeof want, "\"file\":\"%s\",\"record\":%d,\"offset\":%d,",
                       t_path(names[i]), i, 16 * i);
        if (!strstr(json, want)) fail_msg("'%s' is not in %s", want, json);
    }
    if (!strstr(json, stage)) fail_msg("'%s' is not in %s", stage, json);
    levada_string_free(&json);
}

/* In one piece, and with a restore into another iterator before each block. */
static void causes_name_their_file(const char *rest, const char *stage)
{
    const char *text = over_files(rest);

    for (int32_t threads = 1; threads <= 4; threads += 3) {
        levada_iter *it = t_iter_open_policy(text, "skip", threads, 3);
        int64_t      n = read_blocks(it, -1);

        expect_causes(it, stage);
        levada_iter_close(&it);
        for (int64_t cut = 0, k = 0; k < n; cut++) {
            levada_iter *other = t_iter_open_policy(text, "skip", 5 - threads, 3);
            t_bytes      state;

            it = t_iter_open_policy(text, "skip", threads, 3);
            k = read_blocks(it, cut);
            state = t_iter_save(it);
            levada_iter_close(&it);
            t_iter_restore(other, state);
            assert_int_equal(k + read_blocks(other, -1), n);
            expect_causes(other, stage);
            t_clear(&state);
            levada_iter_close(&other);
        }
    }
}

static void inside_an_interleave(void **state)
{
    (void)state;
    write_files();
    causes_name_their_file("interleave:(tfrecord:\"{path}\" | " PARSE "),cycle_length=2",
                           "1.interleave/1/");
    causes_name_their_file("interleave:(tfrecord:\"{path}\" | shuffle:4 | " PARSE
                           "),cycle_length=2", "1.interleave/1/");
}

static void inside_an_interleave_in_an_interleave(void **state)
{
    (void)state;
    write_files();
    causes_name_their_file("interleave:(files:\"{path}\" | interleave:(tfrecord:\"{path}\" | "
                           PARSE ")),cycle_length=2", "1.interleave/1/");
}

static void below_an_interleave(void **state)
{
    (void)state;
    write_files();
    causes_name_their_file("interleave:(tfrecord:\"{path}\"),cycle_length=2 | " PARSE, "\"2.");
    causes_name_their_file("interleave:(tfrecord:\"{path}\"),cycle_length=2 | shuffle:40 | " PARSE
                           " | batch:2", "\"3.");
}

static void errors_name_the_file(void **state)
{
    const char *const rests[] = {
        "interleave:(tfrecord:\"{path}\" | " PARSE ")",
        "interleave:(tfrecord:\"{path}\") | " PARSE,
        "interleave:(tfrecord:\"{path}\") | batch:4 | unbatch | " PARSE,
    };

    (void)state;
    for (int i = 0; i < FILES; i++) write_records(names[i], RECORDS, i == 3 ? 7 : -1);
    for (size_t k = 0; k < sizeof rests / sizeof *rests; k++) {
        for (int32_t threads = 1; threads <= 4; threads += 3) {
            levada_iter *it = t_iter_open_policy(over_files(rests[k]), "fail", threads, 3);

            t_iter_fails_at(it, LEVADA_EINVALID_ARGUMENT, "/d", 7, 16 * 7);
            levada_iter_close(&it);
        }
    }
}

/* Sources are listed up to a number, and named beyond it. */
static void of_the_last_of_many_sources(void **state)
{
    enum { SOURCES = LEVADA_RUN_SOURCES + 6 };
    char        *text = malloc(SOURCES * 256);
    size_t       n = 0;
    levada_iter *it;

    (void)state;
    write_records("a", 2, -1);
    write_records("e", 2, 1);
    for (int i = 0; i < SOURCES; i++) {
        n += (size_t)snprintf(text + n, 256, "%s tfrecord:\"%s\"", i ? ";" : "concat(",
                              t_path(i < SOURCES - 1 ? "a" : "e"));
    }
    (void)snprintf(text + n, 256, ") | %s", PARSE);
    it = t_iter_open_policy(text, "fail", 1, 3);
    t_iter_fails_at(it, LEVADA_EINVALID_ARGUMENT, "/e", 1, 16);
    levada_iter_close(&it);
    free(text);
}

/* -- the table */

static levada_mutex      lock;
static levada_file_names table;

static int table_set_up(void **state)
{
    (void)state;
    table = (levada_file_names){ .lock = &lock };
    return levada_mutex_init(&lock, LEVADA_LOCK_NOTING, NULL);
}

static int table_tear_down(void **state)
{
    (void)state;
    levada_file_names_clear(&table);
    levada_mutex_clear(&lock);
    return 0;
}

static void enter(int32_t pass, bool open)
{
    levada_origin of = { .source = 3, .pass = pass };
    char          path[32];

    (void)snprintf(path, sizeof path, "file %d", (int)pass);
    assert_int_equal(levada_file_names_enter(&table, &of, path, open, NULL), LEVADA_OK);
}

static void leave(int32_t pass)
{
    levada_origin of = { .source = 3, .pass = pass };

    levada_file_names_leave(&table, &of);
}

static bool known(int32_t pass)
{
    levada_origin of = { .source = 3, .pass = pass };
    levada_error  err = LEVADA_ERROR_INIT;
    char          path[32];

    (void)snprintf(path, sizeof path, "file %d", (int)pass);
    levada_file_names_place(&table, &of, &err);
    if (err.file[0]) assert_string_equal(err.file, path);
    return err.file[0] != '\0';
}

static void names_of_files_are_bounded(void **state)
{
    const int32_t last = 3 * LEVADA_FILE_NAMES;

    (void)state;
    for (int32_t i = 0; i < last; i++) {
        enter(i, true);
        leave(i);
    }
    assert_int_equal(table.left, LEVADA_FILE_NAMES);
    assert_int_equal(table.capacity, LEVADA_FILE_NAMES);
    assert_false(known(0));
    assert_false(known(last - LEVADA_FILE_NAMES - 1));
    for (int32_t i = last - LEVADA_FILE_NAMES; i < last; i++) assert_true(known(i));
}

static void names_of_open_files_are_kept(void **state)
{
    (void)state;
    enter(0, true);
    enter(1, true);
    for (int32_t i = 2; i < 2 * LEVADA_FILE_NAMES; i++) enter(i, false);
    leave(1);
    enter(0, false); /* read again meanwhile */
    for (int32_t i = 2; i < LEVADA_FILE_NAMES; i++) enter(1000000 + i, false);
    assert_true(known(0));
    assert_true(known(1)); /* though it was opened long ago */
    enter(2000000, false);
    assert_true(known(0));
    assert_false(known(1));
}

static void what_is_entered_again_is_the_newest(void **state)
{
    (void)state;
    enter(0, false);
    enter(1, false);
    enter(0, false);
    for (int32_t i = 2; i <= LEVADA_FILE_NAMES; i++) enter(i, false);
    assert_true(known(0));
    assert_false(known(1));
    enter(2, true);
    for (int32_t i = 0; i <= LEVADA_FILE_NAMES; i++) enter(1000000 + i, false);
    assert_true(known(2));
    assert_false(known(0));
}

static void all_may_be_open(void **state)
{
    const int32_t last = LEVADA_FILE_NAMES + 9;

    (void)state;
    for (int32_t i = 0; i < last; i++) enter(i, true);
    for (int32_t i = 0; i < last; i++) assert_true(known(i));
    for (int32_t i = 0; i < last; i++) leave(i);
    for (int32_t i = 0; i < 4 * LEVADA_FILE_NAMES; i++) enter(1000000 + i, false);
    assert_int_equal(table.capacity, 2 * LEVADA_FILE_NAMES);
    assert_false(known(last - 1));
}

/* Saves `parts` and `paths` as they are, and reads them. */
static levada_status get_forged(const int64_t *parts, int64_t n, const char *paths, size_t size)
{
    levada_state_writer to = { .scope = { .path = "0.test" } };
    levada_state_head   head = { .seed = 1 };
    levada_state_reader from = { 0 };
    char               *bytes = NULL;
    size_t              length = 0;
    levada_status       st;

    assert_int_equal(levada_state_put_i64s(&to, "x.files", parts, n, NULL), LEVADA_OK);
    assert_int_equal(levada_state_put_bytes(&to, "x.paths", paths, size, NULL), LEVADA_OK);
    assert_int_equal(levada_state_encode(&to, &head, NULL, &bytes, &length, NULL), LEVADA_OK);
    assert_int_equal(levada_state_decode(bytes, length, NULL, &from, NULL), LEVADA_OK);
    from.scope.path = "0.test";
    from.names = &table;
    st = levada_file_names_get(&from, "x", NULL);
    levada_state_reader_clear(&from);
    levada_state_writer_clear(&to);
    levada_string_free(&bytes);
    return st;
}

static void forged_names_are_refused(void **state)
{
    const int64_t parts[] = { 3, 5, 0, 3, 6, 0 };

    (void)state;
    assert_int_equal(get_forged(parts, 6, "file 5\0file 6", 14), LEVADA_OK);
    assert_true(known(5) && known(6));
    assert_int_equal(get_forged(parts, 6, "file 5\0file 6", 13), LEVADA_EDATA_LOSS);
    assert_int_equal(get_forged(parts, 6, "file 5", 7), LEVADA_EDATA_LOSS);
    assert_int_equal(get_forged(parts, 3, "file 5\0file 6", 14), LEVADA_EDATA_LOSS);
    assert_int_equal(get_forged(parts, 5, "file 5\0file 6", 14), LEVADA_EDATA_LOSS);
    assert_int_equal(get_forged(parts, 3, "", 0), LEVADA_EDATA_LOSS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(inside_an_interleave, t_folder_set_up, t_folder_tear_down),
        cmocka_unit_test_setup_teardown(inside_an_interleave_in_an_interleave, t_folder_set_up,
                                        t_folder_tear_down),
        cmocka_unit_test_setup_teardown(below_an_interleave, t_folder_set_up, t_folder_tear_down),
        cmocka_unit_test_setup_teardown(errors_name_the_file, t_folder_set_up, t_folder_tear_down),
        cmocka_unit_test_setup_teardown(of_the_last_of_many_sources, t_folder_set_up,
                                        t_folder_tear_down),
        cmocka_unit_test_setup_teardown(names_of_files_are_bounded, table_set_up, table_tear_down),
        cmocka_unit_test_setup_teardown(names_of_open_files_are_kept, table_set_up,
                                        table_tear_down),
        cmocka_unit_test_setup_teardown(what_is_entered_again_is_the_newest,
                                        table_set_up, table_tear_down),
        cmocka_unit_test_setup_teardown(all_may_be_open, table_set_up, table_tear_down),
        cmocka_unit_test_setup_teardown(forged_names_are_refused, table_set_up, table_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
