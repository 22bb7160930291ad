/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of even rows: rows without quotes that lie one after the other and have the same number of
 * fields. Most blocks are even. One pass of a kernel finds the ends of all fields, and then every
 * column is read in one loop over its ends; no field is ever stored.
 */
#include "base/alloc.h"
#include "rows/csv_columns.h"

#include "tensor/pool.h"

#include <string.h>

/* Bytes between a row and the next, the same for all of them: 1 or 2; else 0. */
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

/* Fields of the first row; of the others it is checked. */
static int64_t even_fields(const levada_csv *csv, const levada_strings *in)
{
    const uint8_t *row = in->data[0], *end = row + in->size[0];
    int64_t        n = 1;

    if (!csv->rules.wanted) return csv->n;
    for (; row < end; row++) n += *row == csv->rules.delim;
    return n > csv->rules.wanted[csv->n - 1] ? n : 0;
}

/* Does every row end at its last mark? */
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

/* Records that are not rows of a file may have newlines in them, which end no field. */
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
    const uint8_t    set[4] = { csv->rules.delim, '\n', '\r', '\n' };
    levada_csv_even *even = &csv->even;
    int64_t          gap = in->n > 0 ? even_gap(in) : 0, fields, want, size;
    size_t           scanned;

    if (gap == 0 || (fields = even_fields(csv, in)) == 0) return false;
    even->text = in->data[0];
    even->stride = fields + gap - 1;
    want = in->n * even->stride - gap; /* the last row ends without a mark */
    size = in->data[in->n - 1] + in->size[in->n - 1] - even->text;
    if (want > size || (csv->rules.quotes && memchr(even->text, '"', (size_t)size))) return false;
    if (!levada_reserve(&csv->ends, &csv->ends_capacity, want + 2 * LEVADA_KERNEL_SLACK,
                        sizeof *csv->ends))
        return false; /* it works without, too */
    even->mark = csv->ends + 1;
    csv->ends[0] = -1;
    if (csv->kernels->byte_index(even->text, (size_t)size, set, csv->ends + 1, want + 1,
                                 &scanned) != want)
        return false;
    csv->ends[1 + want] = (int32_t)size;
    return even_check_rows(even, in, fields) && even_check_marks(csv, in, fields);
}

levada_csv_field levada_csv_even_field(const levada_csv *csv, int64_t row, int64_t column)
{
    const int32_t *end = levada_csv_even_ends(csv, column) + row * csv->even.stride;

    return (levada_csv_field){ csv->even.text + end[-1] + 1, end[0] - end[-1] - 1, false };
}

const int32_t *levada_csv_even_ends(const levada_csv *csv, int64_t column)
{
    return csv->even.mark + (csv->rules.wanted ? csv->rules.wanted[column] : column);
}
