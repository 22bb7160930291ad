/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builder from the inside. builder.c reserves, builder_push.c appends.
 */
#ifndef LEVADA_TENSOR_BUILDER_PRIV_H
#define LEVADA_TENSOR_BUILDER_PRIV_H

#include "tensor/block_priv.h"
#include <levada/binding.h>

#define LEVADA_BLOCK_LIMIT (INT64_C(1) << 30)

typedef struct levada_grow {
    uint8_t *data;
    size_t   size;
    int64_t  capacity;
} levada_grow;

/* What push has gathered for one column: values, then the offsets of up to two levels. */
typedef struct levada_push {
    bool        used;
    levada_grow part[3];
} levada_push;

struct levada_builder {
    levada_late_decode late; /* for decoders: which fields may stay encoded (tensor/encoded.h) */
    levada_pool   *pool;
    levada_block  *block;
    int64_t        rows; /* -1 = from the pushes */
    int64_t        rejects_capacity;
    levada_buffer *slab;
    int64_t        slab_used;
    levada_push    push[]; /* one for each field */
};

/* Fills a field with the decoded values of the encoded column of a DATA block that has the same
 * number (gather.c). */
LEVADA_MUST_USE levada_status levada_gather_decoded(levada_builder *b, int32_t field,
                                                    const levada_block *from, levada_error *err);
/* Rows [begin, end) of a level of a column that is not encoded. */
typedef struct levada_gather_range {
    const levada_column *column;
    int32_t              begin, end;
} levada_gather_range;

/* Fills a field from `level` on with the rows of n ranges of that level, of columns that have the
 * dimensions that were set for the field. `ranges` come from levada_alloc and are freed. */
LEVADA_MUST_USE levada_status levada_gather_ranges(levada_builder *b, int32_t field,
                                                   int32_t level, levada_gather_range *ranges,
                                                   int64_t n, levada_error *err);
/* Turns what was pushed into columns. */
LEVADA_MUST_USE levada_status levada_builder_flush_pushed(levada_builder *b, levada_error *err);

#endif
