/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoded columns: values that are still in the form in which they came from a file.
 *
 * A decoder may leave the numbers of a column where they are and only count and check them. The
 * column then has its levels, its dims and its dtype as if it were decoded, but `values` is NULL
 * and `encoded` lists items. An item is the encoded form of one row of the level `encoded->level`:
 * either of the last ragged level (a list of any length) or of the values themselves
 * (levada_column_inner() numbers). Elements of a list may be runs of levada_column_inner() numbers
 * with a gap of constant size between two of them. The stage that makes a batch decodes each item
 * once, straight to its place.
 *
 * Only DATA blocks that a decoder made have such columns, and slices and blocks that share them.
 * levada_block_gather and levada_pad_block decode them. The core decodes all of them
 * (levada_block_decoded) before it hands a block to users, to plug-ins and to all stages but those
 * that say that they can do without values (levada_late). So code that reads `values` needs to know
 * nothing of this.
 *
 * An item was checked when its column was made: decoding cannot fail. The list of items is counted
 * and immutable; slices and blocks that share the column share it. It keeps the memory of the items
 * alive. Any thread may decode.
 */
#ifndef LEVADA_TENSOR_ENCODED_H
#define LEVADA_TENSOR_ENCODED_H

#include "base/kernels.h"
#include "tensor/block_priv.h"

/* levada_stage_def.late: whether a stage reads blocks with encoded columns. */
typedef enum levada_late {
    LEVADA_LATE_NO,    /* it looks at values: columns are decoded before it          */
    LEVADA_LATE_PASS,  /* it passes columns on: as its consumer says                 */
    LEVADA_LATE_TAKES  /* it moves rows by reference, or makes batches of them       */
} levada_late;

typedef enum levada_encoding {
    LEVADA_ENCODING_VARINTS, /* packed varints; the column is of int64, uint64 or int32      */
    LEVADA_ENCODING_ELEMENTS /* the elements themselves, little-endian and not aligned       */
} levada_encoding;

/* LEVADA_KERNEL_SLACK bytes after it are readable. */
typedef struct levada_encoded_item {
    const uint8_t *at;
    int32_t        size;  /* bytes                                  */
    int32_t        count; /* elements that it decodes to            */
} levada_encoded_item;

typedef struct levada_encoded {
    atomic_int            refs;
    levada_encoding       encoding;
    int32_t               level;
    int32_t               gap; /* of elements: bytes between two runs; 0 = an item is one run */
    const levada_kernels *kernels;
    const levada_encoded_item    *items;
    levada_buffer        *items_owner, *bytes_owner; /* a reference each */
} levada_encoded;

levada_encoded *levada_encoded_ref(levada_encoded *encoded); /* NULL returns NULL */
void            levada_encoded_unref(levada_encoded **encoded);

/* Adds n items to the field of a builder, to be filled in, with the encoding, level, gap and
 * kernels of `how`. Its levels and dims may be set before or after. Their bytes belong to `owner`
 * (may be NULL; a reference is added), or to memory of the block (levada_builder_encoded_bytes). */
LEVADA_MUST_USE levada_status levada_builder_encoded(levada_builder *b, int32_t field,
                                                     const levada_encoded *how, int64_t n,
                                                     const levada_buffer *owner,
                                                     levada_encoded_item **out, levada_error *err);
/* Reserves `size` bytes for the items of such a field, with slack. */
LEVADA_MUST_USE levada_status levada_builder_encoded_bytes(levada_builder *b, int32_t field,
                                                           int64_t size, uint8_t **out,
                                                           levada_error *err);

/* Returns the first of the items of rows from `row` on of the level that has items. */
static inline const levada_encoded_item *levada_column_items(const levada_column *c, int64_t row)
{
    return c->encoded->items + (c->encoded->level ? 0 : c->encoded_first) + row;
}

/* Returns true if the items of an encoded column are those of a column of dtype `to` as well: whole
 * numbers of up to 28 bits are the same varints in int32, int64 and uint64. */
bool levada_items_fit(const levada_column *c, levada_dtype to);

/* Decodes n items one after the other to `to`, after which LEVADA_SLACK bytes are overwritten.
 * Returns the end of what it decoded. */
uint8_t *levada_items_decode(const levada_column *c, const levada_encoded_item *items, int64_t n,
                             uint8_t *to);

/* Returns a block without encoded columns: a new reference if it has none, else one that shares its
 * decoded columns; a selection that names encoded ones is gathered. */
LEVADA_MUST_USE levada_status levada_block_decoded(levada_pool *pool, const levada_block *block,
                                                   levada_block **out, levada_error *err);
/* Makes a DATA block that shares the columns of another one, of which `field` is decoded. Without
 * its rejects. */
LEVADA_MUST_USE levada_status levada_block_decode_column(levada_pool *pool,
                                                         const levada_block *block, int32_t field,
                                                         levada_block **out, levada_error *err);
/* Decodes the first one in place: *block is replaced. */
LEVADA_MUST_USE levada_status levada_block_decode(levada_pool *pool, levada_block **block,
                                                  levada_error *err);

#endif
