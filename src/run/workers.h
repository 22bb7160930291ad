/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker pool: the worker threads of one iterator and the tickets that they work on.
 *
 * Each run of PURE stages is a ring with tickets: the thread that has its intake pulls the next
 * block from upstream, in order, and draws a ticket; applies the stages with nothing held; and puts
 * the result in the ticket's slot. Results leave in the order of the tickets. Workers look for work
 * nearest to the consumer first. A thread that waits for a result does not sleep while there is
 * work further up: it helps. So with N threads there are N - 1 workers, and the caller is the N-th
 * while it waits. Only a consumer with a deadline leaves the work to the workers.
 *
 * No deadlock: a thread that holds an intake waits only for results of rings further up, and those
 * are being worked on by threads that wait for nothing or for something still further up.
 *
 * One lock guards all rings of an iterator; it is held for a few instructions a block. Threads wait
 * on the engine of the queues (runtime/wait.h): each event wakes the one thread that it is for, and
 * who waits looks around for a part of a block's time before it sleeps.
 */
#ifndef LEVADA_RUN_WORKERS_H
#define LEVADA_RUN_WORKERS_H

#include "run/fused.h"
#include "run/node.h"

#define LEVADA_WORKERS_MAX 256

typedef struct levada_ticket {
    levada_item   in; /* of a call that answered AGAIN and is to be repeated; else empty */
    levada_item   out;
    levada_status st;
    levada_error  why;
    int64_t       rows_in, rejects_in, bytes;
    bool          done, again; /* again: `in` waits */
} levada_ticket;

/* State of everything above the ring just before a ticket was drawn. */
typedef struct levada_snapshot {
    struct levada_snapshot *older;
    int64_t                 ticket, rows, rejects;
    levada_state_writer     state;
} levada_snapshot;

typedef struct levada_result_ring {
    levada_node         *node;
    levada_fused        *fused; /* owned; may be empty: a prefetch */
    const char          *name;  /* the path of its last stage, for reports */
    struct levada_result_ring *next;  /* the next one further up */
    int64_t              window, window_bytes;
    bool                 rests; /* each pass begins at rest (levada_node_disable_readahead) */
    levada_ticket       *tickets; /* window of them */
    /* -- guarded by the worker pool's lock */
    int64_t          head, tail;         /* tickets delivered; drawn     */
    int64_t          drawn, delivered;   /* records in them              */
    int64_t          rejects_drawn, rejects_delivered; /* upstream of the records */
    int64_t          bytes;              /* of results in the ring       */
    bool             resting;            /* nobody has asked for a result of this pass */
    bool             intake;             /* somebody pulls from above    */
    levada_puller    puller;             /* who does, or did last        */
    bool             halting;            /* somebody waits until it is idle   */
    levada_status    closed;             /* END or an error from above   */
    levada_error     why;
    levada_snapshot *snapshots;          /* newest first */
    levada_error     unsaved;    /* why there is none, where save() is not possible */
    int64_t          snapshot_cost, snapshot_at; /* nanoseconds; clock */
} levada_result_ring;

/* Returns the fused stages of a node that runs such; else NULL. */
static inline levada_fused *levada_node_is_fused(const levada_node *it)
{
    if (it->ops->kind != LEVADA_NODE_FUSED) return NULL;
    return ((const levada_result_ring *)it->self)->fused;
}

LEVADA_MUST_USE levada_status levada_workers_create(levada_run *run, levada_error *err);
/* Starts the threads, once the tree is complete. */
LEVADA_MUST_USE levada_status levada_workers_start(levada_workers *workers, levada_error *err);
/* Stops and joins them. Nodes may be destroyed after this, and only then. */
void levada_workers_stop(levada_workers *workers);
void levada_workers_destroy(levada_workers **workers);
void levada_workers_wake(levada_workers *workers);
/* Returns true if there is no ring that it could work for. */
bool levada_workers_idle(const levada_workers *workers);
/* Returns true in the child of a fork, where the workers do not exist, if none of them had work, so
 * that everything may be freed. It is then as if they had never been started. */
bool levada_workers_abandon(levada_workers *workers);
struct levada_text;
/* Appends JSON objects {"stage","state","since","ready","window"}; any thread. */
void levada_workers_report(levada_workers *workers, struct levada_text *to);

/* Counts the results that a ring has ready for its consumer, and its size; any thread. */
void levada_workers_ready(levada_workers *workers, const levada_result_ring *ring, int64_t *ready,
                          int64_t *window);

/* Adds a ring nearer to the consumer than all before it. */
void levada_workers_add(levada_workers *workers, levada_result_ring *ring);
/* Takes the next result in order, for the caller `who`. AGAIN, if it is hurried: nothing is on the
 * way. */
LEVADA_MUST_USE levada_status levada_workers_take(levada_workers *workers, levada_result_ring *ring,
                                               const levada_puller *who, levada_item *out,
                                               levada_error *err);
/* Saves the state of everything upstream of the ring, and the records and rejects to drop there. */
LEVADA_MUST_USE levada_status levada_workers_save(levada_workers *workers, levada_result_ring *ring,
                                               levada_state_writer *to, levada_error *err);
/* Waits until no thread works for the ring; nothing new is drawn until it is reset. AGAIN at the
 * consumer's deadline: to be halted again. */
LEVADA_MUST_USE levada_status levada_workers_halt(levada_workers *workers, levada_result_ring *ring,
                                               int32_t worker);
/* Empties the ring, after it was halted and everything upstream rewound. */
void levada_workers_reset(levada_workers *workers, levada_result_ring *ring);
void levada_result_ring_clear(levada_result_ring *ring);

/* -- snapshots (snapshot.c); with the lock of the pool */

/* Frees the snapshot with all older ones. */
void levada_snapshot_free(levada_snapshot *snapshot);
bool levada_snapshot_due(const levada_result_ring *ring);
/* Drops snapshots older than the newest one that is not later than delivery. */
void levada_snapshot_trim(levada_result_ring *ring);

#endif
