/* SPDX-License-Identifier: Apache-2.0 */
#include "support/ops.h"
#include "support/register.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static levada_dataset *all(const char *options)
{
    char text[512];

    snprintf(text, sizeof(text), "t_numbers:3|t_all:%s", options);
    return t_ops_parse(env, text);
}

static void refused(const char *options, const char *message)
{
    char text[512], whole[512];

    snprintf(text, sizeof(text), "t_numbers:3|t_all:%s", options);
    snprintf(whole, sizeof(whole), "t_all: %s", message);
    t_ops_refused(env, text, LEVADA_EINVALID_ARGUMENT, whole);
}

static void fills_in_defaults(void **state)
{
    levada_dataset        *dataset = all("");
    const levada_all_args *a = dataset->args;

    (void)state;
    assert_true(a->i == LEVADA_NULL_INT);
    assert_int_equal(a->s, 4096);
    assert_true(isnan(a->f));
    assert_false(a->b);
    assert_null(a->t);
    assert_int_equal(a->c, 0);
    assert_int_equal(a->d, LEVADA_NONE);
    assert_null(a->is.at);
    assert_int_equal(a->is.n, 0);
    assert_null(a->ts.at);
    assert_int_equal(levada_value_count(levada_value_get(a->v, "a")), 2);
    assert_null(a->fn);
    assert_null(a->blk);
    assert_null(a->p);
    assert_null(a->fs.at);
    assert_int_equal(a->fs.n, 0);
    assert_int_equal(levada_value_count(levada_dataset_options(dataset)), 14);
    levada_dataset_unref(&dataset);
}

static void fills_the_struct(void **state)
{
    levada_dataset *dataset = all("[x,\"y z\"],i=100,s=3M,f=1,b=true,t=12,c=true,d=bytes,"
                                  "is=[2,null,-1],v=[true],p=(t_numbers:3),fs=[0.5,1]");
    const levada_all_args *a = dataset->args;

    (void)state;
    assert_int_equal(a->i, 100);
    assert_int_equal(a->s, 3 << 20);
    assert_true(a->f == 1.0);
    assert_true(a->b);
    assert_string_equal(a->t, "12");
    assert_int_equal(a->c, 2);
    assert_int_equal(a->d, LEVADA_BYTES);
    assert_int_equal(a->is.n, 3);
    assert_int_equal(a->is.at[0], 2);
    assert_int_equal(a->is.at[1], -1);
    assert_int_equal(a->ts.n, 2);
    assert_string_equal(a->ts.at[1], "y z");
    assert_true(levada_value_as_bool(levada_value_item(a->v, 0)));
    assert_string_equal(levada_dataset_name(a->p), "t_numbers");
    assert_int_equal(a->fs.n, 2);
    assert_true(a->fs.at[0] == 0.5 && a->fs.at[1] == 1.0);
    levada_dataset_unref(&dataset);
}

static void prints_every_type(void **state)
{
    (void)state;
    t_ops_prints(
        env,
        "t_numbers:3|t_all:x,i=1,s=1G,f=0.1,b=true,t=\"a b\",c=skip,d=string,is=5,"
        "v={k:[1,1.5,\"1\",\"true\",true,nan,{base64:\"/w==\"},{map:{py:z}}]},"
        "p=(t_numbers:3|t_batch),fs=0.5",
        "t_numbers:3 | t_all:x,i=1,s=1073741824,f=0.1,b=true,t=\"a b\",c=skip,d=string,is=5,"
        "v={k:[1,1.5,\"1\",\"true\",true,nan,{base64:\"/w==\"},{map:{py:z}}]},"
        "p=(t_numbers:3 | t_batch),fs=0.5",
        "[{\"op\":\"t_numbers\",\"args\":{\"count\":3,\"step\":1}},"
        "{\"op\":\"t_all\",\"args\":{\"i\":1,"
        "\"s\":1073741824,\"f\":0.1,\"b\":true,\"t\":\"a b\",\"c\":\"skip\",\"d\":\"string\","
        "\"is\":[5],\"ts\":[\"x\"],\"v\":{\"k\":[1,1.5,\"1\",\"true\",true,{\"float\":\"nan\"},"
        "{\"base64\":\"/w==\"},{\"map\":{\"py\":\"z\"}}]},\"fn\":null,\"blk\":null,\"p\":{\"pipe\":"
        "[{\"op\":\"t_numbers\",\"args\":{\"count\":3,\"step\":1}},"
        "{\"op\":\"t_batch\",\"args\":{}}]"
        "},\"fs\":[0.5]}}]");
    t_ops_prints(env, "t_numbers:3|t_all:null,t=\"null\"", "t_numbers:3 | t_all:t=\"null\"",
                 "[{\"op\":\"t_numbers\",\"args\":{\"count\":3,\"step\":1}},{\"op\":\"t_all\","
                 "\"args\":{\"i\":null,\"s\":4096,\"f\":null,\"b\":false,\"t\":\"null\","
                 "\"c\":\"fail\",\"d\":null,\"is\":null,\"ts\":null,\"v\":{\"a\":[1,2.5]},"
                 "\"fn\":null,\"blk\":null,\"p\":null,\"fs\":null}}]");
}

static void refuses_wrong_types(void **state)
{
    (void)state;
    refused("i=abc", "i=abc must be an integer at column 19");
    refused("i=1.5", "i=1.5 must be an integer at column 19");
    refused("i=4K", "i=4K must be an integer at column 19");
    refused("s=4T", "s=4T must be a number of bytes, such as 65536, 64K, 4M or 1G at column 19");
    refused("s=9999999999G",
            "s=9999999999G must be a number of bytes, such as 65536, 64K, 4M or 1G at column 19");
    refused("f=abc", "f=abc must be a number at column 19");
    refused("b=1", "b=1 must be true or false at column 19");
    refused("t=[a]", "t=[a] must be a text at column 19");
    refused("t=\"a\\u0000b\"", "t=\"a\\u0000b\" has a zero byte in it at column 19");
    refused("is=[1,x]", "is=x must be an integer at column 19");
    refused("ts={a:b}", "ts={a:b} must be a list at column 19");
    refused("fs=[1,x]", "fs=x must be a number at column 19");
    refused("fs={a:1}", "fs={a:1} must be a list at column 19");
    refused("fn=abs", "fn=abs must be a function at column 19");
    refused("blk=1", "blk=1 must be a block of this process at column 19");
    refused("p=t_numbers", "p=t_numbers must be a sub-pipeline in parentheses at column 19");
}

static void refuses_what_is_out_of_range(void **state)
{
    (void)state;
    refused("i=-6", "i=-6 must be at least -5 at column 19");
    refused("i=101", "i=101 must be at most 100 at column 19");
    refused("s=0", "s=0 must be at least 1 at column 19");
    refused("f=1.5", "f=1.5 must be at most 1 at column 19");
    refused("f=nan", "f=nan must be at least 0 at column 19");
    refused("fs=[1,2.5]", "fs=2.5 must be at most 2 at column 19");
    refused("fs=nan", "fs=nan must be at least 0 at column 19");
    refused("c=fial", "c=fial must be one of fail, skip, true; did you mean 'fail'? at column 19");
    refused("c=7", "c=7 must be one of fail, skip, true at column 19");
    refused("d=flot32", "d=flot32 is not a dtype; did you mean 'float32'? at column 19");
    refused("d=zebra", "d=zebra is not a dtype, such as int64, float32 or string at column 19");
    t_ops_refused(env, "t_numbers:3|t_shuffle", LEVADA_EINVALID_ARGUMENT,
                  "t_shuffle: option 'buffer_size' is required");
    t_ops_refused(env, "t_numbers:3|t_shuffle:null", LEVADA_EINVALID_ARGUMENT,
                  "t_shuffle: option 'buffer_size' is required");
}

static levada_status never_called(void *run, const levada_block *in, levada_block **out,
                                  levada_error *err)
{
    (void)run, (void)in, (void)out;
    return levada_fail(err, LEVADA_EINTERNAL, "called");
}

static levada_function *make_function(const char *kind, const char *name)
{
    levada_function_def def = {
        .struct_size = sizeof(def), .kind = kind, .name = name, .call = never_called};
    levada_function *function = NULL;

    assert_int_equal(levada_function_create(&def, NULL, &function, NULL), LEVADA_OK);
    return function;
}

static void looks_functions_up(void **state)
{
    levada_function *function = make_function("py", "m:f"), *found = NULL;
    char            *text = NULL;

    (void)state;
    t_ops_refused(env, "t_numbers:3|t_all:fn={py:m:f}", LEVADA_ENOT_FOUND,
                  "t_all: fn: no function {\"py\": \"m:f\"} is registered; load the plug-in or "
                  "the module that registers it");
    assert_int_equal(levada_env_add_function(env, function, NULL), LEVADA_OK);
    levada_function_unref(&function);
    levada_dataset *dataset = all("fn={py:m:f}");
    assert_int_equal(levada_env_find_function(env, "py", "m:f", &found, NULL), LEVADA_OK);
    assert_ptr_equal(((const levada_all_args *)dataset->args)->fn, found);
    levada_function_unref(&found);
    assert_int_equal(levada_dataset_text(dataset, &text, NULL), LEVADA_OK);
    assert_string_equal(text, "t_numbers:3 | t_all:fn={py:m:f}");
    levada_string_free(&text);
    levada_dataset_unref(&dataset);
}

/* A dataset of t_all with one option that only a program can set. */
static levada_dataset *append(const char *option, levada_value *value)
{
    levada_dataset       *numbers = t_ops_parse(env, "t_numbers:3"), *out = NULL;
    const levada_dataset *inputs[1] = {numbers};
    levada_value         *options = levada_value_map();
    levada_error          err = LEVADA_ERROR_INIT;

    assert_int_equal(levada_value_set(options, option, &value, NULL), LEVADA_OK);
    if (levada_dataset_append(env, "t_all", options, inputs, 1, &out, &err) != LEVADA_OK) {
        fail_msg("%s", err.message);
    }
    levada_value_destroy(&options);
    levada_dataset_unref(&numbers);
    return out;
}

static void what_has_no_name_prints_and_is_refused(void **state)
{
    levada_function *function = make_function("py", NULL);
    levada_dataset  *dataset = append("fn", levada_value_function(function));
    char            *text = NULL, *json = NULL;

    (void)state;
    levada_function_unref(&function);
    assert_int_equal(levada_dataset_text(dataset, &text, NULL), LEVADA_OK);
    assert_int_equal(levada_dataset_json(dataset, &json, NULL), LEVADA_OK);
    assert_string_equal(text, "t_numbers:3 | t_all:fn={py:null}");
    const char *message =
        "t_all: fn: the function has no name, so the text of a pipeline cannot refer to it";
    t_ops_refused(env, text, LEVADA_EINVALID_ARGUMENT, message);
    t_ops_refused(env, json, LEVADA_EINVALID_ARGUMENT, message);
    levada_string_free(&text);
    levada_string_free(&json);
    levada_dataset_unref(&dataset);
    dataset = append("blk", levada_value_block(NULL));
    levada_dataset_unref(&dataset);
    t_ops_refused(env, "t_numbers:3|t_all:blk={block:null}", LEVADA_EINVALID_ARGUMENT,
                  "t_all: blk: the data of from_records or from_arrays is not in the text of a "
                  "pipeline; create the dataset in Python");
}

static levada_status resolve_any(void *user, const char *kind, const char *name,
                                 levada_function **out, levada_error *err)
{
    assert_string_equal(kind, "py");
    (void)err;
    *(int *)user += 1;
    *out = make_function("py", name);
    return LEVADA_OK;
}

static void asks_the_hook_for_functions(void **state)
{
    int                calls = 0;
    levada_env_options options = LEVADA_ENV_OPTIONS_INIT;
    levada_env        *own = NULL;
    levada_value      *value = NULL;
    levada_function   *found = NULL;

    (void)state;
    (void)value;
    options.resolve = resolve_any;
    options.user = &calls;
    assert_int_equal(levada_env_create(&options, &own, NULL), LEVADA_OK);
    assert_int_equal(levada_env_find_function(own, "py", "a:b", &found, NULL), LEVADA_OK);
    assert_int_equal(calls, 1);
    assert_string_equal(levada_function_info(found)->name, "a:b");
    levada_function_unref(&found);
    levada_env_destroy(&own);
}

typedef struct bad_args {
    int64_t a;
} bad_args;

static levada_status never_applied(void *state, const void *args, const levada_block *in,
                                   levada_block **out, levada_error *err)
{
    (void)state, (void)args, (void)in, (void)out;
    return levada_fail(err, LEVADA_EINTERNAL, "applied");
}

static const struct {
    levada_traits traits;
    const char   *why;
} option_bad_traits[] = {
    { { sizeof(levada_traits), .rows = (levada_rows)99 },
      "a trait has a value that does not exist" },
    { { sizeof(levada_traits), .reads = (levada_reads)99 },
      "a trait has a value that does not exist" },
    { { sizeof(levada_traits), .random = (levada_random)99 },
      "a trait has a value that does not exist" },
    { { sizeof(levada_traits), .rows = LEVADA_ROWS_PERMUTES },
      "only a SERIAL stage permutes records" },
    { { sizeof(levada_traits), .repeats = 2 }, "only a SERIAL stage repeats its input" },
    { { sizeof(levada_traits), .drawn = "order" }, "traits: drawn needs random" },
    { { 0 }, "struct_size" },
};

static void bad_traits_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof option_bad_traits / sizeof *option_bad_traits; i++) {
        levada_stage_def def = levada_stage_t_shuffle;
        levada_error     err = LEVADA_ERROR_INIT;

        def.name = "t_bad";
        def.mode = LEVADA_MODE_PURE;
        def.next = NULL;
        def.apply = never_applied;
        def.traits = &option_bad_traits[i].traits;
        assert_int_equal(t_register(env, LEVADA_FAMILY_STAGE, &def, NULL, &err),
                         LEVADA_EINVALID_ARGUMENT);
        if (!strstr(err.message, option_bad_traits[i].why)) fail_msg("%s", err.message);
    }
    assert_null(levada_registry_find(env, "t_bad"));
}

static void bad_tables_are_refused(void **state)
{
    static const levada_arg two[] = {LEVADA_ARG(INT, bad_args, a, .positional = true),
                                     LEVADA_ARG(INT, bad_args, a, .positional = true),
                                     LEVADA_ARG_END};
    static const levada_arg wide[] = {LEVADA_ARG(INTS, bad_args, a, .doc = ""), LEVADA_ARG_END};
    static const levada_arg wrong[] = {LEVADA_ARG(INT, bad_args, a, .otherwise = "x"),
                                       LEVADA_ARG_END};
    levada_stage_def        def = levada_stage_t_shuffle;
    levada_error            err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(t_register(env, LEVADA_FAMILY_STAGE, &def, NULL, &err),
                     LEVADA_EALREADY_EXISTS);
    assert_string_equal(err.message, "t_shuffle: the name is registered by a stage");
    def.name = "t_bad";
    def.args_size = sizeof(bad_args);
    def.args = two;
    assert_int_equal(t_register(env, LEVADA_FAMILY_STAGE, &def, NULL, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_string_equal(err.message, "t_bad: option 'a' is declared twice");
    def.args = wide;
    assert_int_equal(t_register(env, LEVADA_FAMILY_STAGE, &def, NULL, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_string_equal(err.message, "t_bad: option 'a' is outside args_size");
    def.args = wrong;
    assert_int_equal(t_register(env, LEVADA_FAMILY_STAGE, &def, NULL, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_string_equal(err.message, "t_bad: default of option 'a': a=x must be an integer");
    def = levada_stage_t_shuffle;
    def.name = "t_bad";
    def.state_size = 8;
    assert_int_equal(t_register(env, LEVADA_FAMILY_STAGE, &def, NULL, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_string_equal(err.message,
                        "t_bad: a SERIAL stage with state needs save() and restore()");
    def.name = "T-bad";
    assert_int_equal(t_register(env, LEVADA_FAMILY_STAGE, &def, NULL, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_null(levada_registry_find(env, "t_bad"));
}

static void never_cancelled(void *state)
{
    (void)state;
    abort();
}

static void older_descriptors_go_on_working(void **state)
{
    levada_stage_def def = levada_stage_t_shuffle;

    (void)state;
    def.name = "t_old"; /* of a plug-in that was compiled when descriptors ended earlier */
    def.struct_size = offsetof(levada_stage_def, cancel);
    def.cancel = never_cancelled;
    assert_int_equal(t_register(env, LEVADA_FAMILY_STAGE, &def, NULL, NULL), LEVADA_OK);
    assert_null(levada_registry_find(env, "t_old")->def.stage.cancel);
}

static void describes_the_tables(void **state)
{
    char         *json = NULL;
    levada_value *list = NULL;
    int64_t       n = 0;

    (void)state;
    assert_int_equal(levada_stages_json(env, &json, NULL), LEVADA_OK);
    assert_int_equal(levada_value_parse(json, &list, NULL), LEVADA_OK);
    assert_non_null(strstr(json, "{\"name\":\"buffer_size\",\"type\":\"int\",\"default\":null,"
                                 "\"required\":true,\"positional\":true,\"tuning\":false,\"min\":1,"
                                 "\"max\":1000000,\"choices\":null,\"doc\":\"records\"}"));
    assert_non_null(strstr(json, "\"default\":4096"));
    assert_non_null(strstr(json, "\"choices\":[\"fail\",\"skip\",\"true\"]"));
    for (int64_t i = 0; i < levada_value_count(list); i++) {
        const levada_value *entry = levada_value_item(list, i);
        n += strncmp(levada_value_as_text(levada_value_get(entry, "name"), NULL), "t_", 2) == 0;
        assert_int_equal(levada_value_count(entry), 8);
    }
    assert_int_equal(n, 10);
    levada_string_free(&json);
    levada_value_destroy(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fills_in_defaults, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fills_the_struct, set_up, tear_down),
        cmocka_unit_test_setup_teardown(prints_every_type, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_wrong_types, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_what_is_out_of_range, set_up, tear_down),
        cmocka_unit_test_setup_teardown(looks_functions_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_has_no_name_prints_and_is_refused, set_up, tear_down),
        cmocka_unit_test(asks_the_hook_for_functions),
        cmocka_unit_test_setup_teardown(bad_tables_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_traits_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(older_descriptors_go_on_working, set_up, tear_down),
        cmocka_unit_test_setup_teardown(describes_the_tables, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
