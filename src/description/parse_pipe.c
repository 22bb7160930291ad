/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipes of descriptions in both notations: text, and JSON
 * {"levada":1,"plugins":[...],"stages":[{"op":...,"args":{...}},...]}. One file, since values in
 * either may hold pipes in the other, and defaults of options may, too.
 */
#include "description/parse.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "option/value_priv.h"

#include <stdio.h>
#include <string.h>

/* Inputs of a combiner while it is read. */
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
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a stage must have at most %d inputs", LEVADA_DATASET_NODES);
    }
    if (levada_reserve(&inputs->at, &inputs->capacity, inputs->n + 1, sizeof(*inputs->at))) {
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
}

static levada_status parse_pipe(levada_parser *p, levada_dataset **out, levada_error *err);

/* Reads pipe { ";" pipe } ")". */
static levada_status parse_pipe_inputs(levada_parser *p, parse_inputs *inputs, levada_error *err)
{
    LEVADA_TRY(levada_parser_enter(p, err));
    do {
        LEVADA_TRY(parse_pipe_grow(inputs, err));
        LEVADA_TRY(parse_pipe(p, &inputs->at[inputs->n], err));
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

/* Returns true if NAME "=" is next; consumes both. */
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

/* Finds the option: by name, or the positional one. */
static levada_status parse_pipe_which(levada_parser *p, const levada_op *op, bool first,
                                      int32_t *out, levada_error *err)
{
    char   name[64];
    size_t start = p->at;

    if (parse_pipe_named(p, name, sizeof(name))) {
        *out = levada_option_find(op->args, name);
        if (*out >= 0) return LEVADA_OK;
        levada_where where = levada_where_is(p->text, p->size, p->file, start);
        return levada_option_unknown(op->args, name, where.text, err);
    }
    *out = levada_option_positional(op->args);
    if (!first) {
        return levada_parser_fail(p, start, err,
                                  "only the first option may omit its name; expected name=value (a "
                                  "list is written [a,b])");
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
        return levada_parser_fail(p, start, err, "option '%s' occurs twice", arg->name);
    }
    places->at[i] = start;
    levada_status status = levada_parse_raw(p, levada_option_holds_text(arg->type), &value, err);
    if (status == LEVADA_OK && levada_parser_peek(p) == '(') {
        status = levada_parser_fail(p, p->at, err,
                                    "'(' after the value of '%s': put an expression in quotes, "
                                    "such as \"len(x)\"", arg->name);
    }
    if (status == LEVADA_OK) {
        status = levada_value_resolve(p, arg->type == LEVADA_ARG_VALUE, &value, err);
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

/* Makes the options of an op whose name was read, and the dataset that it makes. */
static levada_status parse_pipe_make(levada_parser *p, const levada_op *op,
                                     levada_dataset *const *inputs, int32_t ninputs,
                                     levada_dataset **out, levada_error *err)
{
    levada_places places = {p->text, p->size, p->file, {0}};
    levada_making by = {p->env, &places, p->within};
    levada_value *options = levada_value_map();

    if (options == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    levada_status status = parse_pipe_options(p, op, options, &places, err);
    if (status != LEVADA_OK) levada_error_wrap(err, "%s", op->name);
    else status = levada_dataset_make(&by, op, options, inputs, ninputs, out, err);
    levada_value_destroy(&options);
    return status;
}

static levada_status parse_pipe_combiner(levada_parser *p, const levada_op *op,
                                         levada_dataset **out,
                                      levada_error *err)
{
    parse_inputs  inputs = {0};
    levada_status status;

    if (op->family != LEVADA_FAMILY_COMBINER) {
        return levada_parser_fail(p, p->at - 1, err,
                                  "%s: a %s accepts no sub-pipelines in parentheses",
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
        LEVADA_TRY(parse_pipe(p, out, err));
        levada_parser_leave(p);
        levada_status status = levada_parser_expect(p, ')', err);
        if (status != LEVADA_OK) levada_dataset_unref(out);
        return status;
    }
    LEVADA_TRY(parse_pipe_name(p, &op, err));
    if (levada_parser_accept(p, '(')) return parse_pipe_combiner(p, op, out, err);
    return parse_pipe_make(p, op, NULL, 0, out, err);
}

static levada_status parse_pipe(levada_parser *p, levada_dataset **out, levada_error *err)
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

    LEVADA_TRY(parse_pipe(p, &dataset, err));
    levada_status status = parse_pipe_rest(p, err);
    if (status == LEVADA_OK) *out = dataset;
    else levada_dataset_unref(&dataset);
    return status;
}

/* -- JSON */

static levada_status parse_json_fail(levada_error *err, const char *what)
{
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s", what);
}

/* Checks that every key of the map stands in allowed, a list like "a, b". */
static levada_status parse_json_keys(const levada_value *map, const char *where,
                                     const char *allowed, levada_error *err)
{
    for (int64_t i = 0; i < levada_value_count(map); i++) {
        const char *key = levada_value_key(map, i), *at = allowed;
        size_t      n = strlen(key);
        while (at != NULL && !(strncmp(at, key, n) == 0 && (at[n] == ',' || at[n] == '\0'))) {
            at = strchr(at, ',');
            at = at != NULL ? at + 2 : NULL;
        }
        if (at == NULL || n == 0) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "unknown name '%.48s' in %s; "
                               "allowed: %s", key, where, allowed);
        }
    }
    return LEVADA_OK;
}

static levada_status parse_json_must(const char *what, const char *rule, const levada_value *value,
                                     levada_error *err)
{
    char shown[LEVADA_VALUE_SHOWN];

    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s must be %s, got %s", what, rule,
                       levada_value_shown(value, LEVADA_PRINT_JSON, shown));
}

static levada_status parse_json_plugin(const levada_parser *p, const levada_value *plugin,
                                       levada_error *err)
{
    const char *name = levada_value_as_text(levada_value_get(plugin, "name"), NULL);
    int64_t     version = levada_value_as_int(levada_value_get(plugin, "version"));

    if (levada_value_kind_of(plugin) != LEVADA_VALUE_MAP || name == NULL) {
        return parse_json_must("each of plugins", "{\"name\": ..., \"version\": ...}", plugin, err);
    }
    LEVADA_TRY(parse_json_keys(plugin, "plugins", "name, version", err));
    const levada_plugin_info *info = levada_env_plugin(p->env, name, NULL);
    if (info == NULL) {
        return levada_fail(err, LEVADA_ENOT_FOUND,
                           "plug-in '%.64s' is not loaded: load its library first", name);
    }
    if (info->version < version) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "plug-in '%.64s' has version %lld, but the pipeline needs version %lld",
                           name, (long long)info->version, (long long)version);
    }
    return LEVADA_OK;
}

/* Reads the options of a stage: each value is resolved in place. */
static levada_status parse_json_args(const levada_parser *p, const char *name, levada_value *args,
                                     levada_error *err)
{
    const levada_op *op = levada_registry_find(p->env, name);

    for (int64_t i = 0; i < levada_value_count(args); i++) {
        int32_t       at = op ? levada_option_find(op->args, levada_value_key(args, i)) : -1;
        bool          names = at >= 0 && op->args[at].type == LEVADA_ARG_VALUE;
        levada_value *value = levada_value_take_at(args, i);
        levada_status status = levada_value_resolve(p, names, &value, err);
        levada_value_replace_at(args, i, &value);
        if (status == LEVADA_OK) continue;
        levada_error_wrap(err, "%s: %s", name, levada_value_key(args, i));
        return status;
    }
    return LEVADA_OK;
}

/* Makes the op on top of its inputs; `args` may be NULL. */
static levada_status parse_json_make(const levada_parser *p, const char *name, levada_value *args,
                                     levada_dataset *const *inputs, int32_t ninputs,
                                     levada_dataset **out, levada_error *err)
{
    const levada_op *op = levada_registry_find(p->env, name);
    char             shown[LEVADA_VALUE_SHOWN];

    if (op == NULL) return levada_registry_unknown(p->env, name, "", err);
    if (levada_value_kind_of(args) == LEVADA_VALUE_NULL) args = NULL;
    if (args != NULL && levada_value_kind_of(args) != LEVADA_VALUE_MAP) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s: args must be a map, got %s", name,
                           levada_value_shown(args, LEVADA_PRINT_JSON, shown));
    }
    LEVADA_TRY(parse_json_args(p, name, args, err));
    levada_making by = {.env = p->env, .within = p->within};
    return levada_dataset_make(&by, op, args, inputs, ninputs, out, err);
}

static levada_status parse_json_stages(const levada_parser *p, levada_value *stages,
                                       levada_dataset **out, levada_error *err);

static levada_status parse_json_combiner(const levada_parser *p, const char *name,
                                         levada_value *args,
                                      levada_value *lists, levada_dataset **out,
                                      levada_error *err)
{
    int64_t          n = levada_value_count(lists), done = 0;
    levada_status    status = LEVADA_OK;
    levada_dataset **inputs = NULL;
    char             shown[LEVADA_VALUE_SHOWN];

    if (levada_value_kind_of(lists) != LEVADA_VALUE_LIST || n > LEVADA_DATASET_NODES) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "%s: inputs must be a list of at most %d lists of stages, got %s", name,
                           LEVADA_DATASET_NODES,
                           levada_value_shown(lists, LEVADA_PRINT_JSON, shown));
    }
    inputs = levada_alloc_zero((size_t)n * sizeof(*inputs));
    if (inputs == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    for (; status == LEVADA_OK && done < n; done++) {
        levada_value *list = levada_value_take_at(lists, done);
        status = parse_json_stages(p, list, &inputs[done], err);
        levada_value_destroy(&list);
    }
    if (status == LEVADA_OK) {
        status = parse_json_make(p, name, args, inputs, (int32_t)n, out, err);
    }
    for (int64_t i = 0; i < n; i++) levada_dataset_unref(&inputs[i]);
    levada_free(inputs);
    return status;
}

/* Reads one stage; replaces *top, which is NULL for the first. */
static levada_status parse_json_stage(const levada_parser *p, levada_value *stage,
                                      levada_dataset **top, levada_error *err)
{
    const char     *name = levada_value_as_text(levada_value_get(stage, "op"), NULL);
    levada_value   *args = NULL, *inputs = NULL;
    levada_dataset *made = NULL;
    levada_status   status;

    if (levada_value_kind_of(stage) != LEVADA_VALUE_MAP || name == NULL) {
        return parse_json_must("each of stages", "{\"op\": ..., \"args\": {...}}", stage, err);
    }
    LEVADA_TRY(parse_json_keys(stage, "a stage", "op, inputs, args", err));
    if (levada_value_get(stage, "inputs") != NULL && *top != NULL) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%.48s: only the first of stages has "
                           "inputs", name);
    }
    args = levada_value_take(stage, "args");
    inputs = levada_value_take(stage, "inputs");
    if (inputs != NULL) status = parse_json_combiner(p, name, args, inputs, &made, err);
    else status = parse_json_make(p, name, args, top, *top != NULL ? 1 : 0, &made, err);
    levada_value_destroy(&args);
    levada_value_destroy(&inputs);
    if (status != LEVADA_OK) return status;
    levada_dataset_unref(top);
    *top = made;
    return LEVADA_OK;
}

static levada_status parse_json_stages(const levada_parser *p, levada_value *stages,
                                       levada_dataset **out, levada_error *err)
{
    levada_dataset *top = NULL;
    levada_status   status = LEVADA_OK;

    if (levada_value_kind_of(stages) != LEVADA_VALUE_LIST || levada_value_count(stages) == 0) {
        return parse_json_must("a pipeline", "a list of at least one stage", stages, err);
    }
    for (int64_t i = 0; status == LEVADA_OK && i < levada_value_count(stages); i++) {
        levada_value *stage = levada_value_take_at(stages, i);
        status = parse_json_stage(p, stage, &top, err);
        levada_value_destroy(&stage);
    }
    if (status == LEVADA_OK) *out = top;
    else levada_dataset_unref(&top);
    return status;
}

static levada_status parse_json_root(const levada_parser *p, levada_value *root,
                                     levada_dataset **out, levada_error *err)
{
    const levada_value *format = levada_value_get(root, "levada");
    const levada_value *plugins = levada_value_get(root, "plugins");

    LEVADA_TRY(parse_json_keys(root, "the pipeline", "levada, plugins, stages", err));
    if (levada_value_kind_of(format) != LEVADA_VALUE_INT || levada_value_as_int(format) != 1) {
        return parse_json_must("\"levada\" of a pipeline in JSON", "1", format, err);
    }
    for (int64_t i = 0; i < levada_value_count(plugins); i++) {
        LEVADA_TRY(parse_json_plugin(p, levada_value_item(plugins, i), err));
    }
    levada_value *stages = levada_value_take(root, "stages");
    if (stages == NULL) return parse_json_fail(err, "a pipeline must have \"stages\", got none");
    levada_status status = parse_json_stages(p, stages, out, err);
    levada_value_destroy(&stages);
    return status;
}

/* -- entries */

/* Takes *dataset. */
static levada_status parse_value_of(levada_dataset **dataset, levada_value **out,
                                    levada_error *err)
{
    *out = levada_value_pipe(*dataset);
    levada_dataset_unref(dataset);
    return *out != NULL ? LEVADA_OK
                        : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
}

static levada_status parse_pipe_hook(levada_parser *p, levada_value **out, levada_error *err)
{
    levada_dataset *dataset = NULL;

    LEVADA_TRY(parse_pipe(p, &dataset, err));
    return parse_value_of(&dataset, out, err);
}

static levada_status parse_stages_hook(const levada_parser *p, levada_value *stages,
                                       levada_value **out, levada_error *err)
{
    levada_dataset *dataset = NULL;

    LEVADA_TRY(parse_json_stages(p, stages, &dataset, err));
    return parse_value_of(&dataset, out, err);
}

static const levada_parse_hooks parse_hooks = {parse_pipe_hook, parse_stages_hook};

levada_status levada_dataset_parse(levada_env *env, const char *text, levada_dataset **out,
                                   levada_error *err)
{
    levada_parser p;
    levada_value *root = NULL;

    LEVADA_TRY(levada_require(text != NULL, "text", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_env_have(env, err));
    LEVADA_TRY(levada_parser_init(&p, env, text, strlen(text), err));
    p.make = &parse_hooks;
    if (levada_parser_peek(&p) != '{') return parse_pipe_all(&p, out, err);
    LEVADA_TRY(levada_parse_whole(&p, false, &root, err));
    levada_status status = parse_json_root(&p, root, out, err);
    levada_value_destroy(&root);
    return status;
}

/* Parses a text that is one value, and resolves its marks. */
static levada_status parse_value(levada_parser *p, bool plain, levada_value **out,
                                 levada_error *err)
{
    levada_value *value = NULL;

    p->make = &parse_hooks;
    LEVADA_TRY(levada_parse_whole(p, plain, &value, err));
    levada_status status = levada_value_resolve(p, false, &value, err);
    if (status == LEVADA_OK) *out = value;
    else levada_value_destroy(&value);
    return status;
}

levada_status levada_value_parse(const char *text, levada_value **out, levada_error *err)
{
    LEVADA_TRY(levada_require(text != NULL, "text", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_parser p;

    LEVADA_TRY(levada_parser_init(&p, NULL, text, strlen(text), err));
    p.limit = LEVADA_NEST_RAW - 1;
    return parse_value(&p, false, out, err);
}

/* Names of the stages, the outermost first. */
static void parse_default_names(const levada_default_path *path, levada_text *names)
{
    if (path->outer != NULL) parse_default_names(path->outer, names);
    levada_text_format(names, "%s%s", names->size > 0 ? ", " : "", path->op->name);
}

/* Refuses a default that holds itself, or more in each other than a dataset may nest. */
static levada_status parse_default_path(const levada_default_path *path, levada_error *err)
{
    levada_text names = {0};
    bool        deep = path->depth > LEVADA_NEST_VALUE, back = false;

    for (const levada_default_path *at = path->outer; at != NULL; at = at->outer) {
        back = back || at->arg == path->arg;
    }
    if (!back && !deep) return LEVADA_OK;
    parse_default_names(path->outer, &names);
    levada_status status =
        levada_fail(err, LEVADA_EINVALID_ARGUMENT, "the default pipelines of %s must %s",
                    names.at != NULL ? names.at : "",
                    back ? "not contain their own stages" : "be nested less deeply");
    levada_text_clear(&names);
    return status;
}

static levada_status parse_default(levada_env *env, const levada_default_path *path,
                                   levada_value **out, levada_error *err)
{
    const levada_arg *arg = path->arg;
    levada_parser     p;

    LEVADA_TRY(parse_default_path(path, err));
    LEVADA_TRY(levada_parser_init(&p, env, arg->otherwise, strlen(arg->otherwise), err));
    p.within = path;
    LEVADA_TRY(parse_value(&p, levada_option_holds_text(arg->type), out, err));
    return levada_option_convert(arg, out, err);
}

levada_status levada_parse_default(levada_env *env, const levada_op *op, const levada_arg *arg,
                                   const levada_default_path *outer, levada_value **out,
                                   levada_error *err)
{
    levada_default_path path = {op, arg, outer, outer != NULL ? outer->depth + 1 : 1};
    levada_value       *value = NULL;
    levada_status       status = LEVADA_OK;

    if (arg->otherwise != NULL) status = parse_default(env, &path, &value, err);
    else if (arg->type == LEVADA_ARG_CHOICE) {
        value = levada_value_text(arg->choices, strcspn(arg->choices, "|"));
    } else if (arg->type == LEVADA_ARG_BOOL) value = levada_value_bool(false);
    else value = levada_value_null();
    if (status != LEVADA_OK) levada_error_wrap(err, "default of option '%s'", arg->name);
    else if (value == NULL) {
        status = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    }
    if (status == LEVADA_OK) *out = value;
    else levada_value_destroy(&value);
    return status;
}
