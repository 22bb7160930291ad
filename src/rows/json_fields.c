/* SPDX-License-Identifier: Apache-2.0 */
/* The option `fields` of jsonl, and the columns that it describes. */

#include "base/alloc.h"
#include "option/value_priv.h"
#include "rows/json_columns.h"

#include <string.h>

enum { FIELDS_MOST = 4096, FIELDS_NAME = 512, FIELDS_NESTING = 32 };

/* A walk over the option: the columns so far, and the one that is being described. */
typedef struct fields_walk {
    levada_json_column *columns;
    int64_t             n, capacity;
    levada_json_column  at;   /* steps begin at `from` of the name */
    char                name[FIELDS_NAME];
    size_t              used;
    int32_t             nesting;
} fields_walk;

static bool fields_has(levada_dtype dtype)
{
    return dtype == LEVADA_INT32 || dtype == LEVADA_INT64 || dtype == LEVADA_FLOAT32 ||
           dtype == LEVADA_FLOAT64 || dtype == LEVADA_BOOL || levada_dtype_is_bytes(dtype);
}

static levada_status fields_short(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for fields");
}

static levada_status fields_default(levada_json_column *c, levada_error *err)
{
    levada_value_kind kind = levada_value_kind_of(c->otherwise);
    char              shown[LEVADA_VALUE_SHOWN];
    bool              fits;

    switch (c->dtype) {
    case LEVADA_BYTES:
    case LEVADA_TEXT: fits = kind == LEVADA_VALUE_TEXT || kind == LEVADA_VALUE_BYTES; break;
    case LEVADA_BOOL: fits = kind == LEVADA_VALUE_BOOL; break;
    case LEVADA_INT32:
        fits = kind == LEVADA_VALUE_INT && levada_value_as_int(c->otherwise) >= INT32_MIN &&
               levada_value_as_int(c->otherwise) <= INT32_MAX;
        break;
    case LEVADA_INT64: fits = kind == LEVADA_VALUE_INT; break;
    default: fits = kind == LEVADA_VALUE_INT || kind == LEVADA_VALUE_FLOAT; break;
    }
    if (fits) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "the default must be %s, got %s",
                       levada_dtype_name(c->dtype),
                       levada_value_shown(c->otherwise, LEVADA_PRINT_TEXT, shown));
}

/* Adds the column that has been described: its name and its steps. */
static levada_status fields_add(fields_walk *w, levada_error *err)
{
    levada_json_column *c;
    char               *name;

    if (w->n == FIELDS_MOST)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "fields must have at most %d entries, got more; drop some", FIELDS_MOST);
    name = levada_alloc(w->used + 1);
    if (!name || !levada_reserve(&w->columns, &w->capacity, w->n + 1, sizeof *w->columns)) {
        levada_free(name);
        return fields_short(err);
    }
    memcpy(name, w->name, w->used + 1);
    c = &w->columns[w->n++];
    *c = w->at;
    c->name = name;
    c->step[c->nsteps].size = w->used - c->step[c->nsteps].from;
    c->step[c->nsteps].end = c->depth;
    c->nsteps++;
    for (int32_t s = 0; s < c->nsteps; s++) c->step[s].path = name + c->step[s].from;
    return LEVADA_OK;
}

static levada_status fields_dtype(fields_walk *w, const levada_value *value, levada_error *err)
{
    const char *name = levada_value_as_text(value, NULL);

    w->at.dtype = name ? levada_dtype_find(name) : LEVADA_NONE;
    if (fields_has(w->at.dtype)) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "dtype '%s': expected int32, int64, float32, float64, bool, text or string",
                       name ? name : "?");
}

/* Returns true if a map is {dtype: ..., default: ..., path: ...}, not an object with members. */
static bool fields_is_leaf(const levada_value *entry)
{
    const levada_value *type = levada_value_get(entry, "dtype");

    return levada_value_kind_of(entry) == LEVADA_VALUE_MAP &&
           (levada_value_count(entry) == 0 ||
            (type && levada_value_kind_of(type) != LEVADA_VALUE_MAP));
}

static levada_status fields_entry(fields_walk *w, const levada_value *entry, levada_error *err);

static levada_status fields_members(fields_walk *w, const levada_value *map, levada_error *err)
{
    size_t        before = w->used;
    levada_status st = LEVADA_OK;

    if (++w->nesting > FIELDS_NESTING)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "objects must have at most %d levels, got more at '%s'; read it "
                           "with map", FIELDS_NESTING, w->name);
    for (int64_t i = 0; st == LEVADA_OK && i < levada_value_count(map); i++) {
        const char *key = levada_value_key(map, i);
        size_t      size = strlen(key);

        if (before + size + 2 > FIELDS_NAME)
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "a name must have at most %d bytes, got '%.40s...'",
                               FIELDS_NAME - 1, key);
        w->name[before] = '.';
        memcpy(w->name + before + 1, key, size + 1);
        w->used = before + 1 + size;
        st = fields_entry(w, levada_value_item(map, i), err);
    }
    w->used = before;
    w->name[before] = '\0';
    w->nesting--;
    return st;
}

/* Reads [dtype], [[dtype]], or [{...}], whose members begin another step. */
static levada_status fields_list(fields_walk *w, const levada_value *value, levada_error *err)
{
    char shown[LEVADA_VALUE_SHOWN];
    levada_json_column before = w->at;
    levada_json_step  *step = &w->at.step[w->at.nsteps];
    levada_status      st;

    for (; levada_value_kind_of(value) == LEVADA_VALUE_LIST; w->at.depth++) {
        if (levada_value_count(value) != 1 || w->at.depth == LEVADA_JSON_DEPTH)
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "a list must have one dtype or object, and at most %d levels, as in "
                               "[[int64]]; got %s", LEVADA_JSON_DEPTH,
                               levada_value_shown(value, LEVADA_PRINT_TEXT, shown));
        value = levada_value_item(value, 0);
    }
    if (levada_value_kind_of(value) == LEVADA_VALUE_MAP && !fields_is_leaf(value)) {
        step->size = w->used - step->from;
        step->end = w->at.depth;
        w->at.nsteps++;
        w->at.step[w->at.nsteps] = (levada_json_step){ .from = w->used + 1 };
        st = fields_members(w, value, err);
    } else {
        st = fields_dtype(w, value, err);
        if (st == LEVADA_OK) st = fields_add(w, err);
    }
    w->at = before;
    return st;
}

static levada_status fields_leaf(fields_walk *w, const levada_value *entry, levada_error *err)
{
    char                shown[LEVADA_VALUE_SHOWN];
    const levada_value *type = levada_value_get(entry, "dtype");
    const levada_value *path = levada_value_get(entry, "path");
    const levada_value *otherwise = levada_value_get(entry, "default");
    int64_t             known = (type != NULL) + (path != NULL) + (otherwise != NULL);
    int64_t             first = w->n;

    if (!type || known != levada_value_count(entry))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "an entry must hold dtype, default and path only, got %s",
                           levada_value_shown(entry, LEVADA_PRINT_TEXT, shown));
    if (path && (levada_value_kind_of(path) != LEVADA_VALUE_TEXT || w->nesting > 0))
        return levada_fail(
            err, LEVADA_EINVALID_ARGUMENT,
            "a path must be a string, and of a field outside of lists and objects, got "
            "%s",
            levada_value_shown(path, LEVADA_PRINT_TEXT, shown));
    if (levada_value_kind_of(otherwise) == LEVADA_VALUE_NULL) otherwise = NULL;
    if (otherwise && levada_value_kind_of(type) == LEVADA_VALUE_LIST)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a list cannot have a default, because a missing list is empty; omit "
                           "it");
    LEVADA_TRY(fields_entry(w, type, err));
    for (int64_t i = first; path && i < w->n; i++)
        w->columns[i].step[0].path = levada_value_as_text(path, &w->columns[i].step[0].size);
    if (!otherwise) return LEVADA_OK;
    w->columns[first].otherwise = otherwise;
    return fields_default(&w->columns[first], err);
}

static levada_status fields_entry(fields_walk *w, const levada_value *entry, levada_error *err)
{
    if (fields_is_leaf(entry)) return fields_leaf(w, entry, err);
    if (levada_value_kind_of(entry) == LEVADA_VALUE_MAP) return fields_members(w, entry, err);
    if (levada_value_kind_of(entry) == LEVADA_VALUE_LIST) return fields_list(w, entry, err);
    LEVADA_TRY(fields_dtype(w, entry, err));
    return fields_add(w, err);
}

static levada_status fields_walk_all(fields_walk *w, const levada_value *fields, levada_error *err)
{
    for (int64_t i = 0; i < levada_value_count(fields); i++) {
        const char   *name = levada_value_key(fields, i);
        levada_status st = LEVADA_OK;

        w->used = strlen(name);
        if (w->used >= FIELDS_NAME)
            st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                             "a name must have at most %d bytes, got '%.40s...'",
                             FIELDS_NAME - 1, name);
        if (st == LEVADA_OK) {
            memcpy(w->name, name, w->used + 1);
            w->at = (levada_json_column){ 0 };
            w->nesting = 0;
            st = fields_entry(w, levada_value_item(fields, i), err);
        }
        if (st != LEVADA_OK) {
            levada_error_wrap(err, "fields.%s", name);
            return st;
        }
    }
    return LEVADA_OK;
}

void levada_json_fields_free(levada_json_column *columns, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k <= LEVADA_JSON_DEPTH; k++) levada_free(columns[i].ends[k].at);
        levada_free(columns[i].values.at);
        levada_free(columns[i].name);
    }
    levada_free(columns);
}

levada_status levada_json_fields_read(const levada_value *fields, levada_json_column **out,
                                      int64_t *n, levada_error *err)
{
    fields_walk  *w = levada_alloc_zero(sizeof *w);
    levada_status st = w ? fields_walk_all(w, fields, err) : fields_short(err);

    if (st == LEVADA_OK) {
        *out = w->columns;
        *n = w->n;
    } else if (w) {
        levada_json_fields_free(w->columns, w->n);
    }
    levada_free(w);
    return st;
}

/* -- the columns of blocks */

/* Fills object[l] of the field: after how many dots of the name the members of an item begin. */
static void fields_objects(const levada_json_column *c, levada_field *f)
{
    uint8_t dots = 0;

    for (int32_t s = 0; s + 1 < c->nsteps; s++) {
        const char *path = c->name + c->step[s].from;

        for (const char *p = path; p < path + c->step[s].size; p++)
            if (*p == '.') dots++;
        f->object[c->step[s].end - 1] = ++dots;
    }
}

static levada_status fields_make(const levada_json_column *columns, int64_t n, levada_spec **out,
                                 levada_error *err)
{
    levada_field *fields = levada_alloc_zero((size_t)n * sizeof *fields + 1);
    levada_status st;

    if (!fields) return fields_short(err);
    for (int64_t i = 0; i < n; i++) {
        fields[i].name = columns[i].name;
        fields[i].dtype = columns[i].dtype;
        fields[i].depth = (uint8_t)columns[i].depth;
        fields_objects(&columns[i], &fields[i]);
    }
    st = levada_spec_create(fields, (int32_t)n, LEVADA_SPEC_PLAIN, out, err);
    levada_free(fields);
    return st;
}

levada_status levada_json_columns_spec(const levada_json_args *args, levada_spec **out,
                                       levada_error *err)
{
    char shown[LEVADA_VALUE_SHOWN];
    static const levada_field line = { .name = "line", .dtype = LEVADA_TEXT };
    int64_t                   n = levada_value_count(args->fields);
    levada_json_column       *columns = NULL;
    levada_status             st;

    if (!args->fields) return levada_spec_create(&line, 1, LEVADA_SPEC_PLAIN, out, err);
    if (levada_value_kind_of(args->fields) != LEVADA_VALUE_MAP || n == 0 || n > FIELDS_MOST)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "fields must be a map of 1 to %d names and dtypes, or auto; got %s",
                           FIELDS_MOST,
                           levada_value_shown(args->fields, LEVADA_PRINT_TEXT, shown));
    LEVADA_TRY(levada_json_fields_read(args->fields, &columns, &n, err));
    st = fields_make(columns, n, out, err);
    levada_json_fields_free(columns, n);
    return st;
}
