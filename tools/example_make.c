/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

#include "json.h"

#include <math.h>
#include <string.h>

/* The values of one feature, in the form in which levada_example takes them. */
typedef struct make_values {
    levada_cli_buffer numbers; /* int64_t or float                        */
    levada_cli_buffer bytes;   /* of all strings, one after the other     */
    levada_cli_buffer ends;    /* size_t: where each of them ends         */
    levada_cli_buffer starts;  /* const void *: made when all are there   */
    levada_cli_buffer sizes;   /* size_t                                  */
} make_values;

static void example_make_clear(make_values *v)
{
    levada_cli_buffer_clear(&v->numbers);
    levada_cli_buffer_clear(&v->bytes);
    levada_cli_buffer_clear(&v->ends);
    levada_cli_buffer_clear(&v->starts);
    levada_cli_buffer_clear(&v->sizes);
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

/* {"float":"NaN"}: what JSON has no number for. */
static bool example_make_special(const levada_value *value, float *out)
{
    static const char *const words[] = { "NaN", "Infinity", "-Infinity" };
    static const float       floats[] = { NAN, INFINITY, -INFINITY };
    const char              *word = levada_value_as_text(levada_value_get(value, "float"), NULL);

    for (int i = 0; word && i < 3; i++) {
        if (strcmp(word, words[i]) != 0) continue;
        *out = floats[i];
        return true;
    }
    return false;
}

/* What a feature holds; an empty one what the others of its list do. */
typedef enum make_kind { MAKE_NONE, MAKE_INTS, MAKE_FLOATS, MAKE_TEXTS } make_kind;

static make_kind example_make_kind_of(const levada_value *value)
{
    levada_value_kind kind = levada_value_kind_of(value);
    float             special;

    if (kind == LEVADA_VALUE_FLOAT || example_make_special(value, &special)) return MAKE_FLOATS;
    if (kind == LEVADA_VALUE_TEXT || kind == LEVADA_VALUE_BYTES || kind == LEVADA_VALUE_MAP) {
        return MAKE_TEXTS;
    }
    return MAKE_INTS;
}

static levada_status example_make_string(make_values *v, const levada_value *value,
                                         levada_error *err)
{
    const levada_value *base64 = levada_value_get(value, "base64");
    size_t              size = 0;
    const char         *text = levada_value_as_text(base64 ? base64 : value, &size);

    if (!text || (base64 && !example_make_base64(&v->bytes, text)))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "a list mixes strings with other things");
    if (!base64) levada_cli_add(&v->bytes, text, size);
    levada_cli_add(&v->ends, &v->bytes.size, sizeof v->bytes.size);
    return LEVADA_OK;
}

static levada_status example_make_number(make_values *v, const levada_value *value, bool floats,
                                         levada_error *err)
{
    levada_value_kind kind = levada_value_kind_of(value);
    int64_t           whole = levada_value_as_int(value);
    float             number = (float)levada_value_as_float(value);

    if (example_make_special(value, &number)) kind = LEVADA_VALUE_FLOAT;
    if (kind == LEVADA_VALUE_BOOL) whole = levada_value_as_bool(value);
    else if (kind != LEVADA_VALUE_INT && kind != LEVADA_VALUE_FLOAT)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "a list mixes numbers with other things");
    if (floats) levada_cli_add(&v->numbers, &number, sizeof number);
    else levada_cli_add(&v->numbers, &whole, sizeof whole);
    return LEVADA_OK;
}

/* Pointers and sizes of the strings, now that they will not move any more. */
static void example_make_spans(make_values *v, int64_t n)
{
    const size_t *ends = (const size_t *)(const void *)v->ends.at;
    size_t        begin = 0;

    for (int64_t i = 0; i < n; i++) {
        const void *start = v->bytes.at + begin;
        size_t      size = ends[i] - begin;

        levada_cli_add(&v->starts, &start, sizeof start);
        levada_cli_add(&v->sizes, &size, sizeof size);
        begin = ends[i];
    }
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

/* Integers, or floats where one value is one, or strings, by the first. */
static make_kind example_make_kind(const levada_value *value, make_kind least)
{
    int64_t n = example_make_count(value);

    for (int64_t i = 0; i < n; i++) {
        make_kind kind = example_make_kind_of(example_make_item(value, i));

        if (i == 0 && kind == MAKE_TEXTS) return kind;
        if (kind > least && kind != MAKE_TEXTS) least = kind;
    }
    return least;
}

/* A feature of at least this kind. A step has no key. */
static levada_status example_make_feature(levada_example *out, const char *key,
                                          const levada_value *value, make_kind least,
                                          levada_error *err)
{
    make_values   v = { 0 };
    int64_t       n = example_make_count(value);
    make_kind     kind = example_make_kind(value, least);
    bool          texts = kind == MAKE_TEXTS, floats = kind == MAKE_FLOATS;
    levada_status status = LEVADA_OK;

    if (kind == MAKE_NONE) return levada_example_add_empty(out, key, err);
    for (int64_t i = 0; i < n && status == LEVADA_OK; i++) {
        const levada_value *item = example_make_item(value, i);
        status = texts ? example_make_string(&v, item, err)
                       : example_make_number(&v, item, floats, err);
    }
    if (status == LEVADA_OK && texts) {
        example_make_spans(&v, n);
        status = levada_example_add_bytes(out, key, (const void *const *)(void *)v.starts.at,
                                          (const size_t *)(void *)v.sizes.at, n, err);
    } else if (status == LEVADA_OK && floats) {
        status = levada_example_add_f32(out, key, (const float *)(void *)v.numbers.at, n, err);
    } else if (status == LEVADA_OK) {
        status = levada_example_add_i64(out, key, (const int64_t *)(void *)v.numbers.at, n, err);
    }
    example_make_clear(&v);
    return status;
}

static levada_status example_make_list(levada_example *out, const char *key,
                                       const levada_value *value, levada_error *err)
{
    int64_t   n = example_make_count(value);
    make_kind kind = MAKE_NONE;

    for (int64_t i = 0; i < n && kind != MAKE_TEXTS; i++)
        kind = example_make_kind(example_make_item(value, i), kind);
    LEVADA_TRY(levada_example_begin_list(out, key, err));
    for (int64_t i = 0; i < n; i++)
        LEVADA_TRY(example_make_feature(out, NULL, example_make_item(value, i), kind, err));
    return levada_example_end_list(out, err);
}

static levada_status example_make_map(levada_example *out, const levada_value *map, bool lists,
                                      levada_error *err)
{
    for (int64_t i = 0; i < levada_value_count(map); i++) {
        const char         *key = levada_value_key(map, i);
        const levada_value *value = levada_value_get(map, key);
        levada_status       status = lists ? example_make_list(out, key, value, err)
                                           : example_make_feature(out, key, value, MAKE_NONE, err);

        if (status == LEVADA_OK) continue;
        levada_error_wrap(err, "'%s'", key);
        return status;
    }
    return LEVADA_OK;
}

levada_status levada_cli_example_make(levada_example *out, const levada_value *json,
                                      levada_error *err)
{
    const levada_value *context, *sequence;

    levada_example_reset(out);
    if (levada_value_kind_of(json) != LEVADA_VALUE_MAP)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "a line must hold a JSON object");
    context = levada_value_get(json, "context");
    sequence = levada_value_get(json, "sequence");
    if (!context || !sequence || levada_value_count(json) != 2
        || levada_value_kind_of(context) != LEVADA_VALUE_MAP
        || levada_value_kind_of(sequence) != LEVADA_VALUE_MAP)
        return example_make_map(out, json, false, err);
    LEVADA_TRY(example_make_map(out, context, false, err));
    return example_make_map(out, sequence, true, err);
}
