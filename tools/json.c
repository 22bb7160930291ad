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

/* The usual float32 without printf: the fewest digits, 6 to 9, that read back as the same float.
 * Decimals of so few digits are exact in a double, and so is the power of ten: the quotient is
 * rounded once, and once more to float, which matters only halfway between two floats. */
static bool json_float_quick(levada_cli_buffer *b, double value)
{
    static const double tens[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
                                   1e13 };
    double   size = fabs(value), back = 0;
    uint64_t digits = 0, bits = 0, unit;
    int      point = 5, most, end;
    char     text[16];

    if (!(size >= 1e-4 && size < 1e6)) return false;
    for (double least = 1e5; point > 0 && size < least; least /= 10) point--;
    for (int more = 0; point == 0 && more < 4 && size * tens[more] < 1; more++) point--;
    point = point < -4 ? -4 : point;
    for (most = 5 - point; most <= 8 - point; most++) { /* digits after the point */
        digits = (uint64_t)llrint(size * tens[most]);
        back = (double)digits / tens[most];
        if ((float)back == (float)size) break;
    }
    memcpy(&bits, &back, sizeof bits);
    if (most > 8 - point || (bits & 0x1fffffff) == 0x10000000) return false;
    unit = (uint64_t)tens[most];
    if (value < 0) levada_cli_add(b, "-", 1);
    levada_cli_unsigned(b, digits / unit);
    text[0] = '.';
    digits %= unit;
    for (int i = most; i > 0; i--, digits /= 10) text[i] = (char)('0' + digits % 10);
    for (end = most; end > 1 && text[end] == '0'; end--) continue;
    if (most == 0) text[++end] = '0';
    levada_cli_add(b, text, (size_t)end + 1);
    return true;
}

void levada_cli_json_float_put(levada_cli_buffer *b, double value, bool single)
{
    char text[40];

    if (single && json_float_quick(b, value)) return;
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
            levada_cli_json_name(b, key, strlen(key));
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
