/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow types as specs. */
#include "arrow/arrow_import.h"
#include "arrow/arrow_plan.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/versioned.h"
#include "description/columns.h"
#include <levada/value.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMPORT_DEEPEST = 64 }; /* nesting of types */

LEVADA_VERSIONED_INIT(levada_arrow_options_init, levada_arrow_options, LEVADA_ARROW_OPTIONS_INIT)

levada_status levada_arrow_read(const levada_arrow_options *options, levada_arrow_options *out,
                                levada_error *err)
{
    *out = (levada_arrow_options)LEVADA_ARROW_OPTIONS_INIT;
    if (options) LEVADA_TRY(LEVADA_VERSIONED_READ(*out, options, levada_arrow_options, err));
    LEVADA_TRY(levada_require_range(out->readable_size, 0, INT64_MAX / 2, "readable_size", err));
    return levada_require_range((int32_t)out->nulls, LEVADA_ARROW_NULLS_ERROR,
                                LEVADA_ARROW_NULLS_MASK, "nulls", err);
}

/* -- metadata */

/* Reads a string with its size at *at, and moves *at to its end. */
static const char *import_next(const char **at, int32_t *size)
{
    const char *text;

    memcpy(size, *at, sizeof *size);
    text = *at + sizeof *size;
    *at = text + *size;
    return text;
}

/* Returns the value of a key in the metadata of a schema, and its size; NULL if it has none. */
static const char *import_metadata(const struct ArrowSchema *schema, const char *key, int32_t *size)
{
    const char *at = schema->metadata;
    int32_t     pairs = 0, n = 0;

    if (!at) return NULL;
    memcpy(&pairs, at, sizeof pairs);
    at += sizeof pairs;
    for (int32_t i = 0; i < pairs; i++) {
        const char *name = import_next(&at, &n);
        bool        found = strlen(key) == (size_t)n && memcmp(key, name, (size_t)n) == 0;
        const char *value = import_next(&at, size);

        if (found) return value;
    }
    return NULL;
}

static bool import_is_extension(const struct ArrowSchema *schema, const char *name)
{
    int32_t     n = 0;
    const char *found = import_metadata(schema, "ARROW:extension:name", &n);

    return found && strlen(name) == (size_t)n && memcmp(name, found, (size_t)n) == 0;
}

/* Reads the dimensions of a tensor; returns their product, -1 if they are damaged. */
static int64_t import_dims(const levada_value *shape, levada_arrow_import *out)
{
    int64_t product = 1;

    out->ndim = (int32_t)levada_value_count(shape);
    if (out->ndim < 1 || out->ndim > LEVADA_MAX_DIMS) return -1;
    for (int32_t d = 0; d < out->ndim; d++) {
        const levada_value *size = levada_value_item(shape, d);

        if (levada_value_kind_of(size) != LEVADA_VALUE_INT) return -1;
        out->dims[d] = levada_value_as_int(size);
        if (out->dims[d] < 0 || out->dims[d] > INT32_MAX) return -1;
        product *= out->dims[d];
        if (product > INT32_MAX) return -1;
    }
    return product;
}

/* Reads the shape of a tensor, which must fit its storage. */
static levada_status import_shape(const struct ArrowSchema *schema, const char *name,
                                  levada_arrow_import *out, levada_error *err)
{
    int32_t       n = 0;
    const char   *text = import_metadata(schema, "ARROW:extension:metadata", &n);
    levada_value *all = NULL;
    int64_t       product = -1;

    if (text) LEVADA_TRY(levada_value_parse_json(text, (size_t)n, &all, err));
    product = import_dims(levada_value_get(all, "shape"), out);
    levada_value_destroy(&all);
    if (product == out->size) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "field '%s': the shape of the tensor does not fit %lld values", name,
                       (long long)out->size);
}

/* -- formats */

/* Formats of one letter. */
static const struct import_letter {
    char              letter;
    levada_arrow_form form;
    levada_dtype      dtype;
    int64_t           size;
} import_letters[] = {
    { 'c', LEVADA_FORM_NUMBERS, LEVADA_INT8, 1 },   { 'C', LEVADA_FORM_NUMBERS, LEVADA_UINT8, 1 },
    { 's', LEVADA_FORM_NUMBERS, LEVADA_INT16, 2 },  { 'S', LEVADA_FORM_NUMBERS, LEVADA_UINT16, 2 },
    { 'i', LEVADA_FORM_NUMBERS, LEVADA_INT32, 4 },  { 'I', LEVADA_FORM_NUMBERS, LEVADA_UINT32, 4 },
    { 'l', LEVADA_FORM_NUMBERS, LEVADA_INT64, 8 },  { 'L', LEVADA_FORM_NUMBERS, LEVADA_UINT64, 8 },
    { 'e', LEVADA_FORM_NUMBERS, LEVADA_FLOAT16, 2 },
    { 'f', LEVADA_FORM_NUMBERS, LEVADA_FLOAT32, 4 },
    { 'g', LEVADA_FORM_NUMBERS, LEVADA_FLOAT64, 8 },
    { 'b', LEVADA_FORM_BITS, LEVADA_BOOL, 0 },
    { 'u', LEVADA_FORM_STRINGS, LEVADA_TEXT, 4 },   { 'z', LEVADA_FORM_STRINGS, LEVADA_BYTES, 4 },
    { 'U', LEVADA_FORM_STRINGS, LEVADA_TEXT, 8 },   { 'Z', LEVADA_FORM_STRINGS, LEVADA_BYTES, 8 },
};

static bool import_plain(const char *format, levada_arrow_import *out)
{
    if (!format[0] || format[1]) return false;
    for (size_t i = 0; i < sizeof import_letters / sizeof *import_letters; i++) {
        const struct import_letter *t = &import_letters[i];

        if (t->letter != format[0]) continue;
        *out = (levada_arrow_import){ .form = t->form,
                                      .dtype = t->dtype,
                                      .size = t->size,
                                      .is_signed = strchr("csil", t->letter) != NULL };
        return true;
    }
    return false;
}

/* Reads a time as integers of its own unit. */
static bool import_time(const char *format, levada_arrow_import *out)
{
    bool narrow = strcmp(format, "tdD") == 0 || strcmp(format, "tts") == 0 ||
                  strcmp(format, "ttm") == 0;
    bool wide = strcmp(format, "tdm") == 0 || strcmp(format, "ttu") == 0 ||
                strcmp(format, "ttn") == 0 || strncmp(format, "ts", 2) == 0 ||
                strncmp(format, "tD", 2) == 0;

    if (!narrow && !wide) return false;
    *out = (levada_arrow_import){ .form = LEVADA_FORM_NUMBERS,
                                  .dtype = LEVADA_INT64,
                                  .size = narrow ? 4 : 8,
                                  .is_signed = true };
    return true;
}

/* Reads the number after a colon; -1 if there is none. */
static int64_t import_number(const char *format)
{
    const char *at = strchr(format, ':');
    char       *end = NULL;
    long long   n = at ? strtoll(at + 1, &end, 10) : -1;

    return at && end != at + 1 && *end == '\0' && n <= INT32_MAX ? n : -1;
}

static bool import_nested(const struct ArrowSchema *schema, levada_arrow_import *out)
{
    const char *f = schema->format;

    if (strcmp(f, "vu") == 0) {
        *out = (levada_arrow_import){ .form = LEVADA_FORM_VIEWS, .dtype = LEVADA_TEXT };
    } else if (strcmp(f, "vz") == 0) {
        *out = (levada_arrow_import){ .form = LEVADA_FORM_VIEWS, .dtype = LEVADA_BYTES };
    } else if (strncmp(f, "w:", 2) == 0) {
        *out = (levada_arrow_import){ .form = LEVADA_FORM_FIXED_STRINGS, .dtype = LEVADA_BYTES,
                              .size = import_number(f) };
    } else if (strcmp(f, "+s") == 0) {
        *out = (levada_arrow_import){ .form = LEVADA_FORM_STRUCT };
    } else if (strcmp(f, "+l") == 0 || strcmp(f, "+L") == 0) {
        *out = (levada_arrow_import){ .form = LEVADA_FORM_LIST, .size = f[1] == 'l' ? 4 : 8 };
    } else if (strcmp(f, "+vl") == 0 || strcmp(f, "+vL") == 0) {
        *out = (levada_arrow_import){ .form = LEVADA_FORM_LIST_VIEW, .size = f[2] == 'l' ? 4 : 8 };
    } else if (strncmp(f, "+w:", 3) == 0) {
        *out = (levada_arrow_import){ .form = LEVADA_FORM_FIXED, .size = import_number(f) };
    } else if (strcmp(f, "+r") == 0) {
        *out = (levada_arrow_import){ .form = LEVADA_FORM_RUNS };
    } else {
        return false;
    }
    return out->size >= 0;
}

/* Returns the children that an array of a form must have. */
static int64_t import_children(levada_arrow_form form)
{
    if (form == LEVADA_FORM_RUNS) return 2;
    return form == LEVADA_FORM_LIST || form == LEVADA_FORM_LIST_VIEW || form == LEVADA_FORM_FIXED
               ? 1
               : 0;
}

/* Types that levada does not have: how their formats begin, and what to do. */
static const struct import_absent {
    const char *format, *what, *advice;
} import_absent[] = {
    { "d:", "decimals", "cast it to float64, or to int64 of its unit" },
    { "+m", "maps", "select its keys and values as two list columns" },
    { "+u", "unions", "omit it" },
    { "ti", "intervals", "omit it" },
    { "n", "columns of nulls", "omit it" },
    { "", "Arrow types of this format", "omit it" },
};

static levada_status import_missing(const char *format, const char *name, levada_error *err)
{
    const struct import_absent *type = import_absent;

    while (strncmp(format, type->format, strlen(type->format)) != 0) type++;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "field '%s': %s ('%.40s') are not supported; %s", name, type->what, format,
                       type->advice);
}

levada_status levada_arrow_type(const struct ArrowSchema *schema, const char *name,
                                levada_arrow_import *out, levada_error *err)
{
    levada_arrow_import type = { 0 };

    if (!schema->format)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the Arrow schema is corrupt: it has no format");
    if (!import_plain(schema->format, &type) && !import_time(schema->format, &type) &&
        !import_nested(schema, &type)) {
        return import_missing(schema->format, name, err);
    }
    if (schema->dictionary) {
        if (type.form != LEVADA_FORM_NUMBERS) return import_missing(schema->format, name, err);
        type.form = LEVADA_FORM_DICTIONARY;
    } else if (type.form == LEVADA_FORM_FIXED &&
               import_is_extension(schema, "arrow.fixed_shape_tensor")) {
        LEVADA_TRY(import_shape(schema, name, &type, err));
    } else if (type.dtype == LEVADA_INT8 && import_is_extension(schema, "arrow.bool8")) {
        type.dtype = LEVADA_BOOL;
    } else if (type.dtype == LEVADA_INT16 && import_is_extension(schema, "arrow.opaque")) {
        int32_t     n = 0;
        const char *what = import_metadata(schema, "ARROW:extension:metadata", &n);
        const char  *ours = "{\"type_name\":\"bfloat16\",\"vendor_name\":\"levada\"}";

        if (what && strlen(ours) == (size_t)n && memcmp(what, ours, (size_t)n) == 0)
            type.dtype = LEVADA_BFLOAT16;
    }
    if (import_children(type.form) && schema->n_children != import_children(type.form)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' has %lld children, its format '%s' must have %lld", name,
                           (long long)schema->n_children, schema->format,
                           (long long)import_children(type.form));
    }
    *out = type;
    return LEVADA_OK;
}

levada_status levada_arrow_name(const char *of, const char *member, char to[LEVADA_ARROW_NAME],
                                levada_error *err)
{
    int n = snprintf(to, LEVADA_ARROW_NAME, "%s%s%s", of, of[0] ? "." : "", member ? member : "");

    if (n >= 0 && n < LEVADA_ARROW_NAME) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "field '%.60s...': a name must have at most %d bytes", to,
                       LEVADA_ARROW_NAME - 1);
}

/* -- specs */

typedef struct import_spec {
    levada_field *fields; /* their names are owned */
    int64_t       n, capacity;
    bool          masks;
} import_spec;

static levada_status import_add(import_spec *s, const levada_field *f, levada_error *err)
{
    char *name = levada_strdup(f->name);

    if (!name || !levada_reserve(&s->fields, &s->capacity, s->n + 1, sizeof *s->fields)) {
        levada_free(name);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    }
    s->fields[s->n] = *f;
    s->fields[s->n++].name = name;
    return LEVADA_OK;
}

static levada_status import_values(import_spec *s, const levada_field *f, levada_error *err)
{
    char         name[LEVADA_ARROW_NAME + 8];
    levada_field mask = { .name = name, .dtype = LEVADA_BOOL };

    LEVADA_TRY(import_add(s, f, err));
    if (!s->masks) return LEVADA_OK;
    (void)snprintf(name, sizeof name, "%s_valid", f->name);
    return import_add(s, &mask, err);
}

static levada_status import_field(import_spec *s, const struct ArrowSchema *schema,
                                  const levada_field *above, int depth, levada_error *err);

/* Imports the members of a struct. */
static levada_status import_members(import_spec *s, const struct ArrowSchema *schema,
                                    const levada_field *above, int depth, levada_error *err)
{
    char         name[LEVADA_ARROW_NAME];
    levada_field member = *above;

    if (above->ndim) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s': a fixed_size_list of structs is not supported; cast it to "
                           "list", above->name);
    }
    member.name = name;
    for (int64_t i = 0; i < schema->n_children; i++) {
        LEVADA_TRY(levada_arrow_name(above->name, schema->children[i]->name, name, err));
        LEVADA_TRY(import_field(s, schema->children[i], &member, depth + 1, err));
    }
    return LEVADA_OK;
}

/* Imports lists: one more level, whose items may be objects. */
static levada_status import_list(import_spec *s, const struct ArrowSchema *schema,
                                 const levada_field *above, int depth, levada_error *err)
{
    levada_field f = *above;
    levada_arrow_import  item;

    if (f.ndim) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s': a fixed_size_list of lists of any length is not supported; "
                           "cast it to list", f.name);
    }
    if (f.depth == LEVADA_MAX_DEPTH) {
        return levada_fail(
            err, LEVADA_EINVALID_ARGUMENT,
            "field '%s': more than %d levels of lists is not supported; omit it", f.name,
            LEVADA_MAX_DEPTH);
    }
    LEVADA_TRY(levada_arrow_type(schema->children[0], f.name, &item, err));
    if (item.form == LEVADA_FORM_STRUCT)
        f.object[f.depth] = (uint8_t)(levada_name_dots(f.name) + 1);
    f.depth++;
    return import_field(s, schema->children[0], &f, depth + 1, err);
}

static levada_status import_fixed(import_spec *s, const struct ArrowSchema *schema,
                                  const levada_arrow_import *type, const levada_field *above,
                                  int depth, levada_error *err)
{
    levada_field f = *above;
    int32_t      n = type->ndim ? type->ndim : 1;

    if (f.ndim + n > LEVADA_MAX_DIMS) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s': more than %d dimensions is not supported; omit it",
                           f.name, LEVADA_MAX_DIMS);
    }
    for (int32_t d = 0; d < n; d++) f.dims[f.ndim++] = type->ndim ? type->dims[d] : type->size;
    return import_field(s, schema->children[0], &f, depth + 1, err);
}

static levada_status import_field(import_spec *s, const struct ArrowSchema *schema,
                                  const levada_field *above, int depth, levada_error *err)
{
    levada_field f = *above;
    levada_arrow_import  type;

    if (depth > IMPORT_DEEPEST) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s': more than %d levels of types is not supported; omit it",
                           f.name, IMPORT_DEEPEST);
    }
    LEVADA_TRY(levada_arrow_type(schema, f.name, &type, err));
    switch (type.form) {
    case LEVADA_FORM_STRUCT: return import_members(s, schema, above, depth, err);
    case LEVADA_FORM_LIST:
    case LEVADA_FORM_LIST_VIEW: return import_list(s, schema, above, depth, err);
    case LEVADA_FORM_FIXED: return import_fixed(s, schema, &type, above, depth, err);
    case LEVADA_FORM_RUNS: return import_field(s, schema->children[1], above, depth + 1, err);
    case LEVADA_FORM_DICTIONARY: return import_field(s, schema->dictionary, above, depth + 1, err);
    default: break;
    }
    f.dtype = type.dtype;
    return import_values(s, &f, err);
}

levada_status levada_arrow_import_spec(const struct ArrowSchema *schema,
                                       const levada_arrow_options *options, levada_spec **out,
                                       levada_error *err)
{
    LEVADA_TRY(levada_require(schema != NULL && schema->release != NULL, "schema", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_arrow_options all;
    import_spec          s = { 0 };
    levada_field         top = { .name = "" };
    levada_status        st;

    LEVADA_TRY(levada_arrow_read(options, &all, err));
    if (!schema->format || strcmp(schema->format, "+s") != 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "schema must be a struct, got the format '%.40s'",
                           schema->format ? schema->format : "");
    }
    s.masks = all.nulls == LEVADA_ARROW_NULLS_MASK;
    st = import_members(&s, schema, &top, 0, err);
    if (st == LEVADA_OK) {
        st = levada_spec_create(s.fields, (int32_t)s.n, LEVADA_SPEC_PLAIN, out, err);
    }
    for (int64_t i = 0; i < s.n; i++) levada_free((char *)(uintptr_t)s.fields[i].name);
    levada_free(s.fields);
    return st;
}
