/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buckets of records by length: which batch is full, and what waits in which bucket.
 *
 * All rows lie in one row store; a bucket is a list of slots. A block that comes in is stored
 * whole, and its rows that were not dealt out yet are a list of slots too, so that a batch may
 * leave in the middle of a block and a state needs no half-used block.
 */
#ifndef LEVADA_BATCH_BUCKETS_H
#define LEVADA_BATCH_BUCKETS_H

#include "tensor/block_priv.h"
#include <levada/rowstore.h>

typedef struct levada_buckets_config {
    const char    *length;
    const int64_t *boundaries, *sizes; /* borrowed */
    int64_t        nboundaries, nsizes;
    int64_t        max_tokens; /* 0 = by sizes */
    int64_t        multiple;   /* padded lengths are rounded up to this; 1 = not */
    int64_t        width;      /* padded length where padded_shapes gives it; -1 = the longest */
    bool           drop_remainder, bounded;
} levada_buckets_config;

typedef struct levada_bucket {
    uint32_t *slots;
    int64_t   n, capacity;
    int64_t   size;    /* records in a batch      */
    int64_t   longest; /* of the rows that wait   */
    levada_layout *layout; /* of its batches        */
} levada_bucket;

typedef struct levada_buckets {
    levada_buckets_config config;
    const levada_context *context;
    levada_rowstore      *store;
    levada_bucket        *buckets; /* nboundaries + 1 */
    uint32_t             *dealt;   /* slots of the last block */
    int64_t              *lengths; /* and their lengths       */
    int64_t               at, n, capacity;
    uint16_t             *table; /* bucket of each length below LEVADA_BUCKETS_TABLE */
} levada_buckets;

#define LEVADA_BUCKETS_TABLE 4096

/* That `length` is a field with a first dimension, an integer or a byte string. */
LEVADA_MUST_USE levada_status levada_buckets_check_length(const char *length, const levada_spec *in,
                                                          levada_error *err);
LEVADA_MUST_USE levada_status levada_buckets_open(levada_buckets              *b,
                                                  const levada_buckets_config *config,
                                                  const levada_context *context, levada_error *err);
void levada_buckets_close(levada_buckets *b);
/* The next full batch as a selection, with its bound where the configuration asks for it. */
LEVADA_MUST_USE levada_status levada_buckets_next(levada_buckets *b, levada_input *in,
                                                  levada_block **out, levada_error *err);
LEVADA_MUST_USE levada_status levada_buckets_save(const levada_buckets *b, levada_state_writer *to,
                                                  levada_error *err);
LEVADA_MUST_USE levada_status levada_buckets_restore(levada_buckets      *b,
                                                     levada_state_reader *from, levada_error *err);

#endif
