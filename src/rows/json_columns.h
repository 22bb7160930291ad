/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of JSON to one column per field, for jsonl and decode_json. Rows are parsed one after
 * the other; values gather in memory of the worker and become columns at the end of a block.
 *
 * A levada_json_columns is the scratch of one worker; all-zero is valid for close. A row that is
 * not an object, lacks a required field or has a value of another type is rejected.
 *
 * Members of objects in lists become ragged columns: {"messages": [{"role": ...}]} the column
 * messages.role. All members of a list have the same ranges, because each object has a value for
 * each of them: a member that is missing or null has its default, or is an empty list, or the row
 * is rejected; an object that is null has no member; a list that is missing or null is empty.
 * A value that is not a string becomes its JSON in a text column.
 */
#ifndef LEVADA_ROWS_JSON_COLUMNS_H
#define LEVADA_ROWS_JSON_COLUMNS_H

#include "base/text.h"
#include "rows/json_parser.h"

#include <levada/builder.h>
#include <levada/decoder.h>

typedef struct levada_json_args {
    const levada_value *fields; /* NULL = the rows as they are */
    int64_t             invalid;
} levada_json_args;

/* The option `invalid`: what becomes of lone surrogates and of bytes that are not UTF-8. */
#define LEVADA_JSON_INVALID                                                                       \
    LEVADA_ARG(CHOICE, levada_json_args, invalid, .choices = "error|replace",                     \
               .doc = "lone surrogates in escapes, and bytes that are not UTF-8: error rejects "  \
                      "the record, replace reads each of them as U+FFFD")

/* What the option `fields` is. */
#define LEVADA_JSON_FIELDS                                                                        \
    "{name: dtype, ...} (int32, int64, float32, float64, bool, text, string); [dtype] and "       \
    "[[dtype]] are lists, {name: ...} is an object, [{name: ...}] a list of objects; {dtype: "    \
    "..., default: ..., path: a.b} has a default, and a path in nested objects; text has the "    \
    "JSON of values that are not strings; auto = infer them from the first 1,000 records when "   \
    "the dataset is created; the pipeline then contains them"

enum { LEVADA_JSON_DEPTH = LEVADA_MAX_DEPTH };

/* A path through objects, "a.b", and the lists that are there. The next step begins in each of
 * their items. */
typedef struct levada_json_step {
    const char *path;
    size_t      from, size; /* of the path in the name of the column */
    int32_t     end;        /* levels of lists up to here            */
} levada_json_step;

typedef struct levada_json_column {
    char               *name; /* owned */
    levada_json_step    step[LEVADA_JSON_DEPTH + 1];
    int32_t             nsteps;
    levada_dtype        dtype;
    int32_t             depth;
    const levada_value *otherwise; /* NULL = required */
    levada_json_array   ends[LEVADA_JSON_DEPTH + 1]; /* int32: of lists, and of texts after them */
    levada_json_array   values;                      /* of the dtype; bytes of texts              */
    bool                there; /* in a row so far */
} levada_json_column;

typedef struct levada_json_columns {
    levada_json_parser  parser;
    levada_json_array   lines;   /* without columns: those of the block that were mended */
    levada_text         json;    /* of a value that becomes text                         */
    levada_json_column *columns; /* owned */
    int64_t             n;
    int64_t             rows;       /* so far */
    char                names[160]; /* of the first row */
} levada_json_columns;

LEVADA_MUST_USE levada_status levada_json_columns_spec(const levada_json_args *args,
                                                       levada_spec **out, levada_error *err);
LEVADA_MUST_USE levada_status levada_json_columns_open(levada_json_columns    *c,
                                                       const levada_json_args *args,
                                                       levada_error           *err);
void levada_json_columns_close(levada_json_columns *c);
/* Implements the hook of a decoder. */
LEVADA_MUST_USE levada_status levada_json_columns_decode(levada_json_columns  *c,
                                                         const levada_strings *in,
                                                         levada_builder *out, levada_error *err);

/* Returns the number of columns that were found. */
int64_t levada_json_columns_found(const levada_json_columns *c, bool *there, char *names,
                                  size_t size);

/* Reads the option: *out are its n columns, to be freed with levada_json_fields_free. */
LEVADA_MUST_USE levada_status levada_json_fields_read(const levada_value *fields,
                                                      levada_json_column **out, int64_t *n,
                                                      levada_error *err);
void levada_json_fields_free(levada_json_column *columns, int64_t n);

#endif
