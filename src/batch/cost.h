/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a batch costs: the elements of its padded form, which is its number of records times the
 * length that they are padded to. A budget limits them.
 */
#ifndef LEVADA_BATCH_COST_H
#define LEVADA_BATCH_COST_H

#include <stdbool.h>
#include <stdint.h>

typedef struct levada_cost {
    int64_t budget;   /* most elements                                              */
    int64_t multiple; /* padded lengths are rounded up to this; 1 = not             */
    int64_t width;    /* padded length, where it is the same for all batches; or -1 */
} levada_cost;

/* The padded length of a batch whose longest record is this; at least 1, so that a budget bounds
 * records without elements too. */
static inline int64_t levada_cost_length(const levada_cost *cost, int64_t longest)
{
    int64_t m = cost->multiple, length = longest;

    if (cost->width >= 0) {
        length = cost->width;
    } else if (m > 1 && longest > 0 && longest <= INT64_MAX - m) {
        length = (longest + m - 1) / m * m;
    }
    return length > 1 ? length : 1;
}

/* Whether a batch of n records, at least one, exceeds the budget. */
static inline bool levada_cost_exceeds(const levada_cost *cost, int64_t records, int64_t longest)
{
    return levada_cost_length(cost, longest) > cost->budget / records;
}

#endif
