/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks from the inside: see levada/block.h for what they are.
 *
 * A DATA block owns columns. A SELECTION names rows of DATA blocks (never of other selections) and
 * copies nothing; levada_block_gather makes a DATA block of it.
 *
 * Origins are divided into origin parts: the first is what every block has, `more` are those that a
 * zip added, nmore of them. Each origin part is a run or an array, independent of the others, so
 * that a zip of two sources in order has two runs and no array. Code that moves rows moves all
 * origin parts (levada_block_copy_origins, slices); code that only needs the name of a record reads
 * the first and never looks whether there are more. A selection may name blocks with different
 * numbers of origin parts; what a record lacks is an origin whose source is -1.
 */
#ifndef LEVADA_TENSOR_BLOCK_PRIV_H
#define LEVADA_TENSOR_BLOCK_PRIV_H

#include "tensor/pool.h"
#include <levada/block.h>
#include <levada/builder.h>
#include <levada/stage.h>

typedef enum levada_block_kind { LEVADA_BLOCK_DATA, LEVADA_BLOCK_SELECTION } levada_block_kind;

/* Origins of the rows: a run (record first + i, offset base + begin[i]), or one for each row. */
typedef struct levada_origins {
    levada_origin  first;  /* of a run: source, pass, shard, record, offset of row 0          */
    const int32_t *begin;  /* of a run: row i is at first.offset + begin[i] - begin[0]; NULL
                            * = offsets are -1                                                 */
    levada_buffer       *owner; /* keeps begin or each alive                                   */
    const levada_origin *each;  /* not NULL: one for each row                                  */
} levada_origins;

/* What a reject costs, and where that is counted (skip/skips.h): a record, or damage in a file. All
 * zero while only its row and its cause are known. */
typedef struct levada_loss {
    struct levada_skip_counts *counts; /* NULL = nobody has judged it yet */
    int64_t lost, total;    /* for a share: bad records there up to this one, and all; or 0     */
    int64_t most;           /* the budget, as levada_policy has it                              */
    double  share;
    int64_t records;        /* 1, or 0 = no record is known to be lost                          */
    int64_t unseen;         /* further records, estimated; -1 = their number is unknown         */
    int64_t damaged;        /* bytes            */
    int64_t dropped;        /* records          */
    int32_t missing, empty; /* files            */
    bool    skip, noted;    /* noted: its cause is listed                                       */
    bool    piped;          /* in a pipe: the combiner that opened that numbers it              */
} levada_loss;

/* Something that was skipped. In a list (skip/rejects.h) the rows from `row` on came after it. In
 * the block of a maker that has not been judged, `row` is that of the bad record itself, or of a
 * good one that is only noted (levada_builder_note). */
typedef struct levada_reject {
    int64_t      row;
    levada_error why;
    levada_loss  loss;
} levada_reject;

/* Returns true if a stage wants its record noted, not rejected; until somebody has judged it. */
static inline bool levada_reject_is_note(const levada_reject *reject)
{
    return reject->loss.noted && reject->loss.records == 0;
}

/* What is known of a batch as a whole, and its rows do not say. Counted and immutable: many batches
 * share one. A part of a batch has the layout of the whole. */
typedef struct levada_layout {
    atomic_int refs;
    int64_t    bound; /* length that open dimensions are padded to; -1 = the longest of the batch */
    bool       filled; /* the last row is a copy that makes batches of all ranks equally large */
    /* LEVADA_MAX_DIMS lengths for each column, owned: open dimensions are padded to these at least,
     * because other ranks have rows as long; NULL = none. */
    int64_t   *least;
    int32_t    columns; /* that it has lengths of */
    /* The keys by which the rows were chosen, whose lengths they must have (keys.h); a reference,
     * NULL = the records themselves. */
    struct levada_block *keys;
    int64_t    n;      /* groups of neighboring rows, each of which becomes one record; 0 = none  */
    int32_t    ends[]; /* where each of them ends, ascending; the last one is the number of rows */
} levada_layout;

struct levada_block {
    atomic_int       refs;
    uint8_t          kind;
    bool             encoded; /* some of its columns are (tensor/encoded.h), or of those it names */
    int64_t          n, bytes;
    levada_spec     *spec;
    levada_column   *columns; /* DATA: one for each field of spec; in the block's own allocation */
    levada_block   **from;    /* SELECTION: DATA blocks, a reference each; one may come twice    */
    int32_t          nfrom;
    const uint32_t  *which, *row; /* SELECTION: record i is row[i] of from[which[i]]             */
    levada_buffer   *index_owner; /* keeps which and row alive                                   */
    /* DATA only: of the first origin part */
    levada_origins   origins;
    int32_t          nmore; /* further origin parts                                               */
    levada_origins   more[LEVADA_ORIGIN_PARTS - 1];
    levada_layout   *layout;      /* from batching to padding, a reference; NULL = nothing       */
    int32_t          nrejects;
    levada_reject   *rejects;     /* marks of its maker, until its node has taken them           */
};

/* Creates a layout of a batch, with `filled` false. */
LEVADA_MUST_USE levada_status levada_layout_create(int64_t bound, levada_layout **out,
                                                   levada_error *err);
/* Creates the layout of one rank's rows: `least`, zero at first, is for the lengths that its ragged
 * columns are padded to, LEVADA_MAX_DIMS for each of `columns`. */
LEVADA_MUST_USE levada_status levada_layout_create_least(int32_t columns, int64_t bound,
                                                         levada_layout **out, levada_error *err);
/* Creates the layout of a block whose rows form n groups; copies `ends`. */
LEVADA_MUST_USE levada_status levada_layout_create_ends(const int32_t *ends, int64_t n,
                                                        levada_layout **out, levada_error *err);
/* Sets the layout of a block of rows [first, first + block->n) of a larger one to its share of that
 * one's. A group that is cut becomes a group of the rows that remain. */
LEVADA_MUST_USE levada_status levada_block_slice_layout(levada_block *block, levada_layout *from,
                                                        int64_t first, levada_error *err);
levada_layout *levada_layout_ref(levada_layout *layout); /* accepts NULL */
void levada_layout_unref(levada_layout **layout);
/* Adds a reference to a layout, which may be NULL, to a block that is not published yet. */
void levada_block_set_layout(levada_block *block, levada_layout *layout);
/* Returns the bound of its layout, -1 if it has none. */
int64_t levada_block_bound(const levada_block *block);
/* Returns the ends of its groups, *n of them; NULL and 0 if its layout has none. */
const int32_t *levada_block_ends(const levada_block *block, int64_t *n);

/* Creates an empty DATA block with space for spec's columns (all zero but field and n). */
LEVADA_MUST_USE levada_status levada_block_create(const levada_spec *spec, int64_t n,
                                                  levada_block **out, levada_error *err);
/* Makes a builder that takes its memory from a pool. */
LEVADA_MUST_USE levada_status levada_builder_make(levada_pool *pool, const levada_spec *spec,
                                                  int64_t rows, levada_builder **out,
                                                  levada_error *err);
/* Sets the origins of the finished block to those of another block with the same rows, in all
 * origin parts. */
LEVADA_MUST_USE levada_status levada_block_copy_origins(levada_pool *pool, levada_block *to,
                                                        const levada_block *from,
                                                        levada_error *err);
/* Sets the origins of a block that has none yet to those of the rows of another DATA block from
 * `first` on. */
void levada_block_slice_origins(levada_block *to, const levada_block *from, int64_t first);
/* Returns the key of the random numbers of a stage in an epoch: of its option `seed`, or
 * LEVADA_NULL_INT for the seed of the iterator. */
uint64_t levada_draw_key(const levada_context *context, int64_t seed);
/* Returns that key mixed with the origin of a row: the key of the random numbers of that record,
 * which do not depend on threads, block sizes, ranks or saves. */
uint64_t levada_block_row_key(const levada_block *block, int64_t row, uint64_t key);
/* Appends the origin parts of another DATA block with the same rows to those of `to`. */
void levada_block_join_origins(levada_block *to, const levada_block *from);
/* Drops the origin parts after the first. */
void levada_block_drop_origin_parts(levada_block *block);
/* Copies the first `nparts` origins of each row, row by row, to `to`: n * nparts of them.
 * levada_block_put_origins copies them back. */
void levada_block_get_origins(const levada_block *block, int32_t nparts, levada_origin *to);
LEVADA_MUST_USE levada_status levada_block_put_origins(levada_pool *pool, levada_block *block,
                                                       const levada_origin *from, int32_t nparts,
                                                       levada_error *err);
/* Reserves n origins in each of `nparts` origin parts, which the caller fills in; those that it had
 * are dropped. */
LEVADA_MUST_USE levada_status levada_block_reserve_origins(levada_pool *pool, levada_block *block,
                                                        int32_t        nparts,
                                                        levada_origin *each[LEVADA_ORIGIN_PARTS],
                                                        levada_error  *err);
/* Makes a selection of parts; takes the references in from[] (n_from of them) on success. which and
 * row are in *index (taken). */
LEVADA_MUST_USE levada_status levada_block_selection(levada_block **from, int32_t nfrom,
                                                     const uint32_t *which, const uint32_t *row,
                                                     int64_t n, levada_buffer **index,
                                                     levada_block **out, levada_error *err);
/* Gathers a DATA block with the rows of `block`, all columns decoded: a new reference where it is
 * one already, else a copy. */
LEVADA_MUST_USE levada_status levada_block_gather(levada_pool *pool, const levada_block *block,
                                                  levada_block **out, levada_error *err);
/* Copies the rows, but leaves encoded columns encoded if possible (tensor/encoded.h): the copy
 * takes no more memory than its rows did. */
LEVADA_MUST_USE levada_status levada_block_compact(levada_pool *pool, const levada_block *block,
                                                   levada_block **out, levada_error *err);
/* Returns rows [first, first + n): shares everything. */
LEVADA_MUST_USE levada_status levada_block_slice(levada_pool *pool, const levada_block *block,
                                                 int64_t first, int64_t n, levada_block **out,
                                                 levada_error *err);
/* Copies the rows to a block that nobody else has. */
LEVADA_MUST_USE levada_status levada_block_copy_rows(const levada_block *block, levada_block **out,
                                                     levada_error *err);
/* Returns the DATA block and row that row i of any block is. */
static inline const levada_block *levada_block_row(const levada_block *block, int64_t i,
                                                   int64_t *row)
{
    if (block->kind == LEVADA_BLOCK_DATA) {
        *row = i;
        return block;
    }
    *row = block->row[i];
    return block->from[block->which[i]];
}

#endif
