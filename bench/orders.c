/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row 28: the places of a shuffle of all records, one after the other. Ours computes each place
 * alone; Fisher-Yates keeps an array of all of them. Looks inside the library: the permutation.
 */
#include "harness.h"

#include "base/permutation.h"
#include "base/random.h"

enum { ORDERS_PLACES = 10000000,
       ORDERS_PASS = 1000000 };

typedef struct orders_state {
    levada_permutation permutation;
    uint32_t *places;
} orders_state;

static void *orders_open(const levada_bench_args *args)
{
    orders_state *s = levada_bench_alloc(sizeof *s);

    (void)args;
    s->permutation = levada_permutation_of(ORDERS_PLACES, 1);
    s->places = levada_bench_alloc(ORDERS_PLACES * sizeof *s->places);
    return s;
}

static void orders_permutation(void *state, levada_bench_count *count)
{
    const orders_state *s = state;

    for (uint64_t i = 0; i < ORDERS_PASS; ++i)
        count->check += levada_permutation_at(&s->permutation, i);
    count->records += ORDERS_PASS;
}

/* All places: the array does not stay in the cache. */
static void orders_fisher_yates(void *state, levada_bench_count *count)
{
    const orders_state *s = state;

    for (uint32_t i = 0; i < ORDERS_PLACES; ++i) {
        uint64_t at = levada_random_below(levada_random_at(1, i), i + 1);

        s->places[i] = s->places[at];
        s->places[at] = i;
    }
    for (uint32_t i = 0; i < ORDERS_PLACES; ++i) count->check += s->places[i] * (uint64_t)i;
    count->records += ORDERS_PLACES;
}

/* One random number a place, each after the one before: no order is without it. */
static void orders_hash(void *state, levada_bench_count *count)
{
    uint64_t key = 1;

    (void)state;
    for (uint64_t i = 0; i < ORDERS_PASS; ++i) key = levada_random_at(key, i);
    count->check += key;
    count->records += ORDERS_PASS;
}

const levada_bench_work levada_bench_works[] = {
    { "permutation", orders_open, orders_permutation, NULL },
    { "fisher_yates", orders_open, orders_fisher_yates, NULL },
    { "hash", orders_open, orders_hash, NULL },
    { NULL, NULL, NULL, NULL },
};
