/* SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"

#include <levada/levada.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static char folder[512];

static void write_sample(void)
{
    levada_status st;

    if (!t_can("gzip")) skip(); /* built without zlib */
    snprintf(folder, sizeof folder, "%s", t_path("sample"));
    (void)mkdir(folder, 0777);
    st = levada_sample_write(NULL, folder, NULL);
    assert_int_equal(st, LEVADA_OK);
}

static void the_specification_reads_every_record(void **state)
{
    char            text[2048];
    levada_dataset *ds = NULL;
    levada_iter    *it = NULL;
    levada_block   *block = NULL;
    levada_error    err = LEVADA_ERROR_INIT;
    int64_t         records = 0, tokens = 0;
    levada_status   st;

    (void)state;
    write_sample();
    snprintf(text, sizeof text, "tfrecord:\"%s/train-*.tfrecord.gz\" | parse_example:@%s/spec.json",
             folder, folder);
    assert_int_equal(levada_dataset_parse(NULL, text, &ds, &err), LEVADA_OK);
    assert_int_equal(levada_iter_open(ds, NULL, &it, &err), LEVADA_OK);
    while ((st = levada_iter_next(it, &block, &err)) == LEVADA_OK) {
        const levada_column *column = levada_block_column(block, "tokens");

        records += column->n;
        for (int64_t row = 0; row < column->n; row++) tokens += levada_column_length(column, row);
        levada_block_unref(&block);
    }
    assert_int_equal(st, LEVADA_END);
    assert_int_equal(records, 300);
    assert_int_equal(tokens, 39364);
    levada_iter_close(&it);
    levada_dataset_unref(&ds);
}

static void each_speech_is_one_line(void **state)
{
    char    path[600];
    t_bytes got;
    int64_t lines = 0;

    (void)state;
    write_sample();
    snprintf(path, sizeof path, "%s/speeches.txt", folder);
    got = t_read_file(path);
    for (size_t i = 0; i < got.size; i++) lines += got.at[i] == '\n';
    assert_int_equal(lines, 300);
    assert_int_equal(got.size, 39364 + 300);
    t_clear(&got);
}

static void a_missing_directory_is_an_error(void **state)
{
    levada_error err = LEVADA_ERROR_INIT;

    (void)state;
    if (!t_can("gzip")) skip();
    assert_int_equal(levada_sample_write(NULL, t_path("missing"), &err), LEVADA_ENOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_specification_reads_every_record),
        cmocka_unit_test(each_speech_is_one_line),
        cmocka_unit_test(a_missing_directory_is_an_error),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
