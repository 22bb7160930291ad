/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SERIAL stages as nodes.
 */
#include "base/alloc.h"
#include "run/stage_state.h"
#include "run/plan.h"

#include <string.h>

static const levada_stage_def *stage_def(const levada_node *it) { return &it->at->op->def.stage; }

static levada_status stage_next(levada_node *it, levada_block **out, levada_error *err)
{
    return stage_def(it)->next(levada_stage_state_of(it), it->at->args, it->inputs[0], out, err);
}

static levada_status stage_open(levada_node *it, void *state, levada_error *err)
{
    const levada_stage_def *def = stage_def(it);

    return def->open ? def->open(state, it->at->args, &it->context, err) : LEVADA_OK;
}

/* A SERIAL stage that is not FREE emits records of its input unchanged, unless its options add
 * columns. */
static bool stage_rereadable(const levada_node *it)
{
    const levada_context *c = &it->context;
    bool same = !c->in || !c->out || c->in == c->out || levada_spec_equal(c->in, c->out);

    return same && stage_def(it)->rows != LEVADA_ROWS_FREE &&
           levada_node_rereadable(it->inputs[0]);
}

static levada_status stage_reread(levada_node *it, const levada_origin *origins, int64_t n,
                                  levada_block **out, levada_error *err)
{
    return levada_node_reread(it->inputs[0], origins, n, out, err);
}

static levada_status stage_feed(levada_node *it, const levada_block *back, levada_error *err)
{
    if (!it->feeding) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "'%s' does not take blocks back",
                           it->at->op->name);
    }
    return stage_def(it)->feed(levada_stage_state_of(it), it->at->args, back, err);
}

static bool stage_take_back(levada_node *it)
{
    if (!it->feeding || !stage_def(it)->take_back) return false;
    stage_def(it)->take_back(levada_stage_state_of(it));
    return true;
}

static const levada_node_ops stage_ops = {
    .next = stage_next,
    .feed = stage_feed,
    .take_back = stage_take_back,
    .save = levada_stage_state_save,
    .restore = levada_stage_state_restore,
    .rewind = levada_stage_state_rewind,
    .rereadable = stage_rereadable,
    .reread = stage_reread,
    .cancel = levada_stage_state_cancel,
    .close = levada_stage_state_close,
    .hooks = true,
};

#define STAGE_PASSES 1000003 /* at most, and of a stage that repeats its input without an end */

/* Passes of the input for each one of the stage. Without an end they meet those of the next one
 * some day; a number that is odd lets the last bits, which origins have, differ for long. */
static int64_t stage_passes(const levada_dataset *at)
{
    const levada_stage_def *def = &at->op->def.stage;
    int64_t                 n = def->passes ? def->passes(at->args) : 1;

    if (n < 1) return 1;
    return n < STAGE_PASSES ? n : STAGE_PASSES;
}

levada_status levada_node_stage(levada_run *run, const levada_dataset *at, levada_node **in,
                                levada_node **out, levada_error *err)
{
    const levada_stage_def   *def = &at->op->def.stage;
    const levada_stage_hooks hooks = LEVADA_STAGE_HOOKS(def, stage_open);
    levada_node  *it = NULL;
    levada_status st;

    LEVADA_TRY(levada_node_create(run, at, &stage_ops, &it, err));
    it->version = def->state_version;
    it->passes = stage_passes(at);
    if (at->middle) it->edge.spec = at->middle;
    st = levada_node_adopt(it, in, 1, err);
    if (st == LEVADA_OK && def->feeds) st = def->feeds(at->args, &it->fed, err);
    it->feeding = def->feed && (it->fed || !def->feeds);
    if (st == LEVADA_OK) st = levada_stage_state_open(it, &hooks, err);
    if (st != LEVADA_OK) {
        levada_error_wrap(err, "%s", at->op->name);
        levada_node_destroy(&it);
        return st;
    }
    *out = it;
    return LEVADA_OK;
}
