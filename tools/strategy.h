/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What padding costs: ways to make batches of sequences, tried out on their lengths.
 *
 * Costs are those of steady running, with batches of at most `budget` cells (tokens, padding
 * counted). A sequence longer than the budget makes a batch of its own.
 */
#ifndef LEVADA_TOOLS_STRATEGY_H
#define LEVADA_TOOLS_STRATEGY_H

#include <levada/error.h>

/* Lengths, counted: `at` distinct ones, rising, and how often each occurs. */
typedef struct levada_cli_lengths {
    const int64_t *all; /* every length, in the order of the records */
    int64_t        n;
    const int64_t *at, *count;
    int64_t        distinct;
    int64_t        sum;
} levada_cli_lengths;

typedef struct levada_cli_cost {
    double  padding;          /* part of all cells                    */
    double  tokens_per_batch; /* mean                                 */
    int64_t shapes;           /* how many row lengths; -1 = any       */
} levada_cli_cost;

#define LEVADA_CLI_MAX_BUCKETS 64

/* `rows` records at random in each batch, padded to the longest. */
levada_cli_cost levada_cli_cost_random(const levada_cli_lengths *lengths, int64_t rows);
/* Buckets that end before the given boundaries, padded to the longest that fits. */
levada_cli_cost levada_cli_cost_buckets(const levada_cli_lengths *lengths,
                                        const int64_t *boundaries, int64_t n, int64_t budget);
/* Sequences side by side in rows of `budget` cells, each into the fullest of `open` rows into which
 * it fits. */
levada_cli_cost levada_cli_cost_packing(const levada_cli_lengths *lengths, int64_t open,
                                        int64_t budget);

/* `k` buckets with about the same number of records; returns how many boundaries (k - 1 or fewer).
 * */
int64_t levada_cli_buckets_equal(const levada_cli_lengths *lengths, int64_t k, int64_t *out);

#endif
