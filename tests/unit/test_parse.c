/* SPDX-License-Identifier: Apache-2.0 */
#include "support/ops.h"
#include "support/register.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static levada_env *env;

static int set_up(void **state)
{
    (void)state;
    env = t_ops_env();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    levada_env_destroy(&env);
    return 0;
}

#define PARSE_NUMBERS "{\"op\":\"t_numbers\",\"args\":{\"count\":3,\"step\":1}}"
#define PARSE_SHUFFLE \
    "{\"op\":\"t_shuffle\",\"args\":{\"buffer_size\":2,\"seed\":null,\"reshuffle\":true," \
    "\"depth\":2}}"

static void reads_pipes(void **state)
{
    (void)state;
    t_ops_prints(env, "t_numbers:3", "t_numbers:3", "[" PARSE_NUMBERS "]");
    t_ops_prints(env, " ( t_numbers : count = 3 )\n|\tt_shuffle:2,seed=null ",
                 "t_numbers:3 | t_shuffle:2", "[" PARSE_NUMBERS "," PARSE_SHUFFLE "]");
    t_ops_prints(env, "(t_numbers:3|t_shuffle:2,depth=2)|t_batch:",
                 "t_numbers:3 | t_shuffle:2 | t_batch",
                 "[" PARSE_NUMBERS "," PARSE_SHUFFLE ",{\"op\":\"t_batch\",\"args\":{}}]");
}

static void reads_combiners(void **state)
{
    (void)state;
    t_ops_prints(env, "t_zip(t_numbers:3;(t_numbers:3)|t_shuffle:2):weights=7|t_batch",
                 "t_zip(t_numbers:3; t_numbers:3 | t_shuffle:2):weights=7 | t_batch",
                 "[{\"op\":\"t_zip\",\"inputs\":[[" PARSE_NUMBERS "],[" PARSE_NUMBERS
                 "," PARSE_SHUFFLE "]],\"args\":{\"weights\":[7]}},"
                 "{\"op\":\"t_batch\",\"args\":{}}]");
    t_ops_prints(env, "t_pipes(t_numbers:3)", "t_numbers:3 | t_pipes",
                 "[{\"op\":\"t_pipes\",\"inputs\":[[" PARSE_NUMBERS "]],\"args\":{}}]");
}

#define PARSE_RANGE \
    "\"index\":false,\"shuffle_records\":false,\"records\":null,\"part\":null"

static void reads_files(void **state)
{
    (void)state;
    t_ops_prints(env, "t_lines:train-*.txt", "t_lines:train-*.txt",
                 "[{\"op\":\"t_lines\",\"args\":{\"skip\":0,\"files\":[\"train-*.txt\"],"
                 "\"compression\":\"auto\",\"shuffle_files\":false,\"errors\":null,"
                 PARSE_RANGE "}}]");
    t_ops_prints(env, "t_lines:[s3://a/b:c,\"@x\",2024,\"a b\",\"null\"],skip=2,compression=gzip",
                 "t_lines:[s3://a/b:c,\"@x\",2024,\"a b\",\"null\"],skip=2,compression=gzip",
                 "[{\"op\":\"t_lines\",\"args\":{\"skip\":2,"
                 "\"files\":[\"s3://a/b:c\",\"@x\",\"2024\","
                 "\"a b\",\"null\"],\"compression\":\"gzip\",\"shuffle_files\":false,"
                 "\"errors\":null," PARSE_RANGE "}}]");
}

static void refuses_bad_syntax(void **state)
{
    (void)state;
    t_ops_refused(env, "", LEVADA_EINVALID_ARGUMENT,
                  "expected the name of a stage, found the end at column 1");
    t_ops_refused(env, "t_numbers:3 |", LEVADA_EINVALID_ARGUMENT,
                  "expected the name of a stage, found the end at column 14");
    t_ops_refused(env, "t_numbers:3 | | t_batch", LEVADA_EINVALID_ARGUMENT,
                  "expected the name of a stage, found '|' at column 15");
    t_ops_refused(env, "(t_numbers:3", LEVADA_EINVALID_ARGUMENT,
                  "expected ')', found the end at column 13");
    t_ops_refused(env, "t_numbers:3)", LEVADA_EINVALID_ARGUMENT,
                  "expected '|' or the end, found ')' at column 12");
    t_ops_refused(env, "t_numbers:3 4", LEVADA_EINVALID_ARGUMENT,
                  "expected '|' or the end, found '4' (a value with spaces needs double quotes) "
                  "at column 13");
    t_ops_refused(env, "t_numbers:3,4", LEVADA_EINVALID_ARGUMENT,
                  "t_numbers: only the first option may omit its name; expected name=value "
                  "(a list is written [a,b]) at column 13");
    t_ops_refused(env, "t_numbers:3,", LEVADA_EINVALID_ARGUMENT,
                  "t_numbers: only the first option may omit its name; expected name=value "
                  "(a list is written [a,b]) at column 13");
    t_ops_refused(env, "t_numbers:3,step=", LEVADA_EINVALID_ARGUMENT,
                  "t_numbers: expected a value, found the end at column 18");
    t_ops_refused(env, "t_numbers:len(x)", LEVADA_EINVALID_ARGUMENT,
                  "t_numbers: '(' after the value of 'count': put an expression in quotes, such "
                  "as \"len(x)\" at column 14");
    t_ops_refused(env, "t_zip:4", LEVADA_EINVALID_ARGUMENT,
                  "t_zip: every option needs its name: name=value at column 7");
    t_ops_refused(env, "t_batch(t_numbers:3)", LEVADA_EINVALID_ARGUMENT,
                  "t_batch: a stage accepts no sub-pipelines in parentheses at column 8");
}

static void refuses_unknown_names(void **state)
{
    (void)state;
    t_ops_refused(env, "t_numbers:3 | t_shufle:2", LEVADA_EINVALID_ARGUMENT,
                  "unknown stage 't_shufle' at column 15; did you mean 't_shuffle'?");
    t_ops_refused(env, "my_very_own", LEVADA_EINVALID_ARGUMENT,
                  "unknown stage 'my_very_own' at column 1; if it belongs to a plug-in, load its "
                  "library first");
    t_ops_refused(env, "t_numbers:3|t_shuffle:bufer_size=1", LEVADA_EINVALID_ARGUMENT,
                  "t_shuffle: unknown option 'bufer_size' at column 23; allowed: buffer_size, "
                  "seed, reshuffle, depth; did you mean 'buffer_size'?");
    t_ops_refused(env, "t_numbers:3,x=1", LEVADA_EINVALID_ARGUMENT,
                  "t_numbers: unknown option 'x' at column 13; allowed: count, step");
    t_ops_refused(env, "t_open:x=1", LEVADA_EINVALID_ARGUMENT,
                  "t_open: unknown option 'x' at column 8; allowed: none");
    t_ops_refused(env, "t_numbers:3,count=4", LEVADA_EINVALID_ARGUMENT,
                  "t_numbers: option 'count' occurs twice at column 13");
}

static void refuses_bad_json(void **state)
{
    (void)state;
    t_ops_refused(env, "{}", LEVADA_EINVALID_ARGUMENT,
                  "\"levada\" of a pipeline in JSON must be 1, got null");
    t_ops_refused(env, "{\"levada\":2,\"stages\":[]}", LEVADA_EINVALID_ARGUMENT,
                  "\"levada\" of a pipeline in JSON must be 1, got 2");
    t_ops_refused(env, "{\"levada\":1}", LEVADA_EINVALID_ARGUMENT,
                  "a pipeline must have \"stages\", got none");
    t_ops_refused(env, "{\"levada\":1,\"stages\":[]}", LEVADA_EINVALID_ARGUMENT,
                  "a pipeline must be a list of at least one stage, got []");
    t_ops_refused(env, "{\"levada\":1,\"x\":1}", LEVADA_EINVALID_ARGUMENT,
                  "unknown name 'x' in the pipeline; allowed: levada, plugins, stages");
    t_ops_refused(env, "{\"levada\":1,\"stages\":[{\"op\":5}]}", LEVADA_EINVALID_ARGUMENT,
                  "each of stages must be {\"op\": ..., \"args\": {...}}, got {\"op\":5}");
    t_ops_refused(env, "{\"levada\":1,\"stages\":[{\"op\":\"t_numbers\",\"arg\":{}}]}",
                  LEVADA_EINVALID_ARGUMENT,
                  "unknown name 'arg' in a stage; allowed: op, inputs, args");
    t_ops_refused(env, "{\"levada\":1,\"stages\":[{\"op\":\"t_numbers\",\"args\":{\"cout\":3}}]}",
                  LEVADA_EINVALID_ARGUMENT,
                  "t_numbers: unknown option 'cout'; allowed: count, step; did you mean 'count'?");
    t_ops_refused(env,
                  "{\"levada\":1,\"stages\":[" PARSE_NUMBERS ",{\"op\":\"t_zip\",\"inputs\":[]}]}",
                  LEVADA_EINVALID_ARGUMENT, "t_zip: only the first of stages has inputs");
    t_ops_refused(env, "{\"levada\":1,\"plugins\":[{\"name\":\"my\",\"version\":1}],\"stages\":[]}",
                  LEVADA_ENOT_FOUND,
                  "plug-in 'my' is not loaded: load its library first");
}

static void knows_loaded_plugins(void **state)
{
    levada_dataset *dataset = NULL;
    char           *json = NULL;
    levada_stage_def def = levada_stage_t_shuffle;

    (void)state;
    def.name = "my_shuffle";
    assert_int_equal(t_enter_plugin(env, "my", "/lib/my.so", 3), LEVADA_OK);
    assert_int_equal(t_enter_plugin(env, "my", "/other/my.so", 3),
                     LEVADA_EALREADY_EXISTS);
    assert_int_equal(t_register(env, LEVADA_FAMILY_STAGE, &def, "my", NULL), LEVADA_OK);
    dataset = t_ops_parse(env, "t_numbers:3|my_shuffle:2");
    assert_int_equal(levada_dataset_json(dataset, &json, NULL), LEVADA_OK);
    assert_memory_equal(json, "{\"levada\":1,\"plugins\":[{\"name\":\"my\",\"version\":3}],", 50);
    levada_dataset_unref(&dataset);
    dataset = t_ops_parse(env, json);
    levada_dataset_unref(&dataset);
    levada_string_free(&json);
    t_ops_refused(env, "{\"levada\":1,\"plugins\":[{\"name\":\"my\",\"version\":4}],\"stages\":[]}",
                  LEVADA_EFAILED_PRECONDITION,
                  "plug-in 'my' has version 3, but the pipeline needs version 4");
}

enum { MANY = 50 };

static void lists_every_plugin_that_a_dataset_needs(void **state)
{
    levada_dataset  *dataset = NULL;
    char             name[MANY][24], description[2048] = "t_numbers:3", *json = NULL;
    levada_stage_def def = levada_stage_t_shuffle;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        size_t n = strlen(description);

        snprintf(name[i], sizeof(name[i]), "many_%02d", i);
        def.name = name[i];
        assert_int_equal(t_register(env, LEVADA_FAMILY_STAGE, &def, name[i], NULL),
                         LEVADA_OK);
        snprintf(description + n, sizeof(description) - n, " | %s:2", name[i]);
    }
    dataset = t_ops_parse(env, description);
    assert_int_equal(levada_dataset_json(dataset, &json, NULL), LEVADA_OK);
    for (int i = 0; i < MANY; i++) {
        char *op = strstr(json, name[i]), *again = op != NULL ? strstr(op + 1, name[i]) : NULL;

        assert_non_null(again); /* among the plug-ins, and as a stage */
    }
    levada_string_free(&json);
    levada_dataset_unref(&dataset);
}

static char file_name[64];

static void write_file(const char *text)
{
    FILE *file = fopen(file_name, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void inlines_files(void **state)
{
    char text[256], message[256];

    (void)state;
    snprintf(file_name, sizeof(file_name), "test_parse_%ld.json", (long)getpid());
    snprintf(text, sizeof(text), "t_numbers:3|t_all:v=@%s", file_name);
    write_file("{\"tokens\": {kind: VarLen}}\n");
    levada_dataset *dataset = t_ops_parse(env, text);
    char           *out = NULL;
    assert_int_equal(levada_dataset_text(dataset, &out, NULL), LEVADA_OK);
    assert_string_equal(out, "t_numbers:3 | t_all:v={tokens:{kind:VarLen}}");
    levada_string_free(&out);
    levada_dataset_unref(&dataset);
    write_file("[1,\n 2 3]");
    snprintf(message, sizeof(message), "t_all: expected ']', found '3' at line 2 column 4 of %s",
             file_name);
    t_ops_refused(env, text, LEVADA_EINVALID_ARGUMENT, message);
    write_file("[@x]");
    snprintf(message, sizeof(message),
             "t_all: @x: an included file must not include another one at column 2 of %s",
             file_name);
    t_ops_refused(env, text, LEVADA_EINVALID_ARGUMENT, message);
    remove(file_name);
    snprintf(message, sizeof(message), "t_all: @%s: no such file", file_name);
    t_ops_refused(env, text, LEVADA_ENOT_FOUND, message);
    t_ops_refused(env, "t_numbers:3|t_all:v=@/", LEVADA_EINVALID_ARGUMENT,
                  "t_all: @/ must be a regular file; write @ before the path of a pipeline");
    t_ops_refused(env, "t_numbers:3|t_all:v=@", LEVADA_EINVALID_ARGUMENT,
                  "t_all: @ needs the path of a file at column 21");
}

/* `n` times `part` between two ends; the caller frees it. */
static char *repeated(const char *begin, const char *part, size_t n, const char *end)
{
    levada_text text = {0};
    char       *out = NULL;

    levada_text_put(&text, begin);
    for (size_t i = 0; i < n; i++) levada_text_put(&text, part);
    levada_text_put(&text, end);
    assert_int_equal(levada_text_steal(&text, &out, NULL), LEVADA_OK);
    return out;
}

static void refused_long(char *text, const char *message)
{
    t_ops_refused(env, text, LEVADA_EINVALID_ARGUMENT, message);
    levada_string_free(&text);
}

static void depth_is_bounded(void **state)
{
    (void)state;
    refused_long(repeated("", "(", 100000, ""),
                 "nested too deeply: the limit is 144 at column 146");
    refused_long(repeated("t_numbers:3", "|t_batch", 100000, ""),
                 "t_batch: a pipeline has at most 1000 consecutive stages and 100000 in all");
    refused_long(repeated("", "t_pipes(", 100, "t_numbers:3"),
                 "expected ')', found the end at column 812");
    char *deep = repeated("t_numbers:3", "|t_pipes", 65, "");
    refused_long(deep, "t_pipes: a pipeline must be nested at most 64 levels deep");
    char *open = repeated("t_numbers:3|t_all:v=", "[", 65, "");
    refused_long(repeated(open, "]", 65, ""),
                 "t_all: v is nested too deeply (at most 64) at column 19");
    levada_string_free(&open);
}

static void what_is_as_deep_as_allowed_reads_back(void **state)
{
    char           *lists = repeated("t_numbers:3|t_all:v=", "{map:{c:", 63, "[]");
    char           *text = repeated(lists, "}}", 63, "");
    levada_dataset *dataset = t_ops_parse(env, text);
    char           *json = NULL;

    (void)state;
    levada_string_free(&lists);
    levada_string_free(&text);
    assert_int_equal(levada_dataset_json(dataset, &json, NULL), LEVADA_OK);
    assert_int_equal(levada_dataset_text(dataset, &text, NULL), LEVADA_OK);
    levada_dataset_unref(&dataset);
    dataset = t_ops_parse(env, json);
    levada_dataset_unref(&dataset);
    dataset = t_ops_parse(env, text);
    levada_dataset_unref(&dataset);
    levada_string_free(&json);
    levada_string_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_pipes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_combiners, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_bad_syntax, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_unknown_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_bad_json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(knows_loaded_plugins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lists_every_plugin_that_a_dataset_needs, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(inlines_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(depth_is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_as_deep_as_allowed_reads_back, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
