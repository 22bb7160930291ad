/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A coordinator from the inside. Two files: coordinator.c stops and joins, coordinator_member.c has
 * the threads.
 */
#ifndef LEVADA_RUNTIME_COORDINATOR_PRIV_H
#define LEVADA_RUNTIME_COORDINATOR_PRIV_H

#include "runtime/wait.h"

#include <levada/coordinator.h>

typedef struct levada_thread_def {
    const char *name; /* copied */
    levada_status (*run)(levada_coordinator *coordinator, void *user, levada_error *err);
    void *user;
} levada_thread_def;

#define LEVADA_COORDINATOR_ERRORS 8

/* In this order: from STOPPING on the stop was asked for. */
typedef enum levada_coordinator_state {
    LEVADA_COORDINATOR_NEW,
    LEVADA_COORDINATOR_RUNNING,  /* it has, or had, a thread                                   */
    LEVADA_COORDINATOR_ENDED,    /* joined, but nobody asked for a stop: the threads just ended */
    LEVADA_COORDINATOR_STOPPING, /* the stop was asked for                                     */
    LEVADA_COORDINATOR_STOPPED,  /* ... and joined                                             */
    LEVADA_COORDINATOR_FAILED    /* ... with an error                                          */
} levada_coordinator_state;

struct levada_member {
    levada_member      *next, *prev;
    levada_coordinator *coordinator;
    int64_t             number;
    uint64_t            thread; /* 0: not known */
    bool                ours;   /* started here; else registered, with a reference */
    bool                called_off;
    levada_thread_def   def;
    levada_thread       system;
    char                name[];
};

struct levada_coordinator {
    atomic_int     refs;
    unsigned       process; /* that it belongs to (base/process.h) */
    levada_wait_list    *wait_list, *names;
    levada_site    site;
    levada_status *clean;
    int32_t        nclean;
    levada_mutex   starting; /* held while threads are made; they wait for it before they run */
    levada_lock    lock;
    atomic_int     state; /* levada_coordinator_state; anybody reads it */
    /* -- guarded by lock */
    levada_line    waits;
    levada_member *first, *last; /* threads that have not ended */
    levada_member *ended;        /* ours, not yet joined */
    int64_t        number;       /* of the latest member */
    int64_t        joined_to;    /* members up to this number were in a join */
    int32_t        nerrors;
    levada_error   errors[LEVADA_COORDINATOR_ERRORS];
};

/* -- coordinator.c -- */

void levada_coordinator_unref(levada_coordinator *coordinator);
/* Moves the coordinator to a state; the only function that changes the state. */
void levada_coordinator_move_locked(levada_coordinator *coordinator, levada_coordinator_state to);
void levada_coordinator_keep_locked(levada_coordinator *coordinator, const levada_error *why);
/* Wakes those whose wait is over. */
void levada_coordinator_settle_locked(levada_coordinator *coordinator, levada_woken *woken);
/* Waits until the stop or until that time on the clock of levada_now; `what` is for reports. */
bool levada_coordinator_wait_until(levada_coordinator *coordinator, const char *what,
                                   int64_t until);

/* -- coordinator_member.c -- */

/* Joins the threads that have ended, as the system wants it. */
void levada_coordinator_reap(levada_coordinator *coordinator);
/* Abandons it in place of destroying it, in the child of a fork, where its threads do not exist. If
 * one of them was changing it, or is the thread that forked, its memory stays until the process
 * ends. */
void levada_coordinator_abandon(levada_coordinator *coordinator);
/* Starts all of them or none: where one cannot be started, no run was called. */
LEVADA_MUST_USE levada_status levada_coordinator_start_all(levada_coordinator      *coordinator,
                                                           const levada_thread_def *defs, int32_t n,
                                                           levada_error *err);

#endif
