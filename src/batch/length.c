/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/length.h"

#include <stdio.h>
#include <string.h>

static bool length_integer(const levada_field *f)
{
    return f->dtype >= LEVADA_INT8 && f->dtype <= LEVADA_UINT64 && f->depth == 0 && f->ndim == 0;
}

/* Writes "a, b, c", cut if it is too long. */
static const char *length_names(const levada_spec *spec, char *text, size_t size)
{
    size_t at = 0;

    text[0] = '\0';
    for (int32_t i = 0; i < levada_spec_count(spec) && at < size; i++) {
        int n = snprintf(text + at, size - at, "%s%s", i ? ", " : "",
                         levada_spec_field(spec, i)->name);

        at += n > 0 ? (size_t)n : 0;
    }
    return text;
}

static levada_status length_unknown(const char *length, const levada_spec *in, levada_error *err)
{
    char names[200];

    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "length='%s' is not a field; available: %s",
                       length, length_names(in, names, sizeof names));
}

levada_status levada_length_check(const char *length, const levada_spec *in, levada_error *err)
{
    int32_t             i = levada_spec_find(in, length);
    const levada_field *f = levada_spec_field(in, i);

    if (i < 0 && (levada_spec_flags_of(in) & LEVADA_SPEC_OPEN)) return LEVADA_OK;
    if (i < 0) return length_unknown(length, in, err);
    if (f->depth > 0 || f->ndim > 0 || levada_dtype_is_bytes(f->dtype) || length_integer(f)) {
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "length='%s' must be a sequence or an integer, got one %s per record",
                       length, levada_dtype_name(f->dtype));
}

int64_t levada_length_number(levada_dtype dtype, const void *at)
{
    uint64_t u64;

    switch (dtype) {
    case LEVADA_INT8: return *(const int8_t *)at;
    case LEVADA_INT16: return *(const int16_t *)at;
    case LEVADA_INT32: return *(const int32_t *)at;
    case LEVADA_INT64: return *(const int64_t *)at;
    case LEVADA_UINT8: return *(const uint8_t *)at;
    case LEVADA_UINT16: return *(const uint16_t *)at;
    case LEVADA_UINT32: return *(const uint32_t *)at;
    default: memcpy(&u64, at, sizeof u64); return u64 > INT64_MAX ? INT64_MAX : (int64_t)u64;
    }
}

/* Returns true if the length of a row is the range of its first level: of sequences, and of byte
 * strings. */
static bool length_ragged(const levada_field *f)
{
    return f->depth > 0 || (levada_dtype_is_bytes(f->dtype) && f->ndim == 0);
}

static int64_t length_of(const levada_column *c, int64_t row)
{
    if (length_integer(c->field)) {
        levada_dtype dtype = c->field->dtype;

        return levada_length_number(dtype, c->values + row * levada_dtype_size(dtype));
    }
    return levada_column_length(c, row);
}

levada_status levada_length_measure(const char *field, const levada_block *block,
                                    int64_t *lengths, int64_t stride, levada_error *err)
{
    int32_t i = levada_spec_find(block->spec, field);

    if (i < 0) return length_unknown(field, block->spec, err);
    LEVADA_TRY(levada_length_check(field, block->spec, err));
    if (length_ragged(levada_spec_field(block->spec, i))) {
        for (int64_t k = 0; k < block->n; k++) {
            int64_t             row;
            const levada_level *level = levada_block_row(block, k, &row)->columns[i].level;

            lengths[k * stride] = (int64_t)level->end[row] - level->begin[row];
        }
        return LEVADA_OK;
    }
    for (int64_t k = 0; k < block->n; k++) {
        int64_t              row;
        const levada_column *c = &levada_block_row(block, k, &row)->columns[i];

        lengths[k * stride] = length_of(c, row);
    }
    return LEVADA_OK;
}

levada_status levada_lengths_measure(const levada_texts *fields, const levada_block *block,
                                     int64_t *lengths, levada_error *err)
{
    for (int64_t i = 0; i < fields->n; i++) {
        LEVADA_TRY(levada_length_measure(fields->at[i], block, lengths + i, fields->n, err));
    }
    return LEVADA_OK;
}
