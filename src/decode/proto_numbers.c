/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers from plain payload to their column.
 */
#include "decode/proto.h"

#include <math.h>

bool levada_number_store(levada_dtype dtype, void *to, int64_t i, int64_t v)
{
    switch (dtype) {
    case LEVADA_INT64: ((int64_t *)to)[i] = v; return true;
    case LEVADA_INT32: ((int32_t *)to)[i] = (int32_t)v; return v == (int32_t)v;
    case LEVADA_INT16: ((int16_t *)to)[i] = (int16_t)v; return v == (int16_t)v;
    case LEVADA_INT8: ((int8_t *)to)[i] = (int8_t)v; return v == (int8_t)v;
    case LEVADA_UINT64: ((uint64_t *)to)[i] = (uint64_t)v; return v >= 0;
    case LEVADA_UINT32: ((uint32_t *)to)[i] = (uint32_t)v; return v == (int64_t)(uint32_t)v;
    case LEVADA_UINT16: ((uint16_t *)to)[i] = (uint16_t)v; return v == (uint16_t)v;
    case LEVADA_UINT8: ((uint8_t *)to)[i] = (uint8_t)v; return v == (uint8_t)v;
    case LEVADA_BOOL: ((uint8_t *)to)[i] = v != 0; return v == 0 || v == 1;
    default: return false;
    }
}

/* Rounds to nearest even; 0x7C00 where a finite number is too large. */
static uint16_t numbers_half(float v)
{
    uint32_t bits, sign, mantissa;
    int32_t exponent, shift;

    memcpy(&bits, &v, 4);
    sign = bits >> 16 & 0x8000;
    exponent = (int32_t)(bits >> 23 & 0xFF);
    mantissa = bits & 0x7FFFFF;
    if (exponent == 0xFF) {
        return (uint16_t)(sign | 0x7C00 | (mantissa ? 0x200 | mantissa >> 13 : 0));
    }
    if (exponent == 0) return (uint16_t)sign;
    exponent -= 127 - 15;
    if (exponent >= 31) return (uint16_t)(sign | 0x7C00);
    mantissa |= 0x800000;
    shift = exponent > 0 ? 13 : 14 - exponent;
    if (shift > 24) return (uint16_t)sign;
    bits = mantissa >> shift;
    mantissa &= (UINT32_C(1) << shift) - 1;
    if (mantissa > UINT32_C(1) << (shift - 1) ||
        (mantissa == UINT32_C(1) << (shift - 1) && (bits & 1))) {
        bits++;
    }
    /* The hidden bit adds 1 to the exponent; a carry into it is right too. */
    if (exponent > 0) bits += (uint32_t)(exponent - 1) << 10;
    return (uint16_t)(sign | bits);
}

static uint16_t numbers_bfloat(float v)
{
    uint32_t bits;

    memcpy(&bits, &v, 4);
    if (isnan(v)) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

bool levada_float_store(levada_dtype dtype, void *to, int64_t i, float v)
{
    uint16_t half;

    switch (dtype) {
    case LEVADA_FLOAT32: ((float *)to)[i] = v; return true;
    case LEVADA_FLOAT64: ((double *)to)[i] = v; return true;
    case LEVADA_FLOAT16: half = numbers_half(v); break;
    case LEVADA_BFLOAT16: half = numbers_bfloat(v); break;
    default: return false;
    }
    ((uint16_t *)to)[i] = half;
    return !isfinite(v) || (half & 0x7FFF) != (dtype == LEVADA_FLOAT16 ? 0x7C00 : 0x7F80);
}

int64_t levada_payload_count(const levada_proto *x, levada_list list, const levada_span *span)
{
    int64_t size = span->size;

    if (list == LEVADA_LIST_FLOAT) return size % 4 == 0 ? size / 4 : -1;
    if (size == 0) return 0;
    if (span->at[size - 1] >= 0x80) return -1;
    if (size <= 8) {
        uint64_t ends = ~levada_wire_load(span->at) & LEVADA_PAYLOAD_TOPS;

        ends = (ends & (UINT64_MAX >> (64 - 8 * size))) >> 7;
        return (int64_t)(ends * UINT64_C(0x0101010101010101) >> 56);
    }
    return x->kernels->varint_count(span->at, (size_t)size);
}

int64_t levada_payload_measure(levada_proto *x, levada_list list, const levada_span *span)
{
    int64_t size = span->size;

    if (list == LEVADA_LIST_FLOAT || size < 5) return levada_payload_count(x, list, span);
    if (span->at[size - 1] >= 0x80) return -1;
    return x->kernels->varint_sizes(span->at, (size_t)size, &x->sizes);
}

bool levada_payload_long(const uint8_t *p, int64_t size, int64_t *out)
{
    uint64_t v = 0;

    if (size < 1 || size > 10 || p[size - 1] >= 0x80) return false;
    for (int64_t i = 0; i < size; i++) {
        if (i + 1 < size && p[i] < 0x80) return false;
        v |= (uint64_t)(p[i] & 0x7F) << (7 * i);
    }
    *out = (int64_t)v;
    return true;
}

typedef enum numbers_result {
    NUMBERS_OK,
    NUMBERS_BROKEN,
    NUMBERS_RANGE
} numbers_result;

static numbers_result numbers_result_of(int64_t got, int64_t count)
{
    if (got == -2) return NUMBERS_RANGE;
    return got == count ? NUMBERS_OK : NUMBERS_BROKEN;
}

/* Returns the range of a dtype of 8 or 16 bits, or of a bool, for varint_narrow. */
static levada_varint_range numbers_range(levada_dtype dtype)
{
    uint32_t bits = dtype == LEVADA_BOOL ? 1 : 8 * (uint32_t)levada_dtype_size(dtype);
    bool sign = dtype == LEVADA_INT8 || dtype == LEVADA_INT16;

    return (levada_varint_range){ .size = (int32_t)levada_dtype_size(dtype),
                                  .bits = bits,
                                  .bias = sign ? UINT32_C(1) << (bits - 1) : 0 };
}

/* Returns true if a kernel decodes numbers straight to their dtype. */
static bool numbers_direct(levada_dtype dtype)
{
    return dtype == LEVADA_INT64 || dtype == LEVADA_INT32 || levada_dtype_size(dtype) == 1 ||
           dtype == LEVADA_INT16 || dtype == LEVADA_UINT16;
}

/* Dtypes that the kernels do not know go through x->number, which has the capacity. */
static numbers_result numbers_integers(levada_proto *x, const levada_span *span,
                                       levada_dtype dtype, int64_t count, void *to)
{
    const levada_kernels *k = x->kernels;
    size_t size = (size_t)span->size;
    bool fits = true;

    if (dtype == LEVADA_INT64) return numbers_result_of(k->varint_i64(span->at, size, to), count);
    if (dtype == LEVADA_INT32) return numbers_result_of(k->varint_i32(span->at, size, to), count);
    if (numbers_direct(dtype)) {
        return numbers_result_of(k->varint_narrow(span->at, size, numbers_range(dtype), to), count);
    }
    if (k->varint_i64(span->at, size, x->number) != count) return NUMBERS_BROKEN;
    for (int64_t i = 0; i < count; i++) {
        fits = levada_number_store(dtype, to, i, x->number[i]) && fits;
    }
    return fits ? NUMBERS_OK : NUMBERS_RANGE;
}

/* Copies in pieces of 64 bytes, which may run over into the slack. */
static inline void numbers_copy(uint8_t *to, const uint8_t *from, int64_t size)
{
    for (int64_t i = 0; i < size; i += 64) memcpy(to + i, from + i, 64);
}

static numbers_result numbers_floats(const levada_span *span, levada_dtype dtype, int64_t count,
                                     void *to)
{
    bool fits = true;

    if (dtype == LEVADA_FLOAT32) {
        memcpy(to, span->at, (size_t)count * 4);
        return NUMBERS_OK;
    }
    for (int64_t i = 0; i < count; i++) {
        float v;

        memcpy(&v, span->at + 4 * i, 4);
        fits = levada_float_store(dtype, to, i, v) && fits;
    }
    return fits ? NUMBERS_OK : NUMBERS_RANGE;
}

levada_status levada_numbers_decode(levada_proto *x, const levada_feature *f,
                                    const levada_items *items, int64_t item, levada_dtype dtype,
                                    int64_t count, void *to, levada_error *err)
{
    const levada_span *span = &items->at[item];
    bool floats = dtype == f->dtype && f->list == LEVADA_LIST_FLOAT;
    numbers_result result;
    int64_t row;

    if (count == 0) return LEVADA_OK;
    if (!floats && !numbers_direct(dtype)) {
        LEVADA_TRY(levada_proto_reserve((void **)&x->number, &x->number_capacity, count + 8,
                                     sizeof *x->number, err));
    }
    result = floats ? numbers_floats(span, dtype, count, to)
                    : numbers_integers(x, span, dtype, count, to);
    if (LEVADA_LIKELY(result == NUMBERS_OK)) return LEVADA_OK;
    memset(to, 0, (size_t)(count * levada_dtype_size(dtype)));
    row = levada_items_row(items, item);
    if (result == NUMBERS_BROKEN) return levada_proto_broken(x, row, err);
    return levada_proto_reject(x, row, err,
                               "feature '%s': a value does not fit in %s; use a wider dtype in "
                               "the spec",
                               f->name, levada_dtype_name(dtype));
}

levada_status levada_proto_wrong_count(levada_proto *x, const levada_feature *f,
                                       const levada_items *items, int64_t item, int64_t count,
                                       levada_error *err)
{
    int64_t row = levada_items_row(items, item);
    const char *key = x->plan->slots[f->slot].key;
    char shape[64];

    (void)levada_feature_shape(f, shape);
    if (count < 0) return levada_proto_broken(x, row, err);
    if (items->first && f->kind != LEVADA_FEATURE_RAGGED) {
        return levada_proto_reject(x, row, err,
                                   "Key: %s, Index: %lld.  Number of values != expected.  values "
                                   "size: %lld but output shape: %s",
                                   key,
                                   (long long)(item - items->first[row]), (long long)count, shape);
    }
    if (f->kind == LEVADA_FEATURE_FIXED) {
        return levada_proto_reject(x, row, err,
                                   "Key: %s.  Number of %s values != expected.  Values size: %lld "
                                   "but output shape: %s; VarLen accepts any number",
                                   key,
                                   levada_list_name(f->list), (long long)count, shape);
    }
    return levada_proto_reject(x, row, err,
                               "Key: %s.  Number of %s values is not a multiple of stride length.  "
                               "Saw %lld values but output shape is %s after the first dimension",
                               key, levada_list_name(f->list), (long long)count, shape);
}

levada_status levada_numbers_fixed(levada_proto *x, const levada_feature *f,
                                   const levada_items *items, levada_error *err)
{
    size_t size = (size_t)levada_dtype_size(f->dtype) * (size_t)f->per;
    bool single = f->per == 1 && f->dtype == LEVADA_INT64;
    bool floats = f->dtype == LEVADA_FLOAT32 && f->per <= 64;
    uint8_t *to = NULL;
    int64_t count;

    if (items->n > 0 && f->per > INT32_MAX / items->n) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "feature '%s': more than 2^31 values in one block; lower block_rows",
                           f->name);
    }
    LEVADA_TRY(levada_builder_values(x->out, f->column, items->n * f->per, (void **)&to, err));
    for (int64_t i = 0; i < items->n; i++, to += size) {
        const levada_span *span = &items->at[i];

        if (single && span->at &&
            levada_payload_one(span->at, span->size, (int64_t *)(void *)to)) {
            continue;
        }
        if (floats && span->size == (int32_t)size && span->at) {
            numbers_copy(to, span->at, span->size);
            continue;
        }
        count = span->at ? levada_payload_count(x, f->list, span) : 0;
        if (span->at && count == f->per) {
            LEVADA_TRY(levada_numbers_decode(x, f, items, i, f->dtype, count, to, err));
            continue;
        }
        if (f->otherwise) memcpy(to, f->otherwise, size);
        else memset(to, 0, size);
        if (span->at || (items->first && f->per != 0)) {
            LEVADA_TRY(levada_proto_wrong_count(x, f, items, i, count, err));
        }
    }
    return LEVADA_OK;
}

levada_status levada_numbers_count(levada_proto *x, const levada_feature *f,
                                   const levada_items *items, int32_t *offsets, levada_error *err)
{
    int64_t total = 0;

    x->sizes = 0;
    for (int64_t i = 0; i < items->n; i++) {
        levada_span *span = &items->at[i];
        int64_t count = 0;
        bool bad;

        if (span->at && x->late) count = levada_payload_measure(x, f->list, span);
        else if (span->at) count = levada_payload_count(x, f->list, span);
        bad = count < 0;

        if (f->per != 1) {
            bad = bad || (f->per == 0 ? count != 0 : count % f->per != 0);
            if (!bad && f->per > 1) count /= f->per;
        }
        offsets[i] = (int32_t)total;
        if (LEVADA_UNLIKELY(bad)) {
            LEVADA_TRY(levada_proto_wrong_count(x, f, items, i, count, err));
            span->at = NULL;
            span->size = 0;
            continue;
        }
        total += count;
        if (LEVADA_UNLIKELY(total > INT32_MAX)) {
            return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                               "feature '%s': more than 2^31 values in one block; lower block_rows",
                               f->name);
        }
    }
    offsets[items->n] = (int32_t)total;
    return LEVADA_OK;
}

levada_status levada_numbers_fill(levada_proto *x, const levada_feature *f, int32_t column,
                                  const levada_items *items, const int32_t *offsets, void **out,
                                  levada_error *err)
{
    int64_t size = levada_dtype_size(f->dtype) * f->per;
    bool wide = f->dtype == LEVADA_INT64;
    uint8_t *values = NULL;

    LEVADA_TRY(levada_builder_values(x->out, column, offsets[items->n] * f->per,
                                     (void **)&values, err));
    for (int64_t i = 0; i < items->n; i++) {
        const levada_span *span = &items->at[i];
        uint8_t *to = values + offsets[i] * size;
        int64_t count = (int64_t)(offsets[i + 1] - offsets[i]) * f->per;

        if (wide && count == 1 &&
            levada_payload_one(span->at, span->size, (int64_t *)(void *)to)) {
            continue;
        }
        LEVADA_TRY(levada_numbers_decode(x, f, items, i, f->dtype, count, to, err));
    }
    if (out) *out = values;
    return LEVADA_OK;
}
