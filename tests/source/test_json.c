/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/json_list.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Errors of the first failure; the rows before it. */
typedef struct rows {
    char          text[512];
    levada_status st;
    levada_error  err;
    int64_t       skipped;
} rows;

static rows read_rows(const char *text, const char *options, const char *errors, int32_t block)
{
    char                made[1200];
    rows                r = { .err = LEVADA_ERROR_INIT };
    levada_iter_options how = LEVADA_ITER_OPTIONS_INIT;
    levada_dataset     *ds = NULL;
    levada_iter        *it = NULL;
    levada_block       *b = NULL;
    t_bytes             got = { 0 };

    t_write_file(t_path("f"), text, strlen(text));
    snprintf(made, sizeof made, "json:%s%s", t_path("f"), options);
    how.threads = 1;
    how.block_rows = block;
    how.errors = errors;
    assert_int_equal(levada_dataset_parse(NULL, made, &ds, &r.err), LEVADA_OK);
    assert_int_equal(levada_iter_open(ds, &how, &it, &r.err), LEVADA_OK);
    while ((r.st = levada_iter_next(it, &b, &r.err)) == LEVADA_OK) {
        t_rows(b, &got);
        levada_block_unref(&b);
    }
    t_add(&got, "", 1);
    snprintf(r.text, sizeof r.text, "%s", (char *)got.at);
    levada_iter_close(&it);
    levada_dataset_unref(&ds);
    t_clear(&got);
    return r;
}

static void expect(const char *text, const char *options, const char *want)
{
    for (int32_t block = 1; block < 300; block += 127) {
        rows r = read_rows(text, options, "fail", block);

        if (r.st != LEVADA_END) fail_msg("%s: %s", text, r.err.message);
        assert_string_equal(r.text, want);
    }
}

static void expect_damage(const char *text, const char *options, const char *before,
                          const char *words)
{
    rows r = read_rows(text, options, "fail", 256);

    assert_int_equal(r.st, LEVADA_EDATA_LOSS);
    assert_string_equal(r.text, before);
    if (!strstr(r.err.message, words)) fail_msg("%s: %s", text, r.err.message);
}

static void elements_are_records(void **state)
{
    (void)state;
    expect("[]", "", "");
    expect(" [ ] \n", "", "");
    expect("[{}]", "", "{}@0 ");
    expect("[{},{\"a\":\"],[\\\"}\"} , {}]\n", "", "{}@0 {\"a\":\"],[\\\"}\"}@3 {}@18 ");
    expect("\xef\xbb\xbf[\n  1,\n  \"x\"\n]", "", "1@0 \"x\"@8 ");
    expect("[[1,{}],null]", "", "[1,{}]@0 null@7 ");
    expect("", "", "");
}

static void a_field_names_the_list(void **state)
{
    const char *data = ",field=data";

    (void)state;
    expect("{\"data\":[{}]}", data, "{}@0 ");
    expect("{ \"v\" : {\"data\":[1]}, \"data\" : [ 1 , 2 ], \"w\":[\"]}\"] } ", data, "1@0 2@34 ");
    expect("{\"data\":[]}", data, "");
    expect_damage("{\"v\":1}", data, "", "lacks the member");
    expect_damage("{\"data\":1}", data, "", "must be a list");
    expect_damage("[{}]", data, "", "must be an object");
    expect_damage("{\"data\":[1],\"data\":[2]}", data, "", "twice");
    expect_damage("{\"data\":[1]", data, "", "no end");
    expect_damage("{\"data\":[1]}{}", data, "", "something follows");
}

static void a_damaged_list_is_an_error(void **state)
{
    (void)state;
    expect_damage("[{}", "", "", "ends inside");
    expect_damage("[{},", "", "{}@0 ", "ends inside");
    expect_damage("[{},]", "", "{}@0 ", "a value must be here");
    expect_damage("[,{}]", "", "", "a value must be here");
    expect_damage("[{} {}]", "", "{}@0 ", "must follow an element");
    expect_damage("[{}[{}]", "", "{}@0 ", "must follow an element");
    expect_damage("[{}]]", "", "", "something follows");
    expect_damage("[{}}", "", "{}@0 ", "must follow an element");
    expect_damage("[{\"a\":[1}]", "", "", "brackets do not match");
    expect_damage("[{\"a\":\"x\n\"}]", "", "", "line end");
    expect_damage("{}\n{}\n", "", "", "must be a list of objects");
    expect_damage("x", "", "", "must be a list of objects");
    expect_damage(" ", "", "", "ends inside");
}

static void reading_goes_on_at_the_next_line(void **state)
{
    rows r;

    (void)state;
    r = read_rows("[\n {\"a\":1},\n {\"a\":\"x},\n {\"a\":3}\n]", "", "skip", 256);
    assert_int_equal(r.st, LEVADA_END);
    assert_string_equal(r.text, "{\"a\":1}@0 {\"a\":3}@21 ");
    r = read_rows("[\n {\"a\":[1},\n {\"a\":2}\n]", "", "skip", 256);
    assert_string_equal(r.text, "{\"a\":2}@11 ");
    r = read_rows("[{\"a\":1}, {\"a\":[2}, {\"a\":3}]", "", "skip", 256);
    assert_string_equal(r.text, "{\"a\":1}@0 ");
    r = read_rows("[\n {\"a\":1},\n {\"a\":{\"b\":[\n  {\"c\":1},\n  {\"c\":}2\n ]}},\n "
                  "{\"a\":3}\n]",
                  "", "skip", 256);
    assert_string_equal(r.text, "{\"a\":1}@0 {\"a\":3}@50 ");
}

static void values_are_passed_in_any_window(void **state)
{
    const char *text = "{\"a\":[1,{\"b\":\"\\\"]}\"},null],\"c\":-1.5e3}";
    int64_t     size = (int64_t)strlen(text);
    const char *wrong = NULL;
    char        deep[2 * LEVADA_JSON_NEST];

    (void)state;
    for (int64_t n = 1; n < size; n++)
        assert_true(levada_json_list_value((const uint8_t *)text, 0, n, false, &wrong) == 0);
    assert_true(levada_json_list_value((const uint8_t *)text, 0, size, false, &wrong) == size);
    assert_true(levada_json_list_value((const uint8_t *)"12", 0, 2, false, &wrong) == 0);
    assert_true(levada_json_list_value((const uint8_t *)"12", 0, 2, true, &wrong) == 2);
    memset(deep, '[', sizeof deep);
    assert_true(levada_json_list_value((const uint8_t *)deep, 0, sizeof deep, true, &wrong) == -1);
    assert_non_null(strstr(wrong, "levels"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_records),
        cmocka_unit_test(a_field_names_the_list),
        cmocka_unit_test(a_damaged_list_is_an_error),
        cmocka_unit_test(reading_goes_on_at_the_next_line),
        cmocka_unit_test(values_are_passed_in_any_window),
    };

    if (!t_has("simdjson")) return 77; /* skipped */
    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
