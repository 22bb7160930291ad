/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views of a batch: masks, positions, offsets and other inputs of attention kernels and models.
 *
 * A column of a batch consists of *sequences*. Usually each row is one. If the column was packed
 * (`pack`), the column NAME_segment_lengths lists the sequences of each row. A row has as many
 * steps as its length: padding does not count, nor do rows that `shard:equal=pad` added.
 *
 * levada_batch_measure() returns the sizes; the other functions fill arrays of the caller. Arrays
 * with one element per value are laid out as the values of the column: [rows, width] if it is
 * padded, else [steps]. Calls only read the batch: any thread, several at once.
 */
#ifndef LEVADA_VIEWS_H
#define LEVADA_VIEWS_H

#include <levada/env.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_batch_sizes {
    size_t  struct_size;
    int64_t rows;
    int64_t sequences; /* segments of all rows; rows if the column is not packed    */
    int64_t steps;     /* of all rows                                               */
    int64_t width;     /* of a padded column: steps of a row with padding; else the
                        * steps of the longest row                                  */
    int64_t elements;  /* of positions and segment ids: rows * width, or steps      */
    int64_t longest;   /* steps of the longest sequence: max_seqlen                 */
    bool    padded, packed;
    bool    left; /* of a padded column: the padding precedes the values            */
} levada_batch_sizes;

#define LEVADA_BATCH_SIZES_INIT                                           \
    { sizeof(levada_batch_sizes), 0, 0, 0, 0, 0, 0, false, false, false }

/* ENOT_FOUND: the batch has no such field. EINVALID_ARGUMENT: the segment lengths do not add up to
 * the length of their row. The other functions fail as this one does. */
LEVADA_API LEVADA_MUST_USE levada_status levada_batch_measure(const levada_block *batch,
                                                              const char         *field,
                                                              levada_batch_sizes *out,
                                                              levada_error       *err);
/* Where each sequence begins among the steps, and their end: `sequences` + 1 numbers. This and the
 * next two: EINVALID_ARGUMENT for a field of one value per record. */
LEVADA_API LEVADA_MUST_USE levada_status levada_batch_cu_seqlens(const levada_block *batch,
                                                                 const char *field, int32_t *to,
                                                                 levada_error *err);
/* The position of each value in its sequence, from 0; 0 in padding: `elements` numbers. */
LEVADA_API LEVADA_MUST_USE levada_status levada_batch_positions(const levada_block *batch,
                                                                const char *field, int32_t *to,
                                                                levada_error *err);
/* The number of the sequence that each value belongs to, from 1; 0 in padding: `elements` numbers.
 * Numbers restart in each row of a padded column, and count on through a ragged one. */
LEVADA_API LEVADA_MUST_USE levada_status levada_batch_segment_ids(const levada_block *batch,
                                                                  const char *field, int32_t *to,
                                                                  levada_error *err);
/* 1 for a step, 0 for padding: rows * width bytes. `left`: the padding precedes the values, as
 * levada_batch_pad() pads a ragged column with `left`. A padded column knows its side, and refuses
 * `left` if its padding follows the values. */
LEVADA_API LEVADA_MUST_USE levada_status levada_batch_mask(const levada_block *batch,
                                                           const char *field, bool left,
                                                           uint8_t *to, levada_error *err);
LEVADA_API void levada_batch_sizes_init(levada_batch_sizes *sizes, size_t size);

typedef struct levada_batch_padding {
    size_t      struct_size;
    const void *value;    /* one element of the column's dtype; NULL = zeros               */
    int64_t     multiple; /* the longest row is rounded up to this; 0 or 1 = it is not      */
    int64_t     width;    /* padded length of the first ragged level; -1 = the longest row */
    bool        left;     /* padding before the values                                     */
} levada_batch_padding;

#define LEVADA_BATCH_PADDING_INIT { sizeof(levada_batch_padding), NULL, 0, -1, false }

LEVADA_API void levada_batch_padding_init(levada_batch_padding *padding, size_t size);
/* The column, padded, as a block of one column. EDATA_LOSS: a row is longer than `width`. */
LEVADA_API LEVADA_MUST_USE levada_status levada_batch_pad(levada_env *env,
                                                          const levada_block         *batch,
                                                          const char                 *field,
                                                          const levada_batch_padding *how,
                                                          levada_block              **out,
                                                          levada_error               *err);

#ifdef __cplusplus
}
#endif

#endif
