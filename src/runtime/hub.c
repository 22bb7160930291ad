/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/hub.h"

#include "base/alloc.h"
#include "runtime/park.h"

#include <levada/queue.h>

#include <string.h>

#define HUB_NAMES 1024 /* names kept; the oldest go first */
#define HUB_NAME_BYTES 32

typedef struct hub_name {
    uint64_t thread; /* 0 = free */
    char     text[HUB_NAME_BYTES];
} hub_name;

struct levada_hub {
    atomic_int   refs;
    int32_t      cpus;
    atomic_int   spinning;
    levada_mutex lock;
    /* -- guarded by lock */
    levada_sleep  *sleeps, *latest;
    levada_shared *shared;
    hub_name      *names;
    int32_t        nnames, room, oldest;
};

levada_status levada_hub_create(levada_hub **out, levada_error *err)
{
    levada_hub *hub = levada_alloc_zero(sizeof(*hub));

    if (hub == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    atomic_init(&hub->refs, 1);
    hub->cpus = levada_cpu_count();
    if (levada_mutex_init(&hub->lock, err) != LEVADA_OK) {
        levada_free(hub);
        return LEVADA_ERESOURCE_EXHAUSTED;
    }
    *out = hub;
    return LEVADA_OK;
}

levada_hub *levada_hub_ref(levada_hub *hub)
{
    atomic_fetch_add_explicit(&hub->refs, 1, memory_order_relaxed);
    return hub;
}

void levada_hub_unref(levada_hub **hub)
{
    levada_hub *gone = *hub;

    *hub = NULL;
    if (gone == NULL || atomic_fetch_sub_explicit(&gone->refs, 1, memory_order_acq_rel) > 1) return;
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
    sleep->prev = hub->latest;
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
    if (place == NULL) place = hub_name_place(hub);
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

static void hub_print_thread(levada_hub *names, uint64_t thread, levada_text *to)
{
    char copy[HUB_NAME_BYTES] = "";

    levada_mutex_lock(&names->lock);
    hub_name *found = hub_name_find(names, thread);
    if (found != NULL) memcpy(copy, found->text, sizeof(copy));
    levada_mutex_unlock(&names->lock);
    if (copy[0] != '\0') levada_text_json(to, copy, strlen(copy));
    else levada_text_format(to, "\"thread %llu\"", (unsigned long long)thread);
}

/* The list is copied first: names may be in the same hub, and printing allocates. */
void levada_hub_print(levada_hub *hub, levada_hub *names, levada_text *to)
{
    levada_sleep one;
    char         object[64];
    int64_t      at = 0;

    levada_text_char(to, '[');
    for (;; at++) {
        int64_t k = 0;

        levada_mutex_lock(&hub->lock);
        const levada_sleep *sleep = hub->sleeps;
        while (sleep != NULL && k < at) {
            sleep = sleep->next;
            k++;
        }
        if (sleep != NULL) {
            size_t n = strlen(sleep->object);

            if (n >= sizeof(object)) n = sizeof(object) - 1;
            memcpy(object, sleep->object, n);
            object[n] = '\0';
            one = *sleep;
        }
        levada_mutex_unlock(&hub->lock);
        if (sleep == NULL) break;
        levada_text_put(to, at > 0 ? ", {\"thread\": " : "{\"thread\": ");
        hub_print_thread(names, one.thread, to);
        levada_text_put(to, ", \"object\": ");
        levada_text_json(to, object, strlen(object));
        if (one.n >= 0)
            levada_text_format(to, ", \"waits_for\": \"%s(%lld)\"", one.what, (long long)one.n);
        else levada_text_format(to, ", \"waits_for\": \"%s\"", one.what);
        levada_text_format(to, ", \"seconds\": %.3f}", (double)(levada_now() - one.since) * 1e-9);
    }
    levada_text_char(to, ']');
}

levada_status levada_waiters_json(levada_env *env, char **out, levada_error *err)
{
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
        atomic_fetch_add_explicit(refs(found), 1, memory_order_relaxed);
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
    last = atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
    if (last) {
        while (*at != NULL && *at != shared) at = &(*at)->next;
        if (*at != NULL) *at = shared->next;
    }
    levada_mutex_unlock(&hub->lock);
    return last;
}
