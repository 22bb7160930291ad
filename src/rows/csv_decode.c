/* SPDX-License-Identifier: Apache-2.0 */
/* One block of rows of CSV to columns. */
#include "base/alloc.h"
#include "base/datetime.h"
#include "base/number.h"
#include "rows/csv_columns.h"
#include "registry/env_priv.h"
#include "tensor/pool.h"
#include "tensor/text_columns.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DECODE_SLACK = 64 }; /* readable bytes before unescaped fields */

/* What the functions below share. */
typedef struct decode_block {
    levada_csv            *csv;
    const levada_csv_args *args;
    const levada_strings  *in;
    levada_builder        *out;
} decode_block;

static levada_status decode_short(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for the fields of a block");
}

levada_status levada_csv_open(levada_csv *csv, const levada_csv_args *a, bool file,
                              const levada_context *context, levada_error *err)
{
    int64_t n = a->record_defaults ? levada_value_count(a->record_defaults) : 0;
    int64_t row = n > 0 ? n : LEVADA_CSV_FIELDS;

    csv->kernels = levada_env_kernels(context->env);
    csv->n = n;
    csv->file = file;
    csv->rules = (levada_csv_rules){
        .delim = (uint8_t)a->field_delim[0],
        .quotes = a->use_quote_delim,
        .quote = (uint8_t)a->quote_char[0],
        .wanted = a->select_cols.n > 0 ? a->select_cols.at : NULL,
        .nwanted = a->select_cols.n,
        .file = file,
    };
    csv->row = levada_alloc((size_t)row * sizeof *csv->row);
    csv->marks = levada_alloc((LEVADA_CSV_MARKS + LEVADA_KERNEL_SLACK) * sizeof *csv->marks);
    csv->columns = levada_alloc((size_t)(n + 1) * sizeof *csv->columns);
    if (!csv->row || !csv->marks || !csv->columns) return decode_short(err);
    return n > 0 ? levada_csv_read_columns(a, csv->columns, err) : LEVADA_OK;
}

void levada_csv_close(levada_csv *csv)
{
    levada_free(csv->columns);
    levada_free(csv->fields);
    levada_free(csv->ends);
    levada_free(csv->pairs);
    levada_free(csv->paired);
    levada_free(csv->row);
    levada_free(csv->marks);
    levada_free(csv->bad);
    levada_free(csv->text);
    *csv = (levada_csv){ 0 }; /* it may be opened again */
}

/* -- rows */

/* Rejects the row unless it is rejected already. */
LEVADA_PRINTF(4, 5)
static levada_status decode_reject(const decode_block *b, int64_t row, levada_error *err,
                                   const char *format, ...)
{
    levada_error why = LEVADA_ERROR_INIT;
    char         text[320];
    va_list      list;

    if (b->csv->bad[row]) return LEVADA_OK;
    b->csv->bad[row] = true;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    (void)levada_fail(&why, LEVADA_EINVALID_ARGUMENT, "%s", text);
    return levada_builder_reject(b->out, row, &why, err);
}

/* Copies a field's text with single quotes to memory that holds all rows of the block. */
static void decode_unescape(levada_csv *csv, levada_csv_field *field)
{
    uint8_t *to = csv->text + csv->text_used;

    field->size = levada_csv_unescape(field, to);
    field->at = to;
    field->escaped = false;
    csv->text_used += field->size;
}

static levada_status decode_number_of_fields(const decode_block *b, int64_t row, int64_t n,
                                             levada_error *err)
{
    long long want = b->csv->n, has = n;

    if (!b->csv->file)
        return decode_reject(b, row, err, "Expect %lld fields but have %lld", want, has);
    if (has > want)
        return decode_reject(b, row, err, "Expect %lld fields but have more in record", want);
    return decode_reject(b, row, err, "Expect %lld fields but have %lld in record", want, has);
}

/* Rejects a row that breaks a rule. */
static levada_status decode_wrong(const decode_block *b, int64_t row, const char *wrong,
                                  int64_t field, levada_error *err)
{
    if (!b->csv->file) return decode_reject(b, row, err, "%s", wrong);
    return decode_reject(b, row, err, "%s (field %lld, byte %d of the row)", wrong,
                         (long long)field, b->csv->wrong_at);
}

static levada_status decode_row(const decode_block *b, int64_t row, levada_error *err)
{
    levada_csv       *csv = b->csv;
    levada_csv_field *fields = csv->fields + row;
    int64_t           n;
    const char *wrong = levada_csv_split_row(csv, b->in->data[row], b->in->size[row], fields,
                                             csv->stride, csv->n, &n);
    levada_status st = LEVADA_OK;

    if (wrong) st = decode_wrong(b, row, wrong, n, err);
    else if (n != csv->n) st = decode_number_of_fields(b, row, n, err);
    if (!csv->bad[row] && !csv->escapes) return st;
    for (int64_t i = 0; i < csv->n; i++) {
        levada_csv_field *field = &fields[i * csv->stride];

        if (csv->bad[row]) *field = (levada_csv_field){ 0 };
        else if (field->escaped) decode_unescape(csv, field);
    }
    return st;
}

/* -- columns */

static levada_csv_field decode_field(const decode_block *b, int64_t row, int64_t column)
{
    const levada_csv *csv = b->csv;

    return csv->is_even ? levada_csv_even_field(csv, row, column)
                        : csv->fields[column * csv->stride + row];
}

/* Returns the number of a column in the file, for messages. */
static long long decode_number(const decode_block *b, int64_t column)
{
    return b->csv->file && b->csv->rules.wanted ? (long long)b->csv->rules.wanted[column]
                                                : (long long)column;
}

/* Writes " (column 'age', byte 17 of the row)" if rows come from a file. */
static const char *decode_place(const decode_block *b, int64_t row, int64_t column, char text[96])
{
    const levada_csv_field field = decode_field(b, row, column);
    const uint8_t         *begin = b->in->data[row];
    char                   name[LEVADA_CSV_NAME], at[40] = "";

    text[0] = '\0';
    if (!b->csv->file) return text;
    if (field.at >= begin && field.at <= begin + b->in->size[row])
        snprintf(at, sizeof at, ", byte %lld of the row", (long long)(field.at - begin));
    snprintf(text, 96, " (column '%.40s'%s)", levada_csv_name(b->args, column, name), at);
    return text;
}

static levada_status decode_required(const decode_block *b, int64_t row, int64_t column,
                                     levada_error *err)
{
    char place[96];

    if (b->csv->bad[row]) return LEVADA_OK; /* a message costs more than reading the row */
    return decode_reject(b, row, err, "Field %lld is required but missing%s%s",
                         decode_number(b, column), b->csv->file ? " in record!" : "",
                         decode_place(b, row, column, place));
}

/* Returns false if digits became infinite. decode_csv of TensorFlow accepts that, rows of files do
 * not. */
static bool decode_in_range(bool file, double value, const char *text, size_t n)
{
    if (!file || !isinf(value)) return true;
    for (size_t i = 0; i < n; i++)
        if (text[i] >= '0' && text[i] <= '9') return false;
    return true;
}

/* Reads one number into values[row]; false where the text is not one of the dtype. */
static bool decode_any_number(bool file, levada_dtype dtype, const levada_csv_field *field,
                              void *values, int64_t row)
{
    const char *text = (const char *)field->at;
    size_t      n = (size_t)field->size;
    int64_t     i = 0;

    if (dtype == LEVADA_FLOAT32)
        return levada_number_scan_f32(text, n, (float *)values + row) == LEVADA_NUMBER_FLOAT &&
               decode_in_range(file, ((float *)values)[row], text, n);
    if (dtype == LEVADA_FLOAT64)
        return levada_number_scan_f64(text, n, (double *)values + row) == LEVADA_NUMBER_FLOAT &&
               decode_in_range(file, ((double *)values)[row], text, n);
    if (levada_number_scan_int(text, n, &i) != LEVADA_NUMBER_INT) return false;
    if (dtype == LEVADA_INT64) ((int64_t *)values)[row] = i;
    else ((int32_t *)values)[row] = (int32_t)i;
    return dtype == LEVADA_INT64 || i == (int32_t)i;
}

static void decode_put_default(const levada_csv_column *c, void *values, int64_t row)
{
    switch (c->dtype) {
    case LEVADA_FLOAT32: ((float *)values)[row] = (float)c->number; break;
    case LEVADA_FLOAT64: ((double *)values)[row] = c->number; break;
    case LEVADA_INT32: ((int32_t *)values)[row] = (int32_t)c->integer; break;
    default: ((int64_t *)values)[row] = c->integer; break;
    }
}

/* Decodes a field that is a date. */
static levada_status decode_date(const decode_block *b, int64_t row, int64_t column,
                                 int64_t *values, levada_error *err)
{
    const levada_csv_column *c = &b->csv->columns[column];
    const levada_csv_field   field = decode_field(b, row, column);
    const char              *wrong = NULL;
    char                     place[96];

    values[row] = c->integer;
    if (levada_csv_is_missing(b->args, &field))
        return c->required ? decode_required(b, row, column, err) : LEVADA_OK;
    wrong = levada_datetime_read((const char *)field.at, (size_t)field.size, c->ticks,
                                 &values[row]);
    if (!wrong || b->csv->bad[row]) return LEVADA_OK;
    values[row] = c->integer;
    return decode_reject(b, row, err, "Field %lld is not a valid %s: %.*s: %s%s",
                         decode_number(b, column), levada_datetime_word(c->ticks),
                         field.size > 80 ? 80 : field.size, (const char *)field.at, wrong,
                         decode_place(b, row, column, place));
}

static levada_status decode_dates(const decode_block *b, int64_t column, levada_error *err)
{
    void *values = NULL;

    LEVADA_TRY(levada_builder_values(b->out, (int32_t)column, b->in->n, &values, err));
    for (int64_t row = 0; row < b->in->n; row++)
        LEVADA_TRY(decode_date(b, row, column, values, err));
    return LEVADA_OK;
}

/* Decodes a field that is not a common number. */
static levada_status decode_slowly(const decode_block *b, int64_t row, int64_t column,
                                   void *values, levada_error *err)
{
    static const char *const words[] = { [LEVADA_FLOAT32] = "float", [LEVADA_FLOAT64] = "double",
                                         [LEVADA_INT32] = "int32", [LEVADA_INT64] = "int64" };
    const levada_csv_column *c = &b->csv->columns[column];
    const levada_csv_field   field = decode_field(b, row, column);
    levada_csv_field         joined;
    char                     place[96], digits[LEVADA_CSV_NUMBER];

    if (levada_csv_is_missing(b->args, &field)) {
        decode_put_default(c, values, row);
        return c->required ? decode_required(b, row, column, err) : LEVADA_OK;
    }
    if (decode_any_number(b->csv->file, c->dtype, &field, values, row) ||
        (levada_csv_join_digits(b->args, &field, digits, &joined) &&
         decode_any_number(b->csv->file, c->dtype, &joined, values, row)))
        return LEVADA_OK;
    decode_put_default(c, values, row);
    if (b->csv->bad[row]) return LEVADA_OK;
    return decode_reject(b, row, err, "Field %lld is not a valid %s: %.*s%s",
                         decode_number(b, column), words[c->dtype],
                         field.size > 80 ? 80 : field.size, (const char *)field.at,
                         decode_place(b, row, column, place));
}

/* Returns true if a text of missing fields looks like a number, because every field must then be
 * compared with it. */
static bool decode_na_is_number(const levada_csv_args *a)
{
    bool found = false;

    for (int64_t i = -1; i < a->na_values.n; i++) {
        const char *na = i < 0 ? a->na_value : a->na_values.at[i];

        found = found || (*na != '\0' && na[strspn(na, "0123456789.-+eE")] == '\0');
    }
    return found;
}

static levada_status decode_numbers(const decode_block *b, int64_t column, levada_error *err)
{
    int32_t odd[LEVADA_CSV_PIECE + 1], nodd;
    int64_t n;
    void   *values = NULL;
    bool    quick = !decode_na_is_number(b->args);

    LEVADA_TRY(levada_builder_values(b->out, (int32_t)column, b->in->n, &values, err));
    for (int64_t from = 0; from < b->in->n; from += n) {
        n = b->in->n - from < LEVADA_CSV_PIECE ? b->in->n - from : LEVADA_CSV_PIECE;
        nodd = levada_csv_read_numbers(b->csv, column, from, n, values, odd);
        for (int64_t i = 0; i < (quick ? nodd : n); i++)
            LEVADA_TRY(decode_slowly(b, from + (quick ? odd[i] : i), column, values, err));
    }
    return LEVADA_OK;
}

/* Finds the strings of even rows where they are. Returns true if none of them is empty. */
static bool decode_ranges(const decode_block *b, int64_t column, int32_t *begin, int32_t *end)
{
    const levada_csv_even *even = &b->csv->even;
    const int32_t         *mark = levada_csv_even_ends(b->csv, column);
    int32_t base = (int32_t)(even->text - b->in->owner->data), quotes = b->csv->rules.quotes;
    int32_t empty = 0;

    for (int64_t row = 0; row < b->in->n; row++, mark += even->stride) {
        int32_t from = mark[-1] + 1, to = mark[0];
        int32_t quoted = quotes & (to > from) & (even->text[to - 1] == '"');

        begin[row] = base + from + quoted;
        end[row] = base + to - quoted;
        empty |= from + quoted == to - quoted;
    }
    return empty == 0;
}

/* Copies the fields, with one quote for each pair. */
static levada_status decode_copies(const decode_block *b, int64_t column, int32_t *begin,
                                   int32_t *end, bool *full, levada_error *err)
{
    const levada_csv_even   *even = &b->csv->even;
    const levada_text_fields fields = { .text = even->text,
                                        .mark = levada_csv_even_ends(b->csv, column),
                                        .stride = even->stride };
    int64_t bytes = 0;
    int32_t empty = 0;
    void   *copy = NULL;

    for (int64_t row = 0; row < b->in->n; row++)
        bytes += fields.mark[row * even->stride] - fields.mark[row * even->stride - 1] - 1;
    LEVADA_TRY(levada_builder_values(b->out, (int32_t)column, bytes, &copy, err));
    (void)b->csv->kernels->text_strings(&fields, b->in->n, copy, begin, end);
    for (int64_t row = 0; row < b->in->n; row++) empty |= begin[row] == end[row];
    *full = empty == 0;
    return LEVADA_OK;
}

/* Fills a column of even rows from their index. Clears *done if empty fields mean something else
 * than empty strings: the column is then filled again. */
static levada_status decode_indexed(const decode_block *b, int64_t column, bool *done,
                                    levada_error *err)
{
    const levada_csv_column *c = &b->csv->columns[column];
    const levada_buffer     *owner = b->in->owner;
    int32_t                 *begin = NULL, *end = NULL;
    bool                     full = false;

    LEVADA_TRY(levada_builder_ranges(b->out, (int32_t)column, 0, b->in->n, &begin, &end, err));
    if (levada_csv_even_has_pairs(b->csv, column)) {
        LEVADA_TRY(decode_copies(b, column, begin, end, &full, err));
    } else {
        full = decode_ranges(b, column, begin, end);
        levada_builder_share_values(b->out, (int32_t)column, owner->data, owner);
    }
    *done = full || (!c->required && c->size == 0);
    return LEVADA_OK;
}

/* Returns a field of even rows, with pairs of quotes made single. */
static levada_csv_field decode_even_field(const decode_block *b, int64_t row, int64_t column,
                                          bool pairs)
{
    levada_csv_field field = levada_csv_even_field(b->csv, row, column);

    if (pairs && memchr(field.at, '"', (size_t)field.size)) decode_unescape(b->csv, &field);
    return field;
}

static levada_status decode_strings(const decode_block *b, int64_t column, levada_error *err)
{
    levada_csv              *csv = b->csv;
    const levada_csv_column *c = &csv->columns[column];
    levada_csv_field        *fields = csv->fields + (csv->is_even ? 0 : column * csv->stride);
    bool                     marks = *b->args->na_value || b->args->na_values.n > 0;
    bool                     done = false, pairs = csv->is_even &&
                                           levada_csv_even_has_pairs(csv, column);

    if (csv->is_even && !marks && b->in->owner->size <= INT32_MAX)
        LEVADA_TRY(decode_indexed(b, column, &done, err));
    if (done) return LEVADA_OK;
    for (int64_t row = 0; row < b->in->n; row++) {
        if (csv->is_even) fields[row] = decode_even_field(b, row, column, pairs);
        if (!levada_csv_is_missing(b->args, &fields[row])) continue;
        if (c->required) LEVADA_TRY(decode_required(b, row, column, err));
        fields[row] = (levada_csv_field){ (const uint8_t *)c->otherwise, (int32_t)c->size, false };
    }
    return levada_strings_put(b->out, (int32_t)column, 0, fields, b->in->n, b->in->owner, err);
}

/* -- blocks */

static levada_status decode_reserve(levada_csv *csv, const levada_strings *in, levada_error *err)
{
    int64_t bytes = 0;

    for (int64_t i = 0; i < in->n && csv->rules.quotes; i++) bytes += in->size[i];
    csv->stride = in->n;
    csv->is_even = csv->n > 0 && (!csv->rules.quotes || csv->rules.quote == '"') &&
                   levada_csv_index_even(csv, in);
    if (levada_reserve(&csv->fields, &csv->capacity, in->n * (csv->is_even ? 1 : csv->n) + 1,
                       sizeof *csv->fields) &&
        levada_reserve(&csv->bad, &csv->bad_capacity, in->n + 1, sizeof *csv->bad) &&
        ((csv->is_even && csv->even.npairs == 0) || !csv->rules.quotes ||
         levada_reserve(&csv->text, &csv->text_capacity, DECODE_SLACK + bytes + 1, 1))) {
        memset(csv->bad, 0, (size_t)in->n * sizeof *csv->bad);
        csv->text_used = DECODE_SLACK;
        return LEVADA_OK;
    }
    return decode_short(err);
}

/* Splits a row of any length, and stores its fields after those of the rows before it. */
static levada_status decode_ragged_row(const decode_block *b, int64_t row, levada_error *err)
{
    levada_csv *csv = b->csv;
    int64_t     n, has = csv->used;
    const char *wrong;

    if (!levada_reserve(&csv->fields, &csv->capacity, has + LEVADA_CSV_FIELDS, sizeof *csv->fields))
        return decode_short(err);
    wrong = levada_csv_split_row(csv, b->in->data[row], b->in->size[row], csv->fields + has, 1,
                                 LEVADA_CSV_FIELDS, &n);
    if (wrong) return decode_wrong(b, row, wrong, n, err);
    if (n > LEVADA_CSV_FIELDS)
        return decode_reject(b, row, err,
                             "a row must have at most %d fields; change field_delim or quote_char",
                             LEVADA_CSV_FIELDS);
    for (int64_t i = 0; i < n; i++) {
        if (csv->fields[has + i].escaped) decode_unescape(csv, &csv->fields[has + i]);
    }
    csv->used += n;
    return LEVADA_OK;
}

static levada_status decode_ragged(const decode_block *b, levada_error *err)
{
    int32_t *offsets = NULL;

    b->csv->used = 0;
    LEVADA_TRY(levada_builder_offsets(b->out, 0, 0, b->in->n, &offsets, err));
    offsets[0] = 0;
    for (int64_t row = 0; row < b->in->n; row++) {
        LEVADA_TRY(decode_ragged_row(b, row, err));
        offsets[row + 1] = (int32_t)b->csv->used;
    }
    return levada_strings_put(b->out, 0, 1, b->csv->fields, b->csv->used, b->in->owner, err);
}

levada_status levada_csv_decode(levada_csv *csv, const levada_csv_args *args,
                                const levada_strings *in, const char *const *refused,
                                levada_builder *out, levada_error *err)
{
    const decode_block b = { csv, args, in, out };

    LEVADA_TRY(decode_reserve(csv, in, err));
    levada_builder_text_rule(out, args->invalid ? LEVADA_TEXT_REPLACE : LEVADA_TEXT_REJECT);
    for (int64_t row = 0; row < in->n && refused; row++)
        if (refused[row]) LEVADA_TRY(decode_reject(&b, row, err, "%s", refused[row]));
    if (csv->n == 0) return decode_ragged(&b, err);
    for (int64_t row = 0; row < in->n && !csv->is_even; row++)
        LEVADA_TRY(decode_row(&b, row, err));
    for (int64_t i = 0; i < csv->n; i++) {
        LEVADA_TRY(levada_dtype_is_bytes(csv->columns[i].dtype) ? decode_strings(&b, i, err)
                   : csv->columns[i].ticks > 0                  ? decode_dates(&b, i, err)
                                                                : decode_numbers(&b, i, err));
    }
    return LEVADA_OK;
}
