/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A permutation of 0 .. n-1 that needs no memory: the place of one number is computed alone, on any
 * thread, in any order. The numbers are the cells of a table of about as many rows as columns, with
 * less than a row of cells too many. A Feistel network of four rounds permutes the cells: it moves
 * the row by a hash of the column, then the column by a hash of the row, and so on. A result beyond
 * n - 1 is permuted again, which ends inside the range, because a cycle that begins there returns
 * there. The same on every machine and in every release: saved states stand on it.
 *
 * It shuffles well, but hides nothing.
 */
#ifndef LEVADA_BASE_PERMUTATION_H
#define LEVADA_BASE_PERMUTATION_H

#include <stdint.h>

#define LEVADA_PERMUTATION_ROUNDS 4

typedef struct levada_permutation {
    uint64_t n;
    uint64_t rows, columns; /* of the table */
    uint64_t keys[LEVADA_PERMUTATION_ROUNDS];
} levada_permutation;

/* Returns a permutation of n numbers, which depends on the key alone. n is at most 2^62. */
levada_permutation levada_permutation_of(uint64_t n, uint64_t key);
/* Returns the number that stands at place i < n. */
uint64_t levada_permutation_at(const levada_permutation *p, uint64_t i);

#endif
