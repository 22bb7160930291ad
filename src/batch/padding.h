/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The padding options that batching stages share: padded_shapes and padding_values, turned into one
 * levada_padding for each field.
 */
#ifndef LEVADA_BATCH_PADDING_H
#define LEVADA_BATCH_PADDING_H

#include "tensor/pad.h"
#include <levada/stage.h>

typedef struct levada_padding_options {
    const levada_value *shapes; /* map field -> list of dimensions, null = the longest; or NULL  */
    const levada_value *values; /* map field -> number or text, or one for all; or NULL          */
    int64_t             multiple;
    bool                left; /* padding precedes the values of a sequence */
} levada_padding_options;

#define LEVADA_PADDING_LEFT(args_type)                                                           \
    LEVADA_ARG(CHOICE, args_type, padding_side, .choices = "right|left",                          \
               .doc = "put padding after the values of a sequence, or before them")

/* Makes the columns of the padded batch. Fields that an open spec does not have yet are not
 * checked. */
LEVADA_MUST_USE levada_status levada_padding_spec(const levada_padding_options *options,
                                                  const levada_spec *in, levada_spec **out,
                                                  levada_error *err);

/* Sets the padding of a field: how->value of numbers, how->text of bytes (borrowed from `v`).
 * EINVALID_ARGUMENT where the value does not fit the dtype. */
LEVADA_MUST_USE levada_status levada_padding_value(const levada_value *v,
                                                   const levada_field *field, levada_padding *how,
                                                   levada_error *err);

/* What a thread keeps: the plan for the last columns that it saw. All-zero is empty. */
typedef struct levada_padding_plan {
    levada_spec    *in, *out;
    levada_padding *how; /* one for each field */
} levada_padding_plan;

void levada_padding_clear(levada_padding_plan *plan);
/* Pads a block. `bound` >= 0 is the length of every dimension that padded_shapes leaves open; else
 * they are as long as the longest row, and as the layout of the block says. */
LEVADA_MUST_USE levada_status levada_padding_apply(levada_padding_plan          *plan,
                                                   const levada_padding_options *options,
                                                   const levada_context *context,
                                                   const levada_block *in, int64_t bound,
                                                   levada_block **out, levada_error *err);

#endif
