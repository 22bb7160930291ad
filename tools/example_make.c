/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

#include "json.h"

#include <string.h>

static void example_make_varint(levada_cli_buffer *out, uint64_t value)
{
    uint8_t bytes[10];
    size_t  n = 0;

    for (; value >= 0x80; value >>= 7) bytes[n++] = (uint8_t)(value | 0x80);
    bytes[n++] = (uint8_t)value;
    levada_cli_add(out, bytes, n);
}

/* A message, string or packed list as a field. */
static void example_make_field(levada_cli_buffer *out, uint32_t field, const void *bytes, size_t n)
{
    example_make_varint(out, field << 3 | 2);
    example_make_varint(out, n);
    levada_cli_add(out, bytes, n);
}

static int example_make_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char       *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Stops at the first "=", and refuses anything else that is no digit. */
static bool example_make_base64(levada_cli_buffer *out, const char *text)
{
    uint32_t bits = 0;
    int      have = 0;

    for (; *text && *text != '='; text++) {
        int     digit = example_make_digit(*text);
        uint8_t byte;

        if (digit < 0) return false;
        bits = bits << 6 | (uint32_t)digit;
        have += 6;
        if (have < 8) continue;
        have -= 8;
        byte = (uint8_t)(bits >> have);
        levada_cli_add(out, &byte, 1);
    }
    return true;
}

static bool example_make_is_text(const levada_value *value)
{
    levada_value_kind kind = levada_value_kind_of(value);
    return kind == LEVADA_VALUE_TEXT || kind == LEVADA_VALUE_BYTES || kind == LEVADA_VALUE_MAP;
}

static levada_status example_make_string(levada_cli_buffer *list, const levada_value *value,
                                         levada_error *err)
{
    const levada_value *base64 = levada_value_get(value, "base64");
    levada_cli_buffer   bytes = { 0 };
    size_t              size = 0;
    const char         *text = levada_value_as_text(base64 ? base64 : value, &size);
    bool                good = text != NULL;

    if (good && base64) {
        good = example_make_base64(&bytes, text);
        text = bytes.at ? bytes.at : "";
        size = bytes.size;
    }
    if (good) example_make_field(list, 1, text, size);
    levada_cli_buffer_clear(&bytes);
    return good ? LEVADA_OK
                : levada_fail(err, LEVADA_EINVALID_ARGUMENT, "a value is no string and no number");
}

static levada_status example_make_number(levada_cli_buffer *packed, const levada_value *value,
                                         bool floats, levada_error *err)
{
    levada_value_kind kind = levada_value_kind_of(value);
    float             number = (float)levada_value_as_float(value);

    if (kind == LEVADA_VALUE_BOOL && !floats)
        example_make_varint(packed, levada_value_as_bool(value));
    else if (kind == LEVADA_VALUE_INT && !floats)
        example_make_varint(packed, (uint64_t)levada_value_as_int(value));
    else if (kind == LEVADA_VALUE_INT || kind == LEVADA_VALUE_FLOAT)
        levada_cli_add(packed, &number, sizeof number);
    else
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a list mixes numbers with something else");
    return LEVADA_OK;
}

/* Item i of a list; of anything else the thing itself. */
static const levada_value *example_make_item(const levada_value *value, int64_t i)
{
    return levada_value_kind_of(value) == LEVADA_VALUE_LIST ? levada_value_item(value, i) : value;
}

static int64_t example_make_count(const levada_value *value)
{
    levada_value_kind kind = levada_value_kind_of(value);

    if (kind == LEVADA_VALUE_NULL) return 0;
    return kind == LEVADA_VALUE_LIST ? levada_value_count(value) : 1;
}

/* A Feature: integers, or floats where one value is one, or strings. */
static levada_status example_make_feature(levada_cli_buffer *out, const levada_value *value,
                                          levada_error *err)
{
    levada_cli_buffer list = { 0 }, packed = { 0 };
    int64_t           n = example_make_count(value);
    bool              texts = n > 0 && example_make_is_text(example_make_item(value, 0));
    bool              floats = false;
    levada_status     status = LEVADA_OK;

    for (int64_t i = 0; i < n; i++)
        if (levada_value_kind_of(example_make_item(value, i)) == LEVADA_VALUE_FLOAT) floats = true;
    for (int64_t i = 0; i < n && status == LEVADA_OK; i++) {
        const levada_value *item = example_make_item(value, i);
        status = texts ? example_make_string(&list, item, err)
                       : example_make_number(&packed, item, floats, err);
    }
    if (packed.size > 0) example_make_field(&list, 1, packed.at, packed.size);
    if (n > 0) example_make_field(out, texts ? 1 : floats ? 2 : 3, list.at, list.size);
    levada_cli_buffer_clear(&packed);
    levada_cli_buffer_clear(&list);
    return status;
}

static levada_status example_make_steps(levada_cli_buffer *out, const levada_value *value,
                                        levada_error *err)
{
    levada_cli_buffer step = { 0 };
    levada_status     status = LEVADA_OK;
    int64_t           n = example_make_count(value);

    for (int64_t i = 0; i < n && status == LEVADA_OK; i++) {
        step.size = 0;
        status = example_make_feature(&step, example_make_item(value, i), err);
        example_make_field(out, 1, step.at, step.size);
    }
    levada_cli_buffer_clear(&step);
    return status;
}

/* A map of features (or of feature lists) as field `field` of a message. */
static levada_status example_make_map(levada_cli_buffer *out, uint32_t field,
                                      const levada_value *map, bool sequence, levada_error *err)
{
    levada_cli_buffer all = { 0 }, entry = { 0 }, feature = { 0 };
    levada_status     status = LEVADA_OK;
    int64_t           n = levada_value_count(map);

    for (int64_t i = 0; i < n && status == LEVADA_OK; i++) {
        const char         *name = levada_value_key(map, i);
        const levada_value *value = levada_value_get(map, name);

        entry.size = feature.size = 0;
        status = sequence ? example_make_steps(&feature, value, err)
                          : example_make_feature(&feature, value, err);
        if (status != LEVADA_OK) levada_error_wrap(err, "'%s'", name);
        example_make_field(&entry, 1, name, strlen(name));
        example_make_field(&entry, 2, feature.at, feature.size);
        example_make_field(&all, 1, entry.at, entry.size);
    }
    example_make_field(out, field, all.at, all.size);
    levada_cli_buffer_clear(&all);
    levada_cli_buffer_clear(&entry);
    levada_cli_buffer_clear(&feature);
    return status;
}

levada_status levada_cli_example_make(levada_cli_buffer *out, const levada_value *json,
                                      levada_error *err)
{
    const levada_value *context, *sequence;

    if (levada_value_kind_of(json) != LEVADA_VALUE_MAP)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "a line must hold a JSON object");
    context = levada_value_get(json, "context");
    sequence = levada_value_get(json, "sequence");
    if (!context || !sequence || levada_value_count(json) != 2
        || levada_value_kind_of(context) != LEVADA_VALUE_MAP
        || levada_value_kind_of(sequence) != LEVADA_VALUE_MAP)
        return example_make_map(out, 1, json, false, err);
    LEVADA_TRY(example_make_map(out, 1, context, false, err));
    return example_make_map(out, 2, sequence, true, err);
}

void levada_cli_example_text(levada_cli_buffer *out, const char *name, const void *bytes,
                             size_t size)
{
    levada_cli_buffer list = { 0 }, feature = { 0 }, entry = { 0 };

    example_make_field(&list, 1, bytes, size);
    example_make_field(&feature, 1, list.at, list.size);
    example_make_field(&entry, 1, name, strlen(name));
    example_make_field(&entry, 2, feature.at, feature.size);
    list.size = 0;
    example_make_field(&list, 1, entry.at, entry.size);
    example_make_field(out, 1, list.at, list.size);
    levada_cli_buffer_clear(&list);
    levada_cli_buffer_clear(&feature);
    levada_cli_buffer_clear(&entry);
}
