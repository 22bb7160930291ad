/* SPDX-License-Identifier: Apache-2.0 */
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *with_file(const void *bytes, size_t size, const char *options)
{
    static char made[600];

    t_write_file(t_path("f"), bytes, size);
    snprintf(made, sizeof made, "framed:%s,%s", t_path("f"), options);
    return made;
}

static void expect(const void *bytes, size_t size, const char *options, const char *rows,
                   levada_status end)
{
    levada_iter  *it = t_iter_open(with_file(bytes, size, options), 1, 3);
    levada_block *block = NULL;
    levada_error  err = LEVADA_ERROR_INIT;
    t_bytes       got = { 0 };
    levada_status st;

    while ((st = levada_iter_next(it, &block, &err)) == LEVADA_OK) {
        t_rows(block, &got);
        levada_block_unref(&block);
    }
    t_add(&got, "", 1);
    assert_string_equal((char *)got.at, rows);
    assert_int_equal(st, end);
    t_clear(&got);
    levada_iter_close(&it);
}

static void options_describe_the_header(void **state)
{
    (void)state;
    expect("\2\0\0\0ab\0\0\0\0", 10, "header_bytes=4", "ab@0 @6 ", LEVADA_END);
    expect("H\0\2ab", 5, "header_bytes=3,length_offset=1,length_bytes=2,big_endian=true", "ab@0 ",
           LEVADA_END);
    expect("\4\0ab\3\0c", 7, "header_bytes=2,length_bytes=2,length_with_header=true", "ab@0 c@4 ",
           LEVADA_END);
    expect("head\1a#\2bc#", 11, "header_bytes=1,length_bytes=1,footer_bytes=1,skip_bytes=4",
           "a@4 bc@7 ", LEVADA_END);
    expect("\1a..\1b", 6, "header_bytes=1,length_bytes=1,align_bytes=4", "a@0 b@4 ", LEVADA_END);
}

/* Also where it needs a larger window. */
static void padding_may_lack_after_the_last_record(void **state)
{
    static uint8_t bytes[4 + 300001];
    const char    *options = "header_bytes=4,length_bytes=4,align_bytes=64";
    levada_block  *block = NULL;
    levada_iter   *it;
    int32_t        length = sizeof bytes - 4;

    (void)state;
    memcpy(bytes, &length, 4); /* little-endian */
    it = t_iter_open(with_file(bytes, sizeof bytes, options), 1, 3);
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_int_equal(levada_block_rows(block), 1);
    levada_block_unref(&block);
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_END);
    levada_iter_close(&it);
}

static void a_wrong_magic_ends_the_file(void **state)
{
    const char *options = "header_bytes=2,length_offset=1,length_bytes=1,magic=4d";

    (void)state;
    expect("M\1aM\1b", 6, options, "a@0 b@3 ", LEVADA_END);
    expect("M\1aXX\1M\1b", 9, options, "a@0 ", LEVADA_EDATA_LOSS);
}

static void lengths_are_not_believed(void **state)
{
    (void)state;
    expect("\1a\xff\xff\xff\xff\xff\xff\xff\xff", 10, "header_bytes=8,length_bytes=8", "",
           LEVADA_EDATA_LOSS);
    expect("\xff\xff\xff\xff\xff\xff\xff\x0f", 8, "header_bytes=8,length_bytes=8", "",
           LEVADA_EDATA_LOSS);
    expect("\1\0\0\x20x", 5, "header_bytes=4,length_bits=29", "", LEVADA_EDATA_LOSS);
    expect("\1\0", 2, "header_bytes=2,length_bytes=2,length_with_header=true", "",
           LEVADA_EDATA_LOSS);
    expect("\5\0", 2, "header_bytes=4", "", LEVADA_EDATA_LOSS);
}

static void refuses_options_that_do_not_fit(void **state)
{
    (void)state;
    t_iter_refused(with_file("", 0, "header_bytes=2"), LEVADA_EINVALID_ARGUMENT, "exceed");
    t_iter_refused(with_file("", 0, "header_bytes=4,magic=4"), LEVADA_EINVALID_ARGUMENT, "pairs");
    t_iter_refused(with_file("", 0, "header_bytes=4,magic=zz"), LEVADA_EINVALID_ARGUMENT, "hexa");
}

static void goes_on_after_a_restore(void **state)
{
    t_bytes text = { 0 };

    (void)state;
    for (int i = 0; i < 500; i++) {
        char record[140] = { (char)(i % 120) };

        t_add(&text, record, (size_t)(1 + i % 120));
    }
    t_iter_sweep(with_file(text.at, text.size, "header_bytes=1,length_bytes=1"), false, 13);
    t_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_describe_the_header),
        cmocka_unit_test(padding_may_lack_after_the_last_record),
        cmocka_unit_test(a_wrong_magic_ends_the_file),
        cmocka_unit_test(lengths_are_not_believed),
        cmocka_unit_test(refuses_options_that_do_not_fit),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
