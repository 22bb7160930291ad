/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of CSV split into fields, by the rules of tf.io.decode_csv
 * (core/kernels/decode_csv_op.cc):
 *
 *   - newlines before a field are skipped; a record that is empty has no fields
 *   - an unquoted field has no quote (where quotes delimit), no CR and no LF
 *   - a quoted field ends at a quote that the delimiter or the end follows; "" in it is one quote
 *   - a delimiter at the end is followed by one more, empty field
 *
 * A line has no end mark: it is bytes and a size. Any thread.
 */
#ifndef LEVADA_ROWS_CSV_LINE_H
#define LEVADA_ROWS_CSV_LINE_H

#include "rows/strings_put.h"

typedef struct levada_csv_rules {
    uint8_t        delim;
    bool           quotes;  /* `quote` delimits fields                                            */
    uint8_t        quote;
    const int64_t *wanted;  /* numbers of the fields to return, ascending; NULL = all             */
    int64_t        nwanted; /* with wanted: fields after the last of them are not read            */
    uint8_t        comment; /* lines that begin with it are not rows; 0 = none                    */
    bool           file;    /* a row of a file: newlines do not occur outside of quotes, and an
                             * empty row is one empty field                                       */
} levada_csv_rules;

/* A field in the line, without the quotes around it. escaped: every "" in it stands for one quote.
 */
typedef levada_text_span levada_csv_field;

/* Splits line[0, size). Stores the first `capacity` fields and sets *n to the number of all.
 * Returns NULL, or what is wrong with the line: in field number *n, at byte *at. */
const char *levada_csv_split(const levada_csv_rules *rules, const uint8_t *line, int32_t size,
                             levada_csv_field *fields, int64_t capacity, int64_t *n, int32_t *at);

/* Copies an escaped field with its quotes single; returns the number of bytes, less than size. */
int32_t levada_csv_unescape(const levada_csv_field *field, uint8_t *to);

#endif
