/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of numbers: read as int64 or double by the kernels, then narrowed. */
#include "base/number_quick.h"
#include "rows/csv_columns.h"

#include <float.h>
#include <math.h>
#include <string.h>

static levada_text_fields numbers_fields(const levada_csv *csv, int64_t column, int64_t from)
{
    return (levada_text_fields){ .text = csv->even.text,
                                 .mark = levada_csv_even_ends(csv, column) +
                                         from * csv->even.stride,
                                 .stride = csv->even.stride };
}

/* Returns true if a field is in quotes, so that it is tried again: the kernels read fields without
 * quotes. */
static bool numbers_is_quoted(const levada_csv *csv, const levada_csv_field *field)
{
    return field->at > csv->even.text && field->at[-1] == '"';
}

static int32_t numbers_i64(const levada_csv *csv, int64_t column, int64_t from, int64_t n,
                           int64_t *out, int32_t *odd)
{
    const levada_csv_field *field = csv->fields + column * csv->stride + from;
    int32_t                 nodd = 0;

    if (csv->is_even) {
        const levada_text_fields fields = numbers_fields(csv, column, from);
        int32_t                  all = csv->kernels->text_i64(&fields, n, out, odd);

        for (int32_t i = 0; i < all; i++) {
            levada_csv_field f = levada_csv_even_field(csv, from + odd[i], column);

            odd[nodd] = odd[i];
            nodd += !numbers_is_quoted(csv, &f) ||
                    !levada_quick_int(f.at, (size_t)f.size, &out[odd[i]]);
        }
        return nodd;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!levada_quick_int(field[i].at, (size_t)field[i].size, &out[i]))
            odd[nodd++] = (int32_t)i;
    }
    return nodd;
}

static int32_t numbers_f64(const levada_csv *csv, int64_t column, int64_t from, int64_t n,
                           double *out, int32_t *odd)
{
    const levada_csv_field *field = csv->fields + column * csv->stride + from;
    int32_t                 nodd = 0;

    if (csv->is_even) {
        const levada_text_fields fields = numbers_fields(csv, column, from);
        int32_t                  all = csv->kernels->text_f64(&fields, n, out, odd);

        for (int32_t i = 0; i < all; i++) {
            levada_csv_field f = levada_csv_even_field(csv, from + odd[i], column);

            odd[nodd] = odd[i];
            nodd += !numbers_is_quoted(csv, &f) ||
                    (!levada_quick_double(f.at, (size_t)f.size, &out[odd[i]]) &&
                     !levada_quick_long(f.at, (size_t)f.size, &out[odd[i]]));
        }
        return nodd;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!levada_quick_double(field[i].at, (size_t)field[i].size, &out[i]) &&
            !levada_quick_long(field[i].at, (size_t)field[i].size, &out[i]))
            odd[nodd++] = (int32_t)i;
    }
    return nodd;
}

/* Adds the numbers that do not fit to the odd ones. */
static int32_t numbers_i32(const levada_csv *csv, int64_t column, int64_t from, int64_t n,
                           int32_t *out, int32_t *odd)
{
    int64_t wide[LEVADA_CSV_PIECE];
    int32_t nodd = numbers_i64(csv, column, from, n, wide, odd);

    for (int32_t i = 0; i < nodd; i++) wide[odd[i]] = 0;
    for (int64_t i = 0; i < n; i++) {
        out[i] = (int32_t)wide[i];
        odd[nodd] = (int32_t)i;
        nodd += out[i] != wide[i];
    }
    return nodd;
}

/* Returns false if rounding a double to a float may round twice: halfway between two floats it may
 * have been rounded there; so may a small one, and a large one may become infinite. */
static bool numbers_rounds_once(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return ((bits & 0x1fffffff) != 0x10000000 && fabs(x) >= (double)FLT_MIN &&
            fabs(x) <= (double)FLT_MAX) || x == 0;
}

static int32_t numbers_f32(const levada_csv *csv, int64_t column, int64_t from, int64_t n,
                           float *out, int32_t *odd)
{
    double  wide[LEVADA_CSV_PIECE];
    int32_t nodd = numbers_f64(csv, column, from, n, wide, odd);

    for (int32_t i = 0; i < nodd; i++) wide[odd[i]] = 0;
    for (int64_t i = 0; i < n; i++) {
        out[i] = (float)wide[i];
        odd[nodd] = (int32_t)i;
        nodd += !numbers_rounds_once(wide[i]);
    }
    return nodd;
}

int32_t levada_csv_read_numbers(const levada_csv *csv, int64_t column, int64_t from, int64_t n,
                                void *values, int32_t *odd)
{
    switch (csv->columns[column].dtype) {
    case LEVADA_FLOAT32: return numbers_f32(csv, column, from, n, (float *)values + from, odd);
    case LEVADA_FLOAT64: return numbers_f64(csv, column, from, n, (double *)values + from, odd);
    case LEVADA_INT32: return numbers_i32(csv, column, from, n, (int32_t *)values + from, odd);
    default: return numbers_i64(csv, column, from, n, (int64_t *)values + from, odd);
    }
}
