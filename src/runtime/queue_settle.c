/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of queues: who is served when. Everything that changes a queue ends in
 * settle_locked, which serves the heads of both lines until neither makes progress.
 *
 * Capacity is kept for what calls have taken and may still return (count + held <= allocated), so
 * that putting back cannot fail: dequeues that are not complete, and those with `hold` until they
 * are released. A put-back may lift the size above the capacity for a while.
 *
 * The two ends of a split queue have a lock each, so that producers and consumers do not wait for
 * each other. A call that all goes well for takes that of its own end alone (settle_at_end): lines
 * and `closed` do not change under it, and the other end can only free more capacity or add
 * elements. If it cannot be sure, it takes both, and all is as if there were one.
 */
#include "base/assert.h"
#include "base/process.h"
#include "runtime/delay.h"
#include "runtime/queue_priv.h"

/* Looks at what gathers: at first a short time apart, in which the other side does not fill or
 * empty the queue and has to wait in its turn; then one to three microseconds. */
#define SETTLE_LOOKS 8
#define SETTLE_PAUSES_ONE 4 /* before the first look, where it is one element ... */
#define SETTLE_PAUSES_MANY 32 /* ... or more */
#define SETTLE_PAUSES_MOST 64
#define SETTLE_SHORT 1000000 /* nanoseconds; who has no longer to wait does not gather */

static int64_t settle_held(const levada_queue *q)
{
    return atomic_load_explicit(&q->held, memory_order_relaxed);
}

/* Counts n elements that were taken and may come back. */
static void settle_took(levada_queue *q, int64_t n)
{
    if (n != 0) atomic_fetch_add_explicit(&q->held, n, memory_order_relaxed);
    LEVADA_ASSERT(n >= 0 && levada_queue_count(q) + settle_held(q) <= q->allocated);
}

/* Counts n of these that came back, or never will. The one change that needs no lock. */
static void settle_let_go(levada_queue *q, int64_t n)
{
    LEVADA_ASSERT(n >= 0 && settle_held(q) >= n);
    if (n != 0) atomic_fetch_sub_explicit(&q->held, n, memory_order_relaxed);
}

static void settle_unlock(levada_queue *q)
{
    LEVADA_ASSERT(levada_queue_count(q) >= 0 && settle_held(q) >= 0);
    LEVADA_ASSERT(levada_queue_count(q) + settle_held(q) <= q->allocated);
    levada_queue_trim(q);
    if (q->split) {
        /* What came back is taken off `moved`: the other side must not think of it as gone. */
        q->in.seen = atomic_load_explicit(&q->out.moved, memory_order_relaxed);
        q->out.seen = atomic_load_explicit(&q->in.moved, memory_order_relaxed);
        levada_lock_give(&q->out.lock);
    }
    levada_lock_give(&q->in.lock);
}

static void settle_close(levada_queue *q)
{
    atomic_store_explicit(&q->closed, true, memory_order_relaxed);
}

static levada_queue_op *settle_op(levada_waiter *waiter)
{
    return (levada_queue_op *)(void *)waiter;
}

static void settle_finish(levada_line *line, levada_queue_op *op, levada_queue_why why,
                          levada_woken *woken)
{
    op->why = why;
    levada_waiter_finish(line, &op->waiter, LEVADA_OK, woken);
}

/* -- enqueues ---------------------------------------------------------------------------------- */

/* Elements up to which max_bytes does not count for the next one: else those who wait for it would
 * wait forever. */
static int64_t settle_needed(const levada_queue *q)
{
    const levada_waiter *first = q->dequeues.head;

    if (q->options.kind == LEVADA_QUEUE_SHUFFLE) return q->options.min_after_dequeue;
    if (q->options.kind != LEVADA_QUEUE_PRIORITY || first == NULL) return 0;
    return ((const levada_queue_op *)(const void *)first)->n - 1;
}

/* Returns how many of the elements may go in. */
static int64_t settle_reserve(const levada_queue *q, const levada_queue_op *op, int64_t *bytes)
{
    int64_t count = levada_queue_count(q), k = 0;
    int64_t space = q->options.capacity < 0 ? INT64_MAX : q->options.capacity - count;
    int64_t most = op->n - op->done < space ? op->n - op->done : space;

    *bytes = 0;
    if (q->options.max_bytes < 0) return most > 0 ? most : 0;
    while (k < most) {
        int64_t one = levada_queue_weigh(q, op->cells, op->done + k, 1);

        if (q->bytes + *bytes + one > q->options.max_bytes && count + k > settle_needed(q)) {
            break;
        }
        *bytes += one;
        k++;
    }
    return k;
}

/* Returns true if the head of the line left it; *moved where anything changed. */
static bool settle_enqueue(levada_queue *q, levada_queue_op *op, bool *moved, levada_woken *woken)
{
    levada_queue_why why = LEVADA_QUEUE_WHY_OK;
    int64_t          k, bytes;

    if (op->act == LEVADA_QUEUE_CLOSE) {
        if (levada_queue_closed(q)) why = LEVADA_QUEUE_WHY_AGAIN;
        if (op == &q->late_close) q->has_late_close = false;
        *moved = true;
        settle_close(q);
        settle_finish(&q->enqueues, op, why, woken);
        return true;
    }
    if (levada_queue_closed(q)) {
        settle_finish(&q->enqueues, op, LEVADA_QUEUE_WHY_CLOSED, woken);
        return true;
    }
    k = settle_reserve(q, op, &bytes);
    if (k > 0) {
        if (!levada_queue_reserve(q, k)) {
            settle_finish(&q->enqueues, op, LEVADA_QUEUE_WHY_MEMORY, woken);
            return true;
        }
        levada_queue_push(q, op, k);
        op->done += k;
        q->bytes += bytes;
        *moved = true;
    }
    if (op->done < op->n) return false;
    settle_finish(&q->enqueues, op, LEVADA_QUEUE_WHY_OK, woken);
    return true;
}

/* -- dequeues ---------------------------------------------------------------------------------- */

static int64_t settle_available(const levada_queue *q, const levada_queue_op *op)
{
    int64_t want = op->n - op->done, have = levada_queue_count(q);
    bool    closed = levada_queue_closed(q);

    if (q->options.kind == LEVADA_QUEUE_SHUFFLE && !closed) have -= q->options.min_after_dequeue;
    if (q->options.kind == LEVADA_QUEUE_PRIORITY && have < want && !(closed && op->up_to)) {
        return 0; /* all at once, so that they come out in order */
    }
    if (have < 0) have = 0;
    return want < have ? want : have;
}

static void settle_put_back(levada_queue *q, levada_queue_op *op)
{
    if (op->done == 0) return;
    levada_queue_put_back(q, op->cells, op->done);
    if (q->options.max_bytes >= 0) q->bytes += levada_queue_weigh(q, op->cells, 0, op->done);
    settle_let_go(q, op->done);
    op->done = 0;
}

static bool settle_dequeue(levada_queue *q, levada_queue_op *op, bool *moved, levada_woken *woken)
{
    int64_t k = settle_available(q, op), had = op->done;
    bool    closed = levada_queue_closed(q);
    bool    all = had + k == op->n || (closed && op->up_to && had + k > 0);

    if (k > 0) {
        levada_queue_pop(q, op, k);
        if (q->options.max_bytes >= 0) q->bytes -= levada_queue_weigh(q, op->cells, had, k);
        op->done += k;
        *moved = true;
    }
    if (op->hold || !all) settle_took(q, k);
    else settle_let_go(q, had);
    if (all) {
        settle_finish(&q->dequeues, op, LEVADA_QUEUE_WHY_OK, woken);
        return true;
    }
    if (!closed) return false;
    settle_put_back(q, op);
    op->size = levada_queue_count(q);
    settle_finish(&q->dequeues, op, LEVADA_QUEUE_WHY_DRAINED, woken);
    *moved = true;
    return true;
}

static void settle_locked(levada_queue *q, levada_woken *woken)
{
    bool moved = true;

    while (moved) {
        moved = false;
        while (q->enqueues.head != NULL &&
               settle_enqueue(q, settle_op(q->enqueues.head), &moved, woken)) {}
        while (q->dequeues.head != NULL &&
               settle_dequeue(q, settle_op(q->dequeues.head), &moved, woken)) {}
    }
}

static LEVADA_NOINLINE void settle_lock_out(levada_queue *q)
{
    levada_woken woken = { 0 };
    bool         moved;

    levada_lock_take(&q->out.lock);
    if (q->enqueues.head != NULL || q->dequeues.head == NULL) return;
    /* What settle_enter left for it, which is too little to complete it. */
    settle_dequeue(q, settle_op(q->dequeues.head), &moved, &woken);
    LEVADA_ASSERT(woken.first == NULL);
}

static void settle_lock(levada_queue *q)
{
    levada_lock_take(&q->in.lock);
    if (q->split) settle_lock_out(q);
}

/* -- calls ------------------------------------------------------------------------------------- */

static levada_line *settle_line(levada_queue *q, const levada_queue_op *op)
{
    return op->act == LEVADA_QUEUE_DEQUEUE ? &q->dequeues : &q->enqueues;
}

/* Elements that fit in addition to `count` in the present memory. */
static int64_t settle_space(const levada_queue *q, int64_t count)
{
    int64_t capacity = q->options.capacity, space = q->allocated - settle_held(q);

    return (capacity >= 0 && capacity < space ? capacity : space) - count;
}

/* Settles a call at once: most calls find nobody before them and all they want, so they need not
 * stand in line. */
static bool settle_at_once(levada_queue *q, levada_queue_op *op, levada_woken *woken)
{
    if (q->options.max_bytes >= 0 || op->act == LEVADA_QUEUE_CLOSE) return false;
    if (op->act == LEVADA_QUEUE_ENQUEUE) {
        int64_t count = levada_queue_count(q);

        if (q->enqueues.head != NULL || levada_queue_closed(q)) return false;
        if (op->n > settle_space(q, count)) return false;
        levada_queue_push(q, op, op->n);
    } else {
        if (q->dequeues.head != NULL || settle_available(q, op) < op->n) return false;
        levada_queue_pop(q, op, op->n);
        if (op->hold) settle_took(q, op->n);
    }
    op->done = op->n;
    if (q->enqueues.head != NULL || q->dequeues.head != NULL) settle_locked(q, woken);
    return true;
}

/* Returns true if the head of the dequeues will be complete with `count` elements. Fewer are left
 * for it where they are, until somebody has all locks (settle_lock). */
static bool settle_completes(const levada_queue *q, int64_t count)
{
    const levada_queue_op *first = (const levada_queue_op *)(const void *)q->dequeues.head;

    return first != NULL && count >= first->n - first->done;
}

/* Enters a split queue with the lock of one end: free capacity only grows meanwhile. Counts held
 * elements before they are removed, so it reads them after that. */
static bool settle_enter(levada_queue *q, levada_queue_op *op)
{
    int64_t moved = atomic_load_explicit(&q->in.moved, memory_order_relaxed);
    int64_t count = moved - q->in.seen; /* or fewer */

    if (q->enqueues.head != NULL || levada_queue_closed(q)) return false;
    if (op->n > settle_space(q, count)) {
        levada_delay();
        q->in.seen = atomic_load_explicit(&q->out.moved, memory_order_acquire);
        count = moved - q->in.seen;
        if (op->n > settle_space(q, count)) return false;
    }
    if (settle_completes(q, count + op->n)) return false;
    levada_queue_push(q, op, op->n);
    op->done = op->n;
    return true;
}

/* Elements only come meanwhile. */
static bool settle_leave(levada_queue *q, levada_queue_op *op)
{
    int64_t moved = atomic_load_explicit(&q->out.moved, memory_order_relaxed);

    if (q->enqueues.head != NULL || q->dequeues.head != NULL) return false;
    if (op->n > q->out.seen - moved) {
        q->out.seen = atomic_load_explicit(&q->in.moved, memory_order_acquire);
        if (op->n > q->out.seen - moved) return false;
    }
    if (op->hold) atomic_fetch_add_explicit(&q->held, op->n, memory_order_relaxed);
    levada_delay();
    levada_queue_pop(q, op, op->n);
    op->done = op->n;
    return true;
}

static bool settle_at_end(levada_queue *q, levada_queue_op *op)
{
    levada_queue_end *end = op->act == LEVADA_QUEUE_ENQUEUE ? &q->in : &q->out;
    bool              served;

    levada_lock_take(&end->lock);
    served = end == &q->in ? settle_enter(q, op) : settle_leave(q, op);
    levada_lock_give(&end->lock);
    return served;
}

/* Removes a call that is still in line. */
static void settle_give_up(levada_queue *q, levada_queue_op *op, levada_queue_why why,
                           levada_woken *woken)
{
    bool late = why == LEVADA_QUEUE_WHY_LATE;

    op->waiter.waits = false; /* its owner is here */
    if (op->act == LEVADA_QUEUE_CLOSE && late && !q->has_late_close) {
        q->has_late_close = true;
        q->late_close.act = LEVADA_QUEUE_CLOSE;
        levada_line_replace(&q->enqueues, &op->waiter, &q->late_close.waiter);
        op->why = why;
        return;
    }
    if (op->act == LEVADA_QUEUE_DEQUEUE) settle_put_back(q, op);
    op->size = levada_queue_count(q);
    settle_finish(settle_line(q, op), op, why, woken);
    settle_locked(q, woken);
}

/* Elements that came for somebody who does not want them any more go back. */
static void settle_undo(levada_queue *q, levada_queue_op *op)
{
    levada_woken woken = { 0 };
    int64_t      more = op->hold ? 0 : op->done; /* capacity is kept for held elements */

    settle_lock(q);
    if (levada_queue_reserve(q, more)) {
        settle_took(q, more);
        settle_put_back(q, op);
        op->size = levada_queue_count(q);
        op->why = LEVADA_QUEUE_WHY_CANCELLED;
        settle_locked(q, &woken);
    }
    settle_unlock(q);
    levada_wake(&woken);
}

static bool settle_accepted(const levada_queue *q, const levada_queue_op *op)
{
    if (q->site.accept == NULL || op->act != LEVADA_QUEUE_DEQUEUE) return true;
    return op->why != LEVADA_QUEUE_WHY_OK || q->site.accept(q->site.accept_user);
}

static void settle_wait(levada_queue *q, levada_queue_op *op, int64_t timeout)
{
    int64_t         until = levada_until(timeout);
    levada_woken    woken = { 0 };
    bool            mine;
    levada_wait_end end;

    end = levada_waiter_wait(&op->waiter, &q->site, op->what,
                             op->act == LEVADA_QUEUE_CLOSE ? -1 : op->n, until);
    if (end == LEVADA_WAIT_FORKED) {
        op->why = LEVADA_QUEUE_WHY_FORKED;
        op->done = 0;
        return;
    }
    if (end == LEVADA_WAIT_DONE) {
        if (!settle_accepted(q, op)) settle_undo(q, op);
        return;
    }
    settle_lock(q);
    mine = op->waiter.linked;
    if (mine) {
        settle_give_up(q, op, end == LEVADA_WAIT_LATE ? LEVADA_QUEUE_WHY_LATE
                                                      : LEVADA_QUEUE_WHY_CANCELLED,
                       &woken);
    }
    settle_unlock(q);
    levada_wake(&woken);
    if (mine) levada_waiter_clear(&op->waiter);
    else levada_waiter_settle(&op->waiter);
    if (mine || op->act != LEVADA_QUEUE_DEQUEUE || op->why != LEVADA_QUEUE_WHY_OK) return;
    if (end == LEVADA_WAIT_STOPPED || !settle_accepted(q, op)) settle_undo(q, op);
}

levada_status levada_queue_drained(const levada_queue *queue, int64_t n, int64_t size,
                                   levada_error *err)
{
    return levada_fail(err, LEVADA_EOUT_OF_RANGE,
                       "%s '%s' is closed and has insufficient elements "
                       "(requested %lld, current size %lld)",
                       levada_queue_kind_name(queue->options.kind), queue->name, (long long)n,
                       (long long)size);
}

static levada_status settle_status(const levada_queue *q, const levada_queue_op *op,
                                   int64_t timeout, levada_error *err)
{
    const char *kind = levada_queue_kind_name(q->options.kind), *name = q->name;
    const char *side = op->act == LEVADA_QUEUE_DEQUEUE ? "Dequeue" : "Enqueue";

    switch (op->why) {
    case LEVADA_QUEUE_WHY_OK: return LEVADA_OK;
    case LEVADA_QUEUE_WHY_CLOSED:
        return levada_fail(err, LEVADA_ECANCELLED, "%s '%s' is closed", kind, name);
    case LEVADA_QUEUE_WHY_AGAIN:
        return levada_fail(err, LEVADA_ECANCELLED, "%s '%s' is already closed", kind, name);
    case LEVADA_QUEUE_WHY_DRAINED: return levada_queue_drained(q, op->n, op->size, err);
    case LEVADA_QUEUE_WHY_CANCELLED:
        return levada_fail(err, LEVADA_ECANCELLED, "%s '%s': %s operation was cancelled", kind,
                           name, op->act == LEVADA_QUEUE_CLOSE ? "Close" : side);
    case LEVADA_QUEUE_WHY_LATE:
        if (op->act == LEVADA_QUEUE_CLOSE) {
            return levada_fail(err, LEVADA_EDEADLINE_EXCEEDED,
                               "%s '%s': close timed out after %.3f s", kind, name,
                               (double)timeout * 1e-9);
        }
        return levada_fail(err, LEVADA_EDEADLINE_EXCEEDED,
                           "%s '%s': %s timed out after %.3f s (%lld of %lld elements)", kind, name,
                           op->what, (double)timeout * 1e-9, (long long)op->done,
                           (long long)op->n);
    case LEVADA_QUEUE_WHY_FORKED: return levada_process_refuse("queue", err);
    default:
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "out of memory for the elements of %s '%s'",
                           kind, name);
    }
}

/* Returns a hint. A closed queue lets nobody wait for long. */
static bool settle_seems_ready(const levada_queue *q, const levada_queue_op *op)
{
    int64_t count = levada_queue_count(q);

    if (levada_queue_closed(q)) return true;
    if (op->act == LEVADA_QUEUE_DEQUEUE) return count >= op->n;
    return q->options.capacity < 0 || q->options.capacity - op->n >= count;
}

/* Spins for a moment before it joins the line: elements that gather meanwhile cost less than a
 * waiter for each. A call that is not in line yet has not been overtaken. Returns whether the call
 * may be served now. */
static bool settle_gather(levada_queue *q, const levada_queue_op *op)
{
    bool never = q->options.capacity >= 0 && op->n > q->options.capacity, ready = false;
    int  pauses = op->n == 1 ? SETTLE_PAUSES_ONE : SETTLE_PAUSES_MANY;

    if (never || !levada_site_look(&q->site)) return false;
    for (int look = 0; look < SETTLE_LOOKS && !ready; look++) {
        for (int i = 0; i < pauses; i++) LEVADA_PAUSE();
        if (pauses < SETTLE_PAUSES_MOST) pauses *= 2;
        ready = settle_seems_ready(q, op);
    }
    levada_site_look_end(&q->site);
    return ready;
}

/* Settles a call that was not served at once; the lock is held, and released. */
static LEVADA_NOINLINE levada_status settle_in_line(levada_queue *q, levada_queue_op *op,
                                                    int64_t timeout, levada_error *err)
{
    levada_woken woken = { 0 };
    bool         waits;

    levada_line_append(settle_line(q, op), &op->waiter);
    settle_locked(q, &woken);
    if (op->waiter.linked && timeout == 0) settle_give_up(q, op, LEVADA_QUEUE_WHY_LATE, &woken);
    waits = op->waiter.linked;
    if (waits) levada_waiter_prepare(&op->waiter);
    settle_unlock(q);
    levada_wake(&woken);
    if (waits) settle_wait(q, op, timeout);
    if (op->why == LEVADA_QUEUE_WHY_OK) return LEVADA_OK;
    return settle_status(q, op, timeout, err);
}

levada_status levada_queue_run(levada_queue *queue, levada_queue_op *op, int64_t timeout,
                               levada_error *err)
{
    levada_woken woken = { 0 };
    bool         patient = timeout == LEVADA_FOREVER || timeout > SETTLE_SHORT;

    if (queue->split && op->act != LEVADA_QUEUE_CLOSE) {
        if (settle_at_end(queue, op)) return LEVADA_OK;
        if (op->n == 1 && op->act == LEVADA_QUEUE_ENQUEUE) patient = false; /* space for one */
        if (patient && settle_gather(queue, op) && settle_at_end(queue, op)) return LEVADA_OK;
    } else if (patient && op->n > 1 && !settle_seems_ready(queue, op)) {
        settle_gather(queue, op);
    }
    settle_lock(queue);
    if (settle_at_once(queue, op, &woken)) {
        settle_unlock(queue);
        if (woken.first != NULL) levada_wake(&woken);
        return LEVADA_OK;
    }
    if (timeout != LEVADA_AT_ONCE) return settle_in_line(queue, op, timeout, err);
    settle_unlock(queue);
    return LEVADA_AGAIN;
}

void levada_queue_return(levada_queue *queue, levada_queue_op *op)
{
    levada_woken woken = { 0 };

    settle_lock(queue);
    settle_put_back(queue, op);
    settle_locked(queue, &woken);
    settle_unlock(queue);
    levada_wake(&woken);
}

void levada_queue_release(levada_queue *queue, levada_queue_op *op)
{
    settle_let_go(queue, op->done);
}

levada_status levada_queue_close(levada_queue *queue, bool cancel_pending, int64_t timeout,
                                 levada_error *err)
{
    levada_queue_op op;
    levada_woken    woken = { 0 };

    LEVADA_TRY(LEVADA_USABLE(queue, "queue", err));
    if (!cancel_pending) {
        levada_queue_op_init(&op, LEVADA_QUEUE_CLOSE, "close", 0);
        return levada_queue_run(queue, &op, timeout, err);
    }
    settle_lock(queue);
    settle_close(queue);
    queue->has_late_close = false;
    while (queue->enqueues.head != NULL) {
        settle_finish(&queue->enqueues, settle_op(queue->enqueues.head), LEVADA_QUEUE_WHY_CANCELLED,
                      &woken);
    }
    settle_locked(queue, &woken);
    settle_unlock(queue);
    levada_wake(&woken);
    return LEVADA_OK;
}

/* Ends every call of a line. A close whose owner has left stays: nobody waits in it. */
static void settle_cancel(levada_queue *q, levada_line *line, levada_woken *woken)
{
    levada_waiter *waiter = line->head;

    while (waiter != NULL) {
        levada_queue_op *op = settle_op(waiter);

        waiter = waiter->next;
        if (op == &q->late_close) continue;
        if (op->act == LEVADA_QUEUE_DEQUEUE) settle_put_back(q, op);
        settle_finish(line, op, LEVADA_QUEUE_WHY_CANCELLED, woken);
    }
}

void levada_queue_cancel(levada_queue *queue)
{
    levada_woken woken = { 0 };

    if (!LEVADA_OURS(queue)) return;
    settle_lock(queue);
    settle_cancel(queue, &queue->enqueues, &woken);
    settle_cancel(queue, &queue->dequeues, &woken);
    settle_locked(queue, &woken);
    settle_unlock(queue);
    levada_wake(&woken);
}

/* -- looking ----------------------------------------------------------------------------------- */

int64_t levada_queue_size(const levada_queue *queue)
{
    levada_queue *q = (levada_queue *)(uintptr_t)queue;
    int64_t       size;

    if (!LEVADA_OURS(queue)) return 0;
    settle_lock(q);
    size = levada_queue_count(q);
    settle_unlock(q);
    return size;
}
