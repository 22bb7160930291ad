/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/csv_dtypes.h"

#include "option/value_priv.h"

#include <stdio.h>
#include <string.h>

enum { DTYPES_WORD = 32, DTYPES_SHOWN = 160 };

static bool dtypes_have(const levada_value *map, const char *name, size_t size)
{
    for (int64_t i = 0; i < levada_value_count(map); i++) {
        const char *key = levada_value_key(map, i);

        if (strlen(key) == size && memcmp(key, name, size) == 0) return true;
    }
    return false;
}

bool levada_csv_declares(const levada_csv_args *args, const char *name, size_t size)
{
    return dtypes_have(args->dtypes, name, size) || dtypes_have(args->dates, name, size);
}

static levada_status dtypes_short(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for the dtypes of columns");
}

/* Makes {dtype: datetime64[unit], default: NaT}. */
static levada_status dtypes_date(const char *name, const levada_value *unit, levada_value **out,
                                 levada_error *err)
{
    const char   *word = levada_value_as_text(unit, NULL);
    bool          known = word && (strcmp(word, "s") == 0 || strcmp(word, "ms") == 0 ||
                          strcmp(word, "us") == 0 || strcmp(word, "ns") == 0);
    char          dtype[DTYPES_WORD];
    levada_value *map;
    levada_status st;

    if (!known)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "dates.%s must be s, ms, us or ns, the unit of the column, got '%.20s'",
                           name, word ? word : "another value");
    map = levada_value_map();
    if (!map) return dtypes_short(err);
    snprintf(dtype, sizeof dtype, "datetime64[%s]", word);
    st = levada_value_set_text(map, "dtype", dtype, err);
    if (st == LEVADA_OK) st = levada_value_set_text(map, "default", "NaT", err);
    if (st == LEVADA_OK) *out = map;
    else levada_value_destroy(&map);
    return st;
}

levada_status levada_csv_declared(const levada_csv_args *args, const char *name,
                                  levada_value **out, levada_error *err)
{
    const levada_value *entry = levada_value_get(args->dtypes, name);

    if (!entry) return dtypes_date(name, levada_value_get(args->dates, name), out, err);
    *out = levada_value_copy(entry);
    return *out ? LEVADA_OK : dtypes_short(err);
}

/* Shows "a, b, c" */
static void dtypes_show(const levada_value *names, char text[DTYPES_SHOWN])
{
    size_t at = 0;

    text[0] = '\0';
    for (int64_t i = 0; i < levada_value_count(names) && at + 48 < DTYPES_SHOWN; i++)
        at += (size_t)snprintf(text + at, DTYPES_SHOWN - at, "%s%.40s", i > 0 ? ", " : "",
                               levada_value_as_text(levada_value_item(names, i), NULL));
}

static levada_status dtypes_check(const char *option, const levada_value *map,
                                  const levada_value *names, levada_error *err)
{
    int64_t n = levada_value_count(map);
    char    got[LEVADA_VALUE_SHOWN];

    if (map && levada_value_kind_of(map) != LEVADA_VALUE_MAP)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "%s must be a map: {column: ...}, got %s",
                           option, levada_value_shown(map, LEVADA_PRINT_TEXT, got));
    if (n > 0 && !names)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "%s has the column '%.80s', but the first row has no names; pass "
                           "header=true, or record_defaults for a file without a header",
                           option, levada_value_key(map, 0));
    for (int64_t i = 0; i < n; i++) {
        const char *key = levada_value_key(map, i);
        char        shown[DTYPES_SHOWN];
        bool        found = false;

        for (int64_t k = 0; k < levada_value_count(names) && !found; k++)
            found = strcmp(levada_value_as_text(levada_value_item(names, k), NULL), key) == 0;
        if (found) continue;
        dtypes_show(names, shown);
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "%s has the column '%.80s', which the header lacks; available: %s",
                           option, key, shown);
    }
    return LEVADA_OK;
}

levada_status levada_csv_check_declared(const levada_csv_args *args, const levada_value *names,
                                        levada_error *err)
{
    for (int64_t i = 0; i < levada_value_count(args->dates); i++)
        if (levada_value_get(args->dtypes, levada_value_key(args->dates, i)))
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "the column '%.80s' is in dtypes and in dates; keep one",
                               levada_value_key(args->dates, i));
    LEVADA_TRY(dtypes_check("dtypes", args->dtypes, names, err));
    return dtypes_check("dates", args->dates, names, err);
}
