/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builders: create blocks.
 *
 * A builder is owned by one thread from create to publish. Memory comes from the pool of the
 * environment and is not cleared. Two ways to fill a column, not to be mixed in one column:
 * reserve (sizes known: get the memory, write into it) and push (append row by row; convenient and
 * slower). publish() freezes the block; it checks that every column was filled.
 */
#ifndef LEVADA_BUILDER_H
#define LEVADA_BUILDER_H

#include <levada/env.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_builder levada_builder;

/* `rows` is the number of records; -1 where only push is used (it follows from the pushes). */
LEVADA_API LEVADA_MUST_USE levada_status levada_builder_create(levada_env        *env,
                                                               const levada_spec *spec,
                                                               int64_t rows, levada_builder **out,
                                                               levada_error *err);
LEVADA_API void levada_builder_destroy(levada_builder **builder);

/* Dimensions of column `field` that are -1 in the spec. Before values(). */
LEVADA_API void levada_builder_dims(levada_builder *b, int32_t field, const int64_t *dims);
/* Packed offsets of a level: n + 1 entries to fill. The last level of a BYTES column counts bytes.
 */
LEVADA_API LEVADA_MUST_USE levada_status levada_builder_offsets(levada_builder *b, int32_t field,
                                                                int32_t level, int64_t n,
                                                                int32_t **out, levada_error *err);
/* The same as separate begin and end arrays of n entries each. */
LEVADA_API LEVADA_MUST_USE levada_status levada_builder_ranges(levada_builder *b, int32_t field,
                                                               int32_t level, int64_t n,
                                                               int32_t **begin, int32_t **end,
                                                               levada_error *err);
/* Memory for `count` elements (bytes of a BYTES column): 64-byte aligned, 64 bytes of slack. */
LEVADA_API LEVADA_MUST_USE levada_status levada_builder_values(levada_builder *b, int32_t field,
                                                               int64_t count, void **out,
                                                               levada_error *err);
/* Lengths before padding: one int32 a record. */
LEVADA_API LEVADA_MUST_USE levada_status levada_builder_lengths(levada_builder *b, int32_t field,
                                                                int32_t **out, levada_error *err);
/* Values that live elsewhere: takes a reference to `owner`. */
LEVADA_API void levada_builder_share_values(levada_builder *b, int32_t field,
                                            const uint8_t *values, const levada_buffer *owner);
/* The whole column of another block with the same rows, without a copy. */
LEVADA_API void levada_builder_share(levada_builder *b, int32_t field,
                                     const levada_column *column);

/* Push: the next value of the column's current row. */
LEVADA_API LEVADA_MUST_USE levada_status levada_builder_push_bytes(levada_builder *b,
                                                                   int32_t field, const void *data,
                                                                   int64_t size, levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_builder_push_i64(levada_builder *b, int32_t field,
                                                                 int64_t value, levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_builder_push_f64(levada_builder *b, int32_t field,
                                                                 double value, levada_error *err);
/* Ends the current row of a ragged column (depth 1). */
LEVADA_API LEVADA_MUST_USE levada_status levada_builder_end_row(levada_builder *b, int32_t field,
                                                                levada_error *err);

/* Rejects this record only; the `errors` policy of the iterator decides what happens. Its values
 * must still be well-formed (empty, say). Copies *why. */
LEVADA_API LEVADA_MUST_USE levada_status levada_builder_reject(levada_builder *b, int64_t row,
                                                               const levada_error *why,
                                                               levada_error *err);

/* Takes the builder. */
LEVADA_API LEVADA_MUST_USE levada_status levada_builder_publish(levada_builder **builder,
                                                                levada_block **out,
                                                                levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
