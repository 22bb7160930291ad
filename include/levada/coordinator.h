/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coordinator, looper and queue runner for native threads.
 *
 * A coordinator stops a set of threads together: any thread requests the stop (with or without an
 * error), all check for it, and join waits for all of them and returns the first error. A looper
 * calls a function at a fixed rate until the stop. A queue runner fills a queue from its own
 * threads and closes the queue when the last of them ends, whatever the cause. The contracts are
 * TensorFlow's (python/training/coordinator.py, queue_runner_impl.py), with levada_error in place
 * of exceptions.
 *
 * The usual order is: create, start threads and runners, work until the queue returns
 * EOUT_OF_RANGE, request_stop, join, destroy. Any thread may call a function, unless noted
 * otherwise. Threads that wait for the stop sleep, and levada_waiters_json lists them.
 *
 * Example:
 *
 *     static levada_status work(levada_coordinator *coordinator, void *user, levada_error *err)
 *     {
 *         (void)user, (void)err;
 *         while (!levada_coordinator_wait_for_stop(coordinator, 1000000)) { // 1 ms
 *             // one piece of work; an error that it returns stops all threads
 *         }
 *         return LEVADA_OK;
 *     }
 *
 *     static levada_status run(levada_error *err)
 *     {
 *         levada_coordinator *coordinator = NULL;
 *
 *         LEVADA_TRY(levada_coordinator_create(NULL, NULL, 0, &coordinator, err));
 *         LEVADA_TRY(levada_coordinator_start_thread(coordinator, "work", work, NULL, err));
 *         LEVADA_TRY(levada_coordinator_request_stop(coordinator, NULL, err));
 *         LEVADA_TRY(levada_coordinator_join(coordinator, LEVADA_FOREVER, false, err));
 *         levada_coordinator_destroy(&coordinator);
 *         return LEVADA_OK;
 *     }
 */
#ifndef LEVADA_COORDINATOR_H
#define LEVADA_COORDINATOR_H

#include <levada/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_coordinator  levada_coordinator;
typedef struct levada_member       levada_member;
typedef struct levada_queue_runner levada_queue_runner;

/* -- coordinator */

/* Creates a coordinator. The n codes in `clean` (NULL = EOUT_OF_RANGE) request a stop without an
 * error. */
LEVADA_API LEVADA_MUST_USE levada_status levada_coordinator_create(levada_env          *env,
                                                                   const levada_status *clean,
                                                                   int32_t              n,
                                                                   levada_coordinator **out,
                                                                   levada_error        *err);
/* Requests the stop and waits, without limit, for the threads that the coordinator started. A
 * registered thread may end later. A thread of the coordinator must not call it. */
LEVADA_API void levada_coordinator_destroy(levada_coordinator **coordinator);
/* Requests the stop: a clean one if `why` is NULL or has a clean code, else with this error. The
 * coordinator keeps the first error, also after a clean stop, and lists later errors; an error with
 * the token of a listed error is not listed again. After join the call returns the error to the
 * caller and records nothing. It never waits. */
LEVADA_API levada_status
levada_coordinator_request_stop(levada_coordinator *coordinator, const levada_error *why,
                                levada_error *err);
/* Returns true if the stop was requested. */
LEVADA_API bool levada_coordinator_should_stop(const levada_coordinator *coordinator);
/* Waits for the stop or the timeout. Returns true if the stop was requested. */
LEVADA_API bool levada_coordinator_wait_for_stop(levada_coordinator *coordinator, int64_t timeout);
/* Resets the coordinator: clears the stop, the errors and the join. Threads that ended because of
 * the stop do not start again. */
LEVADA_API void levada_coordinator_clear_stop(levada_coordinator *coordinator);
/* Returns true after a join has ended, until clear_stop. */
LEVADA_API bool levada_coordinator_joined(const levada_coordinator *coordinator);
/* Returns the first error, or OK. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_coordinator_raise_requested(levada_coordinator *coordinator, levada_error *err);
/* Returns error i of up to eight that were reported, oldest first; NULL after the last. Borrowed
 * until clear_stop. */
LEVADA_API const levada_error *levada_coordinator_error(const levada_coordinator *coordinator,
                                                        int32_t                   i);

/* Starts run(user) on a thread of the coordinator. An error that `run` returns requests the stop,
 * except for ECANCELLED after the stop, because the stop cancels calls. LEVADA_OK and LEVADA_END
 * only end the thread. */
LEVADA_API LEVADA_MUST_USE levada_status levada_coordinator_start_thread(
    levada_coordinator *coordinator, const char *name,
    levada_status (*run)(levada_coordinator *coordinator, void *user, levada_error *err),
    void *user, levada_error *err);
/* Registers a thread that the caller starts or has started, so that join waits until the thread
 * calls levada_member_end. Join also reports its wait if the thread calls levada_waiter_name with
 * the same name. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_coordinator_register(levada_coordinator *coordinator, const char *name, levada_member **out,
                            levada_error *err);
/* Reports the end of a registered thread. The thread calls it last, or the caller does if the
 * thread could not be started. */
LEVADA_API void levada_member_end(levada_member **member);

/* Waits for all present threads: without limit until the stop, then `grace` nanoseconds
 * (LEVADA_FOREVER = without limit). Returns the first error that was reported. If there is no error
 * but threads still run, returns EDEADLINE_EXCEEDED, which lists these threads and their waits,
 * unless ignore_live is set; the next join does not wait for these threads. Returns
 * EFAILED_PRECONDITION if a thread of the coordinator calls it. */
LEVADA_API LEVADA_MUST_USE levada_status levada_coordinator_join(levada_coordinator *coordinator,
                                                                 int64_t grace, bool ignore_live,
                                                                 levada_error *err);

/* -- looper */

typedef struct levada_looper_options {
    size_t  struct_size;
    int64_t interval; /* nanoseconds; -1 = without pauses; missed ticks are caught up */
    levada_status (*start)(void *user, levada_error *err); /* may be NULL */
    /* Called at each tick, first immediately. LEVADA_END ends the loop, an error requests the
     * stop. */
    levada_status (*run)(void *user, levada_error *err);
    void (*stop)(void *user); /* always called after `start` was called; may be NULL */
    void       *user;
    const char *name; /* name of the thread; copied */
} levada_looper_options;

#define LEVADA_LOOPER_OPTIONS_INIT                                               \
    {                                                                            \
        sizeof(levada_looper_options), -1, NULL, NULL, NULL, NULL, "looper"      \
    }
/* Sets *all to its defaults, for languages without macros; size is
 * sizeof(levada_looper_options). */
LEVADA_API void levada_looper_options_init(levada_looper_options *all, size_t size);

/* Starts the loop on a thread of the coordinator. Join waits for the thread, and its memory is
 * freed when it ends. Tick k is due k intervals after the first, however long earlier ticks
 * took. */
LEVADA_API LEVADA_MUST_USE levada_status levada_looper_start(levada_coordinator *coordinator,
                                                             const levada_looper_options *options,
                                                             levada_error                *err);

/* -- queue runner */

/* A function that one thread of a runner calls repeatedly while it returns LEVADA_OK or
 * LEVADA_AGAIN. LEVADA_END counts as EOUT_OF_RANGE. */
typedef struct levada_enqueue_op {
    levada_status (*run)(void *user, levada_error *err);
    void       *user;
    const char *name; /* copied; NULL = "op<index>" */
} levada_enqueue_op;

typedef struct levada_queue_runner_options {
    size_t                   struct_size;
    int32_t                  nops; /* at least one; a thread for each */
    const levada_enqueue_op *ops;
    const levada_status     *closed; /* codes that end a thread quietly; NULL = EOUT_OF_RANGE */
    int32_t                  nclosed;
    /* Called instead of closing, and of cancelling, the queue; may be NULL. */
    void (*close)(void *user);
    void (*cancel)(void *user);
    void *user;
    /* Called after the last use of `user`, on any thread, because a thread that waits for the stop
     * of a coordinator may outlive the handle. Not called if create fails. */
    void (*release)(void *user);
} levada_queue_runner_options;

#define LEVADA_QUEUE_RUNNER_OPTIONS_INIT                                                   \
    {                                                                                      \
        sizeof(levada_queue_runner_options), 0, NULL, NULL, 0, NULL, NULL, NULL, NULL      \
    }
/* Sets *all to its defaults, for languages without macros; size is
 * sizeof(levada_queue_runner_options). */
LEVADA_API void levada_queue_runner_options_init(levada_queue_runner_options *all, size_t size);

/* Creates a runner; takes a reference to the queue. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_queue_runner_create(levada_queue *queue, const levada_queue_runner_options *options,
                           levada_queue_runner **out, levada_error *err);
/* Starts all threads or none. Returns AGAIN and does nothing while threads of an earlier start run.
 * With a coordinator, the threads are named QueueRunnerThread-<queue>-<op>, and an error on a
 * thread requests the stop. One more thread, close_on_stop, waits for the stop, even after the
 * other threads have ended, and then cancels the queue, so that a blocked enqueue ends. If the
 * coordinator is NULL, the runner owns the threads; an error ends its thread and is listed. If the
 * queue is closed while the threads run, ECANCELLED is not an error, because consumers receive the
 * remaining elements and EOUT_OF_RANGE. If the queue was closed before the start, ECANCELLED is an
 * error. */
LEVADA_API LEVADA_MUST_USE levada_status levada_queue_runner_start(levada_queue_runner *runner,
                                                                   levada_coordinator  *coordinator,
                                                                   levada_error        *err);
/* Waits until no thread of the runner calls its op any more and the queue is closed; returns
 * EDEADLINE_EXCEEDED after the timeout. */
LEVADA_API LEVADA_MUST_USE levada_status levada_queue_runner_wait(levada_queue_runner *runner,
                                                                  int64_t              timeout,
                                                                  levada_error        *err);
/* Returns error i of the runner's threads that was not reported to a coordinator, oldest first;
 * NULL after the last. Borrowed until the next start. */
LEVADA_API const levada_error *levada_queue_runner_error(const levada_queue_runner *runner,
                                                         int32_t                    i);
/* Returns the name of the queue; borrowed. */
LEVADA_API const char *levada_queue_runner_name(const levada_queue_runner *runner);
/* Frees the runner. Threads that belong to a coordinator continue. If the runner owns the threads,
 * it cancels the queue and waits for them, so do not call it from one of these threads. */
LEVADA_API void levada_queue_runner_destroy(levada_queue_runner **runner);

#ifdef __cplusplus
}
#endif

#endif
