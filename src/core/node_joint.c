/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joints: they run like SERIAL stages, on inputs that they pull themselves.
 */
#include "base/alloc.h"
#include "core/iter_priv.h"

#include <string.h>

typedef struct joint_node {
    bool         opened;
    levada_mutex lock; /* cancel() comes from any thread: not while state is made */
    /* -- guarded by lock */
    bool live;
    _Alignas(64) uint8_t state[];
} joint_node;

static const levada_joint_def *joint_def(const levada_iter *it)
{
    return &it->at->op->def.joint;
}

static void *joint_state(const levada_iter *it) { return ((joint_node *)it->self)->state; }

static levada_status joint_memory(levada_iter *it, size_t state_size, levada_error *err)
{
    joint_node   *s = levada_alloc_aligned(64, sizeof *s + state_size);
    levada_status st;

    if (!s) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a joint");
    memset(s, 0, sizeof *s + state_size);
    st = levada_mutex_init(&s->lock, err);
    if (st == LEVADA_OK) {
        it->self = s;
    } else {
        levada_free(s);
    }
    return st;
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
    joint_node             *s = it->self;

    memset(s->state, 0, def->state_size);
    s->opened = true;
    if (def->open) {
        LEVADA_TRY(def->open(s->state, it->at->args, &it->context, it->inputs, it->ninputs, err));
    }
    levada_mutex_lock(&s->lock);
    s->live = true;
    if (def->cancel && atomic_load(&it->run->cancelled)) def->cancel(s->state);
    levada_mutex_unlock(&s->lock);
    return LEVADA_OK;
}

static void joint_close_state(levada_iter *it)
{
    joint_node *s = it->self;

    levada_mutex_lock(&s->lock);
    s->live = false;
    levada_mutex_unlock(&s->lock);
    if (s->opened && joint_def(it)->close) joint_def(it)->close(s->state);
    s->opened = false;
}

static void joint_cancel(levada_iter *it)
{
    joint_node *s = it->self;

    if (!joint_def(it)->cancel) return;
    levada_mutex_lock(&s->lock);
    if (s->live) joint_def(it)->cancel(s->state);
    levada_mutex_unlock(&s->lock);
}

static levada_status joint_rewind(levada_iter *it, levada_error *err)
{
    joint_close_state(it);
    it->context.opening++;
    return joint_open(it, err);
}

static void joint_close(levada_iter *it)
{
    if (!it->self) return;
    joint_close_state(it);
    levada_mutex_clear(&((joint_node *)it->self)->lock);
    levada_free(it->self);
}

static const levada_node_ops joint_ops = {
    .next = joint_next,
    .save = joint_save,
    .restore = joint_restore,
    .rewind = joint_rewind,
    .cancel = joint_cancel,
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
