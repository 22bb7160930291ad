/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Randomness without a generator: draw number `counter` is a function of a key, so it needs no
 * state, can be made on any thread, and begins again anywhere. The same numbers on every machine
 * and in every release: saved states and the order of records stand on them.
 */
#ifndef LEVADA_BASE_RANDOM_H
#define LEVADA_BASE_RANDOM_H

#include <stdint.h>

/* Returns the key of a stage in an epoch; also mixes any two numbers into one. */
uint64_t levada_random_key(uint64_t seed, uint64_t epoch);
/* Returns 64 random bits. */
uint64_t levada_random_at(uint64_t key, uint64_t counter);
/* Returns levada_random_at(levada_random_key(seed, epoch), counter). */
uint64_t levada_random_draw(uint64_t seed, uint64_t epoch, uint64_t counter);
/* Maps 64 random bits to 0 <= result < bound (0 for bound 0), all alike. */
uint64_t levada_random_below(uint64_t bits, uint64_t bound);
/* Maps 64 random bits to 0 <= result < 1. */
double levada_random_unit(uint64_t bits);

#endif
