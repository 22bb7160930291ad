/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/csv_rows.h"

#include "files/window.h"
#include "rows/csv_header.h"

#include <string.h>

enum { CSV_MARKS = 1024 };

/* A window while its rows are found. */
typedef struct csv_rows {
    const levada_csv_framing *framing;
    const uint8_t *data;
    int64_t        size;
    levada_spans  *out;
    int64_t        row; /* begins here */
    int64_t        past; /* marks before this are used up: second bytes of "" and CR LF */
    bool           quoted, at_end;
    bool           cut;    /* the meaning of the last bytes depends on the next ones */
    bool           broken; /* a quote is misplaced in the row */
    int64_t        fields, counted; /* of the broken row before the byte `counted` */
} csv_rows;

/* Returns the number of fields of a good row; 0 if it is not known. */
static int64_t csv_width(const levada_csv_args *a)
{
    bool known = a->record_defaults && a->select_cols.n == 0 && !a->header_columns;

    return known ? levada_value_count(a->record_defaults) : 0;
}

levada_csv_framing levada_csv_framing_of(const levada_csv_args *a, const levada_kernels *kernels,
                                         int64_t limit)
{
    levada_csv_framing framing = { .kernels = kernels,
                                   .rules = levada_csv_rules_of(a),
                                   .columns = csv_width(a),
                                   .limit = levada_window_limit(limit),
                                   .tensorflow = a->misplaced_quotes != 0 };

    framing.rules.wanted = NULL;
    framing.rules.nwanted = 0;
    return framing;
}

/* -- rows with misplaced quotes */

bool levada_csv_is_row(const levada_csv_framing *framing, const uint8_t *data, int64_t begin,
                       int64_t end)
{
    int64_t n;
    int32_t at;

    return end > begin && !levada_csv_is_comment(framing, data, begin) &&
           !levada_csv_split(&framing->rules, data + begin, (int32_t)(end - begin), NULL, 0, &n,
                             &at) &&
           n == framing->columns;
}

/* Notes that the quote at data[at] is misplaced, and how many fields precede it. */
static void csv_break(csv_rows *w, int64_t at)
{
    w->quoted = false;
    w->broken = true;
    w->fields = levada_csv_long_fields(w->framing, w->data, w->row, at);
    w->counted = at;
}

/* Returns true if the broken row ends at this newline. Does not look at a line that ends after the
 * limit of the row, because not every window has it. */
static bool csv_ends_broken(csv_rows *w, int64_t at)
{
    const levada_csv_framing *f = w->framing;
    int64_t begin = levada_csv_line_after(w->data, at, w->size), end;

    for (; w->counted < at; w->counted++) w->fields += w->data[w->counted] == f->rules.delim;
    if (w->fields >= f->columns) return true;
    end = levada_csv_line_end(w->data, begin, w->size);
    if (end - w->row > f->limit) return false;
    w->cut = end == w->size && !w->at_end;
    return !w->cut && levada_csv_is_row(f, w->data, begin, end);
}

/* -- framing */

/* Handles a quote: it opens or closes a field, stands for one in it, or is an error of the row. */
static void csv_quote(csv_rows *w, int64_t at)
{
    const levada_csv_rules *rules = &w->framing->rules;
    uint8_t                 next;

    if (w->broken || levada_csv_is_comment(w->framing, w->data, w->row)) return;
    if (!w->quoted) {
        w->quoted = at == w->row || w->data[at - 1] == rules->delim;
        return;
    }
    if (at + 1 == w->size) {
        w->quoted = !w->at_end;
        w->cut = !w->at_end;
        return;
    }
    next = w->data[at + 1];
    if (next == rules->quote) w->past = at + 2;
    else if (next == rules->delim || next == '\n' || next == '\r') w->quoted = false;
    else if (!w->framing->tensorflow) csv_break(w, at);
}

static void csv_newline(csv_rows *w, int64_t at)
{
    levada_spans *out = w->out;
    bool          last = at + 1 == w->size, cr = w->data[at] == '\r';

    if (cr && last && !w->at_end) {
        w->cut = true;
        return;
    }
    if (w->broken && !csv_ends_broken(w, at)) return;
    w->broken = false;
    out->begin[out->n] = (int32_t)w->row;
    out->end[out->n] = (int32_t)at;
    out->n += at > w->row && !levada_csv_is_comment(w->framing, w->data, w->row);
    w->row = w->past = levada_csv_line_after(w->data, at, w->size);
}

/* Finds rows until the window ends, or `capacity` rows are found. False: a quote is an error of its
 * row, and the quotes have to be followed one by one. */
static bool csv_index(csv_rows *w, int32_t capacity)
{
    const levada_csv_rules *rules = &w->framing->rules;
    levada_quoted how = { .delim = rules->delim, .quotes = rules->quotes, .rows = true };
    int32_t       mark[CSV_MARKS + LEVADA_KERNEL_SLACK];
    size_t        scanned = 0;

    if ((rules->quotes && rules->quote != '"') || rules->comment) return false;
    for (int64_t from = 0; from < w->size && !w->cut; from += (int64_t)scanned) {
        int64_t n = w->framing->kernels->quoted_index(w->data + from, (size_t)(w->size - from),
                                                      &how, mark, CSV_MARKS, &scanned);

        if (n < 0) return false;
        for (int64_t i = 0; i < n && !w->cut; i++) {
            if (from + mark[i] < w->past) continue;
            csv_newline(w, from + mark[i]);
            if (w->out->n == capacity) return true;
        }
    }
    w->quoted = how.open;
    return true;
}

/* Finds rows with any quotes. */
static void csv_walk(csv_rows *w, int32_t capacity)
{
    const levada_csv_rules *rules = &w->framing->rules;
    const uint8_t set[4] = { '\n', '\r', rules->quotes ? rules->quote : '\n', '\n' };
    int32_t       mark[CSV_MARKS + LEVADA_KERNEL_SLACK];
    size_t        scanned = 0;

    for (int64_t from = 0; from < w->size && !w->cut; from += (int64_t)scanned) {
        int64_t n = w->framing->kernels->byte_index(w->data + from, (size_t)(w->size - from), set,
                                                    mark, CSV_MARKS, &scanned);

        for (int64_t i = 0; i < n && !w->cut; i++) {
            int64_t at = from + mark[i];

            if (at < w->past) continue;
            if (w->data[at] == set[2] && rules->quotes) csv_quote(w, at);
            else if (!w->quoted) csv_newline(w, at);
            if (w->out->n == capacity) return;
        }
    }
}

/* Ends the last row, which has no newline. If it is still in quotes, the file is damaged there,
 * unless the row exceeds the limit. */
static levada_status csv_end(csv_rows *w, levada_error *err)
{
    if (w->quoted) {
        if (w->out->n > 0) return LEVADA_OK; /* with the next call */
        if (w->size - w->row > w->framing->limit) return LEVADA_OK;
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "Reached end of file without closing quoted field in record");
    }
    w->out->begin[w->out->n] = (int32_t)w->row;
    w->out->end[w->out->n] = (int32_t)w->size;
    w->out->n += !levada_csv_is_comment(w->framing, w->data, w->row);
    w->row = w->size;
    return LEVADA_OK;
}

levada_status levada_csv_rows_find(const levada_csv_framing *framing, const uint8_t *data,
                                   int64_t size, bool at_end, int32_t capacity, levada_spans *out,
                                   levada_error *err)
{
    const csv_rows begin = { .framing = framing, .data = data, .size = size, .out = out,
                             .at_end = at_end };
    csv_rows      w = begin;
    levada_status st = LEVADA_OK;

    if (!csv_index(&w, capacity)) {
        out->n = 0;
        w = begin;
        csv_walk(&w, capacity);
    }
    if (at_end && out->n < capacity && w.row < size) st = csv_end(&w, err);
    out->used = w.row;
    return st;
}

int64_t levada_csv_rows_resync(const levada_csv_framing *framing, const uint8_t *data,
                               int64_t size, bool at_end)
{
    int64_t end = levada_csv_line_end(data, 0, size);

    while (end < size && framing->columns > 1) {
        int64_t begin = levada_csv_line_after(data, end, size);

        end = levada_csv_line_end(data, begin, size);
        if ((end < size || at_end) && levada_csv_is_row(framing, data, begin, end)) return begin;
        if (end == size && !at_end) return begin;
    }
    return size;
}
