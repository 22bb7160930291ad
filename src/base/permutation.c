/* SPDX-License-Identifier: Apache-2.0 */
#include "base/permutation.h"

#include "base/random.h"

/* Two odd constants whose bits look random: each bit of the input reaches the upper bits. */
#define PERMUTATION_FIRST UINT64_C(0x9E3779B97F4A7C15)
#define PERMUTATION_SECOND UINT64_C(0xBF58476D1CE4E5B9)

/* Returns a number below `bound`, which is less than 2^32, that depends on all bits of x and key.
 * */
static uint64_t permutation_mix(uint64_t x, uint64_t key, uint64_t bound)
{
    x = (x + key) * PERMUTATION_FIRST;
    x ^= x >> 29;
    return (x * PERMUTATION_SECOND >> 32) * bound >> 32;
}

levada_permutation levada_permutation_of(uint64_t n, uint64_t key)
{
    levada_permutation p = { .n = n, .columns = 1, .rows = 1 };

    while (p.columns * p.columns < n) p.columns *= 2;
    for (uint64_t bit = p.columns / 2; bit > 0; bit /= 2) { /* the root of n, rounded up */
        if (p.columns > bit && (p.columns - bit) * (p.columns - bit) >= n) p.columns -= bit;
    }
    if (n > 0) p.rows = (n - 1) / p.columns + 1;
    for (uint64_t i = 0; i < LEVADA_PERMUTATION_ROUNDS; i++) p.keys[i] = levada_random_at(key, i);
    return p;
}

/* Mixes each half with the other, so that every step can be undone. */
static uint64_t permutation_rounds(const levada_permutation *p, uint64_t x)
{
    uint64_t row = x / p->columns, column = x % p->columns;

    for (int i = 0; i < LEVADA_PERMUTATION_ROUNDS; i += 2) {
        row += permutation_mix(column, p->keys[i], p->rows);
        row -= row >= p->rows ? p->rows : 0;
        column += permutation_mix(row, p->keys[i + 1], p->columns);
        column -= column >= p->columns ? p->columns : 0;
    }
    return row * p->columns + column;
}

uint64_t levada_permutation_at(const levada_permutation *p, uint64_t i)
{
    do {
        i = permutation_rounds(p, i);
    } while (i >= p->n);
    return i;
}
