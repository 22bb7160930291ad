/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

#include "escape.h"
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

/* A name, and the kinds that "kinds" has for it: a text, a list of them, or NULL. */
typedef struct make_name {
    const char         *at;
    size_t              size;
    const levada_value *kinds;
} make_name;

static void example_make_clear(make_values *v)
{
    levada_cli_buffer_clear(&v->numbers);
    levada_cli_buffer_clear(&v->bytes);
    levada_cli_buffer_clear(&v->ends);
    levada_cli_buffer_clear(&v->starts);
    levada_cli_buffer_clear(&v->sizes);
}

/* {"float":"NaN"}: what JSON has no number for. */
static bool example_make_special(const levada_value *value, float *out)
{
    static const char *const words[] = { "NaN", "Infinity", "-Infinity" };
    static const float       floats[] = { NAN, INFINITY, -INFINITY };
    const char              *word = levada_value_as_text(levada_value_get(value, "float"), NULL);

    if (levada_value_count(value) != 1) return false;
    for (int i = 0; word && i < 3; i++) {
        if (strcmp(word, words[i]) != 0) continue;
        *out = floats[i];
        return true;
    }
    return false;
}

/* Appends a text, or the bytes of {"base64":"..."}. */
static bool example_make_bytes(levada_cli_buffer *b, const levada_value *value)
{
    const levada_value *base64 = levada_value_get(value, "base64");
    size_t              size = 0;
    const char         *text = levada_value_as_text(base64 ? base64 : value, &size);

    if (!text || (base64 && levada_value_count(value) != 1)) return false;
    if (base64) return levada_cli_base64_read(b, text, size);
    levada_cli_add(b, text, size);
    return true;
}

/* Returns the dtype of a value; LEVADA_NONE if it fits no feature. */
static levada_dtype example_make_dtype_of(const levada_value *value)
{
    float special;

    switch (levada_value_kind_of(value)) {
    case LEVADA_VALUE_BOOL:
    case LEVADA_VALUE_INT: return LEVADA_INT64;
    case LEVADA_VALUE_FLOAT: return LEVADA_FLOAT32;
    case LEVADA_VALUE_TEXT: return LEVADA_BYTES;
    case LEVADA_VALUE_MAP:
        return example_make_special(value, &special) ? LEVADA_FLOAT32 : LEVADA_BYTES;
    default: return LEVADA_NONE;
    }
}

static levada_status example_make_string(make_values *v, const levada_value *value,
                                         levada_error *err)
{
    if (!levada_dtype_is_bytes(example_make_dtype_of(value)))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a list must hold values of one type, got strings and other values");
    if (!example_make_bytes(&v->bytes, value))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "an object must be {\"base64\":\"...\"} with valid base64, or "
                           "{\"float\":\"NaN\"}, got another object");
    levada_cli_add(&v->ends, &v->bytes.size, sizeof v->bytes.size);
    return LEVADA_OK;
}

static levada_status example_make_number(make_values *v, const levada_value *value,
                                         levada_dtype dtype, levada_error *err)
{
    levada_dtype own = example_make_dtype_of(value);
    int64_t      whole = levada_value_kind_of(value) == LEVADA_VALUE_BOOL
                             ? levada_value_as_bool(value)
                             : levada_value_as_int(value);
    float        number = (float)levada_value_as_float(value);

    if (own != LEVADA_INT64 && own != LEVADA_FLOAT32)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a list must hold values of one type, got numbers and other values");
    if (own == LEVADA_INT64 && levada_value_kind_of(value) == LEVADA_VALUE_BOOL)
        number = (float)whole;
    if (!example_make_special(value, &number) && !isfinite(number))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%g does not fit in float32",
                           levada_value_as_float(value));
    if (dtype == LEVADA_FLOAT32) levada_cli_add(&v->numbers, &number, sizeof number);
    else if (own == LEVADA_INT64) levada_cli_add(&v->numbers, &whole, sizeof whole);
    else return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                            "a list of int64 must hold integers, got a float");
    return LEVADA_OK;
}

/* Pointers and sizes of the strings, now that they will not move any more. */
static void example_make_spans(make_values *v, int64_t n)
{
    const size_t *ends = (const size_t *)(const void *)v->ends.at;
    const char   *bytes = v->bytes.at ? v->bytes.at : "";
    size_t        begin = 0;

    for (int64_t i = 0; i < n; i++) {
        const void *start = bytes + begin;
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

/* Integers, or floats where one value is one, or strings, by the first; `least` if there is no
 * value. */
static levada_dtype example_make_dtype(const levada_value *value, levada_dtype least)
{
    int64_t n = example_make_count(value);

    for (int64_t i = 0; i < n; i++) {
        levada_dtype dtype = example_make_dtype_of(example_make_item(value, i));

        if (i == 0 && levada_dtype_is_bytes(dtype)) return dtype;
        if (dtype == LEVADA_FLOAT32 || least == LEVADA_NONE) least = dtype;
    }
    return least;
}

/* The dtype that "kinds" names. */
static levada_status example_make_named(const levada_value *kind, levada_dtype *out,
                                        levada_error *err)
{
    static const levada_dtype dtypes[] = { LEVADA_INT64, LEVADA_FLOAT32, LEVADA_BYTES,
                                           LEVADA_NONE };
    const char               *name = levada_value_as_text(kind, NULL);

    for (size_t i = 0; name && i < sizeof dtypes / sizeof dtypes[0]; i++) {
        if (strcmp(name, levada_cli_kind_name(dtypes[i])) != 0) continue;
        *out = dtypes[i];
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "a kind in \"kinds\" must be int64, float, bytes or none, got %s%.100s%s",
                       name ? "'" : "", name ? name : "a number, a list or an object",
                       name ? "'" : "");
}

static levada_status example_make_fill(make_values *v, const levada_value *value,
                                       levada_example_values *out, levada_error *err)
{
    for (int64_t i = 0; i < out->count; i++) {
        const levada_value *item = example_make_item(value, i);

        if (levada_dtype_is_bytes(out->dtype)) LEVADA_TRY(example_make_string(v, item, err));
        else LEVADA_TRY(example_make_number(v, item, out->dtype, err));
    }
    if (levada_dtype_is_bytes(out->dtype)) example_make_spans(v, out->count);
    out->i64 = (const int64_t *)(const void *)v->numbers.at;
    out->f32 = (const float *)(const void *)v->numbers.at;
    out->bytes = (const void *const *)(void *)v->starts.at;
    out->sizes = (const size_t *)(void *)v->sizes.at;
    return LEVADA_OK;
}

/* A feature of that dtype. A step has no name. */
static levada_status example_make_feature(levada_example *out, const make_name *name,
                                          const levada_value *value, levada_dtype dtype,
                                          levada_error *err)
{
    levada_example_values values = { .dtype = dtype, .count = example_make_count(value) };
    make_values           v = { 0 };
    levada_status         status = LEVADA_OK;

    if (dtype == LEVADA_NONE && values.count > 0)
        return levada_fail(
            err, LEVADA_EINVALID_ARGUMENT,
            "a feature must be numbers or strings, or one list of them, got a list of other "
            "values");
    status = example_make_fill(&v, value, &values, err);
    if (status == LEVADA_OK)
        status = levada_example_add_values(out, name ? name->at : NULL, name ? name->size : 0,
                                           &values, err);
    example_make_clear(&v);
    return status;
}

static levada_status example_make_single(levada_example *out, const make_name *name,
                                         const levada_value *value, levada_error *err)
{
    levada_dtype dtype = example_make_dtype(value, LEVADA_NONE);

    if (name->kinds) LEVADA_TRY(example_make_named(name->kinds, &dtype, err));
    return example_make_feature(out, name, value, dtype, err);
}

/* A feature list; a step without values has the kind of the others. */
static levada_status example_make_list(levada_example *out, const make_name *name,
                                       const levada_value *value, levada_error *err)
{
    int64_t      n = example_make_count(value);
    levada_dtype dtype = LEVADA_NONE;

    if (name->kinds && levada_value_count(name->kinds) != n)
        return levada_fail(
            err, LEVADA_EINVALID_ARGUMENT,
            "\"kinds\" of list '%.*s' must have one kind for each of %lld steps, got %lld",
            (int)(name->size < 100 ? name->size : 100), name->at, (long long)n,
            (long long)levada_value_count(name->kinds));
    for (int64_t i = 0; i < n && !levada_dtype_is_bytes(dtype); i++)
        dtype = example_make_dtype(example_make_item(value, i), dtype);
    LEVADA_TRY(levada_example_begin_list_key(out, name->at, name->size, err));
    for (int64_t i = 0; i < n; i++) {
        if (name->kinds)
            LEVADA_TRY(example_make_named(levada_value_item(name->kinds, i), &dtype, err));
        LEVADA_TRY(example_make_feature(out, NULL, example_make_item(value, i), dtype, err));
    }
    return levada_example_end_list(out, err);
}

static levada_status example_make_entry(levada_example *out, const char *key,
                                        const levada_value *value, const levada_value *kinds,
                                        bool lists, levada_error *err)
{
    levada_cli_buffer bytes = { 0 };
    make_name         name = { .kinds = kinds ? levada_value_get(kinds, key) : NULL };
    levada_status     status;

    if (levada_cli_name_read(&bytes, key)) {
        name.at = bytes.at;
        name.size = bytes.size;
        status = lists ? example_make_list(out, &name, value, err)
                       : example_make_single(out, &name, value, err);
    } else {
        status = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                             "a name that begins with base64: must continue with valid base64 of "
                             "bytes that are not text");
    }
    levada_cli_buffer_clear(&bytes);
    if (status != LEVADA_OK) levada_error_wrap(err, "'%.100s'", key);
    return status;
}

static levada_status example_make_map(levada_example *out, const levada_value *map,
                                      const levada_value *kinds, bool lists, levada_error *err)
{
    for (int64_t i = 0; i < levada_value_count(map); i++)
        LEVADA_TRY(example_make_entry(out, levada_value_key(map, i), levada_value_item(map, i),
                                      kinds, lists, err));
    return LEVADA_OK;
}

static bool example_make_is_map(const levada_value *value)
{
    return levada_value_kind_of(value) == LEVADA_VALUE_MAP;
}

/* {"context":{},"sequence":{}}, with or without "kinds". */
static bool example_make_is_sequence(const levada_value *json)
{
    return example_make_is_map(levada_value_get(json, "context")) &&
           example_make_is_map(levada_value_get(json, "sequence")) &&
           levada_value_count(json) ==
               2 + (int64_t)example_make_is_map(levada_value_get(json, "kinds"));
}

/* Refuses entries of "kinds" for a feature that the record does not have. */
static levada_status example_make_check(const levada_value *kinds, const levada_value *of,
                                        levada_error *err)
{
    if (kinds && !example_make_is_map(kinds))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "\"kinds\" and its \"context\" and \"sequence\" must be objects");
    for (int64_t i = 0; i < levada_value_count(kinds); i++) {
        const char *key = levada_value_key(kinds, i);

        if (!levada_value_get(of, key))
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "\"kinds\" names '%.100s', which the record does not have", key);
    }
    return LEVADA_OK;
}

static levada_status example_make_sequence(levada_example *out, const levada_value *json,
                                           levada_error *err)
{
    static const char *const sections[] = { "context", "sequence" };
    const levada_value      *kinds = levada_value_get(json, "kinds");

    LEVADA_TRY(example_make_check(kinds, json, err));
    if (levada_value_get(kinds, "kinds"))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "\"kinds\" must not contain an entry \"kinds\"; remove the entry");
    for (int i = 0; i < 2; i++)
        LEVADA_TRY(example_make_check(levada_value_get(kinds, sections[i]),
                                      levada_value_get(json, sections[i]), err));
    LEVADA_TRY(example_make_map(out, levada_value_get(json, "context"),
                                levada_cli_json_get(kinds, "context"), false, err));
    return example_make_map(out, levada_value_get(json, "sequence"),
                            levada_cli_json_get(kinds, "sequence"), true, err);
}

/* {"record":"..."}: the record itself. */
static bool example_make_is_raw(const levada_value *json)
{
    const levada_value *record = levada_value_get(json, "record");
    levada_value_kind   kind = levada_value_kind_of(record);

    return record && levada_value_count(json) == 1 &&
           (kind == LEVADA_VALUE_TEXT ||
            (kind == LEVADA_VALUE_MAP && levada_value_get(record, "base64")));
}

static levada_status example_make_message(levada_cli_buffer *record, levada_example *example,
                                          const levada_value *json, levada_error *err)
{
    static const uint8_t no_lists[] = { 0x12, 0 }; /* an empty FeatureLists message */
    bool                 sequence = example_make_is_sequence(json);
    const uint8_t       *bytes;
    size_t               size;

    levada_example_reset(example);
    if (sequence) LEVADA_TRY(example_make_sequence(example, json, err));
    else LEVADA_TRY(example_make_map(example, json, NULL, false, err));
    if (!sequence && levada_value_count(json) == 0) return LEVADA_OK; /* no byte */
    LEVADA_TRY(levada_example_finish(example, &bytes, &size, err));
    levada_cli_add(record, bytes, size);
    if (sequence && levada_value_count(levada_value_get(json, "sequence")) == 0)
        levada_cli_add(record, no_lists, sizeof no_lists);
    return LEVADA_OK;
}

levada_status levada_cli_example_make(levada_cli_buffer *record, levada_example *example,
                                      const levada_value *json, levada_error *err)
{
    if (!example_make_is_map(json))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a line must be a JSON object, got a list, a string or a number");
    if (!example_make_is_raw(json)) return example_make_message(record, example, json, err);
    if (example_make_bytes(record, levada_value_get(json, "record"))) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "'record': the base64 is damaged");
}
