/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzz targets of Examples and SequenceExamples share: decode records with one spec and
 * walk the columns; a column that is not well-formed, also of a rejected record, ends the program
 * (under a sanitizer), and so does a result that depends on the other records of the block.
 */
#ifndef FUZZ_PROTO_CHECK_H
#define FUZZ_PROTO_CHECK_H

#include "registry/env_priv.h"
#include "decode/proto.h"
#include "tensor/builder_priv.h"
#include "tensor/encoded.h"

#include <stdlib.h>

#define FUZZ_SLACK 64

static inline void fuzz_require(bool holds)
{
    if (!holds) abort();
}

/* Sum of all bytes that a column names, so that each of them is read. */
static inline uint64_t fuzz_walk(const levada_column *c, int64_t *elements)
{
    int64_t n = c->n, item = levada_dtype_size(c->field->dtype);
    uint64_t sum = 0;

    for (int32_t l = 0; l < c->field->depth; l++) {
        for (int64_t i = 0; i < n; i++) {
            fuzz_require(c->level[l].begin[i] == (i ? c->level[l].end[i - 1] : 0));
            fuzz_require(c->level[l].begin[i] <= c->level[l].end[i]);
        }
        n = n > 0 ? c->level[l].end[n - 1] : 0;
    }
    n *= levada_column_inner(c);
    *elements = n;
    for (int64_t i = 0; i < n * item; i++) sum += c->values[i];
    for (int64_t i = 0; item == 0 && i < n; i++) {
        const levada_level *bytes = &c->level[c->field->depth];

        fuzz_require(bytes->begin[i] >= 0 && bytes->begin[i] <= bytes->end[i]);
        for (int32_t b = bytes->begin[i]; b < bytes->end[i]; b++) sum += c->values[b];
    }
    return sum;
}

static inline levada_value *fuzz_spec(const char *text)
{
    levada_value *value = NULL;

    fuzz_require(levada_value_parse(text, &value, NULL) == LEVADA_OK);
    return value;
}

/* One block of n records; `sums` gets what fuzz_walk returns for each column (up to 32). */
static inline int32_t fuzz_decode(levada_proto *x, levada_late_decode late,
                                  const uint8_t *const *data, const int32_t *size, int64_t n,
                                  levada_buffer *owner, uint64_t sums[32])
{
    levada_strings in = { data, size, n, owner, NULL };
    levada_builder *builder = NULL;
    levada_block *block = NULL;
    int64_t elements;
    int32_t rejects;

    fuzz_require(levada_builder_make(levada_env_pool(NULL), x->plan->spec, n, &builder, NULL) ==
                 LEVADA_OK);
    builder->late = late;
    fuzz_require(levada_proto_decode(x, &in, builder, NULL) == LEVADA_OK);
    fuzz_require(levada_builder_publish(&builder, &block, NULL) == LEVADA_OK);
    rejects = block->nrejects;
    fuzz_require(levada_block_decode(levada_env_pool(NULL), &block, NULL) == LEVADA_OK);
    for (int32_t i = 0; i < levada_spec_count(x->plan->spec) && i < 32; i++) {
        sums[i] = fuzz_walk(levada_block_at(block, i), &elements);
    }
    levada_block_unref(&block);
    return rejects;
}

/* The record alone, decoded at once and left encoded first, and twice with an empty one between. */
static inline void fuzz_check(levada_proto *x, const uint8_t *data, size_t size)
{
    const levada_late_decode never = LEVADA_LATE_DECODE_NEVER, always = LEVADA_LATE_DECODE_ALWAYS;
    uint64_t one[32] = { 0 }, none[32] = { 0 }, more[32] = { 0 }, later[32] = { 0 };
    levada_buffer *copy = NULL;
    int32_t alone, among;

    fuzz_require(levada_buffer_create(levada_env_pool(NULL), (int64_t)size, &copy, NULL) ==
                 LEVADA_OK);
    if (size > 0) memcpy(copy->data, data, size);
    const uint8_t *records[] = { copy->data, copy->data + size, copy->data };
    const int32_t sizes[] = { (int32_t)size, 0, (int32_t)size };

    alone = fuzz_decode(x, never, records, sizes, 1, copy, one);
    fuzz_require(fuzz_decode(x, always, records, sizes, 1, copy, later) == alone);
    for (int32_t i = 0; i < 32; i++) fuzz_require(one[i] == later[i]);
    among = fuzz_decode(x, always, records, sizes, 3, NULL, more);
    (void)fuzz_decode(x, never, records + 1, sizes + 1, 1, NULL, none);
    fuzz_require(among == 2 * alone);
    for (int32_t i = 0; alone == 0 && i < 32; i++) {
        fuzz_require(more[i] == 2 * one[i] + none[i]);
    }
    levada_buffer_unref(&copy);
}

#endif
