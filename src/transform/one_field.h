/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PURE stages that make new values for one field and share all other columns: cast, reshape, slice
 * and similar. Their check() changes one field of the spec; their apply() begins a block, fills the
 * column and ends the block.
 */
#ifndef LEVADA_TRANSFORM_ONE_FIELD_H
#define LEVADA_TRANSFORM_ONE_FIELD_H

#include "description/columns.h"
#include "tensor/builder_priv.h"
#include <levada/stage.h>

/* State of a stage that derives its columns; the first member of a state with more in it. */
typedef struct levada_columns_state {
    const levada_context *context;
    levada_derived        columns;
} levada_columns_state;

/* Implements open() and close() of a stage with this state alone. */
levada_status levada_columns_state_open(void *state, const void *args,
                                        const levada_context *context, levada_error *err);
void          levada_columns_state_close(void *state);

/* Turns a field of the input into that of the result, or refuses it. */
typedef levada_status (*levada_field_change)(const void *args, levada_field *field,
                                             levada_error *err);
/* Implements check(): the spec with that field changed. *out stays NULL if the field may appear
 * later. */
LEVADA_MUST_USE levada_status levada_one_field_check(const levada_spec *in, const char *field,
                                                     levada_field_change change, const void *args,
                                                     levada_spec **out, levada_error *err);

/* A block on its way through apply(). */
typedef struct levada_one_field {
    const levada_column *from;  /* the field in the input              */
    const levada_field  *to;    /* the field as the result has it      */
    levada_builder      *b;     /* of the result: has the other fields */
    int32_t              index; /* of the field, in input and result   */
} levada_one_field;

LEVADA_MUST_USE levada_status levada_one_field_begin(levada_columns_state *s, levada_derive check,
                                                     const void *args, const char *field,
                                                     const levada_block *in, levada_one_field *out,
                                                     levada_error *err);
/* Shares the levels of column `from` with the result, which gets other numbers. Its rows use the *n
 * numbers from `*old` on; the caller writes those of the result to `*values`. */
LEVADA_MUST_USE levada_status levada_one_field_numbers(levada_builder *b, int32_t index,
                                                       const levada_column *from,
                                                       const uint8_t **old, void **values,
                                                       int64_t *n, levada_error *err);
/* Writes the numbers of a record to `to`. */
typedef levada_status levada_one_field_row(const void *work, int64_t row, uint8_t *to,
                                           levada_error *why);
/* Fills the column with `count` numbers for each record. Rejects records for which `fill` fails:
 * their numbers are zeros. Missing memory is an error of the run. */
LEVADA_MUST_USE levada_status levada_one_field_fill(const levada_one_field *f, int64_t count,
                                                    levada_one_field_row *fill, const void *work,
                                                    levada_error *err);
/* Publishes the block where st is OK, and returns st otherwise. */
LEVADA_MUST_USE levada_status levada_one_field_end(levada_one_field *f, levada_status st,
                                                   levada_block **out, levada_error *err);

#endif
