/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats whose headers differ in length, and formats with several columns:
 * plugins/example/pairs.c, which is linked into this program, and descriptors that are refused.
 */
#define LEVADA_PLUGIN_HOST_SIDE
#include "conform.h"
#include "support/files.h"

#include <levada/plugin.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAIRS = 40000 };

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
    expect_damage("1,1:ab" "10,2:0123456789xy" "x,1:ab", "not the header of a pair", 23);
    expect_damage("1,1:ab" "10,2:0123456789xy" "5,1:ab", "ends inside a record", 23);
    expect_damage("1,1:ab" "10,2:0123456789xy" "5,", "ends inside a record", 23);
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

static levada_format_def tried;

static levada_status tries(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "tries", 1);
    return host->add_format(plugin, &tried, err);
}

static void refuses(const char *field, const char *const *fields, const char *text)
{
    levada_error err = LEVADA_ERROR_INIT;

    tried = (levada_format_def){ .struct_size = sizeof(levada_format_def), .name = "tried",
                                 .doc = "nothing", .example = "tried:a", .field = field,
                                 .fields = fields, .next = no_next };
    assert_int_not_equal(levada_plugin_register(env, tries, NULL, &err), LEVADA_OK);
    if (!strstr(err.message, text)) fail_msg("'%s' is not in '%s'", text, err.message);
}

static void columns_are_checked(void **state)
{
    (void)state;
    refuses(NULL, NULL, "the name of its column");
    refuses("a", many, "not in both");
    refuses(NULL, many, "at most 16 columns");
    refuses(NULL, none, "at least one name");
    refuses(NULL, twice, "two columns have one name");
}

static int set_up(void **state)
{
    (void)state;
    if (chdir(t_folder()) != 0 || levada_env_create(NULL, &env, NULL) != LEVADA_OK) return -1;
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
        cmocka_unit_test(columns_are_checked),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
