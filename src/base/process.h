/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks. A handle (an iterator, a queue, ...) belongs to the process that created it: it records
 * that process, and in the child of a fork its calls return EFAILED_PRECONDITION, since the threads
 * that served it do not exist there. The check costs one load and one comparison.
 *
 * A guard is a lock that must be free in the child of a fork: the forking thread holds it during
 * the fork. Every environment guards its locks, so that a child may use what it shares with its
 * parent (datasets, blocks, functions) and create handles of its own.
 *
 * Only fork() is seen: a process made by vfork(), _Fork() or clone() must not call the library.
 */
#ifndef LEVADA_BASE_PROCESS_H
#define LEVADA_BASE_PROCESS_H

#include "base/assert.h"

#include <stdatomic.h>

/* Forks between the first process that loaded the library and this one. Read-only elsewhere. */
LEVADA_HIDDEN extern atomic_uint levada_process_number;

static inline unsigned levada_process(void)
{
    return atomic_load_explicit(&levada_process_number, memory_order_relaxed);
}

LEVADA_MUST_USE levada_status levada_process_refuse(const char *what, levada_error *err);

/* Whether the handle is there and belongs to this process. */
#define LEVADA_OURS(handle) \
    LEVADA_LIKELY((handle) != NULL && (handle)->process == levada_process())

/* The first check of each call of a handle that returns a status:
 * LEVADA_TRY(LEVADA_USABLE(queue, "queue", err)); */
#define LEVADA_USABLE(handle, name, err)                             \
    (LEVADA_OURS(handle)  ? LEVADA_OK                                \
     : (handle) == NULL   ? levada_require_failed(name, err)         \
                          : levada_process_refuse(name, err))

typedef struct levada_guard {
    struct levada_guard *next, *prev;
    void (*hold)(void *object); /* may be NULL */
    void (*release)(void *object, bool child);
    void *object;
} levada_guard;

/* Adds a guard, which excludes a fork() while it is held. The guard is a member of the object that
 * it guards. */
void levada_guard_add(levada_guard *guard, void (*hold)(void *object),
                      void (*release)(void *object, bool child), void *object);
/* Removes a guard, even one that was never added (all zero). */
void levada_guard_remove(levada_guard *guard);

#endif
