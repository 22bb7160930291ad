/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option tables as JSON: help, Python methods, stubs and the reference page are made of it.
 */
#include "description/dataset_priv.h"
#include "base/assert.h"

#include <string.h>

static const char *describe_type(levada_arg_type type)
{
    static const char *const names[] = {"none", "int", "size", "float", "bool", "text", "choice",
                                        "dtype", "ints", "texts", "value", "function", "block",
                                        "pipe", "floats"};

    return names[type];
}

static void describe_string(levada_text *text, const char *key, const char *value)
{
    levada_text_format(text, "\"%s\":", key);
    if (value == NULL) levada_text_put(text, "null");
    else levada_text_json(text, value, strlen(value));
}

static void describe_choices(levada_text *text, const char *choices)
{
    levada_text_put(text, ",\"choices\":[");
    for (const char *at = choices; at != NULL;) {
        size_t n = strcspn(at, "|");
        if (at != choices) levada_text_char(text, ',');
        levada_text_json(text, at, n);
        at = at[n] == '|' ? at + n + 1 : NULL;
    }
    levada_text_char(text, ']');
}

static levada_status describe_arg(levada_text *text, levada_env *env, const levada_op *op,
                                  const levada_arg *arg, levada_error *err)
{
    levada_value *otherwise = NULL;

    LEVADA_TRY(levada_parse_default(env, op, arg, NULL, &otherwise, err));
    levada_text_char(text, '{');
    describe_string(text, "name", arg->name);
    levada_text_char(text, ',');
    describe_string(text, "type", describe_type(arg->type));
    levada_text_put(text, ",\"default\":");
    levada_value_print(text, otherwise, LEVADA_PRINT_JSON);
    levada_value_destroy(&otherwise);
    levada_text_format(text, ",\"required\":%s,\"positional\":%s,\"tuning\":%s",
                       arg->required ? "true" : "false", arg->positional ? "true" : "false",
                       arg->tuning ? "true" : "false");
    bool limited = arg->min != 0 || arg->max != 0;
    if (limited) levada_text_format(text, ",\"min\":%lld", (long long)arg->min);
    else levada_text_put(text, ",\"min\":null");
    if (limited && arg->max >= arg->min) {
        levada_text_format(text, ",\"max\":%lld", (long long)arg->max);
    } else {
        levada_text_put(text, ",\"max\":null");
    }
    if (arg->type == LEVADA_ARG_CHOICE) describe_choices(text, arg->choices);
    else levada_text_put(text, ",\"choices\":null");
    levada_text_char(text, ',');
    describe_string(text, "doc", arg->doc);
    levada_text_char(text, '}');
    return LEVADA_OK;
}

static levada_status describe_op(levada_text *text, levada_env *env, const levada_op *op,
                                 levada_error *err)
{
    levada_text_char(text, '{');
    describe_string(text, "name", op->name);
    levada_text_char(text, ',');
    describe_string(text, "family", levada_family_name(op->family));
    levada_text_char(text, ',');
    describe_string(text, "doc", op->doc);
    levada_text_char(text, ',');
    describe_string(text, "example", op->example);
    levada_text_char(text, ',');
    describe_string(text, "plugin", op->plugin);
    levada_text_put(text, ",\"traits\":{");
    levada_traits_print(text, op);
    levada_text_format(text, "},\"inputs\":[%d,%d],\"args\":[", (int)op->min_inputs,
                       (int)op->max_inputs);
    for (const levada_arg *arg = op->args; arg->name != NULL; arg++) {
        if (arg != op->args) levada_text_char(text, ',');
        LEVADA_TRY(describe_arg(text, env, op, arg, err));
    }
    levada_text_put(text, "]}");
    return LEVADA_OK;
}

levada_status levada_stages_json(levada_env *env, char **out, levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_env_have(env, err));
    levada_text      text = {0};
    const levada_op *op;
    levada_status    status = LEVADA_OK;

    levada_text_char(&text, '[');
    for (int32_t i = 0; status == LEVADA_OK; i++) {
        op = levada_registry_at(env, i);
        if (op == NULL) break;
        if (i > 0) levada_text_put(&text, ",\n");
        status = describe_op(&text, env, op, err);
    }
    levada_text_char(&text, ']');
    if (status == LEVADA_OK) return levada_text_steal(&text, out, err);
    levada_text_clear(&text);
    return status;
}
