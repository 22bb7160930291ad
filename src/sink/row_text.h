/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as the bytes that a file of some format holds for them.
 *
 * A row format is a name and functions; the list is in write.c. Bytes are added to a text, whose
 * failed additions the caller notices. Errors are EINVALID_ARGUMENT and name the column.
 */
#ifndef LEVADA_SINK_ROW_TEXT_H
#define LEVADA_SINK_ROW_TEXT_H

#include "base/text.h"

#include <levada/block.h>
#include <levada/example.h>

typedef struct levada_row_writer {
    levada_example *example; /* of tfrecord */
    void           *values;  /* of tfrecord: memory for the values of a feature; owned */
    int64_t         capacity; /* bytes of it                       */
    int32_t         message;  /* of tfrecord: the kind of the first record */
    int64_t         record;  /* number of the row in the data set */
    levada_text     names;   /* of jsonl: what precedes each value, one after the other */
    size_t         *name_end; /* of jsonl, one per column; owned       */
    char            key[65536]; /* of tar: of the sample before     */
    size_t          nkey;
    bool            keyed; /* there was one */
} levada_row_writer;

/* Frees what the formats keep between rows. */
void levada_row_clear(levada_row_writer *w);

typedef struct levada_row_format {
    const char *name;
    bool        framed; /* the writer puts the frame of TFRecord around each row */
    /* Refuses columns that the format cannot hold. */
    levada_status (*check)(const levada_spec *spec, levada_error *err);
    void (*begin)(const levada_spec *spec, levada_text *out); /* a file; may be NULL */
    levada_status (*row)(levada_row_writer *w, const levada_block *block, int64_t row,
                         levada_text *out, levada_error *err);
    void (*end)(levada_text *out); /* of a file; may be NULL */
} levada_row_format;

/* Refuses dtypes that no format can hold. */
LEVADA_MUST_USE levada_status levada_row_check(const levada_spec *spec, const char *format,
                                               levada_error *err);

/* Items of a row along its first dimension, numbered from `begin`; `list` is false if it has none.
 * Each item of lists of lists is a list, and other items have levada_row_step() values. */
typedef struct levada_row_range {
    int64_t begin, end;
    bool    list;
} levada_row_range;

levada_row_range levada_row_range_of(const levada_column *column, int64_t row);
/* Returns the number of values in an item of the first dimension, unless items are lists. */
int64_t levada_row_step(const levada_column *column);
/* Returns true if values of a record may be padding within its first dimension, of which a column
 * does not have the lengths. */
bool levada_row_inner_padding(const levada_field *field);
/* Returns the value of an integer or a bool. */
int64_t levada_row_integer(const levada_column *column, int64_t at);
/* Writes a number or a bool as text; returns false if it is not finite. */
bool levada_row_number(const levada_column *column, int64_t at, levada_text *out);
/* Returns a byte string: element `at` of the innermost level. */
const char *levada_row_string(const levada_column *column, int64_t at, size_t *size);

extern const levada_row_format levada_row_tfrecord, levada_row_sequence_example, levada_row_csv,
    levada_row_jsonl, levada_row_tar, levada_row_lines;

#endif
