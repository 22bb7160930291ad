/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/csv_header.h"

#include "base/alloc.h"
#include "option/value_priv.h"

#include <stdio.h>
#include <string.h>

levada_csv_rules levada_csv_rules_of(const levada_csv_args *args)
{
    return (levada_csv_rules){
        .delim = (uint8_t)args->field_delim[0],
        .quotes = args->use_quote_delim,
        .quote = (uint8_t)args->quote_char[0],
        .wanted = args->select_cols.n > 0 ? args->select_cols.at : NULL,
        .nwanted = args->select_cols.n,
        .comment = args->comment ? (uint8_t)args->comment[0] : 0,
        .file = true,
    };
}

static levada_status header_short(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for the names of columns");
}

static levada_status header_push(const levada_csv_args *args, const levada_csv_field *field,
                                 int64_t i, levada_value *names, levada_error *err)
{
    int64_t       number = args->select_cols.n > 0 ? args->select_cols.at[i] : i;
    uint8_t      *text = levada_alloc((size_t)field->size + LEVADA_CSV_NAME);
    int32_t       size = field->size;
    levada_value *name = NULL;
    levada_status st;

    if (!text) return header_short(err);
    if (size == 0)
        size = snprintf((char *)text, LEVADA_CSV_NAME, "c%lld", (long long)number);
    else if (field->escaped) size = levada_csv_unescape(field, text);
    else memcpy(text, field->at, (size_t)size);
    if (!memchr(text, '\0', (size_t)size)) {
        name = levada_value_text((const char *)text, (size_t)size);
        st = name ? levada_value_push(names, &name, err) : header_short(err);
    } else {
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "the name of column %lld in the header has a zero byte",
                         (long long)number);
    }
    levada_value_destroy(&name);
    levada_free(text);
    return st;
}

levada_status levada_csv_header_read(const levada_csv_args *args, const uint8_t *data, int32_t size,
                                     levada_value **out, levada_error *err)
{
    levada_csv_rules  rules = levada_csv_rules_of(args);
    levada_csv_field *fields = levada_alloc(LEVADA_CSV_COLUMNS * sizeof *fields);
    levada_value     *names = levada_value_list();
    levada_status     st = fields && names ? LEVADA_OK : header_short(err);
    const char       *wrong = NULL;
    int64_t           n = 0;
    int32_t           at;

    if (st == LEVADA_OK)
        wrong = levada_csv_split(&rules, data, size, fields, LEVADA_CSV_COLUMNS, &n, &at);
    if (wrong)
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT, "the header: %s (field %lld, byte %d)",
                         wrong, (long long)n, at);
    else if (n > LEVADA_CSV_COLUMNS)
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "the header must have at most %d columns, got %lld",
                         LEVADA_CSV_COLUMNS, (long long)n);
    for (int64_t i = 0; st == LEVADA_OK && i < n; i++)
        st = header_push(args, &fields[i], i, names, err);
    levada_free(fields);
    if (st == LEVADA_OK) *out = names;
    else levada_value_destroy(&names);
    return st;
}

static const char *header_text(const levada_value *names, int64_t i)
{
    return levada_value_as_text(levada_value_item(names, i), NULL);
}

/* Returns true if the names are those of the columns, in their order. */
static bool header_in_order(const levada_value *defaults, const levada_value *names)
{
    int64_t n = levada_value_count(defaults);

    if (levada_value_count(names) != n) return false;
    for (int64_t i = 0; i < n; i++)
        if (strcmp(header_text(names, i), levada_value_key(defaults, i)) != 0) return false;
    return true;
}

/* Finds the name among those of a header, from place *at on; -1 = nowhere. */
static levada_status header_find(const levada_value *names, const char *name, int64_t at,
                                 int32_t *out, levada_error *err)
{
    int64_t n = levada_value_count(names);

    *out = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t place = (at + i) % n;

        if (strcmp(header_text(names, place), name) != 0) continue;
        if (*out >= 0)
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "two columns of the header are named '%.80s'", name);
        *out = (int32_t)place;
    }
    return LEVADA_OK;
}

static bool header_has_default(const levada_value *entry)
{
    const levada_value *value = levada_value_get(entry, "default");

    return value && levada_value_kind_of(value) != LEVADA_VALUE_NULL;
}

static levada_status header_lacks(const levada_csv_args *args, int64_t i, levada_error *err)
{
    const char *name = levada_value_key(args->record_defaults, i);

    if (!args->header_columns)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the header must have the column '%.80s' of record_defaults; "
                           "header_columns=any reads its default",
                           name);
    if (header_has_default(levada_value_item(args->record_defaults, i))) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "the header must have the column '%.80s', which has no default in "
                       "record_defaults",
                       name);
}

levada_status levada_csv_header_map(const levada_csv_args *args, const levada_value *names,
                                    int32_t *map, bool *in_order, levada_error *err)
{
    const levada_value *defaults = args->record_defaults;
    int64_t             n = levada_value_count(defaults), has = levada_value_count(names);
    int64_t             wrong = 0;

    *in_order = header_in_order(defaults, names);
    if (*in_order) return LEVADA_OK;
    for (int64_t i = 0, at = 0; i < n; i++) {
        LEVADA_TRY(header_find(names, levada_value_key(defaults, i), at, &map[i], err));
        if (map[i] < 0) LEVADA_TRY(header_lacks(args, i, err));
        else at = map[i] + 1;
    }
    for (int64_t i = 0; i < has && !args->header_columns; i++)
        if (!levada_value_get(defaults, header_text(names, i)))
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "the header has a column '%.80s', which record_defaults lacks: add "
                               "it, or set header_columns=any",
                               header_text(names, i));
    if (args->select_cols.n == 0) return LEVADA_OK;
    while (wrong + 1 < n && map[wrong] == wrong) wrong++;
    return levada_fail(
        err, LEVADA_EINVALID_ARGUMENT,
        "record_defaults must have the order of the header, but entry %lld is '%.80s', "
        "column %d of those that select_cols selects; omit select_cols to match "
        "columns by name",
        (long long)wrong, levada_value_key(defaults, wrong), (int)map[wrong]);
}

/* Sets map[name] = a copy of the entry. */
static levada_status header_set(levada_value *map, const char *name, const levada_value *entry,
                                levada_error *err)
{
    levada_value *copy = levada_value_copy(entry);
    levada_status st;

    if (!copy) return header_short(err);
    if (levada_value_get(map, name))
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "two columns of the header are named '%.80s'; name them with columns",
                         name);
    else st = levada_value_set(map, name, &copy, err);
    levada_value_destroy(&copy);
    return st;
}

levada_status levada_csv_header_name(const levada_csv_args *args, const levada_value *names,
                                     levada_value **out, levada_error *err)
{
    const levada_value *defaults = args->record_defaults;
    bool                named = levada_csv_is_named(args), other = !named;
    int64_t             n = levada_value_count(defaults), has = levada_value_count(names);
    levada_value       *map;
    levada_status       st = LEVADA_OK;

    for (int64_t i = 0; named && i < has; i++) {
        if (has != n || !levada_value_get(defaults, header_text(names, i))) return LEVADA_OK;
        other = other || strcmp(header_text(names, i), levada_value_key(defaults, i)) != 0;
    }
    if (!other) return LEVADA_OK;
    if (has != n)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "record_defaults must have one entry for each of the %lld columns in "
                           "the header, got %lld",
                           (long long)has, (long long)n);
    map = levada_value_map();
    if (!map) return header_short(err);
    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        const char *name = header_text(names, i);

        st = header_set(map, name,
                        named ? levada_value_get(defaults, name) : levada_value_item(defaults, i),
                        err);
    }
    if (st == LEVADA_OK) *out = map;
    else levada_value_destroy(&map);
    return st;
}
