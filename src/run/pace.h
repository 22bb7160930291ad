/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of records that a slow function receives at once. The first block is small. A later
 * one holds about LEVADA_PACE_TIME of work, estimated from the records so far, and never more
 * records than all blocks before it. So results arrive steadily, even if later records take longer,
 * and fast functions soon receive whole blocks. The size of a block never changes the result.
 *
 * All-zero is a valid new pace. Any thread.
 */
#ifndef LEVADA_RUN_PACE_H
#define LEVADA_RUN_PACE_H

#include <stdatomic.h>
#include <stdint.h>

#define LEVADA_PACE_FIRST 8        /* records of the first block */
#define LEVADA_PACE_TIME  50000000 /* nanoseconds of work in a later one */

typedef struct levada_pace {
    atomic_llong nanoseconds, records;
} levada_pace;

static inline void levada_pace_add(levada_pace *pace, int64_t nanoseconds, int64_t records)
{
    atomic_fetch_add_explicit(&pace->nanoseconds, nanoseconds, memory_order_relaxed);
    atomic_fetch_add_explicit(&pace->records, records, memory_order_relaxed);
}

/* Returns the number of records of the next block, at least one. */
static inline int64_t levada_pace_rows(levada_pace *pace)
{
    int64_t records = atomic_load_explicit(&pace->records, memory_order_relaxed), each, rows;

    if (records == 0) return LEVADA_PACE_FIRST;
    each = atomic_load_explicit(&pace->nanoseconds, memory_order_relaxed) / records;
    rows = each < LEVADA_PACE_TIME ? LEVADA_PACE_TIME / (each + 1) : 1;
    if (records < LEVADA_PACE_FIRST) records = LEVADA_PACE_FIRST;
    return rows < records ? rows : records;
}

#endif
