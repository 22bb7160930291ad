/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/wait_list.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "base/refs.h"
#include "runtime/park.h"

#include <levada/queue.h>

#include <stdio.h>
#include <string.h>

#define WAIT_LIST_NAMES 1024 /* names kept; the oldest go first */
#define WAIT_LIST_NAME_BYTES 64

typedef struct wait_list_name {
    uint64_t thread; /* 0 = free */
    char     text[WAIT_LIST_NAME_BYTES];
} wait_list_name;

struct levada_wait_list {
    atomic_int   refs;
    int32_t      cpus;
    atomic_int   spinning;
    levada_guard guard;
    levada_mutex lock;
    /* -- guarded by lock */
    uint64_t       forks; /* number of the thread that forks */
    levada_sleep  *sleeps, *latest;
    uint64_t       number; /* of the latest sleep */
    levada_shared *shared;
    wait_list_name      *names;
    int32_t        nnames, oldest;
    int64_t        capacity; /* of names */
};

static void wait_list_hold(void *object)
{
    levada_wait_list *wait_list = object;

    levada_mutex_hold(&wait_list->lock);
    wait_list->forks = levada_thread_number();
}

/* Forgets a sleep: a signal handler may have forked inside a sleep of its own thread, which
 * continues. */
static void wait_list_forget_locked(levada_wait_list *wait_list)
{
    levada_sleep *sleep = wait_list->sleeps, *next;

    wait_list->sleeps = wait_list->latest = NULL;
    for (; sleep != NULL; sleep = next) {
        next = sleep->next;
        if (sleep->thread != wait_list->forks) continue;
        sleep->next = NULL;
        sleep->prev = wait_list->latest;
        if (wait_list->latest != NULL) wait_list->latest->next = sleep;
        else wait_list->sleeps = sleep;
        wait_list->latest = sleep;
    }
    wait_list->shared = NULL;
    wait_list->nnames = wait_list->oldest = 0;
    atomic_store(&wait_list->spinning, 0);
}

/* Forgets in the child of a fork who sleeps, because the other threads are gone with their stacks,
 * and the objects with shared names, which belong to the parent. */
static void wait_list_release(void *object, bool child)
{
    levada_wait_list *wait_list = object;

    if (child) wait_list_forget_locked(wait_list);
    levada_mutex_release(&wait_list->lock);
}

levada_status levada_wait_list_create(levada_wait_list **out, levada_error *err)
{
    levada_wait_list *wait_list = levada_alloc_zero(sizeof(*wait_list));

    if (wait_list == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    atomic_init(&wait_list->refs, 1);
    wait_list->cpus = levada_cpu_count();
    if (levada_mutex_init(&wait_list->lock, LEVADA_LOCK_WAIT_LIST, err) != LEVADA_OK) {
        levada_free(wait_list);
        return LEVADA_ERESOURCE_EXHAUSTED;
    }
    levada_guard_add(&wait_list->guard, wait_list_hold, wait_list_release, wait_list);
    *out = wait_list;
    return LEVADA_OK;
}

levada_wait_list *levada_wait_list_ref(levada_wait_list *wait_list)
{
    levada_refs_add(&wait_list->refs);
    return wait_list;
}

void levada_wait_list_unref(levada_wait_list **wait_list)
{
    levada_wait_list *gone = *wait_list;

    *wait_list = NULL;
    if (gone == NULL || !levada_refs_drop(&gone->refs)) return;
    levada_guard_remove(&gone->guard);
    levada_mutex_clear(&gone->lock);
    levada_free(gone->names);
    levada_free(gone);
}

int32_t levada_wait_list_cpus(const levada_wait_list *wait_list)
{
    return wait_list != NULL ? wait_list->cpus : 1;
}

atomic_int *levada_wait_list_spinning(levada_wait_list *wait_list) { return &wait_list->spinning; }

void levada_wait_list_enter(levada_wait_list *wait_list, levada_sleep *sleep)
{
    sleep->thread = levada_thread_number();
    sleep->since = levada_now();
    sleep->next = NULL;
    levada_mutex_lock(&wait_list->lock);
    sleep->number = ++wait_list->number;
    sleep->prev = wait_list->latest;
    /* One who was faster to the lock has begun later: the list stays in order. */
    if (sleep->prev != NULL && sleep->prev->since > sleep->since) sleep->since = sleep->prev->since;
    if (wait_list->latest != NULL) wait_list->latest->next = sleep;
    else wait_list->sleeps = sleep;
    wait_list->latest = sleep;
    levada_mutex_unlock(&wait_list->lock);
}

void levada_wait_list_leave(levada_wait_list *wait_list, levada_sleep *sleep)
{
    levada_mutex_lock(&wait_list->lock);
    if (sleep->next != NULL) sleep->next->prev = sleep->prev;
    else wait_list->latest = sleep->prev;
    if (sleep->prev != NULL) sleep->prev->next = sleep->next;
    else wait_list->sleeps = sleep->next;
    levada_mutex_unlock(&wait_list->lock);
}

/* -- names of threads -------------------------------------------------------------------------- */

static wait_list_name *wait_list_name_find(const levada_wait_list *wait_list, uint64_t thread)
{
    for (int32_t i = 0; i < wait_list->nnames; i++) {
        if (wait_list->names[i].thread == thread) return &wait_list->names[i];
    }
    return NULL;
}

/* Returns a place for one more; NULL if memory is short: then the name is not kept. */
static wait_list_name *wait_list_name_place(levada_wait_list *wait_list)
{
    if (wait_list->nnames == WAIT_LIST_NAMES) {
        wait_list->oldest = (wait_list->oldest + 1) % WAIT_LIST_NAMES;
        return &wait_list->names[wait_list->oldest];
    }
    if (!levada_reserve(&wait_list->names, &wait_list->capacity, wait_list->nnames + 1,
                        sizeof(*wait_list->names))) {
        return NULL;
    }
    return &wait_list->names[wait_list->nnames++];
}

void levada_wait_list_name(levada_wait_list *wait_list, uint64_t thread, const char *name)
{
    size_t    n = strlen(name);
    wait_list_name *place;

    if (n >= WAIT_LIST_NAME_BYTES) n = WAIT_LIST_NAME_BYTES - 1;
    levada_mutex_lock(&wait_list->lock);
    place = wait_list_name_find(wait_list, thread);
    if (n == 0 && place != NULL) {
        *place = wait_list->names[--wait_list->nnames];
        place = NULL;
    } else if (place == NULL && n > 0) {
        place = wait_list_name_place(wait_list);
    }
    if (place != NULL) {
        place->thread = thread;
        memcpy(place->text, name, n);
        place->text[n] = '\0';
    }
    levada_mutex_unlock(&wait_list->lock);
}

void levada_waiter_name(const char *name)
{
    levada_wait_list *wait_list = levada_env_wait_list(NULL);

    if (wait_list != NULL) levada_wait_list_name(wait_list, levada_thread_number(),
                                                 name != NULL ? name : "");
}

/* -- report ------------------------------------------------------------------------------------ */

/* Copies a text, cut if it is too long. */
static void wait_list_copy(char *to, size_t size, const char *text)
{
    size_t n = strlen(text);

    if (n >= size) n = size - 1;
    memcpy(to, text, n);
    to[n] = '\0';
}

/* Describes a sleep; the wait list's lock is held, so the object stays while its sleep is in the
 * list. */
static void wait_list_describe(const levada_sleep *sleep, levada_wait *out)
{
    memset(out, 0, sizeof(*out));
    out->struct_size = sizeof(*out);
    wait_list_copy(out->object, sizeof(out->object), sleep->object);
    wait_list_copy(out->waits_for, sizeof(out->waits_for), sleep->what);
    if (sleep->n >= 0) {
        (void)snprintf(out->waits_for, sizeof(out->waits_for), "%.40s(%lld)", sleep->what,
                       (long long)sleep->n);
    }
    if (sleep->detail != NULL) sleep->detail(sleep->detail_user, out->detail, sizeof(out->detail));
    out->nanoseconds = levada_now() - sleep->since;
    out->cancelled = atomic_load_explicit(&sleep->cancelled, memory_order_relaxed);
}

/* Describes the thread without a lock, because names may be in the same wait list. */
static void wait_list_describe_thread(levada_wait_list *names, uint64_t thread, levada_wait *out)
{
    levada_mutex_lock(&names->lock);
    const wait_list_name *found = wait_list_name_find(names, thread);
    if (found != NULL) wait_list_copy(out->thread, sizeof(out->thread), found->text);
    levada_mutex_unlock(&names->lock);
    if (found != NULL) return;
    (void)snprintf(out->thread, sizeof(out->thread), "thread %llu", (unsigned long long)thread);
}

bool levada_wait_list_overdue(levada_wait_list *wait_list, levada_wait_list *names, uint64_t *seen,
                              int64_t before,
                        bool cancel, levada_wait *out, int64_t *since)
{
    bool     found;
    uint64_t thread = 0;

    levada_mutex_lock(&wait_list->lock);
    levada_sleep *sleep = wait_list->sleeps;
    while (sleep != NULL && (sleep->park == NULL || sleep->number <= *seen)) sleep = sleep->next;
    *since = sleep != NULL ? sleep->since : -1;
    found = sleep != NULL && sleep->since <= before;
    if (found) {
        *seen = sleep->number;
        thread = sleep->thread;
        if (cancel) {
            atomic_store_explicit(&sleep->cancelled, true, memory_order_relaxed);
            levada_park_nudge(sleep->park); /* it cannot leave the list meanwhile */
        }
        wait_list_describe(sleep, out);
    }
    levada_mutex_unlock(&wait_list->lock);
    if (found) wait_list_describe_thread(names, thread, out);
    return found;
}

static uint64_t wait_list_named(levada_wait_list *names, const char *name)
{
    uint64_t thread = 0;

    levada_mutex_lock(&names->lock);
    for (int32_t i = 0; i < names->nnames && thread == 0; i++) {
        if (strcmp(names->names[i].text, name) == 0) thread = names->names[i].thread;
    }
    levada_mutex_unlock(&names->lock);
    return thread;
}

bool levada_wait_list_find(levada_wait_list *wait_list, levada_wait_list *names, uint64_t thread,
                           const char *name,
                     levada_wait *out)
{
    if (thread == 0) thread = wait_list_named(names, name);
    if (thread == 0) return false;
    levada_mutex_lock(&wait_list->lock);
    const levada_sleep *sleep = wait_list->sleeps;
    while (sleep != NULL && sleep->thread != thread) sleep = sleep->next;
    if (sleep != NULL) wait_list_describe(sleep, out);
    levada_mutex_unlock(&wait_list->lock);
    if (sleep != NULL) wait_list_describe_thread(names, thread, out);
    return sleep != NULL;
}

/* Copies the first sleep after number *seen, since printing allocates. */
static bool wait_list_next(levada_wait_list *wait_list, levada_wait_list *names, uint64_t *seen,
                           levada_wait *out)
{
    uint64_t thread = 0;

    levada_mutex_lock(&wait_list->lock);
    const levada_sleep *sleep = wait_list->sleeps;
    while (sleep != NULL && sleep->number <= *seen) sleep = sleep->next;
    if (sleep != NULL) {
        *seen = sleep->number;
        thread = sleep->thread;
        wait_list_describe(sleep, out);
    }
    levada_mutex_unlock(&wait_list->lock);
    if (sleep != NULL) wait_list_describe_thread(names, thread, out);
    return sleep != NULL;
}

static void wait_list_print(levada_wait_list *wait_list, levada_wait_list *names, levada_text *to)
{
    const char *before = "{\"thread\": ";
    levada_wait wait;

    levada_text_char(to, '[');
    for (uint64_t seen = 0; wait_list_next(wait_list, names, &seen,
                                           &wait);
         before = ", {\"thread\": ") {
        levada_text_put(to, before);
        levada_text_json(to, wait.thread, strlen(wait.thread));
        levada_text_put(to, ", \"object\": ");
        levada_text_json(to, wait.object, strlen(wait.object));
        levada_text_format(to, ", \"waits_for\": \"%s\", \"seconds\": %.3f", wait.waits_for,
                           (double)wait.nanoseconds * 1e-9);
        if (wait.detail[0] != '\0') levada_text_format(to, ", \"detail\": \"%s\"", wait.detail);
        levada_text_char(to, '}');
    }
    levada_text_char(to, ']');
}

levada_status levada_waiters_json(levada_env *env, char **out, levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_wait_list *wait_list = levada_env_wait_list(env), *names = levada_env_wait_list(NULL);
    levada_text text = { 0 };

    if (wait_list == NULL || names == NULL) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    }
    wait_list_print(wait_list, names, &text);
    return levada_text_steal(&text, out, err);
}

/* -- shared names ------------------------------------------------------------------------------ */

void *levada_wait_list_share(levada_wait_list *wait_list, levada_shared *add,
                             atomic_int *(*refs)(void *object))
{
    void *found = NULL;

    levada_mutex_lock(&wait_list->lock);
    for (levada_shared *s = wait_list->shared; s != NULL && found == NULL; s = s->next) {
        if (strcmp(s->kind, add->kind) == 0 && strcmp(s->name, add->name) == 0) found = s->object;
    }
    if (found != NULL) {
        levada_refs_add(refs(found));
    } else {
        add->next = wait_list->shared;
        wait_list->shared = add;
    }
    levada_mutex_unlock(&wait_list->lock);
    return found;
}

bool levada_wait_list_drop(levada_wait_list *wait_list, levada_shared *shared, atomic_int *refs)
{
    levada_shared **at = &wait_list->shared;
    bool            last;

    levada_mutex_lock(&wait_list->lock);
    last = levada_refs_drop(refs);
    if (last) {
        while (*at != NULL && *at != shared) at = &(*at)->next;
        if (*at != NULL) *at = shared->next;
    }
    levada_mutex_unlock(&wait_list->lock);
    return last;
}
