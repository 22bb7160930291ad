/* SPDX-License-Identifier: Apache-2.0 */
#include "run/workers.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/text.h"
#include "runtime/wait.h"
#include "tensor/block_priv.h"

#include <string.h>

/* A block is some 100 us of work: looking around for so long costs less than sleeping at each one
 * does, and where that did not help it is soon given up. */
#define WORKERS_SPIN 100000

typedef struct workers_thread {
    levada_thread thread;
    levada_workers  *workers;
    int32_t       number; /* from 1: the consumer is 0 */
} workers_thread;

struct levada_workers {
    levada_run   *run;
    levada_lock   lock;
    levada_site   site;
    levada_result_ring *rings; /* the one nearest to the consumer first; fixed once started */
    int32_t       started, most;
    bool          running; /* set once, before the first block */
    /* -- guarded by lock */
    bool         stop;
    int32_t      waiting, reading; /* threads that wait; that read ahead */
    levada_line  idle;  /* workers_wait of the threads that wait, the longest first */
    levada_woken woken; /* to be woken when the lock is given back */
    /* -- fixed once started */
    workers_thread threads[];
};

/* A thread that waits, on its stack. */
typedef struct workers_wait {
    levada_waiter       waiter; /* first: lines are of these */
    const levada_result_ring *result; /* whose next result it waits for, or NULL              */
    const levada_result_ring *from;   /* takes up work here and further up; NULL: takes up none */
} workers_wait;

levada_status levada_workers_create(levada_run *run, levada_error *err)
{
    int32_t       most = run->threads - 1;
    levada_wait_list   *wait_list = levada_env_wait_list(run->env);
    levada_workers  *workers =
        levada_alloc_zero(sizeof *workers + (size_t)most * sizeof workers->threads[0]);
    levada_status st;

    if (!workers) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for threads");
    workers->run = run;
    workers->most = most;
    if (wait_list) st = levada_lock_init(&workers->lock, LEVADA_LOCK_WORKERS, err);
    else st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for threads");
    if (st != LEVADA_OK) {
        levada_free(workers);
        return st;
    }
    levada_site_init(&workers->site, wait_list, "pipeline");
    levada_site_spin(&workers->site, WORKERS_SPIN);
    run->workers = workers;
    return LEVADA_OK;
}

void levada_workers_destroy(levada_workers **workers)
{
    levada_workers *c = *workers;

    *workers = NULL;
    if (!c) return;
    levada_workers_stop(c);
    levada_lock_clear(&c->lock);
    levada_free(c);
}

void levada_workers_add(levada_workers *workers, levada_result_ring *ring)
{
    ring->next = workers->rings;
    workers->rings = ring;
}

static void workers_lock(levada_workers *workers) { levada_lock_take(&workers->lock); }

static void workers_unlock(levada_workers *workers)
{
    levada_woken woken = workers->woken;

    workers->woken.first = workers->woken.last = NULL;
    levada_lock_give(&workers->lock);
    levada_wake(&woken);
}

bool levada_workers_idle(const levada_workers *workers) { return !workers->rings; }

/* -- snapshots */

/* Takes a snapshot with the intake held, so that nobody else touches what is upstream. Failing
 * harms only save(). */
static void workers_snapshot_locked(levada_workers *workers, levada_result_ring *j)
{
    levada_snapshot *s;
    int64_t          began = levada_now();
    levada_error     why = LEVADA_ERROR_INIT;
    levada_status    st;

    workers_unlock(workers);
    s = levada_alloc_zero(sizeof *s);
    st = s ? levada_node_save(j->node->inputs[0], &s->state, &why)
           : levada_fail(&why, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a snapshot");
    if (s && st != LEVADA_OK) {
        levada_snapshot_free(s);
        s = NULL;
    }
    workers_lock(workers);
    if (st != LEVADA_OK) j->unsaved = why; /* kept: a later one may come too late for delivery */
    if (s) {
        s->ticket = j->tail;
        s->rows = j->drawn;
        s->rejects = j->rejects_drawn;
        s->older = j->snapshots;
        j->snapshots = s;
        levada_snapshot_trim(j);
    }
    j->snapshot_at = levada_now();
    j->snapshot_cost = j->snapshot_at - began;
}

/* -- waiting */

static bool workers_can_work_locked(const levada_workers *workers, const levada_result_ring *j)
{
    return !j->intake && !j->resting && j->closed == LEVADA_OK && j->tail - j->head < j->window &&
           (j->tail == j->head ||
            (j->bytes < j->window_bytes && !levada_fused_in_turn(j->fused))) && !workers->stop &&
           !atomic_load_explicit(&workers->run->cancelled, memory_order_relaxed);
}

static void workers_finish_locked(levada_workers *workers, workers_wait *w)
{
    levada_waiter_finish(&workers->idle, &w->waiter, LEVADA_OK, &workers->woken);
}

static void workers_finish_all_locked(levada_workers *workers)
{
    while (workers->idle.head) workers_finish_locked(workers, (workers_wait *)workers->idle.head);
}

/* Wakes the consumer of the ring, or the thread that halts it, because something happened that it
 * should look at. */
static void workers_tell_locked(levada_workers *workers, const levada_result_ring *j)
{
    levada_waiter *next;

    for (levada_waiter *w = workers->idle.head; w; w = next) {
        next = w->next;
        if (((workers_wait *)w)->result == j) workers_finish_locked(workers, (workers_wait *)w);
    }
}

static bool workers_reaches(const levada_result_ring *from, const levada_result_ring *j)
{
    while (from && from != j) from = from->next;
    return from != NULL;
}

/* Wakes one thread for the ring's intake, if it is free: one without a result to wait for first.
 */
static void workers_offer_locked(levada_workers *workers, const levada_result_ring *j)
{
    workers_wait *found = NULL;

    if (!workers->idle.head || !workers_can_work_locked(workers, j)) return;
    for (levada_waiter *w = workers->idle.head; w && !(found && !found->result); w = w->next) {
        workers_wait *candidate = (workers_wait *)w;

        if (found && candidate->result) continue;
        if (workers_reaches(candidate->from, j)) found = candidate;
    }
    if (found) workers_finish_locked(workers, found);
}

static void workers_offer_all_locked(levada_workers *workers)
{
    for (const levada_result_ring *j = workers->rings; j; j = j->next) {
        workers_offer_locked(workers, j);
    }
}

/* Waits until somebody finishes the wait, or until `until`. Callers look again. */
static void workers_wait_locked(levada_workers *workers, const levada_result_ring *result,
                             const levada_result_ring *from, int64_t until)
{
    workers_wait       w = { .result = result, .from = from };
    levada_wait_end end;

    levada_line_append(&workers->idle, &w.waiter);
    levada_waiter_prepare(&w.waiter);
    workers->waiting++;
    workers_unlock(workers);
    end = levada_waiter_wait(&w.waiter, &workers->site, result ? result->name : "work", -1,
                             until);
    workers_lock(workers);
    workers->waiting--;
    if (end == LEVADA_WAIT_DONE) return;
    if (w.waiter.linked) {
        levada_line_remove(&workers->idle, &w.waiter);
        levada_waiter_clear(&w.waiter);
    } else {
        levada_waiter_settle(&w.waiter);
    }
}

void levada_workers_wake(levada_workers *workers)
{
    workers_lock(workers);
    workers_finish_all_locked(workers);
    workers_unlock(workers);
}

/* -- work */

static void workers_apply_locked(levada_workers *workers, levada_result_ring *j, int64_t number,
                                 levada_item in, int32_t worker)
{
    levada_ticket *t = &j->tickets[number % j->window];
    levada_item   out = { 0 };
    levada_error  why = LEVADA_ERROR_INIT;
    bool          in_turn = levada_fused_in_turn(j->fused);
    levada_status st;

    LEVADA_ASSERT(!t->done);
    workers_offer_locked(workers, j); /* the intake is free again */
    workers_unlock(workers);
    st = levada_fused_apply(j->fused, workers->run, &j->node->place, worker, &in, &out, &why);
    if (st != LEVADA_AGAIN) levada_item_clear(&in);
    else if (worker == 0) workers->run->interrupted = true;
    workers_lock(workers);
    t->in = in;
    t->again = st == LEVADA_AGAIN;
    t->st = st;
    if (st != LEVADA_OK) t->why = why;
    t->out = out;
    t->bytes = out.block ? levada_block_bytes(out.block) : 0;
    t->done = true;
    j->bytes += t->bytes;
    if (number == j->head || j->halting) workers_tell_locked(workers, j);
    if (in_turn) workers_offer_locked(workers, j);
}

/* Does one unit of work: pull, draw a ticket, apply. The lock is held before and after. */
static void workers_work_locked(levada_workers *workers, levada_result_ring *j, int32_t worker,
                                bool hurried)
{
    levada_item    in = { 0 };
    levada_error   why = LEVADA_ERROR_INIT;
    levada_ticket *t;
    levada_status  st;
    int64_t        number;

    LEVADA_ASSERT(!j->intake); /* one thread pulls */
    j->intake = true;
    j->puller.worker = worker;
    atomic_store(&j->puller.hurried, hurried ? LEVADA_HURRY_RESULT : 0);
    if (levada_snapshot_due(j)) workers_snapshot_locked(workers, j);
    workers_unlock(workers);
    st = levada_node_pull(j->node->inputs[0], j->fused, &in, &why);
    workers_lock(workers);
    j->intake = false;
    if (st != LEVADA_OK) {
        if (st != LEVADA_AGAIN) {
            j->closed = st;
            j->why = why;
        }
        workers_tell_locked(workers, j);
        workers_offer_locked(workers, j);
        return;
    }
    number = j->tail++;
    t = &j->tickets[number % j->window];
    /* It was delivered, or never used. */
    LEVADA_ASSERT(number - j->head < j->window && !t->again && !t->out.block);
    memset(t, 0, sizeof *t);
    t->rows_in = levada_item_rows(&in);
    t->rejects_in = in.rejects.n;
    j->drawn += t->rows_in;
    j->rejects_drawn += t->rejects_in;
    workers_apply_locked(workers, j, number, in, worker);
}

/* Prepares the next pull of the thread that has the intake. */
static bool workers_ahead_locked(levada_workers *workers, levada_result_ring *j)
{
    levada_node *in = j->node->inputs[0];

    /* The lock is given back only for work: what happens without it wakes only those who wait. */
    if (j->closed != LEVADA_OK || j->resting || workers->stop || !levada_node_ahead(in, false))
        return false;
    workers->reading++;
    workers_unlock(workers);
    (void)levada_node_ahead(in, true);
    workers_lock(workers);
    workers->reading--;
    return true;
}

/* Returns true if a pull of the ring would wait for the writer of a pipe. */
static bool workers_dry(const levada_result_ring *j)
{
    while (j && !atomic_load(&j->puller.dry)) j = j->next;
    return j != NULL;
}

/* Works for the ring, or further up. A thread that waits for a result of `from` is hurried, unless
 * that takes this very pull: it must not wait for the writer of a pipe while the result comes. */
static bool workers_help_locked(levada_workers *workers, levada_result_ring *from, int32_t worker,
                                bool waits, bool hurried)
{
    for (levada_result_ring *j = from; j; j = j->next) {
        bool now = hurried || (waits && (j != from || j->head < j->tail));

        if (!workers_can_work_locked(workers, j) || (now && workers_dry(j))) continue;
        workers_work_locked(workers, j, worker, now);
        return true;
    }
    for (levada_result_ring *j = from; j; j = j->next) {
        if (workers_ahead_locked(workers, j)) return true;
    }
    return false;
}

static void workers_worker(void *user)
{
    const workers_thread *self = user;
    levada_workers       *workers = self->workers;

    workers_lock(workers);
    while (!workers->stop) {
        if (workers_help_locked(workers, workers->rings, self->number, false, false)) continue;
        workers_wait_locked(workers, NULL, workers->rings, -1);
    }
    workers_unlock(workers);
}

/* Takes the first snapshot of each ring, of the one furthest upstream first: later ones build on
 * it. */
static void workers_first_snapshots_locked(levada_workers *workers, levada_result_ring *j)
{
    if (!j) return;
    workers_first_snapshots_locked(workers, j->next);
    workers_snapshot_locked(workers, j);
}

levada_status levada_workers_start(levada_workers *workers, levada_error *err)
{
    levada_status st = LEVADA_OK;

    if (workers->running) return LEVADA_OK;
    workers_lock(workers);
    workers_first_snapshots_locked(workers, workers->rings);
    workers->running = true;
    for (int32_t i = 0; st == LEVADA_OK && workers->rings && i < workers->most; i++) {
        workers_thread *t = &workers->threads[i];

        t->workers = workers;
        t->number = i + 1;
        st = levada_thread_start(&t->thread, workers_worker, t, err);
        if (st == LEVADA_OK) workers->started++;
    }
    workers_unlock(workers);
    return st;
}

void levada_workers_stop(levada_workers *workers)
{
    workers_lock(workers);
    workers->stop = true;
    workers_finish_all_locked(workers);
    workers_unlock(workers);
    for (int32_t i = 0; i < workers->started; i++) levada_thread_join(&workers->threads[i].thread);
    workers->started = 0;
}

static bool workers_idle_locked(const levada_result_ring *j)
{
    if (j->intake) return false;
    for (int64_t i = j->head; i < j->tail; i++) {
        if (!j->tickets[i % j->window].done) return false;
    }
    return true;
}

bool levada_workers_abandon(levada_workers *workers)
{
    if (!levada_lock_is_free(&workers->lock) || workers->reading > 0) return false;
    for (const levada_result_ring *j = workers->rings; j; j = j->next) {
        if (!workers_idle_locked(j)) return false;
    }
    workers->idle = (levada_line){ 0 };
    workers->started = 0;
    return true;
}

/* -- the consumer's side */

static levada_status workers_deliver_locked(levada_workers *workers, levada_result_ring *j,
                                            levada_item *out, levada_error *err)
{
    levada_ticket *t = &j->tickets[j->head % j->window];
    int64_t        space;

    LEVADA_ASSERT(j->head < j->tail && t->done && !t->again);
    if (t->st != LEVADA_OK) { /* it stays first: a ring may be saved before it reports that */
        if (err) *err = t->why;
        return t->st;
    }
    j->head++;
    j->delivered += t->rows_in;
    j->rejects_delivered += t->rejects_in;
    j->bytes -= t->bytes;
    LEVADA_ASSERT(j->bytes >= 0 && j->delivered <= j->drawn);
    space = j->window - (j->tail - j->head);
    /* Waking for each block costs more than the block: let some slots become free first. */
    if (space * 4 >= j->window) workers_offer_locked(workers, j);
    *out = t->out;
    t->out = (levada_item){ 0 };
    return LEVADA_OK;
}

/* Makes the next result again, because the call was interrupted. */
static levada_status workers_redo_locked(levada_workers *workers, levada_result_ring *j,
                                         int32_t worker, levada_error *err)
{
    levada_ticket *t = &j->tickets[j->head % j->window];
    levada_item    in = t->in;

    LEVADA_TRY(levada_run_check_cancelled(workers->run, err));
    t->in = (levada_item){ 0 };
    t->done = t->again = false;
    workers_apply_locked(workers, j, j->head, in, worker);
    return t->again ? LEVADA_AGAIN : LEVADA_OK;
}

static bool workers_ready_locked(const levada_result_ring *j)
{
    return j->head < j->tail && j->tickets[j->head % j->window].done;
}

static levada_status workers_closed_locked(const levada_result_ring *j, levada_error *err)
{
    if (j->closed != LEVADA_END && err) *err = j->why;
    return j->closed;
}

levada_status levada_workers_take(levada_workers *workers, levada_result_ring *j,
                                  const levada_puller *who, levada_item *out, levada_error *err)
{
    int32_t       worker = who->worker;
    bool          consumer = worker == 0;
    levada_status st = LEVADA_OK;
    bool          have = false, waited = false;

    workers_lock(workers);
    j->resting = false;
    while (!have && st == LEVADA_OK) {
        int64_t until = consumer ? workers->run->deadline : -1;
        bool    waits = until >= 0 && !workers->run->soft; /* its own work could take longer */
        bool    hurried = atomic_load(&who->hurried) != 0;

        if (consumer && workers->run->interrupted) {
            st = LEVADA_AGAIN;
        } else if (until >= 0 && workers->run->pulls > 0 && levada_now() >= until) {
            st = LEVADA_AGAIN;
        } else if (workers_ready_locked(j) && j->tickets[j->head % j->window].again) {
            st = workers_redo_locked(workers, j, worker, err);
        } else if (workers_ready_locked(j)) {
            st = workers_deliver_locked(workers, j, out, err);
            have = true;
            if (consumer) workers->run->pulls++;
        } else if (atomic_load(&workers->run->cancelled) || workers->stop) {
            st = levada_fail(err, LEVADA_ECANCELLED, "cancelled");
        } else if (j->head == j->tail && j->closed != LEVADA_OK) {
            st = workers_closed_locked(j, err);
        } else if (until >= 0 && levada_now() >= until) {
            st = LEVADA_AGAIN;
        } else if (hurried && j->head == j->tail && workers_dry(j)) {
            st = LEVADA_AGAIN;
        } else if (waits || !workers_help_locked(workers, j, worker, true, hurried)) {
            workers_wait_locked(workers, j, waits ? NULL : j, until);
            waited = true;
        }
    }
    /* It may have been woken for work, and leaves with a result. */
    if (waited) workers_offer_all_locked(workers);
    workers_unlock(workers);
    return st;
}

levada_status levada_workers_save(levada_workers *workers, levada_result_ring *j,
                                  levada_state_writer *to, levada_error *err)
{
    levada_snapshot *s;
    levada_status    st;

    if (!workers->running) return levada_node_save(j->node->inputs[0], to, err);
    workers_lock(workers);
    s = j->snapshots;
    while (s && s->ticket > j->head) s = s->older;
    if (s) {
        st = levada_state_append(to, &s->state, err);
        if (st == LEVADA_OK) {
            st = levada_inlet_save_skip(j->node->inputs[0]->path, j->delivered - s->rows,
                                        j->rejects_delivered - s->rejects, to, err);
        }
    } else {
        if (err) *err = j->unsaved;
        st = j->unsaved.code;
    }
    workers_unlock(workers);
    return st;
}

static const char *workers_state_locked(const levada_workers *workers, const levada_result_ring *j)
{
    if (j->closed != LEVADA_OK) return j->closed == LEVADA_END ? "ended" : "failed";
    if (j->intake) return "pulls from above";
    if (workers_can_work_locked(workers, j)) return "has work";
    return "waits for space";
}

void levada_workers_report(levada_workers *workers, levada_text *to)
{
    workers_lock(workers);
    for (const levada_result_ring *j = workers->rings; j; j = j->next) {
        levada_text_format(to, "%s{\"stage\":", j == workers->rings ? "" : ",");
        levada_text_json(to, j->name, strlen(j->name));
        levada_text_format(to, ",\"state\":\"%s\",\"ready\":%lld,\"window\":%lld,\"waiting\":%d}",
                           workers_state_locked(workers, j), (long long)(j->tail - j->head),
                           (long long)j->window, workers->waiting);
    }
    workers_unlock(workers);
}

void levada_workers_ready(levada_workers *workers, const levada_result_ring *j, int64_t *ready,
                          int64_t *window)
{
    workers_lock(workers);
    for (int64_t i = j->head; i < j->tail; i++) *ready += j->tickets[i % j->window].done;
    *window = j->window;
    workers_unlock(workers);
}

/* Halts a ring. Other threads work on what they have drawn without waiting for us: they are further
 * upstream, or apply. */
levada_status levada_workers_halt(levada_workers *workers, levada_result_ring *j, int32_t worker)
{
    int64_t       until = worker == 0 ? workers->run->deadline : -1;
    levada_status st = LEVADA_OK;

    workers_lock(workers);
    j->halting = true;
    if (j->closed == LEVADA_OK) j->closed = LEVADA_END; /* nothing new is drawn */
    for (levada_result_ring *up = j; up; up = up->next)
        (void)atomic_fetch_or(&up->puller.hurried, LEVADA_HURRY_HALT);
    workers_finish_all_locked(workers); /* some wait for results that take the writer of a pipe */
    while (st == LEVADA_OK && !workers_idle_locked(j)) {
        if (until >= 0 && levada_now() >= until) st = LEVADA_AGAIN;
        else workers_wait_locked(workers, j, NULL, until);
    }
    j->halting = false;
    workers_unlock(workers);
    return st;
}

static void workers_empty(levada_result_ring *j)
{
    for (int64_t i = 0; j->tickets && i < j->window; i++) {
        levada_item_clear(&j->tickets[i].in);
        levada_item_clear(&j->tickets[i].out);
        j->tickets[i].again = false;
    }
    levada_snapshot_free(j->snapshots);
    j->snapshots = NULL;
}

void levada_workers_reset(levada_workers *workers, levada_result_ring *j)
{
    workers_lock(workers);
    workers_empty(j);
    j->head = j->tail = j->drawn = j->delivered = j->bytes = 0;
    j->rejects_drawn = j->rejects_delivered = 0;
    j->resting = j->rests;
    /* while it is closed nobody works on it */
    if (workers->running) workers_snapshot_locked(workers, j);
    j->closed = LEVADA_OK;
    workers_offer_locked(workers, j);
    workers_unlock(workers);
}

void levada_result_ring_clear(levada_result_ring *j)
{
    workers_empty(j);
    levada_free(j->tickets);
    levada_fused_destroy(&j->fused);
}
