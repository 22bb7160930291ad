/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of a coordinator. Several are started together: they wait for each other before any runs,
 * so that a failed start leaves no thread running.
 */
#include "runtime/coordinator_priv.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "base/refs.h"

#include <levada/binding.h>

#include <string.h>

/* Joins the threads that have ended, as the system wants it. */
void levada_coordinator_reap(levada_coordinator *c)
{
    levada_member *m, *next;

    levada_lock_take(&c->lock);
    m = c->ended;
    c->ended = NULL;
    levada_lock_give(&c->lock);
    for (; m != NULL; m = next) {
        next = m->next;
        levada_thread_join(&m->system);
        levada_free(m);
    }
}

/* Returns true if this is a thread of the coordinator's: it forked, and runs on in the child. */
static bool member_forked(const levada_coordinator *c)
{
    const levada_member *m = c->first;

    while (m != NULL && !(m->ours && pthread_equal(m->system.system, pthread_self()))) m = m->next;
    return m != NULL;
}

void levada_coordinator_abandon(levada_coordinator *c)
{
    levada_member *m, *next;

    if (!levada_lock_is_free(&c->lock) || member_forked(c)) return;
    c->waits = (levada_line){ 0 };
    for (m = c->ended; m != NULL; m = next) {
        next = m->next;
        levada_free(m);
    }
    for (m = c->first, c->first = c->last = NULL; m != NULL; m = next) {
        next = m->next;
        m->next = m->prev = NULL;
        if (m->ours) levada_free(m); /* others belong to who registered them */
    }
    levada_coordinator_unref(c);
}

static levada_member *member_make(levada_coordinator *c, const levada_thread_def *def)
{
    const char    *name = def->name != NULL ? def->name : "thread";
    size_t         n = strlen(name) + 1;
    levada_member *m = levada_alloc_zero(sizeof(*m) + n);

    if (m == NULL) return NULL;
    m->coordinator = c;
    m->def = *def;
    m->ours = def->run != NULL;
    memcpy(m->name, name, n);
    return m;
}

static void member_add_locked(levada_member *m)
{
    levada_coordinator *c = m->coordinator;

    m->number = ++c->number;
    m->next = NULL;
    m->prev = c->last;
    if (c->last != NULL) c->last->next = m;
    else c->first = m;
    c->last = m;
    if (atomic_load(&c->state) == LEVADA_COORDINATOR_NEW) {
        levada_coordinator_move_locked(c, LEVADA_COORDINATOR_RUNNING);
    }
}

static void member_leave(levada_member *m)
{
    levada_coordinator *c = m->coordinator;
    levada_woken        woken = { 0 };

    levada_lock_take(&c->lock);
    if (m->next != NULL) m->next->prev = m->prev;
    else c->last = m->prev;
    if (m->prev != NULL) m->prev->next = m->next;
    else c->first = m->next;
    if (m->ours) {
        m->next = c->ended;
        c->ended = m;
    }
    levada_coordinator_settle_locked(c, &woken);
    levada_lock_give(&c->lock);
    levada_wake(&woken); /* of ours nothing is there any more, perhaps */
}

/* Asks for the stop, because of an error of a thread. After join nobody would get it: it is kept
 * for the next join. */
static void member_fail(levada_member *m, levada_status status, levada_error *err)
{
    levada_coordinator *c = m->coordinator;

    if (status == LEVADA_ECANCELLED && levada_coordinator_should_stop(c)) return;
    if (err->code != status) levada_fail(err, status, "failed: %s", levada_status_text(status));
    levada_error_wrap(err, "thread '%s'", m->name);
    if (levada_coordinator_request_stop(c, err, NULL) == LEVADA_OK) return;
    levada_lock_take(&c->lock);
    levada_coordinator_keep_locked(c, err);
    levada_lock_give(&c->lock);
}

static void member_main(void *user)
{
    levada_member      *m = user;
    levada_coordinator *c = m->coordinator;
    levada_error        err = LEVADA_ERROR_INIT;
    uint64_t            number = levada_thread_number();
    levada_status       status;
    bool                called_off;

    levada_mutex_lock(&c->starting);
    called_off = m->called_off;
    levada_mutex_unlock(&c->starting);
    if (called_off) return;
    levada_wait_list_name(c->names, number, m->name);
    levada_lock_take(&c->lock);
    m->thread = number;
    levada_lock_give(&c->lock);
    status = m->def.run(c, m->def.user, &err);
    if (!LEVADA_OURS(c)) return; /* it forked, and this is the child */
    if (status < 0) member_fail(m, status, &err);
    levada_wait_list_name(c->names, number, "");
    member_leave(m);
}

static void member_free_all(levada_member *first)
{
    while (first != NULL) {
        levada_member *next = first->next;

        levada_free(first);
        first = next;
    }
}

/* Makes n members, linked by next. */
static levada_member *member_make_all(levada_coordinator *c, const levada_thread_def *defs,
                                      int32_t n)
{
    levada_member *first = NULL;

    while (n > 0) {
        levada_member *m = member_make(c, &defs[--n]);

        if (m == NULL) {
            member_free_all(first);
            return NULL;
        }
        m->next = first;
        first = m;
    }
    return first;
}

/* Starts the threads, which wait for `starting`, so that nothing runs before all are there. */
static levada_status member_start_all(levada_coordinator *c, levada_member *first,
                                      levada_error *err)
{
    levada_status  status = LEVADA_OK;
    levada_member *m = first, *next;

    levada_mutex_lock(&c->starting);
    while (m != NULL && status == LEVADA_OK) {
        status = levada_thread_start(&m->system, member_main, m, err);
        if (status != LEVADA_OK) levada_error_wrap(err, "thread '%s'", m->name);
        else m = m->next;
    }
    for (levada_member *back = first; status != LEVADA_OK && back != m; back = back->next) {
        back->called_off = true;
    }
    levada_lock_take(&c->lock);
    for (levada_member *add = first; status == LEVADA_OK && add != NULL; add = next) {
        next = add->next;
        member_add_locked(add);
    }
    levada_lock_give(&c->lock);
    levada_mutex_unlock(&c->starting);
    for (levada_member *back = first; status != LEVADA_OK && back != m; back = back->next) {
        levada_thread_join(&back->system);
    }
    if (status != LEVADA_OK) member_free_all(first);
    return status;
}

levada_status levada_coordinator_start_all(levada_coordinator      *coordinator,
                                           const levada_thread_def *defs, int32_t n,
                                           levada_error *err)
{
    levada_member *first;

    levada_coordinator_reap(coordinator);
    first = member_make_all(coordinator, defs, n);
    if (first == NULL) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for %d threads", (int)n);
    }
    return member_start_all(coordinator, first, err);
}

levada_status levada_coordinator_start_thread(
    levada_coordinator *coordinator, const char *name,
    levada_status (*run)(levada_coordinator *coordinator, void *user, levada_error *err),
    void *user, levada_error *err)
{
    levada_thread_def def = { name, run, user };

    LEVADA_TRY(LEVADA_USABLE(coordinator, "coordinator", err));
    if (run == NULL) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "thread '%s' has no function to run",
                           name != NULL ? name : "");
    }
    return levada_coordinator_start_all(coordinator, &def, 1, err);
}

levada_status levada_coordinator_register(levada_coordinator *coordinator, const char *name,
                                          levada_member **out, levada_error *err)
{
    levada_thread_def def = { name, NULL, NULL };
    levada_member    *m;

    LEVADA_TRY(LEVADA_USABLE(coordinator, "coordinator", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    m = member_make(coordinator, &def);
    if (m == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                      "out of memory for a thread");
    levada_refs_add(&coordinator->refs);
    levada_lock_take(&coordinator->lock);
    member_add_locked(m);
    levada_lock_give(&coordinator->lock);
    *out = m;
    return LEVADA_OK;
}

int64_t levada_member_number(const levada_member *member)
{
    return member != NULL ? member->number : 0;
}

void levada_member_end(levada_member **member)
{
    levada_member      *m = member != NULL ? *member : NULL;
    levada_coordinator *c;

    if (m == NULL) return;
    *member = NULL;
    c = m->coordinator;
    if (!LEVADA_OURS(c)) {
        if (!levada_lock_is_free(&c->lock)) return; /* it was being changed: it stays */
        c->waits = (levada_line){ 0 };
        if (m->prev == NULL && c->first != m) c->first = m; /* its list was abandoned */
        if (m->next == NULL && c->last != m) c->last = m;
    }
    member_leave(m);
    levada_free(m);
    levada_coordinator_unref(c);
}
