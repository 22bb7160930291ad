/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builders create blocks, column by column.
 *
 * One thread owns a builder from create to publish. Memory comes from the pool of the environment
 * and is not cleared. There are two ways to fill a column: reserve memory of known sizes and write
 * into it, or push values row by row, which is convenient and slower. Do not mix them in one
 * column. publish() checks that every column was filled, and freezes the block.
 *
 * Example:
 *
 *     levada_field    field = {.name = "x", .dtype = LEVADA_INT64, .depth = 1}; // lists of int64
 *     levada_spec    *spec = NULL;
 *     levada_builder *builder = NULL;
 *     levada_block   *block = NULL;
 *
 *     LEVADA_TRY(levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, &spec, err));
 *     LEVADA_TRY(levada_builder_create(NULL, spec, 2, &builder, err));
 *     LEVADA_TRY(levada_builder_push_i64(builder, 0, 7, err)); // [7, 8]
 *     LEVADA_TRY(levada_builder_push_i64(builder, 0, 8, err));
 *     LEVADA_TRY(levada_builder_end_row(builder, 0, err));
 *     LEVADA_TRY(levada_builder_end_row(builder, 0, err)); // []
 *     LEVADA_TRY(levada_builder_publish(&builder, &block, err));
 *     levada_block_unref(&block);
 *     levada_spec_unref(&spec);
 */
#ifndef LEVADA_BUILDER_H
#define LEVADA_BUILDER_H

#include <levada/env.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_builder levada_builder;

/* Creates a builder of `rows` records; -1 if all columns are filled by push, which determines the
 * number. */
LEVADA_API LEVADA_MUST_USE levada_status levada_builder_create(levada_env        *env,
                                                               const levada_spec *spec,
                                                               int64_t rows, levada_builder **out,
                                                               levada_error *err);
LEVADA_API void levada_builder_destroy(levada_builder **builder);

/* Sets the dimensions of column `field` that are -1 in the spec. Call it before
 * levada_builder_values. */
LEVADA_API void levada_builder_dims(levada_builder *b, int32_t field, const int64_t *dims);
/* Returns the packed offsets of a level: n + 1 entries to fill in. The last level of a BYTES column
 * counts bytes. */
LEVADA_API LEVADA_MUST_USE levada_status levada_builder_offsets(levada_builder *b, int32_t field,
                                                                int32_t level, int64_t n,
                                                                int32_t **out, levada_error *err);
/* Returns the ranges of a level as separate begin and end arrays of n entries each, to fill in. */
LEVADA_API LEVADA_MUST_USE levada_status levada_builder_ranges(levada_builder *b, int32_t field,
                                                               int32_t level, int64_t n,
                                                               int32_t **begin, int32_t **end,
                                                               levada_error *err);
/* Returns memory for `count` elements (bytes of a BYTES column), 64-byte aligned, with 64 bytes of
 * slack. */
LEVADA_API LEVADA_MUST_USE levada_status levada_builder_values(levada_builder *b, int32_t field,
                                                               int64_t count, void **out,
                                                               levada_error *err);
/* Returns the array of lengths before padding to fill in: one int32 per record. */
LEVADA_API LEVADA_MUST_USE levada_status levada_builder_lengths(levada_builder *b, int32_t field,
                                                                int32_t **out, levada_error *err);
/* Uses values that `owner` keeps alive, without a copy; takes a reference to `owner`. */
LEVADA_API void levada_builder_share_values(levada_builder *b, int32_t field,
                                            const uint8_t *values, const levada_buffer *owner);
/* Uses the whole column of another block with the same rows, without a copy. */
LEVADA_API void levada_builder_share(levada_builder *b, int32_t field,
                                     const levada_column *column);

/* Append a value to the column's current row. They return EINVALID_ARGUMENT if the value does not
 * fit into the dtype of the column. */
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

/* Rejects one record; the `errors` policy of the iterator decides what happens. The values of the
 * record must still be well-formed (for example, empty). Copies *why, which keeps the location that
 * levada_error_place sets. */
LEVADA_API LEVADA_MUST_USE levada_status levada_builder_reject(levada_builder *b, int64_t row,
                                                               const levada_error *why,
                                                               levada_error *err);

/* For sources: sets the origin of one record, which errors and record_keys then contain: `file` is
 * the number of a file in the option `files` (source.h), `record` its number in that file, and
 * `offset` its first byte in the decompressed file, -1 = unknown. The core numbers records without
 * an origin. */
LEVADA_API LEVADA_MUST_USE levada_status levada_builder_origin(levada_builder *b, int64_t row,
                                                               int32_t file, int64_t record,
                                                               int64_t offset, levada_error *err);

/* Returns the finished block. Takes the builder, also on failure. */
LEVADA_API LEVADA_MUST_USE levada_status levada_builder_publish(levada_builder **builder,
                                                                levada_block **out,
                                                                levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
