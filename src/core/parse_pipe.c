/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipes of descriptions, and the entry for both forms.
 */
#include "core/parse.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <stdio.h>
#include <string.h>

/* Inputs of a joint while it is read. */
typedef struct parse_inputs {
    levada_dataset **at;
    int64_t          n, capacity;
} parse_inputs;

static void parse_pipe_clear(parse_inputs *inputs)
{
    for (int64_t i = 0; i < inputs->n; i++) levada_dataset_unref(&inputs->at[i]);
    levada_free(inputs->at);
    *inputs = (parse_inputs){0};
}

static levada_status parse_pipe_grow(parse_inputs *inputs, levada_error *err)
{
    if (inputs->n >= LEVADA_DATASET_NODES) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "too many inputs");
    }
    if (levada_reserve(&inputs->at, &inputs->capacity, inputs->n + 1, sizeof(*inputs->at))) {
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
}

/* pipe { ";" pipe } ")" */
static levada_status parse_pipe_inputs(levada_parser *p, parse_inputs *inputs, levada_error *err)
{
    LEVADA_TRY(levada_parser_enter(p, err));
    do {
        LEVADA_TRY(parse_pipe_grow(inputs, err));
        LEVADA_TRY(levada_parse_pipe(p, &inputs->at[inputs->n], err));
        inputs->n++;
    } while (levada_parser_accept(p, ';'));
    levada_parser_leave(p);
    return levada_parser_expect(p, ')', err);
}

static levada_status parse_pipe_name(levada_parser *p, const levada_op **out, levada_error *err)
{
    char   name[64];
    size_t start, n;

    levada_parser_peek(p);
    start = p->at;
    n = levada_parser_word(p, ":");
    if (n == 0) {
        bool end = p->at >= p->size;
        return levada_parser_fail(p, start, err, "expected the name of a stage, found %s%.*s%s",
                                  end ? "the end" : "'", end ? 0 : 1, p->text + p->at,
                                  end ? "" : "'");
    }
    snprintf(name, sizeof(name), "%.*s", n < sizeof(name) ? (int)n : (int)sizeof(name) - 1,
             p->text + start);
    const levada_op *op = levada_registry_find(p->env, name);
    if (op == NULL || strlen(op->name) != n) {
        levada_where where = levada_where_is(p->text, p->size, p->file, start);
        return levada_registry_unknown(p->env, name, where.text, err);
    }
    p->at += n;
    *out = op;
    return LEVADA_OK;
}

/* True when NAME "=" stands here; takes both. */
static bool parse_pipe_named(levada_parser *p, char *name, size_t size)
{
    size_t start = p->at, n = levada_parser_word(p, "");

    p->at += n;
    if (n == 0 || !levada_parser_accept(p, '=')) {
        p->at = start;
        return false;
    }
    snprintf(name, size, "%.*s", n < size ? (int)n : (int)size - 1, p->text + start);
    return true;
}

/* Which option it is: by name, or the positional one. */
static levada_status parse_pipe_which(levada_parser *p, const levada_op *op, bool first,
                                      int32_t *out, levada_error *err)
{
    char   name[64];
    size_t start = p->at;

    if (parse_pipe_named(p, name, sizeof(name))) {
        *out = levada_option_find(op, name);
        if (*out >= 0) return LEVADA_OK;
        levada_where where = levada_where_is(p->text, p->size, p->file, start);
        return levada_option_unknown(op, name, where.text, err);
    }
    *out = levada_option_positional(op);
    if (!first) {
        return levada_parser_fail(p, start, err, "only the first option goes without a name; "
                                  "expected name=value (a list is written [a,b])");
    }
    if (*out < 0) {
        return levada_parser_fail(p, start, err, "every option needs its name: name=value");
    }
    return LEVADA_OK;
}

static levada_status parse_pipe_option(levada_parser *p, const levada_op *op, bool first,
                                       levada_value *options, levada_places *places,
                                       levada_error *err)
{
    levada_value *value = NULL;
    int32_t       i = -1;

    levada_parser_peek(p);
    size_t start = p->at;
    LEVADA_TRY(parse_pipe_which(p, op, first, &i, err));
    const levada_arg *arg = &op->args[i];
    if (places->at[i] != 0) {
        return levada_parser_fail(p, start, err, "option '%s' is given twice", arg->name);
    }
    places->at[i] = start;
    levada_status status = levada_parse_raw(p, levada_option_holds_text(arg->type), &value, err);
    if (status == LEVADA_OK) {
        status = levada_value_resolve(p->env, &value, err);
        if (status != LEVADA_OK) levada_error_wrap(err, "%s", arg->name);
    }
    if (status == LEVADA_OK) status = levada_value_set(options, arg->name, &value, err);
    levada_value_destroy(&value);
    return status;
}

static levada_status parse_pipe_options(levada_parser *p, const levada_op *op,
                                        levada_value *options, levada_places *places,
                                        levada_error *err)
{
    bool first = true;

    if (!levada_parser_accept(p, ':')) return LEVADA_OK;
    char next = levada_parser_peek(p);
    if (p->at >= p->size || next == '|' || next == ';' || next == ')') return LEVADA_OK;
    do {
        LEVADA_TRY(parse_pipe_option(p, op, first, options, places, err));
        first = false;
    } while (levada_parser_accept(p, ','));
    return LEVADA_OK;
}

/* The options of an op whose name was read, and the dataset that it makes. */
static levada_status parse_pipe_make(levada_parser *p, const levada_op *op,
                                     levada_dataset *const *inputs, int32_t ninputs,
                                     levada_dataset **out, levada_error *err)
{
    levada_places places = {p->text, p->size, p->file, {0}};
    levada_value *options = levada_value_map();

    if (options == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    levada_status status = parse_pipe_options(p, op, options, &places, err);
    if (status != LEVADA_OK) levada_error_wrap(err, "%s", op->name);
    else status = levada_dataset_make(p->env, op, options, inputs, ninputs, &places, out, err);
    levada_value_destroy(&options);
    return status;
}

static levada_status parse_pipe_joint(levada_parser *p, const levada_op *op, levada_dataset **out,
                                      levada_error *err)
{
    parse_inputs  inputs = {0};
    levada_status status;

    if (op->family != LEVADA_FAMILY_JOINT) {
        return levada_parser_fail(p, p->at - 1, err, "%s: a %s takes no pipes in parentheses",
                                  op->name, levada_family_name(op->family));
    }
    status = parse_pipe_inputs(p, &inputs, err);
    if (status == LEVADA_OK) {
        status = parse_pipe_make(p, op, inputs.at, (int32_t)inputs.n, out, err);
    }
    parse_pipe_clear(&inputs);
    return status;
}

static levada_status parse_pipe_head(levada_parser *p, levada_dataset **out, levada_error *err)
{
    const levada_op *op = NULL;

    if (levada_parser_accept(p, '(')) {
        LEVADA_TRY(levada_parser_enter(p, err));
        LEVADA_TRY(levada_parse_pipe(p, out, err));
        levada_parser_leave(p);
        levada_status status = levada_parser_expect(p, ')', err);
        if (status != LEVADA_OK) levada_dataset_unref(out);
        return status;
    }
    LEVADA_TRY(parse_pipe_name(p, &op, err));
    if (levada_parser_accept(p, '(')) return parse_pipe_joint(p, op, out, err);
    return parse_pipe_make(p, op, NULL, 0, out, err);
}

levada_status levada_parse_pipe(levada_parser *p, levada_dataset **out, levada_error *err)
{
    levada_dataset  *top = NULL, *next = NULL;
    const levada_op *op = NULL;

    LEVADA_TRY(parse_pipe_head(p, &top, err));
    while (levada_parser_accept(p, '|')) {
        levada_status status = parse_pipe_name(p, &op, err);
        if (status == LEVADA_OK) status = parse_pipe_make(p, op, &top, 1, &next, err);
        levada_dataset_unref(&top);
        if (status != LEVADA_OK) return status;
        top = next;
    }
    *out = top;
    return LEVADA_OK;
}

static levada_status parse_pipe_rest(levada_parser *p, levada_error *err)
{
    levada_parser_peek(p);
    if (p->at >= p->size) return LEVADA_OK;
    bool   gap = p->at > 0 && p->text[p->at - 1] == ' ';
    size_t n = 1;
    while (p->at + n < p->size && ((unsigned char)p->text[p->at + n] & 0xC0u) == 0x80u) n++;
    return levada_parser_fail(p, p->at, err, "expected '|' or the end, found '%.*s'%s", (int)n,
                              p->text + p->at,
                              gap ? " (a value with spaces needs double quotes)" : "");
}

static levada_status parse_pipe_all(levada_parser *p, levada_dataset **out, levada_error *err)
{
    levada_dataset *dataset = NULL;

    LEVADA_TRY(levada_parse_pipe(p, &dataset, err));
    levada_status status = parse_pipe_rest(p, err);
    if (status == LEVADA_OK) *out = dataset;
    else levada_dataset_unref(&dataset);
    return status;
}

levada_status levada_dataset_parse(levada_env *env, const char *text, levada_dataset **out,
                                   levada_error *err)
{
    levada_parser p;
    levada_value *root = NULL;

    LEVADA_TRY(levada_require(text != NULL, "text", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_parser_init(&p, env, text, strlen(text), err));
    if (levada_parser_peek(&p) != '{') return parse_pipe_all(&p, out, err);
    LEVADA_TRY(levada_parse_whole(&p, false, &root, err));
    levada_status status = levada_parse_json(env, root, out, err);
    levada_value_destroy(&root);
    return status;
}
