/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of even rows: rows that lie one after the other and have the same number of fields, whose
 * quotes are where they should be. Most blocks are even. One pass of a kernel finds the ends of all
 * fields, and then every column is read in one loop over its ends; no field is ever stored.
 */
#include "base/alloc.h"
#include "rows/csv_columns.h"

#include "tensor/pool.h"

#include <string.h>

/* Returns the number of bytes between a row and the next, the same for all of them: 1 or 2; else 0.
 * */
static int64_t even_gap(const levada_strings *in)
{
    const levada_buffer *owner = in->owner;
    const uint8_t       *end = in->data[0] + in->size[0];
    int64_t              gap = in->n > 1 ? in->data[1] - end : 1;

    if (!owner || in->data[0] < owner->data || in->data[0] > owner->data + owner->size) return 0;
    if (gap != 1 && gap != 2) return 0;
    for (int64_t row = 1; row < in->n; row++) {
        if (in->data[row] != end + gap) return 0;
        end = in->data[row] + in->size[row];
    }
    return end <= owner->data + owner->size && end - in->data[0] <= INT32_MAX ? gap : 0;
}

/* Finds the `want` marks of the block; false where there are more, or fewer, or where a quote is at
 * a wrong place. */
static bool even_marks(levada_csv *csv, int64_t size, int64_t want)
{
    levada_csv_even *even = &csv->even;
    levada_quoted    how = { .delim = csv->rules.delim, .quotes = csv->rules.quotes };
    int64_t          most = want + 1, n;
    size_t           scanned;

    if (!levada_reserve(&csv->ends, &csv->ends_capacity, most + 2 * LEVADA_KERNEL_SLACK,
                        sizeof *csv->ends) ||
        !levada_reserve(&csv->pairs, &csv->pairs_capacity, most + LEVADA_KERNEL_SLACK,
                        sizeof *csv->pairs))
        return false; /* it works without, too */
    even->mark = csv->ends + 1;
    csv->ends[0] = -1;
    how.pairs = csv->pairs;
    n = csv->kernels->quoted_index(even->text, (size_t)size, &how, csv->ends + 1, most, &scanned);
    csv->ends[1 + want] = (int32_t)size;
    even->npairs = how.npairs;
    return n == want && !how.open;
}

/* Counts the fields of the first row, with which the other rows are compared. */
static int64_t even_fields(const levada_csv *csv, const levada_strings *in)
{
    levada_quoted how = { .delim = csv->rules.delim, .quotes = csv->rules.quotes };
    int64_t       n;
    size_t        scanned;

    if (!csv->rules.wanted) return csv->n;
    n = csv->kernels->quoted_index(in->data[0], (size_t)in->size[0], &how, csv->marks,
                                   LEVADA_CSV_MARKS, &scanned) + 1;
    return n > csv->rules.wanted[csv->n - 1] ? n : 0;
}

/* Notes which fields of a row have pairs of quotes in some row of the block. */
static bool even_note_pairs(levada_csv *csv)
{
    const levada_csv_even *even = &csv->even;

    if (even->npairs == 0) return true;
    if (!levada_reserve(&csv->paired, &csv->paired_capacity, even->stride, sizeof *csv->paired))
        return false;
    memset(csv->paired, 0, (size_t)even->stride * sizeof *csv->paired);
    for (int64_t i = 0; i < even->npairs; i++) csv->paired[csv->pairs[i] % even->stride] = true;
    return true;
}

/* Returns false if a column of numbers has quotes in it: such rows are split with care. */
static bool even_check_pairs(const levada_csv *csv)
{
    bool strange = false;

    for (int64_t i = 0; i < csv->n && csv->even.npairs > 0; i++)
        strange |=
            !levada_dtype_is_bytes(csv->columns[i].dtype) && levada_csv_even_has_pairs(csv, i);
    return !strange;
}

/* Returns true if every row ends at its last mark. */
static bool even_check_rows(const levada_csv_even *even, const levada_strings *in, int64_t fields)
{
    for (int64_t row = 0; row < in->n; row++) {
        const int32_t *end = even->mark + row * even->stride + fields - 1;
        int64_t        at = in->data[row] + in->size[row] - even->text;

        if (*end != at) return false;
        if (even->stride > fields && row + 1 < in->n && end[1] != at + 1) return false;
    }
    return true;
}

/* Returns false if a mark ends no field, because records that are not rows of a file may have
 * newlines in them. */
static bool even_check_marks(const levada_csv *csv, const levada_strings *in, int64_t fields)
{
    const levada_csv_even *even = &csv->even;
    int                    strange = 0;

    if (csv->file) return true;
    for (int64_t row = 0; row < in->n; row++) {
        const int32_t *mark = even->mark + row * even->stride;

        strange |= in->size[row] == 0;
        for (int64_t i = 0; i + 1 < fields; i++)
            strange |= even->text[mark[i]] ^ csv->rules.delim;
    }
    return strange == 0;
}

bool levada_csv_index_even(levada_csv *csv, const levada_strings *in)
{
    levada_csv_even *even = &csv->even;
    int64_t          gap = in->n > 0 ? even_gap(in) : 0, fields, want, size;

    if (gap == 0 || (fields = even_fields(csv, in)) == 0) return false;
    even->text = in->data[0];
    even->stride = fields + gap - 1;
    want = in->n * even->stride - gap; /* the last row ends without a mark */
    size = in->data[in->n - 1] + in->size[in->n - 1] - even->text;
    return want <= size && even_marks(csv, size, want) && even_check_rows(even, in, fields) &&
           even_check_marks(csv, in, fields) && even_note_pairs(csv) && even_check_pairs(csv);
}

static int64_t even_number(const levada_csv *csv, int64_t column)
{
    return csv->rules.wanted ? csv->rules.wanted[column] : column;
}

bool levada_csv_even_has_pairs(const levada_csv *csv, int64_t column)
{
    return csv->even.npairs > 0 && csv->paired[even_number(csv, column)];
}

levada_csv_field levada_csv_even_field(const levada_csv *csv, int64_t row, int64_t column)
{
    const int32_t *end = levada_csv_even_ends(csv, column) + row * csv->even.stride;
    int32_t        size = end[0] - end[-1] - 1;
    const uint8_t *at = csv->even.text + end[-1] + 1;
    bool           quoted = csv->rules.quotes && size > 0 && *at == '"';

    return (levada_csv_field){ at + quoted, size - 2 * quoted, false };
}

const int32_t *levada_csv_even_ends(const levada_csv *csv, int64_t column)
{
    return csv->even.mark + even_number(csv, column);
}
