/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes: the running form of a dataset is a tree of them. Each source, SERIAL stage and combiner is
 * a node, and so is each run of fused stages (PURE stages, decoders, the end of a SERIAL stage). A
 * stage sees the node upstream as a levada_input. The iterator that a user holds is on top of the
 * tree (run/handle.h).
 *
 * Threads: a node belongs to the thread that pulls it. Upstream of a result ring that is the thread
 * that holds the ring's intake, else the consumer. Counters are atomic.
 */
#ifndef LEVADA_RUN_NODE_H
#define LEVADA_RUN_NODE_H

#include "run/run.h"
#include "state/state_priv.h"
#include <levada/stage.h>

typedef struct levada_node_ops {
    levada_status (*next)(levada_node *it, levada_block **out, levada_error *err);
    /* The state of the node alone: the caller saves and restores the inputs. */
    levada_status (*save)(levada_node *it, levada_state_writer *to, levada_error *err);
    levada_status (*restore)(levada_node *it, levada_state_reader *from, levada_error *err);
    /* Adds facts to a state that are newer than its snapshots. Runs beside the thread that the node
     * belongs to. May be NULL. */
    levada_status (*save_late)(levada_node *it, levada_state_writer *to, levada_error *err);
    /* Waits until no work is in progress upstream, before a rewind. Returns AGAIN at the deadline
     * of the consumer. `worker` is the number of the calling thread. May be NULL. */
    levada_status (*halt)(levada_node *it, int32_t worker);
    /* Starts again; context.pass is the new pass. The inputs were rewound before. */
    levada_status (*rewind)(levada_node *it, levada_error *err);
    /* Reads n records again, as this node emitted them. Each has levada_node_origin_parts(it)
     * origins, row by row. They ascend by the first part, where that is equal by the second; in a
     * part by source, shard, record and pass. NULL: records cannot be read again here. */
    levada_status (*reread)(levada_node *it, const levada_origin *origins, int64_t n,
                            levada_block **out, levada_error *err);
    /* Whether reread works. NULL: it does where it works in the input. */
    bool (*rereadable)(const levada_node *it);
    /* Whether each record is one of an input, not made of one of each. NULL: it is not. */
    bool (*passes)(const levada_node *it);
    /* Accepts a block that the consumer feeds back. NULL: it is refused. */
    levada_status (*feed)(levada_node *it, const levada_block *back, levada_error *err);
    const char *(*file)(const levada_node *it, int32_t shard); /* of sources with files */
    /* total may be NULL: finding it may take a call for each file. */
    void (*progress)(const levada_node *it, int64_t *done, int64_t *total);
    void (*cancel)(levada_node *it); /* any thread; may be NULL */
    void (*close)(levada_node *it);
    bool fused; /* a run of fused stages: it counts no passes of its own */
    bool hooks; /* next() is that of a descriptor: it may fail with records in its hands */
} levada_node_ops;

struct levada_node {
    levada_edge            edge; /* first: the code of states sees this part */
    const levada_node_ops *ops;
    levada_run            *run;
    const levada_dataset  *at;                      /* its description; borrowed from the run */
    char                   path[LEVADA_STATE_PATH]; /* unique in the tree                     */
    int32_t                version;                 /* of its state                           */
    int32_t                source, first_pass;      /* combiners with pipes: of their sources */
    int64_t                opened_as;               /* context.pass before any rewind      */
    int64_t                passes; /* of the inputs for each of a repeat; else 1                */
    levada_node          **inputs;
    int32_t                ninputs;
    levada_context         context;
    void                  *self;   /* what the ops work on                                     */
    const int32_t         *worker; /* number of the thread that pulls here; the consumer is 0  */
    bool                   ended;
    levada_status          stuck; /* an error that is repeated                                 */
    levada_error           why;
    bool                   failed;       /* it returned an error, perhaps ECANCELLED           */
    bool                   lost;         /* records may be lost with that error                */
    int64_t                drop;         /* records to drop first, after a restore             */
    levada_cursor          unread;       /* a block to return again first                      */
    bool                   saves_inputs; /* ops->save writes the inputs too                    */
    levada_skip_counts     skips;        /* its own                                            */
    levada_skip_place      place;        /* where it counts: here, or at a combiner            */
    atomic_llong           records, blocks, nanoseconds; /* time includes the inputs'          */
};

/* -- inputs (iter.c) */

/* Takes back the whole block that `it` returned last, to return it again. It is part of the state
 * until then. */
void levada_node_unread(levada_node *it, levada_block **block);

/* -- the tree (iter.c) */

void levada_node_destroy(levada_node **it); /* with its inputs */
LEVADA_MUST_USE levada_status levada_node_save(levada_node *it, levada_state_writer *to,
                                               levada_error *err);
/* After levada_node_save of the root: what all sources add late, and marks of the run. */
LEVADA_MUST_USE levada_status levada_node_save_late(levada_node *it, levada_state_writer *to,
                                                    levada_error *err);
LEVADA_MUST_USE levada_status levada_node_restore(levada_node *it, levada_state_reader *from,
                                                  levada_error *err);
LEVADA_MUST_USE levada_status levada_node_reread(levada_node *it, const levada_origin *origins,
                                                 int64_t n, levada_block **out, levada_error *err);
/* Reads what a restore left to drop, before anything else is read. Skipped records on the way count
 * then, though a combiner that has ended does not pull its other inputs again. Nodes upstream of a
 * ring belong to its workers and are left out. */
LEVADA_MUST_USE levada_status levada_node_finish_drops(levada_node *it, levada_error *err);
/* Passes a block of the consumer to the stage that accepts some (levada_iter_feed). */
LEVADA_MUST_USE levada_status levada_node_feed(levada_node *it, const levada_block *back,
                                               levada_error *err);
bool levada_node_rereadable(const levada_node *it);
/* Origins of a record here: a zip puts those of its inputs together. */
int32_t levada_node_origin_parts(const levada_node *it);
/* Whether this part of an origin may be of that source. */
bool levada_node_gives(const levada_node *it, int32_t part, int32_t source);
void levada_node_cancel(levada_node *it);
/* Of levada_node.edge. */
extern const levada_edge_ops levada_node_edge_ops;

/* -- counting (stats.c) */

/* Adds the losses of `it` and everything upstream, as of the last block that it returned: work that
 * threads do ahead is not in it. For the thread that the node belongs to. */
void levada_stats_losses(const levada_node *it, levada_losses *sum);
/* The same, less those of before. */
levada_losses levada_stats_since(const levada_node *it, const levada_losses *before);
/* A combiner that opens pipes reports how many records it emitted, before it pulls one and after
 * each block. Of pipes in pipes, the outermost combiner counts. */
static inline void levada_node_report_emitted(levada_node *it, int64_t emitted)
{
    if (!it->place.piped) atomic_store(&it->skips.emitted, emitted);
}

static inline int64_t levada_node_emitted(const levada_node *it)
{
    return atomic_load(&it->skips.emitted);
}

/* Records that the input of a SERIAL stage gave it so far, before the restore too. */
static inline int64_t levada_node_pulled(const levada_node *it)
{
    int64_t before = atomic_load(&it->skips.pulled);

    return it->ninputs ? before + atomic_load(&it->inputs[0]->records) : before;
}

#endif
