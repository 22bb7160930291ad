/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/json_columns.h"

#include "base/alloc.h"
#include "rows/strings_put.h"
#include "tensor/text_columns.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static levada_status columns_short(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for the values of a block");
}

levada_status levada_json_columns_open(levada_json_columns *c, const levada_json_args *args,
                                       levada_error *err)
{
    LEVADA_TRY(levada_json_parser_open(&c->parser, args->invalid != 0, err));
    c->parser.lines = !args->fields;
    return args->fields ? levada_json_fields_read(args->fields, &c->columns, &c->n, err)
                        : LEVADA_OK;
}

void levada_json_columns_close(levada_json_columns *c)
{
    levada_json_fields_free(c->columns, c->n);
    levada_free(c->lines.at);
    levada_text_clear(&c->json);
    levada_json_parser_close(&c->parser);
    *c = (levada_json_columns){ 0 };
}

/* -- values */

/* A column while a row is added to it. */
typedef struct columns_adder {
    levada_json_column *c;
    levada_json_parser *parser;
    levada_text        *json;
    int32_t             level; /* lists that are open */
    bool                out_of_memory, missing, list; /* a member; a list on the way to one */
    levada_json_kind    wrong; /* of the value that does not fit */
    levada_json_odd     odd;   /* its text, where it is LEVADA_JSON_BIG */
} columns_adder;

static bool columns_push(columns_adder *a, levada_json_array *to, const void *item, size_t size,
                         int64_t count)
{
    if (count > INT32_MAX - to->n || !levada_reserve(&to->at, &to->capacity, to->n + count, size)) {
        a->out_of_memory = true;
        return false;
    }
    if (count > 0) memcpy((uint8_t *)to->at + (size_t)to->n * size, item, (size_t)count * size);
    to->n += count;
    return true;
}

static bool columns_end(columns_adder *a, int32_t level, int64_t n)
{
    int32_t end = (int32_t)n;

    return columns_push(a, &a->c->ends[level], &end, sizeof end, 1);
}

static bool columns_text(columns_adder *a, const void *text, size_t size)
{
    return columns_push(a, &a->c->values, text, 1, (int64_t)size) &&
           columns_end(a, a->c->depth, a->c->values.n);
}

static bool columns_number(columns_adder *a, int64_t i, double f)
{
    levada_json_array *to = &a->c->values;
    float              single = (float)f;
    int32_t            narrow = (int32_t)i;

    switch (a->c->dtype) {
    case LEVADA_FLOAT32: return columns_push(a, to, &single, sizeof single, 1);
    case LEVADA_FLOAT64: return columns_push(a, to, &f, sizeof f, 1);
    case LEVADA_INT32: return i == narrow && columns_push(a, to, &narrow, sizeof narrow, 1);
    default: return columns_push(a, to, &i, sizeof i, 1);
    }
}

static bool columns_is_float(const levada_json_column *c)
{
    return c->dtype == LEVADA_FLOAT32 || c->dtype == LEVADA_FLOAT64;
}

/* Adds NaN, Infinity, or a number beyond int64 and double. */
static bool columns_odd(columns_adder *a, levada_json_value value)
{
    double f = 0;

    a->odd = levada_json_parser_odd(a->parser, value);
    if (levada_dtype_is_bytes(a->c->dtype))
        return (a->odd.integer || a->c->dtype == LEVADA_TEXT) &&
               columns_text(a, a->odd.text, (size_t)a->odd.size);
    if (!columns_is_float(a->c) || !levada_json_odd_float(&a->odd, &f)) return false;
    if (a->c->dtype == LEVADA_FLOAT32 && isfinite(f) && !isfinite((float)f)) return false;
    return columns_number(a, 0, f);
}

/* Adds the JSON of a value that is not a string. */
static bool columns_json(columns_adder *a, levada_json_value value)
{
    a->json->size = 0;
    a->json->failed = false;
    levada_json_text(a->parser, value, a->json);
    a->out_of_memory = a->json->failed;
    return !a->json->failed && columns_text(a, a->json->at, a->json->size);
}

/* Adds a string. Integers are identifiers there: their digits. */
static bool columns_string(columns_adder *a, levada_json_kind kind, levada_json_value value)
{
    size_t         size;
    const uint8_t *text;

    if (kind == LEVADA_JSON_TEXT) {
        text = levada_json_as_text(value, &size);
        return columns_text(a, text, size);
    }
    if (kind != LEVADA_JSON_INT && (a->c->dtype != LEVADA_TEXT || kind == LEVADA_JSON_NULL))
        return false;
    return columns_json(a, value);
}

/* Adds one value, not a list. Returns false if it is not of the dtype, or memory has run out. */
static bool columns_scalar(columns_adder *a, levada_json_value value)
{
    levada_json_kind kind = a->wrong = levada_json_kind_of(value);
    bool             is_float = columns_is_float(a->c);
    uint8_t          truth;

    if (kind == LEVADA_JSON_BIG) return columns_odd(a, value);
    if (levada_dtype_is_bytes(a->c->dtype)) return columns_string(a, kind, value);
    if (a->c->dtype == LEVADA_BOOL) {
        if (kind != LEVADA_JSON_BOOL) return false;
        truth = levada_json_as_bool(value);
        return columns_push(a, &a->c->values, &truth, 1, 1);
    }
    if (is_float && kind >= LEVADA_JSON_INT && kind <= LEVADA_JSON_FLOAT) {
        double f = levada_json_as_float(value);

        return (a->c->dtype == LEVADA_FLOAT64 || isfinite((float)f)) && columns_number(a, 0, f);
    }
    return kind == LEVADA_JSON_INT && columns_number(a, levada_json_as_int(value), 0);
}

/* Returns the number of items so far of what the lists of this level hold. */
static int64_t columns_count(const levada_json_column *c, int32_t level)
{
    bool last = level + 1 == c->depth && !levada_dtype_is_bytes(c->dtype);

    return last ? c->values.n : c->ends[level + 1].n;
}

/* Fills a row or an object without the field: with the default, or with what keeps the column
 * well-formed. */
static bool columns_otherwise(columns_adder *a)
{
    const levada_value *value = a->c->otherwise;
    const char         *text = NULL;
    size_t              size = 0;
    uint8_t             truth;

    if (a->level < a->c->depth) return columns_end(a, a->level, columns_count(a->c, a->level));
    if (levada_dtype_is_bytes(a->c->dtype)) {
        if (value) text = levada_value_as_text(value, &size);
        return columns_text(a, text, size);
    }
    if (a->c->dtype == LEVADA_BOOL) {
        truth = value && levada_value_as_bool(value);
        return columns_push(a, &a->c->values, &truth, 1, 1);
    }
    if (!value) return columns_number(a, 0, 0);
    return columns_number(a, levada_value_as_int(value), levada_value_as_float(value));
}

/* Finds the value at "a.b.c" from the root on. A name with dots counts first. Sets *list if there
 * is a list on the way, which no name leads into. */
static bool columns_look(const levada_json_step *step, levada_json_value root,
                         levada_json_value *out, bool *list)
{
    const char *at = step->path, *end = at + step->size;

    if (levada_json_find(root, at, step->size, out)) return true;
    for (*out = root;; at++) {
        const char *dot = memchr(at, '.', (size_t)(end - at));

        if (!dot) dot = end;
        *list = levada_json_kind_of(*out) == LEVADA_JSON_LIST;
        if (levada_json_kind_of(*out) != LEVADA_JSON_MAP) return false;
        root = *out;
        if (!levada_json_find(root, at, (size_t)(dot - at), out)) return false;
        at = dot;
        if (at == end) return true;
    }
}

/* Returns the step that begins in the items of this level; NULL = they are values. */
static const levada_json_step *columns_member(const levada_json_column *c, int32_t level)
{
    for (int32_t s = 0; s + 1 < c->nsteps; s++)
        if (c->step[s].end == level) return &c->step[s + 1];
    return NULL;
}

static bool columns_item(void *user, levada_json_value value);

/* Adds a value or a list of this level. */
static bool columns_add(columns_adder *a, levada_json_value value)
{
    int32_t level = a->level;

    if (level == a->c->depth) return columns_scalar(a, value);
    a->wrong = levada_json_kind_of(value);
    if (a->wrong != LEVADA_JSON_LIST) return false;
    a->level++;
    if (!levada_json_each(value, columns_item, a)) return false; /* `level` says where */
    a->level--;
    return columns_end(a, level, columns_count(a->c, level));
}

/* Adds an item of a list: a value, or an object that has one. */
static bool columns_item(void *user, levada_json_value value)
{
    columns_adder          *a = user;
    const levada_json_step *step = columns_member(a->c, a->level);
    levada_json_value       inner;

    if (!step) return columns_add(a, value);
    a->wrong = levada_json_kind_of(value);
    if (a->wrong != LEVADA_JSON_NULL && a->wrong != LEVADA_JSON_MAP) return false;
    if (a->wrong == LEVADA_JSON_MAP && columns_look(step, value, &inner, &a->list) &&
        levada_json_kind_of(inner) != LEVADA_JSON_NULL)
        return columns_add(a, inner);
    a->missing = !a->list && a->level == a->c->depth && !a->c->otherwise;
    return !a->list && !a->missing && columns_otherwise(a);
}

/* -- rows */

LEVADA_PRINTF(4, 5)
static levada_status columns_reject(levada_builder *out, int64_t row, levada_error *err,
                                    const char *format, ...)
{
    levada_error why = LEVADA_ERROR_INIT;
    char         text[256];
    va_list      list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    (void)levada_fail(&why, LEVADA_EINVALID_ARGUMENT, "%s", text);
    return levada_builder_reject(out, row, &why, err);
}

/* How long the arrays of a column were before a row. */
typedef struct columns_mark {
    int64_t ends[LEVADA_JSON_DEPTH + 1], values;
} columns_mark;

static columns_mark columns_here(const levada_json_column *c)
{
    columns_mark mark = { .values = c->values.n };

    for (int k = 0; k <= LEVADA_JSON_DEPTH; k++) mark.ends[k] = c->ends[k].n;
    return mark;
}

/* Returns the name of a column for messages. */
static const char *columns_path(const levada_json_column *c)
{
    return c->nsteps == 1 ? c->step[0].path : c->name;
}

static void columns_return(levada_json_column *c, const columns_mark *to)
{
    for (int k = 0; k <= LEVADA_JSON_DEPTH; k++) c->ends[k].n = to->ends[k];
    c->values.n = to->values;
}

/* Returns what does not fit, for messages. */
static const char *columns_wrong(const columns_adder *a)
{
    static const char *const kinds[] = {
        [LEVADA_JSON_NULL] = "null",      [LEVADA_JSON_BOOL] = "a bool",
        [LEVADA_JSON_INT] = "an integer", [LEVADA_JSON_FLOAT] = "a float",
        [LEVADA_JSON_TEXT] = "a string",  [LEVADA_JSON_LIST] = "a list",
        [LEVADA_JSON_MAP] = "an object",
    };
    bool is_int = a->c->dtype == LEVADA_INT32 && a->wrong == LEVADA_JSON_INT;

    if (is_int || (a->c->dtype == LEVADA_FLOAT32 && a->wrong == LEVADA_JSON_FLOAT))
        return "a number beyond its range";
    return kinds[a->wrong];
}

/* Rejects a row: "field 'id' must be int64, at most 2**63-1, got 9223372036854775808: ..." */
static levada_status columns_misfit_odd(const columns_adder *a, int64_t row, levada_builder *out,
                                        levada_error *err)
{
    levada_dtype dtype = a->c->dtype;
    const char  *range = "", *fix = a->odd.integer ? "change its type in 'fields' to text"
                                                   : "change its type in 'fields' to float64";

    if (a->odd.integer && dtype == LEVADA_INT64)
        range = *a->odd.text == '-' ? ", at least -2**63" : ", at most 2**63-1";
    else if (a->odd.integer && dtype == LEVADA_INT32)
        range = *a->odd.text == '-' ? ", at least -2**31" : ", at most 2**31-1";
    else if (columns_is_float(a->c)) range = ", within its range";
    if (columns_is_float(a->c) || levada_dtype_is_bytes(dtype) || dtype == LEVADA_BOOL)
        fix = "change its type in 'fields'";
    return columns_reject(out, row, err, "field '%.60s' must be %s%s%s, got %.*s%s: %s",
                          columns_path(a->c),
                          a->c->depth ? "a list of " : "", levada_dtype_name(dtype), range,
                          a->odd.size < 48 ? a->odd.size : 40, a->odd.text,
                          a->odd.size < 48 ? "" : "...", fix);
}

/* Rejects a row: "field 'score' is not int64 but a float: ..." */
static levada_status columns_misfit(const columns_adder *a, bool found, bool list, int64_t row,
                                    levada_builder *out, levada_error *err)
{
    const char *path = columns_path(a->c), *type = levada_dtype_name(a->c->dtype);

    if (list)
        return columns_reject(out, row, err,
                              "field '%.80s' must be a path through objects, and leads through a "
                              "list: read the lines without 'fields', and their lists in map",
                              path);
    if (a->missing)
        return columns_reject(out, row, err,
                              "field '%.80s' is missing in an object of a list; it must be %s: add "
                              "a default to 'fields'",
                              path, type);
    if (!found)
        return columns_reject(out, row, err,
                              "field '%.80s' is missing; it must be %s: add a default to 'fields'",
                              path, type);
    if (a->wrong == LEVADA_JSON_BIG) return columns_misfit_odd(a, row, out, err);
    return columns_reject(out, row, err,
                          "field '%.80s' is not %s%s but %s%s: change its type in 'fields'", path,
                          a->c->depth ? "a list of " : "", type, a->level > 0 ? "has " : "",
                          columns_wrong(a));
}

/* Adds one row to a column. *bad: the row is rejected already. */
static levada_status columns_field(levada_json_columns *all, levada_json_column *c,
                                   const levada_json_value *root, int64_t row, bool *bad,
                                   levada_builder *out, levada_error *err)
{
    columns_adder     a = { .c = c, .parser = &all->parser, .json = &all->json };
    columns_mark      mark = columns_here(c);
    levada_json_value value;
    bool list = false, found = root && columns_look(&c->step[0], *root, &value, &list);

    c->there = c->there || found;
    if (found && levada_json_kind_of(value) == LEVADA_JSON_NULL) found = false;
    if (found && columns_add(&a, value)) return LEVADA_OK;
    if (a.out_of_memory) return columns_short(err);
    columns_return(c, &mark);
    list = list || a.list;
    if (found || list || (!c->otherwise && c->depth == 0)) {
        if (!*bad) LEVADA_TRY(columns_misfit(&a, found, list, row, out, err));
        *bad = true;
    }
    a.level = 0;
    return columns_otherwise(&a) ? LEVADA_OK : columns_short(err);
}

static bool columns_name(void *user, const char *name, size_t size, levada_json_value item)
{
    levada_json_columns *c = user;
    size_t               at = strlen(c->names);

    (void)item;
    if (at + size + 8 > sizeof c->names) {
        (void)strcat(c->names, ", ...");
        return false;
    }
    (void)snprintf(c->names + at, sizeof c->names - at, "%s%.*s", at ? ", " : "", (int)size, name);
    return true;
}

int64_t levada_json_columns_found(const levada_json_columns *c, bool *there, char *names,
                                  size_t size)
{
    for (int64_t i = 0; i < c->n; i++)
        if (c->columns[i].there || c->columns[i].otherwise) there[i] = true;
    if (c->n == 0) there[0] = true;
    if (size > 0) (void)snprintf(names, size, "%s", c->names);
    return c->rows;
}

static levada_status columns_row(levada_json_columns *c, const levada_strings *in, int64_t row,
                                 levada_builder *out, levada_error *err)
{
    levada_json_value root;
    const char       *wrong;
    bool              bad;

    LEVADA_TRY(levada_json_parser_read(&c->parser, in->data[row], (size_t)in->size[row], &wrong,
                                       &root, err));
    if (!wrong && c->n > 0 && levada_json_kind_of(root) != LEVADA_JSON_MAP)
        wrong = "a record must be an object, such as {\"id\": 1}";
    bad = wrong != NULL;
    if (wrong) LEVADA_TRY(columns_reject(out, row, err, "invalid JSON: %s", wrong));
    else if (c->n > 0 && c->rows++ == 0) (void)levada_json_each_member(root, columns_name, c);
    for (int64_t i = 0; i < c->n; i++)
        LEVADA_TRY(columns_field(c, &c->columns[i], wrong ? NULL : &root, row, &bad, out, err));
    return LEVADA_OK;
}

/* -- blocks */

static levada_status columns_put(const levada_json_column *c, int32_t index, int64_t rows,
                                 levada_builder *out, levada_error *err)
{
    int32_t levels = c->depth + (levada_dtype_is_bytes(c->dtype));
    size_t  size = levada_dtype_is_bytes(c->dtype) ? 1 : (size_t)levada_dtype_size(c->dtype);
    void   *values = NULL;

    for (int32_t k = 0; k < levels; k++) {
        int64_t  n = k == 0 ? rows : c->ends[k].n;
        int32_t *offsets = NULL;

        LEVADA_TRY(levada_builder_offsets(out, index, k, n, &offsets, err));
        offsets[0] = 0;
        if (n > 0) memcpy(offsets + 1, c->ends[k].at, (size_t)n * sizeof *offsets);
    }
    LEVADA_TRY(levada_builder_values(out, index, c->values.n, &values, err));
    if (c->values.n > 0) memcpy(values, c->values.at, (size_t)c->values.n * size);
    return LEVADA_OK;
}

/* Keeps the copy of a line in which text was replaced. */
static levada_status columns_keep(levada_json_columns *c, levada_text_span *span, levada_error *err)
{
    levada_json_array *to = &c->lines, *text = &c->parser.text;

    if (text->n > INT32_MAX || !levada_reserve(&to->at, &to->capacity, to->n + text->n, 1))
        return columns_short(err);
    memcpy((uint8_t *)to->at + to->n, text->at, (size_t)text->n);
    to->n += text->n;
    *span = (levada_text_span){ NULL, (int32_t)text->n, true };
    return LEVADA_OK;
}

/* Emits the rows as they are, without fields, except for text that is replaced. */
static levada_status columns_lines(levada_json_columns *c, const levada_strings *in,
                                   levada_builder *out, levada_error *err)
{
    levada_text_span *spans = levada_alloc((size_t)(in->n + 1) * sizeof *spans);
    const uint8_t    *kept;
    levada_status     st = spans ? LEVADA_OK : columns_short(err);

    c->lines.n = 0;
    for (int64_t i = 0; st == LEVADA_OK && i < in->n; i++) {
        spans[i] = (levada_text_span){ in->data[i], in->size[i], false };
        st = columns_row(c, in, i, out, err);
        if (st == LEVADA_OK && c->parser.mended && c->parser.replaced)
            st = columns_keep(c, &spans[i], err);
    }
    kept = c->lines.at;
    for (int64_t i = 0; st == LEVADA_OK && i < in->n; i++) {
        if (!spans[i].escaped) continue;
        spans[i].at = kept;
        kept += spans[i].size;
    }
    if (st == LEVADA_OK) st = levada_strings_put(out, 0, 0, spans, in->n, in->owner, err);
    levada_free(spans);
    return st;
}

levada_status levada_json_columns_decode(levada_json_columns *c, const levada_strings *in,
                                         levada_builder *out, levada_error *err)
{
    const columns_mark none = { { 0 }, 0 };

    levada_builder_text_rule(out, LEVADA_TEXT_CHECKED); /* by the parser */
    for (int64_t i = 0; i < c->n; i++) columns_return(&c->columns[i], &none);
    if (c->n == 0) return columns_lines(c, in, out, err);
    for (int64_t row = 0; row < in->n; row++) LEVADA_TRY(columns_row(c, in, row, out, err));
    for (int64_t i = 0; i < c->n; i++)
        LEVADA_TRY(columns_put(&c->columns[i], (int32_t)i, in->n, out, err));
    return LEVADA_OK;
}
