/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces: runs of elements of tensors, joined into one tensor. What a batch of segments is made of.
 */
#ifndef LEVADA_TENSOR_PIECES_H
#define LEVADA_TENSOR_PIECES_H

#include "tensor/tensor_priv.h"

typedef struct levada_piece {
    const levada_tensor *tensor; /* all of one dtype */
    int64_t              first, count; /* elements */
} levada_piece;

/* Joins n pieces in a row, each padded at its end with 0 or "" to `each` elements (-1: not padded,
 * and `shape` has the sum of them). `shape` is that of the result. */
LEVADA_MUST_USE levada_status levada_pieces_join(levada_pool *pool, levada_dtype dtype,
                                                 const levada_shape *shape,
                                                 const levada_piece *pieces, int64_t n,
                                                 int64_t each, levada_tensor **out,
                                                 levada_error *err);

#endif
