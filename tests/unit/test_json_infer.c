/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of JSON lines from their first records: fields=auto. */
#include "conformance/fault.h"
#include "support/files.h"

#include <levada/iter.h>
#include <levada/open.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static levada_error why;

/* `stages` follow the path of the file. */
static levada_status infer(const char *source, const char *stages, char **text)
{
    char            description[1024];
    levada_dataset *ds = NULL;
    levada_status   st;

    snprintf(description, sizeof description, "%s:%s%s", source, t_path("f"), stages);
    levada_error_clear(&why);
    st = levada_dataset_parse(NULL, description, &ds, &why);
    if (st == LEVADA_OK) st = levada_dataset_text(ds, text, &why);
    levada_dataset_unref(&ds);
    return st;
}

/* The option that is found for these lines, by the format and by the decoder. */
static void expect(const char *lines, const char *want)
{
    static const char *const ways[2][2] = { { "jsonl", ",fields=auto" },
                                            { "text_lines", " | decode_json:auto" } };

    t_write_file(t_path("f"), lines, strlen(lines));
    for (size_t i = 0; i < 2; i++) {
        char *text = NULL;

        if (infer(ways[i][0], ways[i][1], &text) != LEVADA_OK)
            fail_msg("%s: %s", lines, why.message);
        if (!strstr(text, want)) fail_msg("%s lacks %s", text, want);
        levada_string_free(&text);
    }
}

static void refused(const char *lines, const char *part)
{
    char *text = NULL;

    t_write_file(t_path("f"), lines, strlen(lines));
    if (infer("jsonl", ",fields=auto", &text) != LEVADA_EINVALID_ARGUMENT)
        fail_msg("%s", text ? text : why.message);
    if (!strstr(why.message, part)) fail_msg("'%s' lacks '%s'", why.message, part);
}

static void types_follow_from_all_values(void **state)
{
    (void)state;
    expect("{\"i\":1,\"f\":1.5,\"s\":\"x\",\"b\":true}\n", "{i:int64,f:float64,s:text,b:bool}");
    expect("{\"x\":1}\n{\"x\":2.5}\n{\"x\":-3}\n", "{x:float64}");
    expect("{\"x\":[]}\n{\"x\":[1,2]}\n{}\n{\"x\":null}\n", "{x:[int64]}");
    expect("{\"x\":[[1],[]]}\n{\"x\":[[0.5]]}\n", "{x:[[float64]]}");
    expect("{\"x\":[]}\n", "{x:[int64]}");
    expect("{\"x\":[\"a\"],\"y\":[[]],\"z\":[false]}\n", "{x:[text],y:[[int64]],z:[bool]}");
    expect("{\"x\":9223372036854775807}\n", "{x:int64}");
    expect("{\"x\":1}\n{\"x\":9223372036854775808}\n", "{x:text}");
    expect("{\"x\":-9223372036854775809}\n{}\n", "{x:{dtype:text,default:\"\"}}");
    expect("{\"x\":[1,18446744073709551616]}\n", "{x:[text]}");
    expect("{\"x\":NaN}\n{\"x\":1}\n", "{x:float64}");
    expect("{\"x\":[[1],[-Infinity]]}\n", "{x:[[float64]]}");
}

static void missing_values_have_a_default(void **state)
{
    (void)state;
    expect("{\"x\":1,\"s\":\"a\"}\n{}\n",
           "{x:{dtype:float64,default:nan},s:{dtype:text,default:\"\"}}");
    expect("{\"x\":null}\n{\"x\":0.5}\n", "{x:{dtype:float64,default:nan}}");
    expect("{\"x\":null}\n", "{x:{dtype:text,default:\"\"}}");
    expect("{\"x\":1,\"x\":2}\n{\"y\":2}\n{\"x\":3}\n",
           "{x:{dtype:float64,default:nan},y:{dtype:float64,default:nan}}");
    refused("{\"x\":true}\n{}\n", "'x' is a bool that some records lack; pass the fields");
    refused("{\"x\":9007199254740993}\n{}\n", "integers beyond 2^53, and some records lack it");
}

static void members_of_objects_are_fields(void **state)
{
    (void)state;
    expect("{\"m\":{\"a\":1,\"b\":{\"c\":\"x\"}},\"n\":{}}\n{\"m\":{\"a\":2,\"b\":{\"c\":\"\"}}}\n",
           "{m.a:int64,m.b.c:text}");
    expect("{\"m\":{\"a\":1}}\n{\"m\":null}\n", "{m.a:{dtype:float64,default:nan}}");
    expect("{\"a.b\":1}\n", "{a.b:int64}");
    refused("{\"a.b\":1}\n{\"a\":{\"b\":2}}\n", "'a.b' is a name with a dot, and also a member");
    refused("{\"a\":{\"b.c\":2}}\n", "is empty or has a dot");
    refused("{\"a.b\":{\"c\":2}}\n", "is empty or has a dot");
    refused("{\"\":2}\n", "is empty or has a dot");
    refused("{\"a\\u0000b\":2}\n", "a zero byte");
}

static void what_no_column_holds_is_text(void **state)
{
    static const char *const mixed[] = {
        "{\"x\":1}\n{\"x\":\"1\"}\n", "{\"x\":true}\n{\"x\":1}\n", "{\"x\":{}}\n{\"x\":1}\n",
        "{\"x\":[1,\"a\"]}\n",        "{\"x\":\"a\"}\n{\"x\":{\"y\":1}}\n",
    };
    static const char *const lists[] = {
        "{\"x\":[1]}\n{\"x\":1}\n", "{\"x\":1}\n{\"x\":[]}\n", "{\"x\":[1,[2]]}\n",
        "{\"x\":[[]]}\n{\"x\":[5]}\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof mixed / sizeof *mixed; i++)
        expect(mixed[i], "{x:text}");
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) expect(lists[i], "{x:text}");
    expect("{\"x\":[[[[[1]]]]]}\n", "{x:text}");
    expect("{\"x\":[1,null]}\n", "{x:text}");
    refused("{\"x\":18446744073709551615}\n{\"x\":0.5}\n", "'x' mixes floats with integers");
    refused("{\"x\":1e999}\n{\"x\":18446744073709551616}\n", "'x' mixes floats with integers");
    refused("{\"x\":9007199254740993}\n{\"x\":1.5}\n", "mixes floats with integers beyond 2^53");
}

static void lists_of_objects_become_lists(void **state)
{
    (void)state;
    expect("{\"m\":[{\"r\":\"u\",\"t\":1},{\"r\":\"a\",\"t\":2}],\"i\":1}\n",
           "{m:[{r:text,t:int64}],i:int64}");
    expect("{\"m\":[]}\n{}\n{\"m\":[null,{\"x\":[[1.5]]}]}\n", "{m:[{x:[[float64]]}]}");
    expect("{\"m\":[[{\"x\":{\"y\":1}}]]}\n", "{m:[[{x.y:int64}]]}");
    expect("{\"m\":[{\"p\":[{\"k\":\"a\"},{}]},{\"n\":1}]}\n",
           "{m:[{p:[{k:{dtype:text,default:\"\"}}],n:{dtype:float64,default:nan}}]}");
    expect("{\"m\":[{\"b\":true},{}]}\n", "{m:[{b:{dtype:text,default:\"\"}}]}");
    expect("{\"m\":[{\"b\":true},1]}\n", "{m:text}");
    expect("{\"a\":[{\"b\":[[[[1]]]]}]}\n", "{a:[{b:text}]}");
    expect("{\"a\":{\"b\":[{\"d\":1}]}}\n", "{a.b:[{d:int64}]}");
}

static void records_that_are_no_objects_are_refused(void **state)
{
    (void)state;
    refused("", "the input has no records; pass the fields");
    refused("{}\n{}\n", "the first records have no fields");
    refused("[1]\n", "the record is not an object");
}

static void bad_records_are_passed_over_if_others_are_good(void **state)
{
    static const char bad[] = "{\"x\":\n[\n";
    char             *text = NULL;

    (void)state;
    expect("{\"x\":1}\n{\"x\":\n", "{x:int64}");
    expect("{\"x\":\n{\"x\":1}\n", "{x:int64}");
    t_write_file(t_path("f"), bad, sizeof bad - 1);
    assert_int_equal(infer("jsonl", ",fields=auto", &text), LEVADA_EDATA_LOSS);
    assert_non_null(strstr(why.message, "invalid JSON"));
    assert_int_equal(levada_error_record(&why), 0);
}

static void hostile_objects_end(void **state)
{
    t_bytes text = { 0 };

    (void)state;
    for (int i = 0; i < 200; i++) t_add(&text, "{\"a\":", 5);
    t_add(&text, "1", 1);
    for (int i = 0; i < 200; i++) t_add(&text, "}", 1);
    t_add(&text, "\n", 2);
    refused((char *)text.at, "objects of more than 32 levels");
    t_clear(&text);
    t_add(&text, "{\"", 2);
    for (int i = 0; i < 600; i++) t_add(&text, "a", 1);
    t_add(&text, "\":1}\n", 6);
    refused((char *)text.at, "name of more than 511 bytes");
    t_clear(&text);
    for (int i = 0; i < 5000; i++) {
        char member[32];

        t_add(&text, member,
              (size_t)snprintf(member, sizeof member, "%c\"k%d\":1", i ? ',' : '{', i));
    }
    t_add(&text, "}\n", 3);
    refused((char *)text.at, "more than 4,096");
    t_clear(&text);
}

static void a_later_record_that_does_not_fit_is_named(void **state)
{
    static const struct {
        const char *line, *part;
    } cases[] = {
        { "{\"i\":1.5,\"t\":[]}\n", "field 'i' is not int64 but a float: change its type in" },
        { "{\"i\":\"a\",\"t\":[]}\n", "field 'i' is not int64 but a string" },
        { "{\"t\":[]}\n", "field 'i' is missing; it must be int64: add a default" },
        { "{\"i\":1,\"t\":5}\n", "field 't' is not a list of int64 but an integer" },
        { "{\"i\":1,\"t\":[true]}\n", "field 't' is not a list of int64 but has a bool" },
    };
    char head[4096], first[] = "{\"i\":1,\"t\":[1]}\n";

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char     *files[] = { t_path("a.jsonl") };
        levada_dataset *ds = NULL;
        levada_iter    *it = NULL;
        levada_block   *block = NULL;
        t_bytes         text = { 0 };

        for (int n = 0; n < 1000; n++) t_add(&text, first, sizeof first - 1);
        t_add(&text, cases[i].line, strlen(cases[i].line));
        t_write_file(t_path("a.jsonl"), text.at, text.size);
        t_clear(&text);
        assert_int_equal(levada_dataset_open(NULL, files, 1, NULL, true, &ds, &why), LEVADA_OK);
        assert_int_equal(levada_iter_open(ds, NULL, &it, &why), LEVADA_OK);
        while (levada_iter_next(it, &block, &why) == LEVADA_OK) levada_block_unref(&block);
        levada_error_text(&why, head, sizeof head);
        if (!strstr(head, cases[i].part)) fail_msg("'%s' lacks '%s'", head, cases[i].part);
        assert_non_null(strstr(head, "line 1001"));
        levada_iter_close(&it);
        levada_dataset_unref(&ds);
    }
}

static void memory_may_be_short_at_every_step(void **state)
{
    static const char lines[] = "{\"a\":1,\"m\":{\"b\":[\"x\"]}}\n{\"a\":null,\"m\":{}}\n";
    levada_status     st = LEVADA_ERESOURCE_EXHAUSTED;
    char             *text = NULL;

    (void)state;
    expect(lines, "{a:{dtype:float64,default:nan},m.b:[text]}"); /* the pool is filled */
    for (int64_t n = 0; st != LEVADA_OK; n++) {
        int64_t before = fault_live();

        fault_arm(n);
        st = infer("jsonl", ",fields=auto", &text);
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
        cmocka_unit_test(types_follow_from_all_values),
        cmocka_unit_test(missing_values_have_a_default),
        cmocka_unit_test(members_of_objects_are_fields),
        cmocka_unit_test(what_no_column_holds_is_text),
        cmocka_unit_test(lists_of_objects_become_lists),
        cmocka_unit_test(records_that_are_no_objects_are_refused),
        cmocka_unit_test(bad_records_are_passed_over_if_others_are_good),
        cmocka_unit_test(hostile_objects_end),
        cmocka_unit_test(a_later_record_that_does_not_fit_is_named),
        cmocka_unit_test(memory_may_be_short_at_every_step),
    };

    if (!t_has("simdjson")) {
        print_message("SKIPPED: built without simdjson\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
