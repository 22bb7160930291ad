/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/hub.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "base/refs.h"
#include "runtime/park.h"

#include <levada/queue.h>

#include <stdio.h>
#include <string.h>

#define HUB_NAMES 1024 /* names kept; the oldest go first */
#define HUB_NAME_BYTES 64

typedef struct hub_name {
    uint64_t thread; /* 0 = free */
    char     text[HUB_NAME_BYTES];
} hub_name;

struct levada_hub {
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
    hub_name      *names;
    int32_t        nnames, room, oldest;
};

static void hub_hold(void *object)
{
    levada_hub *hub = object;

    levada_mutex_hold(&hub->lock);
    hub->forks = levada_thread_number();
}

/* A signal handler may have forked inside a sleep of its own thread, which goes on. */
static void hub_forget_locked(levada_hub *hub)
{
    levada_sleep *sleep = hub->sleeps, *next;

    hub->sleeps = hub->latest = NULL;
    for (; sleep != NULL; sleep = next) {
        next = sleep->next;
        if (sleep->thread != hub->forks) continue;
        sleep->next = NULL;
        sleep->prev = hub->latest;
        if (hub->latest != NULL) hub->latest->next = sleep;
        else hub->sleeps = sleep;
        hub->latest = sleep;
    }
    hub->shared = NULL;
    hub->nnames = hub->oldest = 0;
    atomic_store(&hub->spinning, 0);
}

/* In the child the other threads are gone with their stacks, so the hub forgets who sleeps, and the
 * objects with shared names, which are the parent's. */
static void hub_release(void *object, bool child)
{
    levada_hub *hub = object;

    if (child) hub_forget_locked(hub);
    levada_mutex_release(&hub->lock);
}

levada_status levada_hub_create(levada_hub **out, levada_error *err)
{
    levada_hub *hub = levada_alloc_zero(sizeof(*hub));

    if (hub == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    atomic_init(&hub->refs, 1);
    hub->cpus = levada_cpu_count();
    if (levada_mutex_init(&hub->lock, LEVADA_LOCK_HUB, err) != LEVADA_OK) {
        levada_free(hub);
        return LEVADA_ERESOURCE_EXHAUSTED;
    }
    levada_guard_add(&hub->guard, hub_hold, hub_release, hub);
    *out = hub;
    return LEVADA_OK;
}

levada_hub *levada_hub_ref(levada_hub *hub)
{
    levada_refs_add(&hub->refs);
    return hub;
}

void levada_hub_unref(levada_hub **hub)
{
    levada_hub *gone = *hub;

    *hub = NULL;
    if (gone == NULL || !levada_refs_drop(&gone->refs)) return;
    levada_guard_remove(&gone->guard);
    levada_mutex_clear(&gone->lock);
    levada_free(gone->names);
    levada_free(gone);
}

int32_t levada_hub_cpus(const levada_hub *hub) { return hub->cpus; }

atomic_int *levada_hub_spinning(levada_hub *hub) { return &hub->spinning; }

void levada_hub_enter(levada_hub *hub, levada_sleep *sleep)
{
    sleep->thread = levada_thread_number();
    sleep->since = levada_now();
    sleep->next = NULL;
    levada_mutex_lock(&hub->lock);
    sleep->number = ++hub->number;
    sleep->prev = hub->latest;
    /* One who was faster to the lock has begun later: the list stays in order. */
    if (sleep->prev != NULL && sleep->prev->since > sleep->since) sleep->since = sleep->prev->since;
    if (hub->latest != NULL) hub->latest->next = sleep;
    else hub->sleeps = sleep;
    hub->latest = sleep;
    levada_mutex_unlock(&hub->lock);
}

void levada_hub_leave(levada_hub *hub, levada_sleep *sleep)
{
    levada_mutex_lock(&hub->lock);
    if (sleep->next != NULL) sleep->next->prev = sleep->prev;
    else hub->latest = sleep->prev;
    if (sleep->prev != NULL) sleep->prev->next = sleep->next;
    else hub->sleeps = sleep->next;
    levada_mutex_unlock(&hub->lock);
}

/* -- names of threads -------------------------------------------------------------------------- */

static hub_name *hub_name_find(const levada_hub *hub, uint64_t thread)
{
    for (int32_t i = 0; i < hub->nnames; i++) {
        if (hub->names[i].thread == thread) return &hub->names[i];
    }
    return NULL;
}

/* A place for one more; NULL when memory is short: then the name is not kept. */
static hub_name *hub_name_place(levada_hub *hub)
{
    if (hub->nnames == HUB_NAMES) {
        hub->oldest = (hub->oldest + 1) % HUB_NAMES;
        return &hub->names[hub->oldest];
    }
    if (hub->nnames == hub->room) {
        int32_t   room = hub->room > 0 ? 2 * hub->room : 16;
        hub_name *names = levada_realloc(hub->names, (size_t)room * sizeof(*names));

        if (names == NULL) return NULL;
        hub->names = names;
        hub->room = room;
    }
    return &hub->names[hub->nnames++];
}

void levada_hub_name(levada_hub *hub, uint64_t thread, const char *name)
{
    size_t    n = strlen(name);
    hub_name *place;

    if (n >= HUB_NAME_BYTES) n = HUB_NAME_BYTES - 1;
    levada_mutex_lock(&hub->lock);
    place = hub_name_find(hub, thread);
    if (n == 0 && place != NULL) {
        *place = hub->names[--hub->nnames];
        place = NULL;
    } else if (place == NULL && n > 0) {
        place = hub_name_place(hub);
    }
    if (place != NULL) {
        place->thread = thread;
        memcpy(place->text, name, n);
        place->text[n] = '\0';
    }
    levada_mutex_unlock(&hub->lock);
}

void levada_waiter_name(const char *name)
{
    levada_hub *hub = levada_env_hub(NULL);

    if (hub != NULL) levada_hub_name(hub, levada_thread_number(), name != NULL ? name : "");
}

/* -- report ------------------------------------------------------------------------------------ */

/* Cut where it is too long. */
static void hub_copy(char *to, size_t size, const char *text)
{
    size_t n = strlen(text);

    if (n >= size) n = size - 1;
    memcpy(to, text, n);
    to[n] = '\0';
}

/* The hub's lock is held: the object stays while its sleep is in the list. */
static void hub_describe(const levada_sleep *sleep, levada_wait *out)
{
    memset(out, 0, sizeof(*out));
    out->struct_size = sizeof(*out);
    hub_copy(out->object, sizeof(out->object), sleep->object);
    hub_copy(out->waits_for, sizeof(out->waits_for), sleep->what);
    if (sleep->n >= 0) {
        (void)snprintf(out->waits_for, sizeof(out->waits_for), "%.40s(%lld)", sleep->what,
                       (long long)sleep->n);
    }
    out->nanoseconds = levada_now() - sleep->since;
    out->cancelled = atomic_load_explicit(&sleep->cancelled, memory_order_relaxed);
}

/* Without a lock: names may be in the same hub. */
static void hub_describe_thread(levada_hub *names, uint64_t thread, levada_wait *out)
{
    levada_mutex_lock(&names->lock);
    const hub_name *found = hub_name_find(names, thread);
    if (found != NULL) hub_copy(out->thread, sizeof(out->thread), found->text);
    levada_mutex_unlock(&names->lock);
    if (found != NULL) return;
    (void)snprintf(out->thread, sizeof(out->thread), "thread %llu", (unsigned long long)thread);
}

bool levada_hub_overdue(levada_hub *hub, levada_hub *names, uint64_t *seen, int64_t before,
                        bool cancel, levada_wait *out, int64_t *since)
{
    bool     found;
    uint64_t thread = 0;

    levada_mutex_lock(&hub->lock);
    levada_sleep *sleep = hub->sleeps;
    while (sleep != NULL && (sleep->park == NULL || sleep->number <= *seen)) sleep = sleep->next;
    *since = sleep != NULL ? sleep->since : -1;
    found = sleep != NULL && sleep->since <= before;
    if (found) {
        *seen = sleep->number;
        thread = sleep->thread;
        if (cancel) {
            atomic_store_explicit(&sleep->cancelled, true, memory_order_relaxed);
            levada_park_nudge(sleep->park); /* it can't leave the list meanwhile */
        }
        hub_describe(sleep, out);
    }
    levada_mutex_unlock(&hub->lock);
    if (found) hub_describe_thread(names, thread, out);
    return found;
}

static uint64_t hub_named(levada_hub *names, const char *name)
{
    uint64_t thread = 0;

    levada_mutex_lock(&names->lock);
    for (int32_t i = 0; i < names->nnames && thread == 0; i++) {
        if (strcmp(names->names[i].text, name) == 0) thread = names->names[i].thread;
    }
    levada_mutex_unlock(&names->lock);
    return thread;
}

bool levada_hub_find(levada_hub *hub, levada_hub *names, uint64_t thread, const char *name,
                     levada_wait *out)
{
    if (thread == 0) thread = hub_named(names, name);
    if (thread == 0) return false;
    levada_mutex_lock(&hub->lock);
    const levada_sleep *sleep = hub->sleeps;
    while (sleep != NULL && sleep->thread != thread) sleep = sleep->next;
    if (sleep != NULL) hub_describe(sleep, out);
    levada_mutex_unlock(&hub->lock);
    if (sleep != NULL) hub_describe_thread(names, thread, out);
    return sleep != NULL;
}

/* The first sleep after number *seen; copied, since printing allocates. */
static bool hub_next(levada_hub *hub, levada_hub *names, uint64_t *seen, levada_wait *out)
{
    uint64_t thread = 0;

    levada_mutex_lock(&hub->lock);
    const levada_sleep *sleep = hub->sleeps;
    while (sleep != NULL && sleep->number <= *seen) sleep = sleep->next;
    if (sleep != NULL) {
        *seen = sleep->number;
        thread = sleep->thread;
        hub_describe(sleep, out);
    }
    levada_mutex_unlock(&hub->lock);
    if (sleep != NULL) hub_describe_thread(names, thread, out);
    return sleep != NULL;
}

void levada_hub_print(levada_hub *hub, levada_hub *names, levada_text *to)
{
    const char *before = "{\"thread\": ";
    levada_wait wait;

    levada_text_char(to, '[');
    for (uint64_t seen = 0; hub_next(hub, names, &seen, &wait); before = ", {\"thread\": ") {
        levada_text_put(to, before);
        levada_text_json(to, wait.thread, strlen(wait.thread));
        levada_text_put(to, ", \"object\": ");
        levada_text_json(to, wait.object, strlen(wait.object));
        levada_text_format(to, ", \"waits_for\": \"%s\", \"seconds\": %.3f}", wait.waits_for,
                           (double)wait.nanoseconds * 1e-9);
    }
    levada_text_char(to, ']');
}

levada_status levada_waiters_json(levada_env *env, char **out, levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_hub *hub = levada_env_hub(env), *names = levada_env_hub(NULL);
    levada_text text = { 0 };

    if (hub == NULL || names == NULL) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    }
    levada_hub_print(hub, names, &text);
    return levada_text_steal(&text, out, err);
}

/* -- shared names ------------------------------------------------------------------------------ */

void *levada_hub_share(levada_hub *hub, levada_shared *add, atomic_int *(*refs)(void *object))
{
    void *found = NULL;

    levada_mutex_lock(&hub->lock);
    for (levada_shared *s = hub->shared; s != NULL && found == NULL; s = s->next) {
        if (strcmp(s->kind, add->kind) == 0 && strcmp(s->name, add->name) == 0) found = s->object;
    }
    if (found != NULL) {
        levada_refs_add(refs(found));
    } else {
        add->next = hub->shared;
        hub->shared = add;
    }
    levada_mutex_unlock(&hub->lock);
    return found;
}

bool levada_hub_drop(levada_hub *hub, levada_shared *shared, atomic_int *refs)
{
    levada_shared **at = &hub->shared;
    bool            last;

    levada_mutex_lock(&hub->lock);
    last = levada_refs_drop(refs);
    if (last) {
        while (*at != NULL && *at != shared) at = &(*at)->next;
        if (*at != NULL) *at = shared->next;
    }
    levada_mutex_unlock(&hub->lock);
    return last;
}
