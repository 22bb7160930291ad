/* SPDX-License-Identifier: Apache-2.0 */
/*
 * divide - a PURE stage, that of docs/adding-a-stage.md. Written by
 * `levada new-plugin divide --kind stage`.
 *
 *     cc -shared -fPIC -I include plugins/example/divide.c -o divide.so
 */
#define LEVADA_PLUGIN_MAIN
#include <levada/plugin.h>

/* The options, as in divide:by=2; they are constant while the dataset lives. */
typedef struct divide_args {
    int64_t by;
} divide_args;

static const levada_arg divide_options[] = {
    LEVADA_ARG(INT, divide_args, by, .positional = true, .min = 1, .max = 1000000,
               .otherwise = "2", .doc = "divisor"),
    LEVADA_ARG_END
};

/* One per worker: scratch memory, never anything that results depend on. */
typedef struct divide_state {
    const levada_context *context;
} divide_state;

/* The columns of the output, from those of the input: here one integer, "value". */
static levada_status divide_check(const void *args, const levada_spec *in, levada_spec **out,
                                  levada_error *err)
{
    levada_field value = { .name = "value", .dtype = LEVADA_INT64 };

    (void)args;
    if (levada_spec_flags_of(in) & LEVADA_SPEC_BATCHED) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "records were batched before; use unbatch() first");
    }
    return levada_spec_create(&value, 1, LEVADA_SPEC_PLAIN, out, err);
}

static levada_status divide_open(void *state, const void *args, const levada_context *context,
                                 levada_error *err)
{
    (void)args, (void)err;
    ((divide_state *)state)->context = context;
    return LEVADA_OK;
}

/* The result depends on nothing but the block and the options. Row i of the output is row i of the
 * input (LEVADA_ROWS_ONE_TO_ONE). */
static levada_status divide_apply(void *state, const void *args, const levada_block *in,
                                  levada_block **out, levada_error *err)
{
    const divide_state  *s = state;
    const divide_args   *a = args;
    const levada_column *column = levada_block_column(in, "value");
    int64_t              n = levada_block_rows(in);
    levada_builder      *b = NULL;
    void                *values = NULL;
    levada_status        st;

    if (!column || column->field->dtype != LEVADA_INT64 || column->field->ndim != 0
        || column->field->depth != 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the input must have a field 'value' of one int64 per record; use "
                           "rename or cast");
    }
    LEVADA_TRY(levada_builder_create(s->context->env, s->context->out, n, &b, err));
    st = levada_builder_values(b, 0, n, &values, err);
    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        ((int64_t *)values)[i] = levada_column_i64(column)[i] / a->by;
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    return st;
}

static const levada_stage_def divide = {
    .struct_size = sizeof(levada_stage_def),
    .name = "divide",
    .doc = "the column value, divided",
    .example = "range:10 | divide:3",
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS),
    .args = divide_options,
    .args_size = sizeof(divide_args),
    .state_size = sizeof(divide_state),
    .check = divide_check,
    .open = divide_open,
    .apply = divide_apply,
};

levada_status levada_plugin_main(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "divide", 1);
    return host->add_stage(plugin, &divide, err);
}
