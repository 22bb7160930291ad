/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one waiting engine: queues and barriers stand on it.
 *
 * A call that cannot be served at once leaves a waiter, a node on its own stack, at the end of a
 * line of its object. Nobody overtakes. A thread that changes the object serves the heads of its
 * lines: it moves data from or to the buffers of the waiters, removes complete ones from the line
 * (levada_waiter_finish), unlocks, and then wakes them, one word each (levada_wake). To wake a
 * thread that sleeps costs microseconds: of many it wakes one, and each that wakes up wakes two
 * more, before anything else. So a thread that wakes up has its result and takes no lock. Giving up
 * is O(1): take the lock; a waiter that is still in line is removed, else its result is on the way.
 *
 * A thread that waits first spins, for about what a wake-up costs (measured), when a CPU is free
 * for it and when that lately helped; then it sleeps, and is listed in the wait list.
 */
#ifndef LEVADA_RUNTIME_WAIT_H
#define LEVADA_RUNTIME_WAIT_H

#include "runtime/wait_list.h"
#include "runtime/park.h"

typedef struct levada_waiter {
    struct levada_waiter *next, *prev; /* in its line */
    struct levada_waiter *then;        /* finished after this one */
    struct levada_waiter *wakes[2];    /* sleepers that its owner wakes, once it is awake */
    bool                  linked;      /* is in a line; guarded by the object's lock */
    bool                  waits;       /* its owner looks at `park`; guarded as well     */
    levada_status         status;      /* once finished */
    int64_t               woken_at;    /* when a sleeper was woken, or 0 */
    levada_park           park;
} levada_waiter;

typedef struct levada_line {
    levada_waiter *head, *tail;
} levada_line;

typedef struct levada_woken {
    levada_waiter *first, *last;
} levada_woken;

/* Numbers of an object that reports read without its lock. */
typedef struct levada_shown {
    atomic_llong numbers[4];
} levada_shown;

void    levada_shown_set(levada_shown *shown, int which, int64_t number);
int64_t levada_shown_get(const levada_shown *shown, int which);

/* What the waiters of an object share. */
typedef struct levada_site {
    levada_wait_list *wait_list; /* borrowed from the object */
    const char *object;
    bool        watched; /* long waits are trouble: a watchdog looks at them */
    int         most; /* nanoseconds to spin at most; fixed once somebody waits */
    bool        patient; /* looks around for `most` though a wake-up costs less */
    atomic_int  spin, wake_cost; /* nanoseconds */
    atomic_int  waits;           /* counted while spin is short, to try again now and then */
    /* Asked every poll_every nanoseconds by a thread that waits; false ends the wait. */
    bool (*poll)(void *user);
    void   *poll_user;
    int64_t poll_every;
    /* Adds to a report of its waits; called without a lock of the object's, which it must not take.
     */
    void (*detail)(const void *user, char *text, size_t size);
    const void *detail_user;
    /* Called by a thread that waited, when it got what it asked for; false returns it. */
    bool (*accept)(void *user);
    void *accept_user;
} levada_site;

typedef enum levada_wait_end {
    LEVADA_WAIT_DONE,
    LEVADA_WAIT_LATE,   /* the time is up */
    LEVADA_WAIT_STOPPED, /* poll() or a watchdog said so */
    LEVADA_WAIT_FORKED   /* poll() forked, and this is the child: the object is the parent's */
} levada_wait_end;

void levada_site_init(levada_site *site, levada_wait_list *wait_list, const char *object);
/* Makes waits that are known to be longer spin for so long, whatever a wake-up costs. 0 = never. */
void levada_site_spin(levada_site *site, int nanoseconds);
/* Sets poll or accept, before anybody waits. Setting the same again changes nothing: the object may
 * be shared, and another holder may wait in it. */
void levada_site_ask(levada_site *site, bool (*poll)(void *user), void *user, int64_t every);
void levada_site_accept(levada_site *site, bool (*accept)(void *user), void *user);
/* Returns true if a short look around without standing in line makes sense, before and after it,
 * because spinning helped lately and a CPU is left for those who work. `end` only if it does. */
bool levada_site_look(levada_site *site);
void levada_site_look_end(levada_site *site);

/* Appends a waiter that is not linked. As for all functions here, the object's lock is held. */
void levada_line_append(levada_line *line, levada_waiter *waiter);
/* Replaces `waiter` by `other`. */
void levada_line_replace(levada_line *line, levada_waiter *waiter, levada_waiter *other);
void levada_line_remove(levada_line *line, levada_waiter *waiter);
/* Takes it out of the line; it is added to `woken` where its owner waits. */
void levada_waiter_finish(levada_line *line, levada_waiter *waiter, levada_status status,
                          levada_woken *woken);
/* Prepares the owner's wait: call it before the lock is released. */
void levada_waiter_prepare(levada_waiter *waiter);

/* Wakes without the lock. The waiters may be gone when it returns. */
void levada_wake(levada_woken *woken);
/* Waits without the lock, by the owner, after prepare. LATE and STOPPED: it may have been finished
 * all the same, so take the lock and look whether it is linked; if not, call levada_waiter_settle.
 * */
levada_wait_end levada_waiter_wait(levada_waiter *waiter, levada_site *site, const char *what,
                                   int64_t n, int64_t until);
/* Waits in the line that the waiter was appended to, and leaves the line if the wait ends early.
 * Without the lock, after prepare. DONE: even if the waiter was finished while the wait ended. */
levada_wait_end levada_line_wait(levada_line *line, levada_lock *lock, levada_waiter *waiter,
                                 levada_site *site, const char *what, int64_t until);
/* Waits in the line with the lock, which others may take meanwhile. Returns even if the wait is
 * cancelled: the caller looks again. */
void levada_line_wait_locked(levada_line *line, levada_lock *lock, levada_site *site,
                             const char *what);
/* Waits for a wake-up that is on the way. */
void levada_waiter_settle(levada_waiter *waiter);
/* Clears the end of a wait that did not end with DONE or settle. */
void levada_waiter_clear(levada_waiter *waiter);

#endif
