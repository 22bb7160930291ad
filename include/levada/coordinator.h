/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coordinator, looper and queue runner for native threads.
 *
 * A coordinator stops a set of threads together: any thread requests the stop (with or without an
 * error), all check for it, and join waits for all of them and returns the first error. A looper
 * calls a function at a fixed rate until the stop. A queue runner fills a queue from threads of its
 * own and closes it when the last of them ends, whatever the cause. TensorFlow's contracts
 * (python/training/coordinator.py, queue_runner_impl.py) with levada_error in place of exceptions.
 *
 * The usual order: create, start threads and runners, work until the queue returns EOUT_OF_RANGE,
 * request_stop, join, destroy. Any thread, unless noted otherwise. Threads that wait for the stop
 * sleep until then, and are listed by levada_waiters_json.
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

/* Codes in `clean` (n of them; NULL = EOUT_OF_RANGE) request a stop without an error. */
LEVADA_API LEVADA_MUST_USE levada_status levada_coordinator_create(levada_env          *env,
                                                                   const levada_status *clean,
                                                                   int32_t              n,
                                                                   levada_coordinator **out,
                                                                   levada_error        *err);
/* Requests the stop and waits for the threads that it started, without limit. A registered thread
 * may end later. Not from a thread of its own. */
LEVADA_API void levada_coordinator_destroy(levada_coordinator **coordinator);
/* why NULL or a clean code: a clean stop. The first error is kept, also after a clean stop, later
 * ones are listed. After join it returns the error to the caller and records nothing. It never
 * waits. */
LEVADA_API levada_status
levada_coordinator_request_stop(levada_coordinator *coordinator, const levada_error *why,
                                levada_error *err);
LEVADA_API bool levada_coordinator_should_stop(const levada_coordinator *coordinator);
/* Waits for the stop or the timeout. Returns whether the stop was requested. */
LEVADA_API bool levada_coordinator_wait_for_stop(levada_coordinator *coordinator, int64_t timeout);
/* Forgets the stop, the errors and that it was joined. Threads that ended because of the stop do
 * not start again. */
LEVADA_API void levada_coordinator_clear_stop(levada_coordinator *coordinator);
LEVADA_API bool levada_coordinator_joined(const levada_coordinator *coordinator);
/* The kept error, or OK. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_coordinator_raise_requested(levada_coordinator *coordinator, levada_error *err);
/* The errors that were reported, oldest first (the kept one is number 0, eight are listed); NULL
 * beyond the last. Borrowed until clear_stop. */
LEVADA_API const levada_error *levada_coordinator_error(const levada_coordinator *coordinator,
                                                        int32_t                   i);

/* Starts run(user) on a thread of the coordinator. An error that it returns requests the stop, but
 * for ECANCELLED after the stop, because the stop cancels calls. LEVADA_OK and LEVADA_END end the
 * thread only. */
LEVADA_API LEVADA_MUST_USE levada_status levada_coordinator_start_thread(
    levada_coordinator *coordinator, const char *name,
    levada_status (*run)(levada_coordinator *coordinator, void *user, levada_error *err),
    void *user, levada_error *err);
/* Registers a thread that the caller starts or has started: join waits until its end is reported.
 * Join reports its wait if it calls levada_waiter_name with the same name. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_coordinator_register(levada_coordinator *coordinator, const char *name, levada_member **out,
                            levada_error *err);
/* A registered thread calls this last; the caller does if the thread could not be started. */
LEVADA_API void levada_member_end(levada_member **member);

/* Waits for all present threads: without limit until the stop, then `grace` nanoseconds
 * (LEVADA_FOREVER). Returns the kept error. Without one, EDEADLINE_EXCEEDED names the threads that
 * still run and their waits (not with ignore_live); the next join does not wait for these threads.
 * EFAILED_PRECONDITION if a thread of the coordinator calls it. */
LEVADA_API LEVADA_MUST_USE levada_status levada_coordinator_join(levada_coordinator *coordinator,
                                                                 int64_t grace, bool ignore_live,
                                                                 levada_error *err);

/* -- looper */

typedef struct levada_looper_options {
    size_t  struct_size;
    int64_t interval; /* nanoseconds; -1 = as fast as it goes; missed ticks are caught up */
    levada_status (*start)(void *user, levada_error *err); /* may be NULL */
    /* Each tick, the first one at once. LEVADA_END ends the loop, an error requests the stop. */
    levada_status (*run)(void *user, levada_error *err);
    void (*stop)(void *user); /* always runs once start was entered; may be NULL */
    void       *user;
    const char *name; /* of its thread; copied */
} levada_looper_options;

#define LEVADA_LOOPER_OPTIONS_INIT                                               \
    {                                                                            \
        sizeof(levada_looper_options), -1, NULL, NULL, NULL, NULL, "looper"      \
    }
/* The same for languages without macros; size is sizeof(levada_looper_options). */
LEVADA_API void levada_looper_options_init(levada_looper_options *all, size_t size);

/* Starts the loop on a thread of the coordinator's: join waits for it and its memory is freed when
 * it ends. Tick k is due k intervals after the first, whatever the ticks before it took. */
LEVADA_API LEVADA_MUST_USE levada_status levada_looper_start(levada_coordinator *coordinator,
                                                             const levada_looper_options *options,
                                                             levada_error                *err);

/* -- queue runner */

/* One thread of a runner calls it until it returns anything but LEVADA_OK (LEVADA_AGAIN: call
 * again; LEVADA_END counts as EOUT_OF_RANGE). */
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
    /* In place of closing, and of cancelling, the queue. */
    void (*close)(void *user);
    void (*cancel)(void *user);
    void *user;
    /* After the last use of `user`, on any thread: one that waits for the stop of a coordinator may
     * outlive the handle. Not called if create fails. */
    void (*release)(void *user);
} levada_queue_runner_options;

#define LEVADA_QUEUE_RUNNER_OPTIONS_INIT                                                   \
    {                                                                                      \
        sizeof(levada_queue_runner_options), 0, NULL, NULL, 0, NULL, NULL, NULL, NULL      \
    }
/* The same for languages without macros; size is sizeof(levada_queue_runner_options). */
LEVADA_API void levada_queue_runner_options_init(levada_queue_runner_options *all, size_t size);

/* Takes a reference to the queue. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_queue_runner_create(levada_queue *queue, const levada_queue_runner_options *options,
                           levada_queue_runner **out, levada_error *err);
/* Starts all threads or none. Returns AGAIN and does nothing while threads of an earlier start run.
 * With a coordinator: its threads are named QueueRunnerThread-<queue>-<op>, and an error of one
 * requests the stop. One more thread, close_on_stop, waits for the stop, also after the others have
 * ended, and then cancels the queue, so that a blocked enqueue ends. NULL: the runner owns the
 * threads; an error ends its thread and is listed. If somebody closes the queue while the threads
 * run, ECANCELLED is not an error: consumers receive the remaining elements and EOUT_OF_RANGE. If
 * the queue was closed before the start, it is one. */
LEVADA_API LEVADA_MUST_USE levada_status levada_queue_runner_start(levada_queue_runner *runner,
                                                                   levada_coordinator  *coordinator,
                                                                   levada_error        *err);
/* Until no thread of it calls its op any more and the queue is closed; EDEADLINE_EXCEEDED past the
 * timeout. */
LEVADA_API LEVADA_MUST_USE levada_status levada_queue_runner_wait(levada_queue_runner *runner,
                                                                  int64_t              timeout,
                                                                  levada_error        *err);
/* The errors of its threads that no coordinator took, oldest first; NULL beyond the last. Borrowed
 * until the next start. */
LEVADA_API const levada_error *levada_queue_runner_error(const levada_queue_runner *runner,
                                                         int32_t                    i);
LEVADA_API const char *levada_queue_runner_name(const levada_queue_runner *runner);
/* Threads that a coordinator started continue until they end. If the runner started them itself,
 * this cancels the queue and waits for them; do not call it from one of them. */
LEVADA_API void levada_queue_runner_destroy(levada_queue_runner **runner);

#ifdef __cplusplus
}
#endif

#endif
