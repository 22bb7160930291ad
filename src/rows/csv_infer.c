/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/csv_infer.h"

#include "base/alloc.h"
#include "base/number.h"
#include "base/text.h"
#include "option/value_priv.h"
#include "rows/csv_dtypes.h"
#include "rows/csv_header.h"

#include <stdio.h>
#include <string.h>

enum { INFER_BYTES = 24 }; /* of a name, in messages */

typedef enum infer_kind { INFER_INT, INFER_FLOAT, INFER_TEXT } infer_kind;

typedef struct infer_column {
    infer_kind kind;          /* of the rows after the first */
    bool       seen, missing; /* some of their fields        */
} infer_column;

/* The work of one call. */
typedef struct infer_job {
    const levada_csv_args *args;
    const levada_strings  *rows;
    levada_csv             csv;
    levada_csv_field      *fields; /* of one row: LEVADA_CSV_COLUMNS */
    infer_column          *columns;
    int64_t                n;
} infer_job;

/* -- what the fields are */

/* Returns true for text such as "007", which would lose its zeros as a number. */
static bool infer_has_zeros(const levada_csv_field *f)
{
    int32_t at = f->size > 0 && (f->at[0] == '-' || f->at[0] == '+');

    return at + 1 < f->size && f->at[at] == '0' && f->at[at + 1] >= '0' && f->at[at + 1] <= '9';
}

static infer_kind infer_kind_of(const levada_csv_args *args, const levada_csv_field *f)
{
    char               digits[LEVADA_CSV_NUMBER];
    levada_csv_field   joined;
    bool               groups = levada_csv_join_digits(args, f, digits, &joined);
    const char        *text = groups ? digits : (const char *)f->at;
    int64_t            i;
    double             x;
    levada_number_kind kind;

    if (groups) f = &joined;
    if (infer_has_zeros(f)) return INFER_TEXT;
    kind = levada_number_scan_int(text, (size_t)f->size, &i);
    if (kind == LEVADA_NUMBER_INT) return INFER_INT;
    if (kind == LEVADA_NUMBER_BIG) return INFER_TEXT; /* a float would lose digits */
    return levada_number_scan_f64(text, (size_t)f->size, &x) == LEVADA_NUMBER_FLOAT ? INFER_FLOAT
                                                                                   : INFER_TEXT;
}

/* Returns what is wrong with a row; NULL if its fields are job->fields. */
static const char *infer_split(infer_job *job, int64_t row, int64_t *n)
{
    const char *wrong = levada_csv_split_row(&job->csv, job->rows->data[row], job->rows->size[row],
                                             job->fields, 1, LEVADA_CSV_COLUMNS, n);

    return wrong || *n <= LEVADA_CSV_COLUMNS ? wrong : "a row must have at most 4096 fields";
}

static levada_status infer_split_first(infer_job *job, levada_error *err)
{
    const char *wrong = infer_split(job, 0, &job->n);

    if (!wrong) return LEVADA_OK;
    return levada_fail(err, LEVADA_EDATA_LOSS, "infer: row 1: %s (field %lld, byte %d of the row)",
                       wrong, (long long)job->n, job->csv.wrong_at);
}

static void infer_look(infer_job *job)
{
    for (int64_t i = 0; i < job->n; i++) {
        infer_column *c = &job->columns[i];
        infer_kind    kind;

        if (levada_csv_is_missing(job->args, &job->fields[i])) {
            c->missing = true;
            continue;
        }
        kind = infer_kind_of(job->args, &job->fields[i]);
        if (kind > c->kind) c->kind = kind;
        c->seen = true;
    }
}

/* Returns true if the fields of the first row look like names: distinct texts. */
static bool infer_has_names(const infer_job *job)
{
    for (int64_t i = 0; i < job->n; i++) {
        const levada_csv_field *f = &job->fields[i];

        if (levada_csv_is_missing(job->args, f) || infer_kind_of(job->args, f) != INFER_TEXT)
            return false;
        for (int64_t k = 0; k < i; k++)
            if (job->fields[k].size == f->size &&
                memcmp(job->fields[k].at, f->at, (size_t)f->size) == 0)
                return false;
    }
    return job->n > 0;
}

/* Returns true if the first row has the name of a column whose dtype is declared. */
static bool infer_is_declared(const infer_job *job)
{
    bool found = false;

    for (int64_t i = 0; i < job->n && !found; i++)
        found = levada_csv_declares(job->args, (const char *)job->fields[i].at,
                                    (size_t)job->fields[i].size);
    return found;
}

/* Decides if the first row is the header. */
static levada_status infer_header(const infer_job *job, bool *header, levada_error *err)
{
    bool names = infer_has_names(job), numbers = false;

    for (int64_t i = 0; i < job->n; i++)
        numbers = numbers || (job->columns[i].seen && job->columns[i].kind != INFER_TEXT);
    *header = job->args->header || (names && numbers) || infer_is_declared(job);
    if (*header && job->rows->n == 1)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "infer: the file has a header and no rows: name the columns with "
                           "record_defaults");
    if (*header || !names) return LEVADA_OK;
    return levada_fail(
        err, LEVADA_EINVALID_ARGUMENT,
        "infer: all columns are strings, so the first row may be a header or a record; set "
        "header=true, or record_defaults");
}

/* -- the options */

static levada_status infer_short(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while inferring columns");
}

static levada_status infer_set(levada_value *map, const char *key, levada_value *value,
                               levada_error *err)
{
    levada_status st = value ? levada_value_set(map, key, &value, err) : infer_short(err);

    levada_value_destroy(&value);
    return st;
}

/* Makes an entry: "int64", or {dtype:float64,default:nan} if some fields are missing. */
static levada_status infer_entry(const infer_column *c, levada_value **entry, levada_error *err)
{
    static const char *const names[] = { "int64", "float64", "text" };
    infer_kind    kind = c->seen ? c->kind : INFER_TEXT;
    const char   *name = c->missing && kind == INFER_INT ? names[INFER_FLOAT] : names[kind];
    const char   *none = kind == INFER_TEXT ? "" : "nan";
    levada_status st;

    *entry = c->missing ? levada_value_map() : levada_value_text(name, strlen(name));
    st = *entry ? LEVADA_OK : infer_short(err);
    if (st == LEVADA_OK && c->missing) st = levada_value_set_text(*entry, "dtype", name, err);
    if (st == LEVADA_OK && c->missing) st = levada_value_set_text(*entry, "default", none, err);
    return st;
}

static levada_status infer_type(const infer_job *job, int64_t i, const char *column,
                                levada_value *types, levada_error *err)
{
    levada_value *entry = NULL;
    levada_status st = column && levada_csv_declares(job->args, column, strlen(column))
                           ? levada_csv_declared(job->args, column, &entry, err)
                           : infer_entry(&job->columns[i], &entry, err);

    if (st == LEVADA_OK && column && levada_value_get(types, column))
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "infer: two columns are named '%.80s'; pass record_defaults and columns",
                         column);
    else if (st == LEVADA_OK && column)
        st = levada_value_set(types, column, &entry, err);
    else if (st == LEVADA_OK) st = levada_value_push(types, &entry, err);
    levada_value_destroy(&entry);
    return st;
}

/* Returns true for options that get other values, or are removed. */
static bool infer_is_found(const char *key)
{
    return strcmp(key, "infer") == 0 || strcmp(key, "infer_rows") == 0 ||
            strcmp(key, "header") == 0 ||
           strcmp(key, "record_defaults") == 0 || strcmp(key, "columns") == 0 ||
           strcmp(key, "dtypes") == 0 || strcmp(key, "dates") == 0;
}

/* Copies the options that stay. */
static levada_status infer_copy(const levada_value *options, levada_value *map, levada_error *err)
{
    for (int64_t i = 0; i < levada_value_count(options); i++) {
        const char *key = levada_value_key(options, i);

        if (infer_is_found(key)) continue;
        LEVADA_TRY(infer_set(map, key, levada_value_copy(levada_value_item(options, i)), err));
    }
    return LEVADA_OK;
}

static levada_status infer_types(const infer_job *job, const levada_value *names,
                                 levada_value **out, levada_error *err)
{
    levada_value *types = names ? levada_value_map() : levada_value_list();
    levada_status st = types ? levada_csv_check_declared(job->args, names, err) : infer_short(err);

    for (int64_t i = 0; st == LEVADA_OK && i < job->n; i++)
        st = infer_type(job, i,
                        names ? levada_value_as_text(levada_value_item(names, i), NULL) : NULL,
                        types, err);
    if (st == LEVADA_OK) *out = types;
    else levada_value_destroy(&types);
    return st;
}

/* Looks at all rows, and at the first row last, because its fields may be the names. */
static levada_status infer_rows(infer_job *job, bool *header, levada_error *err)
{
    const char *wrong = NULL;
    int64_t     good = 0, n = 0;

    LEVADA_TRY(infer_split_first(job, err));
    for (int64_t row = 1; row < job->rows->n; row++) {
        wrong = infer_split(job, row, &n);
        if (wrong || n != job->n) continue;
        infer_look(job);
        good++;
    }
    if (good == 0 && job->rows->n > 1)
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "infer: no row has %lld fields, as the first one has; row %lld: %s",
                           (long long)job->n, (long long)job->rows->n,
                           wrong ? wrong : "another number of fields");
    LEVADA_TRY(infer_split_first(job, err));
    LEVADA_TRY(infer_header(job, header, err));
    if (!*header) infer_look(job);
    return LEVADA_OK;
}

/* Descriptions are UTF-8, and hold the names. */
static levada_status infer_check_names(const levada_value *names, levada_error *err)
{
    for (int64_t i = 0; i < levada_value_count(names); i++) {
        char        bytes[INFER_BYTES * 3 + 1] = "";
        size_t      size = 0;
        const char *name = levada_value_as_text(levada_value_item(names, i), &size);

        if (levada_utf8_check(name, size) == size) continue;
        for (size_t k = 0; k < size && k < INFER_BYTES; k++)
            (void)snprintf(bytes + 3 * k, 4, " %02x", (unsigned char)name[k]);
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "column %lld of the header must have a name in UTF-8, got the bytes%s: "
                           "pass encoding='latin-1' or another one, or name the columns",
                           (long long)i, bytes);
    }
    return LEVADA_OK;
}

/* Makes record_defaults, with the names of a header. */
static levada_status infer_defaults(infer_job *job, bool *header, levada_value **out,
                                    levada_error *err)
{
    levada_value *names = NULL;
    levada_status st = job->args->infer ? infer_rows(job, header, err) : LEVADA_OK;

    if (st == LEVADA_OK && *header)
        st = levada_csv_header_read(job->args, job->rows->data[0], job->rows->size[0], &names, err);
    if (st == LEVADA_OK) st = infer_check_names(names, err);
    if (st == LEVADA_OK)
        st = job->args->infer ? infer_types(job, names, out, err)
                              : levada_csv_header_name(job->args, names, out, err);
    levada_value_destroy(&names);
    return st;
}

levada_status levada_csv_infer(const levada_csv_args *args, levada_env *env,
                               const levada_strings *rows, const levada_value *options,
                               levada_value **out, levada_error *err)
{
    levada_context context = { .struct_size = sizeof context, .env = env };
    infer_job      job = { .args = args, .rows = rows };
    levada_value  *map = levada_value_map(), *defaults = NULL;
    bool           header = args->header;
    levada_status  st = map ? levada_csv_open(&job.csv, args, true, &context, err)
                            : infer_short(err);

    job.fields = levada_alloc(LEVADA_CSV_COLUMNS * sizeof *job.fields);
    job.columns = levada_alloc_zero(LEVADA_CSV_COLUMNS * sizeof *job.columns);
    if (st == LEVADA_OK && (!job.fields || !job.columns)) st = infer_short(err);
    if (st == LEVADA_OK) st = infer_defaults(&job, &header, &defaults, err);
    if (st == LEVADA_OK && defaults) st = infer_copy(options, map, err);
    if (st == LEVADA_OK && defaults) st = levada_value_set(map, "record_defaults", &defaults, err);
    if (st == LEVADA_OK) st = infer_set(map, "header", levada_value_bool(header), err);
    if (st == LEVADA_OK && levada_value_get(map, "record_defaults")) {
        *out = map;
        map = NULL;
    }
    levada_free(job.columns);
    levada_free(job.fields);
    levada_csv_close(&job.csv);
    levada_value_destroy(&defaults);
    levada_value_destroy(&map);
    return st;
}
