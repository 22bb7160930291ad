/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_csv - lines of CSV to one column per field: tf.io.decode_csv
 * (core/kernels/decode_csv_op.cc, python/ops/parsing_ops.py).
 *
 * A block is decoded in two passes: split every line into fields, then read the fields column by
 * column. A field that is empty or equals na_value is missing. Strings stay in the buffer of the
 * records where possible.
 */
#include "base/alloc.h"
#include "base/number.h"
#include "decode/csv_line.h"
#include "tensor/pool.h"
#include <levada/builder.h>
#include <levada/decoder.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DECODE_CSV_MOST = 4096, DECODE_CSV_NAME = 24 };

typedef struct decode_csv_args {
    const levada_value *record_defaults;
    const char         *field_delim;
    bool                use_quote_delim;
    const char         *na_value;
    levada_ints         select_cols;
    levada_texts        columns;
} decode_csv_args;

static const levada_arg decode_csv_options[] = {
    LEVADA_ARG(VALUE, decode_csv_args, record_defaults, .required = true, .positional = true,
               .doc = "one entry per column: a dtype (float32, float64, int32, int64, string; the "
                      "field is required), or {dtype: ..., default: ...}"),
    LEVADA_ARG(TEXT, decode_csv_args, field_delim, .otherwise = "\",\"",
               .doc = "one character between fields"),
    LEVADA_ARG(BOOL, decode_csv_args, use_quote_delim, .otherwise = "true",
               .doc = "double quotes enclose fields; false = they are characters like others"),
    LEVADA_ARG(TEXT, decode_csv_args, na_value, .otherwise = "\"\"",
               .doc = "text of a missing field, besides the empty one"),
    LEVADA_ARG(INTS, decode_csv_args, select_cols,
               .doc = "numbers of the fields to decode, ascending from 0; null = all"),
    LEVADA_ARG(TEXTS, decode_csv_args, columns,
               .doc = "names of the columns; null = c0, c1, ... by the number of the field"),
    LEVADA_ARG_END
};

/* One column of the result. */
typedef struct decode_csv_column {
    levada_dtype dtype;
    const char  *otherwise; /* strings: the default; NULL = required                          */
    size_t       size;
    bool         required;
    double       number;  /* numbers: the default                                             */
    int64_t      integer;
} decode_csv_column;

/* Scratch of a worker. */
typedef struct decode_csv {
    levada_csv_rules   rules;
    decode_csv_column *columns;
    int64_t            n; /* of columns */
    levada_csv_field  *fields;
    int64_t            capacity;
    bool              *bad; /* rows that are rejected */
    int64_t            bad_capacity;
    uint8_t           *text; /* fields without the second quote of each pair */
    int64_t            text_capacity, text_used;
} decode_csv;

static const char *decode_csv_name(const decode_csv_args *a, int64_t i, char room[DECODE_CSV_NAME])
{
    if (a->columns.n > 0) return a->columns.at[i];
    snprintf(room, DECODE_CSV_NAME, "c%lld",
             (long long)(a->select_cols.n > 0 ? a->select_cols.at[i] : i));
    return room;
}

/* -- options */

static levada_status decode_csv_check_select(const decode_csv_args *a, int64_t n, levada_error *err)
{
    for (int64_t i = 0; i < a->select_cols.n; i++) {
        if (a->select_cols.at[i] < 0) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "select_cols contains negative values");
        }
        if (i > 0 && a->select_cols.at[i] <= a->select_cols.at[i - 1]) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "select_cols is not strictly increasing");
        }
    }
    if (a->select_cols.n > 0 && a->select_cols.n != n) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "Length of select_cols and record_defaults do not match: %lld and %lld",
                           (long long)a->select_cols.n, (long long)n);
    }
    return LEVADA_OK;
}

static levada_status decode_csv_check_options(const decode_csv_args *a, levada_error *err)
{
    int64_t n = levada_value_count(a->record_defaults);

    if (levada_value_kind_of(a->record_defaults) != LEVADA_VALUE_LIST || n == 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "record_defaults must be a list with one entry per column");
    }
    if (n > DECODE_CSV_MOST) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "more than %d columns", DECODE_CSV_MOST);
    }
    if (strlen(a->field_delim) != 1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "field_delim should be only 1 char");
    }
    LEVADA_TRY(decode_csv_check_select(a, n, err));
    if (a->columns.n > 0 && a->columns.n != n) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "columns has %lld names, record_defaults %lld entries",
                           (long long)a->columns.n, (long long)n);
    }
    return LEVADA_OK;
}

static bool decode_csv_is_integer(levada_dtype dtype)
{
    return dtype == LEVADA_INT32 || dtype == LEVADA_INT64;
}

static levada_status decode_csv_default(const levada_value *value, decode_csv_column *c,
                                        levada_error *err)
{
    levada_value_kind kind = levada_value_kind_of(value);
    bool number = kind == LEVADA_VALUE_INT || (kind == LEVADA_VALUE_FLOAT &&
                                               !decode_csv_is_integer(c->dtype));

    if (c->dtype == LEVADA_BYTES) {
        if (kind == LEVADA_VALUE_TEXT || kind == LEVADA_VALUE_BYTES) {
            c->otherwise = levada_value_as_text(value, &c->size);
            return LEVADA_OK;
        }
    } else if (number) {
        c->number = levada_value_as_float(value);
        c->integer = levada_value_as_int(value);
        if (c->dtype != LEVADA_INT32 || c->integer == (int32_t)c->integer) return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "the default is not a %s",
                       levada_dtype_name(c->dtype));
}

/* An entry of record_defaults. */
static levada_status decode_csv_column_read(const levada_value *entry, decode_csv_column *c,
                                            levada_error *err)
{
    bool map = levada_value_kind_of(entry) == LEVADA_VALUE_MAP;
    const levada_value *named = map ? levada_value_get(entry, "dtype") : entry;
    const levada_value *value = map ? levada_value_get(entry, "default") : NULL;
    const char *name = levada_value_as_text(named, NULL);
    int64_t known = (named != NULL) + (levada_value_get(entry, "default") != NULL);

    *c = (decode_csv_column){ .dtype = levada_dtype_find(name) };
    if (map && known != levada_value_count(entry)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "expected dtype and default only");
    }
    if (!decode_csv_is_integer(c->dtype) && c->dtype != LEVADA_FLOAT32 &&
        c->dtype != LEVADA_FLOAT64 && c->dtype != LEVADA_BYTES) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "dtype '%s': expected float32, float64, int32, int64 or string",
                           name ? name : "?");
    }
    c->required = !value || levada_value_kind_of(value) == LEVADA_VALUE_NULL;
    return c->required ? LEVADA_OK : decode_csv_default(value, c, err);
}

static levada_status decode_csv_columns(const decode_csv_args *a, decode_csv_column *columns,
                                        levada_error *err)
{
    int64_t n = levada_value_count(a->record_defaults);

    for (int64_t i = 0; i < n; i++) {
        levada_status st =
            decode_csv_column_read(levada_value_item(a->record_defaults, i), &columns[i], err);

        if (st != LEVADA_OK) {
            levada_error_wrap(err, "record_defaults[%lld]", (long long)i);
            return st;
        }
    }
    return LEVADA_OK;
}

static levada_status decode_csv_spec(const decode_csv_args *a, const decode_csv_column *columns,
                                     int64_t n, levada_spec **out, levada_error *err)
{
    levada_field *fields = levada_alloc_zero((size_t)n * sizeof *fields);
    char (*names)[DECODE_CSV_NAME] = levada_alloc((size_t)n * sizeof *names);
    levada_status st = LEVADA_OK;

    if (!fields || !names) st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        fields[i].name = decode_csv_name(a, i, names[i]);
        fields[i].dtype = columns[i].dtype;
    }
    if (st == LEVADA_OK) st = levada_spec_create(fields, (int32_t)n, LEVADA_SPEC_PLAIN, out, err);
    levada_free(names);
    levada_free(fields);
    return st;
}

static levada_status decode_csv_check(const void *args, levada_spec **out, levada_error *err)
{
    const decode_csv_args *a = args;
    decode_csv_column     *columns;
    levada_status          st;
    int64_t                n;

    LEVADA_TRY(decode_csv_check_options(a, err));
    n = levada_value_count(a->record_defaults);
    columns = levada_alloc((size_t)n * sizeof *columns);
    if (!columns) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    st = decode_csv_columns(a, columns, err);
    if (st == LEVADA_OK) st = decode_csv_spec(a, columns, n, out, err);
    levada_free(columns);
    return st;
}

static levada_status decode_csv_open(void *state, const void *args, const levada_context *context,
                                     levada_error *err)
{
    const decode_csv_args *a = args;
    decode_csv            *d = state;

    (void)context;
    d->n = levada_value_count(a->record_defaults);
    d->rules = (levada_csv_rules){
        .delim = (uint8_t)a->field_delim[0],
        .quotes = a->use_quote_delim,
        .wanted = a->select_cols.n > 0 ? a->select_cols.at : NULL,
        .nwanted = a->select_cols.n,
    };
    d->columns = levada_alloc((size_t)d->n * sizeof *d->columns);
    if (!d->columns) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    levada_status st = decode_csv_columns(a, d->columns, err);
    if (st != LEVADA_OK) levada_free(d->columns);
    return st;
}

static void decode_csv_close(void *state)
{
    decode_csv *d = state;

    levada_free(d->columns);
    levada_free(d->fields);
    levada_free(d->bad);
    levada_free(d->text);
}

/* -- one block */

/* What the functions below share. */
typedef struct decode_csv_block {
    decode_csv            *d;
    const decode_csv_args *args;
    const levada_strings  *in;
    levada_builder        *out;
} decode_csv_block;

/* Rejects the row unless it is rejected already. */
LEVADA_PRINTF(4, 5)
static levada_status decode_csv_reject(const decode_csv_block *b, int64_t row, levada_error *err,
                                       const char *format, ...)
{
    levada_error why = LEVADA_ERROR_INIT;
    char         text[256];
    va_list      list;

    if (b->d->bad[row]) return LEVADA_OK;
    b->d->bad[row] = true;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    (void)levada_fail(&why, LEVADA_EINVALID_ARGUMENT, "%s", text);
    return levada_builder_reject(b->out, row, &why, err);
}

/* Fields of a row that was rejected are empty. */
static void decode_csv_blank(const decode_csv_block *b, int64_t row)
{
    memset(b->d->fields + row * b->d->n, 0, (size_t)b->d->n * sizeof *b->d->fields);
}

/* A field's text with single quotes, in memory that holds all lines of the block. */
static void decode_csv_unescape(decode_csv *d, levada_csv_field *field)
{
    uint8_t *to = d->text + d->text_used;

    field->size = levada_csv_unescape(field, to);
    field->at = to;
    d->text_used += field->size;
}

static levada_status decode_csv_split(const decode_csv_block *b, int64_t row, levada_error *err)
{
    decode_csv       *d = b->d;
    levada_csv_field *fields = d->fields + row * d->n;
    int64_t           n;
    const char *wrong =
        levada_csv_split(&d->rules, b->in->data[row], b->in->size[row], fields, d->n, &n);
    levada_status st = LEVADA_OK;

    if (wrong) st = decode_csv_reject(b, row, err, "%s", wrong);
    else if (n != d->n) {
        st = decode_csv_reject(b, row, err, "Expect %lld fields but have %lld", (long long)d->n,
                               (long long)n);
    }
    if (d->bad[row]) {
        decode_csv_blank(b, row);
        return st;
    }
    for (int64_t i = 0; i < d->n; i++) {
        if (fields[i].escaped) decode_csv_unescape(d, &fields[i]);
    }
    return LEVADA_OK;
}

static levada_status decode_csv_reserve(decode_csv *d, const levada_strings *in, levada_error *err)
{
    int64_t bytes = 0;

    for (int64_t i = 0; i < in->n; i++) bytes += in->size[i];
    if (levada_reserve(&d->fields, &d->capacity, in->n * d->n + 1, sizeof *d->fields) &&
        levada_reserve(&d->bad, &d->bad_capacity, in->n + 1, sizeof *d->bad) &&
        (!d->rules.quotes || levada_reserve(&d->text, &d->text_capacity, bytes + 1, 1))) {
        memset(d->bad, 0, (size_t)in->n * sizeof *d->bad);
        d->text_used = 0;
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for the fields of a block");
}

/* An empty field, or one that says so. */
static bool decode_csv_missing(const decode_csv_block *b, const levada_csv_field *field)
{
    size_t n = strlen(b->args->na_value);

    if (field->size == 0) return true;
    return n > 0 && (size_t)field->size == n && memcmp(field->at, b->args->na_value, n) == 0;
}

/* True where the default is to be used; the row is rejected where there is none. */
static levada_status decode_csv_absent(const decode_csv_block *b, int64_t row, int64_t column,
                                       bool *absent, levada_error *err)
{
    *absent = decode_csv_missing(b, &b->d->fields[row * b->d->n + column]);
    if (!*absent || !b->d->columns[column].required) return LEVADA_OK;
    return decode_csv_reject(b, row, err, "Field %lld is required but missing", (long long)column);
}

/* Reads one number into values[row]; false where the text is not one of the dtype. */
static bool decode_csv_number(levada_dtype dtype, const levada_csv_field *field, void *values,
                              int64_t row)
{
    const char *text = (const char *)field->at;
    size_t      n = (size_t)field->size;
    int64_t     i = 0;

    if (dtype == LEVADA_FLOAT32)
        return levada_number_scan_f32(text, n, (float *)values + row) == LEVADA_NUMBER_FLOAT;
    if (dtype == LEVADA_FLOAT64)
        return levada_number_scan_f64(text, n, (double *)values + row) == LEVADA_NUMBER_FLOAT;
    if (levada_number_scan_int(text, n, &i) != LEVADA_NUMBER_INT) return false;
    if (dtype == LEVADA_INT64) ((int64_t *)values)[row] = i;
    else ((int32_t *)values)[row] = (int32_t)i;
    return dtype == LEVADA_INT64 || i == (int32_t)i;
}

static void decode_csv_put_default(const decode_csv_column *c, void *values, int64_t row)
{
    switch (c->dtype) {
    case LEVADA_FLOAT32: ((float *)values)[row] = (float)c->number; break;
    case LEVADA_FLOAT64: ((double *)values)[row] = c->number; break;
    case LEVADA_INT32: ((int32_t *)values)[row] = (int32_t)c->integer; break;
    default: ((int64_t *)values)[row] = c->integer; break;
    }
}

static levada_status decode_csv_numbers(const decode_csv_block *b, int64_t column,
                                        levada_error *err)
{
    static const char *const words[] = { [LEVADA_FLOAT32] = "float", [LEVADA_FLOAT64] = "double",
                                         [LEVADA_INT32] = "int32", [LEVADA_INT64] = "int64" };
    const decode_csv_column *c = &b->d->columns[column];
    void                    *values = NULL;

    LEVADA_TRY(levada_builder_values(b->out, (int32_t)column, b->in->n, &values, err));
    for (int64_t row = 0; row < b->in->n; row++) {
        const levada_csv_field *field = &b->d->fields[row * b->d->n + column];
        bool                    absent;

        LEVADA_TRY(decode_csv_absent(b, row, column, &absent, err));
        if (absent) {
            decode_csv_put_default(c, values, row);
        } else if (!decode_csv_number(c->dtype, field, values, row)) {
            decode_csv_put_default(c, values, row);
            LEVADA_TRY(decode_csv_reject(b, row, err, "Field %lld is not a valid %s: %.*s",
                                         (long long)column, words[c->dtype],
                                         field->size > 80 ? 80 : field->size,
                                         (const char *)field->at));
        }
    }
    return LEVADA_OK;
}

static bool decode_csv_holds(const levada_buffer *owner, const levada_csv_field *field)
{
    return field->at >= owner->data && field->at + field->size <= owner->data + owner->size;
}

/* Inserts the defaults; returns whether all strings are in the buffer of the records. */
static levada_status decode_csv_settle(const decode_csv_block *b, int64_t column, bool *shared,
                                       int64_t *bytes, levada_error *err)
{
    const decode_csv_column *c = &b->d->columns[column];
    const levada_buffer     *owner = b->in->owner;

    *shared = owner && owner->size <= INT32_MAX;
    *bytes = 0;
    for (int64_t row = 0; row < b->in->n; row++) {
        levada_csv_field *field = &b->d->fields[row * b->d->n + column];
        bool              absent;

        LEVADA_TRY(decode_csv_absent(b, row, column, &absent, err));
        if (absent) {
            field->at = (const uint8_t *)c->otherwise;
            field->size = (int32_t)c->size;
        }
        *bytes += field->size;
        if (*shared && field->size > 0) *shared = decode_csv_holds(owner, field);
    }
    return LEVADA_OK;
}

static levada_status decode_csv_strings(const decode_csv_block *b, int64_t column,
                                        levada_error *err)
{
    int32_t  index = (int32_t)column, *begin = NULL, *end = NULL;
    int64_t  bytes, used = 0;
    uint8_t *copy = NULL;
    bool     shared;

    LEVADA_TRY(decode_csv_settle(b, column, &shared, &bytes, err));
    if (bytes > INT32_MAX) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "more than 2 GiB in one block");
    }
    LEVADA_TRY(levada_builder_ranges(b->out, index, 0, b->in->n, &begin, &end, err));
    if (!shared) LEVADA_TRY(levada_builder_values(b->out, index, bytes, (void **)&copy, err));
    for (int64_t row = 0; row < b->in->n; row++) {
        const levada_csv_field *field = &b->d->fields[row * b->d->n + column];

        begin[row] = 0;
        if (field->size > 0) {
            begin[row] = (int32_t)(shared ? field->at - b->in->owner->data : used);
            if (!shared) memcpy(copy + used, field->at, (size_t)field->size);
        }
        end[row] = begin[row] + field->size;
        used += field->size;
    }
    if (shared) {
        levada_builder_share_values(b->out, index, b->in->owner->data, b->in->owner);
    }
    return LEVADA_OK;
}

static levada_status decode_csv_decode(void *state, const void *args, const levada_strings *in,
                                       levada_builder *out, levada_error *err)
{
    decode_csv            *d = state;
    const decode_csv_block b = { d, args, in, out };

    LEVADA_TRY(decode_csv_reserve(d, in, err));
    for (int64_t row = 0; row < in->n; row++) LEVADA_TRY(decode_csv_split(&b, row, err));
    for (int64_t i = 0; i < d->n; i++) {
        LEVADA_TRY(d->columns[i].dtype == LEVADA_BYTES ? decode_csv_strings(&b, i, err)
                                                       : decode_csv_numbers(&b, i, err));
    }
    return LEVADA_OK;
}

static const levada_example_file decode_csv_files[] = {
    { "people.csv", "ada,36,1.5\n\"grace, h.\",85,\n", 27 },
    { NULL, NULL, 0 }
};

const levada_decoder_def levada_decoder_decode_csv = {
    .struct_size = sizeof(levada_decoder_def),
    .name = "decode_csv",
    .doc = "lines of CSV to one column per field",
    .example = "text_lines:people.csv | decode_csv:[string,int32,{dtype:float32,default:0}]",
    .example_files = decode_csv_files,
    .field = "line",
    .args = decode_csv_options,
    .args_size = sizeof(decode_csv_args),
    .state_size = sizeof(decode_csv),
    .check = decode_csv_check,
    .open = decode_csv_open,
    .close = decode_csv_close,
    .decode = decode_csv_decode,
};
