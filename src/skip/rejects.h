/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of rejects: what was skipped between records, on the way to the consumer, which counts it
 * (skip/skips.h). The maker of a block marks bad rows in the block itself; its node then moves the
 * marks into a list. All zeros are an empty list. A list owns its rejects, and belongs to one
 * thread at a time.
 */
#ifndef LEVADA_SKIP_REJECTS_H
#define LEVADA_SKIP_REJECTS_H

#include "state/state_priv.h"
#include "tensor/block_priv.h"

typedef struct levada_rejects {
    levada_reject *list; /* n of them, ascending by row */
    int64_t        capacity;
    int32_t        n;
} levada_rejects;

void levada_rejects_clear(levada_rejects *rejects);
/* Appends copies of n rejects. */
LEVADA_MUST_USE levada_status levada_rejects_add(levada_rejects *to, const levada_reject *rejects,
                                                 int32_t n, levada_error *err);
/* Moves the marks of a block that nobody else has into an empty list. */
void levada_rejects_take(levada_rejects *to, levada_block *block);

/* Saves a list beside the entry `key` of its rows. */
LEVADA_MUST_USE levada_status levada_rejects_save(const levada_rejects *rejects,
                                                  levada_state_writer *to, const char *key,
                                                  levada_error *err);
/* Restores an empty list of rejects of `rows` rows; leaves it empty if the state has none. `find`
 * returns the counts of a place by its path, NULL if there is none. */
LEVADA_MUST_USE levada_status
levada_rejects_restore(levada_rejects *rejects, int64_t rows, levada_state_reader *from,
                       const char *key,
                       struct levada_skip_counts *(*find)(void *user, const char *path),
                       void *user, levada_error *err);

#endif
