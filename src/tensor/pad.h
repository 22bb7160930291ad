/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Padding: rows of any length to one FIXED column. The one copy of a batch: each row is copied and
 * what remains after it is filled, so that memory is written once and from front to back (a sixth
 * faster than filling some rows at a time and copying over that).
 */
#ifndef LEVADA_TENSOR_PAD_H
#define LEVADA_TENSOR_PAD_H

#include "tensor/block_priv.h"

/* How one field is padded. Dimensions are those after the rows: ragged levels, then inner ones. */
typedef struct levada_padding {
    int64_t     dims[LEVADA_MAX_DIMS]; /* -1 = the longest of the batch                         */
    const int64_t *least;              /* the longest of a dimension is this at least; or NULL  */
    int64_t     multiple;              /* the longest is rounded up to this; 0 or 1 = not       */
    const char *text;                  /* padding of bytes; NULL = empty                        */
    size_t      text_size;
    uint8_t     value[16];             /* padding of numbers, one element                       */
    bool        left;                  /* padding of the first dimension precedes it            */
} levada_padding;

/* Returns the padded form of a field: depth 0, its levels as dimensions. EINVALID_ARGUMENT if that
 * has more than LEVADA_MAX_DIMS dimensions. */
LEVADA_MUST_USE levada_status levada_pad_field(const levada_field *from, levada_field *out,
                                               levada_error *err);

/* Writes `count` elements of padding, of `size` bytes each. `plain`: all bytes of `value` are the
 * same. */
void levada_pad_fill(uint8_t *to, int64_t count, const uint8_t *value, int64_t size, bool plain);
bool levada_pad_plain(const uint8_t *value, int64_t size);

/* Measures the longest of each dimension of each column of a block of any kind, which may be
 * encoded: LEVADA_MAX_DIMS for a column, the ragged ones first. Lengths that are larger already
 * stay. */
void levada_pad_measure(const levada_block *block, int64_t *most);

/* Makes a DATA block of `spec` (each field the padded form of the block's field with the same
 * number). EDATA_LOSS if a row is longer than a given dimension: *bad (may be NULL) is the longest
 * such row, else -1. */
LEVADA_MUST_USE levada_status levada_pad_block(levada_pool *pool, const levada_block *block,
                                               const levada_spec *spec, const levada_padding *how,
                                               levada_block **out, int64_t *bad,
                                               levada_error *err);

#endif
