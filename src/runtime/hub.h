/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the queues and barriers of an environment share: the list of threads that sleep in them and
 * the table of shared names. Its lock is the last one that anybody takes. Reference-counted, since
 * a queue may outlive its environment; any thread.
 */
#ifndef LEVADA_RUNTIME_HUB_H
#define LEVADA_RUNTIME_HUB_H

#include "base/text.h"
#include <levada/watchdog.h>

#include <stdatomic.h>

typedef struct levada_hub levada_hub;

LEVADA_MUST_USE levada_status levada_hub_create(levada_hub **out, levada_error *err);
levada_hub *levada_hub_ref(levada_hub *hub);
void        levada_hub_unref(levada_hub **hub);
/* Of an environment (NULL = the default one, NULL where memory is short). Borrowed. core/env.c */
levada_hub *levada_env_hub(const levada_env *env);

/* One sleep, on the stack of the thread that sleeps. The list is in the order of `since`. */
typedef struct levada_sleep {
    struct levada_sleep *next, *prev;
    const char          *object; /* name of the queue */
    const char          *what;   /* "dequeue_many"    */
    int64_t              n, since;
    uint64_t             thread, number; /* number: of this sleep, from 1 */
    struct levada_park  *park;           /* NULL: no watchdog looks at it */
    atomic_bool          cancelled;      /* by a watchdog */
} levada_sleep;

void levada_hub_enter(levada_hub *hub, levada_sleep *sleep);
void levada_hub_leave(levada_hub *hub, levada_sleep *sleep);
/* The next watched sleep after number *seen that began at or before that time: fills *out, moves
 * *seen and, with `cancel`, ends the sleep. Else false, and *since is when the next one began, or
 * -1 where there is none. */
bool levada_hub_overdue(levada_hub *hub, levada_hub *names, uint64_t *seen, int64_t before,
                        bool cancel, levada_wait *out, int64_t *since);
/* What a thread waits for: of that number, or of that name where number is 0. False: nothing. */
bool levada_hub_find(levada_hub *hub, levada_hub *names, uint64_t thread, const char *name,
                     levada_wait *out);
/* Names of threads are kept in the hub of the default environment. "" forgets it. */
void levada_hub_name(levada_hub *hub, uint64_t thread, const char *name);
void levada_hub_print(levada_hub *hub, levada_hub *names, levada_text *to);

/* CPUs, and threads that spin at this moment in anything of the hub. */
int32_t     levada_hub_cpus(const levada_hub *hub);
atomic_int *levada_hub_spinning(levada_hub *hub);

/* An object with a name that others can ask for; part of the object. */
typedef struct levada_shared {
    struct levada_shared *next;
    const char           *kind, *name; /* kind: "queue", "barrier" */
    void                 *object;
} levada_shared;

/* The object of that name; NULL and `add` takes its place where there is none. The object found
 * gets a reference through *refs while nobody can drop the last one. */
void *levada_hub_share(levada_hub *hub, levada_shared *add, atomic_int *(*refs)(void *object));
/* Drops a reference; true when it was the last one: the name is free then. */
bool levada_hub_drop(levada_hub *hub, levada_shared *shared, atomic_int *refs);

#endif
