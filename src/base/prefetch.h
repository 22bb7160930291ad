/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prefetching along selections. A shuffle leaves the rows of a block anywhere in memory, where no
 * hardware prefetcher finds them, so each row would begin with a cache miss. Loops over such rows
 * fetch the row LEVADA_PREFETCH_ROWS ahead while they work on the present one.
 *
 * Fetching never faults and changes no result. Functions that do nothing else must be inlined: GCC
 * takes them for functions without effects, and removes calls of them.
 */
#ifndef LEVADA_BASE_PREFETCH_H
#define LEVADA_BASE_PREFETCH_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

#define LEVADA_PREFETCH_ROWS 8
#define LEVADA_PREFETCH_LINE 64
#define LEVADA_PREFETCH_MOST 4096 /* of a row; the hardware prefetcher finds the rest         */
#define LEVADA_PREFETCH_NEAR 4096 /* a row that begins closer after the one before is in line */

/* Starts to fetch the row of `size` bytes at p, up to LEVADA_PREFETCH_MOST. */
static LEVADA_ALWAYS_INLINE void levada_prefetch(const void *p, int64_t size)
{
    const uint8_t *at = p;

    if (size > LEVADA_PREFETCH_MOST) size = LEVADA_PREFETCH_MOST;
    for (int64_t i = 0; i < size; i += LEVADA_PREFETCH_LINE) LEVADA_PREFETCH(at + i);
}

/* Returns true if a row begins soon after `before`, where the previous row begins: the hardware
 * finds rows in memory order. */
static LEVADA_ALWAYS_INLINE bool levada_prefetch_near(const void *before, const void *p)
{
    return (uintptr_t)p - (uintptr_t)before < LEVADA_PREFETCH_NEAR;
}

#endif
