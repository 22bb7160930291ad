/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of even rows: rows that lie one after the other and have the same number of fields, none
 * of which has a quote in it. Most blocks are even. One pass of a kernel finds the ends of all
 * fields, and then every column is read in one loop over its ends; no field is ever stored.
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

/* Removes from n marks the quotes, and what lies between them. Returns how many are left, or -1
 * where a quote neither opens nor closes a field. */
static int64_t even_unquote(const levada_csv_rules *rules, const uint8_t *text, int32_t size,
                            int32_t *mark, int64_t n)
{
    int64_t left = 0;
    int32_t begin = 0; /* of the field */
    bool    inside = false;

    for (int64_t i = 0; i < n; i++) {
        int32_t at = mark[i], next = at + 1;

        if (text[at] != '"') {
            if (inside) continue;
            mark[left++] = at;
            begin = next;
        } else if (!inside) {
            if (at != begin) return -1;
            inside = true;
        } else {
            if (next < size && text[next] != rules->delim && text[next] != '\n' &&
                text[next] != '\r')
                return -1;
            inside = false;
        }
    }
    return inside ? -1 : left;
}

/* Finds the `want` marks of the block; false where there are more, or fewer. */
static bool even_marks(levada_csv *csv, int64_t size, int64_t want)
{
    levada_csv_even *even = &csv->even;
    uint8_t set[4] = { csv->rules.delim, '\n', '\r', '\n' };
    int64_t most = want + 1, n;
    size_t  scanned;

    even->quoted = csv->rules.quotes && memchr(even->text, '"', (size_t)size) != NULL;
    if (even->quoted) {
        set[3] = '"';
        most = want < size / 3 ? 3 * want + 3 : size; /* two quotes a field, and not much else */
    }
    if (!levada_reserve(&csv->ends, &csv->ends_capacity, most + 2 * LEVADA_KERNEL_SLACK,
                        sizeof *csv->ends))
        return false; /* it works without, too */
    even->mark = csv->ends + 1;
    csv->ends[0] = -1;
    n = csv->kernels->byte_index(even->text, (size_t)size, set, csv->ends + 1, most, &scanned);
    if (scanned < (size_t)size) return false;
    if (even->quoted)
        n = even_unquote(&csv->rules, even->text, (int32_t)size, csv->ends + 1, n);
    csv->ends[1 + want] = (int32_t)size;
    return n == want;
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
    levada_csv_even *even = &csv->even;
    int64_t          gap = in->n > 0 ? even_gap(in) : 0, fields, want, size;

    if (gap == 0 || (fields = even_fields(csv, in)) == 0) return false;
    even->text = in->data[0];
    even->stride = fields + gap - 1;
    want = in->n * even->stride - gap; /* the last row ends without a mark */
    size = in->data[in->n - 1] + in->size[in->n - 1] - even->text;
    return want <= size && even_marks(csv, size, want) && even_check_rows(even, in, fields) &&
           even_check_marks(csv, in, fields);
}

levada_csv_field levada_csv_even_field(const levada_csv *csv, int64_t row, int64_t column)
{
    const int32_t *end = levada_csv_even_ends(csv, column) + row * csv->even.stride;
    int32_t        size = end[0] - end[-1] - 1;
    const uint8_t *at = csv->even.text + end[-1] + 1;
    bool           quoted = csv->even.quoted && size > 0 && *at == '"';

    return (levada_csv_field){ at + quoted, size - 2 * quoted, false };
}

const int32_t *levada_csv_even_ends(const levada_csv *csv, int64_t column)
{
    return csv->even.mark + (csv->rules.wanted ? csv->rules.wanted[column] : column);
}
