/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes masks, positions, offsets and other inputs of attention kernels and models from a batch.
 *
 * A column of a batch consists of *sequences*. Usually each row is a sequence. If the column was
 * packed (`pack`), the column NAME_segment_lengths lists the sequences of each row. The steps of a
 * row are its length before padding; rows that `shard:equal=pad` added have no steps.
 *
 * levada_batch_measure() returns the sizes; the other functions fill arrays of the caller. Arrays
 * with one element per value have the layout of the column: [rows, width] if it is padded, else
 * [steps]. The functions only read the batch, so several threads may call them at the same time.
 *
 * Example:
 *
 *     levada_batch_sizes sizes = LEVADA_BATCH_SIZES_INIT;
 *     levada_dataset    *dataset = NULL;
 *     levada_iter       *it = NULL;
 *     levada_block      *batch = NULL;
 *     int32_t            ends[3];
 *
 *     LEVADA_TRY(
 *         levada_dataset_parse(NULL, "range:8 | batch:4 | collect | batch:2", &dataset, err));
 *     LEVADA_TRY(levada_iter_open(dataset, NULL, &it, err));
 *     LEVADA_TRY(levada_iter_next(it, &batch, err));
 *     LEVADA_TRY(levada_batch_measure(batch, "value", &sizes, err)); // 2 sequences of 4 steps
 *     LEVADA_TRY(levada_batch_cu_seqlens(batch, "value", ends, err)); // 0, 4, 8
 *     levada_block_unref(&batch);
 *     levada_iter_close(&it);
 *     levada_dataset_unref(&dataset);
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
    int64_t sequences; /* segments of all rows; rows if the column is not packed             */
    int64_t steps;     /* steps of all rows                                                  */
    int64_t width;     /* row length including padding; not padded: steps of the longest row */
    int64_t elements;  /* size of positions and segment ids: rows * width, or steps          */
    int64_t longest;   /* steps of the longest sequence: max_seqlen                          */
    bool    padded, packed;
    bool    left; /* the padding precedes the values */
} levada_batch_sizes;

#define LEVADA_BATCH_SIZES_INIT                                           \
    { sizeof(levada_batch_sizes), 0, 0, 0, 0, 0, 0, false, false, false }

/* Returns the sizes of a field. All functions of this header return ENOT_FOUND if the batch does
 * not have the field, and EINVALID_ARGUMENT if the segment lengths do not add up to the length of
 * their row. */
LEVADA_API LEVADA_MUST_USE levada_status levada_batch_measure(const levada_block *batch,
                                                              const char         *field,
                                                              levada_batch_sizes *out,
                                                              levada_error       *err);
/* Writes the start of each sequence among the steps, and the end of the last: `sequences` + 1
 * numbers. This function and the next two return EINVALID_ARGUMENT for a field with one value per
 * record. */
LEVADA_API LEVADA_MUST_USE levada_status levada_batch_cu_seqlens(const levada_block *batch,
                                                                 const char *field, int32_t *to,
                                                                 levada_error *err);
/* Writes the position of each value in its sequence, from 0; 0 in padding: `elements` numbers. */
LEVADA_API LEVADA_MUST_USE levada_status levada_batch_positions(const levada_block *batch,
                                                                const char *field, int32_t *to,
                                                                levada_error *err);
/* Writes the number of each value's sequence, from 1; 0 in padding: `elements` numbers. Numbers
 * restart in each row of a padded column, and continue across the rows of a ragged column. */
LEVADA_API LEVADA_MUST_USE levada_status levada_batch_segment_ids(const levada_block *batch,
                                                                  const char *field, int32_t *to,
                                                                  levada_error *err);
/* Writes 1 for a step and 0 for padding: rows * width bytes. With `left`, the padding of a ragged
 * column precedes the values, as in levada_batch_pad(). `left` is an error if the column was padded
 * on the right. */
LEVADA_API LEVADA_MUST_USE levada_status levada_batch_mask(const levada_block *batch,
                                                           const char *field, bool left,
                                                           uint8_t *to, levada_error *err);
LEVADA_API void levada_batch_sizes_init(levada_batch_sizes *sizes, size_t size);

typedef struct levada_batch_padding {
    size_t      struct_size;
    const void *value;    /* one element of the column's dtype; NULL = zeros               */
    int64_t     multiple; /* rounds the longest row up to this; 0 or 1 = does not round    */
    int64_t     width;    /* padded length of the first ragged level; -1 = the longest row */
    bool        left;     /* padding before the values                                     */
} levada_batch_padding;

#define LEVADA_BATCH_PADDING_INIT { sizeof(levada_batch_padding), NULL, 0, -1, false }

LEVADA_API void levada_batch_padding_init(levada_batch_padding *padding, size_t size);
/* Returns the padded column as a block of one column. Returns EDATA_LOSS if a row is longer than
 * `width`. */
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
