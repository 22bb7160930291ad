/* SPDX-License-Identifier: Apache-2.0 */
/* Text columns are UTF-8, whatever the files have. */
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char bad_lines[] = "caf\xc3\xa9\nx\xff\xfey\n\xe2\x82\nz\n";

static const char *pipeline(const char *source, const char *text, const char *options)
{
    static char made[1024];

    t_write_file(t_path("f"), text, strlen(text));
    snprintf(made, sizeof made, "%s:%s%s", source, t_path("f"), options);
    return made;
}

/* The first column of all records, each followed by a slash, and the dtype of the column. */
static levada_dtype read_all(const char *description, t_bytes *got, int64_t *skipped)
{
    levada_iter  *it = t_iter_open_policy(description, "skip", 1, 3);
    levada_block *block = NULL;
    levada_dtype  dtype = LEVADA_NONE;

    while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
        const levada_column *c = levada_block_at(block, 0);

        dtype = c->field->dtype;
        for (int64_t i = 0; i < levada_block_rows(block); i++) {
            int64_t        size = 0;
            const uint8_t *bytes = levada_column_bytes(c, i, &size);

            t_add(got, bytes, (size_t)size);
            t_add(got, "/", 1);
        }
        levada_block_unref(&block);
    }
    *skipped = t_iter_stat(it, "skipped_records");
    t_add(got, "", 1);
    levada_iter_close(&it);
    return dtype;
}

static void expect(const char *description, levada_dtype dtype, const char *want, int64_t lost)
{
    t_bytes got = { 0 };
    int64_t skipped = 0;

    assert_int_equal(read_all(description, &got, &skipped), dtype);
    assert_string_equal((char *)got.at, want);
    assert_int_equal(skipped, lost);
    t_clear(&got);
}

static void lines_that_are_not_utf8_are_bad_records(void **state)
{
    t_bytes got = { 0 };
    int64_t skipped = 0;

    (void)state;
    expect(pipeline("text_lines", bad_lines, ""), LEVADA_TEXT, "caf\xc3\xa9/z/", 2);
    assert_int_equal(read_all(pipeline("text_lines", bad_lines, " | shuffle:9,seed=1"),
                              &got, &skipped),
                     LEVADA_TEXT);
    assert_int_equal(got.size, strlen("z/caf\xc3\xa9/") + 1);
    assert_int_equal(skipped, 2);
    t_clear(&got);
}

static void replaces_each_bad_byte_on_request(void **state)
{
    (void)state;
    expect(pipeline("text_lines", bad_lines, ",invalid=replace"), LEVADA_TEXT,
           "caf\xc3\xa9/x\xef\xbf\xbd\xef\xbf\xbdy/\xef\xbf\xbd\xef\xbf\xbd/z/", 0);
    expect(pipeline("csv", bad_lines, ",record_defaults=[text],invalid=replace"), LEVADA_TEXT,
           "caf\xc3\xa9/x\xef\xbf\xbd\xef\xbf\xbdy/\xef\xbf\xbd\xef\xbf\xbd/z/", 0);
}

static void strings_are_any_bytes(void **state)
{
    (void)state;
    expect(pipeline("text_lines", bad_lines, ",dtype=string"), LEVADA_BYTES,
           "caf\xc3\xa9/x\xff\xfey/\xe2\x82/z/", 0);
    expect(pipeline("csv", bad_lines, ",record_defaults=[string]"), LEVADA_BYTES,
           "caf\xc3\xa9/x\xff\xfey/\xe2\x82/z/", 0);
    expect(pipeline("csv", bad_lines, ",record_defaults=[text]"), LEVADA_TEXT,
           "caf\xc3\xa9/z/", 2);
}

/* A piece of a text may begin or end inside of a character. */
static void pieces_of_text_are_bytes(void **state)
{
    (void)state;
    expect(pipeline("text_lines", "caf\xc3\xa9\n", " | window_steps:2,shift=2,fields=line"),
           LEVADA_BYTES, "ca/f\xc3/\xa9/", 0);
}

static void errors_name_file_and_byte(void **state)
{
    levada_iter *it = t_iter_open(pipeline("text_lines", bad_lines, ""), 1, 1);

    (void)state;
    t_iter_fails_at(it, LEVADA_EINVALID_ARGUMENT, "f", 1, 6);
    levada_iter_close(&it);
    it = t_iter_open(pipeline("text_lines", bad_lines, ""), 1, 256);
    (void)t_iter_fails(it, LEVADA_EINVALID_ARGUMENT,
                       "field 'line' must be UTF-8, got byte 0xff at position 1");
    levada_iter_close(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_that_are_not_utf8_are_bad_records),
        cmocka_unit_test(replaces_each_bad_byte_on_request),
        cmocka_unit_test(strings_are_any_bytes),
        cmocka_unit_test(pieces_of_text_are_bytes),
        cmocka_unit_test(errors_name_file_and_byte),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
