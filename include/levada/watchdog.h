/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watchdog reports calls that wait in a queue or barrier for longer than a limit, and cancels
 * them if requested. A cancelled call ends with ECANCELLED as after levada_queue_cancel; nothing is
 * lost, and other calls continue to wait.
 *
 * A watchdog does not slow down waiting calls: it checks the oldest call of the list that
 * levada_waiters_json shows, when its time is up. Each watchdog reports a wait once. It ignores
 * waits for a coordinator's stop, for the next tick of a looper and in join, because these are
 * often long.
 *
 * Example:
 *
 *     static void on_wait(void *user, const levada_wait *wait)
 *     {
 *         (void)user;
 *         fprintf(stderr, "%s waits in %s: %s\n", wait->thread, wait->object, wait->waits_for);
 *     }
 *
 *     static levada_status run(levada_error *err)
 *     {
 *         levada_watchdog_options options = LEVADA_WATCHDOG_OPTIONS_INIT; // 30 s
 *         levada_watchdog        *watchdog = NULL;
 *
 *         options.report = on_wait;
 *         LEVADA_TRY(levada_watchdog_create(NULL, &options, &watchdog, err));
 *         levada_watchdog_destroy(&watchdog); // at the end of the program
 *         return LEVADA_OK;
 *     }
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
    char    thread[64]; /* name of levada_waiter_name, else "thread 1234" */
    char    object[64];
    char    waits_for[64]; /* "dequeue_many(64)"                              */
    int64_t nanoseconds;   /* duration so far                                 */
    bool    cancelled;     /* the watchdog has cancelled the call             */
    char    detail[80];    /* state savers: "ready 3, incomplete 40"; else "" */
} levada_wait;

#define LEVADA_WAIT_INIT                              \
    {                                                 \
        sizeof(levada_wait), "", "", "", 0, false, "" \
    }
/* Sets *all to its defaults, for languages without macros; size is sizeof(levada_wait). */
LEVADA_API void levada_wait_init(levada_wait *all, size_t size);

typedef struct levada_watchdog_options {
    size_t  struct_size;
    int64_t limit;  /* nanoseconds, at least 1 */
    bool    cancel; /* also cancel calls       */
    /* Called on the watchdog's thread, without locks, for each wait that is too long. It may stop
     * the watchdog, but not destroy it. NULL = no thread; the caller calls levada_watchdog_next. */
    void (*report)(void *user, const levada_wait *wait);
    void *user;
} levada_watchdog_options;

#define LEVADA_WATCHDOG_OPTIONS_INIT                                           \
    {                                                                          \
        sizeof(levada_watchdog_options), INT64_C(30000000000), false, NULL, NULL \
    }
/* Sets *all to its defaults, for languages without macros; size is
 * sizeof(levada_watchdog_options). */
LEVADA_API void levada_watchdog_options_init(levada_watchdog_options *all, size_t size);

/* Creates a watchdog for the queues and barriers of the environment. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_watchdog_create(levada_env *env, const levada_watchdog_options *options,
                       levada_watchdog **out, levada_error *err);
/* Returns the next wait that is too long, after cancelling it if requested. Returns AGAIN after
 * `timeout` nanoseconds (LEVADA_FOREVER = without limit), and END once the watchdog is stopped. One
 * thread at a time may call it, and only without `report`. */
LEVADA_API LEVADA_MUST_USE levada_status levada_watchdog_next(levada_watchdog *watchdog,
                                                              int64_t timeout, levada_wait *out,
                                                              levada_error *err);
/* Stops the watchdog without waiting. Any thread, at any time, more than once. */
LEVADA_API void levada_watchdog_stop(levada_watchdog *watchdog);
/* Stops the watchdog and joins its thread. No call of levada_watchdog_next may be running. */
LEVADA_API void levada_watchdog_destroy(levada_watchdog **watchdog);

#ifdef __cplusplus
}
#endif

#endif
