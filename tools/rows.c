/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include "escape.h"
#include "json.h"
#include <levada/dataset.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The file of a record. */
static void rows_file(levada_cli_buffer *b, const levada_iter *it, const levada_origin *origin)
{
    char *path = NULL;

    if (it && levada_iter_origin_file(it, origin, &path, NULL) != LEVADA_OK) path = NULL;
    if (path) levada_cli_printf(b, "%s:", path);
    else if (origin->source > 0) levada_cli_printf(b, "%d/", (int)origin->source);
    levada_string_free(&path);
}

void levada_cli_row_key(levada_cli_buffer *b, const levada_iter *it, const levada_block *block,
                        int64_t row)
{
    for (int32_t i = 0; i < LEVADA_ORIGIN_PARTS; i++) {
        levada_origin origin = levada_block_origin_part(block, row, i);

        if (origin.source < 0) continue;
        if (i > 0) levada_cli_puts(b, " + ");
        rows_file(b, it, &origin);
        levada_cli_printf(b, "%" PRId64, origin.record);
        if (origin.sub > 0) levada_cli_printf(b, ".%d", (int)origin.sub);
    }
}

/* Shape: rows, one null a ragged level, then the dimensions. */
static void rows_shape(levada_cli_buffer *b, const levada_column *column)
{
    levada_cli_printf(b, "[%" PRId64, column->n);
    for (int l = 0; l < column->field->depth; l++) levada_cli_puts(b, ",null");
    for (int d = 0; d < column->field->ndim; d++)
        levada_cli_printf(b, ",%" PRId64, column->dims[d]);
    levada_cli_puts(b, "]");
}

static void rows_column_json(levada_cli_buffer *b, const levada_column *column)
{
    const char *name = column->field->name;

    levada_cli_json_name(b, name, strlen(name));
    levada_cli_printf(b, ":{\"dtype\":\"%s\",\"shape\":", levada_dtype_name(column->field->dtype));
    rows_shape(b, column);
    if (column->lengths || column->field->depth > 0) {
        levada_cli_puts(b, ",\"lengths\":");
        for (int64_t i = 0; i < column->n; i++) {
            levada_cli_add(b, i ? "," : "[", 1);
            levada_cli_int(b, levada_column_length(column, i));
        }
        levada_cli_puts(b, column->n > 0 ? "]" : "[]");
    }
    levada_cli_puts(b, "}");
}

void levada_cli_batch_json(levada_cli_buffer *b, const levada_iter *it, const levada_block *block,
                           int64_t ordinal)
{
    levada_cli_buffer    key = { 0 };
    const levada_column *column;
    int64_t              n = levada_block_rows(block);

    levada_cli_printf(b, "{\"batch\":%" PRId64 ",\"records\":%" PRId64, ordinal, n);
    levada_cli_puts(b, ",\"columns\":{");
    for (int32_t i = 0; (column = levada_block_at(block, i)) != NULL; i++) {
        if (i > 0) levada_cli_puts(b, ",");
        rows_column_json(b, column);
    }
    levada_cli_puts(b, "},\"keys\":[");
    for (int64_t row = 0; row < n; row++) {
        key.size = 0;
        levada_cli_row_key(&key, it, block, row);
        if (row > 0) levada_cli_puts(b, ",");
        levada_cli_json_text(b, key.at, key.size);
    }
    levada_cli_puts(b, "]}\n");
    levada_cli_buffer_clear(&key);
}

/* Returns a 16-bit float (5 exponent bits and 10 of fraction). */
static double rows_half(uint16_t bits)
{
    int    exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 0    ? ldexp(fraction, -24)
                   : exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                                    : ldexp(fraction + 1024, exponent - 25);

    return bits >> 15 ? -value : value;
}

/* Returns the upper half of a 32-bit float. */
static double rows_bfloat(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float    value;

    memcpy(&value, &wide, sizeof value);
    return (double)value;
}

static void rows_integer(levada_cli_buffer *b, levada_dtype dtype, const uint8_t *at)
{
    uint64_t bits = 0;
    int64_t  size = levada_dtype_size(dtype);
    int      unused = (int)(64 - 8 * size);

    memcpy(&bits, at, (size_t)size); /* little endian, as the files are */
    if (dtype >= LEVADA_UINT8 && dtype <= LEVADA_UINT64) levada_cli_unsigned(b, bits);
    else levada_cli_int(b, (int64_t)(bits << unused) >> unused);
}

static void rows_float(levada_cli_buffer *b, levada_dtype dtype, const uint8_t *at)
{
    uint16_t half;
    float    single;
    double   value;

    if (dtype == LEVADA_FLOAT64) {
        memcpy(&value, at, sizeof value);
        levada_cli_json_float_put(b, value, false);
    } else if (dtype == LEVADA_FLOAT32) {
        memcpy(&single, at, sizeof single);
        levada_cli_json_float_put(b, (double)single, true);
    } else {
        memcpy(&half, at, sizeof half);
        value = dtype == LEVADA_FLOAT16 ? rows_half(half) : rows_bfloat(half);
        levada_cli_json_float_put(b, value, true);
    }
}

/* Element number i of the values of a column. */
static void rows_element(levada_cli_buffer *b, const levada_column *column, int64_t i)
{
    levada_dtype   dtype = column->field->dtype;
    const uint8_t *at = column->values + i * levada_dtype_size(dtype);

    if (levada_dtype_is_bytes(dtype)) {
        const levada_level *strings = &column->level[column->field->depth];
        levada_cli_json_text(b, column->values + strings->begin[i],
                             (size_t)(strings->end[i] - strings->begin[i]));
    } else if (dtype == LEVADA_BOOL) {
        levada_cli_puts(b, *at ? "true" : "false");
    } else if (dtype >= LEVADA_INT8 && dtype <= LEVADA_UINT64) {
        rows_integer(b, dtype, at);
    } else if (dtype == LEVADA_COMPLEX64 || dtype == LEVADA_COMPLEX128) {
        levada_dtype part = dtype == LEVADA_COMPLEX64 ? LEVADA_FLOAT32 : LEVADA_FLOAT64;
        levada_cli_puts(b, "[");
        rows_float(b, part, at);
        levada_cli_puts(b, ",");
        rows_float(b, part, at + levada_dtype_size(part));
        levada_cli_puts(b, "]");
    } else {
        rows_float(b, dtype, at);
    }
}

/* Dimensions d and up of the value whose first element is number `first`. */
static void rows_dims(levada_cli_buffer *b, const levada_column *column, int d, int64_t first)
{
    int64_t step = 1;

    if (d == column->field->ndim) {
        rows_element(b, column, first);
        return;
    }
    for (int i = d + 1; i < column->field->ndim; i++) step *= column->dims[i];
    levada_cli_puts(b, "[");
    for (int64_t i = 0; i < column->dims[d]; i++) {
        if (i > 0) levada_cli_puts(b, ",");
        rows_dims(b, column, d + 1, first + i * step);
    }
    levada_cli_puts(b, "]");
}

/* Row i of ragged level l. */
static void rows_level(levada_cli_buffer *b, const levada_column *column, int l, int64_t i)
{
    if (l == column->field->depth || l >= LEVADA_MAX_DEPTH) { /* the bound is for compilers */
        rows_dims(b, column, 0, i * levada_column_inner(column));
        return;
    }
    levada_cli_puts(b, "[");
    for (int64_t j = column->level[l].begin[i]; j < column->level[l].end[i]; j++) {
        if (j > column->level[l].begin[i]) levada_cli_puts(b, ",");
        rows_level(b, column, l + 1, j);
    }
    levada_cli_puts(b, "]");
}

void levada_cli_cell_json(levada_cli_buffer *b, const levada_column *column, int64_t row)
{
    rows_level(b, column, 0, row);
}

void levada_cli_row_json(levada_cli_buffer *b, const levada_block *block, int64_t row)
{
    const levada_column *column;

    levada_cli_puts(b, "{");
    for (int32_t i = 0; (column = levada_block_at(block, i)) != NULL; i++) {
        if (i > 0) levada_cli_puts(b, ",");
        levada_cli_json_name(b, column->field->name, strlen(column->field->name));
        levada_cli_puts(b, ":");
        levada_cli_cell_json(b, column, row);
    }
    levada_cli_puts(b, "}");
}
