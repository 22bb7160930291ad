/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/park.h"

#include "base/assert.h"
#include "runtime/delay.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PARK_TRIES 16     /* looks at a lock that is taken: some tens of microseconds */
#define PARK_PAUSE_LEAST 4 /* pauses before the first look, ... */
#define PARK_PAUSE_MOST 64 /* ... and before the last ones      */

/* Sleeps while *word is `expected`; false when the time is up or a signal came. */
static bool park_futex_wait(atomic_uint *word, unsigned expected, int64_t until)
{
    struct timespec at;
    long            code;

    /* WAIT_BITSET takes the time as a point on the monotonic clock. */
    if (until >= 0) {
        at.tv_sec = (time_t)(until / 1000000000);
        at.tv_nsec = (long)(until % 1000000000);
    }
    code = syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
                   until >= 0 ? &at : NULL, NULL, FUTEX_BITSET_MATCH_ANY);
    return code == 0 || (errno != ETIMEDOUT && errno != EINTR);
}

/* Wakes a futex whose word may be gone already: then the kernel finds nobody, or one who looks
 * again. */
static void park_futex_wake(atomic_uint *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
}

levada_status levada_lock_init(levada_lock *lock, levada_lock_place place, levada_error *err)
{
    (void)err;
    LEVADA_LOCK_PLACE(lock, place);
    atomic_init(&lock->word, 0);
    return LEVADA_OK;
}

void levada_lock_clear(levada_lock *lock) { (void)lock; }

/* Takes a lock that another thread holds. Each look takes the line of the lock, and of what it
 * guards, from the thread that works there. So the looks become rarer: meanwhile that thread does
 * many short works in a row without waiting for memory, and both get more done than in turn. */
static LEVADA_NOINLINE void park_lock_slow(levada_lock *lock)
{
    int pauses = PARK_PAUSE_LEAST;

    for (int i = 0; i < PARK_TRIES; i++) {
        unsigned now;

        for (int k = 0; k < pauses; k++) LEVADA_PAUSE();
        pauses = pauses < PARK_PAUSE_MOST ? 2 * pauses : PARK_PAUSE_MOST;
        now = atomic_load_explicit(&lock->word, memory_order_relaxed);
        if (now == 0 && atomic_compare_exchange_weak_explicit(&lock->word, &now, 1,
                                                              memory_order_acquire,
                                                              memory_order_relaxed)) {
            return;
        }
    }
    while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire) != 0) {
        park_futex_wait(&lock->word, 2, -1);
    }
}

void levada_lock_take(levada_lock *lock)
{
    unsigned free_word = 0;

    LEVADA_LOCK_TAKING(lock);
    levada_delay();
    if (LEVADA_UNLIKELY(!atomic_compare_exchange_strong_explicit(
            &lock->word, &free_word, 1, memory_order_acquire, memory_order_relaxed))) {
        park_lock_slow(lock);
    }
}

void levada_lock_give(levada_lock *lock)
{
    unsigned before;

    LEVADA_LOCK_GIVING(lock);
    before = atomic_exchange_explicit(&lock->word, 0, memory_order_release);
    LEVADA_ASSERT(before != 0);
    if (LEVADA_UNLIKELY(before == 2)) park_futex_wake(&lock->word);
    levada_delay();
}

bool levada_lock_is_free(levada_lock *lock) { return atomic_load(&lock->word) == 0; }

void levada_park_init(levada_park *park) { atomic_init(&park->word, LEVADA_PARK_AWAKE); }

void levada_park_clear(levada_park *park) { (void)park; }

bool levada_park_sleep(levada_park *park, int64_t until)
{
    unsigned word = LEVADA_PARK_AWAKE;
    bool     in_time = true;

    levada_delay();
    atomic_compare_exchange_strong_explicit(&park->word, &word, LEVADA_PARK_ASLEEP,
                                            memory_order_acquire, memory_order_acquire);
    while (in_time) {
        word = LEVADA_PARK_NUDGED;
        if (atomic_compare_exchange_strong_explicit(&park->word, &word, LEVADA_PARK_AWAKE,
                                                    memory_order_acquire, memory_order_acquire)) {
            return false;
        }
        if (word == LEVADA_PARK_DONE) return true;
        in_time = park_futex_wait(&park->word, LEVADA_PARK_ASLEEP, until);
    }
    /* Awake, unless something came meanwhile. */
    word = LEVADA_PARK_ASLEEP;
    atomic_compare_exchange_strong_explicit(&park->word, &word, LEVADA_PARK_AWAKE,
                                            memory_order_acquire, memory_order_acquire);
    return word == LEVADA_PARK_DONE;
}

void levada_park_wake(levada_park *park)
{
    unsigned before;

    levada_delay();
    before = atomic_exchange_explicit(&park->word, LEVADA_PARK_DONE, memory_order_release);
    LEVADA_ASSERT(before != LEVADA_PARK_DONE);
    levada_delay(); /* the woken thread may be gone already */
    if (before == LEVADA_PARK_ASLEEP) park_futex_wake(&park->word);
}

bool levada_park_wake_asleep(levada_park *park)
{
    unsigned word = LEVADA_PARK_ASLEEP;

    levada_delay();
    if (!atomic_compare_exchange_strong_explicit(&park->word, &word, LEVADA_PARK_DONE,
                                                 memory_order_release, memory_order_relaxed)) {
        return false;
    }
    levada_delay();
    park_futex_wake(&park->word);
    return true;
}

void levada_park_nudge(levada_park *park)
{
    unsigned word = atomic_load_explicit(&park->word, memory_order_relaxed);

    while (word == LEVADA_PARK_AWAKE || word == LEVADA_PARK_ASLEEP) {
        if (atomic_compare_exchange_weak_explicit(&park->word, &word, LEVADA_PARK_NUDGED,
                                                  memory_order_release, memory_order_relaxed)) {
            if (word == LEVADA_PARK_ASLEEP) park_futex_wake(&park->word);
            return;
        }
    }
}

uint64_t levada_thread_number(void) { return (uint64_t)syscall(SYS_gettid); }
