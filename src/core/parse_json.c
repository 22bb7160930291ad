/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datasets as JSON: {"levada":1,"plugins":[...],"stages":[{"op":...,"args":{...}},...]}.
 */
#include "core/parse.h"

#include "base/alloc.h"

#include <string.h>

static levada_status parse_json_fail(levada_error *err, const char *what)
{
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s", what);
}

/* Every key of the map must stand in allowed, a list like "a, b". */
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

static levada_status parse_json_plugin(levada_env *env, const levada_value *plugin,
                                       levada_error *err)
{
    const char *name = levada_value_as_text(levada_value_get(plugin, "name"), NULL);
    int64_t     version = levada_value_as_int(levada_value_get(plugin, "version"));

    if (levada_value_kind_of(plugin) != LEVADA_VALUE_MAP || name == NULL) {
        return parse_json_fail(err, "each of plugins must be {\"name\": ..., \"version\": ...}");
    }
    LEVADA_TRY(parse_json_keys(plugin, "plugins", "name, version", err));
    const levada_plugin_info *info = levada_env_plugin(env, name, NULL);
    if (info == NULL) {
        return levada_fail(err, LEVADA_ENOT_FOUND,
                           "plug-in '%.64s' is not loaded; descriptions load nothing by "
                           "themselves: load its library first", name);
    }
    if (info->version < version) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION, "plug-in '%.64s' is loaded in version "
                           "%lld, the description is of version %lld", name,
                           (long long)info->version, (long long)version);
    }
    return LEVADA_OK;
}

/* The options of a stage: each value is resolved in place. */
static levada_status parse_json_args(levada_env *env, const char *op, levada_value *args,
                                     levada_error *err)
{
    for (int64_t i = 0; i < levada_value_count(args); i++) {
        levada_value *value = levada_value_take_at(args, i);
        levada_status status = levada_value_resolve(env, &value, err);
        levada_value_replace_at(args, i, &value);
        if (status == LEVADA_OK) continue;
        levada_error_wrap(err, "%s: %s", op, levada_value_key(args, i));
        return status;
    }
    return LEVADA_OK;
}

/* The op on top of its inputs; `args` may be NULL. */
static levada_status parse_json_make(levada_env *env, const char *name, levada_value *args,
                                     levada_dataset *const *inputs, int32_t ninputs,
                                     levada_dataset **out, levada_error *err)
{
    const levada_op *op = levada_registry_find(env, name);

    if (op == NULL) return levada_registry_unknown(env, name, "", err);
    if (levada_value_kind_of(args) == LEVADA_VALUE_NULL) args = NULL;
    if (args != NULL && levada_value_kind_of(args) != LEVADA_VALUE_MAP) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s: args must be a map", name);
    }
    LEVADA_TRY(parse_json_args(env, name, args, err));
    return levada_dataset_make(env, op, args, inputs, ninputs, NULL, out, err);
}

static levada_status parse_json_joint(levada_env *env, const char *name, levada_value *args,
                                      levada_value *lists, levada_dataset **out,
                                      levada_error *err)
{
    int64_t          n = levada_value_count(lists), done = 0;
    levada_status    status = LEVADA_OK;
    levada_dataset **inputs = NULL;

    if (levada_value_kind_of(lists) != LEVADA_VALUE_LIST || n > LEVADA_DATASET_NODES) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s: inputs must be a list of lists of "
                           "stages", name);
    }
    inputs = levada_alloc_zero((size_t)n * sizeof(*inputs));
    if (inputs == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    for (; status == LEVADA_OK && done < n; done++) {
        levada_value *list = levada_value_take_at(lists, done);
        status = levada_parse_stages(env, list, &inputs[done], err);
        levada_value_destroy(&list);
    }
    if (status == LEVADA_OK) {
        status = parse_json_make(env, name, args, inputs, (int32_t)n, out, err);
    }
    for (int64_t i = 0; i < n; i++) levada_dataset_unref(&inputs[i]);
    levada_free(inputs);
    return status;
}

/* One stage; replaces *top, which is NULL for the first. */
static levada_status parse_json_stage(levada_env *env, levada_value *stage, levada_dataset **top,
                                      levada_error *err)
{
    const char     *name = levada_value_as_text(levada_value_get(stage, "op"), NULL);
    levada_value   *args = NULL, *inputs = NULL;
    levada_dataset *made = NULL;
    levada_status   status;

    if (levada_value_kind_of(stage) != LEVADA_VALUE_MAP || name == NULL) {
        return parse_json_fail(err, "each of stages must be {\"op\": ..., \"args\": {...}}");
    }
    LEVADA_TRY(parse_json_keys(stage, "a stage", "op, inputs, args", err));
    if (levada_value_get(stage, "inputs") != NULL && *top != NULL) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%.48s: only the first of stages has "
                           "inputs", name);
    }
    args = levada_value_take(stage, "args");
    inputs = levada_value_take(stage, "inputs");
    if (inputs != NULL) status = parse_json_joint(env, name, args, inputs, &made, err);
    else status = parse_json_make(env, name, args, top, *top != NULL ? 1 : 0, &made, err);
    levada_value_destroy(&args);
    levada_value_destroy(&inputs);
    if (status != LEVADA_OK) return status;
    levada_dataset_unref(top);
    *top = made;
    return LEVADA_OK;
}

levada_status levada_parse_stages(levada_env *env, levada_value *stages, levada_dataset **out,
                                  levada_error *err)
{
    levada_dataset *top = NULL;
    levada_status   status = LEVADA_OK;

    if (levada_value_kind_of(stages) != LEVADA_VALUE_LIST || levada_value_count(stages) == 0) {
        return parse_json_fail(err, "a pipe must be a list of stages");
    }
    for (int64_t i = 0; status == LEVADA_OK && i < levada_value_count(stages); i++) {
        levada_value *stage = levada_value_take_at(stages, i);
        status = parse_json_stage(env, stage, &top, err);
        levada_value_destroy(&stage);
    }
    if (status == LEVADA_OK) *out = top;
    else levada_dataset_unref(&top);
    return status;
}

levada_status levada_parse_json(levada_env *env, levada_value *root, levada_dataset **out,
                                levada_error *err)
{
    const levada_value *format = levada_value_get(root, "levada");
    const levada_value *plugins = levada_value_get(root, "plugins");

    LEVADA_TRY(parse_json_keys(root, "the description", "levada, plugins, stages", err));
    if (levada_value_kind_of(format) != LEVADA_VALUE_INT || levada_value_as_int(format) != 1) {
        return parse_json_fail(err, "a description in JSON begins with {\"levada\": 1");
    }
    for (int64_t i = 0; i < levada_value_count(plugins); i++) {
        LEVADA_TRY(parse_json_plugin(env, levada_value_item(plugins, i), err));
    }
    levada_value *stages = levada_value_take(root, "stages");
    if (stages == NULL) return parse_json_fail(err, "the description has no stages");
    levada_status status = levada_parse_stages(env, stages, out, err);
    levada_value_destroy(&stages);
    return status;
}
