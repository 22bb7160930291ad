/* SPDX-License-Identifier: Apache-2.0 */
#include "option/value_priv.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool levada_value_marks(const char *key)
{
    static const char *const marks[] = {"base64", "float", "py", "c", "block", "pipe", "map"};

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        if (strcmp(key, marks[i]) == 0) return true;
    }
    return false;
}

static bool value_print_json(levada_print how)
{
    return how == LEVADA_PRINT_JSON || how == LEVADA_PRINT_HASH;
}

/* Returns true if text can stand without quotes, apart from words that mean something else. */
static bool value_print_is_word(const char *text, size_t n)
{
    if (n == 0 || text[0] == '@') return false;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == ' ' || strchr(",|;()[]{}=\"", c) != NULL) return false;
        if (levada_text_obeyed(text + i, n - i)) return false;
    }
    return true;
}

/* Returns true if the word would be read as something that is not a text. */
static bool value_print_is_taken(const char *word, size_t n, bool plain)
{
    static const char *const words[] = {"null", "true", "false", "nan", "inf", "-inf"};
    int64_t i;
    double  f;

    for (size_t w = 0; w < (plain ? 1 : sizeof(words) / sizeof(words[0])); w++) {
        if (strlen(words[w]) == n && memcmp(words[w], word, n) == 0) return true;
    }
    return !plain && levada_number_read(word, n, &i, &f) != LEVADA_NUMBER_NONE;
}

static void value_print_text(levada_text *text, const char *s, size_t n, levada_print how)
{
    bool plain = how == LEVADA_PRINT_PLAIN;

    if (!value_print_json(how) && value_print_is_word(s, n) && !value_print_is_taken(s, n, plain)) {
        levada_text_add(text, s, n);
    } else {
        levada_text_json(text, s, n);
    }
}

/* Prints a name before "=" or ":", quoted if it is not a word. */
static void value_print_key(levada_text *text, const char *key, levada_print how)
{
    size_t n = strlen(key);

    if (!value_print_json(how) && value_print_is_word(key, n) && strchr(key, ':') == NULL) {
        levada_text_add(text, key, n);
    } else {
        levada_text_json(text, key, n);
    }
}

/* Marks a map: {"name": and what follows is the caller's. */
static void value_print_mark(levada_text *text, const char *name, levada_print how)
{
    levada_text_char(text, '{');
    value_print_key(text, name, how);
    levada_text_char(text, ':');
}

static void value_print_bytes(levada_text *text, const levada_value *value, levada_print how)
{
    size_t      size;
    const char *bytes = levada_value_as_text(value, &size);

    value_print_mark(text, "base64", how);
    levada_text_char(text, '"');
    levada_text_base64(text, bytes, size);
    levada_text_put(text, "\"}");
}

static void value_print_float(levada_text *text, double f, levada_print how)
{
    char number[LEVADA_NUMBER_TEXT];

    levada_number_write(f, number);
    if (value_print_json(how) && !isfinite(f)) {
        levada_text_format(text, "{\"float\":\"%s\"}", number);
    } else {
        levada_text_put(text, number);
    }
}

static void value_print_function(levada_text *text, const levada_value *value, levada_print how)
{
    const levada_function     *function = levada_value_as_function(value);
    const levada_function_def *info = function != NULL ? levada_function_info(function) : NULL;

    value_print_mark(text, info != NULL ? info->kind : "c", how);
    if (info == NULL || info->name == NULL) {
        levada_text_put(text, "null");
    } else {
        size_t all = strlen(info->name);
        size_t n = how == LEVADA_PRINT_HASH ? levada_function_name_size(info->name) : all;
        value_print_text(text, info->name, n, how);
    }
    levada_text_char(text, '}');
}

static void value_print_pipe(levada_text *text, const levada_value *value, levada_print how)
{
    if (value_print_json(how)) levada_text_put(text, "{\"pipe\":");
    else levada_text_char(text, '(');
    levada_value_print_pipe(text, value, how);
    levada_text_char(text, value_print_json(how) ? '}' : ')');
}

/* Prints a list. Inside of a list in an option that holds texts, words are texts too; maps end
 * that. */
static void value_print_list(levada_text *text, const levada_value *value, levada_print how)
{
    levada_text_char(text, '[');
    for (int64_t i = 0; i < levada_value_count(value); i++) {
        if (i > 0) levada_text_char(text, ',');
        levada_value_print(text, levada_value_item(value, i), how);
    }
    levada_text_char(text, ']');
}

static void value_print_map(levada_text *text, const levada_value *value, levada_print how)
{
    int64_t n = levada_value_count(value);
    bool    escape = n == 1 && levada_value_marks(levada_value_key(value, 0));

    if (how == LEVADA_PRINT_PLAIN) how = LEVADA_PRINT_TEXT;
    if (escape) value_print_mark(text, "map", how);
    levada_text_char(text, '{');
    for (int64_t i = 0; i < n; i++) {
        if (i > 0) levada_text_char(text, ',');
        value_print_key(text, levada_value_key(value, i), how);
        levada_text_char(text, ':');
        levada_value_print(text, levada_value_item(value, i), how);
    }
    levada_text_put(text, escape ? "}}" : "}");
}

void levada_value_print(levada_text *text, const levada_value *value, levada_print how)
{
    size_t      size;
    const char *s;

    switch (levada_value_kind_of(value)) {
    case LEVADA_VALUE_NULL: levada_text_put(text, "null"); break;
    case LEVADA_VALUE_BOOL:
        levada_text_put(text, levada_value_as_bool(value) ? "true" : "false");
        break;
    case LEVADA_VALUE_INT:
        levada_text_format(text, "%lld", (long long)levada_value_as_int(value));
        break;
    case LEVADA_VALUE_FLOAT: value_print_float(text, levada_value_as_float(value), how); break;
    case LEVADA_VALUE_TEXT:
        s = levada_value_as_text(value, &size);
        value_print_text(text, s, size, how);
        break;
    case LEVADA_VALUE_BYTES: value_print_bytes(text, value, how); break;
    case LEVADA_VALUE_LIST: value_print_list(text, value, how); break;
    case LEVADA_VALUE_MAP: value_print_map(text, value, how); break;
    case LEVADA_VALUE_PIPE: value_print_pipe(text, value, how); break;
    case LEVADA_VALUE_FUNCTION: value_print_function(text, value, how); break;
    case LEVADA_VALUE_BLOCK:
        value_print_mark(text, "block", how);
        if (how == LEVADA_PRINT_HASH)
            levada_text_format(text, "%lld}", (long long)levada_value_block_hash(value));
        else levada_text_put(text, "null}");
        break;
    }
}

const char *levada_value_shown(const levada_value *value, levada_print how,
                               char text[LEVADA_VALUE_SHOWN])
{
    levada_text all = {0};

    levada_value_print(&all, value, how);
    const char *at = all.at != NULL ? all.at : "?";
    bool        cut = strlen(at) >= LEVADA_VALUE_SHOWN;
    (void)snprintf(text, LEVADA_VALUE_SHOWN, "%.*s%s", cut ? LEVADA_VALUE_SHOWN - 4 : -1, at,
                   cut ? "..." : "");
    levada_text_clear(&all);
    return text;
}

levada_status levada_value_json(const levada_value *value, char **out, levada_error *err)
{
    LEVADA_TRY(levada_require(value != NULL, "value", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_text text = {0};

    levada_value_print(&text, value, LEVADA_PRINT_JSON);
    return levada_text_steal(&text, out, err);
}
