/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes: a run is a tree of them, one for each source, SERIAL stage, combiner and run of PURE
 * stages of the dataset. Stages see the node that they pull from as a levada_input. The handle that
 * a user holds is on top of the tree (run/handle.h).
 *
 * Who may touch what: a node belongs to the thread that pulls it. Below a tickets node that is
 * whoever owns its intake; above it, the consumer. Counters are atomic.
 */
#ifndef LEVADA_RUN_NODE_H
#define LEVADA_RUN_NODE_H

#include "run/run.h"
#include "state/state_priv.h"
#include <levada/stage.h>

typedef struct levada_node_ops {
    levada_status (*next)(levada_node *it, levada_block **out, levada_error *err);
    /* The node's own state; inputs are saved by the core. */
    levada_status (*save)(levada_node *it, levada_state_writer *to, levada_error *err);
    levada_status (*restore)(levada_node *it, levada_state_reader *from, levada_error *err);
    /* Adds to a state what the snapshots that it is made of may be too old to know. Beside the
     * thread that the node belongs to; may be NULL. */
    levada_status (*save_late)(levada_node *it, levada_state_writer *to, levada_error *err);
    /* Waits until nothing above is on its way: before everything is rewound; may be NULL. AGAIN at
     * the consumer's deadline. `worker`: the number of the thread that calls. */
    levada_status (*halt)(levada_node *it, int32_t worker);
    /* From the beginning again; context.opening is the new one. Inputs are rewound before by the
     * core. */
    levada_status (*rewind)(levada_node *it, levada_error *err);
    /* n records again, as this node gave them. Each has levada_node_origin_parts(it) origins, row
     * by row, and they ascend: by the first lane, where that is equal by the second; in a lane by
     * leaf, shard, record and opening. NULL = records can't be read again through this node. */
    levada_status (*reread)(levada_node *it, const levada_origin *origins, int64_t n,
                            levada_block **out, levada_error *err);
    /* Whether reread works; NULL = if it does in the input. */
    bool (*rereadable)(const levada_node *it);
    /* Whether each record is one of an input, and not one of each put together; NULL = it is not.
     */
    bool (*passes)(const levada_node *it);
    /* What the consumer feeds back; NULL = the input takes it, if it does. */
    levada_status (*feed)(levada_node *it, const levada_block *back, levada_error *err);
    const char *(*file)(const levada_node *it, int32_t shard); /* sources with files */
    void (*progress)(const levada_node *it, int64_t *done, int64_t *total);
    void (*cancel)(levada_node *it); /* any thread; may be NULL */
    void (*close)(levada_node *it);
    bool fused; /* a run of fused stages: it counts no passes of its own */
    bool hooks; /* next() is that of a descriptor: it may fail with records in its hands */
} levada_node_ops;

struct levada_node {
    levada_edge            edge; /* first: whoever waits on the node sees this */
    const levada_node_ops *ops;
    levada_run            *run;
    const levada_dataset  *at; /* where in the description; borrowed from the run */
    char                   path[LEVADA_STATE_PATH]; /* no other node has it */
    int32_t                version; /* of the state */
    int32_t source, first_pass; /* combiners that open pipes: of their sources */
    int64_t opened_as; /* context.opening before anything was rewound                            */
    int64_t passes;    /* passes of the inputs for each one of a repeat; of all others 1      */
    levada_node          **inputs;
    int32_t                ninputs;
    levada_context         context;
    void                  *self;  /* what the ops work on */
    const int32_t         *worker; /* number of the thread that pulls here; the consumer is 0 */
    bool                   ended;
    levada_status          stuck; /* an error that is repeated */
    levada_error           why;
    bool                   failed; /* it answered with an error, or that it is cancelled */
    bool                   lost; /* records are gone with that, perhaps */
    int64_t                drop; /* records to drop before giving: from a restore */
    levada_cursor          unread; /* a block that came back: it is given again first */
    bool                   saves_inputs; /* ops->save writes the whole tree below it */
    levada_skip_counts           skips;
    levada_skip_counts *outer; /* in a pipe that a combiner opens: the counts of that combiner */
    atomic_llong           records, blocks, nanoseconds; /* time includes the inputs' */
};

/* -- inputs (iter.c) */

/* Takes back the block that `it` gave last, whole, to give it again: who pulled it could not go on
 * for now (a function answered AGAIN). It is part of the state until then. */
void levada_node_unread(levada_node *it, levada_block **block);
/* -- walking (iter.c) */

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
/* Hands a block back to the stage that takes some. */
LEVADA_MUST_USE levada_status levada_node_feed(levada_node *it, const levada_block *back,
                                               levada_error *err);
bool levada_node_rereadable(const levada_node *it);
/* Origins that a record has here: those of all sources whose records zips put together. */
int32_t levada_node_origin_parts(const levada_node *it);
/* Whether origins of that lane may be of source `leaf`. */
bool levada_node_gives(const levada_node *it, int32_t lane, int32_t source);
void levada_node_cancel(levada_node *it);
/* For whoever waits on a node: entries of a state (records_state.c). */
extern const levada_edge_ops levada_node_edge_ops;

/* -- counting (skip_counts.c) */

/* In the order of records: counts `records` more and what *made carries; the error of the record at
 * which the budget ends. Takes *made then. */
LEVADA_MUST_USE levada_status levada_node_settle(levada_node *it, int64_t records,
                                                 levada_block **made, levada_error *err);
/* Adds the losses of `it` and everything upstream, as of the last block that it returned: work that
 * threads do ahead is not in it. For the thread that the node belongs to. */
void levada_stats_losses(const levada_node *it, levada_losses *sum);
/* The same, less those of before. */
levada_losses levada_stats_since(const levada_node *it, const levada_losses *before);
levada_skip_counts *levada_node_skips(levada_node *it);
/* A combiner that opens pipes reports how many records it emitted, before it pulls one and after
 * each block. Of pipes in pipes, the outermost combiner counts. */
void    levada_node_report_emitted(levada_node *it, int64_t given);
int64_t levada_node_emitted(const levada_node *it);
/* Counts and causes. Restoring is for a node that has counted nothing yet. */
LEVADA_MUST_USE levada_status levada_skip_counts_save(levada_node *it, levada_state_writer *to,
                                                levada_error *err);
LEVADA_MUST_USE levada_status levada_skip_counts_restore(levada_node *it, levada_state_reader *from,
                                                   levada_error *err);

#endif
