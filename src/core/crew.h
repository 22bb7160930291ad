/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The crew: the worker threads of one iterator and the tickets that they work on.
 *
 * Each run of PURE stages is a joint with tickets: whoever has its intake pulls the next block from
 * above, in order, and draws a ticket; applies the stages with nothing held; and puts the result in
 * the ticket's slot. Results leave in the order of the tickets. Workers look for work nearest to
 * the consumer first. A thread that waits for a result does not sleep while there is work further
 * up: it helps. So with N threads there are N - 1 workers, and the caller is the N-th while it
 * waits. Only a consumer with a deadline leaves the work to the workers.
 *
 * No deadlock: a thread that holds an intake waits only for results of joints further up, and those
 * are being worked on by threads that wait for nothing or for something still further up.
 *
 * One lock guards all rings of an iterator; it is held for a few instructions a block. Threads wait
 * on the engine of the queues (runtime/wait.h): each event wakes the one thread that it is for, and
 * who waits looks around for a part of a block's time before it sleeps.
 */
#ifndef LEVADA_CORE_CREW_H
#define LEVADA_CORE_CREW_H

#include "core/iter_priv.h"

#define LEVADA_CREW_MOST 256

typedef struct levada_ticket {
    levada_block *in; /* of a call that answered AGAIN, and is begun again; else NULL */
    levada_block *out;
    levada_status st;
    levada_error  why;
    int64_t       rows_in, bytes;
    levada_losses losses; /* upstream, when it was drawn */
    bool          done;
} levada_ticket;

/* State of everything above the joint just before a ticket was drawn. */
typedef struct levada_snapshot {
    struct levada_snapshot *older;
    int64_t                 ticket, rows;
    levada_state_writer     state;
} levada_snapshot;

typedef struct levada_joint {
    levada_node         *node;
    levada_chain        *chain; /* owned; may be empty: a prefetch */
    struct levada_joint *next;  /* the next one further up */
    int64_t              window, window_bytes;
    levada_ticket       *ring; /* window of them */
    /* -- guarded by the crew's lock */
    int64_t          head, tail;         /* tickets delivered; drawn     */
    int64_t          drawn, delivered;   /* records in them              */
    int64_t          bytes;              /* of results that lie in ring  */
    bool             intake;             /* somebody pulls from above    */
    bool             halting;            /* somebody waits until it is idle   */
    levada_status    closed;             /* END or an error from above   */
    levada_error     why;
    /* Losses upstream: as of delivery, at the end, and of what was read ahead before a rewind. The
     * first two without the last. The first is the consumer's alone. */
    levada_losses    losses, last, ahead;
    levada_snapshot *snapshots;          /* newest first */
    levada_error     unsaved;    /* why there is none, where save() is not possible */
    int64_t          snapshot_cost, snapshot_at; /* nanoseconds; clock */
} levada_joint;

/* Adds a joint nearer to the consumer than all before it. */
void levada_crew_add(levada_crew *crew, levada_joint *joint);
/* The next result in order. */
LEVADA_MUST_USE levada_status levada_crew_take(levada_crew *crew, levada_joint *joint,
                                               levada_block **out, levada_error *err);
/* State of everything above the joint and the records to drop below it. */
LEVADA_MUST_USE levada_status levada_crew_save(levada_crew *crew, levada_joint *joint,
                                               levada_state_writer *to, levada_error *err);
/* Waits until no thread works for the joint; nothing new is drawn until it is reset. AGAIN at the
 * consumer's deadline: to be halted again. */
levada_status levada_crew_halt(levada_crew *crew, levada_joint *joint);
/* Whether the calling thread is none of the workers. */
bool levada_crew_is_consumer(const levada_crew *crew);
/* Empty again, after it was halted and everything above it rewound. */
void levada_crew_reset(levada_crew *crew, levada_joint *joint);
void levada_joint_clear(levada_joint *joint);

#endif
