/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a thread sleeps: the two things that differ between systems, chosen by the build
 * (park_futex.c on Linux, park_cond.c elsewhere).
 *
 * A lock for short work (copies of rows, no call-outs); not recursive. It spins for some tens of
 * microseconds before it sleeps.
 *
 * A park is one thread's sleep until another says that it is done, once. The one who says so does
 * not touch it afterwards, so it may be on the stack of the thread that sleeps.
 */
#ifndef LEVADA_RUNTIME_PARK_H
#define LEVADA_RUNTIME_PARK_H

#include "runtime/lock.h"

#include <stdatomic.h>

typedef struct levada_lock {
    union {
        atomic_uint     word;   /* futex: 0 free, 1 taken, 2 taken and somebody sleeps */
        pthread_mutex_t system; /* elsewhere */
    };
    LEVADA_LOCK_ORDERED
} levada_lock;

LEVADA_MUST_USE levada_status levada_lock_init(levada_lock *lock, levada_lock_place place,
                                               levada_error *err);
void levada_lock_clear(levada_lock *lock);
void levada_lock_take(levada_lock *lock);
void levada_lock_give(levada_lock *lock);
/* Returns true in the child of a fork, where no other thread can take it, if nobody held it during
 * the fork, so that what it guards is whole. */
bool levada_lock_is_free(levada_lock *lock);

#define LEVADA_PARK_AWAKE 0u
#define LEVADA_PARK_ASLEEP 1u
#define LEVADA_PARK_DONE 2u
#define LEVADA_PARK_NUDGED 3u

typedef struct levada_park {
    atomic_uint     word; /* LEVADA_PARK_* */
    pthread_mutex_t mutex; /* only if there is no futex */
    pthread_cond_t  cond;
} levada_park;

void levada_park_init(levada_park *park);
void levada_park_clear(levada_park *park);
/* Sleeps until done, nudged, or until that time on the clock of levada_now (-1 = forever). Returns
 * true if done. A signal may end the sleep, so that the caller looks for its effects. */
bool levada_park_sleep(levada_park *park, int64_t until);
/* Wakes the thread. Any thread may call it, once. */
void levada_park_wake(levada_park *park);
/* Wakes a thread that is asleep, so that its sleep returns true; else returns false, and does
 * nothing. */
bool levada_park_wake_asleep(levada_park *park);
/* Ends one sleep, this or the next, without being done. Any thread; the park must be there. */
void levada_park_nudge(levada_park *park);

/* Returns a number of the calling thread; another may have it once this one has ended. */
uint64_t levada_thread_number(void);

#endif
