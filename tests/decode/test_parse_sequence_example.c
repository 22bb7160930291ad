/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <levada/example.h>

static levada_error why;
static levada_example *builder;

/* Decodes what the builder holds with options as a text. */
static levada_status decode(const char *options, levada_block **out)
{
    levada_value *value = NULL;
    const uint8_t *data = NULL;
    const void *string;
    size_t size = 0;
    levada_status st;

    levada_error_clear(&why);
    assert_int_equal(levada_example_finish(builder, &data, &size, &why), LEVADA_OK);
    assert_int_equal(levada_value_parse(options, &value, &why), LEVADA_OK);
    string = data;
    st = levada_decode_strings(NULL, "parse_sequence_example", value, &string, &size, 1, out, &why);
    levada_value_destroy(&value);
    return st;
}

static void decode_ok(const char *options, levada_block **out)
{
    levada_status st = decode(options, out);

    if (st != LEVADA_OK) print_error("%s\n", why.message);
    assert_int_equal(st, LEVADA_OK);
}

static void refused(const char *options, const char *part)
{
    levada_block *block = NULL;

    assert_int_equal(decode(options, &block), LEVADA_EINVALID_ARGUMENT);
    if (!strstr(why.message, part)) print_error("'%s' lacks '%s'\n", why.message, part);
    assert_non_null(strstr(why.message, part));
}

static void begin(const char *key)
{
    assert_int_equal(levada_example_begin_list(builder, key, NULL), LEVADA_OK);
}

static void step(const int64_t *values, int64_t n)
{
    assert_int_equal(levada_example_add_i64(builder, NULL, values, n, NULL), LEVADA_OK);
}

static void end(void) { assert_int_equal(levada_example_end_list(builder, NULL), LEVADA_OK); }

static int set_up(void **state)
{
    (void)state;
    return levada_example_create(&builder, NULL) == LEVADA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    levada_example_destroy(&builder);
    return 0;
}

static void steps_of_one_size(void **state)
{
    levada_block *block = NULL;
    const levada_column *c;
    float v[16];

    (void)state;
    begin("f");
    for (int t = 0; t < 100; t++) {
        for (int i = 0; i < 16; i++) v[i] = (float)(16 * t + i);
        assert_int_equal(levada_example_add_f32(builder, NULL, v, 16, NULL), LEVADA_OK);
    }
    end();
    decode_ok("{sequences:{f:{kind:FixedLenSequence,shape:[16],dtype:float32}}}", &block);
    c = levada_block_column(block, "f");
    assert_int_equal(levada_column_length(c, 0), 100);
    for (int i = 0; i < 1600; i++) assert_true(levada_column_f32(c)[i] == (float)i);
    levada_block_unref(&block);
    refused("{sequences:{f:{kind:FixedLenSequence,shape:[4],dtype:float32}}}", "values size: 16");
}

static void steps_of_any_size(void **state)
{
    static const int64_t v[] = { 1, 300, -5, 7 };
    levada_block *block = NULL;
    const levada_column *c;

    (void)state;
    begin("a");
    step(v, 2);
    step(v, 0);
    step(v + 2, 1);
    step(v + 3, 1);
    end();
    decode_ok("{sequences:{a:{kind:VarLen,dtype:int32}}}", &block);
    c = levada_block_column(block, "a");
    assert_int_equal(c->field->depth, 2);
    assert_int_equal(levada_column_length(c, 0), 4);
    assert_int_equal(c->level[1].end[0], 2);
    assert_int_equal(c->level[1].end[1], 2);
    assert_int_equal(c->level[1].end[3], 4);
    for (int i = 0; i < 4; i++) assert_int_equal(levada_column_i32(c)[i], v[i]);
    levada_block_unref(&block);
    refused("{sequences:{a:{kind:FixedLenSequence,shape:[],dtype:int64}}}", "Index: 0");
    refused("{sequences:{a:{kind:VarLen,dtype:uint8}}}", "does not fit in uint8");
    refused("{sequences:{a:{kind:VarLen,dtype:string}}}", "Data types don't match");
}

static void steps_of_floats_change_their_size(void **state)
{
    static const int32_t sizes[] = { 16, 16, 16, 8, 8, 0, 0, 16, 40, 40, 1, 16, 16 };
    enum { STEPS = sizeof sizes / sizeof *sizes };
    levada_block *block = NULL;
    const levada_column *c;
    float v[40];
    int32_t n = 0;

    (void)state;
    begin("f");
    for (int t = 0; t < STEPS; t++) {
        for (int i = 0; i < sizes[t]; i++) v[i] = (float)n++;
        assert_int_equal(levada_example_add_f32(builder, NULL, v, sizes[t], NULL),
                         LEVADA_OK);
    }
    end();
    decode_ok("{sequences:{f:{kind:VarLen,dtype:float32}}}", &block);
    c = levada_block_column(block, "f");
    assert_int_equal(levada_column_length(c, 0), STEPS);
    for (int t = 0; t < STEPS; t++) {
        assert_int_equal(c->level[1].end[t] - c->level[1].begin[t], sizes[t]);
    }
    for (int i = 0; i < n; i++) assert_true(levada_column_f32(c)[i] == (float)i);
    levada_block_unref(&block);
}

static void lists_may_lack_or_must_be_there(void **state)
{
    levada_block *block = NULL;

    (void)state;
    refused("{sequences:{a:{kind:FixedLenSequence,shape:[],dtype:int64}}}", "is required");
    decode_ok("{sequences:{a:{kind:FixedLenSequence,shape:[],dtype:int64,allow_missing:true}}}",
              &block);
    assert_int_equal(levada_column_length(levada_block_column(block, "a"), 0), 0);
    levada_block_unref(&block);
}

static void context_and_strings(void **state)
{
    static const int64_t id = 42;
    static const void *const words[] = { "left", "", "right" };
    static const size_t sizes[] = { 4, 0, 5 };
    levada_block *block = NULL;
    const levada_column *c;

    (void)state;
    assert_int_equal(levada_example_add_i64(builder, "id", &id, 1, NULL), LEVADA_OK);
    begin("w");
    assert_int_equal(levada_example_add_bytes(builder, NULL, words, sizes, 2, NULL), LEVADA_OK);
    assert_int_equal(levada_example_add_bytes(builder, NULL, words + 2, sizes + 2, 1, NULL),
                     LEVADA_OK);
    end();
    decode_ok("{context:{id:{kind:FixedLen,shape:[],dtype:int64}},"
              "sequences:{w:{kind:VarLen,dtype:string}}}",
              &block);
    assert_int_equal(levada_column_i64(levada_block_column(block, "id"))[0], 42);
    c = levada_block_column(block, "w");
    assert_int_equal(c->level[1].end[1], 3);
    assert_memory_equal(c->values + c->level[2].begin[2], "right", 5);
    levada_block_unref(&block);
}

static void partitions_need_as_many_steps(void **state)
{
    static const int64_t v[] = { 1, 2, 3 }, p[] = { 1, 1 };

    (void)state;
    begin("v");
    step(v, 2);
    step(v + 2, 1);
    end();
    begin("p");
    step(p, 2);
    end();
    refused("{sequences:{r:{kind:Ragged,value_key:v,dtype:int64,partitions:[{type:RowLengths,"
            "key:p}]}}}",
            "not aligned");
}

static void needs_a_feature(void **state)
{
    (void)state;
    refused("{}", "the spec is empty");
    refused("{sequences:{a:{kind:FixedLen,shape:[],dtype:int64}}}",
            "FixedLen is not supported in a feature list");
}

static void an_example_is_named(void **state)
{
    static const int64_t v[] = { 1, 2, 3 };
    const char *either = "{context:{w:{kind:VarLen,dtype:int64,key:v}},"
                         "sequences:{v:{kind:VarLen,dtype:int64}}}";
    levada_block *block = NULL;

    (void)state;
    assert_int_equal(levada_example_add_i64(builder, "v", v, 3, NULL), LEVADA_OK);
    refused("{sequences:{v:{kind:VarLen,dtype:int64}}}", "looks like a tf.train.Example");
    levada_example_reset(builder);
    assert_int_equal(levada_example_add_i64(builder, "v", v, 3, NULL), LEVADA_OK);
    refused("{sequences:{v:{kind:FixedLenSequence,shape:[],dtype:int64}}}", "use parse_example");
    levada_example_reset(builder);
    assert_int_equal(levada_example_add_i64(builder, "v", v, 3, NULL), LEVADA_OK);
    decode_ok(either, &block);
    levada_block_unref(&block);
    levada_example_reset(builder);
    assert_int_equal(levada_example_add_i64(builder, "v", v, 3, NULL), LEVADA_OK);
    begin("other");
    end();
    decode_ok("{sequences:{v:{kind:VarLen,dtype:int64}}}", &block);
    levada_block_unref(&block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(steps_of_one_size, set_up, tear_down),
        cmocka_unit_test_setup_teardown(steps_of_any_size, set_up, tear_down),
        cmocka_unit_test_setup_teardown(steps_of_floats_change_their_size, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lists_may_lack_or_must_be_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(context_and_strings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(partitions_need_as_many_steps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(needs_a_feature, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_example_is_named, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
