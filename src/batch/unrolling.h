/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments of sequences: how the stage `unroll` cuts a record, and what a batch of segments looks
 * like.
 *
 * A sequence of n steps has segments of `width` steps. Segment s begins at step s * (width -
 * overlap), so that each segment repeats the last `overlap` steps of the one before. With shift =
 * k, step t of a target is step t + k of its field, and the last k steps of a record have no
 * segment of their own: each step that is emitted has a target.
 */
#ifndef LEVADA_BATCH_UNROLLING_H
#define LEVADA_BATCH_UNROLLING_H

#include "tensor/block_priv.h"
#include <levada/option.h>

enum { LEVADA_UNROLL_ERROR,
       LEVADA_UNROLL_SKIP,
       LEVADA_UNROLL_SEGMENT }; /* zero_length */

typedef struct levada_unrolling {
    int64_t width, overlap, shift, least; /* least: fewest new steps in a segment          */
    int64_t zero_length;
    bool whole; /* refuse sequences that do not fill their last segment                 */
    const char *key, *length; /* fields, or NULL                                               */
    levada_texts sequences;    /* none = all that are ragged                                    */
    levada_texts context;      /* none = all others                                             */
    levada_texts targets;      /* none = all sequences; only with a shift                       */
    const levada_value *padding; /* of steps: map field -> value, or one for all; NULL = 0       */
    bool ready;        /* the columns of the layout ready                               */
    const levada_spec *states; /* its states, or NULL; fields of their names are initial states */
} levada_unrolling;

/* The column that numbers the batches of the layout ready. */
#define LEVADA_UNROLL_NUMBER "batch_number"

/* What becomes of a field. */
typedef enum levada_unroll_part {
    LEVADA_UNROLL_NOTHING,
    LEVADA_UNROLL_CONTEXT,  /* one value for each row              */
    LEVADA_UNROLL_STEPS,    /* cut into segments                   */
    LEVADA_UNROLL_TARGETS   /* the same, and once more for targets */
} levada_unroll_part;

levada_unroll_part levada_unrolling_part(const levada_unrolling *u, const levada_field *f);
/* Returns the padding of the steps of field `from` in a column of the batch: that of the column's
 * own name, else that of `from`, else the one for all; NULL = 0. */
const levada_value *levada_unrolling_padding(const levada_unrolling *u, const char *column,
                                             const char *from);

/* A row of a batch. */
typedef struct levada_cut {
    int64_t row;      /* of the selection that has the records; -1 = no sequence */
    int64_t number;   /* of the sequence, in the order of arrival                */
    int64_t segment, segments;
    int64_t begin, size; /* its steps */
    int64_t steps;       /* of the sequence */
} levada_cut;

/* Key and states of the sequence in a row of the layout ready. */
typedef struct levada_unroll_row {
    const uint8_t *key;
    int64_t key_size;
    const uint8_t *states; /* one after another */
} levada_unroll_row;

/* What a batch of the layout ready has besides its segments. */
typedef struct levada_unroll_taken {
    const levada_unroll_row *rows;
    const size_t *at; /* one for each state, and the end: where its values are in those of a row */
    int64_t number;   /* of the batch */
} levada_unroll_taken;

/* Makes the columns of a batch: sequences [rows, width, ...] with lengths, targets FIELD_target,
 * context, then those of the layout, and loss_mask [rows, width] where segments overlap. Those of
 * slots are key, is_first, is_last, is_empty, slot, segment, length; those of ready are key,
 * next_key, is_first, is_last, sequence, sequence_count, length, total_length, insertion_index,
 * batch_number, and after loss_mask the states. Ragged context stays ragged, and so do steps that
 * are ragged themselves: a row has `width` of them, and those of padding are empty.
 * EINVALID_ARGUMENT where a field cannot be cut, padding does not fit, or a name is taken. */
LEVADA_MUST_USE levada_status levada_unrolling_spec(const levada_unrolling *u,
                                                    const levada_spec *in, levada_spec **out,
                                                    levada_error *err);
/* Measures the steps that are cut of record `row` of a block of any kind: those of its sequences,
 * or of its length field, without the shift; 0 or more. EINVALID_ARGUMENT: the record is bad,
 * because its sequences differ in length, or are shorter than its length field says. */
LEVADA_MUST_USE levada_status levada_unrolling_measure(const levada_unrolling *u,
                                                       const levada_block *block, int64_t row,
                                                       int64_t *steps, levada_error *err);
/* Segments of a record of that many steps. 0: it is skipped. EINVALID_ARGUMENT: it is bad. */
LEVADA_MUST_USE levada_status levada_unrolling_count(const levada_unrolling *u, int64_t steps,
                                                     int64_t *segments, levada_error *err);
/* Counts the steps of a record that are in none of its segments: those that `least` drops. */
int64_t levada_unrolling_dropped(const levada_unrolling *u, int64_t steps, int64_t segments);
/* Places segment number cut->segment of a record of that many steps: sets begin, size and steps. */
void levada_unrolling_place(const levada_unrolling *u, int64_t steps, levada_cut *cut);
/* Makes a batch of n segments of the records in `rows`, a selection. `spec` is what
 * levada_unrolling_spec made of the columns of `rows`. Row i of the batch is slot i, or row i of
 * `taken` (NULL in the layout slots). */
LEVADA_MUST_USE levada_status levada_unrolling_batch(const levada_unrolling *u, levada_pool *pool,
                                                     const levada_block *rows,
                                                     const levada_cut *cuts, int64_t n,
                                                     const levada_unroll_taken *taken,
                                                     const levada_spec *spec, levada_block **out,
                                                     levada_error *err);

#endif
