/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a description to nodes: plan.c walks the dataset, and each kind of node has a maker.
 */
#ifndef LEVADA_RUN_PLAN_H
#define LEVADA_RUN_PLAN_H

#include "run/fused.h"
#include "files/file_reader.h"
#include "run/keyed.h"
#include "run/node.h"

/* Where in the tree a pipe is opened while it runs (run/pipe.h). */
typedef struct levada_pipe_place {
    const char         *name;   /* of the combiner that opens it                         */
    const char         *prefix; /* of the paths of its nodes                             */
    int32_t             source; /* number of its first source                            */
    int32_t             pass;   /* of its sources: makes the origins of a slot differ    */
    uint64_t            salt;   /* makes its randomness its own                          */
    levada_skip_counts *skips;  /* where its nodes count what they skip                  */
    struct levada_absent *absent; /* where what its decoders found is collected        */
    levada_puller      *puller; /* of its nodes                                          */
} levada_pipe_place;

/* What a node, or a link of fused stages, is made of. */
typedef enum levada_step_kind {
    LEVADA_STEP_SOURCE,
    LEVADA_STEP_COMBINER,
    LEVADA_STEP_STAGE,       /* next() of a SERIAL stage */
    LEVADA_STEP_MATERIALIZE, /* the records of the keys that the stage emits */
    LEVADA_STEP_FUSED,       /* a PURE stage, a decoder, or the end of a stage or typed format */
    LEVADA_STEP_RING         /* no stage: sizes the ring of the fused stages that end here */
} levada_step_kind;

/* A part of the plan. Path and context follow from the description alone: the order of steps, and
 * steps without a stage of their own, change no path and no randomness. */
typedef struct levada_step {
    levada_step_kind      kind;
    const levada_dataset *at;
    levada_context        context; /* fused_end: of the end of a stage or typed format */
    char                  path[LEVADA_STATE_PATH];
    const levada_keyed   *keyed;  /* sources: emits keys; stages: how it reads; NULL = neither */
    struct levada_steps  *inputs; /* combiners: at->ninputs of them, owned */
} levada_step;

/* Makes the context of a stage; `namesake` differs among the stages of its name. */
levada_context levada_node_context(levada_run *run, const levada_dataset *at, uint64_t namesake);
/* Writes the path of a named input of the combiner with that path, which what is below begins with.
 * A long name is cut, and ends with a hash of it. */
LEVADA_MUST_USE levada_status levada_node_input_path(const char *combiner, const char *name,
                                                     char          out[LEVADA_STATE_PATH],
                                                     levada_error *err);
/* Creates a node with everything common filled in; on failure nothing is left. */
LEVADA_MUST_USE levada_status levada_node_create(levada_run *run, const levada_step *step,
                                                 const levada_node_ops *ops, levada_node **out,
                                                 levada_error *err);
/* Opens the nodes of a dataset; used by combiners that open pipes as they go, too (they without
 * tickets: the intake that they run in is one thread's). `prefix` begins the paths; borrowed for
 * the call. */
LEVADA_MUST_USE levada_status levada_plan_open(levada_run *run, const levada_dataset *dataset,
                                               const char *prefix, bool tickets, levada_node **out,
                                               levada_error *err);

LEVADA_MUST_USE levada_status levada_node_source(levada_run *run, const levada_step *step,
                                                 levada_node **out, levada_error *err);
LEVADA_MUST_USE levada_status levada_node_numbered(levada_run *run, const levada_step *step,
                                                   levada_node **out, levada_error *err);
LEVADA_MUST_USE levada_status levada_node_format(levada_run *run, const levada_step *step,
                                                 levada_node **out, levada_error *err);
LEVADA_MUST_USE levada_status levada_node_stage(levada_run *run, const levada_step *step,
                                                levada_node **in, levada_node **out,
                                                levada_error *err);
LEVADA_MUST_USE levada_status levada_node_materialize(levada_run *run, const levada_step *step,
                                                      levada_node **in, levada_node **out,
                                                      levada_error *err);
/* Makes a node of neighboring PURE stages, or of none for a prefetch. Takes *fused and *in. With
 * `tickets` and a worker pool, `window` results (0 = by the number of threads) and window_bytes (0
 * = 256 MiB) may be ready. */
LEVADA_MUST_USE levada_status levada_node_fused(levada_run *run, const levada_step *step,
                                                levada_fused **fused, int64_t window,
                                                int64_t window_bytes, bool tickets,
                                                levada_node **in, levada_node **out,
                                                levada_error *err);
LEVADA_MUST_USE levada_status levada_node_combiner(levada_run *run, const levada_step *step,
                                                   levada_node **in, int32_t nin,
                                                   levada_node **out, levada_error *err);

/* Moves n nodes into it->inputs; they are taken on success. */
LEVADA_MUST_USE levada_status levada_node_adopt(levada_node *it, levada_node **in, int32_t n,
                                                levada_error *err);
/* Adds what the decoders of fused stages of a tree found (run/absent.h). */
void levada_node_add_absent(levada_node *it, struct levada_absent *to);
/* Adds a note to `it` for each decoder with columns that no record had, and clears `absent`. */
LEVADA_MUST_USE levada_status levada_node_report_absent(levada_node *it,
                                                         struct levada_absent *absent,
                                                         levada_error          *err);
/* Returns true if a node reads files and makes blocks of the number of rows that its consumer
 * wants. */
bool levada_node_can_coalesce(const levada_node *it);

/* Numbers of sources, of those that pipes open as well: from 0. Those below named inputs follow. */
#define LEVADA_PIPE_SOURCES (INT64_C(1) << 30)
/* Sets the number of a new source that it is known by in origins. */
void levada_run_add_source(levada_run *run, levada_node *it);
/* Returns how many numbers are left where the plan is: of the pipeline, or of a named input. */
int64_t levada_run_sources_left(const levada_run *run);

#endif
