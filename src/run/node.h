/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes: the running form of a dataset is a tree of them. Each source, SERIAL stage and combiner is
 * a node, and so is each run of fused stages (PURE stages, decoders, the end of a SERIAL stage). A
 * stage sees the node upstream as a levada_input. The iterator that a user holds is on top of the
 * tree (run/iter.h).
 *
 * Threads: a node belongs to the thread that pulls it. Upstream of a result ring that is the thread
 * that holds the ring's intake, else the consumer. Counters are atomic.
 */
#ifndef LEVADA_RUN_NODE_H
#define LEVADA_RUN_NODE_H

#include "run/inlet.h"
#include "run/run.h"
#include "state/state_priv.h"
#include "tensor/keys.h"
#include <levada/stage.h>

/* A number that a stage shows, for any thread. */
#define LEVADA_GAUGES 8
typedef struct levada_gauge {
    _Atomic(const char *) name; /* a constant; NULL = unused */
    atomic_llong          value;
    atomic_bool           since; /* value is a time, of which the age is shown; -1 = none */
} levada_gauge;

/* What statistics and levada_iter_explain show of a node. */
typedef struct levada_node_shown {
    levada_gauge gauges[LEVADA_GAUGES]; /* of its stage (context.h) */
    atomic_llong records, blocks, nanoseconds; /* time includes that of the inputs */
    char *reads;  /* levada_keyed_print of its stage, owned; NULL = it has no ranks */
    char *chosen; /* what its stage chose while data flowed, owned; NULL = nothing; guarded by the
                   * lock of the run's notes */
} levada_node_shown;

typedef enum levada_node_kind {
    LEVADA_NODE_FORMAT, /* a source of files */
    LEVADA_NODE_SOURCE, /* any other source  */
    LEVADA_NODE_STAGE,  /* a SERIAL stage    */
    LEVADA_NODE_COMBINER,
    LEVADA_NODE_FUSED,  /* a run of fused stages */
    LEVADA_NODE_MATERIALIZE, /* reads the records of keys */
} levada_node_kind;

/* A node whose records can be read by their origins. */
typedef struct levada_access_ops {
    /* Returns whether they can in this tree; NULL = always. */
    bool (*possible)(const levada_node *it);
    /* Reads n records, as this node emitted them; the first time: the records of its keys. Each has
     * levada_node_origin_parts(it) origins, row by row. They ascend by the first part, where that
     * is equal by the second; in a part by source, shard, record and pass. */
    levada_status (*read)(levada_node *it, const levada_origin *origins, int64_t n,
                          levada_read how, levada_block **out, levada_error *err);
    /* Writes the origin of record `number` of those that a source emits; NULL = they have no
     * numbers. */
    levada_status (*locate)(levada_node *it, int64_t number, levada_origin *out,
                            levada_error *err);
} levada_access_ops;

/* A node that works ahead of its consumer. */
typedef struct levada_ahead_ops {
    /* Prepares a part of the next block, or with `work` false only returns whether there is such
     * work now. Any thread, concurrently with the one that the node belongs to. */
    bool (*work)(levada_node *it, bool work);
    /* Waits until no work is in progress upstream, before a rewind. Returns AGAIN at the deadline
     * of the consumer. `worker` is the number of the calling thread. NULL = nothing to wait for. */
    levada_status (*halt)(levada_node *it, int32_t worker);
} levada_ahead_ops;

/* A node that reads files. */
typedef struct levada_files_ops {
    const char *(*name)(const levada_node *it, int32_t shard); /* NULL = there is none */
    /* total may be NULL: finding it may take a call for each file. NULL = not known. */
    void (*progress)(const levada_node *it, int64_t *done, int64_t *total);
    /* Adds facts about files to a state that are newer than its snapshots. Runs concurrently with
     * the thread that the node belongs to. NULL = there are none. */
    levada_status (*save_live_facts)(levada_node *it, levada_state_writer *to, levada_error *err);
} levada_files_ops;

/* What a kind of node does. The inputs of a node were saved, restored, rewound and cancelled by the
 * caller (tree.c); fused stages alone save their input themselves. */
typedef struct levada_node_ops {
    levada_node_kind kind;
    /* Returns the next item. Rows that a descriptor has rejected are marked in its block. */
    levada_status (*next)(levada_node *it, levada_hint hint, levada_item *out, levada_error *err);
    levada_status (*save)(levada_node *it, levada_state_writer *to, levada_error *err);
    /* NULL = nothing to restore: the inputs have it. */
    levada_status (*restore)(levada_node *it, levada_state_reader *from, levada_error *err);
    /* Starts again; context.pass is the new pass. `read_to_end`: the consumer read the last pass to
     * its end. */
    levada_status (*rewind)(levada_node *it, bool read_to_end, levada_error *err);
    void (*cancel)(levada_node *it); /* any thread; may be NULL */
    void (*close)(levada_node *it);
    /* Capabilities; NULL = none. */
    const levada_access_ops *access;
    const levada_ahead_ops  *ahead; /* NULL: it works ahead where its inputs do */
    const levada_files_ops  *files;
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
    int64_t                repeat_count; /* passes of the inputs for each one of a repeat; or 1 */
    levada_node          **inputs;
    int32_t                ninputs;
    levada_context         context;
    void                  *self;   /* what the ops work on                                     */
    levada_puller         *puller;                             /* of a ring, or of the run     */
    levada_inlet           inlet;        /* what its consumer receives next                    */
    bool                   encoded;      /* its consumer reads columns that are not decoded    */
    levada_node           *consumer;     /* borrowed; NULL = the iterator                      */
    levada_skip_counts     skips;        /* its own, for the consumer's thread                  */
    levada_skip_place      place;        /* where it counts: here, or at a combiner            */
    levada_skip_progress   progress;
    levada_rejects         kept; /* for its next item; none between calls                      */
    levada_spec           *fed;     /* columns that the consumer feeds; NULL = none            */
    levada_node_shown      shown;
};

/* Returns true if next() is that of a descriptor: it may fail with records in its hands. */
static inline bool levada_node_has_hooks(const levada_node *it)
{
    return it->ops->kind == LEVADA_NODE_SOURCE || it->ops->kind == LEVADA_NODE_STAGE;
}

/* Returns true if it emits keys in place of records (tensor/keys.h). */
static inline bool levada_node_emits_keys(const levada_node *it)
{
    return levada_spec_is_keys(it->edge.spec);
}

/* -- the stream of a node (node_stream.c) */

/* Returns the next item: for fused stages and the iterator of the user. All others call
 * levada_input_next, which returns blocks. */
LEVADA_MUST_USE levada_status levada_node_next(levada_node *it, levada_hint hint, levada_item *out,
                                               levada_error *err);
/* Returns the whole item that `it` returned last to its inlet. */
void levada_node_unread(levada_node *it, levada_item *item);
/* Cuts the item that `it` returned last (levada_inlet_cut). */
LEVADA_MUST_USE levada_status levada_node_cut(levada_node *it, levada_item *item, int64_t rows,
                                              int32_t rejects, levada_error *err);
struct levada_fused;
/* Pulls as many rows as fused stages want, like levada_node_next. */
LEVADA_MUST_USE levada_status levada_node_pull(levada_node *it, struct levada_fused *fused,
                                               levada_item *out, levada_error *err);
/* Returns the item that was pulled last, since it could not be applied. */
void levada_node_unpull(levada_node *it, struct levada_fused *fused, levada_item *item);
/* Ends the stream of `it` with END or an error, after what waits in its inlet. Adds the path of
 * `it` to the error. In next(), which then returns a block or rejects that precede the end. */
void levada_node_end(levada_node *it, levada_status end, levada_error *why);

/* Makes the items of which a restore left some rows to skip, in the whole tree, so that a state of
 * it has none to skip. Nothing else may pull it: without workers. */
LEVADA_MUST_USE levada_status levada_node_settle(levada_node *it, levada_error *err);

/* Prepares something of what a pull of `it` needs, up to the next ring; false where there is
 * nothing to do now. `work` false: only says so. Any thread that does not pull. */
bool levada_node_ahead(levada_node *it, bool work);

/* Disables reading ahead in `it` and upstream of it, in each pass until `it` is pulled: its
 * consumer may not need its records. When the tree is made. */
void levada_node_disable_readahead(levada_node *it);

/* -- the tree (tree.c) */

void levada_node_destroy(levada_node **it); /* with its inputs */
LEVADA_MUST_USE levada_status levada_node_save(levada_node *it, levada_state_writer *to,
                                               levada_error *err);
/* Adds the facts of all sources that are newer than snapshots; after levada_node_save of the
 * root. */
LEVADA_MUST_USE levada_status levada_node_save_live_facts(levada_node *it,
                                                          levada_state_writer *to,
                                                          levada_error *err);
LEVADA_MUST_USE levada_status levada_node_restore(levada_node *it, levada_state_reader *from,
                                                  levada_error *err);
LEVADA_MUST_USE levada_status levada_node_read(levada_node *it, const levada_origin *origins,
                                               int64_t n, levada_read how, levada_block **out,
                                               levada_error *err);
bool levada_node_rereadable(const levada_node *it);
/* Returns how many origins a record has here: a zip puts those of its inputs together. */
int32_t levada_node_origin_parts(const levada_node *it);
/* Returns whether this part of an origin may be of that source. */
bool levada_node_owns_source(const levada_node *it, int32_t part, int32_t source);
void levada_node_cancel(levada_node *it);
/* Of levada_node.edge. */
extern const levada_edge_ops levada_node_edge_ops;

/* Peeks like levada_input_peek, with a hint. */
LEVADA_MUST_USE levada_status levada_input_peek_hinted(levada_input *in, levada_hint hint,
                                                       const levada_block **out,
                                                       levada_error *err);

/* Fills like levada_cursor_fill. `hurry`: the caller has records that it can return, so the input
 * answers AGAIN in place of waiting for the writer of a pipe. */
LEVADA_MUST_USE levada_status levada_cursor_fill_hurried(levada_cursor *cursor, levada_input *in,
                                                         bool hurry, levada_error *err);

/* -- blocks that the consumer passes back (node_stage.c) */

/* Returns the node that the consumer feeds, where `it` is on top; or NULL. */
const levada_node *levada_node_fed(const levada_node *it);
/* Passes a block of the consumer to the stage that accepts some (levada_iter_feed). */
LEVADA_MUST_USE levada_status levada_node_feed(levada_node *it, const levada_block *back,
                                               levada_error *err);
/* Tells the stage that is fed that the consumer did not receive its last block: as if it had not
 * been returned. False: the block is to wait in the inlet. */
bool levada_node_take_back(levada_node *it);

/* -- rejects (rejects_in_transit.c) */

/* Keeps a reject of an input for the next block of `it`: after its rows. */
LEVADA_MUST_USE levada_status levada_node_keep(levada_node *it, const levada_reject *reject,
                                               levada_error *err);
/* Rejects a record that the stage in next() has pulled: the last one but `unread`. */
LEVADA_MUST_USE levada_status levada_node_reject(levada_node *it, const levada_error *why,
                                                 int64_t unread, levada_error *err);
/* Passes on a note that goes to the consumer before the next row of `it`: no record is lost. In
 * next(). */
LEVADA_MUST_USE levada_status levada_node_note(levada_node *it, const levada_error *why,
                                               levada_error *err);
/* Notes at once, in restore(): no row is on its way to the consumer. */
LEVADA_MUST_USE levada_status levada_node_note_restored(levada_node *it, const levada_error *why,
                                                        levada_error *err);
/* Counts records that the stage in next() drops by design. */
LEVADA_MUST_USE levada_status levada_node_dropped(levada_node *it, int64_t records,
                                                  levada_error *err);
/* Numbers the rejects of this node in `made`, which it made of the last `records` that it read. */
void levada_node_number(levada_node *it, levada_rejects *made, int64_t records);
/* Cuts out rows that a source or SERIAL stage rejected in its block. */
LEVADA_MUST_USE levada_status levada_node_judge(levada_node *it, levada_item *made,
                                                levada_error *err);
/* Adds the rejects that the node kept to its item: before or after its rows. */
LEVADA_MUST_USE levada_status levada_node_attach(levada_node *it, levada_item *made,
                                                 levada_error *err);
/* Counts the rejects of an item of the root. If a budget ends, the item becomes the rows before
 * that, and the next one begins there. Without such rows, returns the error and clears the item. */
LEVADA_MUST_USE levada_status levada_node_commit_rejects(levada_node *root, levada_item *item,
                                                         levada_error *err);

/* Counts records that a SERIAL stage read from `it`, or returned to it (less than 0). */
static inline void levada_node_count_read(const levada_node *it, int64_t records)
{
    if (it->consumer && levada_node_has_hooks(it->consumer)) it->consumer->progress.read += records;
}

/* Reports how many records a combiner that opens pipes emitted, before it pulls one and after each
 * block. Of pipes in pipes, the outermost combiner counts. */
static inline void levada_node_report_emitted(levada_node *it, int64_t emitted)
{
    it->progress.read = emitted;
}

static inline int64_t levada_node_emitted(const levada_node *it) { return it->progress.read; }

#endif
