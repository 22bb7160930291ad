/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may be given for an option: each type's conversions and limits.
 */
#include "option/option_priv.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Fails with "name=value must be ...", with the value cut if it is long. */
LEVADA_PRINTF(4, 5)
static levada_status convert_fail(const levada_arg *arg, const levada_value *value,
                                  levada_error *err, const char *fmt, ...)
{
    char    rule[160], shown[LEVADA_VALUE_SHOWN];
    va_list args;

    va_start(args, fmt);
    int n = vsnprintf(rule, sizeof(rule), fmt, args);
    va_end(args);
    if (n < 0) rule[0] = '\0';
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s=%s %s", arg->name,
                       levada_value_shown(value, levada_option_print(arg), shown), rule);
}

static levada_status convert_replace(levada_value **value, levada_value *made, levada_error *err)
{
    if (made == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    levada_value_destroy(value);
    *value = made;
    return LEVADA_OK;
}

/* Reads "4K", "4M", "4G" and plain digits. */
static bool convert_size(const char *text, size_t n, int64_t *out)
{
    int64_t value = 0;
    int     shift = 0;

    if (n > 1 && text[n - 1] == 'K') shift = 10;
    if (n > 1 && text[n - 1] == 'M') shift = 20;
    if (n > 1 && text[n - 1] == 'G') shift = 30;
    if (shift > 0) n--;
    if (n == 0) return false;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9' || value > INT64_MAX / 16) return false;
        value = value * 10 + (text[i] - '0');
    }
    if (value > INT64_MAX >> shift) return false;
    *out = value << shift;
    return true;
}

/* Reads an integer. A float is not an integer, even without a fraction, because it is often the
 * result of a division that has a fraction for other numbers. */
static bool convert_is_int(const levada_arg *arg, const levada_value *value, int64_t *out)
{
    size_t      n = 0;
    const char *text = levada_value_as_text(value, &n);

    switch (levada_value_kind_of(value)) {
    case LEVADA_VALUE_INT: *out = levada_value_as_int(value); return true;
    case LEVADA_VALUE_TEXT: return arg->type == LEVADA_ARG_SIZE && convert_size(text, n, out);
    default: return false;
    }
}

static levada_status convert_int(const levada_arg *arg, levada_value **value, levada_error *err)
{
    int64_t i = 0;
    bool    limited = arg->min != 0 || arg->max != 0;
    bool    most = limited && arg->max >= arg->min;

    if (!convert_is_int(arg, *value, &i)) {
        return convert_fail(arg, *value, err,
                            arg->type == LEVADA_ARG_SIZE
                                ? "must be a number of bytes, such as 65536, 64K, 4M or 1G"
                                : "must be an integer");
    }
    if (limited && i < arg->min) {
        return convert_fail(arg, *value, err, "must be at least %lld", (long long)arg->min);
    }
    if (most && i > arg->max) {
        return convert_fail(arg, *value, err, "must be at most %lld", (long long)arg->max);
    }
    if (i == LEVADA_NULL_INT) return convert_fail(arg, *value, err,
                                                  "is out of range: it stands for null");
    return convert_replace(value, levada_value_int(i), err);
}

static levada_status convert_float(const levada_arg *arg, levada_value **value, levada_error *err)
{
    levada_value_kind kind = levada_value_kind_of(*value);
    double            f = levada_value_as_float(*value);
    bool              limited = arg->min != 0 || arg->max != 0;
    bool              most = limited && arg->max >= arg->min;

    if (kind != LEVADA_VALUE_INT && kind != LEVADA_VALUE_FLOAT) {
        return convert_fail(arg, *value, err, "must be a number");
    }
    if (limited && !(f >= (double)arg->min)) {
        return convert_fail(arg, *value, err, "must be at least %lld", (long long)arg->min);
    }
    if (most && !(f <= (double)arg->max)) {
        return convert_fail(arg, *value, err, "must be at most %lld", (long long)arg->max);
    }
    return convert_replace(value, levada_value_float(f), err);
}

static levada_status convert_text(const levada_arg *arg, const levada_value *value,
                                  levada_error *err)
{
    size_t      n = 0;
    const char *text = levada_value_as_text(value, &n);

    if (levada_value_kind_of(value) != LEVADA_VALUE_TEXT) {
        return convert_fail(arg, value, err, "must be a text");
    }
    if (strlen(text) != n) return convert_fail(arg, value, err, "has a zero byte in it");
    if (levada_utf8_check(text, n) < n) return convert_fail(arg, value, err, "is not valid UTF-8");
    return LEVADA_OK;
}

int32_t levada_option_choice(const char *choices, const char *text, size_t size)
{
    for (int32_t i = 0; choices != NULL; i++) {
        size_t n = strcspn(choices, "|");
        if (n == size && memcmp(choices, text, n) == 0) return i;
        choices = choices[n] == '|' ? choices + n + 1 : NULL;
    }
    return -1;
}

/* Fails with "a, b, c; did you mean 'b'?". */
static levada_status convert_no_choice(const levada_arg *arg, const levada_value *value,
                                       const char *text, levada_error *err)
{
    levada_text   list = {0}, words = {0};
    const char   *best = NULL;
    size_t        distance = SIZE_MAX;
    levada_status status;

    levada_text_put(&words, arg->choices);
    for (char *word = words.at; word != NULL;) {
        char *bar = strchr(word, '|');
        if (bar != NULL) *bar = '\0';
        levada_text_format(&list, "%s%s", list.size > 0 ? ", " : "", word);
        levada_nearest(text, word, &best, &distance);
        word = bar != NULL ? bar + 1 : NULL;
    }
    const char *shown = list.at != NULL ? list.at : "";
    if (best != NULL) {
        status = convert_fail(arg, value, err, "must be one of %.100s; did you mean '%s'?", shown,
                              best);
    } else {
        status = convert_fail(arg, value, err, "must be one of %.130s", shown);
    }
    levada_text_clear(&list);
    levada_text_clear(&words);
    return status;
}

static levada_status convert_choice(const levada_arg *arg, levada_value **value, levada_error *err)
{
    char        number[24] = "";
    size_t      n = 0;
    const char *text = levada_value_as_text(*value, &n);

    switch (levada_value_kind_of(*value)) {
    case LEVADA_VALUE_TEXT: break;
    case LEVADA_VALUE_BOOL: text = levada_value_as_bool(*value) ? "true" : "false"; break;
    case LEVADA_VALUE_INT:
        snprintf(number, sizeof(number), "%lld", (long long)levada_value_as_int(*value));
        text = number;
        break;
    default: return convert_no_choice(arg, *value, "", err);
    }
    if (levada_option_choice(arg->choices, text, strlen(text)) < 0) {
        return convert_no_choice(arg, *value, text, err);
    }
    return convert_replace(value, levada_value_text(text, strlen(text)), err);
}

static levada_status convert_dtype(const levada_arg *arg, levada_value **value, levada_error *err)
{
    const char  *text = levada_value_as_text(*value, NULL), *best = NULL;
    bool         is_text = levada_value_kind_of(*value) == LEVADA_VALUE_TEXT;
    levada_dtype dtype = is_text ? levada_dtype_find(text) : LEVADA_NONE;
    size_t       distance = SIZE_MAX;

    if (dtype != LEVADA_NONE) {
        text = levada_dtype_name(dtype);
        return convert_replace(value, levada_value_text(text, strlen(text)), err);
    }
    for (int i = 1; is_text && i <= LEVADA_TEXT; i++) {
        levada_nearest(text, levada_dtype_name((levada_dtype)i), &best, &distance);
    }
    if (best != NULL) {
        return convert_fail(arg, *value, err, "is not a dtype; did you mean '%s'?", best);
    }
    return convert_fail(arg, *value, err, "is not a dtype, such as int64, float32 or string");
}

static levada_status convert_item(const levada_arg *arg, levada_value **item, levada_error *err)
{
    if (arg->type == LEVADA_ARG_TEXTS) return convert_text(arg, *item, err);
    if (arg->type == LEVADA_ARG_FLOATS) return convert_float(arg, item, err);
    if (levada_value_kind_of(*item) == LEVADA_VALUE_NULL) { /* a dimension that varies */
        LEVADA_TRY(convert_replace(item, levada_value_int(-1), err));
    }
    return convert_int(arg, item, err);
}

/* Converts INTS, FLOATS and TEXTS; a single value becomes a list of one. */
static levada_status convert_list(const levada_arg *arg, levada_value **value, levada_error *err)
{
    levada_value *list = levada_value_list();
    levada_status status = LEVADA_OK;
    bool          single = levada_value_kind_of(*value) != LEVADA_VALUE_LIST;
    int64_t       n = single ? 1 : levada_value_count(*value);

    if (list == NULL) status = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    else if (levada_value_kind_of(*value) == LEVADA_VALUE_MAP) {
        status = convert_fail(arg, *value, err, "must be a list");
    }
    for (int64_t i = 0; status == LEVADA_OK && i < n; i++) {
        levada_value *item = single ? *value : levada_value_take_at(*value, i);
        if (single) *value = NULL;
        status = convert_item(arg, &item, err);
        if (status == LEVADA_OK) status = levada_value_push(list, &item, err);
        levada_value_destroy(&item);
    }
    if (status == LEVADA_OK) return convert_replace(value, list, err);
    levada_value_destroy(&list);
    return status;
}

/* Texts inside of values of any shape. */
static bool convert_is_utf8(const levada_value *value)
{
    size_t      n = 0;
    const char *text = levada_value_as_text(value, &n);

    if (levada_value_kind_of(value) == LEVADA_VALUE_TEXT) return levada_utf8_check(text, n) == n;
    for (int64_t i = 0; i < levada_value_count(value); i++) {
        const char *key = levada_value_key(value, i);
        if (key != NULL && levada_utf8_check(key, strlen(key)) < strlen(key)) return false;
        if (!convert_is_utf8(levada_value_item(value, i))) return false;
    }
    return true;
}

static levada_status convert_any(const levada_arg *arg, const levada_value *value,
                                 levada_error *err)
{
    if (levada_value_nest(value) > LEVADA_NEST_VALUE) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s is nested too deeply (at most %d)",
                           arg->name, LEVADA_NEST_VALUE);
    }
    if (convert_is_utf8(value)) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s has text that is not valid UTF-8",
                       arg->name);
}

static levada_status convert_kind(const levada_arg *arg, const levada_value *value,
                                  levada_value_kind kind, const char *what, levada_error *err)
{
    if (levada_value_kind_of(value) == kind) return LEVADA_OK;
    return convert_fail(arg, value, err, "must be %s", what);
}

levada_status levada_option_convert(const levada_arg *arg, levada_value **value, levada_error *err)
{
    if (levada_value_kind_of(*value) == LEVADA_VALUE_NULL) return LEVADA_OK;
    switch (arg->type) {
    case LEVADA_ARG_NONE: break;
    case LEVADA_ARG_INT:
    case LEVADA_ARG_SIZE: return convert_int(arg, value, err);
    case LEVADA_ARG_FLOAT: return convert_float(arg, value, err);
    case LEVADA_ARG_BOOL:
        return convert_kind(arg, *value, LEVADA_VALUE_BOOL, "true or false", err);
    case LEVADA_ARG_TEXT: return convert_text(arg, *value, err);
    case LEVADA_ARG_CHOICE: return convert_choice(arg, value, err);
    case LEVADA_ARG_DTYPE: return convert_dtype(arg, value, err);
    case LEVADA_ARG_INTS:
    case LEVADA_ARG_FLOATS:
    case LEVADA_ARG_TEXTS: return convert_list(arg, value, err);
    case LEVADA_ARG_VALUE: return convert_any(arg, *value, err);
    case LEVADA_ARG_FUNCTION:
        return convert_kind(arg, *value, LEVADA_VALUE_FUNCTION, "a function", err);
    case LEVADA_ARG_BLOCK:
        return convert_kind(arg, *value, LEVADA_VALUE_BLOCK, "a block of this process", err);
    case LEVADA_ARG_PIPE:
        return convert_kind(arg, *value, LEVADA_VALUE_PIPE, "a sub-pipeline in parentheses", err);
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s has no type that this library knows",
                       arg->name);
}
