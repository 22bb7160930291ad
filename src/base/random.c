/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"

#define RANDOM_STEP UINT64_C(0x9E3779B97F4A7C15) /* odd, 2^64 / golden ratio: counters spread */

/* Returns a permutation of the 64-bit numbers in which each input bit flips half of the output
 * bits. */
static uint64_t random_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

uint64_t levada_random_key(uint64_t seed, uint64_t epoch)
{
    return random_mix(random_mix(seed + RANDOM_STEP) ^ (epoch * RANDOM_STEP + 1));
}

uint64_t levada_random_at(uint64_t key, uint64_t counter)
{
    return random_mix(key + (counter + 1) * RANDOM_STEP);
}

uint64_t levada_random_draw(uint64_t seed, uint64_t epoch, uint64_t counter)
{
    return levada_random_at(levada_random_key(seed, epoch), counter);
}

uint64_t levada_random_below(uint64_t bits, uint64_t bound)
{
    /* The upper half of the 128-bit product bits * bound. */
    uint64_t high = bits >> 32, low = bits & 0xFFFFFFFFu;
    uint64_t bound_high = bound >> 32, bound_low = bound & 0xFFFFFFFFu;
    uint64_t cross = high * bound_low + ((low * bound_low) >> 32);
    uint64_t middle = (cross & 0xFFFFFFFFu) + low * bound_high;

    return high * bound_high + (cross >> 32) + (middle >> 32);
}

double levada_random_unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}
