/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a row that exceeds the limit: byte by byte, by the rules of csv_rows.c, because it may
 * lie many windows after the beginning of the row.
 */
#include "rows/csv_rows.h"

/* What is known of a newline of the row. */
typedef enum long_verdict { LONG_CUT, LONG_ENDS, LONG_GOES_ON } long_verdict;

/* Decides if the row ends at the newline data[at]. If the data is cut, the next bytes decide. */
static long_verdict long_newline(const levada_csv_long *row, const levada_csv_framing *f,
                                 const uint8_t *data, int64_t at, int64_t size, bool at_end)
{
    int64_t begin = levada_csv_line_after(data, at, size), end;
    /* The newline and the line fit in a window that is not over the limit. */
    int64_t most = f->limit - 2;

    if (data[at] == '\r' && at + 1 == size && !at_end) return LONG_CUT;
    if (!row->broken || row->fields >= f->columns) return LONG_ENDS;
    end = levada_csv_line_end(data, begin, size);
    if (end - begin >= most) return LONG_GOES_ON;
    if (end == size && !at_end) return LONG_CUT;
    return levada_csv_is_row(f, data, begin, end) ? LONG_ENDS : LONG_GOES_ON;
}

/* Reads the byte after a quote in quotes: the quote stood for one, closed the field, or is
 * misplaced. */
static void long_after_quote(levada_csv_long *row, const levada_csv_framing *f, uint8_t c)
{
    bool closes = c == f->rules.delim || c == '\n' || c == '\r';

    row->closing = false;
    row->quoted = c == f->rules.quote || (!closes && f->tensorflow);
    row->broken = !closes && !row->quoted;
}

/* Follows data[from, size); returns where the row ends, or `size`, or the newline whose meaning
 * depends on bytes after `size`. */
static int64_t long_follow(levada_csv_long *row, const levada_csv_framing *f, const uint8_t *data,
                           int64_t from, int64_t size, bool at_end, bool *done)
{
    for (int64_t at = from; at < size; at++) {
        uint8_t c = data[at];
        bool    was = row->closing;

        if (was) long_after_quote(row, f, c);
        if (row->quoted) {
            row->closing = !was && f->rules.quotes && c == f->rules.quote;
        } else if (c == '\n' || c == '\r') {
            long_verdict verdict = long_newline(row, f, data, at, size, at_end);

            *done = verdict == LONG_ENDS;
            if (*done) return levada_csv_line_after(data, at, size);
            if (verdict == LONG_CUT) return at;
        } else if (c == f->rules.delim) {
            row->fields++;
            row->inside = false;
        } else {
            row->quoted = !row->inside && !row->broken && f->rules.quotes && c == f->rules.quote;
            row->inside = true;
        }
    }
    return size;
}

int64_t levada_csv_long_fields(const levada_csv_framing *f, const uint8_t *data, int64_t begin,
                               int64_t end)
{
    levada_csv_long row = { .begun = true, .fields = 1 };
    bool            done = false;

    (void)long_follow(&row, f, data, begin, end, false, &done);
    return row.fields;
}

/* Returns where the first whole row begins among the lines up to the limit, if most of them are
 * rows; else 0. */
static int64_t long_resync(const levada_csv_framing *f, const uint8_t *data)
{
    int64_t first = 0, lines = 0, rows = 0, size = f->limit;
    int64_t end = levada_csv_line_end(data, 0, size);

    while (end < size && f->columns > 1) {
        int64_t begin = levada_csv_line_after(data, end, size);

        end = levada_csv_line_end(data, begin, size);
        if (end == size) break;
        lines += end > begin;
        if (!levada_csv_is_row(f, data, begin, end)) continue;
        if (rows++ == 0) first = begin;
    }
    return 2 * rows > lines ? first : 0;
}

int64_t levada_csv_long_pass(levada_csv_long *row, const levada_csv_framing *f,
                             const uint8_t *data, int64_t size, bool at_end, bool *done)
{
    int64_t from = 0;

    *done = false;
    if (!row->begun) {
        *row = (levada_csv_long){ .begun = true, .fields = 1 };
        if (size > f->limit) {
            int64_t found;

            from = long_follow(row, f, data, 0, f->limit, false, done);
            found = row->quoted && !*done ? long_resync(f, data) : 0;
            *done = *done || found > 0;
            if (found > 0) from = found;
        }
    }
    if (!*done) from = long_follow(row, f, data, from, size, at_end, done);
    if (at_end && from == size && (!row->quoted || row->closing)) *done = true;
    if (*done || at_end) *row = (levada_csv_long){ 0 };
    return from;
}
