/* SPDX-License-Identifier: Apache-2.0 */
#include "files/remote.h"

#include "base/alloc.h"
#include "base/process.h"
#include "base/random.h"
#include "registry/env_priv.h"
#include "runtime/meter.h"
#include "runtime/wait.h"

#include <string.h>

#define REMOTE_UNIT (INT64_C(256) << 10) /* pieces begin at multiples of it */
#define REMOTE_RAMP 4                    /* units of the first piece that is read ahead */
#define REMOTE_PARALLEL 8                /* requests of a file at a time, and threads */
#define REMOTE_TICK INT64_C(20000000)         /* nanoseconds between two looks at a token */
#define REMOTE_PAUSE INT64_C(100000000)       /* longest pause after the first failure ... */
#define REMOTE_PAUSE_MOST INT64_C(15000000000) /* ... and after the last */

typedef struct remote_file remote_file;

typedef enum remote_state { REMOTE_QUEUED, REMOTE_BUSY, REMOTE_DONE } remote_state;

/* One request: to open the file, or for the bytes [offset, offset + size). */
typedef struct remote_piece {
    struct remote_piece *next, *prev;   /* in the order of use; the one used last is at the end */
    struct remote_piece *after;         /* in the queue */
    remote_file         *file;
    remote_state         state;
    bool                 opens;
    int                  readers; /* that wait for it, or copy from it */
    int64_t              offset, size;
    int64_t              taken; /* bytes that a reader in order has copied */
    uint8_t             *data;
    int64_t              until; /* its deadline, once it is on its way */
    levada_error         why;
} remote_piece;

typedef struct remote_pool {
    levada_env_kept kept; /* first: the environment has it */
    unsigned        process;
    levada_mutex    starting; /* held while threads start or end; guards threads, nthreads, files */
    levada_thread   threads[REMOTE_PARALLEL];
    int32_t         nthreads, files;
    levada_lock     lock;
    levada_site     site;
    atomic_ullong   drawn; /* pauses */
    /* -- guarded by lock */
    levada_line   idle; /* threads without work, or in a pause */
    bool          ended;
    remote_piece *queue, *queue_end;
    remote_piece *first, *last; /* pieces that are kept or on their way */
    int64_t       held;         /* bytes of all pieces */
    int32_t       open;         /* files */
} remote_pool;

struct remote_file {
    const levada_opener_def *opener;
    void                    *file;
    remote_pool             *pool;
    levada_env              *env;   /* a reference */
    const char              *path;  /* only to open it */
    const levada_cancel     *asked; /* of the reader */
    levada_cancel            cancel; /* of the requests */
    atomic_bool              stop;
    atomic_llong             until; /* first deadline of the requests that are on their way */
    levada_io_options        io;
    int64_t                  size, unit, preferred;
    int32_t                  parallel;
    levada_site              site;
    /* -- guarded by the lock of the pool */
    levada_line waits;
    int64_t     front;  /* end of the last read */
    int64_t     ahead;  /* end of what was requested ahead of it */
    int64_t     ramp;   /* size of the next piece ahead; 0 = the reader jumps */
    int64_t     held;
    int32_t     waiting; /* pieces that are queued or on their way */
};

static int64_t remote_at_most(int64_t a, int64_t b) { return a < b ? a : b; }

/* -- one request, on a thread of the pool, without a lock */

static levada_status remote_try(remote_piece *p, levada_error *err)
{
    remote_file *f = p->file;
    int64_t      made = 0;

    if (p->opens) {
        LEVADA_TRY(f->opener->open(f->opener->user, f->path, &f->cancel, &f->file, err));
        return f->opener->size(f->file, &f->size, err);
    }
    LEVADA_TRY(f->opener->read_at(f->file, p->offset, p->data, p->size, &made, err));
    if (made == p->size) return LEVADA_OK;
    return levada_fail(err, LEVADA_EUNAVAILABLE, "the answer has %lld of %lld bytes",
                       (long long)made, (long long)p->size);
}

/* Sleeps for a random part of the longest pause; returns false if the file is closed, or the
 * deadline is reached, meanwhile. */
static bool remote_pause(const remote_piece *p, int32_t failures)
{
    remote_pool *pool = p->file->pool;
    int64_t      most = REMOTE_PAUSE, until;
    uint64_t     drawn = atomic_fetch_add_explicit(&pool->drawn, 1, memory_order_relaxed);

    for (int32_t i = 1; i < failures && most < REMOTE_PAUSE_MOST; i++) most *= 2;
    until = levada_until((int64_t)levada_random_below(
        levada_random_draw((uint64_t)(uintptr_t)p->file, (uint64_t)levada_now(), drawn),
        (uint64_t)remote_at_most(most, REMOTE_PAUSE_MOST)));
    until = remote_at_most(until, p->until);
    while (!atomic_load(&p->file->stop) && levada_now() < until) {
        levada_waiter waiter = { 0 };
        int64_t       tick = levada_until(REMOTE_TICK);

        levada_waiter_prepare(&waiter);
        (void)levada_waiter_wait(&waiter, &pool->site, "pause", -1, tick < until ? tick : until);
        levada_waiter_clear(&waiter);
    }
    return !atomic_load(&p->file->stop) && levada_now() < p->until;
}

/* Counts a request that has ended; `again`: it was not the first one of its piece. The answer to an
 * open has the first bytes of the file, so the piece with them counts for both. */
static void remote_count(const remote_piece *p, int64_t began, bool again)
{
    levada_meter *meter = p->file->asked ? p->file->asked->meter : NULL;

    if (!meter) return;
    (void)levada_meter_end(meter, p->opens ? "open a remote file" : "request", began, -1);
    if (again) atomic_fetch_add_explicit(&meter->retries, 1, memory_order_relaxed);
    if (p->opens && p->why.code == LEVADA_OK) return;
    atomic_fetch_add_explicit(&meter->requests, 1, memory_order_relaxed);
    if (p->why.code != LEVADA_OK) return;
    atomic_fetch_add_explicit(&meter->received, p->size, memory_order_relaxed);
}

/* Tries once; closes what was not opened completely. */
static levada_status remote_attempt(remote_piece *p, bool again)
{
    remote_file  *f = p->file;
    int64_t       began = levada_now();
    levada_status st;

    levada_error_clear(&p->why);
    st = remote_try(p, &p->why);
    remote_count(p, began, again);
    if (p->opens && st != LEVADA_OK && f->file) {
        f->opener->close(f->file);
        f->file = NULL;
    }
    if (st != LEVADA_ECANCELLED || atomic_load(&f->stop) || levada_now() < p->until) return st;
    return levada_fail(&p->why, LEVADA_EDEADLINE_EXCEEDED,
                       "no complete answer within the deadline of %g s",
                       (double)f->io.deadline / 1e9);
}

/* Attempts a request until it succeeds or fails for good. The deadline of one request cancels all
 * that are in flight for a file: the others try again. */
static void remote_work(remote_piece *p)
{
    int32_t       failures = 0, attempts = p->file->io.attempts;
    levada_status st;
    bool          again = false;

    do {
        bool retry;

        st = remote_attempt(p, again);
        retry = st == LEVADA_EUNAVAILABLE || st == LEVADA_EDEADLINE_EXCEEDED;
        failures += retry;
        again = (retry && failures < attempts) || st == LEVADA_ECANCELLED;
    } while (again && remote_pause(p, failures));
    if (failures > 1 && st != LEVADA_OK && st != LEVADA_ECANCELLED) {
        char text[sizeof p->why.message];

        memcpy(text, p->why.message, sizeof text);
        st = levada_fail(&p->why, st, "%.400s (%d attempts)", text, (int)failures);
    }
}

/* -- pieces; the lock is held */

static void remote_link_locked(remote_pool *pool, remote_piece *p)
{
    p->prev = pool->last;
    p->next = NULL;
    if (pool->last) pool->last->next = p;
    else pool->first = p;
    pool->last = p;
}

static void remote_unlink_locked(remote_pool *pool, remote_piece *p)
{
    if (p->prev) p->prev->next = p->next;
    else pool->first = p->next;
    if (p->next) p->next->prev = p->prev;
    else pool->last = p->prev;
}

/* Frees a piece that is done and that nobody reads. */
static void remote_drop_locked(remote_pool *pool, remote_piece *p)
{
    LEVADA_ASSERT(p->state == REMOTE_DONE && p->readers == 0);
    remote_unlink_locked(pool, p);
    pool->held -= p->size;
    p->file->held -= p->size;
    levada_free(p->data);
    levada_free(p);
}

static remote_piece *remote_find_locked(const remote_file *f, int64_t at)
{
    remote_piece *p = f->pool->last;

    while (p && (p->file != f || at < p->offset || at >= p->offset + p->size)) p = p->prev;
    return p;
}

/* Drops what was used longest ago until `size` more bytes fit; false if they do not. */
static bool remote_reserve_locked(remote_file *f, int64_t size)
{
    remote_pool *pool = f->pool;

    for (remote_piece *p = pool->first, *next; p; p = next) {
        if (pool->held + size <= f->io.read_ahead) break;
        next = p->next;
        if (p->state == REMOTE_DONE && p->readers == 0) remote_drop_locked(pool, p);
    }
    return pool->held + size <= f->io.read_ahead;
}

static void remote_queue_locked(remote_piece *p, bool first, levada_woken *woken)
{
    remote_pool *pool = p->file->pool;

    p->file->waiting++;
    if (first || !pool->queue) {
        p->after = pool->queue;
        pool->queue = p;
        if (!p->after) pool->queue_end = p;
    } else {
        pool->queue_end->after = p;
        pool->queue_end = p;
    }
    if (pool->idle.head) levada_waiter_finish(&pool->idle, pool->idle.head, LEVADA_OK, woken);
}

/* Requests bytes from `offset` on, a multiple of the unit: up to `size`, the end of the file, or
 * the next piece. NULL: out of memory. */
static remote_piece *remote_request_locked(remote_file *f, int64_t offset, int64_t size,
                                           bool first, levada_woken *woken)
{
    remote_piece *p = levada_alloc_zero(sizeof *p);

    if (size > f->size - offset) size = f->size - offset;
    for (const remote_piece *other = f->pool->first; other; other = other->next) {
        if (other->file != f || other->offset <= offset) continue;
        if (size > other->offset - offset) size = other->offset - offset;
    }
    if (p) p->data = levada_alloc((size_t)size);
    if (!p || !p->data) {
        levada_free(p);
        return NULL;
    }
    p->file = f;
    p->offset = offset;
    p->size = size;
    f->held += size;
    f->pool->held += size;
    remote_link_locked(f->pool, p);
    remote_queue_locked(p, first, woken);
    return p;
}

/* Requests what a reader in order needs next, as far as threads and memory go. */
static void remote_ahead_locked(remote_file *f, levada_woken *woken)
{
    int64_t share = f->io.read_ahead / (f->pool->open > 0 ? f->pool->open : 1);

    if (f->ahead < f->front) f->ahead = f->front;
    while (f->ahead < f->size && f->waiting < f->parallel) {
        remote_piece *p = remote_find_locked(f, f->ahead);

        if (!p) {
            int64_t from = f->ahead / f->unit * f->unit;

            if (f->held + f->ramp > share || !remote_reserve_locked(f, f->ramp)) return;
            p = remote_request_locked(f, from, f->ramp, false, woken);
            if (!p) return;
            f->ramp = 2 * f->ramp < f->preferred ? 2 * f->ramp : f->preferred;
        }
        f->ahead = p->offset + p->size;
    }
}

/* Notes if the reader continues in order: threads that read one file together do so nearly. The
 * first bytes, which show the format of the file, are read twice. */
static void remote_note_locked(remote_file *f, int64_t offset, int64_t size)
{
    int64_t end = offset + size;
    bool    begins = f->front > 0 && offset <= f->front && end > f->front;
    bool    continues = f->ramp > 0 && offset + f->preferred >= f->front &&
                   offset <= (f->ahead > f->front ? f->ahead : f->front);

    if (continues) {
        if (f->front < end) f->front = end;
        return;
    }
    f->front = end;
    f->ahead = 0;
    f->ramp = begins ? remote_at_most(REMOTE_RAMP * f->unit, f->preferred) : 0;
}

/* Returns the piece with the byte at `at`, new if there is none; NULL = out of memory. */
static remote_piece *remote_piece_locked(remote_file *f, int64_t at, int64_t end,
                                         levada_woken *woken)
{
    remote_piece *p = remote_find_locked(f, at);
    int64_t       from = at / f->unit * f->unit;
    int64_t       size = (end - from + f->unit - 1) / f->unit * f->unit;

    if (p) return p;
    if (size > f->preferred) size = f->preferred;
    if (size < f->ramp) size = f->ramp;
    (void)remote_reserve_locked(f, size); /* a reader waits: even beyond the limit */
    return remote_request_locked(f, from, size, true, woken);
}

/* -- the pool */

static void remote_begin_locked(remote_piece *p)
{
    int64_t now = levada_now(), deadline = p->file->io.deadline;

    p->state = REMOTE_BUSY;
    p->until = deadline < INT64_MAX - now ? now + deadline : INT64_MAX;
    if (p->until < atomic_load(&p->file->until)) atomic_store(&p->file->until, p->until);
}

static void remote_end_locked(remote_piece *p)
{
    int64_t until = INT64_MAX;

    p->state = REMOTE_DONE;
    p->file->waiting--;
    for (const remote_piece *other = p->file->pool->first; other; other = other->next) {
        if (other->file != p->file || other->state != REMOTE_BUSY) continue;
        until = remote_at_most(until, other->until);
    }
    atomic_store(&p->file->until, until);
}

static bool remote_take_locked(remote_pool *pool, remote_piece **out)
{
    while (!pool->queue && !pool->ended) {
        levada_line_wait_locked(&pool->idle, &pool->lock, &pool->site, "request");
    }
    *out = pool->queue;
    if (!pool->queue) return false;
    pool->queue = (*out)->after;
    remote_begin_locked(*out);
    return true;
}

static void remote_run(void *user)
{
    remote_pool *pool = user;
    remote_piece *p;

    levada_lock_take(&pool->lock);
    while (remote_take_locked(pool, &p)) {
        remote_file *f = p->file;
        levada_woken woken = { 0 };

        levada_lock_give(&pool->lock);
        if (!atomic_load(&f->stop)) remote_work(p);
        levada_lock_take(&pool->lock);
        remote_end_locked(p);
        while (f->waits.head) levada_waiter_finish(&f->waits, f->waits.head, LEVADA_OK, &woken);
        levada_lock_give(&pool->lock);
        levada_wake(&woken);
        levada_lock_take(&pool->lock);
    }
    levada_lock_give(&pool->lock);
}

static void remote_destroy(levada_env_kept *kept)
{
    remote_pool *pool = (remote_pool *)kept;

    if (pool->process == levada_process()) {
        levada_mutex_clear(&pool->starting);
        levada_lock_clear(&pool->lock);
    }
    levada_free(pool);
}

/* Returns the oldest pool of this process, so that all threads find the same. */
static remote_pool *remote_pool_find(const levada_env *env)
{
    remote_pool *found = NULL;

    for (levada_env_kept *kept = levada_env_kept_first(env); kept; kept = kept->older) {
        remote_pool *pool = (remote_pool *)kept;

        if (kept->destroy == remote_destroy && pool->process == levada_process()) found = pool;
    }
    return found;
}

static levada_status remote_pool_of(levada_env *env, remote_pool **out, levada_error *err)
{
    remote_pool  *pool;
    levada_status st;

    *out = remote_pool_find(env);
    if (*out) return LEVADA_OK;
    pool = levada_alloc_zero(sizeof *pool);
    if (!pool)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while opening a file");
    pool->kept.destroy = remote_destroy;
    pool->process = levada_process();
    levada_site_init(&pool->site, levada_env_wait_list(env), "remote files");
    levada_site_spin(&pool->site, 0);
    st = levada_mutex_init(&pool->starting, LEVADA_LOCK_STARTING, err);
    if (st == LEVADA_OK) st = levada_lock_init(&pool->lock, LEVADA_LOCK_REMOTE, err);
    if (st != LEVADA_OK) {
        levada_free(pool);
        return st;
    }
    levada_env_keep(env, &pool->kept);
    *out = remote_pool_find(env);
    return LEVADA_OK;
}

/* Adds a file, and threads for its requests if there are fewer. Without any thread it fails. */
static levada_status remote_join(remote_file *f, levada_error *err)
{
    remote_pool  *pool = f->pool;
    levada_status st = LEVADA_OK;

    levada_mutex_lock(&pool->starting);
    while (pool->nthreads < f->parallel && st == LEVADA_OK) {
        st = levada_thread_start(&pool->threads[pool->nthreads], remote_run, pool, err);
        pool->nthreads += st == LEVADA_OK;
    }
    if (pool->nthreads > 0) {
        st = LEVADA_OK;
        levada_error_clear(err);
        pool->files++;
        levada_lock_take(&pool->lock);
        pool->open++;
        levada_lock_give(&pool->lock);
    }
    levada_mutex_unlock(&pool->starting);
    return st;
}

/* Removes a file. The last one ends the threads. */
static void remote_leave(remote_pool *pool)
{
    levada_woken woken = { 0 };

    levada_mutex_lock(&pool->starting);
    pool->files--;
    levada_lock_take(&pool->lock);
    pool->open--;
    pool->ended = pool->files == 0;
    while (pool->ended && pool->idle.head) {
        levada_waiter_finish(&pool->idle, pool->idle.head, LEVADA_OK, &woken);
    }
    levada_lock_give(&pool->lock);
    levada_wake(&woken);
    if (pool->files == 0) {
        while (pool->nthreads > 0) levada_thread_join(&pool->threads[--pool->nthreads]);
    }
    pool->ended = false;
    levada_mutex_unlock(&pool->starting);
}

/* -- a file */

static bool remote_wanted(void *user)
{
    const remote_file *f = user;

    return !levada_cancel_requested(f->asked);
}

/* Waits for a piece that the caller reads; false if the reader was cancelled before. */
static bool remote_wait_locked(remote_file *f, const remote_piece *p)
{
    bool wanted = true;

    while (p->state != REMOTE_DONE && wanted) {
        levada_line_wait_locked(&f->waits, &f->pool->lock, &f->site, "answer");
        if (p->state == REMOTE_DONE) break;
        levada_lock_give(&f->pool->lock);
        wanted = remote_wanted(f);
        levada_lock_take(&f->pool->lock);
    }
    return p->state == REMOTE_DONE;
}

static levada_status remote_cancelled(levada_error *err)
{
    return levada_fail(err, LEVADA_ECANCELLED, "interrupted while a remote file was read");
}

/* Ends the requests of a file, whose pieces nobody reads, and frees them. */
static void remote_clear(remote_file *f)
{
    remote_pool *pool = f->pool;

    atomic_store(&f->stop, true);
    levada_lock_take(&pool->lock);
    while (f->waiting > 0) {
        levada_site still = f->site;

        still.poll = NULL;
        levada_line_wait_locked(&f->waits, &pool->lock, &still, "end of requests");
    }
    for (remote_piece *p = pool->first, *next; p; p = next) {
        next = p->next;
        if (p->file == f) remote_drop_locked(pool, p);
    }
    levada_lock_give(&pool->lock);
}

static void remote_close(void *file)
{
    remote_file *f = file;

    if (f->pool && f->pool->process == levada_process()) {
        remote_clear(f);
        remote_leave(f->pool);
        if (f->file) f->opener->close(f->file);
    }
    levada_env_unref(&f->env);
    levada_free(f);
}

/* Opens it on a thread of the pool, so that the caller's can be cancelled. */
static levada_status remote_start(remote_file *f, levada_error *err)
{
    remote_piece  open = { .file = f, .opens = true };
    levada_woken  woken = { 0 };
    remote_pool  *pool = f->pool;
    bool          done;

    levada_lock_take(&pool->lock);
    remote_queue_locked(&open, true, &woken);
    levada_lock_give(&pool->lock);
    levada_wake(&woken);
    levada_lock_take(&pool->lock);
    done = remote_wait_locked(f, &open);
    levada_lock_give(&pool->lock);
    if (!done) {
        remote_clear(f);
        return remote_cancelled(err);
    }
    if (open.why.code != LEVADA_OK && err) *err = open.why;
    return open.why.code;
}

levada_status levada_remote_open(const levada_opener_def *opener, const char *path,
                                 const levada_cancel *cancel, void **out, levada_error *err)
{
    remote_file  *f = levada_alloc_zero(sizeof *f);
    levada_status st;

    if (!f)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while opening a file");
    f->opener = opener;
    f->path = path;
    f->asked = cancel;
    f->cancel = (levada_cancel){ .flag = &f->stop, .until = &f->until };
    atomic_init(&f->until, INT64_MAX);
    f->env = levada_env_ref((levada_env *)(uintptr_t)cancel->env);
    f->io = levada_env_io(f->env);
    f->unit = remote_at_most(opener->preferred_bytes, REMOTE_UNIT);
    f->preferred = remote_at_most(opener->preferred_bytes, f->io.read_ahead) / f->unit * f->unit;
    f->parallel = opener->shared ? REMOTE_PARALLEL : 1;
    st = remote_pool_of(f->env, &f->pool, err);
    levada_site_init(&f->site, levada_env_wait_list(f->env), "remote file");
    levada_site_spin(&f->site, 0);
    levada_site_ask(&f->site, remote_wanted, f, REMOTE_TICK);
    if (st == LEVADA_OK) st = remote_join(f, err);
    if (st != LEVADA_OK) {
        levada_env_unref(&f->env);
        levada_free(f);
        return st;
    }
    st = remote_start(f, err);
    if (st == LEVADA_OK) *out = f;
    else remote_close(f);
    return st;
}

static levada_status remote_size(void *file, int64_t *out, levada_error *err)
{
    (void)err;
    *out = ((remote_file *)file)->size;
    return LEVADA_OK;
}

/* Copies from the piece with the byte at `at`, once it is there. */
static levada_status remote_copy_locked(remote_file *f, remote_piece *p, int64_t at, uint8_t *data,
                                        int64_t size, int64_t *made, levada_error *err)
{
    levada_status st = LEVADA_OK;
    bool          done;

    p->readers++;
    done = remote_wait_locked(f, p);
    if (!done) st = remote_cancelled(err);
    else if (p->why.code != LEVADA_OK) {
        if (err) *err = p->why;
        st = p->why.code;
    } else {
        *made = remote_at_most(p->offset + p->size - at, size);
        levada_lock_give(&f->pool->lock);
        memcpy(data, p->data + (at - p->offset), (size_t)*made);
        levada_lock_take(&f->pool->lock);
    }
    p->readers--;
    if (f->ramp > 0) p->taken += *made;
    if (done && p->readers == 0 && (st != LEVADA_OK || p->taken >= p->size)) {
        remote_drop_locked(f->pool, p);
    } else if (p != f->pool->last) {
        remote_unlink_locked(f->pool, p);
        remote_link_locked(f->pool, p);
    }
    return st;
}

static levada_status remote_read_at(void *file, int64_t offset, uint8_t *data, int64_t size,
                                    int64_t *made, levada_error *err)
{
    remote_file  *f = file;
    levada_status st = LEVADA_OK;

    *made = 0;
    if (f->pool->process != levada_process()) return levada_process_refuse("file", err);
    if (offset >= f->size) return LEVADA_OK;
    size = remote_at_most(size, f->size - offset);
    levada_lock_take(&f->pool->lock);
    remote_note_locked(f, offset, size);
    while (*made < size && st == LEVADA_OK) {
        levada_woken  woken = { 0 };
        int64_t       at = offset + *made, n = 0;
        remote_piece *p = remote_piece_locked(f, at, offset + size, &woken);

        if (p) p->readers++;
        if (p && f->ramp > 0) remote_ahead_locked(f, &woken);
        levada_lock_give(&f->pool->lock);
        levada_wake(&woken);
        levada_lock_take(&f->pool->lock);
        if (p) p->readers--;
        if (!p) st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                 "out of memory while reading a file");
        else st = remote_copy_locked(f, p, at, data + *made, size - *made, &n, err);
        *made += n;
    }
    levada_lock_give(&f->pool->lock);
    return st;
}

void levada_remote_expect(void *file, int64_t offset, int64_t size)
{
    remote_file *f = file;
    int64_t      end = remote_at_most(offset + size, f->size);
    levada_woken woken = { 0 };

    if (f->pool->process != levada_process()) return;
    levada_lock_take(&f->pool->lock);
    for (int64_t at = offset / f->unit * f->unit; at < end;) {
        remote_piece *p = remote_find_locked(f, at);
        int64_t       more = (end - at + f->unit - 1) / f->unit * f->unit;

        if (more > f->preferred) more = f->preferred;
        if (!p && remote_reserve_locked(f, more)) {
            p = remote_request_locked(f, at, more, false, &woken);
        }
        if (!p) break;
        at = p->offset + p->size;
    }
    levada_lock_give(&f->pool->lock);
    levada_wake(&woken);
}

static const char *remote_version(void *file)
{
    const remote_file *f = file;

    return f->opener->version ? f->opener->version(f->file) : NULL;
}

const levada_opener_def levada_remote_reader = {
    .struct_size = sizeof(levada_opener_def),
    .name = "",
    .close = remote_close,
    .size = remote_size,
    .read_at = remote_read_at,
    .version = remote_version,
    .shared = true,
};
