/* SPDX-License-Identifier: Apache-2.0 */
#include "core/crew.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "base/text.h"
#include "runtime/wait.h"

#include <string.h>

/* A block is some 100 us of work: looking around for so long costs less than sleeping at each one
 * does, and where that did not help it is soon given up. */
#define CREW_SPIN 100000

#define CREW_SNAPSHOT_TICKETS 64
#define CREW_SNAPSHOT_ROWS 4096
#define CREW_SNAPSHOT_SHARE 50 /* a snapshot may cost one part in 50 of the time */

struct levada_crew {
    levada_run   *run;
    levada_lock   lock;
    levada_site   site;
    levada_joint *joints; /* the one nearest to the consumer first; fixed once started */
    int32_t       started, most;
    bool          running; /* set once, before the first block */
    /* -- guarded by lock */
    bool         stop;
    int32_t      waiting;
    levada_line  idle;  /* crew_wait of the threads that wait, the longest first */
    levada_woken woken; /* to be woken when the lock is given back */
    /* -- fixed once started */
    levada_thread threads[];
};

/* A thread that waits, on its stack. */
typedef struct crew_wait {
    levada_waiter       waiter; /* first: lines are of these */
    const levada_joint *result; /* whose next result it waits for, or NULL              */
    const levada_joint *from;   /* takes up work here and further up; NULL: takes up none */
} crew_wait;

levada_status levada_crew_create(levada_run *run, levada_error *err)
{
    int32_t       most = run->threads - 1;
    levada_hub   *hub = levada_env_hub(run->env);
    levada_crew  *crew = levada_alloc_zero(sizeof *crew + (size_t)most * sizeof crew->threads[0]);
    levada_status st;

    if (!crew) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for threads");
    crew->run = run;
    crew->most = most;
    if (hub) st = levada_lock_init(&crew->lock, LEVADA_LOCK_CREW, err);
    else st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for threads");
    if (st != LEVADA_OK) {
        levada_free(crew);
        return st;
    }
    levada_site_init(&crew->site, hub, "pipeline");
    levada_site_spin(&crew->site, CREW_SPIN);
    run->crew = crew;
    return LEVADA_OK;
}

void levada_crew_destroy(levada_crew **crew)
{
    levada_crew *c = *crew;

    *crew = NULL;
    if (!c) return;
    levada_crew_stop(c);
    levada_lock_clear(&c->lock);
    levada_free(c);
}

void levada_crew_add(levada_crew *crew, levada_joint *joint)
{
    joint->next = crew->joints;
    crew->joints = joint;
}

static void crew_lock(levada_crew *crew) { levada_lock_take(&crew->lock); }

static void crew_unlock(levada_crew *crew)
{
    levada_woken woken = crew->woken;

    crew->woken.first = crew->woken.last = NULL;
    levada_lock_give(&crew->lock);
    levada_wake(&woken);
}

bool levada_crew_runs(const levada_crew *crew) { return crew && crew->running; }

bool levada_crew_idle(const levada_crew *crew) { return !crew->joints; }

/* Number of the calling thread: workers 1.., everybody else 0. */
static int32_t crew_self(const levada_crew *crew)
{
    pthread_t self = pthread_self();

    for (int32_t i = 0; i < crew->started; i++) {
        if (pthread_equal(self, crew->threads[i].system)) return i + 1;
    }
    return 0;
}

bool levada_crew_is_consumer(const levada_crew *crew) { return crew_self(crew) == 0; }

/* -- snapshots */

static void crew_snapshot_free(levada_snapshot *s)
{
    while (s) {
        levada_snapshot *older = s->older;

        levada_state_writer_clear(&s->state);
        levada_free(s);
        s = older;
    }
}

static bool crew_snapshot_due_locked(const levada_joint *j)
{
    if (!j->snapshots) return true;
    if (j->tail - j->snapshots->ticket < CREW_SNAPSHOT_TICKETS &&
        j->drawn - j->snapshots->rows < CREW_SNAPSHOT_ROWS) {
        return false;
    }
    return levada_now() - j->snapshot_at > j->snapshot_cost * CREW_SNAPSHOT_SHARE;
}

/* Drops snapshots older than the newest one that is not later than delivery. */
static void crew_snapshot_trim_locked(levada_joint *j)
{
    for (levada_snapshot *s = j->snapshots; s; s = s->older) {
        if (s->ticket > j->head) continue;
        crew_snapshot_free(s->older);
        s->older = NULL;
        return;
    }
}

/* With the intake held: nobody else touches what is above. Failing is no harm but to save(). */
static void crew_snapshot_locked(levada_crew *crew, levada_joint *j)
{
    levada_snapshot *s;
    int64_t          began = levada_now();
    levada_error     why = LEVADA_ERROR_INIT;
    levada_status    st;

    crew_unlock(crew);
    s = levada_alloc_zero(sizeof *s);
    st = s ? levada_node_save(j->node->inputs[0], &s->state, &why)
           : levada_fail(&why, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a snapshot");
    if (s && st != LEVADA_OK) {
        crew_snapshot_free(s);
        s = NULL;
    }
    crew_lock(crew);
    if (st != LEVADA_OK) j->unsaved = why; /* kept: a later one may come too late for delivery */
    if (s) {
        s->ticket = j->tail;
        s->rows = j->drawn;
        s->older = j->snapshots;
        j->snapshots = s;
        crew_snapshot_trim_locked(j);
    }
    j->snapshot_at = levada_now();
    j->snapshot_cost = j->snapshot_at - began;
}

/* -- waiting */

static bool crew_can_work_locked(const levada_crew *crew, const levada_joint *j)
{
    return !j->intake && j->closed == LEVADA_OK && j->tail - j->head < j->window &&
           (j->bytes < j->window_bytes || j->tail == j->head) && !crew->stop &&
           !atomic_load_explicit(&crew->run->cancelled, memory_order_relaxed);
}

static void crew_finish_locked(levada_crew *crew, crew_wait *w)
{
    levada_waiter_finish(&crew->idle, &w->waiter, LEVADA_OK, &crew->woken);
}

static void crew_finish_all_locked(levada_crew *crew)
{
    while (crew->idle.head) crew_finish_locked(crew, (crew_wait *)crew->idle.head);
}

/* Something came of the joint that its consumer, or who halts it, should look at. */
static void crew_tell_locked(levada_crew *crew, const levada_joint *j)
{
    levada_waiter *next;

    for (levada_waiter *w = crew->idle.head; w; w = next) {
        next = w->next;
        if (((crew_wait *)w)->result == j) crew_finish_locked(crew, (crew_wait *)w);
    }
}

static bool crew_reaches(const levada_joint *from, const levada_joint *j)
{
    while (from && from != j) from = from->next;
    return from != NULL;
}

/* Wakes one thread for the joint's intake, if it is free: one without a result to wait for first.
 */
static void crew_offer_locked(levada_crew *crew, const levada_joint *j)
{
    crew_wait *found = NULL;

    if (!crew->idle.head || !crew_can_work_locked(crew, j)) return;
    for (levada_waiter *w = crew->idle.head; w && !(found && !found->result); w = w->next) {
        crew_wait *candidate = (crew_wait *)w;

        if ((!found || !candidate->result) && crew_reaches(candidate->from, j)) found = candidate;
    }
    if (found) crew_finish_locked(crew, found);
}

static void crew_offer_all_locked(levada_crew *crew)
{
    for (const levada_joint *j = crew->joints; j; j = j->next) crew_offer_locked(crew, j);
}

/* Until somebody finishes the wait, or until that time; callers look again and loop. */
static void crew_wait_locked(levada_crew *crew, const levada_joint *result,
                             const levada_joint *from, int64_t until)
{
    crew_wait       w = { .result = result, .from = from };
    levada_wait_end end;

    levada_line_append(&crew->idle, &w.waiter);
    levada_waiter_prepare(&w.waiter);
    crew->waiting++;
    crew_unlock(crew);
    end = levada_waiter_wait(&w.waiter, &crew->site, result ? result->node->path : "work", -1,
                             until);
    crew_lock(crew);
    crew->waiting--;
    if (end == LEVADA_WAIT_DONE) return;
    if (w.waiter.linked) {
        levada_line_remove(&crew->idle, &w.waiter);
        levada_waiter_clear(&w.waiter);
    } else {
        levada_waiter_settle(&w.waiter);
    }
}

void levada_crew_wake(levada_crew *crew)
{
    crew_lock(crew);
    crew_finish_all_locked(crew);
    crew_unlock(crew);
}

/* -- work */

static void crew_apply_locked(levada_crew *crew, levada_joint *j, levada_ticket *t, int64_t number,
                              levada_block *in)
{
    int32_t       self = crew_self(crew);
    levada_block *out = NULL;
    levada_error  why = LEVADA_ERROR_INIT;
    levada_status st;

    LEVADA_ASSERT(!t->done && t == &j->ring[number % j->window]);
    crew_offer_locked(crew, j); /* the intake is free again */
    crew_unlock(crew);
    st = levada_chain_apply(j->chain, crew->run, self, in, &out, &why);
    if (st != LEVADA_AGAIN) levada_block_unref(&in);
    else if (self == 0) crew->run->interrupted = true;
    crew_lock(crew);
    t->in = in;
    t->st = st;
    if (st != LEVADA_OK) t->why = why;
    t->out = out;
    t->bytes = out ? levada_block_bytes(out) : 0;
    t->done = true;
    j->bytes += t->bytes;
    if (number == j->head || j->halting) crew_tell_locked(crew, j);
}

/* One unit of work: pull, draw a ticket, apply. The lock is held before and after. */
static void crew_work_locked(levada_crew *crew, levada_joint *j)
{
    levada_block  *in = NULL;
    levada_losses  losses;
    levada_error   why = LEVADA_ERROR_INIT;
    levada_ticket *t;
    levada_status  st;
    int64_t        number;

    LEVADA_ASSERT(!j->intake); /* one thread pulls */
    j->intake = true;
    if (crew_snapshot_due_locked(j)) crew_snapshot_locked(crew, j);
    crew_unlock(crew);
    st = levada_input_next(j->node->inputs[0], &in, &why);
    /* Nobody else works upstream before the intake is free. */
    losses = levada_stats_since(j->node->inputs[0], &j->ahead);
    crew_lock(crew);
    j->intake = false;
    if (st != LEVADA_OK) {
        if (st != LEVADA_AGAIN) {
            j->closed = st;
            j->why = why;
            j->last = losses;
        }
        crew_tell_locked(crew, j);
        crew_offer_locked(crew, j);
        return;
    }
    number = j->tail++;
    t = &j->ring[number % j->window];
    LEVADA_ASSERT(number - j->head < j->window && !t->in && !t->out); /* delivered, or never used */
    memset(t, 0, sizeof *t);
    t->rows_in = levada_block_rows(in);
    t->losses = losses;
    j->drawn += t->rows_in;
    crew_apply_locked(crew, j, t, number, in);
}

static bool crew_help_locked(levada_crew *crew, levada_joint *from)
{
    for (levada_joint *j = from; j; j = j->next) {
        if (!crew_can_work_locked(crew, j)) continue;
        crew_work_locked(crew, j);
        return true;
    }
    return false;
}

static void crew_worker(void *user)
{
    levada_crew *crew = user;

    crew_lock(crew);
    while (!crew->stop) {
        if (crew_help_locked(crew, crew->joints)) continue;
        crew_wait_locked(crew, NULL, crew->joints, -1);
    }
    crew_unlock(crew);
}

/* The first snapshot of each joint, the one furthest up first: later ones build on it. */
static void crew_first_snapshots_locked(levada_crew *crew, levada_joint *j)
{
    if (!j) return;
    crew_first_snapshots_locked(crew, j->next);
    j->losses = levada_stats_since(j->node->inputs[0], &j->ahead);
    crew_snapshot_locked(crew, j);
}

levada_status levada_crew_start(levada_crew *crew, levada_error *err)
{
    levada_status st = LEVADA_OK;

    if (crew->running) return LEVADA_OK;
    crew_lock(crew); /* workers read `started` only under the lock */
    crew_first_snapshots_locked(crew, crew->joints);
    crew->running = true;
    for (int32_t i = 0; st == LEVADA_OK && crew->joints && i < crew->most; i++) {
        st = levada_thread_start(&crew->threads[i], crew_worker, crew, err);
        if (st == LEVADA_OK) crew->started++;
    }
    crew_unlock(crew);
    return st;
}

void levada_crew_stop(levada_crew *crew)
{
    crew_lock(crew);
    crew->stop = true;
    crew_finish_all_locked(crew);
    crew_unlock(crew);
    for (int32_t i = 0; i < crew->started; i++) levada_thread_join(&crew->threads[i]);
    crew->started = 0;
}

static bool crew_idle_locked(const levada_joint *j)
{
    if (j->intake) return false;
    for (int64_t i = j->head; i < j->tail; i++) {
        if (!j->ring[i % j->window].done) return false;
    }
    return true;
}

bool levada_crew_abandon(levada_crew *crew)
{
    if (!levada_lock_is_free(&crew->lock)) return false;
    for (const levada_joint *j = crew->joints; j; j = j->next) {
        if (!crew_idle_locked(j)) return false;
    }
    crew->idle = (levada_line){ 0 };
    crew->started = 0;
    return true;
}

/* -- the consumer's side */

static levada_status crew_deliver_locked(levada_crew *crew, levada_joint *j, levada_block **out,
                                         levada_error *err)
{
    levada_ticket *t = &j->ring[j->head % j->window];
    int64_t        room;

    LEVADA_ASSERT(j->head < j->tail && t->done && !t->in);
    if (t->st != LEVADA_OK) { /* it stays in front: a joint may be saved before it tells of that */
        if (err) *err = t->why;
        return t->st;
    }
    j->head++;
    j->delivered += t->rows_in;
    j->losses = t->losses;
    j->bytes -= t->bytes;
    LEVADA_ASSERT(j->bytes >= 0 && j->delivered <= j->drawn);
    room = j->window - (j->tail - j->head);
    /* Waking for each block costs more than the block: let some room gather first. */
    if (room * 4 >= j->window) crew_offer_locked(crew, j);
    *out = t->out;
    t->out = NULL;
    return LEVADA_OK;
}

/* The result that is next is to be made once more: the call was interrupted. */
static levada_status crew_redo_locked(levada_crew *crew, levada_joint *j, levada_error *err)
{
    levada_ticket *t = &j->ring[j->head % j->window];
    levada_block  *in = t->in;

    if (atomic_load(&crew->run->cancelled)) return levada_fail(err, LEVADA_ECANCELLED, "cancelled");
    t->in = NULL;
    t->done = false;
    crew_apply_locked(crew, j, t, j->head, in);
    return t->in ? LEVADA_AGAIN : LEVADA_OK;
}

static bool crew_ready_locked(const levada_joint *j)
{
    return j->head < j->tail && j->ring[j->head % j->window].done;
}

static levada_status crew_closed_locked(const levada_joint *j, levada_error *err)
{
    if (j->closed != LEVADA_END && err) *err = j->why;
    return j->closed;
}

/* Whether a consumer with that deadline leaves all work to the workers: what it began itself could
 * take longer. */
static bool crew_waits_only(const levada_crew *crew, int64_t until)
{
    return until >= 0 && !crew->run->soft;
}

levada_status levada_crew_take(levada_crew *crew, levada_joint *j, levada_block **out,
                               levada_error *err)
{
    bool          consumer = crew_self(crew) == 0;
    levada_status st = LEVADA_OK;
    bool          have = false, waited = false;

    crew_lock(crew);
    while (!have && st == LEVADA_OK) {
        int64_t until = consumer ? crew->run->deadline : -1;

        if (consumer && crew->run->interrupted) {
            st = LEVADA_AGAIN;
        } else if (until >= 0 && crew->run->pulls > 0 && levada_now() >= until) {
            st = LEVADA_AGAIN;
        } else if (crew_ready_locked(j) && j->ring[j->head % j->window].in) {
            st = crew_redo_locked(crew, j, err);
        } else if (crew_ready_locked(j)) {
            st = crew_deliver_locked(crew, j, out, err);
            have = true;
            if (consumer) crew->run->pulls++;
        } else if (atomic_load(&crew->run->cancelled) || crew->stop) {
            st = levada_fail(err, LEVADA_ECANCELLED, "cancelled");
        } else if (j->head == j->tail && j->closed != LEVADA_OK) {
            j->losses = j->last;
            st = crew_closed_locked(j, err);
        } else if (until >= 0 && levada_now() >= until) {
            st = LEVADA_AGAIN;
        } else if (crew_waits_only(crew, until) || !crew_help_locked(crew, j)) {
            crew_wait_locked(crew, j, crew_waits_only(crew, until) ? NULL : j, until);
            waited = true;
        }
    }
    /* It may have been woken for work, and leaves with a result. */
    if (waited) crew_offer_all_locked(crew);
    crew_unlock(crew);
    return st;
}

levada_status levada_crew_save(levada_crew *crew, levada_joint *j, levada_state_writer *to,
                               levada_error *err)
{
    levada_snapshot *s;
    levada_status    st;

    if (!crew->running) return levada_node_save(j->node->inputs[0], to, err);
    crew_lock(crew);
    s = j->snapshots;
    while (s && s->ticket > j->head) s = s->older;
    if (s) {
        st = levada_state_append(to, &s->state, err);
        if (st == LEVADA_OK) {
            st = levada_state_add_drop(to, j->node->inputs[0]->path, j->delivered - s->rows, err);
        }
    } else {
        if (err) *err = j->unsaved;
        st = j->unsaved.code;
    }
    crew_unlock(crew);
    return st;
}

static const char *crew_state_locked(const levada_crew *crew, const levada_joint *j)
{
    if (j->closed != LEVADA_OK) return j->closed == LEVADA_END ? "ended" : "failed";
    if (j->intake) return "pulls from above";
    if (crew_can_work_locked(crew, j)) return "has work";
    return "waits for room";
}

void levada_crew_report(levada_crew *crew, levada_text *to)
{
    crew_lock(crew);
    for (const levada_joint *j = crew->joints; j; j = j->next) {
        levada_text_format(to, "%s{\"joint\":", j == crew->joints ? "" : ",");
        levada_text_json(to, j->node->path, strlen(j->node->path));
        levada_text_format(to, ",\"state\":\"%s\",\"ready\":%lld,\"window\":%lld,\"waiting\":%d}",
                           crew_state_locked(crew, j), (long long)(j->tail - j->head),
                           (long long)j->window, crew->waiting);
    }
    crew_unlock(crew);
}

/* Others work on what they have drawn without waiting for us: they are further up, or apply. */
levada_status levada_crew_halt(levada_crew *crew, levada_joint *j)
{
    int64_t       until = levada_crew_is_consumer(crew) ? crew->run->deadline : -1;
    levada_status st = LEVADA_OK;

    crew_lock(crew);
    j->halting = true;
    if (j->closed == LEVADA_OK) { /* nothing new is drawn */
        j->closed = LEVADA_END;
        j->last = j->losses;
    }
    while (st == LEVADA_OK && !crew_idle_locked(j)) {
        if (until >= 0 && levada_now() >= until) st = LEVADA_AGAIN;
        else crew_wait_locked(crew, j, NULL, until);
    }
    j->halting = false;
    crew_unlock(crew);
    return st;
}

static void crew_empty(levada_joint *j)
{
    for (int64_t i = 0; j->ring && i < j->window; i++) {
        levada_block_unref(&j->ring[i].in);
        levada_block_unref(&j->ring[i].out);
    }
    crew_snapshot_free(j->snapshots);
    j->snapshots = NULL;
}

void levada_crew_reset(levada_crew *crew, levada_joint *j)
{
    levada_losses ahead = levada_stats_since(j->node->inputs[0], &j->ahead);

    crew_lock(crew);
    levada_losses_add(&ahead, &j->losses, -1);
    levada_losses_add(&j->ahead, &ahead, 1);
    crew_empty(j);
    j->head = j->tail = j->drawn = j->delivered = j->bytes = 0;
    if (crew->running) crew_snapshot_locked(crew, j); /* while it is closed nobody works on it */
    j->closed = LEVADA_OK;
    crew_offer_locked(crew, j);
    crew_unlock(crew);
}

void levada_joint_clear(levada_joint *j)
{
    crew_empty(j);
    levada_free(j->ring);
    levada_chain_destroy(&j->chain);
}
