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

    t_write_file(t_path("f.fa"), text, strlen(text));
    for (size_t i = 0; i < 3; i++) {
        t_reader t = { .format = "fasta", .paths = { t_path("f.fa") }, .errors = errors };

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

/* All records as "id|description|seq|". */
static void expect_columns(const char *text, const char *errors, const char *want)
{
    char          pipe[400];
    levada_iter  *it;
    levada_block *block = NULL;
    t_bytes       got = { 0 };

    t_write_file(t_path("f.fa"), text, strlen(text));
    snprintf(pipe, sizeof pipe, "fasta:%s", t_path("f.fa"));
    it = t_iter_open_policy(pipe, errors, 1, 256);
    while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
        for (int64_t i = 0; i < levada_block_rows(block); i++) {
            put(&got, block, "id", i);
            put(&got, block, "description", i);
            put(&got, block, "seq", i);
        }
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    t_add(&got, "", 1);
    assert_string_equal((char *)got.at, want);
    t_clear(&got);
}

static void records_end_before_the_next_mark(void **state)
{
    (void)state;
    expect("", NULL, "", LEVADA_END);
    expect("\n\r\n", NULL, "", LEVADA_END);
    expect(">a\nAC\nGT\n>b\nT", NULL, ">a\nAC\nGT\n@0 >b\nT@9 ", LEVADA_END);
    expect(">a x>y\nA>C\n>b\n", NULL, ">a x>y\nA>C\n@0 >b\n@11 ", LEVADA_END);
    expect(">a\r\nAC\r\n\r\n>b\r\n\r\n", NULL, ">a\r\nAC\r\n@0 >b\r\n@10 ", LEVADA_END);
    expect(">", NULL, ">@0 ", LEVADA_END);
}

static void lines_are_joined_and_case_is_kept(void **state)
{
    (void)state;
    expect_columns(">a  of  x \nAC\nGT\n>b\nacgN-*\n", "fail", "a|of  x |ACGT|b||acgN-*|");
    expect_columns(">a\tb\r\nAC\r\nGT\r\n>e\r\n>f\r\n\r\nA", "fail", "a|b|ACGT|e|||f||A|");
    expect_columns(">\nA C\tG \n\nT\n> \n", "fail", "||ACGT||||");
}

static void damage_is_left_out_up_to_the_next_mark(void **state)
{
    (void)state;
    expect("ACGT\n>a\nA\n", NULL, "", LEVADA_EDATA_LOSS);
    expect("ACGT\n>a\nA\n", "skip", ">a\nA\n@5 ", LEVADA_END);
    expect("x>y\n", "skip", "", LEVADA_END);
    expect_columns(">a\nAC\n>b\nA\x01"
                   "C\n>c\nG\n",
                   "skip", "a||AC|c||G|");
}

static void a_bad_letter_names_its_place(void **state)
{
    char pipe[300];

    (void)state;
    t_write_file(t_path("f.fa"), ">a\nAC\n>b\nA\x01"
                                 "C\n",
                 14);
    snprintf(pipe, sizeof pipe, "fasta:%s", t_path("f.fa"));
    assert_int_equal(t_iter_ends(t_iter_open(pipe, 1, 1), LEVADA_EDATA_LOSS,
                                  "'b': byte 0x01, 4 bytes after the start of the record"), 1);
    t_iter_ends_at(t_iter_open(pipe, 1, 1), LEVADA_EDATA_LOSS, "f.fa", 1, 6);
}

static void a_long_record_is_left_out_alone(void **state)
{
    t_bytes  text = { 0 };
    t_reader t = { .format = "fasta", .paths = { t_path("l.fa") }, .errors = "skip" };

    (void)state;
    t_add(&text, ">a\nAC\n\n>long\n", 13);
    for (int i = 0; i < 400000; i++) t_add(&text, "ACGTA>CGT\n", 10);
    t_add(&text, ">b\nT\n", 5);
    t_write_file(t_path("l.fa"), text.at, text.size);
    t.paths[0] = t_path("l.fa");
    t.max_record_bytes = 1 << 20;
    t_expect(&t, ">a\nAC\n@0 >b\nT\n@4000013 ", LEVADA_END);
    t_clear(&text);
}

static void goes_on_after_a_restore(void **state)
{
    t_bytes text = { 0 };
    char    pipe[400];

    (void)state;
    for (int i = 0; i < 500; i++) {
        char line[140];

        t_add(&text, line, (size_t)snprintf(line, sizeof line, ">r%d x\n", i));
        for (int k = 0; k < i % 5; k++) t_add(&text, "ACGT\n\n", 5 + (size_t)(k % 2));
    }
    t_write_file(t_path("g.fa"), text.at, text.size);
    snprintf(pipe, sizeof pipe, "fasta:%s", t_path("g.fa"));
    t_iter_sweep(pipe, false, 13);
    snprintf(pipe, sizeof pipe, "fasta:%s | shuffle:50,seed=1 | padded_batch:7", t_path("g.fa"));
    t_iter_sweep(pipe, true, 13);
    t_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_end_before_the_next_mark),
        cmocka_unit_test(lines_are_joined_and_case_is_kept),
        cmocka_unit_test(damage_is_left_out_up_to_the_next_mark),
        cmocka_unit_test(a_bad_letter_names_its_place),
        cmocka_unit_test(a_long_record_is_left_out_alone),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
