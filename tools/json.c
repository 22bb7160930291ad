/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include "escape.h"

#include <levada/dataset.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

levada_status levada_cli_json_take(char **text, levada_value **out, levada_error *err)
{
    levada_status status = levada_value_parse(*text, out, err);

    levada_string_free(text);
    return status;
}

levada_status levada_cli_json_stages(levada_env *env, levada_value **out, levada_error *err)
{
    char         *text = NULL;
    levada_status status = levada_stages_json(env, &text, err);

    if (status == LEVADA_OK) status = levada_value_parse_json(text, strlen(text), out, err);
    levada_string_free(&text);
    return status;
}

const levada_value *levada_cli_json_get(const levada_value *map, const char *key)
{
    return map ? levada_value_get(map, key) : NULL;
}

int64_t levada_cli_json_int(const levada_value *map, const char *key)
{
    const levada_value *value = levada_cli_json_get(map, key);
    return value ? levada_value_as_int(value) : 0;
}

double levada_cli_json_float(const levada_value *map, const char *key)
{
    const levada_value *value = levada_cli_json_get(map, key);
    return value ? levada_value_as_float(value) : 0;
}

const char *levada_cli_json_string(const levada_value *map, const char *key)
{
    const levada_value *value = levada_cli_json_get(map, key);
    const char         *text = value ? levada_value_as_text(value, NULL) : NULL;
    return text ? text : "";
}

bool levada_cli_json_bool(const levada_value *map, const char *key)
{
    const levada_value *value = levada_cli_json_get(map, key);
    return value && levada_value_as_bool(value);
}

void levada_cli_json_float_put(levada_cli_buffer *b, double value, bool single)
{
    char text[40];

    if (!isfinite(value)) {
        levada_cli_printf(b, "{\"float\":\"%s\"}",
                          isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
        return;
    }
    for (int digits = single ? 6 : 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value) break;
    }
    if (!strpbrk(text, ".en")) strncat(text, ".0", sizeof text - strlen(text) - 1);
    levada_cli_puts(b, text);
}

/* The entries of a list or a map, between their brackets. */
static void json_put_items(levada_cli_buffer *b, const levada_value *value, bool map)
{
    levada_cli_puts(b, map ? "{" : "[");
    for (int64_t i = 0; i < levada_value_count(value); i++) {
        const char *key = map ? levada_value_key(value, i) : NULL;

        if (i > 0) levada_cli_puts(b, ",");
        if (key) {
            levada_cli_json_text(b, key, strlen(key));
            levada_cli_puts(b, ":");
        }
        levada_cli_json_put(b, map ? levada_value_get(value, key) : levada_value_item(value, i));
    }
    levada_cli_puts(b, map ? "}" : "]");
}

void levada_cli_json_put(levada_cli_buffer *b, const levada_value *value)
{
    size_t      size = 0;
    const char *text;

    switch (levada_value_kind_of(value)) {
    case LEVADA_VALUE_BOOL:
        levada_cli_puts(b, levada_value_as_bool(value) ? "true" : "false");
        break;
    case LEVADA_VALUE_INT:
        levada_cli_int(b, levada_value_as_int(value));
        break;
    case LEVADA_VALUE_FLOAT:
        levada_cli_json_float_put(b, levada_value_as_float(value), false);
        break;
    case LEVADA_VALUE_TEXT:
    case LEVADA_VALUE_BYTES:
        text = levada_value_as_text(value, &size);
        levada_cli_json_text(b, text, size);
        break;
    case LEVADA_VALUE_LIST: json_put_items(b, value, false); break;
    case LEVADA_VALUE_MAP: json_put_items(b, value, true); break;
    default: levada_cli_puts(b, "null"); break;
    }
}
