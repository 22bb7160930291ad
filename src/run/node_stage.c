/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SERIAL stages as nodes.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "run/stage_state.h"
#include "run/plan.h"
#include "tensor/block_priv.h"

#include <string.h>

static const levada_stage_def *stage_def(const levada_node *it) { return &it->at->op->def.stage; }

static levada_status stage_next(levada_node *it, levada_hint hint, levada_item *out,
                                levada_error *err)
{
    (void)hint;
    return stage_def(it)->next(levada_stage_state_of(it), it->at->args, it->inputs[0],
                               &out->block, err);
}

static levada_status stage_open(levada_node *it, void *state, levada_error *err)
{
    const levada_stage_def *def = stage_def(it);

    return def->open ? def->open(state, it->at->args, &it->context, err) : LEVADA_OK;
}

/* Returns true if records can be read again through the stage, unless its options add columns. */
static bool stage_rereadable(const levada_node *it)
{
    const levada_context *c = &it->context;
    bool same = !c->in || !c->out || c->in == c->out || levada_spec_equal(c->in, c->out);

    return same && levada_traits_unchanged(&it->at->op->traits) &&
           levada_node_rereadable(it->inputs[0]);
}

static levada_status stage_read(levada_node *it, const levada_origin *origins, int64_t n,
                                levada_read how, levada_block **out, levada_error *err)
{
    return levada_node_read(it->inputs[0], origins, n, how, out, err);
}

static const levada_node_ops stage_ops = {
    .kind = LEVADA_NODE_STAGE,
    .next = stage_next,
    .save = levada_stage_state_save,
    .restore = levada_stage_state_restore,
    .rewind = levada_stage_state_rewind,
    .cancel = levada_stage_state_cancel,
    .close = levada_stage_state_close,
    .access = &(const levada_access_ops){ .possible = stage_rereadable, .read = stage_read },
};

/* -- blocks that the consumer passes back: without tickets, nothing runs ahead of it */

static levada_node *stage_on_top(const levada_node *it)
{
    while (it->ops->kind == LEVADA_NODE_FUSED) it = it->inputs[0];
    return (levada_node *)(uintptr_t)it;
}

static bool stage_is_fed(const levada_node *it)
{
    return it->ops->kind == LEVADA_NODE_STAGE && it->fed;
}

const levada_node *levada_node_fed(const levada_node *it)
{
    it = stage_on_top(it);
    return stage_is_fed(it) ? it : NULL;
}

levada_status levada_node_feed(levada_node *it, const levada_block *back, levada_error *err)
{
    levada_status st;

    it = stage_on_top(it);
    if (stage_is_fed(it)) {
        st = levada_op_core(it->at->op)->feed(levada_stage_state_of(it), it->at->args, back, err);
    } else {
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "'%s' accepts no blocks back; only unroll with layout=ready does",
                         it->at->op->name);
    }
    if (st != LEVADA_OK) levada_error_place(err, it->path, NULL, -1, -1);
    return st;
}

bool levada_node_take_back(levada_node *it)
{
    it = stage_on_top(it);
    if (!stage_is_fed(it) || !levada_op_core(it->at->op)->take_back) return false;
    levada_op_core(it->at->op)->take_back(levada_stage_state_of(it));
    return true;
}

/* Notes what the stage reads if it batches for ranks. */
static levada_status stage_note_reads(levada_node *it, const levada_keyed *keyed,
                                      levada_error *err)
{
    char line[LEVADA_INDEX_WHY + 64];

    levada_keyed_print(keyed, line, sizeof line);
    it->shown.reads = levada_strdup(line);
    return it->shown.reads
               ? LEVADA_OK
               : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a stage");
}

levada_status levada_node_stage(levada_run *run, const levada_step *step, levada_node **in,
                                levada_node **out, levada_error *err)
{
    const levada_dataset     *at = step->at;
    const levada_stage_def   *def = &at->op->def.stage;
    const levada_stage_core  *core = levada_op_core(at->op);
    const levada_stage_hooks hooks = LEVADA_STAGE_HOOKS(def, stage_open);
    levada_node  *it = NULL;
    levada_status st;

    LEVADA_TRY(levada_node_create(run, step, &stage_ops, &it, err));
    it->version = def->state_version;
    if (at->middle) it->edge.spec = at->middle;
    st = levada_node_adopt(it, in, 1, err);
    if (st == LEVADA_OK && levada_node_emits_keys(it->inputs[0])) {
        it->edge.spec = it->inputs[0]->edge.spec;
    }
    if (st == LEVADA_OK && step->keyed) st = stage_note_reads(it, step->keyed, err);
    if (st == LEVADA_OK && core->feeds) st = core->feeds(at->args, &it->fed, err);
    if (st == LEVADA_OK) st = levada_stage_state_open(it, &hooks, err);
    if (st != LEVADA_OK) {
        levada_error_wrap(err, "%s", at->op->name);
        levada_node_destroy(&it);
        return st;
    }
    *out = it;
    return LEVADA_OK;
}
