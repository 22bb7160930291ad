/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/wait.h"

#include "base/assert.h"
#include "base/process.h"

#define WAIT_SPIN_MOST 200000 /* nanoseconds; wake-ups in virtual machines cost 50,000 and more */
#define WAIT_WAKE_COST 25000 /* nanoseconds, until one was measured */
#define WAIT_SPIN_LEAST 2000 /* spins this long in any case: nothing compared with a sleep */
#define WAIT_GRACE 2000 /* nanoseconds */
#define WAIT_LOOKS 16 /* between two looks at the clock */
#define WAIT_RETRY 16 /* one of this number of short looks is long, to see whether spinning helps */

void levada_shown_set(levada_shown *shown, int which, int64_t number)
{
    atomic_store_explicit(&shown->numbers[which], number, memory_order_relaxed);
}

int64_t levada_shown_get(const levada_shown *shown, int which)
{
    return atomic_load_explicit(&shown->numbers[which], memory_order_relaxed);
}

void levada_site_init(levada_site *site, levada_wait_list *wait_list, const char *object)
{
    site->wait_list = wait_list;
    site->object = object;
    site->watched = false;
    atomic_init(&site->waits, 0);
    site->poll = NULL;
    site->poll_user = NULL;
    site->poll_every = 0;
    site->detail = NULL;
    site->detail_user = NULL;
    site->accept = NULL;
    site->accept_user = NULL;
    levada_site_spin(site, WAIT_SPIN_MOST);
    atomic_init(&site->wake_cost, WAIT_WAKE_COST);
    site->patient = false;
}

void levada_site_spin(levada_site *site, int nanoseconds)
{
    site->most = nanoseconds;
    site->patient = true;
    atomic_init(&site->spin, levada_wait_list_cpus(site->wait_list) > 1 ? nanoseconds / 2 : 0);
    atomic_init(&site->wake_cost, nanoseconds);
}

void levada_site_ask(levada_site *site, bool (*poll)(void *user), void *user, int64_t every)
{
    if (every < 1) every = 1;
    if (site->poll == poll && site->poll_user == user && site->poll_every == every) return;
    site->poll_user = user;
    site->poll_every = every;
    site->poll = poll;
}

void levada_site_accept(levada_site *site, bool (*accept)(void *user), void *user)
{
    if (site->accept == accept && site->accept_user == user) return;
    site->accept_user = user;
    site->accept = accept;
}

bool levada_site_look(levada_site *site)
{
    atomic_int *spinning = levada_wait_list_spinning(site->wait_list);

    if (atomic_load_explicit(&site->spin, memory_order_relaxed) <= WAIT_SPIN_LEAST) return false;
    if (atomic_fetch_add_explicit(spinning, 1, memory_order_relaxed) <
        levada_wait_list_cpus(site->wait_list) - 1) {
        return true;
    }
    levada_site_look_end(site);
    return false;
}

void levada_site_look_end(levada_site *site)
{
    atomic_fetch_sub_explicit(levada_wait_list_spinning(site->wait_list), 1, memory_order_relaxed);
}

void levada_line_append(levada_line *line, levada_waiter *waiter)
{
    LEVADA_ASSERT(!waiter->linked); /* it is in one line at most */
    waiter->next = NULL;
    waiter->prev = line->tail;
    if (line->tail != NULL) line->tail->next = waiter;
    else line->head = waiter;
    line->tail = waiter;
    waiter->linked = true;
    waiter->waits = false;
}

void levada_line_replace(levada_line *line, levada_waiter *waiter, levada_waiter *other)
{
    LEVADA_ASSERT(waiter->linked && !other->linked);
    other->next = waiter->next;
    other->prev = waiter->prev;
    if (other->next != NULL) other->next->prev = other;
    else line->tail = other;
    if (other->prev != NULL) other->prev->next = other;
    else line->head = other;
    other->linked = true;
    other->waits = waiter->linked = false;
}

void levada_line_remove(levada_line *line, levada_waiter *waiter)
{
    LEVADA_ASSERT(waiter->linked); /* it leaves once, from the line that it is in */
    LEVADA_ASSERT(waiter == (waiter->next != NULL ? waiter->next->prev : line->tail));
    LEVADA_ASSERT(waiter == (waiter->prev != NULL ? waiter->prev->next : line->head));
    if (waiter->next != NULL) waiter->next->prev = waiter->prev;
    else line->tail = waiter->prev;
    if (waiter->prev != NULL) waiter->prev->next = waiter->next;
    else line->head = waiter->next;
    waiter->linked = false;
}

void levada_waiter_finish(levada_line *line, levada_waiter *waiter, levada_status status,
                          levada_woken *woken)
{
    levada_line_remove(line, waiter);
    waiter->status = status;
    if (!waiter->waits) return;
    waiter->then = NULL;
    if (woken->last != NULL) woken->last->then = waiter;
    else woken->first = waiter;
    woken->last = waiter;
}

void levada_waiter_prepare(levada_waiter *waiter)
{
    waiter->waits = true;
    waiter->woken_at = 0;
    waiter->wakes[0] = waiter->wakes[1] = NULL;
    levada_park_init(&waiter->park);
}

/* Wakes the two waiters of one that does not sleep. One who sleeps wakes its own two as the first
 * thing it does. One who does not sleep any more may be anywhere, in poll() for instance, and
 * nobody shall wait for that: its two are woken here. */
static void wait_rouse(levada_waiter *waiter)
{
    levada_waiter *wakes[2] = { waiter->wakes[0], waiter->wakes[1] };

    waiter->woken_at = levada_now();
    if (levada_park_wake_asleep(&waiter->park)) return;
    waiter->wakes[0] = waiter->wakes[1] = NULL;
    levada_park_wake(&waiter->park);
    for (int i = 0; i < 2; i++) {
        if (wakes[i] != NULL) wait_rouse(wakes[i]); /* as deep as the heap at most */
    }
}

/* Makes a binary heap of the sleepers, in the order of the list: the caller has one of them to
 * wake, and thousands are awake after a dozen wake-ups in a row. */
void levada_wake(levada_woken *woken)
{
    levada_waiter *waiter = woken->first, *root = NULL, *last = NULL, *parent = NULL;

    while (waiter != NULL) {
        levada_waiter *then = waiter->then; /* gone once it is woken */

        if (atomic_load_explicit(&waiter->park.word, memory_order_relaxed) != LEVADA_PARK_ASLEEP) {
            levada_park_wake(&waiter->park);
        } else if (root == NULL) {
            root = last = parent = waiter;
        } else {
            last = last->then = waiter;
            if (parent->wakes[0] == NULL) {
                parent->wakes[0] = waiter;
            } else {
                parent->wakes[1] = waiter;
                parent = parent->then;
            }
        }
        waiter = then;
    }
    woken->first = woken->last = NULL;
    if (root != NULL) wait_rouse(root);
}

/* Passes the wake-up on; the owner calls it, who was woken. */
static void wait_pass_on(levada_waiter *waiter)
{
    for (int i = 0; i < 2; i++) {
        if (waiter->wakes[i] != NULL) wait_rouse(waiter->wakes[i]);
    }
}

static bool wait_is_done(const levada_waiter *waiter)
{
    return atomic_load_explicit(&waiter->park.word, memory_order_acquire) == LEVADA_PARK_DONE;
}

/* Returns how long to spin: not at all if no CPU would be left for those who work. */
static int wait_budget(levada_site *site)
{
    int budget = atomic_load_explicit(&site->spin, memory_order_relaxed);
    /* Twice the mean: about half of the wake-ups take longer than that. */
    int most = 2 * atomic_load_explicit(&site->wake_cost, memory_order_relaxed);

    if (levada_wait_list_cpus(site->wait_list) < 2) return 0;
    if (most > site->most) most = site->most;
    if (budget <= WAIT_SPIN_LEAST) {
        int waits = atomic_fetch_add_explicit(&site->waits, 1, memory_order_relaxed);

        if (waits % WAIT_RETRY == 0) return most;
    }
    return budget < most ? budget : most;
}

static void wait_learn(levada_site *site, bool helped, int64_t spun)
{
    int budget = atomic_load_explicit(&site->spin, memory_order_relaxed);

    if (helped) {
        budget += (site->most - budget) / 4 + 1;
        if (budget < 2 * spun) budget = (int)(2 * spun);
    } else {
        budget -= budget / 4 + 1;
    }
    if (budget < WAIT_SPIN_LEAST) budget = WAIT_SPIN_LEAST;
    if (budget > site->most) budget = site->most;
    atomic_store_explicit(&site->spin, budget, memory_order_relaxed);
}

/* Returns true if a CPU is left for threads that work. The one that took the last CPU may be a
 * thread that was just served and does not know it yet: it has a moment to leave. */
static bool wait_may_spin(const levada_site *site, int before, int64_t spun)
{
    int cpus = levada_wait_list_cpus(site->wait_list);

    if (before < cpus - 1) return true;
    if (spun < WAIT_GRACE) return before < cpus;
    return atomic_load_explicit(levada_wait_list_spinning(site->wait_list),
                                memory_order_relaxed) < cpus;
}

static bool wait_spin(levada_waiter *waiter, levada_site *site, int64_t until)
{
    atomic_int *spinning = levada_wait_list_spinning(site->wait_list);
    int         budget = wait_budget(site), before;
    bool        done = false;

    if (budget == 0) return wait_is_done(waiter);
    before = atomic_fetch_add_explicit(spinning, 1, memory_order_relaxed);
    if (wait_may_spin(site, before, 0)) {
        int64_t begin = levada_now(), spun = 0;

        if (until >= 0 && until - begin < budget) budget = until > begin ? (int)(until - begin) : 0;
        do {
            for (int i = 0; i < WAIT_LOOKS && !(done = wait_is_done(waiter)); i++) LEVADA_PAUSE();
            spun = levada_now() - begin;
        } while (!done && spun < budget && wait_may_spin(site, before, spun));
        wait_learn(site, done, spun);
    }
    atomic_fetch_sub_explicit(spinning, 1, memory_order_relaxed);
    return done;
}

/* Updates a running mean of what it costs to be woken. */
static void wait_measure(const levada_waiter *waiter, levada_site *site)
{
    int64_t cost = waiter->woken_at > 0 ? levada_now() - waiter->woken_at : 0;
    int     mean = atomic_load_explicit(&site->wake_cost, memory_order_relaxed);

    if (cost <= 0 || site->patient) return;
    if (cost > site->most) cost = site->most;
    mean += ((int)cost - mean) / 8;
    atomic_store_explicit(&site->wake_cost, mean, memory_order_relaxed);
}

static levada_wait_end wait_sleep(levada_waiter *waiter, levada_site *site,
                                  const levada_sleep *sleep, int64_t until)
{
    unsigned process = levada_process();

    for (;;) {
        int64_t now = site->poll != NULL || until >= 0 ? levada_now() : 0, slice = until;

        if (site->poll != NULL && (until < 0 ? INT64_MAX : until) - now > site->poll_every) {
            slice = now + site->poll_every;
        }
        if (levada_park_sleep(&waiter->park, slice)) return LEVADA_WAIT_DONE;
        if (atomic_load_explicit(&sleep->cancelled, memory_order_relaxed)) {
            return LEVADA_WAIT_STOPPED;
        }
        if (until >= 0 && levada_now() >= until) return LEVADA_WAIT_LATE;
        if (site->poll != NULL && !site->poll(site->poll_user)) return LEVADA_WAIT_STOPPED;
        if (process != levada_process()) return LEVADA_WAIT_FORKED;
    }
}

levada_wait_end levada_waiter_wait(levada_waiter *waiter, levada_site *site, const char *what,
                                   int64_t n, int64_t until)
{
    levada_wait_end end = LEVADA_WAIT_DONE;

    if (!wait_spin(waiter, site, until)) {
        levada_sleep sleep = { .object = site->object, .what = what, .n = n };

        sleep.detail = site->detail;
        sleep.detail_user = site->detail_user;

        if (site->watched) sleep.park = &waiter->park;
        levada_wait_list_enter(site->wait_list, &sleep);
        end = wait_sleep(waiter, site, &sleep, until);
        levada_wait_list_leave(site->wait_list, &sleep);
        if (end == LEVADA_WAIT_DONE) wait_measure(waiter, site);
    }
    if (end == LEVADA_WAIT_DONE) {
        wait_pass_on(waiter);
        levada_park_clear(&waiter->park);
    }
    return end;
}

levada_wait_end levada_line_wait(levada_line *line, levada_lock *lock, levada_waiter *waiter,
                                 levada_site *site, const char *what, int64_t until)
{
    levada_wait_end end = levada_waiter_wait(waiter, site, what, -1, until);
    bool            mine;

    if (end == LEVADA_WAIT_DONE || end == LEVADA_WAIT_FORKED) return end;
    levada_lock_take(lock);
    mine = waiter->linked;
    if (mine) levada_line_remove(line, waiter);
    levada_lock_give(lock);
    if (mine) levada_waiter_clear(waiter);
    else levada_waiter_settle(waiter);
    return mine ? end : LEVADA_WAIT_DONE;
}

void levada_line_wait_locked(levada_line *line, levada_lock *lock, levada_site *site,
                             const char *what)
{
    levada_waiter waiter = { 0 };

    levada_line_append(line, &waiter);
    levada_waiter_prepare(&waiter);
    levada_lock_give(lock);
    (void)levada_line_wait(line, lock, &waiter, site, what, -1);
    levada_lock_take(lock);
}

void levada_waiter_settle(levada_waiter *waiter)
{
    while (!levada_park_sleep(&waiter->park, -1)) {} /* a nudge that came too late ends one sleep */
    wait_pass_on(waiter);
    levada_park_clear(&waiter->park);
}

void levada_waiter_clear(levada_waiter *waiter) { levada_park_clear(&waiter->park); }
