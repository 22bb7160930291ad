/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coordinator, looper and queue runner for native threads.
 *
 * A coordinator stops a set of threads together: anybody asks (with or without an error), everybody
 * looks, and join waits for all of them and returns the first error. A looper calls a function at a
 * fixed rate until the stop. A queue runner fills a queue from threads of its own and closes it
 * when the last of them ends, whatever the cause. TensorFlow's contracts
 * (python/training/coordinator.py, queue_runner_impl.py) with levada_error in place of exceptions.
 * Any thread, unless said otherwise.
 */
#ifndef LEVADA_COORDINATOR_H
#define LEVADA_COORDINATOR_H

#include <levada/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_coordinator  levada_coordinator;
typedef struct levada_looper       levada_looper;
typedef struct levada_queue_runner levada_queue_runner;

/* Codes in `clean` (n of them; NULL = EOUT_OF_RANGE) ask for a stop without being errors. */
LEVADA_API LEVADA_MUST_USE levada_status levada_coordinator_create(const levada_status *clean,
                                                                   int32_t n,
                                                                   levada_coordinator **out,
                                                                   levada_error *err);
/* All its threads must have been joined. */
LEVADA_API void levada_coordinator_destroy(levada_coordinator **coordinator);
/* why NULL or a clean code: a clean stop. The first error is kept, later ones are listed. After
 * join an error is returned to the caller and nothing is recorded. Never blocks. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_coordinator_request_stop(levada_coordinator *coordinator, const levada_error *why,
                                levada_error *err);
LEVADA_API bool levada_coordinator_should_stop(const levada_coordinator *coordinator);
/* Until the stop or the time is up; whether the stop was asked for. */
LEVADA_API bool levada_coordinator_wait_for_stop(levada_coordinator *coordinator, int64_t timeout);
LEVADA_API void levada_coordinator_clear_stop(levada_coordinator *coordinator);
LEVADA_API bool levada_coordinator_joined(const levada_coordinator *coordinator);
/* The kept error, or OK. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_coordinator_raise_requested(levada_coordinator *coordinator, levada_error *err);

/* Starts run(user) on a thread of the coordinator's; a status that it returns asks for the stop. */
LEVADA_API LEVADA_MUST_USE levada_status levada_coordinator_start_thread(
    levada_coordinator *coordinator, const char *name,
    levada_status (*run)(levada_coordinator *coordinator, void *user, levada_error *err),
    void *user, levada_error *err);
/* Waits for all threads: without limit until the stop, then `grace` nanoseconds. Returns the kept
 * error; else, where threads still run, EDEADLINE_EXCEEDED naming them and what they wait for (not
 * with ignore_live). Not from a thread of its own. */
LEVADA_API LEVADA_MUST_USE levada_status levada_coordinator_join(levada_coordinator *coordinator,
                                                                 int64_t grace, bool ignore_live,
                                                                 levada_error *err);

typedef struct levada_looper_options {
    size_t  struct_size;
    int64_t interval; /* nanoseconds; -1 = as fast as it goes; missed ticks are caught up */
    levada_status (*start)(void *user, levada_error *err); /* may be NULL */
    levada_status (*run)(void *user, levada_error *err);
    void (*stop)(void *user); /* always runs once start was entered; may be NULL */
    void       *user;
    const char *name;
} levada_looper_options;

LEVADA_API LEVADA_MUST_USE levada_status levada_looper_start(levada_coordinator *coordinator,
                                                             const levada_looper_options *options,
                                                             levada_looper **out,
                                                             levada_error *err);
/* After its coordinator was joined. */
LEVADA_API void levada_looper_destroy(levada_looper **looper);

typedef struct levada_queue_runner_options {
    size_t struct_size;
    /* Thread i calls enqueue[i](users[i]) until it gives a status other than OK. */
    int32_t nthreads;
    levada_status (**enqueue)(void *user, levada_error *err);
    void               **users;
    const levada_status *closed; /* codes that end a thread quietly; NULL = EOUT_OF_RANGE */
    int32_t              nclosed;
    const char          *name;
} levada_queue_runner_options;

/* Refers to the queue. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_queue_runner_create(levada_queue *queue, const levada_queue_runner_options *options,
                           levada_queue_runner **out, levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_queue_runner_start(levada_queue_runner *runner,
                                                                   levada_coordinator  *coordinator,
                                                                   levada_error        *err);
/* The errors of its threads, oldest first; NULL beyond the last. Borrowed until the next start. */
LEVADA_API const levada_error *levada_queue_runner_error(const levada_queue_runner *runner,
                                                         int32_t i);
/* After its coordinator was joined. */
LEVADA_API void levada_queue_runner_destroy(levada_queue_runner **runner);

#ifdef __cplusplus
}
#endif

#endif
