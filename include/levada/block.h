/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks: the only thing that flows between stages.
 *
 * A block is n records as named columns in Arrow memory layout. It is reference-counted and
 * immutable once published; a consumer who holds the last reference may write to the values. Any
 * thread may read a block. A column that a function returns is borrowed: valid while the caller
 * holds the block.
 *
 * Layout of a column. Level l (0 <= l < depth) has for row i of that level the range
 * [begin[i], end[i]) of rows of the next level; if rows are adjacent, end == begin + 1 and
 * begin is an Arrow offsets array of n + 1 entries. A column of LEVADA_BYTES has one more level,
 * whose ranges count bytes of `values`. Offsets are int32: a block holds at most 1 GiB.
 */
#ifndef LEVADA_BLOCK_H
#define LEVADA_BLOCK_H

#include <levada/spec.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_buffer levada_buffer;
typedef struct levada_block  levada_block;

typedef struct levada_level {
    const int32_t *begin, *end;
    levada_buffer *owner; /* keeps begin and end alive; not for users */
} levada_level;

/* Made by the library only; grows at its end. The functions below return all that a reader needs.
 */
typedef struct levada_column {
    const levada_field *field;
    int64_t             n;                           /* rows                                    */
    int64_t             dims[LEVADA_MAX_DIMS];       /* of one row's innermost value, all known */
    levada_level        level[LEVADA_MAX_DEPTH + 1]; /* field->depth levels, one more for bytes */
    const uint8_t      *values;                      /* 64-byte aligned in built columns        */
    levada_buffer      *owner;                       /* keeps values alive; not for users       */
    const int32_t      *lengths;                     /* padded columns: [n], else NULL          */
    levada_buffer      *lengths_owner;
    struct levada_encoded *encoded; /* of the core; NULL in all columns that others see         */
    int64_t                encoded_first;
} levada_column;

/* Where a record came from: its name forever, so its layout never changes. A record that a zip
 * joined has one origin per input, its origin parts, in the order of the inputs. Those of nested
 * zips form one list. Parts beyond LEVADA_ORIGIN_PARTS are dropped. */
#define LEVADA_ORIGIN_PARTS 4

typedef struct levada_origin {
    int32_t source;  /* source number in the dataset, depth first; -1 = none            */
    int32_t pass;    /* n-th time this iterator opened that source (repeat raises it)   */
    int32_t shard;   /* index in the table of files; 0 for sources without files        */
    int32_t sub;     /* part of the record (segment, row of an unbatched one); 0        */
    int64_t record;  /* number in the shard, from 0                                     */
    int64_t offset;  /* byte position of the record in the (decompressed) shard, or -1  */
} levada_origin;

LEVADA_API levada_block *levada_block_ref(const levada_block *block);
/* Drops the reference and sets *block to NULL; accepts NULL. The last one frees, on this thread. */
LEVADA_API void levada_block_unref(levada_block **block);

LEVADA_API int64_t            levada_block_rows(const levada_block *block);
LEVADA_API const levada_spec *levada_block_spec(const levada_block *block);
/* True when the caller's reference is the only one, so that values may be written. */
LEVADA_API bool levada_block_exclusive(const levada_block *block);
/* Bytes of memory that the block keeps alive. A block that was cut from another one counts for its
 * share of the rows, however long they are. */
LEVADA_API int64_t levada_block_bytes(const levada_block *block);

/* By name or number; NULL if there is none. */
LEVADA_API const levada_column *levada_block_column(const levada_block *block, const char *name);
LEVADA_API const levada_column *levada_block_at(const levada_block *block, int32_t i);

/* Of the first origin part, which every record has. */
LEVADA_API levada_origin levada_block_origin(const levada_block *block, int64_t row);
/* Origin parts of the record that has most of them, 1 to LEVADA_ORIGIN_PARTS; and an origin of one
 * of them, whose source is -1 where the record has no such origin part. */
LEVADA_API int32_t       levada_block_origin_parts(const levada_block *block);
LEVADA_API levada_origin levada_block_origin_part(const levada_block *block, int64_t row,
                                                  int32_t part);

/* Typed views of a column's values; NULL when the dtype is another one. */
LEVADA_API const int64_t *levada_column_i64(const levada_column *column);
LEVADA_API const int32_t *levada_column_i32(const levada_column *column);
LEVADA_API const float   *levada_column_f32(const levada_column *column);
LEVADA_API const double  *levada_column_f64(const levada_column *column);
LEVADA_API const uint8_t *levada_column_u8(const levada_column *column); /* also BOOL: 0 or 1 */
/* Byte string of a row of a BYTES column of depth 0 without dims; *size gets its bytes. */
LEVADA_API const uint8_t *levada_column_bytes(const levada_column *column, int64_t row,
                                              int64_t *size);
/* Dimension d of a FIXED column as an array [n, dims...]: d = 0 is n. -1 beyond the last. */
LEVADA_API int64_t levada_column_dim(const levada_column *column, int32_t d);
/* Rows of the next level that row i of a ragged column covers (its length); of a padded column its
 * length before padding; of a FIXED one its first dimension. */
LEVADA_API int64_t levada_column_length(const levada_column *column, int64_t row);

/* Values (of BYTES: strings) of one row after the ragged levels: the product of dims, 1 of a
 * scalar. Row i of the last level begins at value i * levada_column_inner(). */
LEVADA_API int64_t levada_column_inner(const levada_column *column);

/* The members of a column, for languages that do not read this header. Borrowed like the column. */
LEVADA_API const levada_field *levada_column_field(const levada_column *column);
LEVADA_API int64_t             levada_column_rows(const levada_column *column);
LEVADA_API const void         *levada_column_values(const levada_column *column);
/* Of a padded column the lengths before padding, [rows]; else NULL. */
LEVADA_API const int32_t *levada_column_lengths(const levada_column *column);
/* Begins and ends of the ranges of a level, 0 to depth (of BYTES; else below it); else NULL. */
LEVADA_API const int32_t *levada_column_begins(const levada_column *column, int32_t level);
LEVADA_API const int32_t *levada_column_ends(const levada_column *column, int32_t level);

#ifdef __cplusplus
}
#endif

#endif
