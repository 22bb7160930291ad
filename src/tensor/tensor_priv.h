/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors from the inside: made without contents, cut into rows, put together again.
 *
 * Small values follow their header in one piece of memory; larger ones in a pooled buffer.
 */
#ifndef LEVADA_TENSOR_TENSOR_PRIV_H
#define LEVADA_TENSOR_TENSOR_PRIV_H

#include "base/text.h"
#include "tensor/pool.h"

#include <levada/tensor.h>

#include <stdatomic.h>

struct levada_tensor {
    atomic_int     refs;
    levada_dtype   dtype;
    levada_shape   shape; /* all known; dimensions beyond rank are 0 */
    int64_t        count, bytes;
    uint8_t       *data;
    int32_t       *offsets; /* LEVADA_BYTES: count + 1, else NULL */
    levada_buffer *buffer;  /* owned, or NULL */
    levada_tensor *parent;  /* whose memory it shows, or NULL */
};

/* Makes a tensor of numbers, whose values are not cleared. */
LEVADA_MUST_USE levada_status levada_tensor_make(levada_pool *pool, levada_dtype dtype,
                                                 const levada_shape *shape, levada_tensor **out,
                                                 levada_error *err);
/* Makes a tensor of byte strings of `bytes` together; offsets and bytes are to be written. */
LEVADA_MUST_USE levada_status levada_tensor_make_strings(levada_pool        *pool,
                                                         const levada_shape *shape, int64_t bytes,
                                                         levada_tensor **out, levada_error *err);
/* Returns row i of the first dimension as a tensor of its own; a large one shows the memory of the
 * whole. */
LEVADA_MUST_USE levada_status levada_tensor_row(levada_pool *pool, const levada_tensor *tensor,
                                                int64_t i, levada_tensor **out, levada_error *err);
/* Stacks n tensors of one dtype and rank into one more dimension before the others, each padded on
 * the right with 0, false or "" to the largest of each dimension. For n = 0: `known` with unknown
 * dimensions as 0. */
LEVADA_MUST_USE levada_status levada_tensor_stack(levada_pool *pool, levada_dtype dtype,
                                                  const levada_shape   *known,
                                                  levada_tensor *const *rows, int64_t n,
                                                  levada_tensor **out, levada_error *err);
/* Keeps the first n rows. Only for the owner of the only reference. */
void levada_tensor_shrink(levada_tensor *tensor, int64_t n);

/* -- shapes -- */

/* Returns true if neither the rank nor a dimension is unknown. */
bool levada_shape_known(const levada_shape *shape);
/* Returns the number of elements of a known shape; -1 if that is more than 2^48. */
int64_t levada_shape_count(const levada_shape *shape);
/* Returns true if `shape` (known) is one of those that `want` allows. */
bool levada_shape_allows(const levada_shape *want, const levada_shape *shape);
bool levada_shape_equal(const levada_shape *a, const levada_shape *b);
/* Returns the shape with a dimension in front: [n, ...]. n = -1: unknown. The rank must be below
 * LEVADA_MAX_DIMS. */
levada_shape levada_shape_rows(const levada_shape *shape, int64_t n);
/* Returns the shape without its first dimension. */
levada_shape levada_shape_row(const levada_shape *shape);

#define LEVADA_SHAPE_TEXT 128
/* Prints "[3,?]"; "any shape" where the rank is not known. Returns text. */
const char *levada_shape_print(const levada_shape *shape, char text[LEVADA_SHAPE_TEXT]);

#define LEVADA_FIELD_SHOWN (LEVADA_SHAPE_TEXT + 24)

/* Prints dtype and shape of a field for a message, such as "float32 [?,3]". Returns `text`. */
const char *levada_field_shown(const levada_field *f, char text[LEVADA_FIELD_SHOWN]);

#define LEVADA_SPEC_DIFFERENCE (2 * LEVADA_FIELD_SHOWN + 128)

/* Prints the first difference of two specs for a message, such as "field 'x' is int64 [?] and
 * float32 [?]". Returns `text`. */
const char *levada_spec_difference(const levada_spec *a, const levada_spec *b,
                                   char text[LEVADA_SPEC_DIFFERENCE]);

#endif
