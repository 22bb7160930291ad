/* SPDX-License-Identifier: Apache-2.0 */
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *text, const char *errors, const char *rows, levada_status end)
{
    const int32_t block_rows[] = { 1, 3, 256 };

    t_write_file(t_path("f.fq"), text, strlen(text));
    for (size_t i = 0; i < 3; i++) {
        t_reader t = { .format = "fastq", .paths = { t_path("f.fq") }, .errors = errors };

        t.block_rows = block_rows[i];
        t_expect(&t, rows, end);
    }
}

static void put(t_bytes *to, const levada_block *block, const char *name, int64_t row)
{
    const levada_column *c = levada_block_column(block, name);

    t_add(to, (const uint8_t *)c->values + c->level[0].begin[row],
          (size_t)(c->level[0].end[row] - c->level[0].begin[row]));
    t_add(to, "|", 1);
}

/* All records as "id|seq|qual|". */
static void expect_columns(const char *text, const char *errors, const char *want)
{
    char          pipe[400];
    levada_iter  *it;
    levada_block *block = NULL;
    t_bytes       got = { 0 };

    t_write_file(t_path("f.fq"), text, strlen(text));
    snprintf(pipe, sizeof pipe, "fastq:%s", t_path("f.fq"));
    it = t_iter_open_policy(pipe, errors, 1, 256);
    while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
        for (int64_t i = 0; i < levada_block_rows(block); i++) {
            put(&got, block, "id", i);
            put(&got, block, "seq", i);
            put(&got, block, "qual", i);
        }
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    t_add(&got, "", 1);
    assert_string_equal((char *)got.at, want);
    t_clear(&got);
}

static void records_have_as_many_qualities_as_letters(void **state)
{
    (void)state;
    expect("", NULL, "", LEVADA_END);
    expect("@a\nAC\n+\n@@\n@b\nT\n+\nI", NULL, "@a\nAC\n+\n@@\n@0 @b\nT\n+\nI@11 ", LEVADA_END);
    expect("@a\r\nAC\r\n+\r\nII\r\n\r\n@b\n+\n", NULL, "@a\r\nAC\r\n+\r\nII\r\n@0 @b\n+\n@17 ",
           LEVADA_END);
    expect("@a\nAC\n+\nI\n", NULL, "", LEVADA_EDATA_LOSS);
    expect("@a\nAC\n+\nIII\n", NULL, "", LEVADA_EDATA_LOSS);
    expect("@a\nAC\n@b\nT\n+\nI\n", NULL, "", LEVADA_EDATA_LOSS);
    expect("@a\nAC\n", NULL, "", LEVADA_EDATA_LOSS);
    expect("a\nAC\n+\nII\n", NULL, "", LEVADA_EDATA_LOSS);
}

static void several_lines_are_joined(void **state)
{
    (void)state;
    expect_columns("@a d\nAC\nG\n+a d\n@I\n@\n@b\nnt\n+\n+!\n", "fail", "a|ACG|@I@|b|nt|+!|");
    expect_columns("@e\n\n+\n\n@f\r\nA\r\n+\r\nI\r\n", "fail", "e|||f|A|I|");
}

static void reading_goes_on_at_the_next_complete_record(void **state)
{
    /* qualities that begin with '@' are not taken for records */
    (void)state;
    expect("@a\nAC\n+\n@\n@b\nT\n+\n@\n@c\nGG\n+\nII\n", "skip",
           "@b\nT\n+\n@\n@10 @c\nGG\n+\nII\n@19 ", LEVADA_END);
    expect("GT\n+\n@I\n@b\nT\n+\n@\n", "skip", "@b\nT\n+\n@\n@8 ", LEVADA_END);
    expect("GT\n@e\n\n+\n", "skip", "@e\n\n+\n@3 ", LEVADA_END);
    expect("@a\nA\n+\nI\n@b\nTT\n", "skip", "@a\nA\n+\nI\n@0 ", LEVADA_END);
    expect_columns("@a\nA\n+\nI\n@b\nT \n+\nII\n@c\nG\n+d\nI\n@d\nC\n+\nI\n", "skip",
                   "a|A|I|d|C|I|");
}

/* Longer than what a format is recognized by. */
static void a_long_record_after_damage_is_found(void **state)
{
    t_bytes text = { 0 }, want = { 0 };

    (void)state;
    t_add(&want, "@b\n", 3);
    for (int i = 0; i < 500; i++) t_add(&want, "ACGTACGT", 8);
    t_add(&want, "\n+\n", 3);
    for (int i = 0; i < 500; i++) t_add(&want, "@@@@@@@@", 8);
    t_add(&text, "GT\n", 3);
    t_add(&text, want.at, want.size);
    t_add(&text, "", 1);
    t_add(&want, "@3 ", 4);
    expect((const char *)text.at, "skip", (const char *)want.at, LEVADA_END);
    t_clear(&text);
    t_clear(&want);
}

static void damage_names_its_place(void **state)
{
    char pipe[300];

    (void)state;
    t_write_file(t_path("f.fq"), "@a\nAC\n+\nII\n@b\nAC\n+\nI\n", 21);
    snprintf(pipe, sizeof pipe, "fastq:%s", t_path("f.fq"));
    t_iter_ends_at(t_iter_open(pipe, 1, 1), LEVADA_EDATA_LOSS, "f.fq", 1, 11);
    t_write_file(t_path("f.fq"), "@a\nAC\n+\nII\n@b\nA\x7f\n+\nII\n", 22);
    assert_int_equal(t_iter_ends(t_iter_open(pipe, 1, 1), LEVADA_EDATA_LOSS,
                                  "'b': byte 0x7f, 4 bytes after the start of the record"), 1);
}

static void a_long_record_is_left_out_alone(void **state)
{
    t_bytes  text = { 0 };
    t_reader t = { .format = "fastq", .errors = "skip", .max_record_bytes = 1 << 20 };

    (void)state;
    t_add(&text, "@a\nA\n+\nI\n@long\n", 15);
    for (int i = 0; i < 300000; i++) t_add(&text, "ACGTACGTA\n", 10);
    t_add(&text, "+\n", 2);
    for (int i = 0; i < 300000; i++) t_add(&text, "@@@@@@@@@\n", 10);
    t_add(&text, "@b\nT\n+\nI\n", 9);
    t_write_file(t_path("l.fq"), text.at, text.size);
    t.paths[0] = t_path("l.fq");
    t_expect(&t, "@a\nA\n+\nI\n@0 @b\nT\n+\nI\n@6000017 ", LEVADA_END);
    t_clear(&text);
}

static void goes_on_after_a_restore(void **state)
{
    t_bytes text = { 0 };
    char    pipe[400];

    (void)state;
    for (int i = 0; i < 500; i++) {
        char line[140];
        int  n = i % 9;

        t_add(&text, line, (size_t)snprintf(line, sizeof line, "@r%d x\n%.*s\n+\n%.*s\n", i, n,
                                            "ACGTACGTA", n, "@+IIIIIII"));
    }
    t_write_file(t_path("g.fq"), text.at, text.size);
    snprintf(pipe, sizeof pipe, "fastq:%s", t_path("g.fq"));
    t_iter_sweep(pipe, false, 13);
    snprintf(pipe, sizeof pipe, "fastq:%s | shuffle:50,seed=1 | padded_batch:7", t_path("g.fq"));
    t_iter_sweep(pipe, true, 13);
    t_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_have_as_many_qualities_as_letters),
        cmocka_unit_test(several_lines_are_joined),
        cmocka_unit_test(reading_goes_on_at_the_next_complete_record),
        cmocka_unit_test(a_long_record_after_damage_is_found),
        cmocka_unit_test(damage_names_its_place),
        cmocka_unit_test(a_long_record_is_left_out_alone),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
