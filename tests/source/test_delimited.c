/* SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void expect(const void *bytes, size_t size, const char *rows, levada_status end)
{
    const int32_t block_rows[] = { 1, 3, 256 };

    t_write_file(t_path("f"), bytes, size);
    for (size_t i = 0; i < 3; i++) {
        t_reader t = { .format = "delimited", .paths = { t_path("f") } };

        t.block_rows = block_rows[i];
        t_expect(&t, rows, end);
    }
}

static void records_follow_their_length(void **state)
{
    uint8_t long_one[202] = { 200, 1 };
    char    want[240];

    (void)state;
    expect("", 0, "", LEVADA_END);
    expect("\3abc\0\1x", 7, "abc@0 @4 x@5 ", LEVADA_END);
    memset(long_one + 2, 'y', 200);
    snprintf(want, sizeof want, "%.200s@0 ", (char *)long_one + 2);
    expect(long_one, 202, want, LEVADA_END);
    expect("\x81\x80\x80\x80\x00z\1a", 8, "z@0 a@6 ", LEVADA_END); /* longer than it must be */
}

static void damage_is_reported_after_the_records_before_it(void **state)
{
    (void)state;
    expect("\1a\5abc", 6, "a@0 ", LEVADA_EDATA_LOSS);
    expect("\1a\x80", 3, "a@0 ", LEVADA_EDATA_LOSS);
    expect("\1a\xff\xff\xff\xff\x0f", 7, "a@0 ", LEVADA_EDATA_LOSS);
    expect("\1a\x80\x80\x80\x80\x80\x01", 8, "a@0 ", LEVADA_EDATA_LOSS);
}

static void goes_on_after_a_restore(void **state)
{
    t_bytes text = { 0 };
    char    pipe[400];

    (void)state;
    for (int i = 0; i < 500; i++) {
        char record[140] = { (char)(i % 120) };

        t_add(&text, record, (size_t)(1 + i % 120));
    }
    t_write_file(t_path("g"), text.at, text.size);
    snprintf(pipe, sizeof pipe, "delimited:%s", t_path("g"));
    t_iter_sweep(pipe, false, 13);
    t_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_follow_their_length),
        cmocka_unit_test(damage_is_reported_after_the_records_before_it),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
