/* SPDX-License-Identifier: Apache-2.0 */
#include "conform_rows.h"

#include <stdio.h>
#include <string.h>

#define CONFORM_ROWS_SHOWN 8 /* bytes of a cell that a message shows */

/* -- blocks to bytes */

static void conform_rows_i64(levada_conform_rows *rows, int64_t value)
{
    levada_cli_add(&rows->bytes, &value, sizeof value);
}

static void conform_rows_end(levada_conform_rows *rows)
{
    levada_cli_add(&rows->ends, &rows->bytes.size, sizeof rows->bytes.size);
}

static void conform_rows_value(levada_conform_rows *rows, const levada_column *c, int32_t level,
                               int64_t row)
{
    int64_t inner = levada_column_inner(c), size = levada_dtype_size(c->field->dtype);

    if (level < c->field->depth && level < LEVADA_MAX_DEPTH) { /* the bound is for compilers */
        int32_t begin = c->level[level].begin[row], end = c->level[level].end[row];

        conform_rows_i64(rows, end - begin);
        for (int32_t k = begin; k < end; k++) conform_rows_value(rows, c, level + 1, k);
        return;
    }
    if (size) {
        levada_cli_add(&rows->bytes, c->values + row * inner * size, (size_t)(inner * size));
        return;
    }
    for (int64_t k = row * inner; k < (row + 1) * inner; k++) {
        int32_t begin = c->level[level].begin[k], end = c->level[level].end[k];

        conform_rows_i64(rows, end - begin);
        levada_cli_add(&rows->bytes, c->values + begin, (size_t)(end - begin));
    }
}

static void conform_rows_cell(levada_conform_rows *rows, const levada_column *c, int64_t row)
{
    conform_rows_value(rows, c, 0, row);
    if (c->lengths) conform_rows_i64(rows, c->lengths[row]);
}

static void conform_rows_batch(levada_conform_rows *rows, const levada_block *block, int32_t fields)
{
    int64_t n = levada_block_rows(block);

    conform_rows_i64(rows, n);
    for (int32_t f = 0; f < fields; f++) {
        const levada_column *c = levada_block_at(block, f);

        for (int32_t d = 0; d < c->field->ndim; d++) conform_rows_i64(rows, c->dims[d]);
    }
    conform_rows_end(rows);
    for (int32_t f = 0; f < fields; f++) {
        for (int64_t i = 0; i < n; i++) conform_rows_cell(rows, levada_block_at(block, f), i);
        conform_rows_end(rows);
    }
    rows->n++;
}

void levada_conform_rows_add(levada_conform_rows *rows, const levada_block *block)
{
    int32_t fields = levada_spec_count(levada_block_spec(block));

    if (!rows->spec) rows->spec = levada_spec_ref(levada_block_spec(block));
    rows->cells = fields + (rows->batches ? 1 : 0);
    if (rows->batches) {
        conform_rows_batch(rows, block, fields);
        return;
    }
    for (int64_t i = 0; i < levada_block_rows(block); i++, rows->n++) {
        for (int32_t f = 0; f < fields; f++) {
            conform_rows_cell(rows, levada_block_at(block, f), i);
            conform_rows_end(rows);
        }
    }
}

void levada_conform_rows_clear(levada_conform_rows *rows)
{
    levada_cli_buffer_clear(&rows->bytes);
    levada_cli_buffer_clear(&rows->ends);
    levada_spec_unref(&rows->spec);
    rows->n = 0;
}

/* -- where two differ */

typedef struct conform_rows_bytes {
    const uint8_t *at;
    size_t         size;
} conform_rows_bytes;

static size_t conform_rows_edge(const levada_conform_rows *rows, int64_t cell)
{
    size_t at = 0;

    if (cell > 0) {
        memcpy(&at, rows->ends.at + (size_t)(cell - 1) * sizeof at, sizeof at);
    }
    return at;
}

/* Cells [first, first + n) from the beginning. */
static conform_rows_bytes conform_rows_at(const levada_conform_rows *rows, int64_t first, int64_t n)
{
    size_t             begin = conform_rows_edge(rows, first);
    conform_rows_bytes found = { (const uint8_t *)rows->bytes.at + begin,
                                 conform_rows_edge(rows, first + n) - begin };

    return found;
}

/* FNV-1a, with the size of each cell. */
uint64_t levada_conform_rows_hash(const levada_conform_rows *rows, int64_t unit)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (int64_t cell = unit * rows->cells; cell < (unit + 1) * rows->cells; cell++) {
        conform_rows_bytes bytes = conform_rows_at(rows, cell, 1);

        hash = (hash ^ bytes.size) * UINT64_C(0x100000001b3);
        for (size_t i = 0; i < bytes.size; i++) {
            hash = (hash ^ bytes.at[i]) * UINT64_C(0x100000001b3);
        }
    }
    return hash;
}

static bool conform_rows_same(conform_rows_bytes a, conform_rows_bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.at, b.at, a.size) == 0);
}

static bool conform_rows_unit_same(const levada_conform_rows *a, int64_t i,
                                   const levada_conform_rows *b, int64_t k)
{
    if (i >= a->n || k < 0 || k >= b->n || a->cells != b->cells) return false;
    return conform_rows_same(conform_rows_at(a, i * a->cells, a->cells),
                             conform_rows_at(b, k * b->cells, b->cells));
}

static void conform_rows_hex(conform_rows_bytes bytes, size_t from, char *text, size_t size)
{
    size_t used = 0;

    text[0] = 0;
    if (from >= bytes.size) (void)snprintf(text, size, "nothing");
    for (size_t i = from; i < bytes.size && i < from + CONFORM_ROWS_SHOWN; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%02x", i > from ? " " : "",
                                 bytes.at[i]);
    }
    if (bytes.size > from + CONFORM_ROWS_SHOWN) (void)snprintf(text + used, size - used, " ..");
}

/* "record 3, column 'value', byte 0: 04 00 .. (8 bytes), expected 03 00 .. (8 bytes)" */
static void conform_rows_tell_cell(const levada_conform_rows *want, const levada_conform_rows *got,
                                   int64_t unit, char *text, size_t size)
{
    const char        *what = want->batches ? "batch" : "record";
    char               hex[2][64], column[96] = "number of rows and dimensions";
    int64_t            cell = 0;
    size_t             at = 0;
    conform_rows_bytes a, b;

    do {
        a = conform_rows_at(want, unit * want->cells + cell, 1);
        b = conform_rows_at(got, unit * got->cells + cell, 1);
    } while (conform_rows_same(a, b) && ++cell < want->cells);
    while (at < a.size && at < b.size && a.at[at] == b.at[at]) at++;
    if (cell >= (want->batches ? 1 : 0)) {
        int32_t field = (int32_t)cell - (want->batches ? 1 : 0);

        (void)snprintf(column, sizeof column, "column '%.64s'",
                       levada_spec_field(want->spec, field)->name);
    }
    conform_rows_hex(b, at, hex[0], sizeof hex[0]);
    conform_rows_hex(a, at, hex[1], sizeof hex[1]);
    (void)snprintf(text, size, "%s %lld, %s, byte %zu: %s (of %zu bytes), expected %s (of %zu)",
                   what, (long long)unit, column, at, hex[0], b.size, hex[1], a.size);
}

static void conform_rows_tell_range(const char *what, int64_t first, int64_t n, const char *how,
                                    char *text, size_t size)
{
    if (n == 1) {
        (void)snprintf(text, size, "%s %lld %s", what, (long long)first, how);
    } else {
        (void)snprintf(text, size, "%ss %lld to %lld %s", what, (long long)first,
                       (long long)(first + n - 1), how);
    }
}

bool levada_conform_rows_differ(const levada_conform_rows *want, const levada_conform_rows *got,
                                char *text, size_t size)
{
    const char *what = want->batches ? "batch" : "record";
    int64_t     at = 0, k;

    while (at < want->n && conform_rows_unit_same(want, at, got, at)) at++;
    if (at == want->n && at == got->n) return false;
    if (at == got->n) {
        conform_rows_tell_range(what, at, want->n - at,
                                want->n - at == 1 ? "is missing" : "are missing", text, size);
        return true;
    }
    for (k = at + 1; k < want->n && !conform_rows_unit_same(want, k, got, at);) k++;
    if (k < want->n) {
        conform_rows_tell_range(what, at, k - at, k - at == 1 ? "is missing" : "are missing", text,
                                size);
        return true;
    }
    for (k = at - 1; k >= 0 && !conform_rows_unit_same(want, k, got, at);) k--;
    if (k >= 0) {
        conform_rows_tell_range(what, k, 1, "comes again", text, size);
    } else if (at == want->n) {
        (void)snprintf(text, size, "%lld %ss, expected %lld", (long long)got->n, what,
                       (long long)want->n);
    } else if (want->cells != got->cells) {
        (void)snprintf(text, size, "%lld columns, expected %lld", (long long)got->cells,
                       (long long)want->cells);
    } else {
        conform_rows_tell_cell(want, got, at, text, size);
    }
    return true;
}
