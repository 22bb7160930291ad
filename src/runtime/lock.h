/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutex, condition variable, thread and clock: the few things that the engine asks of the system.
 *
 * Mutexes are not recursive. Waits are on the monotonic clock and may wake early: callers loop.
 */
#ifndef LEVADA_RUNTIME_LOCK_H
#define LEVADA_RUNTIME_LOCK_H

#include <levada/error.h>

#include <pthread.h>

typedef struct levada_mutex {
    pthread_mutex_t system;
} levada_mutex;

typedef struct levada_cond {
    pthread_cond_t system;
} levada_cond;

typedef struct levada_thread {
    pthread_t system;
    void (*run)(void *user);
    void *user;
} levada_thread;

LEVADA_MUST_USE levada_status levada_mutex_init(levada_mutex *mutex, levada_error *err);
void levada_mutex_clear(levada_mutex *mutex);
void levada_mutex_lock(levada_mutex *mutex);
void levada_mutex_unlock(levada_mutex *mutex);
/* In the child of a fork: it is free, whoever held it. */
void levada_mutex_renew(levada_mutex *mutex);

LEVADA_MUST_USE levada_status levada_cond_init(levada_cond *cond, levada_error *err);
void levada_cond_clear(levada_cond *cond);
/* Until woken or until that time on the clock of levada_now; -1 = for ever. False = time is up. */
bool levada_cond_wait(levada_cond *cond, levada_mutex *mutex, int64_t until);
void levada_cond_wake_all(levada_cond *cond);

/* Starts run(user); *thread must stay where it is until join. Signals are blocked in it. */
LEVADA_MUST_USE levada_status levada_thread_start(levada_thread *thread, void (*run)(void *user),
                                                  void *user, levada_error *err);
void levada_thread_join(levada_thread *thread);
/* What every fork of the process calls: before it, and after it on both sides. Where memory is too
 * short to note that, nothing is called. */
void levada_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void));

/* Nanoseconds of the monotonic clock. */
int64_t levada_now(void);
/* CPUs that this process may use, at least 1. */
int32_t levada_cpu_count(void);

#endif
