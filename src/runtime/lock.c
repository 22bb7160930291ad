/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "runtime/lock.h"

#include "base/assert.h"
#include "base/text.h"
#include "runtime/delay.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

static levada_status lock_check(int code, const char *what, levada_error *err)
{
    char text[96];

    if (code == 0) return LEVADA_OK;
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "cannot make a %s: %s", what,
                       levada_text_errno(code, text, sizeof text));
}

#if LEVADA_DEBUG

#define LOCK_HELD_MOST 64 /* pipes within pipes, each with a few */

static _Thread_local struct {
    int               n;
    levada_lock_place place[LOCK_HELD_MOST];
} lock_held;

/* Checks the order of locks before the lock is taken: a wrong order is found even if it does not
 * end in a deadlock this time. */
void levada_lock_taking(levada_lock_place place)
{
    for (int i = 0; i < lock_held.n; i++) {
        LEVADA_ASSERT(lock_held.place[i] < place ||
                      (lock_held.place[i] == place && place == LEVADA_LOCK_NODE));
    }
    LEVADA_ASSERT(lock_held.n < LOCK_HELD_MOST);
    lock_held.place[lock_held.n++] = place;
}

void levada_lock_giving(levada_lock_place place)
{
    int i = lock_held.n;

    while (i > 0 && lock_held.place[i - 1] != place) i--;
    LEVADA_ASSERT(i > 0); /* the thread that took it releases it, once */
    for (lock_held.n--; i <= lock_held.n; i++) lock_held.place[i - 1] = lock_held.place[i];
}

#endif

levada_status levada_mutex_init(levada_mutex *mutex, levada_lock_place place, levada_error *err)
{
    LEVADA_LOCK_PLACE(mutex, place);
    return lock_check(pthread_mutex_init(&mutex->system, NULL), "mutex", err);
}

void levada_mutex_clear(levada_mutex *mutex) { pthread_mutex_destroy(&mutex->system); }

void levada_mutex_lock(levada_mutex *mutex)
{
    LEVADA_LOCK_TAKING(mutex);
    levada_delay();
    pthread_mutex_lock(&mutex->system);
}

void levada_mutex_unlock(levada_mutex *mutex)
{
    LEVADA_LOCK_GIVING(mutex);
    pthread_mutex_unlock(&mutex->system);
    levada_delay();
}

void levada_mutex_renew(levada_mutex *mutex) { (void)pthread_mutex_init(&mutex->system, NULL); }

void levada_mutex_hold(levada_mutex *mutex) { pthread_mutex_lock(&mutex->system); }

void levada_mutex_release(levada_mutex *mutex) { pthread_mutex_unlock(&mutex->system); }

static void *lock_thread_main(void *user)
{
    levada_thread *thread = user;

    thread->run(thread->user);
    return NULL;
}

levada_status levada_thread_start(levada_thread *thread, void (*run)(void *user), void *user,
                                  levada_error *err)
{
    sigset_t all, before;
    int      code;

    thread->run = run;
    thread->user = user;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the business of the caller */
    code = pthread_create(&thread->system, NULL, lock_thread_main, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return lock_check(code, "thread", err);
}

void levada_thread_join(levada_thread *thread)
{
    int code = pthread_join(thread->system, NULL);

    LEVADA_BUG_ON(code != 0); /* the memory that the thread uses is freed next */
}

int64_t levada_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t levada_until(int64_t timeout)
{
    return timeout < 0 || timeout > INT64_MAX / 2 ? -1 : levada_now() + timeout;
}

int32_t levada_cpu_count(void)
{
    cpu_set_t set;
    int       n = 0;

    if (sched_getaffinity(0, sizeof set, &set) == 0) n = CPU_COUNT(&set);
    return n > 0 ? n : 1;
}
