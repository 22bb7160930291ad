/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SERIAL stages as nodes.
 */
#include "base/alloc.h"
#include "core/iter_priv.h"

#include <string.h>

typedef struct stage_node {
    bool         opened;
    levada_mutex lock; /* cancel() comes from any thread: not while state is made */
    /* -- guarded by lock */
    bool live;
    _Alignas(64) uint8_t state[];
} stage_node;

static const levada_stage_def *stage_def(const levada_iter *it) { return &it->at->op->def.stage; }

static void *stage_state(const levada_iter *it) { return ((stage_node *)it->self)->state; }

static levada_status stage_next(levada_iter *it, levada_block **out, levada_error *err)
{
    return stage_def(it)->next(stage_state(it), it->at->args, it->inputs[0], out, err);
}

static levada_status stage_save(levada_iter *it, levada_state_writer *to, levada_error *err)
{
    LEVADA_TRY(levada_state_put_i64(to, "#ended", it->ended, err));
    LEVADA_TRY(levada_state_put_i64(to, "#opening", it->context.opening, err));
    return stage_def(it)->save ? stage_def(it)->save(stage_state(it), to, err) : LEVADA_OK;
}

static levada_status stage_restore(levada_iter *it, levada_state_reader *from, levada_error *err)
{
    int64_t ended;

    LEVADA_TRY(levada_state_get_i64(from, "#ended", &ended, err));
    LEVADA_TRY(levada_state_get_i64(from, "#opening", &it->context.opening, err));
    if (stage_def(it)->restore) LEVADA_TRY(stage_def(it)->restore(stage_state(it), from, err));
    it->ended = ended != 0;
    return LEVADA_OK;
}

static levada_status stage_open(levada_iter *it, levada_error *err)
{
    const levada_stage_def *def = stage_def(it);
    stage_node             *s = it->self;

    memset(s->state, 0, def->state_size);
    s->opened = true;
    if (def->open) LEVADA_TRY(def->open(s->state, it->at->args, &it->context, err));
    levada_mutex_lock(&s->lock);
    s->live = true;
    if (def->cancel && atomic_load(&it->run->cancelled)) def->cancel(s->state);
    levada_mutex_unlock(&s->lock);
    return LEVADA_OK;
}

static void stage_close_state(levada_iter *it)
{
    stage_node *s = it->self;

    levada_mutex_lock(&s->lock);
    s->live = false;
    levada_mutex_unlock(&s->lock);
    if (s->opened && stage_def(it)->close) stage_def(it)->close(s->state);
    s->opened = false;
}

static void stage_close(levada_iter *it)
{
    if (!it->self) return;
    stage_close_state(it);
    levada_mutex_clear(&((stage_node *)it->self)->lock);
    levada_free(it->self);
}

static levada_status stage_rewind(levada_iter *it, levada_error *err)
{
    stage_close_state(it);
    it->context.opening++;
    return stage_open(it, err);
}

/* A SERIAL stage that is not FREE gives records of its input as they are. */
static bool stage_rereadable(const levada_iter *it)
{
    return stage_def(it)->rows != LEVADA_ROWS_FREE && levada_node_rereadable(it->inputs[0]);
}

static levada_status stage_reread(levada_iter *it, const levada_origin *origins, int64_t n,
                                  levada_block **out, levada_error *err)
{
    return levada_node_reread(it->inputs[0], origins, n, out, err);
}

static void stage_cancel(levada_iter *it)
{
    stage_node *s = it->self;

    if (!stage_def(it)->cancel) return;
    levada_mutex_lock(&s->lock);
    if (s->live) stage_def(it)->cancel(s->state);
    levada_mutex_unlock(&s->lock);
}

static const levada_node_ops stage_ops = {
    .next = stage_next,
    .save = stage_save,
    .restore = stage_restore,
    .rewind = stage_rewind,
    .rereadable = stage_rereadable,
    .reread = stage_reread,
    .cancel = stage_cancel,
    .close = stage_close,
};

levada_status levada_node_adopt(levada_iter *it, levada_iter **in, int32_t n, levada_error *err)
{
    it->inputs = levada_alloc((size_t)n * sizeof(*it->inputs) + 1);
    if (!it->inputs) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a stage");
    for (int32_t i = 0; i < n; i++) {
        it->inputs[i] = in[i];
        in[i] = NULL;
    }
    it->ninputs = n;
    return LEVADA_OK;
}

static levada_status stage_memory(levada_iter *it, size_t state_size, levada_error *err)
{
    stage_node   *s = levada_alloc_aligned(64, sizeof *s + state_size);
    levada_status st;

    if (!s) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a stage");
    memset(s, 0, sizeof *s + state_size);
    st = levada_mutex_init(&s->lock, err);
    if (st == LEVADA_OK) {
        it->self = s;
    } else {
        levada_free(s);
    }
    return st;
}

levada_status levada_node_stage(levada_run *run, const levada_dataset *at, levada_iter **in,
                                levada_iter **out, levada_error *err)
{
    levada_iter  *it = NULL;
    levada_status st;

    LEVADA_TRY(levada_node_create(run, at, &stage_ops, &it, err));
    it->version = at->op->def.stage.state_version;
    if (at->middle) it->spec = at->middle;
    st = levada_node_adopt(it, in, 1, err);
    if (st == LEVADA_OK) st = stage_memory(it, at->op->def.stage.state_size, err);
    if (st == LEVADA_OK) st = stage_open(it, err);
    if (st != LEVADA_OK) {
        levada_error_wrap(err, "%s", at->op->name);
        levada_node_destroy(&it);
        return st;
    }
    *out = it;
    return LEVADA_OK;
}
