/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of CSV to one column per field: what the decoder decode_csv and the format csv share. They
 * differ in a few rules of TensorFlow, `file` below.
 *
 * A block is decoded in two passes: find the fields of all rows (a kernel indexes the characters
 * that matter), then read them column by column. In most blocks the rows are even (csv_even.c):
 * then the index is all that is stored of the fields. A field that is empty or equals na_value is
 * missing. Strings stay in the buffer of the records where possible.
 *
 * A levada_csv is the scratch of one worker. Errors of options are EINVALID_ARGUMENT; a bad row is
 * rejected, and its values are defaults.
 */
#ifndef LEVADA_ROWS_CSV_COLUMNS_H
#define LEVADA_ROWS_CSV_COLUMNS_H

#include "base/kernels.h"
#include "rows/csv_line.h"

#include <levada/builder.h>
#include <levada/decoder.h>

enum {
    LEVADA_CSV_COLUMNS = 4096,
    LEVADA_CSV_FIELDS = 65536, /* of a row without record_defaults */
    LEVADA_CSV_NAME = 24,
    LEVADA_CSV_PIECE = 256, /* numbers that are read at a time */
    LEVADA_CSV_MARKS =
        65536 /* bytes of a row that is indexed; longer ones are split byte by byte */
};

/* The options. */
typedef struct levada_csv_args {
    const levada_value *record_defaults; /* NULL (format only): one ragged column of strings */
    const char         *field_delim;
    bool                use_quote_delim;
    const char         *quote_char;
    const char         *na_value;
    levada_texts        na_values;
    const char         *thousands;
    levada_ints         select_cols;
    levada_texts        columns;
    bool                header, infer; /* format only */
    int64_t             infer_rows, header_columns, misplaced_quotes, skip_rows, invalid;
    const char         *comment;
    const levada_value *dtypes, *dates; /* format only, csv_dtypes.h */
} levada_csv_args;

/* The entries that both tables of options have. */
#define LEVADA_CSV_OPTIONS                                                                       \
    LEVADA_ARG(TEXT, levada_csv_args, field_delim, .otherwise = "\",\"",                         \
               .doc = "one character between fields"),                                           \
        LEVADA_ARG(BOOL, levada_csv_args, use_quote_delim, .otherwise = "true",                  \
                   .doc = "quotes enclose fields; false = quotes are ordinary characters"),     \
        LEVADA_ARG(TEXT, levada_csv_args, quote_char, .otherwise = "\"\\\"\"",                   \
                   .doc = "the character that encloses fields"),                                 \
        LEVADA_ARG(TEXT, levada_csv_args, na_value, .otherwise = "\"\"",                         \
                   .doc = "string that marks a missing field, in addition to the empty string"), \
        LEVADA_ARG(TEXTS, levada_csv_args, na_values,                                            \
                   .doc = "further strings that mark a missing field: [NA, null, '-']"),         \
        LEVADA_ARG(TEXT, levada_csv_args, thousands,                                             \
                   .doc = "character between groups of digits in numbers, such as ','; null = "  \
                          "none"),                                                               \
        LEVADA_ARG(INTS, levada_csv_args, select_cols,                                           \
                   .doc = "numbers of the fields to decode, ascending from 0; null = all"),      \
        LEVADA_ARG(TEXTS, levada_csv_args, columns,                                              \
                   .doc = "names of the columns; null = the names in record_defaults or in the " \
                          "header, else c0, c1, ... by the number of the field"),                \
        LEVADA_ARG(CHOICE, levada_csv_args, invalid, .choices = "error|replace",                 \
                   .doc = "bytes of text that are not UTF-8: error rejects the row, replace "    \
                          "reads each of them as U+FFFD")

/* What the option record_defaults is. */
#define LEVADA_CSV_DEFAULTS                                                                       \
    "{name: entry, ...}, or a list with one entry per column: a dtype (float32, float64, int32, " \
    "int64, text, string, or datetime64[s], [ms], [us] or [ns] for ISO 8601 in int64; the field " \
    "is required), or {dtype: ..., default: ...}"

/* Returns true if a field is empty, or one of the strings that mark a missing one. */
bool levada_csv_is_missing(const levada_csv_args *args, const levada_csv_field *field);
/* The field without separators between its digits, in `to`. False: it has none, is too long, or one
 * is elsewhere. */
enum { LEVADA_CSV_NUMBER = 64 };
bool levada_csv_join_digits(const levada_csv_args *args, const levada_csv_field *field,
                            char to[LEVADA_CSV_NUMBER], levada_csv_field *joined);

/* One column of the result. */
typedef struct levada_csv_column {
    levada_dtype dtype;
    int64_t      ticks;     /* of dates and times: their unit (base/datetime.h); 0 = numbers   */
    const char  *otherwise; /* strings: the default; NULL = required                          */
    size_t       size;
    bool         required;
    double       number; /* numbers: the default                                              */
    int64_t      integer;
} levada_csv_column;

/* The marks of a block of even rows: field k of row r ends at mark[r * stride + k], relative to
 * text, and begins after the mark before that one. */
typedef struct levada_csv_even {
    const uint8_t *text;
    const int32_t *mark;
    int64_t        stride;
    int64_t        npairs; /* fields with "" in their quotes */
} levada_csv_even;

typedef struct levada_csv {
    const levada_kernels *kernels;
    levada_csv_rules      rules;
    bool                  file;    /* rows of a file: as the CsvDataset of TensorFlow          */
    levada_csv_column    *columns; /* owned */
    int64_t               n;       /* of columns; 0 = one ragged column of strings             */
    levada_csv_field     *fields;  /* field c of row r is fields[c * stride + r]               */
    int64_t               capacity, stride;
    levada_csv_even       even;    /* of the block, where is_even; the fields are not stored then */
    bool                  is_even;
    int32_t              *ends; /* the marks of even rows */
    int64_t               ends_capacity;
    int32_t              *pairs;  /* of even rows: the marks that end fields with "" in quotes */
    int64_t               pairs_capacity;
    bool                 *paired; /* with pairs: which fields of a row they are            */
    int64_t               paired_capacity;
    bool                  escapes; /* the row that was split last may have escaped fields      */
    int32_t               wrong_at; /* byte of a row where it breaks a rule                    */
    int64_t               used; /* without columns: fields of the block so far, in order       */
    levada_csv_field     *row;   /* fields of a row that is split with care                    */
    int32_t              *marks; /* places of delimiters, quotes and newlines in a row         */
    bool                 *bad; /* rows that are rejected */
    int64_t               bad_capacity;
    uint8_t              *text; /* fields without the second quote of each pair */
    int64_t               text_capacity, text_used;
} levada_csv;

/* Checks the options and makes the spec of the columns. */
LEVADA_MUST_USE levada_status levada_csv_spec(const levada_csv_args *args, levada_spec **out,
                                              levada_error *err);
/* Fills `columns`, one for each entry of record_defaults, which levada_csv_spec has accepted. */
LEVADA_MUST_USE levada_status levada_csv_read_columns(const levada_csv_args *args,
                                                      levada_csv_column     *columns,
                                                      levada_error          *err);
/* Returns true if record_defaults names the columns: {name: entry, ...}. With a header, each file
 * must have these names. */
static inline bool levada_csv_is_named(const levada_csv_args *args)
{
    return levada_value_kind_of(args->record_defaults) == LEVADA_VALUE_MAP;
}

/* Returns the name of a column: given, or made in text. */
const char *levada_csv_name(const levada_csv_args *args, int64_t i, char text[LEVADA_CSV_NAME]);

/* Opens `csv`, which must be zero. Call close() also after a failure. */
LEVADA_MUST_USE levada_status levada_csv_open(levada_csv *csv, const levada_csv_args *args,
                                              bool file, const levada_context *context,
                                              levada_error *err);
void levada_csv_close(levada_csv *csv);
/* Implements the hook of a decoder. `refused` is what is wrong with each row, or NULL: nothing with
 * any. */
LEVADA_MUST_USE levada_status levada_csv_decode(levada_csv *csv, const levada_csv_args *args,
                                                const levada_strings *in,
                                                const char *const *refused, levada_builder *out,
                                                levada_error *err);

/* Splits one row: stores field k in to[k * stride], the first `capacity` of them, and sets *n to
 * the number of all. Returns what is wrong with the row, or NULL: in field number *n, at byte
 * csv->wrong_at of the row. */
const char *levada_csv_split_row(levada_csv *csv, const uint8_t *row, int32_t size,
                                 levada_csv_field *to, int64_t stride, int64_t capacity,
                                 int64_t *n);

/* Reads the common numbers of rows [from, from + n) of a column, n <= LEVADA_CSV_PIECE, into
 * values[from], ... The rows of all others, less `from`, go to odd, which has space for
 * LEVADA_CSV_PIECE + 1 of them; returns their number. */
int32_t levada_csv_read_numbers(const levada_csv *csv, int64_t column, int64_t from, int64_t n,
                                void *values, int32_t *odd);

/* Fills csv->even; false where the rows of the block are not even. */
bool levada_csv_index_even(levada_csv *csv, const levada_strings *in);
/* Returns the ends of a column in even rows, at distances of the stride. */
const int32_t   *levada_csv_even_ends(const levada_csv *csv, int64_t column);
levada_csv_field levada_csv_even_field(const levada_csv *csv, int64_t row, int64_t column);
/* Returns true if some fields of this column of even rows have "" in their quotes. */
bool levada_csv_even_has_pairs(const levada_csv *csv, int64_t column);

#endif
