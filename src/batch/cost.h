/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a batch costs. A budget limits the cost of its padded form: its number of records, times the
 * cost of one record that is padded to the longest of the batch. A record has up to
 * LEVADA_GROUP_KEYS lengths, such as those of a source and a target sequence.
 *
 *     linear      sum of the padded lengths: the elements of the batch
 *     quadratic   sum of their squares: self-attention
 *     2d          their product: a table of source by target, such as that of a transducer
 *     function    computed by the user from the padded lengths (cost_function.h)
 *
 * Costs are doubles. A budget is less than 2^53. Integers up to there are exact, and no larger one
 * rounds to less, so a batch of whole costs never exceeds its budget. A cost of 0 counts as 1, so
 * that a budget bounds records without elements too. Pure, any thread; but one thread at a time for
 * a cost with a function.
 */
#ifndef LEVADA_BATCH_COST_H
#define LEVADA_BATCH_COST_H

#include "base/compiler.h"
#include "batch/grouping.h"

#define LEVADA_COST_MOST ((INT64_C(1) << 53) - 1) /* largest budget */

typedef struct levada_cost_function levada_cost_function;

typedef enum levada_cost_kind {
    LEVADA_COST_LINEAR,
    LEVADA_COST_QUADRATIC,
    LEVADA_COST_2D,
    LEVADA_COST_FUNCTION
} levada_cost_kind;

typedef struct levada_cost {
    levada_cost_kind      kind;
    int32_t               fields;   /* lengths of a record */
    int64_t               budget;   /* largest cost of a batch; INT64_MAX = none */
    int64_t               multiple; /* padded lengths are rounded up to this; 1 = not */
    int64_t               width[LEVADA_GROUP_KEYS]; /* padded length, if fixed; else -1 */
    int64_t ranks; /* that share the records of a batch; 0 or 1 = one */
    levada_cost_function *function; /* borrowed; of LEVADA_COST_FUNCTION */
} levada_cost;

/* Returns the padded length of field `i` in a batch whose longest record has `longest`. */
static inline int64_t levada_cost_length(const levada_cost *cost, int32_t i, int64_t longest)
{
    int64_t m = cost->multiple;

    if (cost->width[i] >= 0) return cost->width[i];
    if (longest <= 0) return 0;
    return m > 1 && longest <= INT64_MAX - m ? (longest + m - 1) / m * m : longest;
}

/* Computes all costs but the linear one of a single field. */
LEVADA_MUST_USE levada_status levada_cost_compute(const levada_cost *cost, const int64_t *longest,
                                                  double *out, levada_error *err);

/* Computes the cost of one record in a batch with these longest lengths. Returns AGAIN if a
 * function has no answer yet. */
LEVADA_MUST_USE static inline levada_status levada_cost_record(const levada_cost *cost,
                                                               const int64_t     *longest,
                                                               double *out, levada_error *err)
{
    int64_t length;

    if (cost->kind != LEVADA_COST_LINEAR || cost->fields != 1) {
        return levada_cost_compute(cost, longest, out, err);
    }
    length = levada_cost_length(cost, 0, longest[0]);
    *out = length > 1 ? (double)length : 1;
    return LEVADA_OK;
}

/* Computes the costs that a function has not computed yet, of `rows` records with these lengths, in
 * one call. Nothing to do for other costs. */
LEVADA_MUST_USE levada_status levada_cost_learn(const levada_cost *cost, const int64_t *lengths,
                                                int64_t rows, levada_error *err);

/* Returns true if `records` records, at least one, that cost `each` exceed the budget. */
static inline bool levada_cost_exceeds(const levada_cost *cost, int64_t records, double each)
{
    if (cost->ranks > 1) records = (records + cost->ranks - 1) / cost->ranks;
    return (double)records * each > (double)cost->budget;
}

#endif
