/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes, threads and the clock of the system.
 *
 * Mutexes are not recursive. Waits are on the monotonic clock and may wake early: callers loop.
 *
 * Each lock has a place in the order of docs/design/locks.md: a thread that holds a lock acquires
 * only locks with a later place. Debug builds check it.
 */
#ifndef LEVADA_RUNTIME_LOCK_H
#define LEVADA_RUNTIME_LOCK_H

#include <levada/error.h>

#include <pthread.h>

typedef enum levada_lock_place {
    LEVADA_LOCK_INTERRUPT, /* an interrupt, which holds it while it cancels */
    LEVADA_LOCK_LOADING,   /* an environment, while a plug-in is loaded */
    LEVADA_LOCK_HANDLE,
    LEVADA_LOCK_PIPES,
    LEVADA_LOCK_NODE, /* acquired from a combiner to its inputs */
    LEVADA_LOCK_NOTING,
    LEVADA_LOCK_WORKERS,
    LEVADA_LOCK_READ_AHEAD,
    LEVADA_LOCK_STARTING,
    LEVADA_LOCK_REMOTE, /* the requests of remote files */
    LEVADA_LOCK_LIST, /* a coordinator, a queue runner, a reader */
    LEVADA_LOCK_QUEUE, /* or a barrier */
    LEVADA_LOCK_QUEUE_OUT, /* the far end of the same queue */
    LEVADA_LOCK_WAIT_LIST,
    LEVADA_LOCK_TRACE
} levada_lock_place;

#if LEVADA_DEBUG
#define LEVADA_LOCK_ORDERED levada_lock_place place;
#define LEVADA_LOCK_PLACE(lock, at) ((lock)->place = (at))
#define LEVADA_LOCK_TAKING(lock) levada_lock_taking((lock)->place)
#define LEVADA_LOCK_GIVING(lock) levada_lock_giving((lock)->place)
/* Notes what the calling thread holds. */
void levada_lock_taking(levada_lock_place place);
void levada_lock_giving(levada_lock_place place);
#else
#define LEVADA_LOCK_ORDERED
#define LEVADA_LOCK_PLACE(lock, at) ((void)(at))
#define LEVADA_LOCK_TAKING(lock) ((void)0)
#define LEVADA_LOCK_GIVING(lock) ((void)0)
#endif

typedef struct levada_mutex {
    pthread_mutex_t system;
    LEVADA_LOCK_ORDERED
} levada_mutex;

typedef struct levada_thread {
    pthread_t system;
    void (*run)(void *user);
    void *user;
} levada_thread;

LEVADA_MUST_USE levada_status levada_mutex_init(levada_mutex *mutex, levada_lock_place place,
                                                levada_error *err);
void levada_mutex_clear(levada_mutex *mutex);
void levada_mutex_lock(levada_mutex *mutex);
void levada_mutex_unlock(levada_mutex *mutex);
/* Frees the mutex in the child of a fork, no matter which thread held it. */
void levada_mutex_renew(levada_mutex *mutex);
/* Holds a mutex during a fork, without the check of the order, because the forking thread holds
 * several locks of one place. */
void levada_mutex_hold(levada_mutex *mutex);
void levada_mutex_release(levada_mutex *mutex);

/* Starts run(user); *thread must stay where it is until join. Signals are blocked in it. */
LEVADA_MUST_USE levada_status levada_thread_start(levada_thread *thread, void (*run)(void *user),
                                                  void *user, levada_error *err);
void levada_thread_join(levada_thread *thread);

/* Nanoseconds of the monotonic clock. */
int64_t levada_now(void);
/* Returns the time that many nanoseconds from now; -1 = never: for a negative number, or centuries.
 * */
int64_t levada_until(int64_t timeout);
/* Counts the CPUs that this process may use, at least 1. */
int32_t levada_cpu_count(void);

#endif
