/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats whose headers differ in length, with several columns, and with typed columns:
 * plugins/example/pairs.c and table.c, which are linked into this program, and descriptors that are
 * refused.
 */
#define LEVADA_PLUGIN_HOST_SIDE
#include "conform.h"
#include "support/files.h"
#include "support/iters.h"

#include <levada/plugin.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAIRS = 40000 };

levada_status table_main(const levada_host *host, levada_plugin *plugin, levada_error *err);
levada_status pairs_main(const levada_host *host, levada_plugin *plugin, levada_error *err);

static levada_env *env;
static int64_t     frames[PAIRS]; /* where the frame of each record begins */

/* -- records: their sizes grow with the square of a number that comes round, 0 to 999 bytes */

static size_t key_size(int i) { return (size_t)(i % 11) * (size_t)(i % 11); }
static size_t value_size(int i) { return (size_t)(i * 37 % 31) * (size_t)(i * 37 % 31); }

static char byte_of(int i, size_t at) { return (char)(i + (int)at * 3); }

static void write_pairs(const char *path)
{
    FILE  *file = fopen(path, "wb");
    size_t at = 0;

    assert_non_null(file);
    for (int i = 0; i < PAIRS; i++) {
        size_t key = key_size(i), value = value_size(i);
        int    header = fprintf(file, "%zu,%zu:", key, value);

        assert_true(header > 0);
        frames[i] = (int64_t)at;
        for (size_t k = 0; k < key + value; k++) assert_true(fputc(byte_of(i, k), file) != EOF);
        at += (size_t)header + key + value;
    }
    assert_int_equal(fclose(file), 0);
}

static void expect_pair(const levada_block *block, int64_t row, int i)
{
    static const char *const name[2] = { "key", "value" };
    const int32_t size[2] = { (int32_t)key_size(i), (int32_t)value_size(i) };
    size_t        at = 0;

    for (int32_t c = 0; c < 2; c++) {
        int64_t     n = 0;
        const char *data =
            (const char *)levada_column_bytes(levada_block_column(block, name[c]), row, &n);

        assert_int_equal(n, size[c]);
        for (int64_t k = 0; k < n; k++) assert_int_equal(data[k], byte_of(i, at++));
    }
}

/* -- claims */

static void headers_of_any_length_fill_blocks(void **state)
{
    levada_dataset *dataset = NULL;
    levada_iter    *it = NULL;
    levada_block   *block = NULL;
    levada_error    err = LEVADA_ERROR_INIT;
    levada_status   st;
    int             n = 0, blocks = 0;

    (void)state;
    write_pairs("some.pairs");
    assert_int_equal(levada_dataset_parse(env, "pairs:some.pairs", &dataset, &err), LEVADA_OK);
    assert_int_equal(levada_iter_open(dataset, NULL, &it, &err), LEVADA_OK);
    while ((st = levada_iter_next(it, &block, &err)) == LEVADA_OK) {
        for (int64_t row = 0; row < levada_block_rows(block); row++, n++) {
            levada_origin origin = levada_block_origin(block, row);

            expect_pair(block, row, n);
            assert_int_equal(origin.record, n);
            assert_int_equal(origin.offset, frames[n]);
        }
        blocks++;
        levada_block_unref(&block);
    }
    if (st != LEVADA_END) fail_msg("%s", err.message);
    assert_int_equal(n, PAIRS);
    assert_in_range(blocks, 1, PAIRS / 100); /* and not one for each length of a header */
    levada_iter_close(&it);
    levada_dataset_unref(&dataset);
}

static void conforms(const char *name, const char *example)
{
    levada_conform c = { .env = env, .name = name, .example = example };

    for (const levada_conform_check *check = levada_conform_checks; check->name; check++) {
        if (check->run(&c) == LEVADA_CONFORM_BAD) {
            fail_msg("%s: %s: %s: %s", example, check->claim, c.where, c.what);
        }
    }
    levada_conform_clear(&c);
}

static void they_pass_the_conformance_suite(void **state)
{
    static const char words[] = "3,5:onefirst" "0,12:twelve bytes" "11,0:eleven ones" "1,1:ab";

    (void)state;
    t_write_file("words.pairs", words, sizeof words - 1);
    conforms("pairs", "pairs:words.pairs");
    conforms("shuffle", "pairs:words.pairs | repeat:3 | shuffle:3"); /* reads records again */
}

static void expect_damage(const char *bytes, const char *message, int64_t offset)
{
    levada_dataset *dataset = NULL;
    levada_iter    *it = NULL;
    levada_block   *block = NULL;
    levada_error    err = LEVADA_ERROR_INIT;

    t_write_file("bad.pairs", bytes, strlen(bytes));
    assert_int_equal(levada_dataset_parse(env, "pairs:bad.pairs", &dataset, &err), LEVADA_OK);
    assert_int_equal(levada_iter_open(dataset, NULL, &it, &err), LEVADA_OK);
    assert_int_equal(levada_iter_next(it, &block, &err), LEVADA_OK);
    assert_int_equal(levada_block_rows(block), 2);
    levada_block_unref(&block);
    assert_int_equal(levada_iter_next(it, &block, &err), LEVADA_EDATA_LOSS);
    assert_non_null(strstr(err.message, message));
    assert_int_equal(err.offset, offset);
    assert_int_equal(err.record, 2);
    levada_iter_close(&it);
    levada_dataset_unref(&dataset);
}

static void damage_comes_after_the_records_before_it(void **state)
{
    (void)state;
    expect_damage("1,1:ab" "10,2:0123456789xy" "x,1:ab", "must begin with the lengths", 23);
    expect_damage("1,1:ab" "10,2:0123456789xy" "5,1:ab", "ends inside a record", 23);
    expect_damage("1,1:ab" "10,2:0123456789xy" "5,", "ends inside a record", 23);
}

/* -- typed columns */

static levada_iter *open_table(const char *text, const char *errors, int32_t threads)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    levada_dataset     *dataset = NULL;
    levada_iter        *it = NULL;
    levada_error        err = LEVADA_ERROR_INIT;
    levada_status       st;

    o.errors = errors;
    o.threads = threads;
    st = levada_dataset_parse(env, text, &dataset, &err);
    if (st == LEVADA_OK) st = levada_iter_open(dataset, &o, &it, &err);
    if (st != LEVADA_OK) fail_msg("%s", err.message);
    levada_dataset_unref(&dataset);
    return it;
}

/* Row i is "i" and i % 5 values: i, i + 1, ... Row `bad` has a cell that is not a number. */
static void write_table(const char *path, int rows, int bad)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    for (int i = 0; i < rows; i++) {
        assert_true(fprintf(file, "%d", i) > 0);
        for (int k = 0; k < i % 5; k++) assert_true(fprintf(file, ",%d", i + k) > 0);
        assert_true(fputs(i == bad ? ",x\n" : "\n", file) >= 0);
    }
    assert_int_equal(fclose(file), 0);
}

static void expect_row(const levada_block *block, int64_t row)
{
    const levada_column *values = levada_block_column(block, "values");
    int64_t              id = levada_column_i64(levada_block_column(block, "id"))[row];

    assert_int_equal(id, levada_block_origin(block, row).record);
    assert_int_equal(values->level[0].end[row] - values->level[0].begin[row], id % 5);
    for (int64_t k = 0; k < id % 5; k++) {
        float value = levada_column_f32(values)[values->level[0].begin[row] + k];

        assert_true(value == (float)(id + k));
    }
}

static int64_t read_table(levada_iter *it, levada_status last, levada_error *err)
{
    levada_block *block = NULL;
    int64_t       n = 0;
    levada_status st;

    while ((st = levada_iter_next(it, &block, err)) == LEVADA_OK) {
        for (int64_t row = 0; row < levada_block_rows(block); row++, n++) expect_row(block, row);
        levada_block_unref(&block);
    }
    assert_int_equal(st, last);
    return n;
}

static void a_format_has_typed_columns(void **state)
{
    levada_error err = LEVADA_ERROR_INIT;

    (void)state;
    write_table("big.txt", 20000, -1);
    for (int32_t threads = 1; threads < 4; threads += 2) {
        levada_iter *it = open_table("table:big.txt", NULL, threads);

        assert_int_equal(read_table(it, LEVADA_END, &err), 20000);
        levada_iter_close(&it);
        it = open_table("table:big.txt | shuffle:100", NULL, threads);
        assert_int_equal(read_table(it, LEVADA_END, &err), 20000);
        levada_iter_close(&it);
    }
}

static void a_bad_row_is_rejected_with_its_place(void **state)
{
    levada_error err = LEVADA_ERROR_INIT;
    levada_iter *it;

    (void)state;
    write_table("bad.txt", 1000, 700);
    it = open_table("table:bad.txt", NULL, 2);
    assert_int_equal(read_table(it, LEVADA_EDATA_LOSS, &err), 700);
    assert_string_equal(err.file, "bad.txt");
    assert_int_equal(err.record, 700);
    assert_non_null(strstr(err.message, "a cell of column 'values' must be a number"));
    levada_iter_close(&it);
    it = open_table("table:bad.txt", "skip", 2);
    assert_int_equal(read_table(it, LEVADA_END, &err), 999);
    assert_int_equal(t_iter_stat(it, "skipped_records"), 1);
    levada_iter_close(&it);
}

static void a_typed_format_resumes_within_a_block(void **state)
{
    levada_error err = LEVADA_ERROR_INIT;

    (void)state;
    write_table("big.txt", 3000, -1);
    for (int k = 0; k < 2; k++) {
        const char   *text = k == 0 ? "table:big.txt" : "table:big.txt | shuffle:50";
        levada_iter  *it = open_table(text, NULL, 2);
        levada_block *block = NULL;
        t_bytes       saved;
        int64_t       rows;

        assert_int_equal(levada_iter_next(it, &block, &err), LEVADA_OK);
        rows = levada_block_rows(block);
        levada_block_unref(&block);
        saved = t_iter_save(it);
        assert_in_range(saved.size, 1, 20000); /* positions, not values */
        levada_iter_close(&it);
        it = open_table(text, NULL, 1);
        t_iter_restore(it, saved);
        assert_int_equal(read_table(it, LEVADA_END, &err), 3000 - rows);
        levada_iter_close(&it);
        t_clear(&saved);
    }
}

static void typed_columns_pass_the_conformance_suite(void **state)
{
    (void)state;
    t_write_file("table.txt", "1,0.5,2\n2\n3,7,8,9\n40,-1\n5,1e3\n", 30);
    conforms("table", "table:table.txt");
    conforms("shuffle", "table:table.txt | repeat:3 | shuffle:3");
}

/* -- descriptors */

static const char *const many[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i",
                                    "j", "k", "l", "m", "n", "o", "p", "q", NULL };
static const char *const none[] = { NULL };
static const char *const twice[] = { "a", "a", NULL };

static levada_status no_next(void *state, const void *args, const uint8_t *data, int64_t size,
                             bool at_end, levada_spans *out, levada_error *err)
{
    (void)state, (void)args, (void)data, (void)size, (void)at_end, (void)out, (void)err;
    return LEVADA_OK;
}

static levada_format_def  tried;
static levada_decoder_def decoder; /* of it ... */
static bool               decodes; /* ... if this is set */

static levada_status tries(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "tries", 1);
    return host->add_format(plugin, &tried, err);
}

static void refuses(const char *const *fields, const char *text)
{
    levada_error err = LEVADA_ERROR_INIT;

    tried = (levada_format_def){ .struct_size = sizeof(levada_format_def), .name = "tried",
                                 .doc = "nothing", .example = "tried:a", .fields = fields,
                                 .next = no_next,
                                 .decoder = decodes ? &decoder : NULL };
    assert_int_not_equal(levada_plugin_register(env, tries, NULL, &err), LEVADA_OK);
    if (!strstr(err.message, text)) fail_msg("'%s' is not in '%s'", text, err.message);
}

static void columns_are_checked(void **state)
{
    (void)state;
    refuses(NULL, "needs a name in fields");
    refuses(many, "at most 16 columns");
    refuses(none, "needs a name in fields");
    refuses(twice, "two columns have the same name");
    decodes = true;
    decoder = (levada_decoder_def){ .struct_size = sizeof decoder };
    refuses(LEVADA_FIELDS("a"), "the decoder of a format needs check() and decode()");
    refuses(many, "a format with a decoder has one column");
    decoder.struct_size = 0;
    refuses(LEVADA_FIELDS("a"), "struct_size=0");
}

static int set_up(void **state)
{
    (void)state;
    if (chdir(t_folder()) != 0 || levada_env_create(NULL, &env, NULL) != LEVADA_OK) return -1;
    if (levada_plugin_register(env, table_main, NULL, NULL) != LEVADA_OK) return -1;
    return levada_plugin_register(env, pairs_main, NULL, NULL) == LEVADA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    levada_env_destroy(&env);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_of_any_length_fill_blocks),
        cmocka_unit_test(they_pass_the_conformance_suite),
        cmocka_unit_test(damage_comes_after_the_records_before_it),
        cmocka_unit_test(a_format_has_typed_columns),
        cmocka_unit_test(a_bad_row_is_rejected_with_its_place),
        cmocka_unit_test(a_typed_format_resumes_within_a_block),
        cmocka_unit_test(typed_columns_pass_the_conformance_suite),
        cmocka_unit_test(columns_are_checked),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
