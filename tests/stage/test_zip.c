/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void joins_columns(void **state)
{
    const int64_t value[] = { 0, 1, 2, 3, 4, 5, 6 }, x[] = { 9, 8, 7, 6, 5, 4, 3 };
    const char *text =
        "zip(range:10; range:7,start=9,step=-1 | rename:{value:x}; t_rows:9 | select:[n])";

    (void)state;
    t_expect_i64(text, "value", value, 7);
    t_expect_i64(text, "x", x, 7);
}

static void joins_selections_and_cut_blocks(void **state)
{
    const int64_t value[] = { 0, 1, 2, 3, 4, 5, 6 }, x[] = { 3, 5, 7, 9 };
    const char *text =
        "zip(range:10 | filter:\"value > 2\" | shard:0,count=2; range:7 | rename:{value:x}"
        " | take:5)";

    (void)state;
    t_expect_i64(text, "x", value, 4);
    t_expect_i64(text, "value", x, 4);
    t_expect_i64("zip(range:4 | map:{c:twice}; range:7 | rename:{value:x})", "x", value, 4);
}

static void refuses_what_does_not_fit(void **state)
{
    levada_iter *it =
        t_iter_open("zip(range:9 | batch:3; range:9 | rename:{value:x} | batch:4)", 1, 7);

    (void)state;
    t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "a batch of size 4");
    levada_iter_close(&it);
    t_iter_refused("zip(range:3; range:3)", LEVADA_EINVALID_ARGUMENT, "two fields");
    t_iter_refused("zip(range:3; t_rows:3 | batch:2)", LEVADA_EINVALID_ARGUMENT, "emits batches");
    t_iter_refused("zip(range:3 | batch:2; t_rows:3)", LEVADA_EINVALID_ARGUMENT,
                   "emits single records");
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("zip(range:30; t_rows:25)", false, 1);
    t_iter_sweep(
        "zip(range:30 | filter:\"value in [1, 2, 3, 9, 10, 11, 20, 21, 22, 23]\"; t_stream:25)",
        false, 1);
    t_iter_sweep("zip(t_rows:30 | shuffle:8; range:12 | repeat:2) | shuffle:5 | batch:4", true, 1);
    t_iter_sweep("zip(range:30 | batch:4; t_rows:30 | batch:4)", true, 1);
}

/* Lines of two files of another length; the third record of a is not an Example. */
static const char *write_parts(void)
{
    t_bytes records = { 0 }, lines = { 0 };

    for (int i = 0; i < 5; i++) t_add_record(&records, "\xff\xff\xff", i == 2 ? 3 : 0);
    for (int i = 0; i < 5; i++) t_add(&lines, "some words\n", 11);
    t_write_file(t_path("a.tfrecord"), records.at, records.size);
    t_write_file(t_path("b.txt"), lines.at, lines.size);
    t_clear(&records);
    t_clear(&lines);
    return t_path("");
}

#define SPEC "{n:{kind:VarLen,dtype:int64}},field=record"

/* The place is that of the first part; the others are told with the cause. */
static void a_failure_names_all_its_parts(void **state)
{
    const char  *folder = t_folder(), *at = write_parts();
    char         text[512], message[160];
    levada_iter *it;

    (void)state;
    (void)folder;
    (void)snprintf(text, sizeof text, "zip(tfrecord:%sa.tfrecord; text_lines:%sb.txt; range:9) "
                   "| shuffle:1 | parse_example:" SPEC, at, at);
    it = t_iter_open(text, 1, 4);
    (void)snprintf(message, sizeof message, "with %sb.txt record 2 at byte 22, source 2 record 2: ",
                   at);
    assert_int_equal(t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, message), 2);
    t_iter_fails_at(it, LEVADA_EINVALID_ARGUMENT, "a.tfrecord", 2, 32);
    levada_iter_close(&it);
    t_folder_drop();
}

/* A name that is too long loses its beginning, and the cause nothing. */
static void a_long_name_hides_no_cause(void **state)
{
    char         text[4096], deep[1024];
    int          n;
    const char  *at;
    levada_error err = LEVADA_ERROR_INIT;
    levada_iter *it;

    (void)state;
    (void)t_folder();
    at = write_parts();
    n = snprintf(deep, sizeof deep, "%s", at);
    for (int i = 0; i < 400; i++) n += snprintf(deep + n, sizeof deep - (size_t)n, "./");
    (void)snprintf(deep + n, sizeof deep - (size_t)n, "b.txt");
    (void)snprintf(text, sizeof text, "zip(tfrecord:%sa.tfrecord; text_lines:%s; text_lines:%s | "
                   "rename:{line:a}; text_lines:%s | rename:{line:b}) | parse_example:" SPEC,
                   at, deep, deep, deep);
    it = t_iter_open(text, 1, 4);
    for (levada_block *block = NULL; levada_iter_next(it, &block, &err) == LEVADA_OK;) {
        levada_block_unref(&block);
    }
    assert_non_null(strstr(err.message, "with ...")); /* else a number loses digits unseen */
    assert_non_null(strstr(err.message, " at byte 22: ")); /* the last one */
    assert_true(strlen(strstr(err.message, " at byte 22: ")) > 20);
    levada_iter_close(&it);
    t_folder_drop();
}

static int add_functions(void **state)
{
    (void)state;
    t_functions_add(t_iter_env());
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_columns),
        cmocka_unit_test(joins_selections_and_cut_blocks),
        cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(goes_on_after_a_restore),
        cmocka_unit_test(a_failure_names_all_its_parts),
        cmocka_unit_test(a_long_name_hides_no_cause),
    };

    return cmocka_run_group_tests(tests, add_functions, NULL);
}
