/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a description to nodes, in three passes. The first one lists steps: what becomes a node or a
 * link of fused stages, inputs before their stages. The second one moves steps of ranks that read
 * only their own records (run/keyed.h). The third one makes nodes: one for each source, SERIAL
 * stage and combiner, and one for each run of neighboring PURE stages, with the fused ends of
 * SERIAL stages and prefetches.
 */
#include "base/alloc.h"
#include "base/hash.h"
#include "run/plan.h"

#include <stdio.h>
#include <string.h>

#define PLAN_SOURCES (1 << 24)          /* numbers left for sources below a named input */
#define PLAN_END ".apply"               /* ends the path of a node that runs only such an end */
#define PLAN_MATERIALIZE ".materialize" /* ends the path of the node that reads records       */

/* A pipeline without branches: it begins with a source, or with a combiner of other ones. */
typedef struct levada_steps {
    levada_step *at;
    int64_t      n, capacity;
    levada_keyed keyed; /* of its first stage with ranks */
    uint64_t     salt;  /* of a named input: of its random keys and numbers of sources; or 0 */
} levada_steps;

static void plan_clear(levada_steps *steps)
{
    for (int64_t i = 0; i < steps->n; i++) {
        levada_step *step = &steps->at[i];

        for (int32_t k = 0; step->inputs && k < step->at->ninputs; k++) {
            plan_clear(&step->inputs[k]);
        }
        levada_free(step->inputs);
    }
    levada_free(steps->at);
    *steps = (levada_steps){ 0 };
}

/* -- steps */

/* A walk over a description, depth first, inputs before their stages. */
typedef struct plan_walk {
    levada_run  *run;
    const char  *prefix; /* of the paths */
    uint64_t     salt;   /* of the random keys of a named input; 0 = of the pipeline itself */
    const char **names;  /* of the stages so far */
    int32_t      n;
    int64_t      capacity;
} plan_walk;

static levada_status plan_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a plan");
}

static levada_status plan_add(levada_steps *steps, const levada_step *step, levada_error *err)
{
    if (!levada_reserve(&steps->at, &steps->capacity, steps->n + 1, sizeof *steps->at)) {
        return plan_memory(err);
    }
    steps->at[steps->n++] = *step;
    return LEVADA_OK;
}

static levada_step_kind plan_kind(const levada_op *op)
{
    bool stage = op->family == LEVADA_FAMILY_STAGE;

    if (op->family == LEVADA_FAMILY_COMBINER) return LEVADA_STEP_COMBINER;
    if (!stage && op->family != LEVADA_FAMILY_DECODER) return LEVADA_STEP_SOURCE;
    if (stage && op->def.stage.mode != LEVADA_MODE_PURE) return LEVADA_STEP_STAGE;
    return stage && levada_op_core(op)->read_ahead ? LEVADA_STEP_RING : LEVADA_STEP_FUSED;
}

/* Makes the step of the stage that the walk has come to. Positions and namesakes are counted in the
 * description. */
static levada_status plan_visit(plan_walk *w, const levada_dataset *at, levada_step *out,
                                levada_error *err)
{
    int32_t namesakes = 0;

    if (!levada_reserve(&w->names, &w->capacity, w->n + 1, sizeof *w->names)) {
        return plan_memory(err);
    }
    for (int32_t i = 0; i < w->n; i++) namesakes += strcmp(w->names[i], at->op->name) == 0;
    *out = (levada_step){ .kind = plan_kind(at->op), .at = at };
    out->context = levada_node_context(w->run, at, w->salt + (uint64_t)namesakes);
    snprintf(out->path, sizeof out->path, "%s%d.%s", w->prefix, w->n, at->op->name);
    w->names[w->n++] = at->op->name;
    return LEVADA_OK;
}

static levada_status plan_list(plan_walk *w, const levada_dataset *at, levada_steps *out,
                               levada_error *err);

/* Lists an input that has a name as a pipeline of its own: its paths, random keys and numbers of
 * sources depend on names alone, so a state fits it whatever the other inputs are. */
static levada_status plan_list_named(const plan_walk *w, const levada_step *combiner, int32_t i,
                                     levada_steps *out, levada_error *err)
{
    const char   *name = levada_dataset_input_name(combiner->at, i);
    char          prefix[LEVADA_STATE_PATH];
    plan_walk     walk = { .run = w->run, .prefix = prefix };
    levada_status st;

    LEVADA_TRY(levada_node_input_path(combiner->path, name, prefix, err));
    strcat(prefix, "/");
    walk.salt = out->salt = levada_hash64(prefix, strlen(prefix), 1);
    st = plan_list(&walk, combiner->at->inputs[i], out, err);
    levada_free(walk.names);
    return st;
}

/* Lists the inputs of a combiner, then the combiner; the other way round if they have names, as its
 * own path must not depend on them. */
static levada_status plan_list_inputs(plan_walk *w, const levada_dataset *at, levada_step *combiner,
                                      levada_error *err)
{
    bool named = levada_dataset_input_name(at, 0) != NULL;
    levada_steps *inputs = combiner->inputs;

    if (named) LEVADA_TRY(plan_visit(w, at, combiner, err));
    for (int32_t i = 0; i < at->ninputs; i++) {
        LEVADA_TRY(named ? plan_list_named(w, combiner, i, &inputs[i], err)
                         : plan_list(w, at->inputs[i], &inputs[i], err));
    }
    return named ? LEVADA_OK : plan_visit(w, at, combiner, err);
}

static levada_status plan_list_combiner(plan_walk *w, const levada_dataset *at, levada_steps *out,
                                        levada_error *err)
{
    levada_steps *inputs = levada_alloc_zero((size_t)at->ninputs * sizeof *inputs + 1);
    levada_step   step = { .inputs = inputs };
    levada_status st = inputs ? plan_list_inputs(w, at, &step, err) : plan_memory(err);

    step.inputs = inputs;
    if (st == LEVADA_OK) st = plan_add(out, &step, err);
    if (st == LEVADA_OK) return LEVADA_OK;
    for (int32_t i = 0; inputs && i < at->ninputs; i++) plan_clear(&inputs[i]);
    levada_free(inputs);
    return st;
}

/* Lists a stage after its input. The end of a SERIAL stage, or of a format with typed columns, is a
 * step of its own. */
static levada_status plan_list(plan_walk *w, const levada_dataset *at, levada_steps *out,
                               levada_error *err)
{
    const levada_op *op = at->op;
    levada_step      step;
    bool             end;

    if (op->family == LEVADA_FAMILY_COMBINER) return plan_list_combiner(w, at, out, err);
    if (at->ninputs) LEVADA_TRY(plan_list(w, at->inputs[0], out, err));
    LEVADA_TRY(plan_visit(w, at, &step, err));
    LEVADA_TRY(plan_add(out, &step, err));
    end = step.kind == LEVADA_STEP_STAGE && op->def.stage.apply;
    if (op->family == LEVADA_FAMILY_FORMAT) end = levada_op_decoder(op) != NULL;
    if (!end) return LEVADA_OK;
    step.kind = LEVADA_STEP_FUSED;
    step.context.fused_end = true;
    return plan_add(out, &step, err);
}

/* -- late materialization */

/* Lets the sources of a pipeline, or of the inputs of its combiner, emit keys. Nothing is read
 * ahead between them and `end`, the step that chooses. */
static void plan_emit_keys(levada_steps *steps, int64_t end, const levada_keyed *keyed)
{
    levada_step *first = &steps->at[0];
    int64_t      n = 0;

    if (!first->inputs) first->keyed = keyed;
    for (int32_t i = 0; first->inputs && i < first->at->ninputs; i++) {
        plan_emit_keys(&first->inputs[i], first->inputs[i].n, keyed);
    }
    for (int64_t i = 0; i < steps->n; i++) {
        if (i >= end || steps->at[i].kind != LEVADA_STEP_RING) steps->at[n++] = steps->at[i];
    }
    steps->n = n;
}

/* Moves the fused stages upstream of step `place` after it, and the records of its keys between. */
static levada_status plan_postpone(levada_steps *steps, int64_t place, levada_error *err)
{
    levada_steps  made = { .keyed = steps->keyed, .salt = steps->salt };
    levada_step  *at = steps->at, records = at[place];
    levada_status st = LEVADA_OK;

    records.kind = LEVADA_STEP_MATERIALIZE;
    for (int64_t i = 0; st == LEVADA_OK && i <= place; i++) {
        if (at[i].kind != LEVADA_STEP_FUSED) st = plan_add(&made, &at[i], err);
    }
    if (st == LEVADA_OK) st = plan_add(&made, &records, err);
    for (int64_t i = 0; st == LEVADA_OK && i < steps->n; i++) {
        bool moves = i > place || at[i].kind == LEVADA_STEP_FUSED;

        if (moves) st = plan_add(&made, &at[i], err);
    }
    if (st != LEVADA_OK) {
        levada_free(made.at);
        return st;
    }
    levada_free(at);
    *steps = made;
    return LEVADA_OK;
}

/* Rewrites a pipeline whose first stage with ranks reads only its own records. */
static levada_status plan_rewrite(const levada_run *run, levada_steps *steps, levada_error *err)
{
    levada_keyed *keyed = &steps->keyed;
    int64_t       i = 0;

    for (; i < steps->n && !keyed->stage; i++) {
        if (steps->at[i].kind != LEVADA_STEP_STAGE) continue;
        LEVADA_TRY(levada_keyed_decide(steps->at[i].at, run->skips.policy.skip, keyed, err));
    }
    if (keyed->stage) steps->at[i - 1].keyed = keyed;
    if (keyed->stage && !keyed->why[0]) {
        plan_emit_keys(steps, i, keyed);
        for (i = 0; steps->at[i].at != keyed->stage;) i++;
        return plan_postpone(steps, i, err);
    }
    for (i = 0; steps->at[0].inputs && i < steps->at[0].at->ninputs; i++) {
        LEVADA_TRY(plan_rewrite(run, &steps->at[0].inputs[i], err));
    }
    return LEVADA_OK;
}

/* -- nodes */

/* The node made so far, and the run of fused stages that reads from it. */
typedef struct plan_work {
    levada_run   *run;
    bool          tickets;
    levada_node  *below; /* owned */
    levada_fused *fused; /* owned; NULL = none */
    levada_step   last;  /* the last of the fused stages */
    int64_t       window, window_bytes;
    const char   *feeds; /* the stage that the consumer feeds: only PURE ones may follow; or NULL */
} plan_work;

/* Ends the run of fused stages: w->below is then their node. */
static levada_status plan_close_fused(plan_work *w, levada_error *err)
{
    levada_node *node = NULL;

    if (!w->fused) return LEVADA_OK;
    if (w->last.context.fused_end) strcat(w->last.path, PLAN_END);
    w->last.context.fused_end = false;
    LEVADA_TRY(levada_node_fused(w->run, &w->last, &w->fused, w->window, w->window_bytes,
                                 w->tickets && !w->feeds, &w->below, &node, err));
    w->below = node;
    w->window = w->window_bytes = 0;
    return LEVADA_OK;
}

/* Adds a step to the run of fused stages; a ring has no stage. */
static levada_status plan_extend_fused(plan_work *w, const levada_step *step, levada_error *err)
{
    const levada_decoder_def *decoder = levada_op_decoder(step->at->op);

    /* A decoder that measures has to see its strings before it pulls as many as it wants. */
    if (step->at->op->family == LEVADA_FAMILY_DECODER && decoder->measure) {
        LEVADA_TRY(plan_close_fused(w, err));
    }
    if (!w->fused) LEVADA_TRY(levada_fused_create(w->run->threads, &w->fused, err));
    w->last = *step;
    if (step->kind == LEVADA_STEP_RING) return LEVADA_OK;
    return levada_fused_add(w->fused, step->at, &step->context, step->path, err);
}

/* Checks that nothing keeps records between the consumer and the stage that it feeds. */
static levada_status plan_keeps(const char *feeds, const char *name, levada_error *err)
{
    if (!feeds) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "'%s' cannot follow '%s', because it buffers records that the consumer must "
                       "pass back to that stage",
                       name, feeds);
}

/* Sizes the ring of the stages that end here, for a stage that only reads ahead. */
static levada_status plan_ring(plan_work *w, const levada_step *step, levada_error *err)
{
    const levada_stage_core *core = levada_op_core(step->at->op);

    LEVADA_TRY(plan_keeps(w->feeds, step->at->op->name, err));
    w->window_bytes = 0;
    if (core->read_ahead) core->read_ahead(step->at->args, &w->window, &w->window_bytes);
    return plan_extend_fused(w, step, err);
}

static levada_status plan_stage(plan_work *w, const levada_step *step, levada_error *err)
{
    const char  *name = step->at->op->name;
    levada_node *node = NULL;

    LEVADA_TRY(plan_keeps(w->feeds, name, err));
    LEVADA_TRY(plan_close_fused(w, err));
    LEVADA_TRY(levada_node_stage(w->run, step, &w->below, &node, err));
    w->below = node;
    if (levada_node_fed(node)) w->feeds = name;
    return w->run->inner ? plan_keeps(w->feeds, w->run->inner->name, err) : LEVADA_OK;
}

static levada_status plan_materialize(plan_work *w, const levada_step *step, levada_error *err)
{
    levada_step  records = *step;
    levada_node *node = NULL;

    strcat(records.path, PLAN_MATERIALIZE);
    LEVADA_TRY(levada_node_materialize(w->run, &records, &w->below, &node, err));
    w->below = node;
    return LEVADA_OK;
}

static levada_status plan_source(plan_work *w, const levada_step *step, levada_error *err)
{
    if (levada_op_numbered(step->at->op)) {
        return levada_node_numbered(w->run, step, &w->below, err);
    }
    return step->at->op->family == LEVADA_FAMILY_FORMAT
               ? levada_node_format(w->run, step, &w->below, err)
               : levada_node_source(w->run, step, &w->below, err);
}

static levada_status plan_make(plan_work *w, const levada_steps *steps, levada_error *err);

/* Enters the numbers of the sources below a named input, from `first` on, which a hash chose. */
static levada_status plan_enter_numbers(levada_run *run, int32_t first, const char *name,
                                        levada_error *err)
{
    for (int32_t i = 0; i < run->nranges; i++) {
        if (run->ranges[i].end <= first || run->sources <= run->ranges[i].first) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "input '%s' must have another name: the hash of this name numbers its "
                           "sources, and another input has these numbers", name);
    }
    if (!levada_reserve(&run->ranges, &run->ranges_capacity, run->nranges + 1,
                        sizeof *run->ranges)) {
        return plan_memory(err);
    }
    run->ranges[run->nranges++] = (levada_source_range){ first, run->sources };
    return LEVADA_OK;
}

static levada_status plan_input(plan_work *w, const levada_step *combiner, int32_t i,
                                levada_node **out, levada_error *err)
{
    const levada_steps *steps = &combiner->inputs[i];
    levada_run         *run = w->run;
    plan_work           input = { .run = run, .tickets = w->tickets };
    int32_t             next = run->sources, first = next;
    bool                named = steps->salt && !run->inner;
    levada_status       st;

    if (named) {
        first = (int32_t)(LEVADA_PIPE_SOURCES +
                          (int64_t)(steps->salt % (LEVADA_PIPE_SOURCES - PLAN_SOURCES)));
        run->sources = first;
    }
    st = plan_make(&input, steps, err);
    if (st == LEVADA_OK) st = plan_keeps(input.feeds, combiner->at->op->name, err);
    if (st == LEVADA_OK && named) {
        st = plan_enter_numbers(run, first, levada_dataset_input_name(combiner->at, i), err);
    }
    if (named) run->sources = next;
    *out = input.below;
    levada_fused_destroy(&input.fused);
    return st;
}

static levada_status plan_combiner(plan_work *w, const levada_step *step, levada_error *err)
{
    int32_t       n = step->at->ninputs;
    levada_node **in = levada_alloc_zero((size_t)n * sizeof(*in) + 1);
    levada_status st = in ? LEVADA_OK : plan_memory(err);

    for (int32_t i = 0; st == LEVADA_OK && i < n; i++) st = plan_input(w, step, i, &in[i], err);
    if (st == LEVADA_OK) st = levada_node_combiner(w->run, step, in, n, &w->below, err);
    for (int32_t i = 0; in && i < n; i++) levada_node_destroy(&in[i]);
    levada_free(in);
    return st;
}

static levada_status plan_make(plan_work *w, const levada_steps *steps, levada_error *err)
{
    for (int64_t i = 0; i < steps->n; i++) {
        const levada_step *step = &steps->at[i];

        switch (step->kind) {
        case LEVADA_STEP_SOURCE: LEVADA_TRY(plan_source(w, step, err)); break;
        case LEVADA_STEP_COMBINER: LEVADA_TRY(plan_combiner(w, step, err)); break;
        case LEVADA_STEP_STAGE: LEVADA_TRY(plan_stage(w, step, err)); break;
        case LEVADA_STEP_MATERIALIZE: LEVADA_TRY(plan_materialize(w, step, err)); break;
        case LEVADA_STEP_FUSED: LEVADA_TRY(plan_extend_fused(w, step, err)); break;
        case LEVADA_STEP_RING: LEVADA_TRY(plan_ring(w, step, err)); break;
        }
    }
    return plan_close_fused(w, err);
}

/* Adds a ring to files without a stage, so that threads may read ahead there too. Without threads
 * they get it for its path, so that a state fits any number of threads. */
static levada_status plan_read_files(levada_steps *steps, levada_error *err)
{
    levada_step ring = steps->at[0];

    if (steps->n > 1 || ring.at->op->family != LEVADA_FAMILY_FORMAT) return LEVADA_OK;
    ring.kind = LEVADA_STEP_RING;
    ring.context.fused_end = true;
    return plan_add(steps, &ring, err);
}

levada_status levada_plan_open(levada_run *run, const levada_dataset *dataset, const char *prefix,
                               bool tickets, levada_node **out, levada_error *err)
{
    plan_walk     walk = { .run = run, .prefix = prefix };
    plan_work     w = { .run = run, .tickets = tickets };
    levada_steps  steps = { 0 };
    levada_status st = plan_list(&walk, dataset, &steps, err);

    levada_free(walk.names);
    if (st == LEVADA_OK && tickets) st = plan_read_files(&steps, err);
    if (st == LEVADA_OK && !run->inner) st = plan_rewrite(run, &steps, err);
    if (st == LEVADA_OK) st = plan_make(&w, &steps, err);
    if (st == LEVADA_OK) *out = w.below;
    else levada_node_destroy(&w.below);
    levada_fused_destroy(&w.fused);
    plan_clear(&steps);
    return st;
}
