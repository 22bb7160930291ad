/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the queues and barriers of an environment share: the list of threads that sleep in them and
 * the table of shared names. Its lock is the last one that anybody takes. Reference-counted, since
 * a queue may outlive its environment; any thread.
 */
#ifndef LEVADA_RUNTIME_WAIT_LIST_H
#define LEVADA_RUNTIME_WAIT_LIST_H

#include "base/text.h"
#include <levada/watchdog.h>

#include <stdatomic.h>

typedef struct levada_wait_list levada_wait_list;

LEVADA_MUST_USE levada_status levada_wait_list_create(levada_wait_list **out, levada_error *err);
levada_wait_list *levada_wait_list_ref(levada_wait_list *wait_list);
void        levada_wait_list_unref(levada_wait_list **wait_list);
/* Returns the wait list of an environment (NULL = the default one, NULL if memory is short).
 * Borrowed. registry/env.c */
levada_wait_list *levada_env_wait_list(const levada_env *env);

/* One sleep, on the stack of the thread that sleeps. The list is in the order of `since`. */
typedef struct levada_sleep {
    struct levada_sleep *next, *prev;
    const char          *object; /* name of the queue */
    const char          *what;   /* "dequeue_many"    */
    int64_t              n, since;
    uint64_t             thread, number; /* number: of this sleep, from 1 */
    void (*detail)(const void *user, char *text, size_t size); /* or NULL (levada_site) */
    const void          *detail_user;
    struct levada_park  *park;           /* NULL: no watchdog looks at it */
    atomic_bool          cancelled;      /* by a watchdog */
} levada_sleep;

void levada_wait_list_enter(levada_wait_list *wait_list, levada_sleep *sleep);
void levada_wait_list_leave(levada_wait_list *wait_list, levada_sleep *sleep);
/* Finds the next watched sleep after number *seen that began at or before that time: fills *out,
 * moves *seen and, with `cancel`, ends the sleep. Else returns false, and *since is when the next
 * one began, or -1 if there is none. */
bool levada_wait_list_overdue(levada_wait_list *wait_list, levada_wait_list *names, uint64_t *seen,
                              int64_t before,
                        bool cancel, levada_wait *out, int64_t *since);
/* Finds what a thread waits for: of that number, or of that name if number is 0. Returns false if
 * it waits for nothing. */
bool levada_wait_list_find(levada_wait_list *wait_list, levada_wait_list *names, uint64_t thread,
                           const char *name,
                     levada_wait *out);
/* Names of threads are kept in the wait list of the default environment. "" forgets it. */
void levada_wait_list_name(levada_wait_list *wait_list, uint64_t thread, const char *name);

/* Counts CPUs, and threads that spin at this moment in anything of the wait list. */
int32_t     levada_wait_list_cpus(const levada_wait_list *wait_list);
atomic_int *levada_wait_list_spinning(levada_wait_list *wait_list);

/* An object with a name that others can ask for; part of the object. */
typedef struct levada_shared {
    struct levada_shared *next;
    const char           *kind, *name; /* kind: "queue", "barrier" */
    void                 *object;
} levada_shared;

/* Finds the object of that name; NULL and `add` takes its place if there is none. The object found
 * gets a reference through *refs while nobody can drop the last one. */
void *levada_wait_list_share(levada_wait_list *wait_list, levada_shared *add,
                             atomic_int *(*refs)(void *object));
/* Drops a reference; true when it was the last one: the name is free then. */
bool levada_wait_list_drop(levada_wait_list *wait_list, levada_shared *shared, atomic_int *refs);

#endif
