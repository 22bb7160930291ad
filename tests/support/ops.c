/* SPDX-License-Identifier: Apache-2.0 */
#include "support/ops.h"
#include "support/register.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct ops_numbers_args {
    int64_t count, step;
} ops_numbers_args;

static const levada_arg ops_numbers_options[] = {
    LEVADA_ARG(INT, ops_numbers_args, count, .required = true, .positional = true, .max = 1000000,
               .doc = "how many"),
    LEVADA_ARG(INT, ops_numbers_args, step, .otherwise = "1", .doc = "difference"),
    LEVADA_ARG_END
};

static levada_status ops_numbers_check(const void *args, levada_spec **out, levada_error *err)
{
    levada_field field = {.name = "value", .dtype = LEVADA_INT64};

    (void)args;
    return levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, out, err);
}

static levada_status ops_open_check(const void *args, levada_spec **out, levada_error *err)
{
    (void)args;
    return levada_spec_create(NULL, 0, LEVADA_SPEC_OPEN, out, err);
}

static levada_status ops_source_next(void *state, const void *args, levada_block **out,
                                     levada_error *err)
{
    (void)state, (void)args, (void)out, (void)err;
    return LEVADA_END;
}

static const levada_source_def ops_numbers = {
    .struct_size = sizeof(levada_source_def), .name = "t_numbers", .doc = "numbers",
    .example = "t_numbers:3", .args = ops_numbers_options, .args_size = sizeof(ops_numbers_args),
    .check = ops_numbers_check, .next = ops_source_next,
};

static const levada_source_def ops_open = {
    .struct_size = sizeof(levada_source_def), .name = "t_open", .doc = "columns that may come",
    .example = "t_open", .check = ops_open_check, .next = ops_source_next,
};

typedef struct ops_lines_args {
    int64_t skip;
} ops_lines_args;

static const levada_arg ops_lines_options[] = {
    LEVADA_ARG(INT, ops_lines_args, skip, .otherwise = "0", .max = 9, .doc = "lines to skip"),
    LEVADA_ARG_END
};

static levada_status ops_format_next(void *state, const void *args, const uint8_t *data,
                                     int64_t size, bool at_end, levada_spans *out,
                                     levada_error *err)
{
    (void)state, (void)args, (void)data, (void)size, (void)at_end, (void)out, (void)err;
    return LEVADA_OK;
}

static const levada_format_def ops_lines = {
    .struct_size = sizeof(levada_format_def), .name = "t_lines", .doc = "lines",
    .example = "t_lines:a.txt", .fields = LEVADA_FIELDS("line"), .args = ops_lines_options,
    .args_size = sizeof(ops_lines_args), .next = ops_format_next,
};

typedef struct ops_shuffle_args {
    int64_t buffer_size, seed;
    bool    reshuffle;
    int64_t depth;
} ops_shuffle_args;

static const levada_arg ops_shuffle_options[] = {
    LEVADA_ARG(INT, ops_shuffle_args, buffer_size, .required = true, .positional = true, .min = 1,
               .max = 1000000, .doc = "records"),
    LEVADA_ARG(INT, ops_shuffle_args, seed, .doc = "null = draw one"),
    LEVADA_ARG(BOOL, ops_shuffle_args, reshuffle, .otherwise = "true", .doc = "by epoch"),
    LEVADA_ARG(INT, ops_shuffle_args, depth, .otherwise = "2", .tuning = true, .doc = "threads"),
    LEVADA_ARG_END
};

static levada_status ops_stage_next(void *state, const void *args, levada_input *in,
                                    levada_block **out, levada_error *err)
{
    (void)state, (void)args, (void)in, (void)out, (void)err;
    return LEVADA_END;
}

static levada_status ops_stage_apply(void *state, const void *args, const levada_block *in,
                                     levada_block **out, levada_error *err)
{
    (void)state, (void)args, (void)in, (void)out, (void)err;
    return LEVADA_END;
}

const levada_stage_def levada_stage_t_shuffle = {
    .struct_size = sizeof(levada_stage_def), .name = "t_shuffle", .doc = "mixes",
    .example = "t_numbers:3 | t_shuffle:2", .args = ops_shuffle_options,
    .args_size = sizeof(ops_shuffle_args), .next = ops_stage_next,
};

static const levada_stage_def ops_batch = {
    .struct_size = sizeof(levada_stage_def),
    .name = "t_batch",
    .doc = "batches",
    .example = "t_numbers:3 | t_batch",
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_BATCHES),
    .next = ops_stage_next,
    .apply = ops_stage_apply,
};

static const levada_arg ops_all_options[] = {
    LEVADA_ARG(INT, levada_all_args, i, .min = -5, .max = 100, .doc = ""),
    LEVADA_ARG(SIZE, levada_all_args, s, .otherwise = "4K", .min = 1, .doc = ""),
    LEVADA_ARG(FLOAT, levada_all_args, f, .min = 0, .max = 1, .doc = ""),
    LEVADA_ARG(BOOL, levada_all_args, b, .doc = ""),
    LEVADA_ARG(TEXT, levada_all_args, t, .doc = ""),
    LEVADA_ARG(CHOICE, levada_all_args, c, .choices = "fail|skip|true", .doc = ""),
    LEVADA_ARG(DTYPE, levada_all_args, d, .doc = ""),
    LEVADA_ARG(INTS, levada_all_args, is, .doc = ""),
    LEVADA_ARG(TEXTS, levada_all_args, ts, .positional = true, .doc = ""),
    LEVADA_ARG(VALUE, levada_all_args, v, .otherwise = "{a:[1,2.5]}", .doc = ""),
    LEVADA_ARG(FUNCTION, levada_all_args, fn, .doc = ""),
    LEVADA_ARG(BLOCK, levada_all_args, blk, .doc = ""),
    LEVADA_ARG(PIPE, levada_all_args, p, .doc = ""),
    LEVADA_ARG(FLOATS, levada_all_args, fs, .min = 0, .max = 2, .doc = ""),
    LEVADA_ARG_END
};

static const levada_stage_def ops_all = {
    .struct_size = sizeof(levada_stage_def), .name = "t_all", .doc = "every type",
    .example = "t_numbers:3 | t_all", .mode = LEVADA_MODE_PURE, .args = ops_all_options,
    .args_size = sizeof(levada_all_args), .apply = ops_stage_apply,
};

typedef struct ops_shard_args {
    int64_t index, count;
} ops_shard_args;

static const levada_arg ops_shard_options[] = {
    LEVADA_ARG(INT, ops_shard_args, index, .required = true, .doc = ""),
    LEVADA_ARG(INT, ops_shard_args, count, .required = true, .doc = ""),
    LEVADA_ARG_END
};

static const levada_stage_def ops_shard = {
    .struct_size = sizeof(levada_stage_def),
    .name = "t_shard",
    .doc = "every n-th",
    .example = "t_numbers:3 | t_shard:index=0,count=2",
    .args = ops_shard_options,
    .args_size = sizeof(ops_shard_args),
    .next = ops_stage_next,
    .traits = LEVADA_TRAITS(.shards = true),
};

static levada_status ops_split_check(const void *args, levada_spec **out, levada_error *err)
{
    levada_field fields[2] = {{.name = "a", .dtype = LEVADA_INT64},
                              {.name = "b", .dtype = LEVADA_BYTES}};

    (void)args;
    return levada_spec_create(fields, 2, LEVADA_SPEC_PLAIN, out, err);
}

static levada_status ops_split_decode(void *state, const void *args, const levada_strings *in,
                                      levada_builder *out, levada_error *err)
{
    (void)state, (void)args, (void)in, (void)out, (void)err;
    return LEVADA_OK;
}

static const levada_decoder_def ops_split = {
    .struct_size = sizeof(levada_decoder_def), .name = "t_split", .doc = "splits",
    .example = "t_lines:a.txt | t_split", .field = "line", .check = ops_split_check,
    .decode = ops_split_decode,
};

typedef struct ops_combiner_args {
    levada_ints weights;
} ops_combiner_args;

static const levada_arg ops_combiner_options[] = {
    LEVADA_ARG(INTS, ops_combiner_args, weights, .min = 1, .max = 100, .doc = "shares"),
    LEVADA_ARG_END
};

static levada_status ops_combiner_check(const void *args, const levada_spec *const *in, int32_t nin,
                                     levada_spec **out, levada_error *err)
{
    (void)args, (void)nin, (void)err;
    *out = levada_spec_ref(in[0]);
    return LEVADA_OK;
}

static levada_status ops_combiner_next(void *state, const void *args, levada_block **out,
                                    levada_error *err)
{
    (void)state, (void)args, (void)out, (void)err;
    return LEVADA_END;
}

static const levada_combiner_def ops_zip = {
    .struct_size = sizeof(levada_combiner_def), .name = "t_zip", .doc = "side by side",
    .example = "t_zip(t_numbers:3;t_numbers:3)", .args = ops_combiner_options,
    .args_size = sizeof(ops_combiner_args), .min_inputs = 2, .max_inputs = 4,
    .check = ops_combiner_check, .next = ops_combiner_next,
};

static const levada_combiner_def ops_pipes = {
    .struct_size = sizeof(levada_combiner_def), .name = "t_pipes", .doc = "any number",
    .example = "t_pipes(t_numbers:3)", .min_inputs = 1, .max_inputs = -1,
    .check = ops_combiner_check, .next = ops_combiner_next,
};

static void ops_add(levada_env *env, levada_family family, const void *def)
{
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status status = t_register(env, family, def, NULL, &err);

    if (status != LEVADA_OK) fail_msg("%s", err.message);
}

levada_env *t_ops_env(void)
{
    levada_env  *env = NULL;
    levada_error err = LEVADA_ERROR_INIT;

    if (levada_env_create(NULL, &env, &err) != LEVADA_OK) fail_msg("%s", err.message);
    ops_add(env, LEVADA_FAMILY_SOURCE, &ops_numbers);
    ops_add(env, LEVADA_FAMILY_SOURCE, &ops_open);
    ops_add(env, LEVADA_FAMILY_FORMAT, &ops_lines);
    ops_add(env, LEVADA_FAMILY_STAGE, &levada_stage_t_shuffle);
    ops_add(env, LEVADA_FAMILY_STAGE, &ops_batch);
    ops_add(env, LEVADA_FAMILY_STAGE, &ops_all);
    ops_add(env, LEVADA_FAMILY_DECODER, &ops_split);
    ops_add(env, LEVADA_FAMILY_COMBINER, &ops_zip);
    ops_add(env, LEVADA_FAMILY_COMBINER, &ops_pipes);
    ops_add(env, LEVADA_FAMILY_STAGE, &ops_shard);
    return env;
}

levada_dataset *t_ops_parse(levada_env *env, const char *text)
{
    levada_dataset *dataset = NULL;
    levada_error    err = LEVADA_ERROR_INIT;

    if (levada_dataset_parse(env, text, &dataset, &err) != LEVADA_OK) {
        fail_msg("%s\n  refused: %s", text, err.message);
    }
    return dataset;
}

void t_ops_refused(levada_env *env, const char *text, levada_status code, const char *message)
{
    levada_dataset *dataset = NULL;
    levada_error    err = LEVADA_ERROR_INIT;
    levada_status   status = levada_dataset_parse(env, text, &dataset, &err);

    if (status == LEVADA_OK) {
        levada_dataset_unref(&dataset);
        fail_msg("%s\n  was not refused", text);
    }
    assert_string_equal(err.message, message);
    assert_int_equal(status, code);
    assert_int_equal(err.code, code);
}

static void ops_same(levada_env *env, const char *text, const char *want_text,
                     const char *want_json)
{
    levada_dataset *dataset = t_ops_parse(env, text);
    char           *got_text = NULL, *got_json = NULL;

    assert_int_equal(levada_dataset_text(dataset, &got_text, NULL), LEVADA_OK);
    assert_int_equal(levada_dataset_json(dataset, &got_json, NULL), LEVADA_OK);
    assert_string_equal(got_text, want_text);
    assert_string_equal(got_json, want_json);
    levada_string_free(&got_text);
    levada_string_free(&got_json);
    levada_dataset_unref(&dataset);
}

void t_ops_prints(levada_env *env, const char *text, const char *short_text, const char *stages)
{
    levada_text json = {0};

    levada_text_format(&json, "{\"levada\":1,\"plugins\":[],\"stages\":%s}", stages);
    assert_false(json.failed);
    ops_same(env, text, short_text, json.at);
    ops_same(env, short_text, short_text, json.at);
    ops_same(env, json.at, short_text, json.at);
    levada_text_clear(&json);
}
