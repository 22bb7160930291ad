/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite: numbers beyond the limits of an option are refused, by its name.
 */
#include "conform.h"
#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- values are copied: those of a dataset are its own. NULL when memory is short. */

static levada_value *conform_limits_leaf(const levada_value *value)
{
    size_t      size = 0;
    const char *text = levada_value_as_text(value, &size);

    switch (levada_value_kind_of(value)) {
    case LEVADA_VALUE_BOOL: return levada_value_bool(levada_value_as_bool(value));
    case LEVADA_VALUE_INT: return levada_value_int(levada_value_as_int(value));
    case LEVADA_VALUE_FLOAT: return levada_value_float(levada_value_as_float(value));
    case LEVADA_VALUE_TEXT: return levada_value_text(text, size);
    case LEVADA_VALUE_BYTES: return levada_value_bytes(text, size);
    case LEVADA_VALUE_PIPE: return levada_value_pipe(levada_value_as_pipe(value));
    case LEVADA_VALUE_FUNCTION: return levada_value_function(levada_value_as_function(value));
    case LEVADA_VALUE_BLOCK: return levada_value_block(levada_value_as_block(value));
    default: return levada_value_null();
    }
}

static levada_value *conform_limits_copy(const levada_value *value)
{
    bool          list = levada_value_kind_of(value) == LEVADA_VALUE_LIST;
    bool          map = levada_value_kind_of(value) == LEVADA_VALUE_MAP;
    levada_value *copy = NULL;
    levada_status st = LEVADA_OK;

    if (!list && !map) return conform_limits_leaf(value);
    copy = list ? levada_value_list() : levada_value_map();
    for (int64_t i = 0; copy && st == LEVADA_OK && i < levada_value_count(value); i++) {
        const char         *key = levada_value_key(value, i);
        const levada_value *from = map ? levada_value_get(value, key) : levada_value_item(value, i);
        levada_value       *item = conform_limits_copy(from);

        if (!item) st = LEVADA_ERESOURCE_EXHAUSTED;
        else if (map) st = levada_value_set(copy, key, &item, NULL);
        else st = levada_value_push(copy, &item, NULL);
        levada_value_destroy(&item);
    }
    if (st != LEVADA_OK) levada_value_destroy(&copy);
    return copy;
}

/* -- the stage of that name, with one option at a value */

/* Finds the dataset in the example; NULL = nowhere. */
static const levada_dataset *conform_limits_find(const levada_dataset *at, const char *name)
{
    const levada_dataset *found = strcmp(levada_dataset_name(at), name) == 0 ? at : NULL;

    for (int32_t i = 0; !found && i < levada_dataset_inputs(at); i++) {
        found = conform_limits_find(levada_dataset_input(at, i), name);
    }
    return found;
}

static levada_value *conform_limits_options(const levada_dataset *at, const char *name,
                                            int64_t value)
{
    const levada_value *all = levada_dataset_options(at);
    levada_value       *map = levada_value_map();
    levada_status       st = LEVADA_OK;

    for (int64_t i = 0; map && st == LEVADA_OK && i < levada_value_count(all); i++) {
        const char   *key = levada_value_key(all, i);
        bool          this = strcmp(key, name) == 0;
        levada_value *item = this ? levada_value_int(value)
                                  : conform_limits_copy(levada_value_get(all, key));

        st = item ? levada_value_set(map, key, &item, NULL) : LEVADA_ERESOURCE_EXHAUSTED;
        levada_value_destroy(&item);
    }
    if (st != LEVADA_OK) levada_value_destroy(&map);
    return map;
}

static levada_status conform_limits_try(const levada_conform *c, const levada_dataset *at,
                                        const char *name, int64_t value, levada_error *err)
{
    int32_t                n = levada_dataset_inputs(at);
    levada_value          *options = conform_limits_options(at, name, value);
    const levada_dataset **inputs = calloc((size_t)n + 1, sizeof(*inputs));
    levada_dataset        *made = NULL;
    levada_status          st;

    for (int32_t i = 0; inputs && i < n; i++) inputs[i] = levada_dataset_input(at, i);
    if (options && inputs) {
        st = levada_dataset_append(c->env, c->name, options, inputs, n, &made, err);
    } else {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    }
    levada_dataset_unref(&made);
    levada_value_destroy(&options);
    free(inputs);
    return st;
}

/* -- the limits */

static levada_conform_verdict conform_limits_refused(levada_conform *c, const levada_dataset *at,
                                                     const char *name, int64_t value)
{
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st = conform_limits_try(c, at, name, value, &err);

    if (st == LEVADA_EINVALID_ARGUMENT && strstr(err.message, name)) return LEVADA_CONFORM_GOOD;
    levada_conform_look(c, "check(): it refuses with EINVALID_ARGUMENT and names the option");
    return levada_conform_broken(c, "%s=%lld: %s '%s'", name, (long long)value,
                                 levada_status_name(st), err.message);
}

static levada_conform_verdict conform_limits_option(levada_conform *c, const levada_dataset *at,
                                                    const levada_value *arg, int64_t *tried)
{
    const char            *name = levada_cli_json_string(arg, "name");
    const char            *type = levada_cli_json_string(arg, "type");
    const levada_value    *min = levada_value_get(arg, "min"), *max = levada_value_get(arg, "max");
    levada_conform_verdict verdict = LEVADA_CONFORM_GOOD;

    if (strcmp(type, "int") != 0 && strcmp(type, "size") != 0) return verdict;
    /* INT64_MIN is how null is written, and INT64_MIN + 1 is not a limit either. */
    if (levada_value_kind_of(min) == LEVADA_VALUE_INT && levada_value_as_int(min) > INT64_MIN + 1) {
        verdict = conform_limits_refused(c, at, name, levada_value_as_int(min) - 1);
        ++*tried;
    }
    if (verdict == LEVADA_CONFORM_GOOD && levada_value_kind_of(max) == LEVADA_VALUE_INT
        && levada_value_as_int(max) < INT64_MAX) {
        verdict = conform_limits_refused(c, at, name, levada_value_as_int(max) + 1);
        ++*tried;
    }
    return verdict;
}

static levada_conform_verdict conform_limits_all(levada_conform *c, const levada_value *stages,
                                                 const levada_dataset *at, int64_t *tried)
{
    levada_conform_verdict verdict = LEVADA_CONFORM_GOOD;

    for (int64_t i = 0; i < levada_value_count(stages); i++) {
        const levada_value *op = levada_value_item(stages, i);
        const levada_value *args = levada_cli_json_get(op, "args");

        if (strcmp(levada_cli_json_string(op, "name"), c->name) != 0) continue;
        for (int64_t k = 0; verdict == LEVADA_CONFORM_GOOD && k < levada_value_count(args); k++) {
            verdict = conform_limits_option(c, at, levada_value_item(args, k), tried);
        }
    }
    return verdict;
}

levada_conform_verdict levada_conform_limits(levada_conform *c)
{
    levada_dataset        *dataset = NULL;
    const levada_dataset  *at;
    levada_value          *stages = NULL;
    int64_t                tried = 0;
    levada_error           err = LEVADA_ERROR_INIT;
    levada_conform_verdict verdict = levada_conform_prepare(c);
    levada_status          st;

    if (verdict != LEVADA_CONFORM_GOOD) return verdict;
    st = levada_dataset_parse(c->env, c->example, &dataset, &err);
    if (st == LEVADA_OK) st = levada_cli_json_stages(c->env, &stages, &err);
    at = st == LEVADA_OK ? conform_limits_find(dataset, c->name) : NULL;
    if (st != LEVADA_OK) {
        verdict = levada_conform_failed(c, c->example, &err);
    } else if (!at) {
        levada_conform_look(c, "its example");
        verdict = levada_conform_broken(c, "%s does not use %s", c->example, c->name);
    } else {
        verdict = conform_limits_all(c, stages, at, &tried);
    }
    levada_value_destroy(&stages);
    levada_dataset_unref(&dataset);
    (void)snprintf(c->note, sizeof c->note, "%lld values", (long long)tried);
    return verdict;
}
