/* SPDX-License-Identifier: Apache-2.0 */
/*
 * with_columns - adds or replaces fields by expressions over the fields of the input.
 */
#include "base/alloc.h"
#include "description/columns.h"
#include "option/value_priv.h"
#include "tensor/builder_priv.h"
#include "transform/expression.h"

#include <levada/stage.h>

#include <string.h>

typedef struct with_columns_args {
    const levada_value *columns;
} with_columns_args;

typedef struct with_columns_state {
    const levada_context *context;
    levada_derived        columns;
    levada_expression   **expressions; /* one for each item of the option */
    int64_t               n;
} with_columns_state;

static const levada_arg with_columns_options[] = {
    LEVADA_ARG(VALUE, with_columns_args, columns, .required = true, .positional = true,
               .doc = "{field: expression}, such as {x: \"tokens / 255\", n: \"len(tokens)\"}"),
    LEVADA_ARG_END
};

/* Parses item i of the option: its name and its expression. */
static levada_status with_columns_parse(const levada_value *columns, int64_t i, const char **name,
                                        levada_expression **out, levada_error *err)
{
    char shown[LEVADA_VALUE_SHOWN];
    const levada_value *item = levada_value_item(columns, i);

    *name = levada_value_key(columns, i);
    if (levada_value_kind_of(item) != LEVADA_VALUE_TEXT) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "column '%s' must be an expression, such as \"len(tokens)\"; got %s",
                           *name ? *name : "", levada_value_shown(item, LEVADA_PRINT_TEXT, shown));
    }
    return levada_expression_parse(levada_value_as_text(item, NULL), out, err);
}

/* Adds the field of item i to the list, or replaces the one of its name. */
static levada_status with_columns_field(const levada_value *columns, int64_t i,
                                        const levada_spec *in, levada_field *fields, int32_t *n,
                                        bool *known, levada_error *err)
{
    levada_expression *e = NULL;
    levada_field       made = { 0 };
    bool               knows = false;
    int32_t            at = 0;
    levada_status      st = with_columns_parse(columns, i, &made.name, &e, err);

    if (st == LEVADA_OK) st = levada_expression_field(e, in, &made, &knows, err);
    levada_expression_destroy(&e);
    if (st < 0) levada_error_wrap(err, "column '%s'", made.name ? made.name : "");
    LEVADA_TRY(st);
    while (at < *n && strcmp(fields[at].name, made.name) != 0) at++;
    fields[at] = made;
    *n += at == *n;
    *known = *known && knows;
    return LEVADA_OK;
}

static levada_status with_columns_check(const void *args, const levada_spec *in,
                                        levada_spec **out, levada_error *err)
{
    const levada_value *columns = ((const with_columns_args *)args)->columns;
    int64_t             count = levada_value_count(columns);
    int32_t             n = levada_spec_count(in);
    char                shown[LEVADA_VALUE_SHOWN];
    bool                known = true;
    levada_field       *fields;
    levada_status       st = LEVADA_OK;

    LEVADA_TRY(levada_spec_want_records(in, err));
    if (levada_value_kind_of(columns) != LEVADA_VALUE_MAP) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "columns must be {field: expression}, got %s",
                           levada_value_shown(columns, LEVADA_PRINT_TEXT, shown));
    }
    fields = levada_alloc_zero(((size_t)n + (size_t)count) * sizeof *fields + 1);
    if (!fields) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    for (int32_t i = 0; i < n; i++) fields[i] = *levada_spec_field(in, i);
    for (int64_t i = 0; st == LEVADA_OK && i < count; i++) {
        st = with_columns_field(columns, i, in, fields, &n, &known, err);
    }
    if (st == LEVADA_OK && known) {
        st = levada_spec_create(fields, n, levada_spec_flags_of(in), out, err);
    }
    levada_free(fields);
    return st;
}

static levada_status with_columns_open(void *state, const void *args,
                                       const levada_context *context, levada_error *err)
{
    with_columns_state *s = state;
    const levada_value *columns = ((const with_columns_args *)args)->columns;
    int64_t             count = levada_value_count(columns);
    levada_status       st = LEVADA_OK;

    s->context = context;
    s->expressions = levada_alloc_zero((size_t)count * sizeof(levada_expression *) + 1);
    if (!s->expressions) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for expressions");
    }
    for (s->n = 0; st == LEVADA_OK && s->n < count; s->n++) {
        const char *name;

        st = with_columns_parse(columns, s->n, &name, &s->expressions[s->n], err);
    }
    return st;
}

static void with_columns_close(void *state)
{
    with_columns_state *s = state;

    for (int64_t i = 0; i < s->n; i++) levada_expression_destroy(&s->expressions[i]);
    levada_free(s->expressions);
    levada_derived_clear(&s->columns);
}

static levada_status with_columns_fill(const with_columns_state *s, const levada_value *columns,
                                       const levada_block *in, levada_builder *b,
                                       const levada_spec *spec, levada_error *err)
{
    for (int64_t k = 0; k < s->n; k++) {
        const char *name = levada_value_key(columns, k);

        if (levada_spec_find(spec, name) >= 0) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a record lacks a field of column '%s'; return it in all records", name);
    }
    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        const char *name = levada_spec_field(spec, i)->name;
        int64_t     k = 0;

        while (k < s->n && strcmp(levada_value_key(columns, k), name) != 0) k++;
        if (k == s->n) levada_builder_share(b, i, levada_block_at(in, i));
        else LEVADA_TRY(levada_expression_fill(s->expressions[k], in, b, i, err));
    }
    return LEVADA_OK;
}

static levada_status with_columns_apply(void *state, const void *args, const levada_block *in,
                                        levada_block **out, levada_error *err)
{
    with_columns_state *s = state;
    const levada_value *columns = ((const with_columns_args *)args)->columns;
    const levada_spec  *spec = NULL;
    levada_builder     *b = NULL;
    levada_status       st;

    LEVADA_TRY(levada_derived_get(&s->columns, with_columns_check, args, in->spec, &spec, err));
    LEVADA_TRY(levada_builder_create(s->context->env, spec, in->n, &b, err));
    st = with_columns_fill(s, columns, in, b, spec, err);
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    if (st == LEVADA_OK) (*out)->bytes += in->bytes;
    return st;
}

const levada_stage_def levada_stage_with_columns = {
    .struct_size = sizeof(levada_stage_def),
    .name = "with_columns",
    .doc = "adds or replaces fields by expressions",
    .example = "range:10 | with_columns:{half: \"value / 2\", odd: \"value % 2 == 1\"}",
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS),
    .args = with_columns_options,
    .args_size = sizeof(with_columns_args),
    .state_size = sizeof(with_columns_state),
    .check = with_columns_check,
    .open = with_columns_open,
    .close = with_columns_close,
    .apply = with_columns_apply,
};
