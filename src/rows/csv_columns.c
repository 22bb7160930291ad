/* SPDX-License-Identifier: Apache-2.0 */
/* The options of CSV, and the columns that they describe. */
#include "rows/csv_columns.h"

#include "base/alloc.h"
#include "base/datetime.h"
#include "option/value_priv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *levada_csv_name(const levada_csv_args *a, int64_t i, char text[LEVADA_CSV_NAME])
{
    if (a->columns.n > 0) return a->columns.at[i];
    if (levada_csv_is_named(a)) return levada_value_key(a->record_defaults, i);
    snprintf(text, LEVADA_CSV_NAME, "c%lld",
             (long long)(a->select_cols.n > 0 ? a->select_cols.at[i] : i));
    return text;
}

/* -- options */

static levada_status columns_check_select(const levada_csv_args *a, int64_t n, levada_error *err)
{
    for (int64_t i = 0; i < a->select_cols.n; i++) {
        if (a->select_cols.at[i] < 0) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "select_cols contains negative values: %lld",
                               (long long)a->select_cols.at[i]);
        }
        if (i > 0 && a->select_cols.at[i] <= a->select_cols.at[i - 1]) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "select_cols is not strictly increasing: %lld after %lld",
                               (long long)a->select_cols.at[i],
                               (long long)a->select_cols.at[i - 1]);
        }
    }
    if (a->select_cols.n > 0 && a->select_cols.n != n) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "Length of select_cols and record_defaults do not match: %lld and %lld",
                           (long long)a->select_cols.n, (long long)n);
    }
    return LEVADA_OK;
}

static levada_status columns_check_number(const levada_csv_args *a, levada_error *err)
{
    char shown[LEVADA_VALUE_SHOWN];
    int64_t n = levada_value_count(a->record_defaults);

    if ((levada_value_kind_of(a->record_defaults) != LEVADA_VALUE_LIST &&
         !levada_csv_is_named(a)) || n == 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "record_defaults must be a map or a list with one entry per column, "
                           "got %s",
                           levada_value_shown(a->record_defaults, LEVADA_PRINT_TEXT, shown));
    }
    if (levada_csv_is_named(a) && a->columns.n > 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "record_defaults and columns both name the columns; omit columns");
    }
    if (n > LEVADA_CSV_COLUMNS) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a file must have at most %d columns, got %lld",
                           LEVADA_CSV_COLUMNS, (long long)n);
    }
    LEVADA_TRY(columns_check_select(a, n, err));
    if (a->columns.n > 0 && a->columns.n != n) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "columns has %lld names, record_defaults %lld entries",
                           (long long)a->columns.n, (long long)n);
    }
    return LEVADA_OK;
}

bool levada_csv_is_missing(const levada_csv_args *a, const levada_csv_field *field)
{
    size_t size = (size_t)field->size, n = strlen(a->na_value);

    if (size == 0 || (n == size && memcmp(field->at, a->na_value, n) == 0)) return true;
    for (int64_t i = 0; i < a->na_values.n; i++) {
        n = strlen(a->na_values.at[i]);
        if (n == size && memcmp(field->at, a->na_values.at[i], n) == 0) return true;
    }
    return false;
}

static bool columns_is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

bool levada_csv_join_digits(const levada_csv_args *a, const levada_csv_field *field,
                            char to[LEVADA_CSV_NUMBER], levada_csv_field *joined)
{
    int32_t n = 0, size = field->size;

    if (!a->thousands || size > LEVADA_CSV_NUMBER) return false;
    for (int32_t i = 0; i < size; i++) {
        uint8_t c = field->at[i];

        if (c != (uint8_t)a->thousands[0]) to[n++] = (char)c;
        else if (i == 0 || i + 1 == size || !columns_is_digit(field->at[i - 1]) ||
                 !columns_is_digit(field->at[i + 1]))
            return false;
    }
    *joined = (levada_csv_field){ .at = (const uint8_t *)to, .size = n };
    return n < size;
}

static levada_status columns_check_options(const levada_csv_args *a, levada_error *err)
{
    if (strlen(a->field_delim) != 1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field_delim should be only 1 char, got '%.20s'", a->field_delim);
    }
    if (strlen(a->quote_char) != 1 || strchr("\r\n", *a->quote_char)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "quote_char must be one character other than a newline, got '%.20s'",
                           a->quote_char);
    }
    if (a->thousands && (strlen(a->thousands) != 1 || strchr("0123456789+-.eE", *a->thousands)))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "thousands must be one character that numbers do not have, got '%.20s'",
                           a->thousands);
    if (a->record_defaults) return columns_check_number(a, err);
    if (a->select_cols.n == 0 && a->columns.n == 0) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "select_cols and columns need record_defaults");
}

static bool columns_is_integer(levada_dtype dtype)
{
    return dtype == LEVADA_INT32 || dtype == LEVADA_INT64;
}

/* Reads a date as text, or NaT. */
static levada_status columns_default_date(const levada_value *value, levada_csv_column *c,
                                          levada_error *err)
{
    size_t      size = 0;
    const char *text = levada_value_as_text(value, &size), *wrong = NULL;

    c->integer = LEVADA_DATETIME_NONE;
    if (strcmp(text, "NaT") != 0)
        wrong = levada_datetime_read(text, size, c->ticks, &c->integer);
    if (!wrong) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "the default '%.40s' is not a %s: %s; NaT = no time", text,
                       levada_datetime_word(c->ticks), wrong);
}

static levada_status columns_default(const levada_value *value, levada_csv_column *c,
                                        levada_error *err)
{
    char              shown[LEVADA_VALUE_SHOWN];
    levada_value_kind kind = levada_value_kind_of(value);
    bool number = kind == LEVADA_VALUE_INT || (kind == LEVADA_VALUE_FLOAT &&
                                               !columns_is_integer(c->dtype));

    if (c->ticks > 0 && kind == LEVADA_VALUE_TEXT) return columns_default_date(value, c, err);
    if (levada_dtype_is_bytes(c->dtype)) {
        if (kind == LEVADA_VALUE_TEXT || kind == LEVADA_VALUE_BYTES) {
            c->otherwise = levada_value_as_text(value, &c->size);
            return LEVADA_OK;
        }
    } else if (!columns_is_integer(c->dtype) && kind == LEVADA_VALUE_TEXT &&
               strcmp(levada_value_as_text(value, NULL), "nan") == 0) {
        c->number = (double)NAN;
        return LEVADA_OK;
    } else if (number) {
        c->number = levada_value_as_float(value);
        c->integer = levada_value_as_int(value);
        if (c->dtype != LEVADA_INT32 || c->integer == (int32_t)c->integer) return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "the default must be %s, got %s",
                       levada_dtype_name(c->dtype),
                       levada_value_shown(value, LEVADA_PRINT_TEXT, shown));
}

/* Reads an entry of record_defaults. */
static levada_status columns_read(const levada_value *entry, levada_csv_column *c,
                                            levada_error *err)
{
    char shown[LEVADA_VALUE_SHOWN];
    bool map = levada_value_kind_of(entry) == LEVADA_VALUE_MAP;
    const levada_value *named = map ? levada_value_get(entry, "dtype") : entry;
    const levada_value *value = map ? levada_value_get(entry, "default") : NULL;
    const char *name = levada_value_as_text(named, NULL);
    int64_t known = (named != NULL) + (levada_value_get(entry, "default") != NULL);

    *c = (levada_csv_column){ .ticks = levada_datetime_ticks(name) };
    c->dtype = c->ticks > 0 ? LEVADA_INT64 : levada_dtype_find(name);
    if (map && known != levada_value_count(entry)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "an entry must hold dtype and default only, got %s",
                           levada_value_shown(entry, LEVADA_PRINT_TEXT, shown));
    }
    if (!columns_is_integer(c->dtype) && c->dtype != LEVADA_FLOAT32 &&
        c->dtype != LEVADA_FLOAT64 && !levada_dtype_is_bytes(c->dtype)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "dtype '%s': expected float32, float64, int32, int64, text, string or "
                           "datetime64[s], [ms], [us] or [ns]",
                           name ? name : "?");
    }
    c->required = !value || levada_value_kind_of(value) == LEVADA_VALUE_NULL;
    return c->required ? LEVADA_OK : columns_default(value, c, err);
}

levada_status levada_csv_read_columns(const levada_csv_args *a, levada_csv_column *columns,
                                      levada_error *err)
{
    int64_t n = levada_value_count(a->record_defaults);

    for (int64_t i = 0; i < n; i++) {
        levada_status st =
            columns_read(levada_value_item(a->record_defaults, i), &columns[i], err);

        if (st != LEVADA_OK) {
            if (levada_csv_is_named(a))
                levada_error_wrap(err, "record_defaults.%s", levada_value_key(a->record_defaults,
                    i));
            else levada_error_wrap(err, "record_defaults[%lld]", (long long)i);
            return st;
        }
    }
    return LEVADA_OK;
}

static levada_status columns_spec(const levada_csv_args *a, const levada_csv_column *columns,
                                     int64_t n, levada_spec **out, levada_error *err)
{
    levada_field *fields = levada_alloc_zero((size_t)n * sizeof *fields);
    char (*names)[LEVADA_CSV_NAME] = levada_alloc((size_t)n * sizeof *names);
    levada_status st = LEVADA_OK;

    if (!fields || !names) st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        fields[i].name = levada_csv_name(a, i, names[i]);
        fields[i].dtype = columns[i].dtype;
    }
    if (st == LEVADA_OK) st = levada_spec_create(fields, (int32_t)n, LEVADA_SPEC_PLAIN, out, err);
    levada_free(names);
    levada_free(fields);
    return st;
}

/* Reads all fields of a row as strings, without record_defaults. */
static levada_status columns_ragged(levada_spec **out, levada_error *err)
{
    static const levada_field field = { .name = "fields", .dtype = LEVADA_TEXT, .depth = 1 };

    return levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, out, err);
}

levada_status levada_csv_spec(const levada_csv_args *a, levada_spec **out, levada_error *err)
{
    levada_csv_column *columns;
    levada_status      st;
    int64_t            n;

    LEVADA_TRY(columns_check_options(a, err));
    if (!a->record_defaults) return columns_ragged(out, err);
    n = levada_value_count(a->record_defaults);
    columns = levada_alloc((size_t)n * sizeof *columns);
    if (!columns) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    st = levada_csv_read_columns(a, columns, err);
    if (st == LEVADA_OK) st = columns_spec(a, columns, n, out, err);
    levada_free(columns);
    return st;
}
