/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appending to columns value by value: convenient for plug-ins and tests, not for hot loops.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "tensor/builder_priv.h"

#include <float.h>
#include <math.h>
#include <string.h>

static levada_status push_raw(levada_grow *to, const void *data, size_t size, levada_error *err)
{
    if (to->size + size > (size_t)LEVADA_BLOCK_LIMIT) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "a column is larger than 1 GiB, the most that a block holds; lower "
                           "block_rows or batch_size");
    }
    if (!levada_reserve(&to->data, &to->capacity, (int64_t)(to->size + size), 1)) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a column");
    }
    if (size) memcpy(to->data + to->size, data, size);
    to->size += size;
    return LEVADA_OK;
}

static levada_status push_offset(levada_grow *to, size_t value, levada_error *err)
{
    int32_t at = (int32_t)value;

    return push_raw(to, &at, sizeof at, err);
}

static levada_status push_wrong(const levada_column *c, const char *what, levada_error *err)
{
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "cannot push %s to column '%s' of %s", what,
                       c->field->name, levada_dtype_name(c->field->dtype));
}

levada_status levada_builder_push_bytes(levada_builder *b, int32_t field, const void *data,
                                        int64_t size, levada_error *err)
{
    LEVADA_TRY(levada_builder_check(b, field, err));
    const levada_column *c = &b->block->columns[field];
    levada_push         *p = &b->push[field];

    if (!levada_dtype_is_bytes(c->field->dtype)) return push_wrong(c, "bytes", err);
    LEVADA_TRY(levada_require_range(size, 0, INT64_MAX, "size", err));
    p->used = true;
    LEVADA_TRY(push_raw(&p->part[0], data, (size_t)size, err));
    return push_offset(&p->part[1], p->part[0].size, err);
}

typedef union push_number {
    int8_t  i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    float   f32;
    double  f64;
} push_number;

/* Stores an integer in its narrower type. Its low bytes would do on little-endian machines only. */
static void push_integer(push_number *to, int64_t value, int64_t size)
{
    if (size == 1) to->i8 = (int8_t)value;
    if (size == 2) to->i16 = (int16_t)value;
    if (size == 4) to->i32 = (int32_t)value;
    if (size == 8) to->i64 = value;
}

static bool push_fits(levada_dtype dtype, int64_t value)
{
    int64_t bits = 8 * levada_dtype_size(dtype);

    if (dtype == LEVADA_BOOL) return value == 0 || value == 1;
    if (dtype == LEVADA_UINT64) return value >= 0;
    if (bits == 64) return true;
    if (dtype >= LEVADA_UINT8) return value >= 0 && value < INT64_C(1) << bits;
    return value >= -(INT64_C(1) << (bits - 1)) && value < INT64_C(1) << (bits - 1);
}

levada_status levada_builder_push_i64(levada_builder *b, int32_t field, int64_t value,
                                      levada_error *err)
{
    LEVADA_TRY(levada_builder_check(b, field, err));
    const levada_column *c = &b->block->columns[field];
    int64_t              size = levada_dtype_size(c->field->dtype);
    push_number          number = { 0 };

    if (c->field->dtype < LEVADA_BOOL || c->field->dtype > LEVADA_UINT64) {
        return push_wrong(c, "an integer", err);
    }
    if (!push_fits(c->field->dtype, value)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "%lld does not fit into column '%s' of %s", (long long)value,
                           c->field->name, levada_dtype_name(c->field->dtype));
    }
    push_integer(&number, value, size);
    b->push[field].used = true;
    return push_raw(&b->push[field].part[0], &number, (size_t)size, err);
}

levada_status levada_builder_push_f64(levada_builder *b, int32_t field, double value,
                                      levada_error *err)
{
    LEVADA_TRY(levada_builder_check(b, field, err));
    const levada_column *c = &b->block->columns[field];
    push_number          number = { 0 };

    b->push[field].used = true;
    if (c->field->dtype == LEVADA_FLOAT32) {
        if (isfinite(value) && fabs(value) > FLT_MAX) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "%g does not fit into column '%s' of float32", value,
                               c->field->name);
        }
        number.f32 = (float)value;
        return push_raw(&b->push[field].part[0], &number, sizeof number.f32, err);
    }
    if (c->field->dtype != LEVADA_FLOAT64) return push_wrong(c, "a float", err);
    number.f64 = value;
    return push_raw(&b->push[field].part[0], &number, sizeof number.f64, err);
}

static int64_t push_row_values(const levada_column *c)
{
    int64_t count = 1;

    for (int32_t d = 0; d < c->field->ndim; d++) count *= c->dims[d] > 0 ? c->dims[d] : 1;
    return count;
}

levada_status levada_builder_end_row(levada_builder *b, int32_t field, levada_error *err)
{
    LEVADA_TRY(levada_builder_check(b, field, err));
    const levada_column *c = &b->block->columns[field];
    levada_push         *p = &b->push[field];
    size_t               size = (size_t)levada_dtype_size(c->field->dtype);

    if (c->field->depth != 1) return push_wrong(c, "the end of a row", err);
    p->used = true;
    if (levada_dtype_is_bytes(c->field->dtype)) {
        return push_offset(&p->part[2], p->part[1].size / sizeof(int32_t), err);
    }
    return push_offset(&p->part[2], p->part[0].size / size / (size_t)push_row_values(c), err);
}

static int64_t push_rows(const levada_column *c, const levada_push *p)
{
    if (c->field->depth) return (int64_t)(p->part[2].size / sizeof(int32_t));
    if (levada_dtype_is_bytes(c->field->dtype)) return (int64_t)(p->part[1].size / sizeof(int32_t));
    return (int64_t)p->part[0].size / levada_dtype_size(c->field->dtype) / push_row_values(c);
}

static levada_status push_level(levada_builder *b, int32_t field, int32_t level,
                                const levada_grow *ends, levada_error *err)
{
    int32_t *offsets = NULL;

    LEVADA_TRY(levada_builder_offsets(b, field, level, (int64_t)(ends->size / sizeof *offsets),
                                      &offsets, err));
    if (ends->size) memcpy(offsets + 1, ends->data, ends->size);
    return LEVADA_OK;
}

static levada_status push_column(levada_builder *b, int32_t field, levada_error *err)
{
    const levada_column *c = &b->block->columns[field];
    const levada_push   *p = &b->push[field];
    bool                 bytes = levada_dtype_is_bytes(c->field->dtype);
    int64_t              size = bytes ? 1 : levada_dtype_size(c->field->dtype);
    void                *values = NULL;

    if (c->field->depth > 1) return push_wrong(c, "rows", err);
    if (c->field->depth) LEVADA_TRY(push_level(b, field, 0, &p->part[2], err));
    if (bytes) LEVADA_TRY(push_level(b, field, c->field->depth, &p->part[1], err));
    LEVADA_TRY(levada_builder_values(b, field, (int64_t)p->part[0].size / size, &values, err));
    if (p->part[0].size) memcpy(values, p->part[0].data, p->part[0].size);
    return LEVADA_OK;
}

levada_status levada_builder_flush_pushed(levada_builder *b, levada_error *err)
{
    levada_block *block = b->block;

    for (int32_t i = 0; i < levada_spec_count(block->spec); i++) {
        int64_t rows = push_rows(&block->columns[i], &b->push[i]);

        if (!b->push[i].used && b->rows >= 0 && block->columns[i].values) continue;
        if (!b->push[i].used && b->rows > 0) continue; /* publish reports what is missing */
        if (b->rows < 0) b->rows = block->n = rows;
        if (rows != b->rows) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "column '%s' has %lld rows, not %lld",
                               block->columns[i].field->name, (long long)rows, (long long)b->rows);
        }
        LEVADA_TRY(push_column(b, i, err));
    }
    return LEVADA_OK;
}
