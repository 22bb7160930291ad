/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running datasets from the inside.
 *
 * A run is a tree of nodes, one for each source, SERIAL stage, combiner and run of PURE stages of
 * the dataset. Stages see the node that they pull from as a levada_input. The handle that a user
 * holds is on top of the tree (run/handle.h).
 *
 * Who may touch what: a node belongs to the thread that pulls it. Below a tickets node that is
 * whoever owns its intake; above it, the consumer. Counters are atomic.
 */
#ifndef LEVADA_RUN_ITER_PRIV_H
#define LEVADA_RUN_ITER_PRIV_H

#include "run/fused.h"
#include "description/dataset_priv.h"
#include "files/file_marks.h"
#include "files/file_names.h"
#include "files/file_reader.h"
#include "description/policy.h"
#include "state/state_priv.h"
#include "runtime/lock.h"
#include <levada/rowstore.h>

#define LEVADA_RUN_SOURCES 64 /* sources that a run lists */

typedef struct levada_workers levada_workers;
typedef struct levada_run levada_run;
typedef struct levada_node levada_node; /* stages see their inputs as levada_input */

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
    const char *(*file)(const levada_node *it, int32_t shard); /* sources with files */
    void (*progress)(const levada_node *it, int64_t *done, int64_t *total);
    void (*cancel)(levada_node *it); /* any thread; may be NULL */
    void (*close)(levada_node *it);
    bool hooks; /* next() is that of a descriptor: it may fail with records in its hands */
} levada_node_ops;

/* What was left out at one place; the budget of `errors=` counts there, in the order of records. */
typedef struct levada_skip_counts {
    atomic_llong bad;        /* records; a place of damage in a file counts as one              */
    atomic_llong seen;       /* good and bad ones that stages saw                               */
    atomic_llong given; /* combiners that open pipes: good ones, in the order of their turns  */
    atomic_llong pulled;    /* SERIAL stages: what their input gave before a restore             */
    atomic_llong unseen;    /* of files, beyond `bad`: estimated for a budget in percent         */
    atomic_llong damaged;   /* bytes                                                             */
    atomic_llong missing, empty; /* files */
    atomic_llong dropped;   /* records that stages left out by design, such as drop_remainder    */
} levada_skip_counts;

/* Losses upstream of some place, as of the records that have passed it. */
typedef struct levada_losses {
    int64_t skipped, damaged_bytes, missing, empty, dropped;
} levada_losses;

/* Why something was left out, and where that is counted. */
typedef struct levada_note {
    levada_error        why;
    const levada_skip_counts *of;
    int64_t             number; /* in the order of all of a run, restored ones included */
} levada_note;

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
    /* inside a pipe that a combiner opens: of that combiner, counts instead */
    levada_skip_counts *outer;
    atomic_llong           records, blocks, nanoseconds; /* time includes the inputs' */
};

/* The stages that the plan has come by, and the one that it is at. */
typedef struct levada_visits {
    const char **names; /* of all, in order; those from `first` on belong to this pipe */
    int32_t n, first;
    int64_t capacity;
    int32_t position, namesakes;
} levada_visits;

/* Where in the tree a pipe is opened while it runs (run/pipe.h). */
typedef struct levada_pipe_place {
    const char *prefix;  /* of the paths of its nodes                                            */
    int32_t     source; /* number of its first source                                           */
    int32_t     pass; /* of its sources: origins of all that a slot opens differ by this      */
    uint64_t    salt;    /* makes its randomness its own                                         */
    levada_skip_counts *skips; /* where its nodes count what they leave out                            */
    const int32_t *worker; /* of its nodes                                                       */
} levada_pipe_place;

struct levada_run {
    levada_env     *env;     /* a reference */
    levada_dataset *dataset; /* a reference */
    int64_t         seed, epoch;
    int32_t         threads, block_rows;
    int64_t         max_record_bytes;
    int32_t         sources; /* counted while the tree is made, or a pipe of one record */
    int32_t         told;   /* leaves of the tree: what progress is about             */
    const char     *prefix; /* of paths, while the tree is made */
    levada_visits visits; /* the same                         */
    /* held where a running combiner opens a pipe: guards what the tree needs */
    levada_mutex pipes_lock;
    const levada_pipe_place *inner; /* where that pipe is; NULL = the tree itself is made        */
    levada_node    *source[LEVADA_RUN_SOURCES]; /* the first sources, for paths and progress    */
    char           *errors;       /* as given; NULL = fail                                    */
    levada_policy   policy;
    /* of stages that have no node of their own */
    levada_skip_counts    skips;
    levada_mutex    noting;
    /* -- guarded by noting */
    levada_note *notes; /* the first LEVADA_RUN_NOTES by number, NULL until there is one       */
    int64_t      noted, note_number;
    levada_file_names names; /* of files of sources that are not in leaf[]                     */
    levada_file_marks marks; /* of all files that were opened                                  */
    /* -- */
    atomic_llong    padded, payload; /* elements of padded columns that the consumer received:
                                      * all, and those of records                             */
    atomic_bool      cancelled;
    int64_t deadline; /* of the consumer's call; -1 = none                                      */
    bool    soft;     /* that call works upstream itself, where a block may take longer          */
    int64_t pulls;    /* what that call got so far: none gives up before it got something        */
    bool    interrupted; /* a function that it ran had to stop: it gives up now                  */
    levada_workers    *workers;     /* the workers; NULL where threads = 1 */
};

/* -- making (plan.c) */
LEVADA_MUST_USE levada_status levada_run_create(const levada_dataset *dataset,
                                                const levada_iter_options *options,
                                                levada_run **out, levada_node **root,
                                                levada_error *err);
void levada_run_destroy(levada_run **run, levada_node **root);
bool levada_run_is_cancelled(levada_run *run);
/* ECANCELLED where it is. */
LEVADA_MUST_USE levada_status levada_run_check_cancelled(levada_run *run, levada_error *err);
/* A node with everything common filled in; on failure nothing is left. */
LEVADA_MUST_USE levada_status levada_node_create(levada_run *run, const levada_dataset *at,
                                                 const levada_node_ops *ops, levada_node **out,
                                                 levada_error *err);
/* The nodes of a dataset; used by combiners that open pipes as they go, too (they without tickets:
 * the intake that they run in is one thread's). `prefix` begins the paths; borrowed for the call.
 */
LEVADA_MUST_USE levada_status levada_plan_open(levada_run *run, const levada_dataset *dataset,
                                               const char *prefix, bool tickets, levada_node **out,
                                               levada_error *err);
void levada_node_destroy(levada_node **it); /* with its inputs */

LEVADA_MUST_USE levada_status levada_node_source(levada_run *run, const levada_dataset *at,
                                                 levada_node **out, levada_error *err);
LEVADA_MUST_USE levada_status levada_node_format(levada_run *run, const levada_dataset *at,
                                                 levada_node **out, levada_error *err);
LEVADA_MUST_USE levada_status levada_node_stage(levada_run *run, const levada_dataset *at,
                                                levada_node **in, levada_node **out,
                                                levada_error *err);
/* Neighbouring PURE stages, or none: a prefetch. Takes *chain and *in. With `tickets` and a worker
 * pool, `window` results (0 = by the number of threads) and window_bytes (0 = 256 MiB) may lie
 * ready. */
LEVADA_MUST_USE levada_status levada_node_fused(levada_run *run, const levada_dataset *at,
                                                levada_fused **fused, int64_t window,
                                                int64_t window_bytes, bool tickets,
                                                levada_node **in, levada_node **out,
                                                levada_error *err);
LEVADA_MUST_USE levada_status levada_node_combiner(levada_run *run, const levada_dataset *at,
                                                levada_node **in, int32_t nin, levada_node **out,
                                                levada_error *err);

/* Moves n nodes into it->inputs; they are taken on success. */
LEVADA_MUST_USE levada_status levada_node_adopt(levada_node *it, levada_node **in, int32_t n,
                                                levada_error *err);
/* The fused stages of a node that is one, else NULL; whether it is a file reader; what that
 * counted. */
levada_fused             *levada_node_is_fused(const levada_node *it);
/* Losses upstream of a run of fused stages with tickets, as of the last one delivered; NULL = of
 * other nodes. */
const levada_losses *levada_node_delivered(const levada_node *it);
bool                      levada_node_is_format(const levada_node *it);
levada_file_reader_counts levada_node_damage(const levada_node *it);

/* The number of a new leaf, which it is known by in origins. */
int32_t levada_run_add_source(levada_run *run, levada_node *it);
/* As levada_iter_file, for whoever has the run alone. */
const char *levada_run_file(const levada_run *run, int32_t source, int32_t shard);

/* -- walking (iter.c) */

/* Takes back the block that `it` gave last, whole, to give it again: who pulled it could not go on
 * for now (a function answered AGAIN). It is part of the state until then. */
void levada_node_unread(levada_node *it, levada_block **block);
LEVADA_MUST_USE levada_status levada_node_save(levada_node *it, levada_state_writer *to,
                                               levada_error *err);
/* After levada_node_save of the root: what all sources add late, and marks of the run. */
LEVADA_MUST_USE levada_status levada_node_save_late(levada_node *it, levada_state_writer *to,
                                                    levada_error *err);
LEVADA_MUST_USE levada_status levada_node_restore(levada_node *it, levada_state_reader *from,
                                                  levada_error *err);
LEVADA_MUST_USE levada_status levada_node_reread(levada_node *it, const levada_origin *origins,
                                                 int64_t n, levada_block **out, levada_error *err);
bool levada_node_rereadable(const levada_node *it);
/* Origins that a record has here: those of all sources whose records zips put together. */
int32_t levada_node_origin_parts(const levada_node *it);
/* Whether origins of that lane may be of source `leaf`. */
bool levada_node_gives(const levada_node *it, int32_t lane, int32_t source);
void levada_node_cancel(levada_node *it);
/* For whoever waits on a node: entries of a state (records_state.c). */
extern const levada_edge_ops levada_node_edge_ops;

/* -- workers (workers.c) */
LEVADA_MUST_USE levada_status levada_workers_create(levada_run *run, levada_error *err);
/* Starts the threads, once the tree stands. */
LEVADA_MUST_USE levada_status levada_workers_start(levada_workers *workers, levada_error *err);
/* Stops and joins them. Nodes may be destroyed after this, and only then. */
void levada_workers_stop(levada_workers *workers);
void levada_workers_destroy(levada_workers **workers);
void levada_workers_wake(levada_workers *workers);
/* True when there is no combiner that it could work for. */
bool levada_workers_idle(const levada_workers *workers);
/* Whether its threads were started; false for NULL. */
bool levada_workers_runs(const levada_workers *workers);
/* In the child of a fork, where the workers do not exist: whether none of them had work, so that
 * everything may be freed. It is as if they had never been started then. */
bool levada_workers_abandon(levada_workers *workers);
struct levada_text;
/* Appends JSON objects {"combiner","state","since","ready","window"}; any thread. */
void levada_workers_report(levada_workers *workers, struct levada_text *to);

/* -- bad records (reject.c) */

/* Applies the policy to the rejected rows of `made`, which has its origins: the first one as the
 * pipeline's error, or a block without these rows that carries their errors until it is settled, as
 * rejects of the rows of `in` that they were made of. With `carry` always that: settling it tells
 * the error in its turn. Takes and replaces *made. Any thread. */
LEVADA_MUST_USE levada_status levada_run_reject(levada_run *run, const char *path, bool carry,
                                                const levada_block *in, levada_block **made,
                                                levada_error *err);
/* Puts file, record and offset of a row into an error that has no place yet: of the first lane;
 * those of the others stand in front of its message. */
void levada_run_place(levada_run *run, const char *path, const levada_block *block,
                      int64_t row, levada_error *err);

/* -- counting them (skip_counts.c) */
#define LEVADA_RUN_NOTES 64

/* In the order of records: counts `records` more and what *made carries; the error of the record at
 * which the budget ends. Takes *made then. */
LEVADA_MUST_USE levada_status levada_node_settle(levada_node *it, int64_t records,
                                                 levada_block **made, levada_error *err);
/* Adds the losses of `it` and everything upstream, as of the last block that it returned: work that
 * threads do ahead is not in it. For the thread that the node belongs to. */
void levada_losses_add(levada_losses *to, const levada_losses *more, int64_t times);
void levada_stats_losses(const levada_node *it, levada_losses *sum);
/* The same, less those of before. */
levada_losses levada_stats_since(const levada_node *it, const levada_losses *before);
/* What the consumer received: records, blocks, elements of padded columns and those of records. */
#define LEVADA_RECEIVED_COUNTS 4
/* Counts the padding of a block once more (1) or not (-1); levada_input_next counts the rest. */
void levada_stats_padding(levada_run *run, const levada_block *block, int64_t times);
/* All but the first `from` rows of a block count as received once more (1), or not (-1). */
void levada_stats_recount(levada_iter *it, const levada_block *block, int64_t from, int64_t times);
LEVADA_MUST_USE levada_status levada_stats_save(const levada_iter *it, levada_state_writer *to,
                                                levada_error *err);
/* Zeros where the state of an older version has none. */
LEVADA_MUST_USE levada_status levada_stats_load(levada_state_reader *from,
                                                int64_t counts[LEVADA_RECEIVED_COUNTS],
                                                levada_error *err);
void levada_stats_set(levada_iter *it, const int64_t counts[LEVADA_RECEIVED_COUNTS]);
/* The message of a note that names a file without a record: nothing was skipped there. */
#define LEVADA_FILE_EMPTY "there is no record in the file"
/* At the end: logs how many records were skipped, and the first reason. */
void levada_stats_conclude(levada_iter *it);
levada_skip_counts *levada_node_skips(levada_node *it);
/* A combiner that opens pipes tells what they count with how many records it gave, before it pulls
 * one and after each block; of pipes in pipes, the outermost combiner is heard. */
void    levada_node_report_emitted(levada_node *it, int64_t given);
int64_t levada_node_emitted(const levada_node *it);
/* Counts and causes. Restoring is for a node that has counted nothing yet. */
LEVADA_MUST_USE levada_status levada_skip_counts_save(levada_node *it, levada_state_writer *to,
                                                levada_error *err);
LEVADA_MUST_USE levada_status levada_skip_counts_restore(levada_node *it, levada_state_reader *from,
                                                   levada_error *err);
/* Keeps what was left out, and why, for the stats; `of` is where it is counted. Any thread. */
void levada_run_note(levada_run *run, const levada_skip_counts *of, const char *path,
                     const levada_error *why);

#endif
