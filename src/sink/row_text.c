/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/row_text.h"

#include "base/alloc.h"
#include "base/number.h"

#include <math.h>
#include <string.h>

void levada_row_clear(levada_row_writer *w)
{
    levada_example_destroy(&w->example);
    levada_text_clear(&w->names);
    levada_free(w->name_end);
    levada_free(w->values);
    w->name_end = NULL;
    w->values = NULL;
    w->capacity = 0;
}

levada_row_range levada_row_range_of(const levada_column *column, int64_t row)
{
    const levada_field *field = column->field;
    int64_t             n, length, first;

    if (field->depth > 0)
        return (levada_row_range){ column->level[0].begin[row], column->level[0].end[row], true };
    if (field->ndim == 0) return (levada_row_range){ row, row + 1, false };
    n = column->dims[0];
    length = column->lengths && column->lengths[row] < n ? column->lengths[row] : n;
    first = row * n + (field->left ? n - length : 0);
    return (levada_row_range){ first, first + length, true };
}

int64_t levada_row_step(const levada_column *column)
{
    int64_t n = 1;

    for (int i = column->field->depth == 0; i < column->field->ndim; i++) n *= column->dims[i];
    return n;
}

bool levada_row_inner_padding(const levada_field *field)
{
    for (int i = 1; i < field->ndim; i++)
        if (field->padded && field->dims[i] < 0) return true;
    return false;
}

levada_status levada_row_check(const levada_spec *spec, const char *format, levada_error *err)
{
    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        const levada_field *field = levada_spec_field(spec, i);
        bool integer = field->dtype >= LEVADA_BOOL && field->dtype <= LEVADA_UINT32;

        if (integer || field->dtype == LEVADA_FLOAT32 || field->dtype == LEVADA_FLOAT64 ||
            levada_dtype_is_bytes(field->dtype))
            continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "%s: column '%s' is %s: cast it to a dtype that can be written", format,
                           field->name, levada_dtype_name(field->dtype));
    }
    return LEVADA_OK;
}

int64_t levada_row_integer(const levada_column *column, int64_t at)
{
    const uint8_t *p =
        column->values + (size_t)at * (size_t)levada_dtype_size(column->field->dtype);
    int64_t        i64;
    int32_t        i32;
    int16_t        i16;

    switch (column->field->dtype) {
    case LEVADA_INT64: memcpy(&i64, p, 8); return i64;
    case LEVADA_INT32: memcpy(&i32, p, 4); return i32;
    case LEVADA_INT16: memcpy(&i16, p, 2); return i16;
    case LEVADA_INT8: return (int8_t)*p;
    case LEVADA_UINT16: memcpy(&i16, p, 2); return (uint16_t)i16;
    case LEVADA_UINT32: memcpy(&i32, p, 4); return (uint32_t)i32;
    default: return *p;
    }
}

bool levada_row_number(const levada_column *column, int64_t at, levada_text *out)
{
    levada_dtype dtype = column->field->dtype;
    char         text[LEVADA_NUMBER_TEXT];
    double       x;
    float        single;

    if (dtype == LEVADA_BOOL) {
        levada_text_put(out, column->values[at] ? "true" : "false");
        return true;
    }
    if (dtype != LEVADA_FLOAT32 && dtype != LEVADA_FLOAT64) {
        levada_text_i64(out, levada_row_integer(column, at));
        return true;
    }
    if (dtype == LEVADA_FLOAT32) {
        memcpy(&single, column->values + at * 4, 4);
        x = (double)single;
    } else {
        memcpy(&x, column->values + at * 8, 8);
    }
    levada_text_put(out, levada_number_write(x, text));
    return isfinite(x);
}

const char *levada_row_string(const levada_column *column, int64_t at, size_t *size)
{
    const levada_level *level = &column->level[column->field->depth];

    *size = (size_t)(level->end[at] - level->begin[at]);
    return (const char *)column->values + level->begin[at];
}
