/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joints: they run like SERIAL stages, on inputs that they pull themselves.
 */
#include "base/alloc.h"
#include "core/iter_priv.h"

#include <string.h>

typedef struct joint_node {
    bool opened;
    _Alignas(64) uint8_t state[];
} joint_node;

static const levada_joint_def *joint_def(const levada_iter *it)
{
    return &it->at->op->def.joint;
}

static void *joint_state(const levada_iter *it) { return ((joint_node *)it->self)->state; }

static levada_status joint_memory(levada_iter *it, size_t state_size, levada_error *err)
{
    it->self = levada_alloc_aligned(64, sizeof(joint_node) + state_size);
    if (!it->self) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a joint");
    memset(it->self, 0, sizeof(joint_node) + state_size);
    return LEVADA_OK;
}

static levada_status joint_next(levada_iter *it, levada_block **out, levada_error *err)
{
    return joint_def(it)->next(joint_state(it), it->at->args, out, err);
}

static levada_status joint_save(levada_iter *it, levada_state_writer *to, levada_error *err)
{
    LEVADA_TRY(levada_state_put_i64(to, "#ended", it->ended, err));
    LEVADA_TRY(levada_state_put_i64(to, "#opening", it->context.opening, err));
    return joint_def(it)->save ? joint_def(it)->save(joint_state(it), to, err) : LEVADA_OK;
}

static levada_status joint_restore(levada_iter *it, levada_state_reader *from, levada_error *err)
{
    int64_t ended;

    LEVADA_TRY(levada_state_get_i64(from, "#ended", &ended, err));
    LEVADA_TRY(levada_state_get_i64(from, "#opening", &it->context.opening, err));
    if (joint_def(it)->restore) LEVADA_TRY(joint_def(it)->restore(joint_state(it), from, err));
    it->ended = ended != 0;
    return LEVADA_OK;
}

static levada_status joint_open(levada_iter *it, levada_error *err)
{
    const levada_joint_def *def = joint_def(it);

    memset(joint_state(it), 0, def->state_size);
    ((joint_node *)it->self)->opened = true;
    return def->open ? def->open(joint_state(it), it->at->args, &it->context, it->inputs,
                                 it->ninputs, err)
                     : LEVADA_OK;
}

static void joint_close_state(levada_iter *it)
{
    joint_node *s = it->self;

    if (s && s->opened && joint_def(it)->close) joint_def(it)->close(s->state);
    if (s) s->opened = false;
}

static levada_status joint_rewind(levada_iter *it, levada_error *err)
{
    joint_close_state(it);
    it->context.opening++;
    return joint_open(it, err);
}

static void joint_close(levada_iter *it)
{
    joint_close_state(it);
    levada_free(it->self);
}

static const levada_node_ops joint_ops = {
    .next = joint_next,
    .save = joint_save,
    .restore = joint_restore,
    .rewind = joint_rewind,
    .close = joint_close,
};

levada_status levada_node_joint(levada_run *run, const levada_dataset *at, levada_iter **in,
                                int32_t nin, levada_iter **out, levada_error *err)
{
    levada_iter  *it = NULL;
    levada_status st;

    LEVADA_TRY(levada_node_create(run, at, &joint_ops, &it, err));
    it->version = at->op->def.joint.state_version;
    st = levada_node_adopt(it, in, nin, err);
    if (st == LEVADA_OK) st = joint_memory(it, at->op->def.joint.state_size, err);
    if (st == LEVADA_OK) st = joint_open(it, err);
    if (st != LEVADA_OK) {
        levada_error_wrap(err, "%s", at->op->name);
        levada_node_destroy(&it);
        return st;
    }
    *out = it;
    return LEVADA_OK;
}
