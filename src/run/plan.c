/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a description to nodes: one for each source, SERIAL stage and combiner, and one for each run
 * of neighboring PURE stages, with the fused ends of SERIAL stages and prefetches.
 */
#include "base/alloc.h"
#include "run/plan.h"

#include <string.h>

/* A stage that runs after the batching stage downstream of it (run/own.h). */
typedef struct plan_postponed {
    const levada_dataset *at;
    levada_context        context;
    char                  path[LEVADA_STATE_PATH];
} plan_postponed;

/* The nodes made so far, and the run of fused stages that reads from them. */
typedef struct plan_work {
    levada_run           *run;
    bool                  tickets;
    levada_node          *below; /* owned */
    levada_fused         *fused;    /* owned; NULL = none */
    const levada_dataset *top;      /* the last of the fused stages */
    int32_t               position; /* and its position */
    bool end_only; /* only the end of a SERIAL stage or typed format, whose node is its own */
    int64_t     window, window_bytes;
    const char *feeds; /* the stage that the consumer feeds: only PURE ones may follow; or NULL */
    levada_own  own;   /* of the stage with ranks that is downstream; stage NULL = none */
    plan_postponed *postponed; /* stages upstream of it that run after it: its input has numbers */
    int64_t         npostponed, postponed_capacity;
} plan_work;

#define PLAN_END ".apply" /* ends the path of a node that runs only such an end */

static levada_status plan_open(plan_work *w, const levada_dataset *at, levada_error *err);

/* Counts one more stage, for which the next nodes are made. Positions and namesakes are counted in
 * the description, depth first, inputs before their stages, so that stages which the core inserts
 * change no path and no randomness. */
static levada_status plan_visit(levada_run *run, const levada_dataset *at, levada_error *err)
{
    levada_plan_position *v = &run->planned;

    if (!levada_reserve(&v->names, &v->capacity, v->n + 1, sizeof(*v->names))) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a plan");
    }
    v->position = v->n - v->first;
    v->namesakes = 0;
    for (int32_t i = v->first; i < v->n; i++)
        v->namesakes += strcmp(v->names[i], at->op->name) == 0;
    v->names[v->n++] = at->op->name;
    return LEVADA_OK;
}

static void plan_clear(plan_work *w)
{
    levada_node_destroy(&w->below);
    levada_fused_destroy(&w->fused);
    levada_free(w->postponed);
}

/* Ends the run of fused stages: w->below is then their node. */
static levada_status plan_close_fused(plan_work *w, levada_error *err)
{
    levada_node  *node = NULL;
    int32_t       now = w->run->planned.position;
    levada_status st;

    if (!w->fused) return LEVADA_OK;
    w->run->planned.position = w->position;
    st = levada_node_fused(w->run, w->top, &w->fused, w->window, w->window_bytes,
                           w->tickets && !w->feeds, &w->below, &node, err);
    w->run->planned.position = now;
    if (st != LEVADA_OK) return st;
    if (w->end_only) strcat(node->path, PLAN_END);
    w->below = node;
    w->window = w->window_bytes = 0;
    return LEVADA_OK;
}

/* Returns true if numbers flow here: no stage reads or makes records before the one that fetches
 * them. */
static bool plan_has_numbers(const plan_work *w)
{
    return w->own.stage && w->below && w->below->numbers;
}

static levada_status plan_postpone(plan_work *w, const levada_dataset *at, bool end,
                                   levada_error *err)
{
    plan_postponed *one;

    if (!levada_reserve(&w->postponed, &w->postponed_capacity, w->npostponed + 1, sizeof *one)) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a plan");
    }
    one = &w->postponed[w->npostponed++];
    one->at = at;
    one->context = levada_node_context(w->run, at);
    one->context.fused_end = end;
    levada_node_path(w->run, at, one->path, sizeof one->path);
    return LEVADA_OK;
}

/* Adds the stages that waited for the records after the stage that fetches them. */
static levada_status plan_resume(plan_work *w, levada_error *err)
{
    if (w->npostponed == 0) return LEVADA_OK;
    LEVADA_TRY(levada_fused_create(w->run->threads, &w->fused, err));
    for (int64_t i = 0; i < w->npostponed; i++) {
        const plan_postponed *one = &w->postponed[i];

        LEVADA_TRY(levada_fused_add(w->fused, one->at, &one->context, one->path, err));
    }
    w->npostponed = 0;
    return LEVADA_OK;
}

static levada_status plan_extend_fused(plan_work *w, const levada_dataset *at, bool end,
                                       levada_error *err)
{
    levada_context context = levada_node_context(w->run, at);
    char           path[LEVADA_STATE_PATH];

    if (plan_has_numbers(w)) return plan_postpone(w, at, end, err);
    if (!w->fused) LEVADA_TRY(levada_fused_create(w->run->threads, &w->fused, err));
    context.fused_end = w->end_only = end;
    w->top = at;
    w->position = w->run->planned.position;
    levada_node_path(w->run, at, path, sizeof path);
    return levada_fused_add(w->fused, at, &context, path, err);
}

/* Sizes the ring of the stages that end here, for a stage that only reads ahead, which makes no
 * node. */
static levada_status plan_read_ahead(plan_work *w, const levada_dataset *at, levada_error *err)
{
    if (plan_has_numbers(w)) return LEVADA_OK; /* nothing is read there */
    w->window_bytes = 0;
    levada_op_core(at->op)->read_ahead(at->args, &w->window, &w->window_bytes);
    if (!w->fused) LEVADA_TRY(levada_fused_create(w->run->threads, &w->fused, err));
    w->top = at;
    w->end_only = false;
    w->position = w->run->planned.position;
    return LEVADA_OK;
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

static levada_status plan_serial(plan_work *w, const levada_dataset *at, levada_error *err)
{
    const levada_stage_def *def = &at->op->def.stage;
    levada_node            *node = NULL;

    LEVADA_TRY(plan_keeps(w->feeds, def->name, err));
    LEVADA_TRY(plan_close_fused(w, err));
    LEVADA_TRY(levada_node_stage(w->run, at, w->own.stage == at ? &w->own : NULL, &w->below, &node,
                                 err));
    w->below = node;
    if (w->own.stage == at) {
        w->own.stage = NULL;
        LEVADA_TRY(plan_resume(w, err));
    }
    if (levada_node_fed(node)) w->feeds = def->name;
    if (w->run->inner) LEVADA_TRY(plan_keeps(w->feeds, w->run->inner->name, err));
    return def->apply ? plan_extend_fused(w, at, true, err) : LEVADA_OK;
}

static levada_status plan_stage(plan_work *w, const levada_dataset *at, levada_error *err)
{
    const levada_stage_def *def = &at->op->def.stage;

    if (at->op->family == LEVADA_FAMILY_DECODER) {
        /* One that measures has to see its strings before it pulls as many as it wants. */
        if (levada_op_decoder(at->op)->measure) LEVADA_TRY(plan_close_fused(w, err));
        return plan_extend_fused(w, at, false, err);
    }
    if (def->mode != LEVADA_MODE_PURE) return plan_serial(w, at, err);
    if (!levada_op_core(at->op)->read_ahead) return plan_extend_fused(w, at, false, err);
    LEVADA_TRY(plan_keeps(w->feeds, def->name, err));
    return plan_read_ahead(w, at, err);
}

static levada_status plan_combiner(plan_work *w, const levada_dataset *at, levada_error *err)
{
    levada_node **in = levada_alloc_zero((size_t)at->ninputs * sizeof(*in) + 1);
    levada_status st = LEVADA_OK;

    if (!in) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a combiner");
    for (int32_t i = 0; st == LEVADA_OK && i < at->ninputs; i++) {
        plan_work branch = { .run = w->run, .tickets = w->tickets, .own = w->own };

        st = plan_open(&branch, at->inputs[i], err);
        if (st == LEVADA_OK) st = plan_keeps(branch.feeds, at->op->name, err);
        in[i] = branch.below;
        branch.below = NULL;
        plan_clear(&branch);
    }
    if (st == LEVADA_OK) st = plan_visit(w->run, at, err);
    if (st == LEVADA_OK) st = levada_node_combiner(w->run, at, in, at->ninputs, &w->below, err);
    for (int32_t i = 0; i < at->ninputs; i++) levada_node_destroy(&in[i]);
    levada_free(in);
    return st;
}

/* Looks for a stage with ranks, which decides what is read upstream of it. */
static levada_status plan_look_for_ranks(plan_work *w, const levada_dataset *at, levada_error *err)
{
    levada_own own;

    if (at->op->family != LEVADA_FAMILY_STAGE || w->run->inner) return LEVADA_OK;
    LEVADA_TRY(levada_own_describe(at, w->run->skips.policy.skip, &own, err));
    if (own.stage) w->own = own;
    return LEVADA_OK;
}

static levada_status plan_gather(plan_work *w, const levada_dataset *at, levada_error *err)
{
    if (at->op->family == LEVADA_FAMILY_COMBINER) return plan_combiner(w, at, err);
    if (at->ninputs) LEVADA_TRY(plan_look_for_ranks(w, at, err));
    if (at->ninputs) LEVADA_TRY(plan_gather(w, at->inputs[0], err));
    LEVADA_TRY(plan_visit(w->run, at, err));
    if (levada_op_numbered(at->op)) {
        return levada_node_numbered(w->run, at, w->own.stage ? &w->own : NULL, &w->below, err);
    }
    if (at->op->family == LEVADA_FAMILY_SOURCE) {
        return levada_node_source(w->run, at, &w->below, err);
    }
    if (at->op->family == LEVADA_FAMILY_FORMAT) {
        LEVADA_TRY(levada_node_format(w->run, at, w->own.stage ? &w->own : NULL, &w->below, err));
        return levada_op_decoder(at->op) ? plan_extend_fused(w, at, true, err) : LEVADA_OK;
    }
    return plan_stage(w, at, err);
}

static levada_status plan_open(plan_work *w, const levada_dataset *at, levada_error *err)
{
    LEVADA_TRY(plan_gather(w, at, err));
    return plan_close_fused(w, err);
}

/* Makes a ring for files without a stage, so that threads may read ahead there too. Without threads
 * they get it for its path, so that a state fits any number of threads. */
static levada_status plan_read_files(plan_work *w, const levada_dataset *at, levada_error *err)
{
    if (!w->tickets || at->op->family != LEVADA_FAMILY_FORMAT) return LEVADA_OK;
    if (levada_op_decoder(at->op)) return LEVADA_OK; /* it has one, for its columns */
    LEVADA_TRY(levada_fused_create(w->run->threads, &w->fused, err));
    w->top = at;
    w->end_only = true;
    w->position = w->run->planned.position;
    return plan_close_fused(w, err);
}

levada_status levada_plan_open(levada_run *run, const levada_dataset *dataset, const char *prefix,
                               bool tickets, levada_node **out, levada_error *err)
{
    plan_work     w = { .run = run, .tickets = tickets };
    const char   *prefix_before = run->prefix;
    levada_plan_position before = run->planned;
    levada_status st;

    run->prefix = prefix;
    run->planned.first = run->planned.n;
    st = plan_open(&w, dataset, err);
    if (st == LEVADA_OK) st = plan_read_files(&w, dataset, err);
    run->prefix = prefix_before;
    before.names = run->planned.names; /* may have moved */
    before.capacity = run->planned.capacity;
    run->planned = before;
    if (st == LEVADA_OK) {
        *out = w.below;
        w.below = NULL;
    }
    plan_clear(&w);
    return st;
}
