/* SPDX-License-Identifier: Apache-2.0 */
#include "option/value_priv.h"

#include "description/dataset_priv.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static levada_value *parse(const char *text)
{
    levada_value *value = NULL;
    levada_error  err = LEVADA_ERROR_INIT;

    if (levada_value_parse(text, &value, &err) != LEVADA_OK) fail_msg("%s: %s", text, err.message);
    return value;
}

/* Reads `text`, which prints as `json`, which reads and prints alike. */
static void prints(const char *text, const char *json)
{
    levada_value *value = parse(text), *again = parse(json);
    char         *out = NULL, *again_out = NULL;

    assert_int_equal(levada_value_json(value, &out, NULL), LEVADA_OK);
    assert_int_equal(levada_value_json(again, &again_out, NULL), LEVADA_OK);
    assert_string_equal(out, json);
    assert_string_equal(again_out, json);
    levada_string_free(&out);
    levada_string_free(&again_out);
    levada_value_destroy(&value);
    levada_value_destroy(&again);
}

static void refused(const char *text, const char *message)
{
    levada_value *value = NULL;
    levada_error  err = LEVADA_ERROR_INIT;

    if (levada_value_parse(text, &value, &err) == LEVADA_OK) fail_msg("%s was not refused", text);
    assert_string_equal(err.message, message);
    assert_int_equal(err.code, LEVADA_EINVALID_ARGUMENT);
}

static void reads_and_prints(void **state)
{
    (void)state;
    prints("null", "null");
    prints(" true ", "true");
    prints("9007199254740993", "9007199254740993");
    prints("-0.5e1", "-5.0");
    prints("hello-world", "\"hello-world\"");
    prints("\"a\\u00e9\\ud83d\\ude00\\n\"", "\"a\xC3\xA9\xF0\x9F\x98\x80\\n\"");
    prints("[1,[a, b],{}]", "[1,[\"a\",\"b\"],{}]");
    prints("{b:1,a:{\"x y\":[ ]}}", "{\"b\":1,\"a\":{\"x y\":[]}}");
    prints("[nan,inf,-inf]", "[{\"float\":\"nan\"},{\"float\":\"inf\"},{\"float\":\"-inf\"}]");
    prints("{base64:\"AAEC/w==\"}", "{\"base64\":\"AAEC/w==\"}");
    prints("{\"base64\":\"\"}", "{\"base64\":\"\"}");
    prints("{map:{base64:x}}", "{\"map\":{\"base64\":\"x\"}}");
    prints("{map:{map:1}}", "{\"map\":{\"map\":1}}");
    prints("{base64:x,c:y}", "{\"base64\":\"x\",\"c\":\"y\"}");
}

/* A mark never holds a map, so names of features may be those of marks. */
static void marks_that_hold_maps_are_names(void **state)
{
    static const char *const names[] = {"base64", "float", "py", "c", "block", "pipe", "map"};
    char                     text[64], want[80];

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(text, sizeof text, "{%s:{kind:a,dtype:b}}", names[i]);
        snprintf(want, sizeof want, "{\"map\":{\"%s\":{\"kind\":\"a\",\"dtype\":\"b\"}}}",
                 names[i]);
        prints(text, want);
        prints(want, want);
    }
    prints("{map:{map:{c:{}}}}", "{\"map\":{\"map\":{\"map\":{\"c\":{}}}}}");
}

static void refuses(void **state)
{
    (void)state;
    refused("", "expected a value, found the end at column 1");
    refused("[1,]", "expected a value, found ']' at column 4");
    refused("[1 2]", "expected ']', found '2' at column 4");
    refused("{a:1,a:2}", "'a' occurs twice at column 6");
    refused("{a=1}", "expected ':', found '=' at column 3");
    refused("\"abc", "string without an end at column 1");
    refused("\"a\nb\"", "the control character 0x0a in a string must be escaped at column 3");
    refused("\"\\x\"", "a backslash must be followed by one of \"\\/bfnrtu at column 2");
    refused("\"\\ud800\"",
            "\\u must name a whole character, got half of a surrogate pair at column 2");
    refused("\"\\udc00\"",
            "\\u must name a whole character, got half of a surrogate pair at column 2");
    refused("\"\\u12\"", "\\u must be followed by four hexadecimal digits at column 2");
    refused("99999999999999999999", "99999999999999999999 is a number beyond 64 bits at column 1");
    refused("1 2", "expected the end, found '2' at column 3");
    refused("\xC3\xA9\xFF", "the text is not valid UTF-8 at column 2");
    refused("[\n  1,\n  \xC3\xA9;]", "expected ']', found ';' at line 3 column 4");
    refused("{base64:x}", "{\"base64\": ...} must hold valid base64, got \"x\"");
    refused("{base64:\"AB==\"}", "{\"base64\": ...} must hold valid base64, got \"AB==\"");
    refused("{base64:5}", "{\"base64\": ...} must hold a string of base64, got 5");
    refused("{float:1}", "{\"float\": ...} must hold \"nan\", \"inf\" or \"-inf\", got 1");
    refused("{map:1}", "{\"map\": ...} must hold a map, such as {\"a\": 1}, got 1");
    refused("{\"a\\u0000\":1}", "a name must not contain a zero byte at column 2");
}

static void json_prints(const char *text, const char *json)
{
    levada_value *value = NULL;
    char         *out = NULL;
    levada_error  err = LEVADA_ERROR_INIT;

    if (levada_value_parse_json(text, strlen(text), &value, &err) != LEVADA_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    assert_int_equal(levada_value_json(value, &out, NULL), LEVADA_OK);
    assert_string_equal(out, json);
    levada_string_free(&out);
    levada_value_destroy(&value);
}

static void json_refused(const char *text, size_t size)
{
    levada_value *value = NULL;
    levada_error  err = LEVADA_ERROR_INIT;

    if (levada_value_parse_json(text, size, &value, &err) == LEVADA_OK) {
        fail_msg("%s was not refused", text);
    }
    assert_int_equal(err.code, LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "column"));
}

/* What somebody else wrote reaches no files and no functions. */
static void json_is_json_only(void **state)
{
    static const char *const bad[] = {
        "", "word", "@/dev/null", "@\"/dev/null\"", "(range:3)", "nan", "inf", "-inf", "-", "01",
        "1.", "+1", "1e", "0x1", "4K", "{a:1}", "{\"a\":b}", "[1,]", "{\"a\":1,}", "{\"a\":@x}",
        "[@x]", "1 2", "tRUE", "'a'", "{\"a\":1,\"a\":2}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) json_refused(bad[i], strlen(bad[i]));
    json_refused(NULL, 0);
    json_refused("1\0 2", 4);
    json_refused("{}\0", 3);
    json_prints(" [ null , true,false, -0.5e1, \"@x\" ] ", "[null,true,false,-5.0,\"@x\"]");
    json_prints("{\"c\":\"x\"}", "{\"map\":{\"c\":\"x\"}}"); /* a name, no function */
    json_prints("{\"pipe\":[]}", "{\"map\":{\"pipe\":[]}}");
}

static void nesting_is_bounded(void **state)
{
    char          deep[2000];
    levada_value *value = NULL;
    levada_error  err = LEVADA_ERROR_INIT;

    (void)state;
    memset(deep, '[', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    assert_int_equal(levada_value_parse(deep, &value, &err), LEVADA_EINVALID_ARGUMENT);
    assert_string_equal(err.message, "nested too deeply: the limit is 399 at column 400");
    for (int i = 0; i < 500; i++) {
        levada_value *list = levada_value_list();
        bool          fits = i == 0 || levada_value_push(list, &value, NULL) == LEVADA_OK;
        assert_true(fits == (i <= LEVADA_NEST_RAW));
        if (fits) value = list;
        else levada_value_destroy(&list);
    }
    levada_value_destroy(&value);
}

static void large_maps_are_found_in(void **state)
{
    enum { MANY = 50000 };
    levada_value *map = levada_value_map(), *item, *copy;
    char          key[16];

    (void)state;
    for (int i = 0; i < MANY; i++) {
        item = levada_value_int(i);
        snprintf(key, sizeof(key), "k%d", i);
        assert_int_equal(levada_value_set(map, key, &item, NULL), LEVADA_OK);
        assert_null(item);
    }
    item = levada_value_int(0);
    assert_int_equal(levada_value_set(map, "k77", &item, NULL), LEVADA_EINVALID_ARGUMENT);
    levada_value_destroy(&item);
    copy = levada_value_copy(map);
    assert_int_equal(levada_value_as_int(levada_value_get(copy, "k49999")), MANY - 1);
    assert_string_equal(levada_value_key(copy, 123), "k123");
    assert_null(levada_value_get(copy, "k50000"));
    levada_value_destroy(&map);
    levada_value_destroy(&copy);
}

static void readers_answer_what_does_not_fit_with_nothing(void **state)
{
    levada_value *text = levada_value_text("ab", 2), *number = levada_value_int(3);
    size_t        size = 9;

    (void)state;
    assert_int_equal(levada_value_as_int(text), 0);
    assert_false(levada_value_as_bool(text));
    assert_true(levada_value_as_float(number) == 3.0);
    assert_null(levada_value_as_text(number, &size));
    assert_int_equal(size, 0);
    assert_null(levada_value_item(text, 0));
    assert_null(levada_value_get(NULL, "a"));
    assert_int_equal(levada_value_count(NULL), 0);
    assert_int_equal(levada_value_kind_of(NULL), LEVADA_VALUE_NULL);
    assert_int_equal(levada_value_push(text, &number, NULL), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(number);
    levada_value_destroy(&text);
    levada_value_destroy(&number);
}

static void items_are_set_by_their_type(void **state)
{
    levada_value *map = levada_value_map();
    levada_error  err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(levada_value_set_int(map, "i", -4, &err), LEVADA_OK);
    assert_int_equal(levada_value_set_float(map, "f", 0.5, &err), LEVADA_OK);
    assert_int_equal(levada_value_set_bool(map, "b", true, &err), LEVADA_OK);
    assert_int_equal(levada_value_set_text(map, "t", "a b", &err), LEVADA_OK);
    assert_int_equal(levada_value_set_int(map, "i", 5, &err), LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_value_count(map), 4);
    assert_int_equal(levada_value_as_int(levada_value_get(map, "i")), -4);
    assert_true(levada_value_as_float(levada_value_get(map, "f")) == 0.5);
    assert_true(levada_value_as_bool(levada_value_get(map, "b")));
    assert_string_equal(levada_value_as_text(levada_value_get(map, "t"), NULL), "a b");
    levada_value_destroy(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_prints),
        cmocka_unit_test(items_are_set_by_their_type),
        cmocka_unit_test(marks_that_hold_maps_are_names),
        cmocka_unit_test(refuses),
        cmocka_unit_test(json_is_json_only),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(large_maps_are_found_in),
        cmocka_unit_test(readers_answer_what_does_not_fit_with_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
