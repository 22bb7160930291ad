/* SPDX-License-Identifier: Apache-2.0 */
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void put32(t_bytes *to, uint32_t value)
{
    uint8_t bytes[4] = { (uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                         (uint8_t)(value >> 24) };

    t_add(to, bytes, 4);
}

static const char HEAD[] = "{\"version\":2,\"column_names\":[\"s\",\"n\",\"a\"],"
                           "\"column_encodings\":[\"str\",\"uint8\",\"ndarray:uint16\"]}";

/* n samples: a string of i % 5 letters, the number i, and 1 + i % 3 numbers. */
static t_bytes shard(int n)
{
    t_bytes  all = { 0 }, body = { 0 };
    uint32_t first = (uint32_t)(8 + 4 * n + (int)strlen(HEAD));

    put32(&all, (uint32_t)n);
    put32(&all, first);
    for (int i = 0; i < n; i++) {
        uint8_t count = (uint8_t)(1 + i % 3), array[8] = { 1 << 2, count, 7, 0, 8, 0, 9, 1 };

        put32(&body, (uint32_t)(i % 5));
        put32(&body, 2 + 2 * (uint32_t)count);
        t_add(&body, "abcde", (size_t)(i % 5));
        t_add(&body, &(uint8_t){ (uint8_t)i }, 1);
        t_add(&body, array, 2 + 2 * (size_t)count);
        put32(&all, first + (uint32_t)body.size);
    }
    t_add(&all, HEAD, strlen(HEAD));
    t_add(&all, body.at, body.size);
    t_clear(&body);
    return all;
}

static const char *pipe_of(const char *options)
{
    static char text[500];

    snprintf(text, sizeof text, "mds:%s%s", t_path("s.mds"), options);
    return text;
}

static void columns_come_from_the_heading(void **state)
{
    t_bytes       bytes = shard(4);
    levada_iter  *it;
    levada_block *block = NULL;

    (void)state;
    t_write_file(t_path("s.mds"), bytes.at, bytes.size);
    it = t_iter_open(pipe_of(""), 1, 256);
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_int_equal(levada_block_rows(block), 4);
    assert_memory_equal(levada_block_column(block, "s")->values, "aababc", 6);
    assert_memory_equal(levada_block_column(block, "n")->values, "\0\1\2\3", 4);
    assert_memory_equal(levada_block_column(block, "a")->values, ((uint16_t[]){ 7, 7, 8 }), 6);
    assert_int_equal(levada_block_column(block, "a")->level[0].end[2], 6);
    levada_block_unref(&block);
    levada_iter_close(&it);
    t_clear(&bytes);
}

static void records_have_positions(void **state)
{
    t_bytes bytes = shard(300);

    (void)state;
    t_write_file(t_path("s.mds"), bytes.at, bytes.size);
    t_iter_sweep(pipe_of(""), false, 13);
    t_iter_sweep(pipe_of(",index=true,shuffle_records=true"), false, 13);
    t_iter_sweep(pipe_of(" | shuffle:50,seed=1 | padded_batch:7"), true, 13);
    t_clear(&bytes);
}

static void a_truncated_shard_is_damaged(void **state)
{
    t_bytes bytes = shard(4);
    size_t  last = bytes.size - 16; /* the last record: sizes, abc, 3, and an array of one */

    (void)state;
    for (size_t size = 9; size < bytes.size; size++) {
        t_write_file(t_path("s.mds"), bytes.at, size);
        (void)t_iter_ends(t_iter_open(pipe_of(",columns={s:str,n:uint8,a:\"ndarray:uint16\"}"), 1,
                                       1), LEVADA_EDATA_LOSS, "truncated");
    }
    t_write_file(t_path("s.mds"), bytes.at, last);
    assert_int_equal(t_iter_ends(t_iter_open(pipe_of(""), 1, 1), LEVADA_EDATA_LOSS,
                                  "truncated file:"), 3);
    t_clear(&bytes);
}

static void strings_are_text(void **state)
{
    t_bytes bytes = shard(3);
    size_t  letter = bytes.size - 11; /* of the last record: ab, 2, and an array of three */
    t_bytes all;

    (void)state;
    assert_memory_equal(bytes.at + letter, "ab\2", 3);
    bytes.at[letter] = 0xff;
    t_write_file(t_path("s.mds"), bytes.at, bytes.size);
    assert_int_equal(t_iter_ends(t_iter_open(pipe_of(""), 1, 1), LEVADA_EINVALID_ARGUMENT,
                                  "field 's' must be UTF-8, got byte 0xff at position 0"), 2);
    all = t_iter_all(pipe_of(",columns={s:bytes,n:uint8,a:\"ndarray:uint16\"}"), false);
    t_clear(&all);
    t_clear(&bytes);
}

static void rows_that_do_not_fit_are_rejected(void **state)
{
    t_bytes bytes = shard(2);
    size_t  array = bytes.size - 6; /* of the last record: two numbers */

    (void)state;
    bytes.at[array] = 2 << 2;
    t_write_file(t_path("s.mds"), bytes.at, bytes.size);
    assert_int_equal(t_iter_ends(t_iter_open(pipe_of(""), 1, 1), LEVADA_EDATA_LOSS,
                                  "column 'a' do not fit its encoding"), 1);
    bytes.at[array] = 1 << 2;
    bytes.at[array + 1] = 3;
    t_write_file(t_path("s.mds"), bytes.at, bytes.size);
    assert_int_equal(t_iter_ends(t_iter_open(pipe_of(""), 1, 1), LEVADA_EDATA_LOSS,
                                  "column 'a' do not fit its encoding"), 1);
    t_clear(&bytes);
}

static void encodings_are_checked(void **state)
{
    (void)state;
    t_write_file(t_path("s.mds"), "no", 2);
    t_iter_refused(pipe_of(""), LEVADA_EDATA_LOSS, "not a shard of MDS");
    t_iter_refused(pipe_of(",columns={a:pkl}"), LEVADA_EINVALID_ARGUMENT, "levada never unpickles");
    t_iter_refused(pipe_of(",columns={a:ndarray}"), LEVADA_EINVALID_ARGUMENT, "'ndarray'");
    t_iter_refused(pipe_of(",columns={a:\"ndarray:int32:0\"}"), LEVADA_EINVALID_ARGUMENT, "'a'");
    t_iter_refused(pipe_of(",columns={a:\"ndarray:string\"}"), LEVADA_EINVALID_ARGUMENT, "'a'");
    t_iter_refused(pipe_of(",columns={}"), LEVADA_EINVALID_ARGUMENT, "columns must be a map");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_come_from_the_heading),
        cmocka_unit_test(records_have_positions),
        cmocka_unit_test(a_truncated_shard_is_damaged),
        cmocka_unit_test(strings_are_text),
        cmocka_unit_test(rows_that_do_not_fit_are_rejected),
        cmocka_unit_test(encodings_are_checked),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
