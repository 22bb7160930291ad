/* SPDX-License-Identifier: Apache-2.0 */
/* The option `fields` of jsonl, and the columns that it describes. */
#include "base/alloc.h"
#include "rows/json_columns.h"

#include <string.h>

enum { FIELDS_MOST = 4096 };

static bool fields_has(levada_dtype dtype)
{
    return dtype == LEVADA_INT32 || dtype == LEVADA_INT64 || dtype == LEVADA_FLOAT32 ||
           dtype == LEVADA_FLOAT64 || dtype == LEVADA_BOOL || dtype == LEVADA_BYTES;
}

/* dtype, [dtype] or [[dtype]]. */
static levada_status fields_type(const levada_value *value, levada_json_column *c,
                                 levada_error *err)
{
    const char *name;

    for (c->depth = 0; levada_value_kind_of(value) == LEVADA_VALUE_LIST; c->depth++) {
        if (levada_value_count(value) != 1 || c->depth == LEVADA_JSON_DEPTH)
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "a list has one dtype, and at most two levels: [[int64]]");
        value = levada_value_item(value, 0);
    }
    name = levada_value_as_text(value, NULL);
    c->dtype = name ? levada_dtype_find(name) : LEVADA_NONE;
    if (fields_has(c->dtype)) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "dtype '%s': expected int32, int64, float32, float64, bool or string",
                       name ? name : "?");
}

static levada_status fields_default(levada_json_column *c, levada_error *err)
{
    levada_value_kind kind = levada_value_kind_of(c->otherwise);
    bool              fits;

    if (c->depth > 0)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a missing list is empty: it has no other default");
    switch (c->dtype) {
    case LEVADA_BYTES: fits = kind == LEVADA_VALUE_TEXT || kind == LEVADA_VALUE_BYTES; break;
    case LEVADA_BOOL: fits = kind == LEVADA_VALUE_BOOL; break;
    case LEVADA_INT32:
        fits = kind == LEVADA_VALUE_INT && levada_value_as_int(c->otherwise) >= INT32_MIN &&
               levada_value_as_int(c->otherwise) <= INT32_MAX;
        break;
    case LEVADA_INT64: fits = kind == LEVADA_VALUE_INT; break;
    default: fits = kind == LEVADA_VALUE_INT || kind == LEVADA_VALUE_FLOAT; break;
    }
    if (fits) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "the default is not a %s",
                       levada_dtype_name(c->dtype));
}

static levada_status fields_one(const levada_value *entry, levada_json_column *c,
                                levada_error *err)
{
    const levada_value *type = levada_value_get(entry, "dtype");
    const levada_value *path = levada_value_get(entry, "path");
    const levada_value *otherwise = levada_value_get(entry, "default");
    int64_t             known = (type != NULL) + (path != NULL) + (otherwise != NULL);

    c->path = c->name;
    if (levada_value_kind_of(entry) != LEVADA_VALUE_MAP) return fields_type(entry, c, err);
    if (!type || known != levada_value_count(entry))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "expected dtype, default and path only");
    if (path) c->path = levada_value_as_text(path, NULL);
    if (!c->path || !*c->path)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "path must be a text");
    LEVADA_TRY(fields_type(type, c, err));
    if (levada_value_kind_of(otherwise) == LEVADA_VALUE_NULL) return LEVADA_OK;
    c->otherwise = otherwise;
    return fields_default(c, err);
}

levada_status levada_json_fields_read(const levada_value *fields, levada_json_column *columns,
                                      levada_error *err)
{
    for (int64_t i = 0; i < levada_value_count(fields); i++) {
        levada_json_column *c = &columns[i];
        levada_status       st;

        c->name = levada_value_key(fields, i);
        st = fields_one(levada_value_item(fields, i), c, err);
        if (st != LEVADA_OK) {
            levada_error_wrap(err, "fields.%s", c->name);
            return st;
        }
    }
    return LEVADA_OK;
}

static levada_status fields_make(const levada_json_column *columns, int64_t n, levada_spec **out,
                                 levada_error *err)
{
    levada_field *fields = levada_alloc_zero((size_t)n * sizeof *fields);
    levada_status st;

    if (!fields) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    for (int64_t i = 0; i < n; i++) {
        fields[i].name = columns[i].name;
        fields[i].dtype = columns[i].dtype;
        fields[i].depth = (uint8_t)columns[i].depth;
    }
    st = levada_spec_create(fields, (int32_t)n, LEVADA_SPEC_PLAIN, out, err);
    levada_free(fields);
    return st;
}

levada_status levada_json_columns_spec(const levada_json_args *args, levada_spec **out,
                                       levada_error *err)
{
    static const levada_field line = { .name = "line", .dtype = LEVADA_BYTES };
    int64_t                   n = levada_value_count(args->fields);
    levada_json_column       *columns;
    levada_status             st;

    if (!args->fields) return levada_spec_create(&line, 1, LEVADA_SPEC_PLAIN, out, err);
    if (levada_value_kind_of(args->fields) != LEVADA_VALUE_MAP || n == 0 || n > FIELDS_MOST)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "fields must be a map of 1 to %d names and dtypes, or auto",
                           FIELDS_MOST);
    columns = levada_alloc_zero((size_t)n * sizeof *columns);
    if (!columns) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    st = levada_json_fields_read(args->fields, columns, err);
    if (st == LEVADA_OK) st = fields_make(columns, n, out, err);
    levada_free(columns);
    return st;
}
