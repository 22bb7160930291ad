/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads are in a list in the order of their numbers until they end; join looks at those between
 * two numbers, so that two joins, or a thread that starts meanwhile, do not disturb each other. All
 * waiters are in one line: for the stop, for threads, or for whichever comes first.
 */
#include "runtime/coordinator_priv.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "base/refs.h"

#include <levada/binding.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* -- states ------------------------------------------------------------------------------------ */

/* Bits of the states that may follow. What clear_stop does may follow all. */
static const unsigned coordinator_next[] = {
    [LEVADA_COORDINATOR_NEW] = 1u << LEVADA_COORDINATOR_RUNNING | 1u << LEVADA_COORDINATOR_ENDED |
                               1u << LEVADA_COORDINATOR_STOPPING,
    [LEVADA_COORDINATOR_RUNNING] =
        1u << LEVADA_COORDINATOR_ENDED | 1u << LEVADA_COORDINATOR_STOPPING,
    [LEVADA_COORDINATOR_ENDED] = 1u << LEVADA_COORDINATOR_STOPPED, /* it is destroyed */
    [LEVADA_COORDINATOR_STOPPING] =
        1u << LEVADA_COORDINATOR_STOPPED | 1u << LEVADA_COORDINATOR_FAILED,
    [LEVADA_COORDINATOR_STOPPED] = 1u << LEVADA_COORDINATOR_FAILED, /* a thread, after the join */
    [LEVADA_COORDINATOR_FAILED] = 0,
};

static levada_coordinator_state coordinator_state(const levada_coordinator *c)
{
    return (levada_coordinator_state)atomic_load_explicit(&c->state, memory_order_acquire);
}

void levada_coordinator_move_locked(levada_coordinator *c, levada_coordinator_state to)
{
    levada_coordinator_state from = coordinator_state(c);
    levada_coordinator_state cleared = c->first != NULL ? LEVADA_COORDINATOR_RUNNING
                                                        : LEVADA_COORDINATOR_NEW;

    LEVADA_ASSERT(to == from || to == cleared || (coordinator_next[from] >> to & 1u));
    atomic_store(&c->state, (int)to);
}

/* Returns true if a stop was requested, and in the child of a fork, where nobody would request the
 * stop: loops must end there. */
bool levada_coordinator_should_stop(const levada_coordinator *coordinator)
{
    if (!LEVADA_OURS(coordinator)) return coordinator != NULL;
    return coordinator_state(coordinator) >= LEVADA_COORDINATOR_STOPPING;
}

bool levada_coordinator_joined(const levada_coordinator *coordinator)
{
    levada_coordinator_state state;

    if (!LEVADA_OURS(coordinator)) return false;
    state = coordinator_state(coordinator);
    return state == LEVADA_COORDINATOR_ENDED || state >= LEVADA_COORDINATOR_STOPPED;
}

/* -- waiting ----------------------------------------------------------------------------------- */

typedef struct coordinator_wait {
    levada_waiter waiter; /* first */
    bool          for_stop, for_threads, ours; /* ours: not for registered ones */
    int64_t       after, to; /* for_threads: with numbers in (after, to] */
} coordinator_wait;

/* Returns a thread that this one waits for. */
static const levada_member *coordinator_live(const levada_coordinator *c,
                                             const coordinator_wait   *wait)
{
    const levada_member *m = c->first;

    while (m != NULL && (m->number <= wait->after || (wait->ours && !m->ours))) m = m->next;
    return m != NULL && m->number <= wait->to ? m : NULL;
}

static bool coordinator_served(const levada_coordinator *c, const coordinator_wait *wait)
{
    if (wait->for_stop && levada_coordinator_should_stop(c)) return true;
    return wait->for_threads && coordinator_live(c, wait) == NULL;
}

void levada_coordinator_settle_locked(levada_coordinator *c, levada_woken *woken)
{
    levada_waiter *waiter = c->waits.head;

    while (waiter != NULL) {
        levada_waiter *next = waiter->next;

        if (coordinator_served(c, (coordinator_wait *)(void *)waiter)) {
            levada_waiter_finish(&c->waits, waiter, LEVADA_OK, woken);
        }
        waiter = next;
    }
}

/* Returns DONE even if the event came and was gone again (clear_stop) before this thread looked. */
static levada_wait_end coordinator_wait_for(levada_coordinator *c, coordinator_wait *wait,
                                            const char *what, int64_t until)
{
    bool waits;

    levada_lock_take(&c->lock);
    waits = !coordinator_served(c, wait);
    if (waits) {
        levada_line_append(&c->waits, &wait->waiter);
        levada_waiter_prepare(&wait->waiter);
    }
    levada_lock_give(&c->lock);
    if (!waits) return LEVADA_WAIT_DONE;
    return levada_line_wait(&c->waits, &c->lock, &wait->waiter, &c->site, what, until);
}

bool levada_coordinator_wait_until(levada_coordinator *coordinator, const char *what, int64_t until)
{
    coordinator_wait wait = { .for_stop = true };

    if (until >= 0 && until <= levada_now()) return levada_coordinator_should_stop(coordinator);
    return coordinator_wait_for(coordinator, &wait, what, until) == LEVADA_WAIT_DONE;
}

bool levada_coordinator_wait_for_stop(levada_coordinator *coordinator, int64_t timeout)
{
    if (!LEVADA_OURS(coordinator)) return coordinator != NULL;
    if (levada_coordinator_should_stop(coordinator) || timeout == 0) {
        return levada_coordinator_should_stop(coordinator);
    }
    return levada_coordinator_wait_until(coordinator, "stop", levada_until(timeout));
}

/* -- making and freeing ------------------------------------------------------------------------ */

void levada_coordinator_unref(levada_coordinator *c)
{
    if (!levada_refs_drop(&c->refs)) return;
    levada_lock_clear(&c->lock);
    levada_mutex_clear(&c->starting);
    levada_wait_list_unref(&c->wait_list);
    levada_wait_list_unref(&c->names);
    levada_free(c->clean);
    levada_free(c);
}

static levada_status coordinator_locks(levada_coordinator *c, levada_error *err)
{
    levada_status status;

    LEVADA_TRY(levada_lock_init(&c->lock, LEVADA_LOCK_LIST, err));
    status = levada_mutex_init(&c->starting, LEVADA_LOCK_STARTING, err);
    if (status != LEVADA_OK) levada_lock_clear(&c->lock);
    return status;
}

levada_status levada_coordinator_create(levada_env *env, const levada_status *clean, int32_t n,
                                        levada_coordinator **out, levada_error *err)
{
    static const levada_status usual = LEVADA_EOUT_OF_RANGE;
    levada_wait_list                *wait_list = levada_env_wait_list(env),
        *names = levada_env_wait_list(NULL);
    levada_coordinator        *c;

    LEVADA_TRY(levada_require(out != NULL, "out", err));
    if (clean == NULL) n = 1;
    for (int32_t i = 0; i < n && clean != NULL; i++) {
        if (clean[i] < 0 && clean[i] >= LEVADA_EDATA_LOSS) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "clean[%d]=%d is not the code of an error", (int)i, (int)clean[i]);
    }
    if (n < 0) return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "n=%d must be >= 0", (int)n);
    c = wait_list != NULL && names != NULL ? levada_alloc_zero(sizeof(*c)) : NULL;
    if (c != NULL) c->clean = levada_alloc((size_t)n * sizeof(*c->clean));
    if (c == NULL || c->clean == NULL || coordinator_locks(c, NULL) != LEVADA_OK) {
        if (c != NULL) levada_free(c->clean);
        levada_free(c);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a coordinator");
    }
    atomic_init(&c->refs, 1);
    c->process = levada_process();
    atomic_init(&c->state, LEVADA_COORDINATOR_NEW);
    c->nclean = n;
    if (n > 0) memcpy(c->clean, clean != NULL ? clean : &usual, (size_t)n * sizeof(*c->clean));
    c->wait_list = levada_wait_list_ref(wait_list);
    c->names = levada_wait_list_ref(names);
    levada_site_init(&c->site, c->wait_list, "coordinator");
    levada_site_spin(&c->site, 0); /* these waits are long */
    *out = c;
    return LEVADA_OK;
}

/* Stops for good, even if it was joined before. */
static void coordinator_stop(levada_coordinator *c)
{
    levada_woken woken = { 0 };

    levada_lock_take(&c->lock);
    if (!levada_coordinator_should_stop(c)) {
        levada_coordinator_move_locked(c, levada_coordinator_joined(c)
                                              ? LEVADA_COORDINATOR_STOPPED
                                              : LEVADA_COORDINATOR_STOPPING);
    }
    levada_coordinator_settle_locked(c, &woken);
    levada_lock_give(&c->lock);
    levada_wake(&woken);
}

void levada_coordinator_destroy(levada_coordinator **coordinator)
{
    levada_coordinator *c = coordinator != NULL ? *coordinator : NULL;
    coordinator_wait    wait = { .for_threads = true, .ours = true, .to = INT64_MAX };

    if (c == NULL) return;
    *coordinator = NULL;
    if (!LEVADA_OURS(c)) {
        levada_coordinator_abandon(c);
        return;
    }
    coordinator_stop(c);
    (void)coordinator_wait_for(c, &wait, "the end of its threads", -1);
    levada_coordinator_reap(c);
    levada_coordinator_unref(c);
}

/* -- stop and errors --------------------------------------------------------------------------- */

static bool coordinator_is_clean(const levada_coordinator *c, levada_status code)
{
    for (int32_t i = 0; i < c->nclean; i++) {
        if (c->clean[i] == code) return true;
    }
    return code >= 0;
}

void levada_coordinator_keep_locked(levada_coordinator *c, const levada_error *why)
{
    for (int32_t i = 0; i < c->nerrors && why->token != 0; i++) {
        if (c->errors[i].token == why->token) return;
    }
    if (c->nerrors < LEVADA_COORDINATOR_ERRORS) c->errors[c->nerrors++] = *why;
}

levada_status levada_coordinator_request_stop(levada_coordinator *coordinator,
                                              const levada_error *why, levada_error *err)
{
    levada_coordinator *c = coordinator;
    levada_woken        woken = { 0 };
    bool                joined;

    LEVADA_TRY(LEVADA_USABLE(coordinator, "coordinator", err));
    if (why != NULL && coordinator_is_clean(c, why->code)) why = NULL;
    levada_lock_take(&c->lock);
    joined = levada_coordinator_joined(c);
    if (!joined) {
        if (why != NULL) levada_coordinator_keep_locked(c, why);
        levada_coordinator_move_locked(c, LEVADA_COORDINATOR_STOPPING);
        levada_coordinator_settle_locked(c, &woken);
    }
    levada_lock_give(&c->lock);
    levada_wake(&woken);
    if (!joined || why == NULL) return LEVADA_OK;
    if (err != NULL) *err = *why;
    return why->code;
}

void levada_coordinator_clear_stop(levada_coordinator *coordinator)
{
    levada_coordinator *c = coordinator;

    if (!LEVADA_OURS(c)) return;
    levada_lock_take(&c->lock);
    c->nerrors = 0;
    levada_coordinator_move_locked(c, c->first != NULL ? LEVADA_COORDINATOR_RUNNING
                                                       : LEVADA_COORDINATOR_NEW);
    levada_lock_give(&c->lock);
}

const levada_error *levada_coordinator_error(const levada_coordinator *coordinator, int32_t i)
{
    levada_coordinator *c = (levada_coordinator *)(uintptr_t)coordinator;
    bool                there;

    if (!LEVADA_OURS(c)) return NULL;
    levada_lock_take(&c->lock);
    there = i >= 0 && i < c->nerrors;
    levada_lock_give(&c->lock);
    return there ? &c->errors[i] : NULL;
}

levada_status levada_coordinator_raise_requested(levada_coordinator *coordinator, levada_error *err)
{
    levada_coordinator *c = coordinator;
    levada_status       status = LEVADA_OK;

    LEVADA_TRY(LEVADA_USABLE(coordinator, "coordinator", err));
    levada_lock_take(&c->lock);
    if (c->nerrors > 0) {
        status = c->errors[0].code;
        if (err != NULL) *err = c->errors[0];
    }
    levada_lock_give(&c->lock);
    return status;
}

/* -- join -------------------------------------------------------------------------------------- */

/* Text that is cut where it is too long. */
typedef struct coordinator_text {
    char   at[sizeof(((levada_error *)NULL)->message)];
    size_t size;
} coordinator_text;

static LEVADA_PRINTF(2, 3) void coordinator_print(coordinator_text *text, const char *fmt, ...)
{
    va_list args;
    int     n;

    va_start(args, fmt);
    n = vsnprintf(text->at + text->size, sizeof(text->at) - text->size, fmt, args);
    va_end(args);
    if (n > 0) text->size += (size_t)n;
    if (text->size >= sizeof(text->at)) text->size = sizeof(text->at) - 1;
}

/* Names first, then what they wait for. */
static levada_status coordinator_blame_locked(const levada_coordinator *c,
                                              const coordinator_wait *wait, levada_error *err)
{
    coordinator_text names = { .size = 0 }, waits = { .size = 0 };
    levada_wait      found;

    for (const levada_member *m = coordinator_live(c, wait); m != NULL && m->number <= wait->to;
         m = m->next) {
        coordinator_print(&names, " %s", m->name);
        if (!levada_wait_list_find(c->wait_list, c->names, m->thread, m->name, &found)) continue;
        coordinator_print(&waits, "%s%s waits for %s in %s since %.1f s",
                          waits.size > 0 ? ", " : "; ", m->name, found.waits_for, found.object,
                          (double)found.nanoseconds * 1e-9);
    }
    return levada_fail(err, LEVADA_EDEADLINE_EXCEEDED,
                       "Coordinator stopped with threads still running:%s%s", names.at, waits.at);
}

static bool coordinator_is_own_locked(const levada_coordinator *c, uint64_t thread)
{
    const levada_member *m = c->first;

    while (m != NULL && !(m->ours && m->thread == thread)) m = m->next;
    return m != NULL;
}

static levada_coordinator_state coordinator_after_join(const levada_coordinator *c)
{
    if (!levada_coordinator_should_stop(c)) return LEVADA_COORDINATOR_ENDED;
    return c->nerrors > 0 ? LEVADA_COORDINATOR_FAILED : LEVADA_COORDINATOR_STOPPED;
}

static levada_status coordinator_joined_locked(levada_coordinator     *c,
                                               const coordinator_wait *wait, bool ignore_live,
                                               levada_error *err)
{
    levada_coordinator_move_locked(c, coordinator_after_join(c));
    if (wait->after <= c->joined_to && wait->to > c->joined_to) c->joined_to = wait->to;
    if (c->nerrors > 0) {
        if (err != NULL) *err = c->errors[0];
        return c->errors[0].code;
    }
    if (ignore_live || coordinator_live(c, wait) == NULL) return LEVADA_OK;
    return coordinator_blame_locked(c, wait, err);
}

/* Joins the threads with the numbers of `wait`. */
static levada_status coordinator_join(levada_coordinator *c, coordinator_wait *wait, int64_t grace,
                                      bool ignore_live, levada_error *err)
{
    levada_wait_end end = coordinator_wait_for(c, wait, "join", -1);
    levada_status   status;

    wait->for_stop = false;
    if (end == LEVADA_WAIT_DONE && grace != 0) {
        end = coordinator_wait_for(c, wait, "join", levada_until(grace));
    }
    if (end == LEVADA_WAIT_FORKED) return levada_process_refuse("coordinator", err);
    if (end == LEVADA_WAIT_STOPPED) {
        return levada_fail(err, LEVADA_ECANCELLED, "join was interrupted");
    }
    levada_lock_take(&c->lock);
    status = coordinator_joined_locked(c, wait, ignore_live, err);
    levada_lock_give(&c->lock);
    levada_coordinator_reap(c);
    return status;
}

levada_status levada_coordinator_join_member(levada_coordinator *coordinator, int64_t number,
                                             int64_t grace, bool ignore_live, levada_error *err)
{
    coordinator_wait wait = { .for_stop = true, .for_threads = true };

    LEVADA_TRY(LEVADA_USABLE(coordinator, "coordinator", err));
    LEVADA_TRY(levada_require_range(number, 0, INT64_MAX, "number", err));
    wait.after = number - 1;
    wait.to = number;
    return coordinator_join(coordinator, &wait, grace, ignore_live, err);
}

levada_status levada_coordinator_join(levada_coordinator *coordinator, int64_t grace,
                                      bool ignore_live, levada_error *err)
{
    levada_coordinator *c = coordinator;
    coordinator_wait    wait = { .for_stop = true, .for_threads = true };
    bool                own;

    LEVADA_TRY(LEVADA_USABLE(coordinator, "coordinator", err));
    levada_lock_take(&c->lock);
    own = coordinator_is_own_locked(c, levada_thread_number());
    wait.after = c->joined_to;
    wait.to = c->number;
    levada_lock_give(&c->lock);
    if (own) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "a thread of a coordinator cannot join it, because it would wait for "
                           "itself");
    }
    return coordinator_join(c, &wait, grace, ignore_live, err);
}

void levada_coordinator_set_poll(levada_coordinator *coordinator, bool (*poll)(void *user),
                                 void *user, int64_t every)
{
    if (LEVADA_OURS(coordinator)) levada_site_ask(&coordinator->site, poll, user, every);
}
