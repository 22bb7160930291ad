/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue from the inside.
 *
 * An element is one cell in each component: a row of numbers where the shape is known, else a
 * reference to a tensor. The engine moves cells only, by copying bytes under the lock; tensors are
 * cut into rows before it and put together after it (queue_call.c). Five files: queue.c makes and
 * describes queues, queue_call.c turns tensors into cells and queue_block.c rows of blocks,
 * queue_settle.c serves the lines, queue_store.c keeps the cells (ring, array or heap).
 */
#ifndef LEVADA_RUNTIME_QUEUE_PRIV_H
#define LEVADA_RUNTIME_QUEUE_PRIV_H

#include "base/compiler.h"
#include "runtime/wait.h"
#include "tensor/tensor_priv.h"

#include <levada/queue.h>

#define LEVADA_QUEUE_COMPONENTS 256

typedef enum levada_queue_act {
    LEVADA_QUEUE_ENQUEUE,
    LEVADA_QUEUE_DEQUEUE,
    LEVADA_QUEUE_CLOSE
} levada_queue_act;

/* Why a call was finished; the text is made by its owner. */
typedef enum levada_queue_why {
    LEVADA_QUEUE_WHY_OK,
    LEVADA_QUEUE_WHY_CLOSED,    /* enqueue on a closed queue             */
    LEVADA_QUEUE_WHY_AGAIN,     /* close of a closed queue               */
    LEVADA_QUEUE_WHY_DRAINED,   /* closed, and too few elements          */
    LEVADA_QUEUE_WHY_CANCELLED, /* by cancel(), close(true) or poll()    */
    LEVADA_QUEUE_WHY_LATE,
    LEVADA_QUEUE_WHY_FORKED, /* poll() forked, and this is the child */
    LEVADA_QUEUE_WHY_MEMORY
} levada_queue_why;

/* One call, on the stack of its thread. */
typedef struct levada_queue_op {
    levada_waiter    waiter; /* first: a waiter is its op */
    levada_queue_act act;
    levada_queue_why why;
    const char      *what; /* "dequeue_many", for reports */
    uint8_t *const  *cells; /* of each component: n cells, to read or to write */
    int64_t          n, done;
    int64_t          size; /* of the queue when it failed */
    bool             up_to;
    bool             hold; /* the owner drops `held` itself: it may have to put elements back */
} levada_queue_op;

typedef struct levada_queue_key { /* PRIORITY */
    int64_t priority, sequence, slot;
} levada_queue_key;

/* One side of a queue, in a line of the cache of its own: what each call of this side changes. The
 * count of elements is what went in less what went out. */
typedef struct levada_queue_end {
    LEVADA_ALIGNED(64) levada_lock lock;
    atomic_llong moved; /* elements that passed; those that came back are taken off again */
    int64_t      seen;  /* what the other side had moved when this one last looked; never more */
    int64_t      at;    /* ring: the next cell */
} levada_queue_end;

struct levada_queue {
    atomic_int           refs;
    unsigned             process; /* that it belongs to (base/process.h) */
    levada_queue_options options; /* owned copies of the pointers */
    levada_dtype        *dtypes;
    levada_shape        *shapes; /* always there; rank -1 where none was given */
    char                *name, *shared_name;
    bool                 has_shapes, rows_only;
    bool                *is_ref; /* cells are references to tensors */
    size_t              *width;  /* bytes of a cell */
    int64_t              row_bytes; /* of the components that are rows */
    levada_pool         *pool;
    levada_wait_list          *wait_list;
    levada_site          site;
    levada_shared        shared;
    /* `split`: a call that finds nobody in line and all it wants holds the lock of its own end
     * alone; all others hold both, in's first. Else in's lock guards the whole queue. */
    bool             split;
    levada_queue_end in, out;
    /* What most calls only look at. Changed with all locks held, but for `held`: that grows with
     * the lock of out alone, too, and shrinks without any. */
    LEVADA_ALIGNED(64) levada_line enqueues, dequeues;
    atomic_bool     closed; /* a hint for who has no lock */
    atomic_llong    held; /* elements taken that may still come back: they keep their capacity */
    uint8_t       **cells; /* of each component: allocated cells */
    int64_t         allocated, bytes;
    bool            has_late_close;
    levada_queue_op late_close; /* stands in for a close whose owner gave up */
    levada_queue_key *keys; /* PRIORITY: heap of count keys, then the free slots */
    int64_t         last_key, first_key; /* sequence numbers at the back and at the front */
    uint64_t        random_key, draws;
};

/* Counts the elements; exact with the locks held, a hint for others. */
static inline int64_t levada_queue_count(const levada_queue *queue)
{
    int64_t out = atomic_load_explicit(&queue->out.moved, memory_order_relaxed);

    return atomic_load_explicit(&queue->in.moved, memory_order_relaxed) - out;
}

static inline bool levada_queue_closed(const levada_queue *queue)
{
    return atomic_load_explicit(&queue->closed, memory_order_relaxed);
}

/* -- queue_store.c; all locks are held; push and pop of a split queue: that of their end -- */

/* Reserves n elements besides those that are there or may return; false when memory is short. */
bool levada_queue_reserve(levada_queue *queue, int64_t n);
/* Frees memory that is not needed any more, if it is much; does nothing if there is none to move
 * to. */
void levada_queue_trim(levada_queue *queue);
/* Pushes k cells from op->cells at op->done; they fit. Does not move op->done. */
void levada_queue_push(levada_queue *queue, const levada_queue_op *op, int64_t k);
/* Pops k cells to op->cells at op->done; they are there. */
void levada_queue_pop(levada_queue *queue, const levada_queue_op *op, int64_t k);
/* Returns the n first cells of `cells` to the front, in order; they fit. */
void levada_queue_put_back(levada_queue *queue, uint8_t *const *cells, int64_t n);
/* Returns the number of bytes of k elements in `cells` from `from` on. */
int64_t levada_queue_weigh(const levada_queue *queue, uint8_t *const *cells, int64_t from,
                           int64_t k);
void levada_queue_store_clear(levada_queue *queue);

/* -- queue_settle.c -- */

/* Sets the members that each call needs, because most calls never wait, and clearing all of the
 * waiter costs as much as the rest. */
static inline void levada_queue_op_init(levada_queue_op *op, levada_queue_act act,
                                        const char *what, int64_t n)
{
    op->waiter.linked = false;
    op->act = act;
    op->why = LEVADA_QUEUE_WHY_OK;
    op->what = what;
    op->cells = NULL;
    op->n = n;
    op->done = op->size = 0;
    op->up_to = op->hold = false;
}

/* Runs a call to its end: serves it, or waits in line. Any thread, no lock held. */
LEVADA_MUST_USE levada_status levada_queue_run(levada_queue *queue, levada_queue_op *op,
                                               int64_t timeout, levada_error *err);
/* Returns what a dequeue with `hold` took to the queue, or releases it for good. */
void levada_queue_return(levada_queue *queue, levada_queue_op *op);
void levada_queue_release(levada_queue *queue, levada_queue_op *op);

/* Returns EOUT_OF_RANGE: the queue is closed and has `size` of the n elements. */
levada_status levada_queue_drained(const levada_queue *queue, int64_t n, int64_t size,
                                   levada_error *err);
/* Returns "FIFOQueue" and similar. */
const char *levada_queue_kind_name(levada_queue_kind kind);

#endif
