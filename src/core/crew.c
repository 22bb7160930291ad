/* SPDX-License-Identifier: Apache-2.0 */
#include "core/crew.h"

#include "base/alloc.h"
#include "base/text.h"

#include <string.h>

#define CREW_SNAPSHOT_TICKETS 64
#define CREW_SNAPSHOT_ROWS 4096
#define CREW_SNAPSHOT_SHARE 50 /* a snapshot may cost one part in 50 of the time */

struct levada_crew {
    levada_run   *run;
    levada_mutex  lock;
    levada_cond   changed;
    levada_joint *joints; /* the one nearest to the consumer first; fixed once started */
    int32_t       started, most;
    bool          running; /* set once, before the first block */
    /* -- guarded by lock */
    bool    stop;
    int32_t waiting;
    /* -- fixed once started */
    levada_thread threads[];
};

levada_status levada_crew_create(levada_run *run, levada_error *err)
{
    int32_t       most = run->threads - 1;
    levada_crew  *crew = levada_alloc_zero(sizeof *crew + (size_t)most * sizeof crew->threads[0]);
    levada_status st;

    if (!crew) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for threads");
    crew->run = run;
    crew->most = most;
    st = levada_mutex_init(&crew->lock, err);
    if (st == LEVADA_OK) {
        st = levada_cond_init(&crew->changed, err);
        if (st != LEVADA_OK) levada_mutex_clear(&crew->lock);
    }
    if (st != LEVADA_OK) {
        levada_free(crew);
        return st;
    }
    run->crew = crew;
    return LEVADA_OK;
}

void levada_crew_destroy(levada_crew **crew)
{
    levada_crew *c = *crew;

    *crew = NULL;
    if (!c) return;
    levada_crew_stop(c);
    levada_cond_clear(&c->changed);
    levada_mutex_clear(&c->lock);
    levada_free(c);
}

void levada_crew_add(levada_crew *crew, levada_joint *joint)
{
    joint->next = crew->joints;
    crew->joints = joint;
}

static void crew_wake_locked(levada_crew *crew)
{
    if (crew->waiting) levada_cond_wake_all(&crew->changed);
}

void levada_crew_wake(levada_crew *crew)
{
    levada_mutex_lock(&crew->lock);
    levada_cond_wake_all(&crew->changed);
    levada_mutex_unlock(&crew->lock);
}

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

    levada_mutex_unlock(&crew->lock);
    s = levada_alloc_zero(sizeof *s);
    st = s ? levada_node_save(j->node->inputs[0], &s->state, &why)
           : levada_fail(&why, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a snapshot");
    if (s && st != LEVADA_OK) {
        crew_snapshot_free(s);
        s = NULL;
    }
    levada_mutex_lock(&crew->lock);
    j->unsaved = why;
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

/* -- work */

static bool crew_can_work_locked(const levada_crew *crew, const levada_joint *j)
{
    return !j->intake && j->closed == LEVADA_OK && j->tail - j->head < j->window &&
           (j->bytes < j->window_bytes || j->tail == j->head) && !crew->stop &&
           !atomic_load_explicit(&crew->run->cancelled, memory_order_relaxed);
}

static void crew_apply_locked(levada_crew *crew, levada_joint *j, levada_ticket *t, int64_t number,
                              levada_block *in)
{
    levada_block *out = NULL;
    levada_error  why = LEVADA_ERROR_INIT;
    levada_status st;

    crew_wake_locked(crew); /* the intake is free again */
    levada_mutex_unlock(&crew->lock);
    st = levada_chain_apply(j->chain, crew->run, crew_self(crew), in, &out, &why);
    levada_block_unref(&in);
    levada_mutex_lock(&crew->lock);
    t->st = st;
    if (st != LEVADA_OK) t->why = why;
    t->out = out;
    t->bytes = out ? levada_block_bytes(out) : 0;
    t->done = true;
    j->bytes += t->bytes;
    if (number == j->head || j->halting) crew_wake_locked(crew);
}

/* One unit of work: pull, draw a ticket, apply. The lock is held before and after. */
static void crew_work_locked(levada_crew *crew, levada_joint *j)
{
    levada_block  *in = NULL;
    levada_error   why = LEVADA_ERROR_INIT;
    levada_ticket *t;
    levada_status  st;
    int64_t        number;

    j->intake = true;
    if (crew_snapshot_due_locked(j)) crew_snapshot_locked(crew, j);
    levada_mutex_unlock(&crew->lock);
    st = levada_iter_next(j->node->inputs[0], &in, &why);
    levada_mutex_lock(&crew->lock);
    j->intake = false;
    if (st != LEVADA_OK) {
        if (st != LEVADA_AGAIN) {
            j->closed = st;
            j->why = why;
        }
        crew_wake_locked(crew);
        return;
    }
    number = j->tail++;
    t = &j->ring[number % j->window];
    memset(t, 0, sizeof *t);
    t->rows_in = levada_block_rows(in);
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

    levada_mutex_lock(&crew->lock);
    while (!crew->stop) {
        if (crew_help_locked(crew, crew->joints)) continue;
        crew->waiting++;
        levada_cond_wait(&crew->changed, &crew->lock, -1);
        crew->waiting--;
    }
    levada_mutex_unlock(&crew->lock);
}

/* The first snapshot of each joint, the one furthest up first: later ones build on it. */
static void crew_first_snapshots_locked(levada_crew *crew, levada_joint *j)
{
    if (!j) return;
    crew_first_snapshots_locked(crew, j->next);
    crew_snapshot_locked(crew, j);
}

levada_status levada_crew_start(levada_crew *crew, levada_error *err)
{
    levada_status st = LEVADA_OK;

    if (crew->running) return LEVADA_OK;
    levada_mutex_lock(&crew->lock); /* workers read `started` only under the lock */
    crew_first_snapshots_locked(crew, crew->joints);
    crew->running = true;
    for (int32_t i = 0; st == LEVADA_OK && crew->joints && i < crew->most; i++) {
        st = levada_thread_start(&crew->threads[i], crew_worker, crew, err);
        if (st == LEVADA_OK) crew->started++;
    }
    levada_mutex_unlock(&crew->lock);
    return st;
}

void levada_crew_stop(levada_crew *crew)
{
    levada_mutex_lock(&crew->lock);
    crew->stop = true;
    levada_cond_wake_all(&crew->changed);
    levada_mutex_unlock(&crew->lock);
    for (int32_t i = 0; i < crew->started; i++) levada_thread_join(&crew->threads[i]);
    crew->started = 0;
}

/* -- the consumer's side */

static levada_status crew_deliver_locked(levada_crew *crew, levada_joint *j, levada_block **out,
                                         levada_error *err)
{
    levada_ticket *t = &j->ring[j->head % j->window];
    int64_t        room;

    j->head++;
    j->delivered += t->rows_in;
    j->bytes -= t->bytes;
    room = j->window - (j->tail - j->head);
    /* Waking for each block costs more than the block: let some room gather first. */
    if (room * 4 >= j->window) crew_wake_locked(crew);
    if (t->st != LEVADA_OK) {
        if (err) *err = t->why;
        return t->st;
    }
    *out = t->out;
    t->out = NULL;
    return LEVADA_OK;
}

static levada_status crew_closed_locked(const levada_joint *j, levada_error *err)
{
    if (j->closed != LEVADA_END && err) *err = j->why;
    return j->closed;
}

levada_status levada_crew_take(levada_crew *crew, levada_joint *j, levada_block **out,
                               levada_error *err)
{
    bool          consumer = crew_self(crew) == 0;
    levada_status st = LEVADA_OK;
    bool          have = false;

    levada_mutex_lock(&crew->lock);
    while (!have && st == LEVADA_OK) {
        int64_t until = consumer ? crew->run->deadline : -1;

        if (until >= 0 && crew->run->pulls > 0 && levada_now() >= until) {
            st = LEVADA_AGAIN;
        } else if (j->head < j->tail && j->ring[j->head % j->window].done) {
            st = crew_deliver_locked(crew, j, out, err);
            have = true;
            if (consumer) crew->run->pulls++;
        } else if (atomic_load(&crew->run->cancelled) || crew->stop) {
            st = levada_fail(err, LEVADA_ECANCELLED, "cancelled");
        } else if (j->head == j->tail && j->closed != LEVADA_OK) {
            st = crew_closed_locked(j, err);
        } else if (until >= 0 && levada_now() >= until) {
            st = LEVADA_AGAIN;
        } else if (!crew_help_locked(crew, j)) {
            crew->waiting++;
            levada_cond_wait(&crew->changed, &crew->lock, until);
            crew->waiting--;
        }
    }
    levada_mutex_unlock(&crew->lock);
    return st;
}

levada_status levada_crew_save(levada_crew *crew, levada_joint *j, levada_state_writer *to,
                               levada_error *err)
{
    levada_snapshot *s;
    levada_status    st;

    if (!crew->running) return levada_node_save(j->node->inputs[0], to, err);
    levada_mutex_lock(&crew->lock);
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
    levada_mutex_unlock(&crew->lock);
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
    levada_mutex_lock(&crew->lock);
    for (const levada_joint *j = crew->joints; j; j = j->next) {
        levada_text_format(to, "%s{\"joint\":", j == crew->joints ? "" : ",");
        levada_text_json(to, j->node->path, strlen(j->node->path));
        levada_text_format(to, ",\"state\":\"%s\",\"ready\":%lld,\"window\":%lld,\"waiting\":%d}",
                           crew_state_locked(crew, j), (long long)(j->tail - j->head),
                           (long long)j->window, crew->waiting);
    }
    levada_mutex_unlock(&crew->lock);
}

static bool crew_idle_locked(const levada_joint *j)
{
    if (j->intake) return false;
    for (int64_t i = j->head; i < j->tail; i++) {
        if (!j->ring[i % j->window].done) return false;
    }
    return true;
}

/* Others work on what they have drawn without waiting for us: they are further up, or apply. */
void levada_crew_halt(levada_crew *crew, levada_joint *j)
{
    levada_mutex_lock(&crew->lock);
    j->halting = true;
    if (j->closed == LEVADA_OK) j->closed = LEVADA_END; /* nothing new is drawn */
    while (!crew_idle_locked(j)) {
        crew->waiting++;
        levada_cond_wait(&crew->changed, &crew->lock, -1);
        crew->waiting--;
    }
    j->halting = false;
    levada_mutex_unlock(&crew->lock);
}

void levada_crew_reset(levada_crew *crew, levada_joint *j)
{
    levada_mutex_lock(&crew->lock);
    for (int64_t i = j->head; i < j->tail; i++) {
        levada_block_unref(&j->ring[i % j->window].out);
    }
    crew_snapshot_free(j->snapshots);
    j->snapshots = NULL;
    j->head = j->tail = j->drawn = j->delivered = j->bytes = 0;
    if (crew->running) crew_snapshot_locked(crew, j); /* while it is closed nobody works on it */
    j->closed = LEVADA_OK;
    levada_mutex_unlock(&crew->lock);
}

void levada_joint_clear(levada_joint *j)
{
    for (int64_t i = 0; j->ring && i < j->window; i++) levada_block_unref(&j->ring[i].out);
    levada_free(j->ring);
    crew_snapshot_free(j->snapshots);
    levada_chain_destroy(&j->chain);
}
