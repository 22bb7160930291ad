/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/csv_infer.h"

#include "base/alloc.h"
#include "base/number.h"
#include "option/value_priv.h"

#include <string.h>

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

static bool infer_is_missing(const infer_job *job, const levada_csv_field *f)
{
    size_t n = strlen(job->args->na_value);

    return f->size == 0 ||
           (n > 0 && (size_t)f->size == n && memcmp(f->at, job->args->na_value, n) == 0);
}

/* "007" is a text: as a number it would lose its zeros. */
static bool infer_has_zeros(const levada_csv_field *f)
{
    int32_t at = f->size > 0 && (f->at[0] == '-' || f->at[0] == '+');

    return at + 1 < f->size && f->at[at] == '0' && f->at[at + 1] >= '0' && f->at[at + 1] <= '9';
}

static infer_kind infer_kind_of(const levada_csv_field *f)
{
    const char        *text = (const char *)f->at;
    int64_t            i;
    double             x;
    levada_number_kind kind;

    if (infer_has_zeros(f)) return INFER_TEXT;
    kind = levada_number_scan_int(text, (size_t)f->size, &i);
    if (kind == LEVADA_NUMBER_INT) return INFER_INT;
    if (kind == LEVADA_NUMBER_BIG) return INFER_TEXT; /* a float would lose digits */
    return levada_number_scan_f64(text, (size_t)f->size, &x) == LEVADA_NUMBER_FLOAT ? INFER_FLOAT
                                                                                   : INFER_TEXT;
}

static levada_status infer_split(infer_job *job, int64_t row, levada_error *err)
{
    int64_t     n = 0;
    const char *wrong = levada_csv_split_row(&job->csv, job->rows->data[row], job->rows->size[row],
                                             job->fields, 1, LEVADA_CSV_COLUMNS, &n);

    if (wrong)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "infer: row %lld: %s (field %lld, byte %d of the row)",
                           (long long)row + 1, wrong, (long long)n, job->csv.wrong_at);
    if (row == 0) job->n = n;
    if (n == job->n && n <= LEVADA_CSV_COLUMNS) return LEVADA_OK;
    if (n == job->n)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "infer: row %lld has too many fields",
                           (long long)row + 1);
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "infer: row %lld has %lld fields, the first one %lld", (long long)row + 1,
                       (long long)n, (long long)job->n);
}

static void infer_look(infer_job *job)
{
    for (int64_t i = 0; i < job->n; i++) {
        infer_column *c = &job->columns[i];
        infer_kind    kind;

        if (infer_is_missing(job, &job->fields[i])) {
            c->missing = true;
            continue;
        }
        kind = infer_kind_of(&job->fields[i]);
        if (kind > c->kind) c->kind = kind;
        c->seen = true;
    }
}

/* Do the fields of the first row look like names: distinct texts? */
static bool infer_has_names(const infer_job *job)
{
    for (int64_t i = 0; i < job->n; i++) {
        const levada_csv_field *f = &job->fields[i];

        if (infer_is_missing(job, f) || infer_kind_of(f) != INFER_TEXT) return false;
        for (int64_t k = 0; k < i; k++)
            if (job->fields[k].size == f->size &&
                memcmp(job->fields[k].at, f->at, (size_t)f->size) == 0)
                return false;
    }
    return job->n > 0;
}

/* Whether the first row is the header. */
static levada_status infer_header(const infer_job *job, bool *header, levada_error *err)
{
    bool names = infer_has_names(job), numbers = false;

    for (int64_t i = 0; i < job->n; i++)
        numbers = numbers || (job->columns[i].seen && job->columns[i].kind != INFER_TEXT);
    *header = job->args->header || (names && numbers);
    if (*header && job->rows->n == 1)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "infer: the file has a header and no rows: name the columns with "
                           "record_defaults");
    if (*header || !names) return LEVADA_OK;
    return levada_fail(
        err, LEVADA_EINVALID_ARGUMENT,
        "infer: all columns hold texts, so nothing tells whether the first row names "
        "them: set header=true, or record_defaults");
}

/* -- the options */

static levada_status infer_short(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory to infer columns");
}

static levada_status infer_set(levada_value *map, const char *key, levada_value *value,
                               levada_error *err)
{
    levada_status st = value ? levada_value_set(map, key, &value, err) : infer_short(err);

    levada_value_destroy(&value);
    return st;
}

/* "int64", or {dtype:float64,default:nan} where some fields are missing. */
static levada_status infer_type(const infer_column *c, levada_value *list, levada_error *err)
{
    static const char *const names[] = { "int64", "float64", "string" };
    infer_kind    kind = c->seen ? c->kind : INFER_TEXT;
    const char   *name = c->missing && kind == INFER_INT ? names[INFER_FLOAT] : names[kind];
    const char   *none = kind == INFER_TEXT ? "" : "nan";
    levada_value *type = levada_value_text(name, strlen(name)), *map = NULL;
    levada_status st = type ? LEVADA_OK : infer_short(err);

    if (st == LEVADA_OK && c->missing) {
        map = levada_value_map();
        if (!map) st = infer_short(err);
        if (st == LEVADA_OK) st = levada_value_set(map, "dtype", &type, err);
        if (st == LEVADA_OK)
            st = infer_set(map, "default", levada_value_text(none, strlen(none)), err);
    }
    if (st == LEVADA_OK) st = levada_value_push(list, map ? &map : &type, err);
    levada_value_destroy(&map);
    levada_value_destroy(&type);
    return st;
}

static levada_status infer_name(levada_csv_field *f, levada_value *list, levada_error *err)
{
    uint8_t      *text = levada_alloc((size_t)f->size + 1);
    levada_value *name = NULL;
    levada_status st = LEVADA_OK;
    int32_t       size = f->size;

    if (text && f->escaped) size = levada_csv_unescape(f, text);
    else if (text && size > 0) memcpy(text, f->at, (size_t)size);
    if (text) name = levada_value_text((const char *)text, (size_t)size);
    st = name ? levada_value_push(list, &name, err) : infer_short(err);
    levada_value_destroy(&name);
    levada_free(text);
    return st;
}

/* Options that take other values, or go. */
static bool infer_is_found(const char *key)
{
    return strcmp(key, "infer") == 0 || strcmp(key, "header") == 0 ||
           strcmp(key, "record_defaults") == 0 || strcmp(key, "columns") == 0;
}

static levada_status infer_options(infer_job *job, bool header, const levada_value *options,
                                   levada_value *map, levada_error *err)
{
    levada_value *types = levada_value_list(), *names = levada_value_list();
    levada_status st = types && names ? LEVADA_OK : infer_short(err);

    for (int64_t i = 0; st == LEVADA_OK && i < levada_value_count(options); i++) {
        const char *key = levada_value_key(options, i);

        if (infer_is_found(key)) continue;
        st = infer_set(map, key, levada_value_copy(levada_value_item(options, i)), err);
    }
    for (int64_t i = 0; st == LEVADA_OK && i < job->n; i++) {
        st = infer_type(&job->columns[i], types, err);
        if (st == LEVADA_OK && header) st = infer_name(&job->fields[i], names, err);
    }
    if (st == LEVADA_OK) st = levada_value_set(map, "record_defaults", &types, err);
    if (st == LEVADA_OK && header) st = levada_value_set(map, "columns", &names, err);
    if (st == LEVADA_OK) st = infer_set(map, "header", levada_value_bool(header), err);
    levada_value_destroy(&names);
    levada_value_destroy(&types);
    return st;
}

/* The first row is looked at last: its fields are the names. */
static levada_status infer_rows(infer_job *job, const levada_value *options, levada_value *map,
                                levada_error *err)
{
    bool header = false;

    LEVADA_TRY(infer_split(job, 0, err));
    for (int64_t row = 1; row < job->rows->n; row++) {
        LEVADA_TRY(infer_split(job, row, err));
        infer_look(job);
    }
    LEVADA_TRY(infer_split(job, 0, err));
    LEVADA_TRY(infer_header(job, &header, err));
    if (!header) infer_look(job);
    return infer_options(job, header, options, map, err);
}

levada_status levada_csv_infer(const levada_csv_args *args, levada_env *env,
                               const levada_strings *rows, const levada_value *options,
                               levada_value **out, levada_error *err)
{
    levada_context context = { .struct_size = sizeof context, .env = env };
    infer_job      job = { .args = args, .rows = rows };
    levada_value  *map = levada_value_map();
    levada_status  st = map ? levada_csv_open(&job.csv, args, true, &context, err)
                            : infer_short(err);

    job.fields = levada_alloc(LEVADA_CSV_COLUMNS * sizeof *job.fields);
    job.columns = levada_alloc_zero(LEVADA_CSV_COLUMNS * sizeof *job.columns);
    if (st == LEVADA_OK && (!job.fields || !job.columns)) st = infer_short(err);
    if (st == LEVADA_OK) st = infer_rows(&job, options, map, err);
    if (st == LEVADA_OK) {
        *out = map;
        map = NULL;
    }
    levada_free(job.columns);
    levada_free(job.fields);
    levada_csv_close(&job.csv);
    levada_value_destroy(&map);
    return st;
}
