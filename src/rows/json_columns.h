/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of JSON to one column per field, for jsonl and decode_json. Rows are parsed one after
 * the other; values gather in memory of the worker and become columns at the end of a block.
 *
 * A levada_json_columns is the scratch of one worker; all-zero is valid for close. A row that is
 * not an object, lacks a required field or has a value of another type is rejected.
 */
#ifndef LEVADA_ROWS_JSON_COLUMNS_H
#define LEVADA_ROWS_JSON_COLUMNS_H

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
    "{name: dtype, ...} (int32, int64, float32, float64, bool, string); [dtype] and [[dtype]] "   \
    "are lists; {dtype: ..., default: ..., path: a.b} has a default, and a path in nested "       \
    "objects; auto = infer them from the first 1000 records when the dataset is created; the "    \
    "pipeline then contains them"

enum { LEVADA_JSON_DEPTH = 2 };

typedef struct levada_json_column {
    const char         *name, *path;
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
/* The hook of a decoder. */
LEVADA_MUST_USE levada_status levada_json_columns_decode(levada_json_columns  *c,
                                                         const levada_strings *in,
                                                         levada_builder *out, levada_error *err);

/* The same. */
int64_t levada_json_columns_found(const levada_json_columns *c, bool *there, char *names,
                                  size_t size);

/* Reads the option into `columns`, one for each of its fields. */
LEVADA_MUST_USE levada_status levada_json_fields_read(const levada_value *fields,
                                                      levada_json_column *columns,
                                                      levada_error       *err);

#endif
