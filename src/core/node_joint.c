/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joints: they run like SERIAL stages, on inputs that they pull themselves.
 */
#include "core/hosted.h"

static const levada_joint_def *joint_def(const levada_iter *it)
{
    return &it->at->op->def.joint;
}

static levada_status joint_next(levada_iter *it, levada_block **out, levada_error *err)
{
    return joint_def(it)->next(levada_hosted_state(it), it->at->args, out, err);
}

static levada_status joint_open(levada_iter *it, void *state, levada_error *err)
{
    const levada_joint_def *def = joint_def(it);

    if (!def->open) return LEVADA_OK;
    return def->open(state, it->at->args, &it->context, it->inputs, it->ninputs, err);
}

static const levada_node_ops joint_ops = {
    .next = joint_next,
    .save = levada_hosted_save,
    .restore = levada_hosted_restore,
    .rewind = levada_hosted_rewind,
    .cancel = levada_hosted_cancel,
    .close = levada_hosted_close,
};

levada_status levada_node_joint(levada_run *run, const levada_dataset *at, levada_iter **in,
                                int32_t nin, levada_iter **out, levada_error *err)
{
    const levada_joint_def   *def = &at->op->def.joint;
    const levada_hosted_hooks hooks = LEVADA_HOSTED_HOOKS(def, joint_open);
    levada_iter  *it = NULL;
    levada_status st;

    LEVADA_TRY(levada_node_create(run, at, &joint_ops, &it, err));
    it->version = def->state_version;
    st = levada_node_adopt(it, in, nin, err);
    if (st == LEVADA_OK) st = levada_hosted_open(it, &hooks, err);
    if (st != LEVADA_OK) {
        levada_error_wrap(err, "%s", at->op->name);
        levada_node_destroy(&it);
        return st;
    }
    *out = it;
    return LEVADA_OK;
}
