/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/park.h"

#include "base/assert.h"
#include "base/text.h"
#include "runtime/delay.h"

#include <errno.h>
#include <time.h>

levada_status levada_lock_init(levada_lock *lock, levada_lock_place place, levada_error *err)
{
    char text[96];
    int  code = pthread_mutex_init(&lock->system, NULL);

    LEVADA_LOCK_PLACE(lock, place);
    if (code == 0) return LEVADA_OK;
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "cannot make a mutex: %s",
                       levada_text_errno(code, text, sizeof text));
}

void levada_lock_clear(levada_lock *lock) { pthread_mutex_destroy(&lock->system); }

void levada_lock_take(levada_lock *lock)
{
    LEVADA_LOCK_TAKING(lock);
    levada_delay();
    pthread_mutex_lock(&lock->system);
}

void levada_lock_give(levada_lock *lock)
{
    LEVADA_LOCK_GIVING(lock);
    pthread_mutex_unlock(&lock->system);
    levada_delay();
}

bool levada_lock_is_free(levada_lock *lock)
{
    if (pthread_mutex_trylock(&lock->system) != 0) return false;
    pthread_mutex_unlock(&lock->system);
    return true;
}

void levada_park_init(levada_park *park)
{
    pthread_condattr_t attr;

    atomic_init(&park->word, LEVADA_PARK_AWAKE);
    pthread_mutex_init(&park->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&park->cond, &attr);
    pthread_condattr_destroy(&attr);
}

void levada_park_clear(levada_park *park)
{
    /* The thread that woke us may still hold it. */
    pthread_mutex_lock(&park->mutex);
    pthread_mutex_unlock(&park->mutex);
    pthread_cond_destroy(&park->cond);
    pthread_mutex_destroy(&park->mutex);
}

bool levada_park_sleep(levada_park *park, int64_t until)
{
    struct timespec at = { 0, 0 };
    int             code = 0;
    unsigned        word;

    if (until >= 0) {
        at.tv_sec = (time_t)(until / 1000000000);
        at.tv_nsec = (long)(until % 1000000000);
    }
    levada_delay();
    pthread_mutex_lock(&park->mutex);
    if (atomic_load(&park->word) == LEVADA_PARK_AWAKE) {
        atomic_store(&park->word, LEVADA_PARK_ASLEEP);
    }
    while (atomic_load(&park->word) == LEVADA_PARK_ASLEEP && code != ETIMEDOUT) {
        if (until < 0) code = pthread_cond_wait(&park->cond, &park->mutex);
        else code = pthread_cond_timedwait(&park->cond, &park->mutex, &at);
    }
    word = atomic_load(&park->word);
    if (word != LEVADA_PARK_DONE) atomic_store(&park->word, LEVADA_PARK_AWAKE);
    pthread_mutex_unlock(&park->mutex);
    return word == LEVADA_PARK_DONE;
}

void levada_park_wake(levada_park *park)
{
    levada_delay();
    pthread_mutex_lock(&park->mutex);
    LEVADA_ASSERT(atomic_load(&park->word) != LEVADA_PARK_DONE);
    atomic_store(&park->word, LEVADA_PARK_DONE);
    pthread_cond_signal(&park->cond);
    pthread_mutex_unlock(&park->mutex);
}

bool levada_park_wake_asleep(levada_park *park)
{
    bool asleep;

    levada_delay();
    pthread_mutex_lock(&park->mutex);
    asleep = atomic_load(&park->word) == LEVADA_PARK_ASLEEP;
    if (asleep) {
        atomic_store(&park->word, LEVADA_PARK_DONE);
        pthread_cond_signal(&park->cond);
    }
    pthread_mutex_unlock(&park->mutex);
    return asleep;
}

void levada_park_nudge(levada_park *park)
{
    pthread_mutex_lock(&park->mutex);
    if (atomic_load(&park->word) != LEVADA_PARK_DONE) {
        atomic_store(&park->word, LEVADA_PARK_NUDGED);
        pthread_cond_signal(&park->cond);
    }
    pthread_mutex_unlock(&park->mutex);
}

uint64_t levada_thread_number(void) { return (uint64_t)(uintptr_t)pthread_self(); }
