/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are opened without a word about their format, and specs that records suggest.
 */
#include "conformance/fault.h"
#include "support/files.h"

#include <levada/example.h>
#include <levada/open.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define RECORD(bytes) t_add_record(&file, bytes, sizeof(bytes) - 1)

/* {"a": int64 [7]}, {"a": int64 [1, 2]}, {"a": float [1.5]}, {"a": []} */
#define ONE "\x0a\x0c\x0a\x0a\x0a\x01"      \
            "a\x12\x05\x1a\x03\x0a\x01\x07"
#define TWO "\x0a\x0d\x0a\x0b\x0a\x01"          \
            "a\x12\x06\x1a\x04\x0a\x02\x01\x02"
#define REAL "\x0a\x0f\x0a\x0d\x0a\x01"              \
             "a\x12\x08\x12\x06\x0a\x04\0\0\xc0\x3f"
#define NONE "\x0a\x07\x0a\x05\x0a\x01" \
             "a\x12\x00"
/* feature list "s" of steps [1] and [2] */
#define STEPS "\x12\x19\x0a\x17\x0a\x01"                      \
              "s\x12\x12\x0a\x07\x1a\x05\x0a\x03\x01\x01\x01" \
              "\x0a\x07\x1a\x05\x0a\x03\x02\x02\x02"

static levada_error why;

static levada_status open_file(const char *name, const char *source, bool parse, char **text)
{
    const char *files[] = { t_path(name) };
    levada_dataset *ds = NULL;
    levada_status st;

    levada_error_clear(&why);
    st = levada_dataset_open(NULL, files, 1, source, parse, &ds, &why);
    if (st == LEVADA_OK) st = levada_dataset_text(ds, text, &why);
    levada_dataset_unref(&ds);
    return st;
}

/* The stages after the source. */
static void expect(const char *name, const char *source, const char *want)
{
    char *text = NULL;
    const char *rest;

    if (open_file(name, source, true, &text) != LEVADA_OK) fail_msg("%s", why.message);
    rest = strstr(text, " | ");
    assert_string_equal(rest ? rest + 3 : "", want);
    levada_string_free(&text);
}

static void refused(const char *name, const char *source, const char *part)
{
    char *text = NULL;

    assert_int_equal(open_file(name, source, true, &text), LEVADA_EINVALID_ARGUMENT);
    if (!strstr(why.message, part)) fail_msg("'%s' lacks '%s'", why.message, part);
}

static void save(const char *name, t_bytes *file)
{
    t_write_file(t_path(name), file->at, file->size);
    t_clear(file);
}

static void one_value_in_each_record_is_a_scalar(void **state)
{
    t_bytes file = { 0 };

    (void)state;
    for (int i = 0; i < 3; i++) RECORD(ONE);
    save("f", &file);
    expect("f", NULL, "parse_example:{a:{dtype:int64,kind:FixedLen,shape:[]}}");
    RECORD(ONE);
    RECORD(TWO);
    save("f", &file);
    expect("f", NULL, "parse_example:{a:{dtype:int64,kind:VarLen}}");
    RECORD(ONE);
    RECORD(""); /* without the feature */
    save("f", &file);
    expect("f", NULL, "parse_example:{a:{dtype:int64,kind:VarLen}}");
    RECORD(REAL);
    RECORD(NONE);
    save("f", &file);
    expect("f", NULL, "parse_example:{a:{dtype:float32,kind:VarLen}}");
    RECORD(REAL);
    RECORD(ONE);
    save("f", &file);
    refused("f", NULL, "feature 'a' has float32 and int64 values");
}

static void steps_of_one_size_have_a_shape(void **state)
{
    t_bytes file = { 0 };

    (void)state;
    RECORD(STEPS);
    save("f", &file);
    expect("f", NULL, "parse_sequence_example:{s:{dtype:int64,kind:FixedLenSequence,shape:[3],"
                      "allow_missing:true}},context={}");
}

static void records_that_are_no_messages_stay_bytes(void **state)
{
    t_bytes file = { 0 };
    char *text = NULL;

    (void)state;
    RECORD("abc");
    save("f", &file);
    expect("f", NULL, "");
    RECORD(ONE);
    RECORD(ONE);
    RECORD("abc"); /* one among messages is a mistake in the file, which the run reports */
    save("f", &file);
    assert_int_equal(open_file("f", NULL, true, &text), LEVADA_OK);
    assert_non_null(strstr(text, "parse_example"));
    levada_string_free(&text);
    assert_int_equal(open_file("f", NULL, false, &text), LEVADA_OK);
    levada_string_free(&text);
}

static void content_without_a_format_is_named(void **state)
{
    (void)state;
    t_write_file(t_path("f"), "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
    refused("f", NULL, "this is a PNG image, which levada does not read; store such files in tar");
    t_write_file(t_path("f"), "\x01\x02\x03\xfe", 4);
    refused("f", NULL, "looks like binary data");
    t_write_file(t_path("f"), "", 0);
    refused("f", NULL, "is empty");
    t_write_file(t_path("f.tfrecord"), "some text\nof two lines\n", 23);
    refused("f.tfrecord", NULL, "has the name of a tfrecord file, but looks like text_lines");
    expect("f.tfrecord", "text_lines", "");
    refused("f", "tfrekord", "must be a file format");
    refused("f", "tfrecord:verify=false", "without options, such as 'tfrecord'");
}

static void a_negative_number_of_files_is_refused(void **state)
{
    const char *files[] = { "f" };
    levada_dataset *ds = NULL;

    (void)state;
    assert_int_equal(levada_dataset_open(NULL, files, -1, NULL, true, &ds, NULL),
                     LEVADA_EINVALID_ARGUMENT);
    assert_null(ds);
}

static void memory_may_be_short_at_every_step(void **state)
{
    t_bytes file = { 0 };
    levada_status st = LEVADA_ERESOURCE_EXHAUSTED;
    char *text = NULL;

    (void)state;
    RECORD(ONE);
    RECORD(TWO);
    save("f", &file);
    expect("f", NULL, "parse_example:{a:{dtype:int64,kind:VarLen}}"); /* the pool is filled */
    for (int64_t n = 0; st != LEVADA_OK; n++) {
        int64_t before = fault_live();

        fault_arm(n);
        st = open_file("f", NULL, true, &text);
        fault_disarm();
        if (st != LEVADA_OK) fault_expect_short(st, &why);
        if (st != LEVADA_OK) fault_expect_live(before, n);
        assert_true(n < 5000);
    }
    levada_string_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_value_in_each_record_is_a_scalar),
        cmocka_unit_test(steps_of_one_size_have_a_shape),
        cmocka_unit_test(records_that_are_no_messages_stay_bytes),
        cmocka_unit_test(content_without_a_format_is_named),
        cmocka_unit_test(a_negative_number_of_files_is_refused),
        cmocka_unit_test(memory_may_be_short_at_every_step),
    };
    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
