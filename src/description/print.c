/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datasets as text, as canonical JSON, and as what is hashed for the fingerprint.
 */
#include "description/dataset_priv.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <string.h>

/* Prints only the last part of a path, for fingerprints, because files may move. */
static void print_base_names(levada_text *text, const levada_value *value)
{
    const char *path = levada_value_as_text(value, NULL);

    if (path != NULL) {
        path = levada_base_name(path);
        levada_text_json(text, path, strlen(path));
        return;
    }
    levada_text_char(text, '[');
    for (int64_t i = 0; i < levada_value_count(value); i++) {
        if (i > 0) levada_text_char(text, ',');
        print_base_names(text, levada_value_item(value, i));
    }
    levada_text_char(text, ']');
}

/* Prints the options; `own`: without the options of all formats. */
static void print_json_args(levada_text *text, const levada_dataset *ds, levada_print how,
                            bool own)
{
    bool hash = how == LEVADA_PRINT_HASH, first = true;

    levada_text_put(text, "\"args\":{");
    for (int32_t i = 0; ds->op->args[i].name != NULL; i++) {
        const levada_arg   *arg = &ds->op->args[i];
        const levada_value *value = levada_value_item(ds->options, i);
        if (hash && arg->tuning) continue;
        if (own && arg->offset >= ds->op->core_offset) continue;
        levada_text_format(text, "%s\"%s\":", first ? "" : ",", arg->name);
        if (hash && arg->paths) print_base_names(text, value);
        else levada_value_print(text, value, how);
        first = false;
    }
    levada_text_char(text, '}');
}

/* Fingerprints omit the stages that deal records to ranks: states compare those themselves. */
static bool print_skips(const levada_dataset *ds, levada_print how)
{
    return how == LEVADA_PRINT_HASH && ds->op->traits.shards;
}

static void print_json_stages(levada_text *text, const levada_dataset *ds, levada_print how)
{
    bool combiner = ds->op->family == LEVADA_FAMILY_COMBINER;

    if (!combiner && ds->ninputs == 1) {
        print_json_stages(text, ds->inputs[0], how);
        if (print_skips(ds, how)) return;
        levada_text_char(text, ',');
    }
    levada_text_format(text, "{\"op\":\"%s\",", ds->op->name);
    if (combiner && ds->ninputs > 0) {
        levada_text_put(text, "\"inputs\":[");
        for (int32_t i = 0; i < ds->ninputs; i++) {
            if (i > 0) levada_text_char(text, ',');
            levada_dataset_print(text, ds->inputs[i], how);
        }
        levada_text_put(text, "],");
    }
    print_json_args(text, ds, how, false);
    levada_text_char(text, '}');
}

void levada_dataset_print_own(levada_text *text, const levada_dataset *ds)
{
    levada_text_format(text, "{\"op\":\"%s\",", ds->op->name);
    print_json_args(text, ds, LEVADA_PRINT_HASH, ds->op->family == LEVADA_FAMILY_FORMAT);
    levada_text_char(text, '}');
}

/* Returns true if both print alike. Without memory, text fails. */
static bool print_same(levada_text *text, const levada_value *a, const levada_value *b)
{
    levada_text one = {0}, two = {0};

    levada_value_print(&one, a, LEVADA_PRINT_JSON);
    levada_value_print(&two, b, LEVADA_PRINT_JSON);
    text->failed = text->failed || one.failed || two.failed;
    bool same = !text->failed && strcmp(one.at, two.at) == 0;
    levada_text_clear(&one);
    levada_text_clear(&two);
    return same;
}

static bool print_is_default(levada_text *text, const levada_dataset *ds, int32_t i)
{
    const levada_arg *arg = &ds->op->args[i];
    levada_value     *otherwise = NULL;

    if (arg->required) return false;
    if (levada_parse_default(ds->env, ds->op, arg, NULL, &otherwise, NULL) != LEVADA_OK) {
        text->failed = true;
        return false;
    }
    bool same = print_same(text, otherwise, levada_value_item(ds->options, i));
    levada_value_destroy(&otherwise);
    return same;
}

/* Prints a value; a list of one item is printed as the item, a form that the parser accepts. */
static void print_text_value(levada_text *text, const levada_dataset *ds, int32_t i)
{
    const levada_arg   *arg = &ds->op->args[i];
    const levada_value *value = levada_value_item(ds->options, i);
    bool                list = levada_option_is_list(arg->type);

    if (list && levada_value_count(value) == 1) value = levada_value_item(value, 0);
    levada_value_print(text, value, levada_option_print(arg));
}

/* Prints the positional option first, the others by name in table order, and omits defaults. */
static void print_text_args(levada_text *text, const levada_dataset *ds)
{
    int32_t positional = levada_option_positional(ds->op->args);
    char    gap = ':';

    if (positional >= 0 && !print_is_default(text, ds, positional)) {
        levada_text_char(text, gap);
        print_text_value(text, ds, positional);
        gap = ',';
    }
    for (int32_t i = 0; ds->op->args[i].name != NULL; i++) {
        if (i == positional || print_is_default(text, ds, i)) continue;
        levada_text_format(text, "%c%s=", gap, ds->op->args[i].name);
        print_text_value(text, ds, i);
        gap = ',';
    }
}

static void print_text_stages(levada_text *text, const levada_dataset *ds)
{
    if (ds->ninputs == 1) {
        print_text_stages(text, ds->inputs[0]);
        levada_text_put(text, " | ");
    }
    levada_text_put(text, ds->op->name);
    if (ds->ninputs > 1) {
        levada_text_char(text, '(');
        for (int32_t i = 0; i < ds->ninputs; i++) {
            if (i > 0) levada_text_put(text, "; ");
            print_text_stages(text, ds->inputs[i]);
        }
        levada_text_char(text, ')');
    }
    print_text_args(text, ds);
}

void levada_dataset_print(levada_text *text, const levada_dataset *dataset, levada_print how)
{
    if (how == LEVADA_PRINT_TEXT || how == LEVADA_PRINT_PLAIN) {
        print_text_stages(text, dataset);
        return;
    }
    levada_text_char(text, '[');
    print_json_stages(text, dataset, how);
    levada_text_char(text, ']');
}

levada_status levada_dataset_text(const levada_dataset *dataset, char **out, levada_error *err)
{
    levada_text text = {0};

    LEVADA_TRY(levada_require(dataset != NULL, "dataset", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_dataset_print(&text, dataset, LEVADA_PRINT_TEXT);
    return levada_text_steal(&text, out, err);
}

/* Names of the plug-ins that a dataset needs, sorted. */
typedef struct print_plugins {
    const char **names;
    int64_t      n, capacity;
    bool         failed; /* memory was short */
} print_plugins;

static void print_add_plugin(print_plugins *found, const char *name)
{
    int64_t at = 0;

    while (at < found->n && strcmp(found->names[at], name) < 0) at++;
    if (at < found->n && strcmp(found->names[at], name) == 0) return;
    if (!levada_reserve(&found->names, &found->capacity, found->n + 1, sizeof(*found->names))) {
        found->failed = true;
        return;
    }
    for (int64_t i = found->n++; i > at; i--) found->names[i] = found->names[i - 1];
    found->names[at] = name;
}

static void print_find_plugins(const levada_dataset *ds, print_plugins *found);

static void print_find_in_value(const levada_value *value, print_plugins *found)
{
    const levada_dataset *pipe = levada_value_as_pipe(value);

    if (pipe != NULL) print_find_plugins(pipe, found);
    for (int64_t i = 0; i < levada_value_count(value); i++) {
        print_find_in_value(levada_value_item(value, i), found);
    }
}

static void print_find_plugins(const levada_dataset *ds, print_plugins *found)
{
    if (ds->op->plugin != NULL) print_add_plugin(found, ds->op->plugin);
    print_find_in_value(ds->options, found);
    for (int32_t i = 0; i < ds->ninputs; i++) print_find_plugins(ds->inputs[i], found);
}

levada_status levada_dataset_json(const levada_dataset *dataset, char **out, levada_error *err)
{
    levada_text   text = {0};
    print_plugins found = {0};

    LEVADA_TRY(levada_require(dataset != NULL, "dataset", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    print_find_plugins(dataset, &found);
    levada_text_put(&text, "{\"levada\":1,\"plugins\":[");
    for (int64_t i = 0; i < found.n; i++) {
        const levada_plugin_info *info = levada_env_plugin(dataset->env, found.names[i], NULL);
        levada_text_put(&text, i > 0 ? ",{\"name\":" : "{\"name\":");
        levada_text_json(&text, found.names[i], strlen(found.names[i]));
        levada_text_format(&text, ",\"version\":%lld}",
                           info != NULL ? (long long)info->version : 0LL);
    }
    text.failed = text.failed || found.failed;
    levada_free(found.names);
    levada_text_put(&text, "],\"stages\":");
    levada_dataset_print(&text, dataset, LEVADA_PRINT_JSON);
    levada_text_char(&text, '}');
    return levada_text_steal(&text, out, err);
}
