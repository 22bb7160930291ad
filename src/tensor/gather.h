/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gathering: columns of the rows of a selection, each in one piece of memory. It is the one copy of
 * a record on its way to a batch, or none: if the selection names all rows of one block in their
 * order and nobody else has that block, the columns that are in one piece already are passed on.
 */
#ifndef LEVADA_TENSOR_GATHER_H
#define LEVADA_TENSOR_GATHER_H

#include "tensor/block_priv.h"

/* Rows [row, end) of block `which` of the selection. */
typedef struct levada_gather_run {
    uint32_t which, row, end;
} levada_gather_run;

/* A selection as runs of neighboring rows, found once for all columns. All-zero is a valid empty
 * one. */
typedef struct levada_gather {
    const levada_block *from; /* borrowed */
    levada_gather_run  *runs;
    int64_t             nruns;
    bool                whole;   /* columns may be passed on                                */
    bool                compact; /* encoded columns stay encoded where they can (encoded.h) */
} levada_gather;

LEVADA_MUST_USE levada_status levada_gather_open(levada_gather *gather, const levada_block *from,
                                                 levada_error *err);
void levada_gather_close(levada_gather *gather);

/* Fills a field of a builder with the column of the same number. */
LEVADA_MUST_USE levada_status levada_gather_column(const levada_gather *gather, int32_t field,
                                                   levada_builder *b, levada_error *err);
/* Sets the origins of the finished block to those of `from`, of which `gather` may be empty. */
LEVADA_MUST_USE levada_status levada_gather_origins(const levada_gather *gather,
                                                    const levada_block *from, levada_pool *pool,
                                                    levada_block *to, levada_error *err);
/* Fills a field with the decoded values of an encoded column of a DATA block. */
LEVADA_MUST_USE levada_status levada_gather_decoded(levada_builder *b, int32_t field,
                                                    const levada_block *from, levada_error *err);

/* Rows [begin, end) of a level of a column that is not encoded. */
typedef struct levada_gather_range {
    const levada_column *column;
    int32_t              begin, end;
} levada_gather_range;

/* Fills a field from `level` on with the rows of n ranges of that level, of columns that have the
 * dimensions that were set for the field. `ranges` come from levada_alloc and are freed. */
LEVADA_MUST_USE levada_status levada_gather_ranges(levada_builder *b, int32_t field,
                                                   int32_t level, levada_gather_range *ranges,
                                                   int64_t n, levada_error *err);

#endif
