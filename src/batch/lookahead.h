/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Look-ahead: batches from a window of records that is sorted by length, without boundaries.
 *
 * When `records` records are buffered, they are sorted and cut into batches. With one length and a
 * budget these are the cuts that pad least, where a batch has a price of half a budget (cuts.h);
 * otherwise batches are as large as possible, from the longest down. The half of the records whose
 * batches waste the least leaves, in random order; the others wait for the next window, where
 * records of their lengths are denser.
 * No record waits for more than LEVADA_LOOKAHEAD_AGE windows (but see `world`). At the end of the
 * input all batches leave.
 *
 * It works on groups of a grouping: 0 buffers the records, first those that wait, with their ages,
 * then those of planned batches, the next batch last; 1 is the batch that leaves. Batches follow
 * from the records and from (seed, epoch, pass). One thread at a time.
 */
#ifndef LEVADA_BATCH_LOOKAHEAD_H
#define LEVADA_BATCH_LOOKAHEAD_H

#include "batch/cost.h"
#include <levada/stage.h>

#define LEVADA_LOOKAHEAD_GROUPS 2
#define LEVADA_LOOKAHEAD_AGE 4
#define LEVADA_LOOKAHEAD_MOST (1 << 24)

typedef struct levada_lookahead {
    int64_t            records;
    int64_t            batch_size; /* largest number of records in a batch */
    const levada_cost *cost;
    bool               drop_rest; /* a batch at the end that could hold more records */
    /* Ranks in step: batches have a multiple of `world` records, at least 1. The few shortest ones
     * that are left wait; at the end they are a batch if they are to be filled, else they stay. */
    int64_t world;
    bool    fill;
    /* saved: */
    int64_t  drawn;   /* random numbers */
    int64_t *batches; /* sizes of planned batches, the next one last */
    int64_t  nbatches, batches_capacity;
    uint8_t *ages; /* of the records that wait, in windows */
    int64_t  nages, ages_capacity;
} levada_lookahead;

void levada_lookahead_clear(levada_lookahead *ahead);
/* Buffers the next `rows` arrivals or fewer, or moves the next batch to group 1: *full = 1. AGAIN:
 * the cost has no answer yet. */
LEVADA_MUST_USE levada_status levada_lookahead_place(levada_lookahead *ahead, levada_grouping *g,
                                                     int64_t rows, int64_t *full,
                                                     levada_error *err);
/* Emits the next batch after the last arrival, while there are any. */
LEVADA_MUST_USE levada_status levada_lookahead_end(levada_lookahead *ahead, levada_grouping *g,
                                                   int64_t *full, levada_error *err);
LEVADA_MUST_USE levada_status levada_lookahead_save(const levada_lookahead *ahead,
                                                    levada_state_writer *to, levada_error *err);
LEVADA_MUST_USE levada_status levada_lookahead_restore(levada_lookahead      *ahead,
                                                       const levada_grouping *g,
                                                       levada_state_reader   *from,
                                                       levada_error          *err);

#endif
