/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <levada/example.h>

static levada_error why;

static levada_status decode(const char *options, const char *const *lines, int64_t n,
                            levada_block **out)
{
    levada_value *value = NULL;
    const void   *strings[8];
    size_t        sizes[8];
    levada_status st;

    levada_error_clear(&why);
    for (int64_t i = 0; i < n; i++) {
        strings[i] = lines[i];
        sizes[i] = strlen(lines[i]);
    }
    assert_int_equal(levada_value_parse(options, &value, &why), LEVADA_OK);
    st = levada_decode_strings(NULL, "decode_csv", value, strings, sizes, n, out, &why);
    levada_value_destroy(&value);
    return st;
}

static void refused(const char *options, const char *line, const char *part)
{
    levada_block *block = NULL;

    assert_int_equal(decode(options, &line, 1, &block), LEVADA_EINVALID_ARGUMENT);
    if (!strstr(why.message, part)) print_error("'%s' lacks '%s'\n", why.message, part);
    assert_non_null(strstr(why.message, part));
}

static void is_text(const levada_column *c, int64_t row, const char *want)
{
    int32_t begin = c->level[0].begin[row], end = c->level[0].end[row];

    assert_int_equal(end - begin, (int)strlen(want));
    assert_memory_equal(c->values + begin, want, strlen(want));
}

static void fields_become_columns(void **state)
{
    static const char *const lines[] = { "7,\"a, \"\"b\"\"\",0.5", " -8 ,,1e3", "9,x," };
    levada_block            *block = NULL;
    const levada_column     *c;

    (void)state;
    assert_int_equal(decode("{record_defaults:[int32,{dtype:string,default:\"none\"},"
                            "{dtype:float32,default:2.5}]}",
                            lines, 3, &block),
                     LEVADA_OK);
    c = levada_block_column(block, "c0");
    assert_int_equal(((const int32_t *)(const void *)c->values)[1], -8);
    c = levada_block_column(block, "c1");
    is_text(c, 0, "a, \"b\"");
    is_text(c, 1, "none");
    is_text(c, 2, "x");
    c = levada_block_column(block, "c2");
    assert_true(((const float *)(const void *)c->values)[1] == 1e3F);
    assert_true(((const float *)(const void *)c->values)[2] == 2.5F);
    levada_block_unref(&block);
}

static void wrong_lines_are_rejected(void **state)
{
    (void)state;
    refused("{record_defaults:[int32]}", "1,2", "Expect 1 fields but have 2");
    refused("{record_defaults:[int32,int32]}", "", "Expect 2 fields but have 0");
    refused("{record_defaults:[int32,int32]}", "1,", "Field 1 is required but missing");
    refused("{record_defaults:[int32]}", "2147483648", "is not a valid int32: 2147483648");
    refused("{record_defaults:[float64]}", "1e", "is not a valid double: 1e");
    refused("{record_defaults:[string]}", "a\"b", "Unquoted fields cannot have quotes");
    refused("{record_defaults:[string]}", "\"a\"b\"", "Quote inside a string");
    refused("{record_defaults:[string]}", "\"ab", "Quoted field has to end");
    refused("{record_defaults:[string]}", "\"", "Quoted field has to end");
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    refused("{record_defaults:[]}", "", "one entry per column");
    refused("{record_defaults:[int8]}", "", "dtype 'int8'");
    refused("{record_defaults:[{dtype:int32,default:1.5}]}", "",
            "the default must be int32, got 1.5");
    refused("{record_defaults:[{dtype:int32,defualt:1}]}", "", "must hold dtype and default only");
    refused("{record_defaults:[int32,int32],select_cols:[1,1]}", "", "not strictly increasing");
    refused("{record_defaults:[int32],select_cols:[-1]}", "", "negative");
    refused("{record_defaults:[int32],select_cols:[1,2]}", "", "do not match");
    refused("{record_defaults:[int32],field_delim:\";;\"}", "", "only 1 char");
    refused("{record_defaults:[int32],columns:[a,b]}", "", "columns has 2 names");
}

static void fields_after_the_last_selected_one_are_ignored(void **state)
{
    static const char *const lines[] = { "a,1,\"broken", "b,2" };
    levada_block            *block = NULL;
    const levada_column     *c;

    (void)state;
    assert_int_equal(decode("{record_defaults:[int64],select_cols:[1]}", lines, 2, &block),
                     LEVADA_OK);
    c = levada_block_column(block, "c1");
    assert_int_equal(((const int64_t *)(const void *)c->values)[1], 2);
    levada_block_unref(&block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_become_columns),
        cmocka_unit_test(wrong_lines_are_rejected),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(fields_after_the_last_selected_one_are_ignored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
