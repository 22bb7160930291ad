/* SPDX-License-Identifier: Apache-2.0 */
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *with_bytes(const char *text, size_t size, const char *options)
{
    static char made[1024];

    t_write_file(t_path("f"), text, size);
    snprintf(made, sizeof made, "jsonl:%s%s", t_path("f"), options);
    return made;
}

static const char *with_file(const char *text, const char *options)
{
    return with_bytes(text, strlen(text), options);
}

/* Without simdjson nothing can be read, and the error says what is missing. */
static void expect_missing(void)
{
    levada_dataset *ds = NULL;
    levada_iter    *it = NULL;
    levada_error    err = LEVADA_ERROR_INIT;
    levada_block   *block = NULL;
    levada_status   st;

    assert_int_equal(levada_dataset_parse(NULL, with_file("{}\n", ""), &ds, &err), LEVADA_OK);
    st = levada_iter_open(ds, NULL, &it, &err);
    if (st == LEVADA_OK) st = levada_iter_next(it, &block, &err);
    levada_block_unref(&block);
    levada_iter_close(&it);
    levada_dataset_unref(&ds);
    assert_int_equal(st, LEVADA_EUNIMPLEMENTED);
    assert_non_null(strstr(err.message, "libsimdjson-dev"));
}

static void expect_lines(const char *text, size_t size, const char *want)
{
    for (int32_t rows = 1; rows < 300; rows += 127) {
        levada_iter  *it = t_iter_open(with_bytes(text, size, ""), 1, rows);
        levada_block *block = NULL;
        t_bytes       got = { 0 };

        while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
            t_rows(block, &got);
            levada_block_unref(&block);
        }
        t_add(&got, "", 1);
        assert_string_equal((char *)got.at, want);
        levada_iter_close(&it);
        t_clear(&got);
    }
}

static void blank_lines_are_no_rows(void **state)
{
    (void)state;
    expect_lines("{}\n\n \t\r\n[1]\r\n2", 14, "{}@0 [1]@8 2@13 ");
    expect_lines("\n\n{}\n \n", 7, "{}@2 ");
    expect_lines("\xef\xbb\xbf{}\n", 6, "{}@3 ");
    expect_lines("", 0, "");
    expect_lines(" \n ", 3, "");
}

static const levada_column *column(const levada_block *block, const char *name)
{
    const levada_column *c = levada_block_column(block, name);

    assert_non_null(c);
    return c;
}

static void fields_become_columns(void **state)
{
    const char *text = "{\"i\":-5,\"f\":1,\"s\":\"caf\\u00e9\",\"b\":true,\"l\":[1,2,3],"
                       "\"m\":{\"x\":[[0.5],[],[1,2]]},\"t\":[\"a\",\"bc\"]}\n"
                       "{\"f\":2.5e3,\"s\":\"\",\"b\":false,\"i\":1,\"i\":7,\"extra\":{}}\n";
    const char *fields = ",fields={i:int32,f:float64,s:string,b:bool,l:[int64],t:[string],"
                         "x:{dtype:[[float32]],path:m.x},d:{dtype:int64,default:42},"
                         "e:{dtype:string,default:none}}";
    levada_iter  *it = t_iter_open(with_file(text, fields), 1, 256);
    levada_block *block = NULL;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_int_equal(levada_block_rows(block), 2);
    assert_memory_equal(column(block, "i")->values, ((int32_t[]){ -5, 7 }), 8); /* the last i */
    assert_memory_equal(column(block, "f")->values, ((double[]){ 1, 2500 }), 16);
    assert_memory_equal(column(block, "s")->values, "caf\xc3\xa9", 5);
    assert_memory_equal(levada_column_u8(column(block, "b")), "\1\0", 2);
    assert_memory_equal(column(block, "l")->values, ((int64_t[]){ 1, 2, 3 }), 24);
    assert_int_equal(column(block, "l")->level[0].end[1], 3);
    assert_memory_equal(column(block, "t")->values, "abc", 3);
    assert_int_equal(column(block, "x")->level[0].end[0], 3);
    assert_memory_equal(column(block, "x")->level[1].end, ((int32_t[]){ 1, 1, 3 }), 12);
    assert_memory_equal(column(block, "x")->values, ((float[]){ 0.5F, 1, 2 }), 12);
    assert_memory_equal(column(block, "d")->values, ((int64_t[]){ 42, 42 }), 16);
    assert_memory_equal(column(block, "e")->values, "nonenone", 8);
    levada_block_unref(&block);
    levada_iter_close(&it);
}

static void bad_rows_are_rejected_alone(void **state)
{
    static const char *const rows[] = {
        "{\"i\":1.5}",
        "{\"i\":\"1\"}",
        "{\"i\":9223372036854775808}",
        "{\"i\":null}",
        "{}",
        "[1]",
        "{\"i\":1",
        "{\"i\":1}}",
        "{\"i\":01}",
        "{\"i\":1,\"s\":\"\xff\"}",
        "nul",
        "{\"i\":[1]}",
        "{\"i\":1,\"l\":[1,[2]]}",
        "{\"i\":1,\"l\":3}",
        "{\"i\":1,\"l\":[null]}",
    };

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char         text[200];
        int64_t      n, *values;
        levada_iter *it;

        snprintf(text, sizeof text, "{\"i\":1,\"l\":[7]}\n%s\n{\"i\":3,\"l\":[8,9]}\n", rows[k]);
        it = t_iter_open_policy(with_file(text, ",fields={i:int64,l:[int64]}"), "skip", 1, 256);
        values = t_iter_numbers(it, "i", &n);
        if (n != 2 || values[0] != 1 || values[1] != 3) fail_msg("row %s", rows[k]);
        free(values);
        levada_iter_close(&it);
        it = t_iter_open(with_file(text, ",fields={i:int64,l:[int64]}"), 1, 256);
        t_iter_fails_at(it, LEVADA_EINVALID_ARGUMENT, "/f", 1, 16);
        levada_iter_close(&it);
    }
}

/* Members that are missing or null, objects that are null, and lists that are. */
static void objects_in_lists_become_ragged_columns(void **state)
{
    const char *text = "{\"m\":[{\"r\":\"u\",\"n\":1,\"t\":[5,6]},{\"r\":\"bot\",\"n\":2}]}\n"
                       "{}\n{\"m\":null}\n{\"m\":[null,{\"n\":null,\"t\":[7]}]}\n";
    const char *fields = ",fields={m:[{r:{dtype:text,default:none},n:{dtype:int64,default:-1},"
                         "t:[int64]}]}";
    levada_iter        *it = t_iter_open(with_file(text, fields), 1, 256);
    levada_block       *block = NULL;
    const levada_column *t;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_int_equal(levada_block_rows(block), 4);
    for (int i = 0; i < 3; i++) {
        const levada_column *c = levada_block_at(block, i);

        assert_memory_equal(c->level[0].end, ((int32_t[]){ 2, 2, 2, 4 }), 16);
        assert_memory_equal(c->field->object, ((uint8_t[]){ 1, 0, 0, 0 }), 4);
    }
    assert_memory_equal(column(block, "m.r")->values, "ubotnonenone", 12);
    assert_memory_equal(column(block, "m.n")->values, ((int64_t[]){ 1, 2, -1, -1 }), 32);
    t = column(block, "m.t");
    assert_memory_equal(t->level[1].end, ((int32_t[]){ 2, 2, 2, 3 }), 16);
    assert_memory_equal(t->values, ((int64_t[]){ 5, 6, 7 }), 24);
    levada_block_unref(&block);
    levada_iter_close(&it);
}

static void text_has_the_json_of_other_values(void **state)
{
    const char *text = "{\"x\":{\"b\":[1,2.5,null,true,\"\\u00e9\\n\"],\"a\":{}}}\n{\"x\":[]}\n"
                       "{\"x\":123456789012345678901}\n{\"x\":\"s\"}\n{\"x\":false}\n";
    levada_iter  *it = t_iter_open(with_file(text, ",fields={x:text}"), 1, 256);
    levada_block *block = NULL;
    t_bytes       got = { 0 };

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    t_rows(block, &got);
    t_add(&got, "", 1);
    assert_non_null(
        strstr((char *)got.at, "{\"b\":[1,2.5,null,true,\"\xc3\xa9\\n\"],\"a\":{}}@0 "));
    assert_non_null(strstr((char *)got.at, " []@"));
    assert_non_null(strstr((char *)got.at, " 123456789012345678901@"));
    assert_non_null(strstr((char *)got.at, " s@"));
    assert_non_null(strstr((char *)got.at, " false@"));
    t_clear(&got);
    levada_block_unref(&block);
    levada_iter_close(&it);
}

static void objects_of_another_form_are_bad_rows(void **state)
{
    static const char *const rows[] = {
        "{\"m\":[{\"n\":1},5]}", "{\"m\":{\"n\":1}}", "{\"m\":[{\"n\":\"a\"}]}",
        "{\"m\":[{}]}",          "{\"m\":[[]]}",      "{\"m\":[{\"n\":[1]}]}",
        "{\"m\":[null]}",        "{\"m\":[{\"n\":1},{\"n\":null}]}",
    };

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char         text[200];
        levada_iter *it;
        int64_t      n, *values;

        snprintf(text, sizeof text, "{\"m\":[{\"n\":7}],\"i\":1}\n%s\n{\"i\":3}\n", rows[k]);
        it = t_iter_open_policy(
            with_file(text, ",fields={m:[{n:int64}],i:{dtype:int64,default:0}}"), "skip", 1, 256);
        values = t_iter_numbers(it, "i", &n);
        if (n != 2 || values[0] != 1 || values[1] != 3) fail_msg("row %s", rows[k]);
        free(values);
        levada_iter_close(&it);
    }
    t_iter_sweep(with_file("{\"m\":[{\"n\":7,\"p\":[{\"q\":\"a\"},{\"q\":\"b\"}]}]}\n{}\n"
                           "{\"m\":[]}\n",
                           ",fields={m:[{n:int64,p:[{q:text}]}]}"),
                 false, 1);
}

static void refuses_options_that_do_not_fit(void **state)
{
    (void)state;
    t_iter_refused("jsonl:f,fields={}", LEVADA_EINVALID_ARGUMENT, "names and dtypes");
    t_iter_refused("jsonl:f,fields=[int64]", LEVADA_EINVALID_ARGUMENT, "names and dtypes");
    t_iter_refused("jsonl:f,fields={a:int7}", LEVADA_EINVALID_ARGUMENT, "fields.a");
    t_iter_refused("jsonl:f,fields={a:[[[[[int64]]]]]}", LEVADA_EINVALID_ARGUMENT, "4 levels");
    t_iter_refused("jsonl:f,fields={a:[{b:[[{d:[[int64]]}]]}]}", LEVADA_EINVALID_ARGUMENT,
                   "4 levels");
    t_iter_refused("jsonl:f,fields={a:{}}", LEVADA_EINVALID_ARGUMENT, "dtype, default and path");
    t_iter_refused("jsonl:f,fields={a:[{b:{dtype:int64,path:x}}]}", LEVADA_EINVALID_ARGUMENT,
                   "path");
    t_iter_refused("jsonl:f,fields={a:{dtype:int64,default:x}}", LEVADA_EINVALID_ARGUMENT,
                   "must be int64, got x");
    t_iter_refused("jsonl:f,fields={a:{dtype:[int64],default:1}}", LEVADA_EINVALID_ARGUMENT,
                   "empty");
    t_iter_refused("jsonl:f,fields={a:{dtype:int64,type:1}}", LEVADA_EINVALID_ARGUMENT, "only");
}

static void goes_on_after_a_restore(void **state)
{
    t_bytes text = { 0 };
    char    row[100];

    (void)state;
    for (int i = 0; i < 300; i++) {
        t_add(&text, row,
              (size_t)snprintf(row, sizeof row, "{\"i\":%d,\"s\":\"%d\",\"l\":[%d,1]}%s", i, i * i,
                               i, i % 5 ? "\n" : "\r\n\n"));
    }
    t_iter_sweep(with_bytes((char *)text.at, text.size, ",fields={i:int64,s:string,l:[int32]}"),
                 false, 11);
    t_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blank_lines_are_no_rows),
        cmocka_unit_test(fields_become_columns),
        cmocka_unit_test(objects_in_lists_become_ragged_columns),
        cmocka_unit_test(text_has_the_json_of_other_values),
        cmocka_unit_test(objects_of_another_form_are_bad_rows),
        cmocka_unit_test(bad_rows_are_rejected_alone),
        cmocka_unit_test(refuses_options_that_do_not_fit),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    if (!t_has("simdjson")) {
        t_folder();
        expect_missing();
        t_folder_drop();
        print_message("SKIPPED: built without simdjson\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
