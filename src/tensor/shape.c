/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/tensor_priv.h"

#include <stdio.h>
#include <string.h>

#define SHAPE_MOST (INT64_C(1) << 48)

bool levada_shape_known(const levada_shape *shape)
{
    if (shape->rank < 0) return false;
    for (int32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] < 0) return false;
    }
    return true;
}

int64_t levada_shape_count(const levada_shape *shape)
{
    int64_t count = 1;

    for (int32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] == 0) return 0;
    }
    for (int32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] > SHAPE_MOST / count) return -1;
        count *= shape->dims[i];
    }
    return count;
}

bool levada_shape_allows(const levada_shape *want, const levada_shape *shape)
{
    if (want->rank < 0) return true;
    if (want->rank != shape->rank) return false;
    for (int32_t i = 0; i < want->rank; i++) {
        if (want->dims[i] >= 0 && want->dims[i] != shape->dims[i]) return false;
    }
    return true;
}

bool levada_shape_equal(const levada_shape *a, const levada_shape *b)
{
    if (a->rank != b->rank) return false;
    for (int32_t i = 0; i < a->rank; i++) {
        if (a->dims[i] != b->dims[i]) return false;
    }
    return true;
}

levada_shape levada_shape_rows(const levada_shape *shape, int64_t n)
{
    levada_shape rows = { shape->rank + 1, { n } };

    if (shape->rank < 0) rows.rank = -1;
    for (int32_t i = 0; i < shape->rank && i + 1 < LEVADA_MAX_DIMS; i++) {
        rows.dims[i + 1] = shape->dims[i];
    }
    return rows;
}

levada_shape levada_shape_row(const levada_shape *shape)
{
    levada_shape row = { shape->rank - 1, { 0 } };

    for (int32_t i = 1; i < shape->rank; i++) row.dims[i - 1] = shape->dims[i];
    return row;
}

const char *levada_shape_print(const levada_shape *shape, char text[LEVADA_SHAPE_TEXT])
{
    size_t at = 1;

    if (shape->rank < 0) return strcpy(text, "any shape");
    text[0] = '[';
    text[1] = '\0';
    for (int32_t i = 0; i < shape->rank && at < LEVADA_SHAPE_TEXT - 24; i++) {
        const char *comma = i > 0 ? "," : "";
        int         n;

        if (shape->dims[i] < 0) n = snprintf(text + at, LEVADA_SHAPE_TEXT - at, "%s?", comma);
        else n = snprintf(text + at, LEVADA_SHAPE_TEXT - at, "%s%lld", comma,
                          (long long)shape->dims[i]);
        at += (size_t)n;
    }
    snprintf(text + at, LEVADA_SHAPE_TEXT - at, "]");
    return text;
}

const char *levada_field_shown(const levada_field *f, char text[LEVADA_FIELD_SHOWN])
{
    levada_shape shape = { f->depth + f->ndim, { 0 } };
    char         dims[LEVADA_SHAPE_TEXT];

    for (int32_t i = 0; i < f->depth; i++) shape.dims[i] = -1;
    for (int32_t i = 0; i < f->ndim; i++) shape.dims[f->depth + i] = f->dims[i];
    snprintf(text, LEVADA_FIELD_SHOWN, "%s%s%s%s", levada_dtype_name(f->dtype),
             shape.rank ? " " : "", shape.rank ? levada_shape_print(&shape, dims) : "",
             f->padded ? ", padded" : "");
    return text;
}

const char *levada_spec_difference(const levada_spec *a, const levada_spec *b,
                                   char text[LEVADA_SPEC_DIFFERENCE])
{
    int32_t n = levada_spec_count(a) > levada_spec_count(b) ? levada_spec_count(a)
                                                            : levada_spec_count(b);
    char    x[LEVADA_FIELD_SHOWN], y[LEVADA_FIELD_SHOWN];

    for (int32_t i = 0; i < n; i++) {
        const levada_field *f = levada_spec_field(a, i), *g = levada_spec_field(b, i);

        if (!f || !g || strcmp(f->name, g->name) != 0)
            snprintf(text, LEVADA_SPEC_DIFFERENCE, "column %d is %s%.80s%s and %s%.80s%s", i,
                     f ? "'" : "", f ? f->name : "missing", f ? "'" : "", g ? "'" : "",
                     g ? g->name : "missing", g ? "'" : "");
        else if (strcmp(levada_field_shown(f, x), levada_field_shown(g, y)) != 0)
            snprintf(text, LEVADA_SPEC_DIFFERENCE, "'%.80s' is %s and %s", f->name, x, y);
        else continue;
        return text;
    }
    snprintf(text, LEVADA_SPEC_DIFFERENCE, "their lists of objects differ");
    return text;
}
