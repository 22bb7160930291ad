/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of references. Who adds one holds one already; the thread that drops the last one frees.
 */
#ifndef LEVADA_BASE_REFS_H
#define LEVADA_BASE_REFS_H

#include "base/assert.h"

#include <stdatomic.h>

typedef atomic_int levada_refs;

static inline void levada_refs_init(levada_refs *refs, int n) { atomic_init(refs, n); }

static inline void levada_refs_add(atomic_int *refs)
{
    int before = atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);

    LEVADA_ASSERT(before > 0);
    (void)before;
}

static inline void levada_refs_add_many(levada_refs *refs, int n)
{
    int before = atomic_fetch_add_explicit(refs, n, memory_order_relaxed);

    LEVADA_ASSERT(before > 0);
    (void)before;
}

/* Returns true if it was the last one. */
static inline bool levada_refs_drop(atomic_int *refs)
{
    int before = atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel);

    LEVADA_ASSERT(before > 0);
    return before == 1;
}

/* Returns true if these were the last ones. */
static inline bool levada_refs_drop_many(levada_refs *refs, int n)
{
    int before = atomic_fetch_sub_explicit(refs, n, memory_order_acq_rel);

    LEVADA_ASSERT(before >= n);
    return before == n;
}

#endif
