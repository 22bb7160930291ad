/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the rows of a CSV file begin and end.
 *
 * A row ends with LF, CR LF, CR or the file, outside of quotes. A quote opens a field only where a
 * field begins, and closes it only where a delimiter or the end of the row follows. A quote at
 * another place is an error of its row. Inside quotes it breaks the row, because nobody knows
 * whether later quotes open or close. A broken row ends at the first line end at which it has all
 * its fields, or before a line that is a whole row by itself. As TensorFlow reads it
 * (misplaced_quotes=tensorflow), the field continues instead.
 *
 * All rules depend on the bytes of a row and on the limit of a row, never on the size of a window,
 * so files and pipes have the same rows for any number of threads.
 */
#ifndef LEVADA_ROWS_CSV_ROWS_H
#define LEVADA_ROWS_CSV_ROWS_H

#include "rows/csv_columns.h"

#include <levada/source.h>

/* How a file is framed. */
typedef struct levada_csv_framing {
    const levada_kernels *kernels;
    levada_csv_rules      rules;   /* for all fields of a row                                 */
    int64_t               columns; /* fields of a good row; 0 = unknown                       */
    int64_t               limit;   /* bytes of a row with its line end                        */
    bool                  tensorflow; /* a misplaced quote is part of its field               */
} levada_csv_framing;

/* A row over the limit while its end is looked for; all-zero at its beginning. */
typedef struct levada_csv_long {
    bool    begun, quoted, broken;
    bool    inside;  /* the next byte does not begin a field           */
    bool    closing; /* the last byte was a quote in quotes            */
    int64_t fields;
} levada_csv_long;

levada_csv_framing levada_csv_framing_of(const levada_csv_args *args,
                                         const levada_kernels *kernels, int64_t limit);
/* Finds rows in data[0, size), at most `capacity`, as the hook next() of a format. */
LEVADA_MUST_USE levada_status levada_csv_rows_find(const levada_csv_framing *framing,
                                                   const uint8_t *data, int64_t size, bool at_end,
                                                   int32_t capacity, levada_spans *out,
                                                   levada_error *err);
/* Returns the next line that is a whole row by itself, after a quote at data[0] that nothing
 * closes, as the hook resync(). One field does not tell a row from a line of the text in quotes. */
int64_t levada_csv_rows_resync(const levada_csv_framing *framing, const uint8_t *data,
                               int64_t size, bool at_end);
/* Passes over a row that exceeds the limit, as the hook leave_out(). If its quote is still open at
 * the limit and more than half of its lines up to there are whole rows, then the quote is taken for
 * one that nothing closes, and the first of these rows is next. */
int64_t levada_csv_long_pass(levada_csv_long *row, const levada_csv_framing *framing,
                             const uint8_t *data, int64_t size, bool at_end, bool *done);
/* Counts the fields that begin in data[begin, end), a part of a row from its beginning on. */
int64_t levada_csv_long_fields(const levada_csv_framing *framing, const uint8_t *data,
                               int64_t begin, int64_t end);

/* -- lines: what csv_rows.c and csv_long.c share */

/* Returns the end of the line that begins at `from`; `size` if data[0, size) lacks it. */
static inline int64_t levada_csv_line_end(const uint8_t *data, int64_t from, int64_t size)
{
    while (from < size && data[from] != '\n' && data[from] != '\r') from++;
    return from;
}

/* Returns the position after the newline at data[at]. */
static inline int64_t levada_csv_line_after(const uint8_t *data, int64_t at, int64_t size)
{
    return at + 1 + (data[at] == '\r' && at + 1 < size && data[at + 1] == '\n');
}

/* Returns true if the line at data[begin] is a comment. */
static inline bool levada_csv_is_comment(const levada_csv_framing *framing, const uint8_t *data,
                                         int64_t begin)
{
    return framing->rules.comment && data[begin] == framing->rules.comment;
}

/* Returns true if data[begin, end) is a row of framing->columns fields by itself. */
bool levada_csv_is_row(const levada_csv_framing *framing, const uint8_t *data, int64_t begin,
                       int64_t end);

#endif
