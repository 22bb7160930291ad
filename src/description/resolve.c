/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What JSON has no notation for is written as a map with one entry: {"base64": "..."} are bytes,
 * {"float": "nan"} is a float, {"py": "module:name"} and {"c": "name"} are functions, {"block":
 * null} was data of a process, {"pipe": [...]} is a pipe, and {"map": {...}} a map that only looks
 * like one of these.
 */
#include "description/parse.h"

#include "base/alloc.h"
#include "option/value_priv.h"

#include <math.h>
#include <string.h>

static levada_status resolve_no_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a pipeline");
}

static int resolve_digit(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Returns the number of bytes of n digits with padding; -1 where they are no base64 as it is
 * written canonically. */
static int64_t resolve_decode(const char *text, size_t n, uint8_t *to)
{
    uint8_t *begin = to;
    size_t   pad = n > 1 && text[n - 1] == '=' ? (text[n - 2] == '=' ? 2 : 1) : 0;

    if (n % 4 != 0) return -1;
    for (size_t i = 0; i < n; i += 4) {
        uint32_t bits = 0;
        size_t   fill = i + 4 == n ? pad : 0;
        for (size_t k = 0; k < 4; k++) {
            int digit = k < 4 - fill ? resolve_digit(text[i + k]) : 0;
            if (digit < 0) return -1;
            bits = bits << 6 | (uint32_t)digit;
        }
        if ((fill == 1 && (bits & 0xFFu) != 0) || (fill == 2 && (bits & 0xFFFFu) != 0)) return -1;
        *to++ = (uint8_t)(bits >> 16);
        if (fill < 2) *to++ = (uint8_t)(bits >> 8);
        if (fill < 1) *to++ = (uint8_t)bits;
    }
    return to - begin;
}

/* Reports that the value of {"key": ...} is not what the key stands for. */
static levada_status resolve_must(const char *key, const char *what, const levada_value *content,
                                  levada_error *err)
{
    char shown[LEVADA_VALUE_SHOWN];

    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "{\"%s\": ...} must hold %s, got %s", key,
                       what, levada_value_shown(content, LEVADA_PRINT_JSON, shown));
}

static levada_status resolve_base64(const levada_value *content, levada_value **out,
                                    levada_error *err)
{
    size_t      n = 0;
    const char *text = levada_value_as_text(content, &n);

    if (levada_value_kind_of(content) != LEVADA_VALUE_TEXT) {
        return resolve_must("base64", "a string of base64", content, err);
    }
    uint8_t *bytes = levada_alloc(n);
    if (bytes == NULL) return resolve_no_memory(err);
    int64_t size = resolve_decode(text, n, bytes);
    if (size >= 0) *out = levada_value_bytes(bytes, (size_t)size);
    levada_free(bytes);
    if (size < 0) {
        return resolve_must("base64", "valid base64", content, err);
    }
    return *out != NULL ? LEVADA_OK : resolve_no_memory(err);
}

static levada_status resolve_float(const levada_value *content, levada_value **out,
                                   levada_error *err)
{
    const char *text = levada_value_as_text(content, NULL);

    if (levada_value_kind_of(content) == LEVADA_VALUE_FLOAT) { /* the words nan and inf */
        *out = levada_value_float(levada_value_as_float(content));
    } else if (text != NULL && strcmp(text, "nan") == 0) {
        *out = levada_value_float(NAN);
    } else if (text != NULL && strcmp(text, "inf") == 0) {
        *out = levada_value_float(INFINITY);
    } else if (text != NULL && strcmp(text, "-inf") == 0) {
        *out = levada_value_float(-INFINITY);
    } else {
        return resolve_must("float", "\"nan\", \"inf\" or \"-inf\"", content, err);
    }
    return *out != NULL ? LEVADA_OK : resolve_no_memory(err);
}

static levada_status resolve_function(levada_env *env, const char *kind,
                                      const levada_value *content, levada_value **out,
                                      levada_error *err)
{
    levada_function *function = NULL;
    const char      *name = levada_value_as_text(content, NULL);

    if (levada_value_kind_of(content) == LEVADA_VALUE_NULL) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the function has no name, so the text of a pipeline cannot refer to "
                           "it");
    }
    if (levada_value_kind_of(content) != LEVADA_VALUE_TEXT) {
        return resolve_must(kind, "the name of a function", content, err);
    }
    LEVADA_TRY(levada_env_find_function(env, kind, name, &function, err));
    *out = levada_value_function(function);
    levada_function_unref(&function);
    return *out != NULL ? LEVADA_OK : resolve_no_memory(err);
}

static levada_status resolve_pipe(const levada_parser *p, levada_value *content,
                                  levada_value **out, levada_error *err)
{
    if (levada_value_kind_of(content) != LEVADA_VALUE_PIPE) {
        return p->make->stages(p, content, out, err);
    }
    *out = levada_value_copy(content);
    return *out != NULL ? LEVADA_OK : resolve_no_memory(err);
}

static levada_status resolve_inside(const levada_parser *p, bool names, levada_value *value,
                                    levada_error *err)
{
    for (int64_t i = 0; i < levada_value_count(value); i++) {
        if (levada_value_count(levada_value_item(value, i)) == 0) continue;
        levada_value *item = levada_value_take_at(value, i);
        levada_status status = levada_value_resolve(p, names, &item, err);
        levada_value_replace_at(value, i, &item);
        if (status != LEVADA_OK) return status;
    }
    return LEVADA_OK;
}

/* Resolves a map of one entry with a key that means something. */
static levada_status resolve_mark(const levada_parser *p, bool names, levada_value *map,
                                  levada_value **out, levada_error *err)
{
    const char   *key = levada_value_key(map, 0);
    levada_value *content = levada_value_take_at(map, 0);
    levada_status status = LEVADA_OK;

    if (strcmp(key, "base64") == 0) status = resolve_base64(content, out, err);
    else if (strcmp(key, "float") == 0) status = resolve_float(content, out, err);
    else if (strcmp(key, "pipe") == 0) status = resolve_pipe(p, content, out, err);
    else if (strcmp(key, "block") == 0) {
        status = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                             "the data of from_records or from_arrays is not in the text of a "
                             "pipeline; create the dataset in Python");
    } else if (strcmp(key, "map") == 0) {
        status = resolve_inside(p, names, content, err);
        if (status == LEVADA_OK && levada_value_kind_of(content) != LEVADA_VALUE_MAP) {
            status = resolve_must(key, "a map, such as {\"a\": 1}", content, err);
        }
        if (status == LEVADA_OK) {
            *out = content;
            content = NULL;
        }
    } else status = resolve_function(p->env, key, content, out, err);
    levada_value_destroy(&content);
    return status;
}

/* Resolves a map of one entry whose key means something. What a mark holds is never a map
 * itself, except that of "map", which is one that looks like a mark: so a feature may be named
 * "c" or "py". */
static bool resolve_marks(const levada_value *value)
{
    const char         *key = levada_value_key(value, 0);
    const levada_value *content = levada_value_item(value, 0);

    if (key == NULL || levada_value_count(value) != 1 || !levada_value_marks(key)) return false;
    if (levada_value_kind_of(content) != LEVADA_VALUE_MAP) return true;
    if (strcmp(key, "map") != 0 || levada_value_count(content) != 1) return false;
    return levada_value_marks(levada_value_key(content, 0));
}

/* Returns whether a marked map can only be one of a field with the name of the mark, such as
 * {c: "value + 1"}. */
static bool resolve_is_name(const levada_parser *p, const levada_value *map)
{
    const char         *key = levada_value_key(map, 0);
    const levada_value *content = levada_value_item(map, 0);
    const char         *text = levada_value_as_text(content, NULL);
    levada_function    *function = NULL;
    levada_status       st;

    if (strcmp(key, "c") != 0 && strcmp(key, "py") != 0) return false;
    if (!text) return levada_value_kind_of(content) != LEVADA_VALUE_NULL;
    if (strcmp(key, "py") == 0 && strchr(text, ':')) return false;
    st = levada_env_find_function(p->env, key, text, &function, NULL);
    levada_function_unref(&function);
    return st == LEVADA_ENOT_FOUND;
}

levada_status levada_value_resolve(const levada_parser *p, bool names, levada_value **value,
                                   levada_error *err)
{
    levada_value *made = NULL;

    if (!resolve_marks(*value) || (names && resolve_is_name(p, *value))) {
        return resolve_inside(p, names, *value, err);
    }
    levada_status status = resolve_mark(p, names, *value, &made, err);
    if (status != LEVADA_OK) return status;
    levada_value_destroy(value);
    *value = made;
    return LEVADA_OK;
}
