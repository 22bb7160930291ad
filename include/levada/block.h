/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks: the batches of records that stages pass to each other.
 *
 * A block holds n records as named columns in Arrow memory layout. It is reference-counted and
 * immutable once published; a consumer that holds the last reference may write to the values. Any
 * thread may read a block. A column that a function returns is borrowed and valid while the caller
 * holds the block.
 *
 * Layout of a column. Row i of level l (0 <= l < depth) covers the range [begin[i], end[i]) of rows
 * of the next level; if rows are adjacent, end == begin + 1 and begin is an Arrow offsets array of
 * n + 1 entries. A column of LEVADA_BYTES or LEVADA_TEXT has one more level, whose ranges count
 * bytes of `values`.
 * A block holds at most 1 GiB, because offsets are int32.
 *
 * Example:
 *
 *     levada_dataset *dataset = NULL;
 *     levada_iter    *it = NULL;
 *     levada_block   *block = NULL;
 *     int64_t         sum = 0;
 *
 *     LEVADA_TRY(levada_dataset_parse(NULL, "range:100 | batch:10", &dataset, err));
 *     LEVADA_TRY(levada_iter_open(dataset, NULL, &it, err));
 *     LEVADA_TRY(levada_iter_next(it, &block, err));
 *     const int64_t *value = levada_column_i64(levada_block_column(block, "value"));
 *     for (int64_t i = 0; i < levada_block_rows(block); i++) sum += value[i]; // 45
 *     levada_block_unref(&block);
 *     levada_iter_close(&it);
 *     levada_dataset_unref(&dataset);
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

/* One column. Only the library creates it, and later versions add members at its end. The functions
 * below return everything that a reader needs. */
typedef struct levada_column {
    const levada_field *field;
    int64_t             n;                           /* rows                                    */
    int64_t             dims[LEVADA_MAX_DIMS];       /* innermost dims of a row, all known       */
    levada_level        level[LEVADA_MAX_DEPTH + 1]; /* field->depth levels, one more for bytes */
    const uint8_t      *values;                      /* 64-byte aligned in built columns        */
    levada_buffer      *owner;                       /* keeps values alive; not for users       */
    const int32_t      *lengths;                     /* padded columns: [n], else NULL          */
    levada_buffer      *lengths_owner;
    struct levada_encoded *encoded; /* private; NULL in all columns that others see */
    int64_t                encoded_first;
} levada_column;

/* The origin of a record: the file and position that it was read from. Checkpoints store origins,
 * so the layout never changes. A record that `zip` joined has one origin part for each input, in
 * the order of the inputs; the parts of nested zips form one list. Parts beyond LEVADA_ORIGIN_PARTS
 * are dropped. */
#define LEVADA_ORIGIN_PARTS 4

typedef struct levada_origin {
    int32_t source;  /* source number in the dataset, depth first; -1 = none. Below a
                     * named input of a mix: 2^30 and more, from the names             */
    int32_t pass;    /* n-th time this iterator opened that source; `repeat` adds 1    */
    int32_t shard;   /* index in the table of files; 0 for sources without files       */
    int32_t sub;     /* segment, or row of a batch that was unbatched; else 0          */
    int64_t record;  /* number in the shard, from 0                                    */
    int64_t offset;  /* byte position of the record in the (decompressed) shard, or -1 */
} levada_origin;

LEVADA_API levada_block *levada_block_ref(const levada_block *block);
/* Drops the reference and sets *block to NULL; accepts NULL. The last unref frees the block on the
 * calling thread. */
LEVADA_API void levada_block_unref(levada_block **block);

/* Returns the number of rows. */
LEVADA_API int64_t            levada_block_rows(const levada_block *block);
/* Returns the columns of the block, borrowed for its life. */
LEVADA_API const levada_spec *levada_block_spec(const levada_block *block);
/* Returns true if the caller holds the only reference, so that it may write values. */
LEVADA_API bool levada_block_exclusive(const levada_block *block);
/* Returns the bytes of memory that the block keeps alive. If the block is a part of another block,
 * it counts its share of the rows, whatever their lengths. */
LEVADA_API int64_t levada_block_bytes(const levada_block *block);

/* Return the column with this name or number, or NULL if the block does not have it. */
LEVADA_API const levada_column *levada_block_column(const levada_block *block, const char *name);
LEVADA_API const levada_column *levada_block_at(const levada_block *block, int32_t i);

/* Returns the first origin part, which every record has. */
LEVADA_API levada_origin levada_block_origin(const levada_block *block, int64_t row);
/* Return the largest number of origin parts that a record of the block has, 1 to
 * LEVADA_ORIGIN_PARTS; and one origin part of a record, whose source is -1 if the record does not
 * have it. */
LEVADA_API int32_t       levada_block_origin_parts(const levada_block *block);
LEVADA_API levada_origin levada_block_origin_part(const levada_block *block, int64_t row,
                                                  int32_t part);

/* Return a column's values as a typed array, or NULL if the dtype differs. */
LEVADA_API const int64_t *levada_column_i64(const levada_column *column);
LEVADA_API const int32_t *levada_column_i32(const levada_column *column);
LEVADA_API const float   *levada_column_f32(const levada_column *column);
LEVADA_API const double  *levada_column_f64(const levada_column *column);
LEVADA_API const uint8_t *levada_column_u8(const levada_column *column); /* also BOOL: 0 or 1 */
/* Returns the byte string of a row of a BYTES column of depth 0 without dims, and its size in
 * *size. */
LEVADA_API const uint8_t *levada_column_bytes(const levada_column *column, int64_t row,
                                              int64_t *size);
/* Returns dimension d of a FIXED column as an array [n, dims...]: d = 0 is n; -1 after the last. */
LEVADA_API int64_t levada_column_dim(const levada_column *column, int32_t d);
/* Returns the length of row `row`: the rows of the next level that it covers in a ragged column,
 * its length before padding in a padded column, or the first dimension of a FIXED column. */
LEVADA_API int64_t levada_column_length(const levada_column *column, int64_t row);

/* Returns the number of values (strings of a BYTES column) in one row after the ragged levels: the
 * product of dims, or 1 for a scalar. Row i of the last level begins at value i *
 * levada_column_inner(). */
LEVADA_API int64_t levada_column_inner(const levada_column *column);

/* Return the members of a column, for languages that do not read this header. They are borrowed
 * like the column. */
LEVADA_API const levada_field *levada_column_field(const levada_column *column);
LEVADA_API int64_t             levada_column_rows(const levada_column *column);
LEVADA_API const void         *levada_column_values(const levada_column *column);
/* Returns the lengths [rows] before padding of a padded column, else NULL. */
LEVADA_API const int32_t *levada_column_lengths(const levada_column *column);
/* Return the begins and ends of the ranges of a level, 0 to depth - 1 (BYTES: to depth); else
 * NULL. */
LEVADA_API const int32_t *levada_column_begins(const levada_column *column, int32_t level);
LEVADA_API const int32_t *levada_column_ends(const levada_column *column, int32_t level);

#ifdef __cplusplus
}
#endif

#endif
