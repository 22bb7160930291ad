/* SPDX-License-Identifier: Apache-2.0 */
#include "support/ops.h"

#include <setjmp.h>
#include <stdarg.h>
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

/* Names of the columns that `text` returns, in order, joined by spaces. */
static void gives(const char *text, const char *columns, int32_t flags)
{
    levada_dataset    *dataset = t_ops_parse(env, text);
    const levada_spec *spec = levada_dataset_spec(dataset);
    levada_text        names = {0};

    levada_text_put(&names, "");
    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        levada_text_format(&names, "%s%s", i > 0 ? " " : "", levada_spec_field(spec, i)->name);
    }
    assert_string_equal(names.at, columns);
    assert_int_equal(levada_spec_flags_of(spec), flags);
    levada_text_clear(&names);
    levada_dataset_unref(&dataset);
}

static void derives_columns(void **state)
{
    (void)state;
    gives("t_numbers:3", "value", LEVADA_SPEC_PLAIN);
    gives("t_lines:a", "line", LEVADA_SPEC_PLAIN);
    gives("t_numbers:3 | t_shuffle:2", "value", LEVADA_SPEC_PLAIN);
    gives("t_numbers:3 | t_batch", "value", LEVADA_SPEC_BATCHED);
    gives("t_lines:a | t_batch | t_split", "a b", LEVADA_SPEC_BATCHED);
    gives("t_zip(t_numbers:3;t_lines:a)", "value", LEVADA_SPEC_PLAIN);
}

static void decoders_replace_the_column(void **state)
{
    (void)state;
    gives("t_lines:a | t_split", "a b", LEVADA_SPEC_PLAIN);
    gives("t_lines:a | t_split:line", "a b", LEVADA_SPEC_PLAIN);
    gives("t_lines:a | t_split | t_split", "a b", LEVADA_SPEC_PLAIN);
    gives("t_open | t_split", "a b", LEVADA_SPEC_OPEN);
    gives("t_open | t_split:other", "a b", LEVADA_SPEC_OPEN);
}

static void decoders_settle_their_field(void **state)
{
    levada_dataset *dataset = t_ops_parse(env, "t_lines:a | t_split | t_split");
    const void     *args = (const char *)dataset->args + dataset->op->core_offset;

    (void)state;
    assert_string_equal(((const levada_decoder_args *)args)->field, "b");
    assert_int_equal(levada_value_kind_of(levada_value_get(dataset->options, "field")),
                     LEVADA_VALUE_NULL);
    levada_dataset_unref(&dataset);
    t_ops_refused(env, "t_numbers:3 | t_split", LEVADA_EINVALID_ARGUMENT,
                  "t_split: the input has no column of bytes to decode");
    t_ops_refused(env, "t_numbers:3 | t_split:value", LEVADA_EINVALID_ARGUMENT,
                  "t_split: field 'value' is int64, not one byte string per record");
    t_ops_refused(env, "t_lines:a | t_split:lin", LEVADA_EINVALID_ARGUMENT,
                  "t_split: unknown field 'lin': set field= to one of the columns of bytes: "
                  "line");
}

static void a_serial_stage_with_apply_has_a_middle(void **state)
{
    levada_dataset *dataset = t_ops_parse(env, "t_numbers:3 | t_batch");

    (void)state;
    assert_non_null(dataset->middle);
    assert_int_equal(levada_spec_flags_of(dataset->middle), LEVADA_SPEC_PLAIN);
    assert_null(dataset->inputs[0]->middle);
    levada_dataset_unref(&dataset);
}

static void stages_stand_where_they_can(void **state)
{
    (void)state;
    t_ops_refused(env, "t_shuffle:2", LEVADA_EINVALID_ARGUMENT,
                  "t_shuffle: a stage needs an input: write it after a source and '|'");
    t_ops_refused(env, "t_numbers:3 | t_numbers:3", LEVADA_EINVALID_ARGUMENT,
                  "t_numbers: a source must be the first stage; it cannot have an input");
    t_ops_refused(env, "t_zip(t_numbers:3)", LEVADA_EINVALID_ARGUMENT,
                  "t_zip: takes 2 to 4 inputs, got 1");
    t_ops_refused(env, "t_pipes", LEVADA_EINVALID_ARGUMENT,
                  "t_pipes: a combiner needs an input: write it after a source and '|'");
}

static void appends_what_the_text_would(void **state)
{
    levada_dataset       *numbers = t_ops_parse(env, "t_numbers:3"), *made = NULL;
    levada_dataset       *same = t_ops_parse(env, "t_numbers:3 | t_shuffle:5,seed=1");
    const levada_dataset *inputs[1] = {numbers};
    levada_value         *options = levada_value_map(), *five = levada_value_int(5);
    levada_value         *one = levada_value_int(1);
    char                 *a = NULL, *b = NULL;
    levada_error          err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(levada_value_set(options, "seed", &one, NULL), LEVADA_OK);
    assert_int_equal(levada_value_set(options, "buffer_size", &five, NULL), LEVADA_OK);
    assert_int_equal(levada_dataset_append(env, "t_shuffle", options, inputs, 1, &made, &err),
                     LEVADA_OK);
    assert_int_equal(levada_value_count(options), 2); /* borrowed, not emptied */
    assert_int_equal(levada_dataset_json(made, &a, NULL), LEVADA_OK);
    assert_int_equal(levada_dataset_json(same, &b, NULL), LEVADA_OK);
    assert_string_equal(a, b);
    assert_string_equal(levada_dataset_name(made), "t_shuffle");
    assert_int_equal(levada_dataset_inputs(made), 1);
    assert_ptr_equal(levada_dataset_input(made, 0), numbers);
    assert_null(levada_dataset_input(made, 1));
    assert_int_equal(levada_dataset_append(env, "t_shufle", options, inputs, 1, &made, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_string_equal(err.message, "unknown stage 't_shufle'; did you mean 't_shuffle'?");
    levada_string_free(&a);
    levada_string_free(&b);
    levada_value_destroy(&options);
    levada_dataset_unref(&made);
    levada_dataset_unref(&same);
    levada_dataset_unref(&numbers);
}

static bool same_print(const char *one, const char *other)
{
    levada_dataset *a = t_ops_parse(env, one), *b = t_ops_parse(env, other);
    uint8_t         x[16], y[16];

    assert_int_equal(levada_dataset_fingerprint(a, x, NULL), LEVADA_OK);
    assert_int_equal(levada_dataset_fingerprint(b, y, NULL), LEVADA_OK);
    levada_dataset_unref(&a);
    levada_dataset_unref(&b);
    return memcmp(x, y, sizeof(x)) == 0;
}

static void fingerprints_what_decides_about_records(void **state)
{
    (void)state;
    assert_true(same_print("t_numbers:3", "t_numbers:count=3,step=1"));
    assert_false(same_print("t_numbers:3", "t_numbers:4"));
    assert_false(same_print("t_numbers:3", "t_numbers:3 | t_batch"));
    assert_true(same_print("t_numbers:3|t_shuffle:2,depth=1", "t_numbers:3|t_shuffle:2,depth=9"));
    assert_true(same_print("t_lines:/data/a.txt", "t_lines:[b/c/a.txt]"));
    assert_false(same_print("t_lines:/data/a.txt", "t_lines:/data/b.txt"));
    assert_true(same_print("t_lines:a,errors=skip", "t_lines:a"));
    assert_true(same_print("t_numbers:3|t_shard:index=0,count=2|t_batch", "t_numbers:3|t_batch"));
    assert_true(same_print("t_numbers:3|t_shard:index=0,count=2", "t_numbers:3"));
    assert_false(same_print("t_zip(t_numbers:3;t_numbers:4)", "t_zip(t_numbers:4;t_numbers:3)"));
    assert_false(same_print("t_numbers:3|t_all:p=(t_numbers:4)", "t_numbers:3|t_all"));
}

static void remakes_a_stage_on_another_input(void **state)
{
    levada_dataset       *ds = t_ops_parse(env, "t_numbers:3 | t_shuffle:2,depth=9"), *made = NULL;
    levada_dataset       *other = t_ops_parse(env, "t_numbers:7"), *same = NULL;
    const levada_dataset *input = other;
    levada_value         *changes = levada_value_map(), *four = levada_value_int(4);
    levada_error          err = LEVADA_ERROR_INIT;
    char                 *text = NULL;

    (void)state;
    assert_int_equal(levada_value_set(changes, "buffer_size", &four, &err), LEVADA_OK);
    assert_int_equal(levada_dataset_remake(ds, changes, &input, 1, &made, &err), LEVADA_OK);
    assert_int_equal(levada_dataset_text(made, &text, &err), LEVADA_OK);
    assert_string_equal(text, "t_numbers:7 | t_shuffle:4,depth=9");
    levada_string_free(&text);
    assert_int_equal(levada_dataset_remake(ds, NULL, &input, 1, &same, &err), LEVADA_OK);
    assert_int_equal(levada_dataset_text(same, &text, &err), LEVADA_OK);
    assert_string_equal(text, "t_numbers:7 | t_shuffle:2,depth=9");
    levada_string_free(&text);
    levada_dataset_unref(&same);
    assert_int_equal(levada_dataset_remake(ds, changes, NULL, 0, &same, &err),
                     LEVADA_EINVALID_ARGUMENT);
    levada_value_destroy(&changes);
    levada_dataset_unref(&made);
    levada_dataset_unref(&other);
    levada_dataset_unref(&ds);
}

static void a_shared_tree_is_bounded(void **state)
{
    levada_dataset *top = t_ops_parse(env, "t_numbers:3"), *next = NULL;
    levada_error    err = LEVADA_ERROR_INIT;
    levada_status   status = LEVADA_OK;

    (void)state;
    for (int i = 0; i < 40 && status == LEVADA_OK; i++) {
        const levada_dataset *inputs[2] = {top, top};
        status = levada_dataset_append(env, "t_zip", NULL, inputs, 2, &next, &err);
        if (status != LEVADA_OK) break;
        levada_dataset_unref(&top);
        top = next;
    }
    assert_int_equal(status, LEVADA_EINVALID_ARGUMENT);
    assert_string_equal(err.message,
                        "t_zip: a pipeline has at most 1000 consecutive stages and 100000 in all");
    levada_dataset_unref(&top);
}

static void outlives_its_environment(void **state)
{
    levada_env     *own = t_ops_env();
    levada_dataset *dataset = t_ops_parse(own, "t_numbers:3 | t_batch");
    char           *text = NULL;

    (void)state;
    levada_env_destroy(&own);
    assert_null(own);
    assert_int_equal(levada_dataset_text(dataset, &text, NULL), LEVADA_OK);
    assert_string_equal(text, "t_numbers:3 | t_batch");
    levada_string_free(&text);
    levada_dataset_unref(&dataset);
}

static void there_is_a_default_environment(void **state)
{
    levada_error    err = LEVADA_ERROR_INIT;
    levada_dataset *dataset = NULL;

    (void)state;
    assert_int_equal(levada_dataset_parse(NULL, "no_such_thing", &dataset, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_non_null(levada_env_pool(NULL));
    assert_ptr_equal(levada_env_pool(NULL), levada_env_pool(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(derives_columns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(decoders_replace_the_column, set_up, tear_down),
        cmocka_unit_test_setup_teardown(decoders_settle_their_field, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_serial_stage_with_apply_has_a_middle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stages_stand_where_they_can, set_up, tear_down),
        cmocka_unit_test_setup_teardown(appends_what_the_text_would, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fingerprints_what_decides_about_records, set_up, tear_down),
        cmocka_unit_test_setup_teardown(remakes_a_stage_on_another_input, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_shared_tree_is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(outlives_its_environment, set_up, tear_down),
        cmocka_unit_test(there_is_a_default_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
