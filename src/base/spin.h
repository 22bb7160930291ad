/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A spin lock for a few instructions: the pool of buffers. Nothing may wait, allocate or call out
 * while it is held.
 */
#ifndef LEVADA_BASE_SPIN_H
#define LEVADA_BASE_SPIN_H

#include <sched.h>
#include <stdatomic.h>

typedef struct levada_spin {
    atomic_flag held;
} levada_spin;

static inline void levada_spin_lock(levada_spin *spin)
{
    int tries = 0;

    while (atomic_flag_test_and_set_explicit(&spin->held, memory_order_acquire)) {
        if (++tries > 64) sched_yield(); /* the holder may have lost its CPU */
    }
}

static inline void levada_spin_unlock(levada_spin *spin)
{
    atomic_flag_clear_explicit(&spin->held, memory_order_release);
}

#endif
