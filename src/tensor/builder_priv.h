/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builder from the inside. builder.c reserves, builder_push.c appends.
 */
#ifndef LEVADA_TENSOR_BUILDER_PRIV_H
#define LEVADA_TENSOR_BUILDER_PRIV_H

#include "tensor/block_priv.h"
#include "tensor/text_columns.h"
#include <levada/binding.h>

#define LEVADA_BLOCK_LIMIT  (INT64_C(1) << 30)
#define LEVADA_BUILDER_SLAB (INT64_C(64) << 10) /* that the small pieces of a block share */

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
    levada_text_rule   text; /* for decoders: what becomes of text that is not UTF-8           */
    levada_pool   *pool;
    levada_block  *block;
    int64_t        rows; /* -1 = from the pushes */
    int64_t        rejects_capacity;
    levada_origin *origins; /* of the first norigins rows; NULL = the core numbers the records */
    int64_t        norigins, origins_capacity;
    levada_buffer *slab;
    int64_t        slab_used;
    levada_push    push[]; /* one for each field */
};

/* Returns EINVALID_ARGUMENT unless the builder has such a field. */
LEVADA_MUST_USE levada_status levada_builder_check(const levada_builder *b, int32_t field,
                                                   levada_error *err);

/* Notes for decoders, in the problems of the run and in logs, what is odd about a record that is
 * good all the same. `what` ends before a period, as a message does. */
LEVADA_MUST_USE levada_status levada_builder_note(levada_builder *b, int64_t row, const char *what,
                                                  levada_error *err);

/* Turns what was pushed into columns. */
LEVADA_MUST_USE levada_status levada_builder_flush_pushed(levada_builder *b, levada_error *err);

#endif
