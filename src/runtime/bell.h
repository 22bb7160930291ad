/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bell: wakes one thread from a signal handler. An atomic flag says that it rings, and a
 * semaphore wakes the thread: sem_post() is async-signal-safe, with and without futexes.
 */
#ifndef LEVADA_RUNTIME_BELL_H
#define LEVADA_RUNTIME_BELL_H

#include "runtime/lock.h"

#include <semaphore.h>
#include <stdatomic.h>

typedef struct levada_bell {
    atomic_bool ringing, stopped;
    sem_t       sem;
} levada_bell;

void levada_bell_init(levada_bell *bell);
void levada_bell_clear(levada_bell *bell);
/* Waits until it rings (returns true; the rings until now count as one) or it is stopped and none
 * is left. */
bool levada_bell_wait(levada_bell *bell);
/* Rings the bell; async-signal-safe, and keeps errno. */
void levada_bell_ring(levada_bell *bell);
void levada_bell_stop(levada_bell *bell);

#endif
