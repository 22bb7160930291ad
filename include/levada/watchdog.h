/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watchdog: reports calls that wait in a queue or barrier for longer than a limit, and cancels
 * them if requested. A cancelled call ends with ECANCELLED as after levada_queue_cancel: nothing is
 * lost, and others keep waiting.
 *
 * Calls that wait pay nothing for it: they are in a list, in the order in which they began to wait
 * (levada_waiters_json shows it), and the watchdog looks at the oldest when its time is up. Each
 * wait is reported once by each watchdog. Waits for a coordinator's stop, for the next turn of a
 * looper and in join are long by nature and are left alone.
 */
#ifndef LEVADA_WATCHDOG_H
#define LEVADA_WATCHDOG_H

#include <levada/env.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_watchdog levada_watchdog;

typedef struct levada_wait {
    size_t  struct_size;
    char    thread[64]; /* as given with levada_waiter_name, else "thread 1234" */
    char    object[64];
    char    waits_for[64]; /* "dequeue_many(64)" */
    int64_t nanoseconds;   /* so far                                   */
    bool    cancelled;     /* by the watchdog: the call is on its way out */
    char    detail[80];    /* of a state saver: "ready 3, incomplete 40"; else "" */
} levada_wait;

#define LEVADA_WAIT_INIT                              \
    {                                                 \
        sizeof(levada_wait), "", "", "", 0, false, "" \
    }
/* The same for languages without macros; size is sizeof(levada_wait). */
LEVADA_API void levada_wait_init(levada_wait *all, size_t size);

typedef struct levada_watchdog_options {
    size_t  struct_size;
    int64_t limit;  /* nanoseconds, at least 1 */
    bool    cancel; /* and not only report     */
    /* Called for each wait that is too long, with nothing held, by a thread of the watchdog's. It
     * may stop the watchdog, not destroy it. NULL: there is no thread, levada_watchdog_next is
     * called by one of the caller's. */
    void (*report)(void *user, const levada_wait *wait);
    void *user;
} levada_watchdog_options;

#define LEVADA_WATCHDOG_OPTIONS_INIT                                           \
    {                                                                          \
        sizeof(levada_watchdog_options), INT64_C(30000000000), false, NULL, NULL \
    }
/* The same for languages without macros; size is sizeof(levada_watchdog_options). */
LEVADA_API void levada_watchdog_options_init(levada_watchdog_options *all, size_t size);

/* Watches the queues and barriers of the environment. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_watchdog_create(levada_env *env, const levada_watchdog_options *options,
                       levada_watchdog **out, levada_error *err);
/* The next wait that is too long; it is cancelled by then if that was requested. AGAIN after
 * `timeout` nanoseconds without one (LEVADA_FOREVER), END once the watchdog is stopped. One thread
 * at a time, none where there is `report`. */
LEVADA_API LEVADA_MUST_USE levada_status levada_watchdog_next(levada_watchdog *watchdog,
                                                              int64_t timeout, levada_wait *out,
                                                              levada_error *err);
/* Any thread, at any time, more than once. Does not wait. */
LEVADA_API void levada_watchdog_stop(levada_watchdog *watchdog);
/* Stops it and joins its thread; none may be in levada_watchdog_next. */
LEVADA_API void levada_watchdog_destroy(levada_watchdog **watchdog);

#ifdef __cplusplus
}
#endif

#endif
