/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads refer to their runner, so it may be destroyed while they run. The last thread closes the
 * queue; the runner counts as busy until that is done, so that a new start is not closed by the one
 * before.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "base/refs.h"
#include "base/versioned.h"
#include "runtime/coordinator_priv.h"
#include "runtime/queue_priv.h"

#include <stdio.h>
#include <string.h>

#define RUNNER_MOST 65536 /* threads; far more than a machine starts */

typedef struct runner_thread {
    levada_queue_runner *runner;
    levada_enqueue_op    op;
    char                *name;  /* of the thread */
    pthread_t            self;  /* while it runs */
    bool                 runs;
} runner_thread;

struct levada_queue_runner {
    atomic_int     refs;
    unsigned       process; /* that it belongs to (base/process.h) */
    levada_queue  *queue;
    int32_t        nops, nclosed;
    runner_thread *threads; /* nops, and one for close_on_stop */
    levada_status *closed;
    void (*close)(void *user);
    void (*cancel)(void *user);
    void (*release)(void *user);
    void               *user;
    levada_coordinator *own; /* of threads without another one */
    levada_site         site;
    levada_lock         lock;
    /* -- guarded by lock */
    bool          busy;
    bool          closed_before; /* the queue was closed already at the start */
    int32_t       live; /* threads that still enqueue */
    int32_t       nerrors;
    levada_error *errors; /* capacity: nops */
    levada_line   waits;  /* until it is not busy */
};

/* -- making and freeing ------------------------------------------------------------------------ */

static void runner_close_queue(void *user)
{
    /* The one way to fail is that somebody else has closed it. */
    levada_status status = levada_queue_close(user, false, LEVADA_FOREVER, NULL);

    (void)status;
}

static void runner_cancel_queue(void *user)
{
    levada_status status = levada_queue_close(user, true, 0, NULL); /* never fails */

    (void)status;
}

static void runner_unref(levada_queue_runner *r)
{
    if (!levada_refs_drop(&r->refs)) return;
    for (int32_t i = 0; r->threads != NULL && i <= r->nops; i++) levada_free(r->threads[i].name);
    levada_free(r->threads);
    levada_free(r->closed);
    levada_free(r->errors);
    levada_lock_clear(&r->lock);
    levada_queue_unref(&r->queue);
    if (r->release != NULL) r->release(r->user);
    levada_free(r);
}

static levada_status runner_check(const levada_queue *queue, const levada_queue_runner_options *o,
                                  levada_error *err)
{
    if (queue == NULL || o->ops == NULL || o->nops < 1 || o->nops > RUNNER_MOST) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a queue runner needs a queue and 1 to %d ops, got %d", RUNNER_MOST,
                           (int)o->nops);
    }
    for (int32_t i = 0; i < o->nops; i++) {
        if (o->ops[i].run != NULL) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "op %d has no function to run", (int)i);
    }
    if (o->closed != NULL ? o->nclosed < 1 : o->nclosed != 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "nclosed=%d: closed must be a non-empty list of codes, or NULL",
                           (int)o->nclosed);
    }
    for (int32_t i = 0; o->closed != NULL && i < o->nclosed; i++) {
        if (o->closed[i] < 0 && o->closed[i] >= LEVADA_EDATA_LOSS) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "closed[%d]=%d is not the code of an error", (int)i, (int)o->closed[i]);
    }
    return LEVADA_OK;
}

/* Writes "QueueRunnerThread-<queue>-<op>". */
static char *runner_thread_name(const levada_queue *queue, const char *op, int32_t i)
{
    const char *name = levada_queue_info(queue)->name;
    char        number[16];
    size_t      size;
    char       *text;

    (void)snprintf(number, sizeof(number), "op%d", (int)i);
    if (op == NULL) op = number;
    size = sizeof("QueueRunnerThread--") + strlen(name) + strlen(op);
    text = levada_alloc(size);
    if (text != NULL) (void)snprintf(text, size, "QueueRunnerThread-%s-%s", name, op);
    return text;
}

static bool runner_fill(levada_queue_runner *r, const levada_queue_runner_options *o)
{
    static const levada_status usual = LEVADA_EOUT_OF_RANGE;
    size_t                     n = (size_t)o->nops;

    r->nops = o->nops;
    r->nclosed = o->closed != NULL ? o->nclosed : 1;
    r->threads = levada_alloc_zero((n + 1) * sizeof(*r->threads));
    r->closed = levada_alloc((size_t)r->nclosed * sizeof(*r->closed));
    r->errors = levada_alloc(n * sizeof(*r->errors));
    if (r->threads == NULL || r->closed == NULL || r->errors == NULL) return false;
    memcpy(r->closed, o->closed != NULL ? o->closed : &usual,
           (size_t)r->nclosed * sizeof(*r->closed));
    for (int32_t i = 0; i <= r->nops; i++) {
        runner_thread *t = &r->threads[i];
        const char    *name = "close_on_stop";

        t->runner = r;
        if (i < r->nops) {
            t->op = o->ops[i];
            name = t->op.name;
        }
        t->name = runner_thread_name(r->queue, name, i);
        if (t->name == NULL) return false;
    }
    return true;
}

levada_status levada_queue_runner_create(levada_queue                      *queue,
                                         const levada_queue_runner_options *options,
                                         levada_queue_runner **out, levada_error *err)
{
    levada_queue_runner_options all = LEVADA_QUEUE_RUNNER_OPTIONS_INIT;
    levada_queue_runner        *r;

    if (queue != NULL) LEVADA_TRY(LEVADA_USABLE(queue, "queue", err));
    LEVADA_TRY(levada_require(options != NULL, "options", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(LEVADA_VERSIONED_READ(all, options, levada_queue_runner_options, err));
    LEVADA_TRY(runner_check(queue, &all, err));
    r = levada_alloc_zero(sizeof(*r));
    if (r == NULL || levada_lock_init(&r->lock, LEVADA_LOCK_LIST, NULL) != LEVADA_OK) {
        levada_free(r);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a queue runner");
    }
    atomic_init(&r->refs, 1);
    r->process = levada_process();
    r->queue = levada_queue_ref(queue);
    r->close = all.close != NULL ? all.close : runner_close_queue;
    r->cancel = all.cancel != NULL ? all.cancel : runner_cancel_queue;
    r->user = all.user;
    levada_site_init(&r->site, queue->wait_list, levada_queue_info(queue)->name);
    levada_site_spin(&r->site, 0);
    if (!runner_fill(r, &all)) {
        runner_unref(r);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a queue runner");
    }
    r->release = all.release;
    *out = r;
    return LEVADA_OK;
}

/* -- threads ----------------------------------------------------------------------------------- */

static void runner_close(levada_queue_runner *r)
{
    r->close(r->close == runner_close_queue ? (void *)r->queue : r->user);
}

static void runner_cancel(levada_queue_runner *r)
{
    r->cancel(r->cancel == runner_cancel_queue ? (void *)r->queue : r->user);
}

static void runner_rest_locked(levada_queue_runner *r, levada_woken *woken)
{
    r->busy = false;
    while (r->waits.head != NULL) {
        levada_waiter_finish(&r->waits, r->waits.head, LEVADA_OK, woken);
    }
}

/* Runs once for each thread, however the thread ends. The last one closes the queue. */
static void runner_leave(levada_queue_runner *r)
{
    levada_woken woken = { 0 };
    bool         last;

    levada_lock_take(&r->lock);
    last = --r->live == 0;
    levada_lock_give(&r->lock);
    if (!last) return;
    runner_close(r);
    levada_lock_take(&r->lock);
    runner_rest_locked(r, &woken);
    levada_lock_give(&r->lock);
    levada_wake(&woken);
}

static bool runner_is_closed(const levada_queue_runner *r, levada_status status)
{
    for (int32_t i = 0; i < r->nclosed; i++) {
        if (r->closed[i] == status) return true;
    }
    return false;
}

/* Returns true if somebody closed the queue while the threads ran: that ends them, and is not an
 * error. To start them on a closed queue is one. */
static bool runner_was_closed(levada_queue_runner *r)
{
    bool before;

    levada_lock_take(&r->lock);
    before = r->closed_before;
    levada_lock_give(&r->lock);
    return !before && levada_queue_is_closed(r->queue);
}

/* Passes an error to the coordinator; if there is none, or it was joined, to the list. */
static void runner_fail(runner_thread *t, levada_coordinator *coordinator, levada_status status,
                        levada_error *err)
{
    levada_queue_runner *r = t->runner;

    if (runner_is_closed(r, status)) return;
    if (status == LEVADA_ECANCELLED &&
        (levada_coordinator_should_stop(coordinator) || runner_was_closed(r))) {
        return;
    }
    if (err->code != status) levada_fail(err, status, "failed: %s", levada_status_text(status));
    levada_error_wrap(err, "thread '%s'", t->name);
    if (coordinator != r->own &&
        levada_coordinator_request_stop(coordinator, err, NULL) == LEVADA_OK) {
        return;
    }
    levada_lock_take(&r->lock);
    if (r->nerrors < r->nops) r->errors[r->nerrors++] = *err;
    levada_lock_give(&r->lock);
}

static levada_status runner_main(levada_coordinator *coordinator, void *user, levada_error *err)
{
    runner_thread       *t = user;
    levada_queue_runner *r = t->runner;
    levada_status        status = LEVADA_OK;

    t->self = pthread_self();
    t->runs = true;
    while ((status == LEVADA_OK || status == LEVADA_AGAIN) &&
           !levada_coordinator_should_stop(coordinator)) {
        status = t->op.run(t->op.user, err);
    }
    if (!LEVADA_OURS(r)) return LEVADA_OK; /* the op forked, and this is the child */
    t->runs = false;
    if (status == LEVADA_END) {
        status = levada_fail(err, LEVADA_EOUT_OF_RANGE, "the end of its source");
    }
    if (status < 0) runner_fail(t, coordinator, status, err);
    runner_leave(r);
    runner_unref(r);
    return LEVADA_OK;
}

static levada_status runner_on_stop(levada_coordinator *coordinator, void *user, levada_error *err)
{
    levada_queue_runner *r = user;

    (void)err;
    (void)levada_coordinator_wait_for_stop(coordinator, LEVADA_FOREVER);
    runner_cancel(r);
    runner_unref(r);
    return LEVADA_OK;
}

static levada_status runner_start_threads(levada_queue_runner *r, levada_coordinator *coordinator,
                                          levada_error *err)
{
    int32_t            n = r->nops + (coordinator != r->own);
    levada_thread_def *defs = levada_alloc((size_t)n * sizeof(*defs));
    levada_status      status;

    if (defs == NULL) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for %d threads", (int)n);
    }
    for (int32_t i = 0; i < r->nops; i++) {
        defs[i] = (levada_thread_def){ r->threads[i].name, runner_main, &r->threads[i] };
    }
    if (n > r->nops) {
        defs[r->nops] = (levada_thread_def){ r->threads[r->nops].name, runner_on_stop, r };
    }
    atomic_fetch_add_explicit(&r->refs, n, memory_order_relaxed);
    status = levada_coordinator_start_all(coordinator, defs, n, err);
    if (status != LEVADA_OK) atomic_fetch_sub_explicit(&r->refs, n, memory_order_relaxed);
    levada_free(defs);
    return status;
}

levada_status levada_queue_runner_start(levada_queue_runner *runner,
                                        levada_coordinator *coordinator, levada_error *err)
{
    levada_queue_runner *r = runner;
    levada_woken         woken = { 0 };
    levada_status        status = LEVADA_OK;
    bool                 busy;

    LEVADA_TRY(LEVADA_USABLE(runner, "runner", err));
    levada_lock_take(&r->lock);
    busy = r->busy;
    if (!busy) {
        r->busy = true;
        r->closed_before = levada_queue_is_closed(r->queue);
        r->live = r->nops;
        r->nerrors = 0;
    }
    levada_lock_give(&r->lock);
    if (busy) return LEVADA_AGAIN;
    if (coordinator == NULL && r->own == NULL) {
        status = levada_coordinator_create(NULL, NULL, 0, &r->own, err);
    }
    if (coordinator == NULL) coordinator = r->own;
    if (status == LEVADA_OK) status = runner_start_threads(r, coordinator, err);
    if (status == LEVADA_OK) return LEVADA_OK;
    levada_lock_take(&r->lock);
    r->live = 0;
    runner_rest_locked(r, &woken);
    levada_lock_give(&r->lock);
    levada_wake(&woken);
    return status;
}

levada_status levada_queue_runner_wait(levada_queue_runner *runner, int64_t timeout,
                                       levada_error *err)
{
    levada_queue_runner *r = runner;
    levada_waiter        waiter;
    bool                 waits, late;

    LEVADA_TRY(LEVADA_USABLE(runner, "runner", err));
    waiter.linked = false;
    levada_lock_take(&r->lock);
    waits = r->busy && timeout != 0;
    late = r->busy && !waits;
    if (waits) {
        levada_line_append(&r->waits, &waiter);
        levada_waiter_prepare(&waiter);
    }
    levada_lock_give(&r->lock);
    if (waits) {
        late = levada_line_wait(&r->waits, &r->lock, &waiter, &r->site,
                                "the end of its queue runner",
                                levada_until(timeout)) != LEVADA_WAIT_DONE;
    }
    if (!late) return LEVADA_OK;
    return levada_fail(err, LEVADA_EDEADLINE_EXCEEDED,
                       "the runner of queue '%s' still runs after %.3f s",
                       levada_queue_runner_name(r), (double)timeout * 1e-9);
}

const levada_error *levada_queue_runner_error(const levada_queue_runner *runner, int32_t i)
{
    levada_queue_runner *r = (levada_queue_runner *)(uintptr_t)runner;
    bool                 there;

    if (!LEVADA_OURS(r)) return NULL;
    levada_lock_take(&r->lock);
    there = i >= 0 && i < r->nerrors;
    levada_lock_give(&r->lock);
    return there ? &r->errors[i] : NULL;
}

const char *levada_queue_runner_name(const levada_queue_runner *runner)
{
    return runner != NULL ? levada_queue_info(runner->queue)->name : NULL;
}

/* Abandons it in the child of a fork, where its threads, and their references, do not exist. If one
 * of them was changing it, or is the thread that forked, its memory stays until the process ends.
 * */
static void runner_abandon(levada_queue_runner *r)
{
    if (!levada_lock_is_free(&r->lock)) return;
    for (int32_t i = 0; i < r->nops; i++) {
        if (r->threads[i].runs && pthread_equal(r->threads[i].self, pthread_self())) return;
    }
    levada_coordinator_destroy(&r->own);
    atomic_store(&r->refs, 1);
    runner_unref(r);
}

void levada_queue_runner_destroy(levada_queue_runner **runner)
{
    levada_queue_runner *r = runner != NULL ? *runner : NULL;
    levada_coordinator  *own = r != NULL ? r->own : NULL; /* which its threads still look at */
    levada_status        status = LEVADA_OK;

    if (r == NULL) return;
    *runner = NULL;
    if (!LEVADA_OURS(r)) {
        runner_abandon(r);
        return;
    }
    if (own != NULL) {
        status = levada_coordinator_request_stop(own, NULL, NULL); /* clean: never fails */
        if (levada_queue_runner_wait(r, 0, NULL) != LEVADA_OK) runner_cancel(r);
        levada_coordinator_destroy(&own);
    }
    (void)status;
    runner_unref(r);
}

LEVADA_VERSIONED_INIT(levada_queue_runner_options_init, levada_queue_runner_options,
                      LEVADA_QUEUE_RUNNER_OPTIONS_INIT)
