/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves of the tree that make blocks by themselves.
 */
#include "base/alloc.h"
#include "core/iter_priv.h"
#include "runtime/lock.h"
#include "tensor/block_priv.h"

#include <string.h>

typedef struct source_node {
    const levada_source_def *def;
    int32_t                  leaf, opening;
    int64_t                  given; /* records so far: their numbers */
    bool                     opened;
    levada_mutex             lock; /* cancel() comes from any thread: not while state is made */
    /* -- guarded by lock */
    bool live;
    /* The source's own state follows, aligned. */
    _Alignas(64) uint8_t state[];
} source_node;

static levada_status source_next(levada_iter *it, levada_block **out, levada_error *err)
{
    source_node *s = it->self;

    LEVADA_TRY(s->def->next(s->state, it->at->args, out, err));
    if ((*out)->kind == LEVADA_BLOCK_DATA && !(*out)->origins.each) {
        levada_origins *o = &(*out)->origins;

        memset(&o->first, 0, sizeof o->first);
        o->first.leaf = s->leaf;
        o->first.opening = s->opening;
        o->first.record = s->given;
        o->first.offset = -1;
    }
    s->given += (*out)->n;
    return LEVADA_OK;
}

static levada_status source_save(levada_iter *it, levada_state_writer *to, levada_error *err)
{
    source_node *s = it->self;

    if (!s->def->save) {
        return levada_fail(err, LEVADA_EUNIMPLEMENTED, "'%s' can't be saved", s->def->name);
    }
    LEVADA_TRY(levada_state_put_i64(to, "#given", s->given, err));
    LEVADA_TRY(levada_state_put_i64(to, "#opening", s->opening, err));
    LEVADA_TRY(levada_state_put_i64(to, "#ended", it->ended, err));
    return s->def->save(s->state, to, err);
}

static levada_status source_restore(levada_iter *it, levada_state_reader *from, levada_error *err)
{
    source_node *s = it->self;
    int64_t      given, opening, ended;

    LEVADA_TRY(levada_state_get_i64(from, "#given", &given, err));
    LEVADA_TRY(levada_state_get_i64(from, "#opening", &opening, err));
    LEVADA_TRY(levada_state_get_i64(from, "#ended", &ended, err));
    if (!s->def->restore) {
        return levada_fail(err, LEVADA_EUNIMPLEMENTED, "'%s' can't be restored", s->def->name);
    }
    LEVADA_TRY(s->def->restore(s->state, from, err));
    s->given = given;
    s->opening = (int32_t)opening;
    it->ended = ended != 0;
    return LEVADA_OK;
}

static levada_status source_open_state(levada_iter *it, levada_error *err)
{
    source_node *s = it->self;

    memset(s->state, 0, s->def->state_size);
    s->opened = true;
    if (s->def->open) LEVADA_TRY(s->def->open(s->state, it->at->args, &it->context, err));
    levada_mutex_lock(&s->lock);
    s->live = true;
    if (s->def->cancel && atomic_load(&it->run->cancelled)) s->def->cancel(s->state);
    levada_mutex_unlock(&s->lock);
    return LEVADA_OK;
}

static void source_close_state(source_node *s)
{
    levada_mutex_lock(&s->lock);
    s->live = false;
    levada_mutex_unlock(&s->lock);
    if (s->opened && s->def->close) s->def->close(s->state);
    s->opened = false;
}

static levada_status source_rewind(levada_iter *it, levada_error *err)
{
    source_node *s = it->self;

    source_close_state(s);
    s->opening++;
    s->given = 0;
    return source_open_state(it, err);
}

static bool source_rereadable(const levada_iter *it)
{
    return ((const source_node *)it->self)->def->at != NULL;
}

static levada_status source_reread(levada_iter *it, const levada_origin *origins, int64_t n,
                                   levada_block **out, levada_error *err)
{
    source_node  *s = it->self;
    int64_t      *numbers = levada_alloc((size_t)n * sizeof *numbers);
    levada_origin *each;
    levada_status st;

    if (!numbers) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory to read again");
    for (int64_t i = 0; i < n; i++) numbers[i] = origins[i].record;
    st = s->def->at(s->state, it->at->args, numbers, n, out, err);
    levada_free(numbers);
    if (st != LEVADA_OK) return st;
    levada_buffer_unref(&(*out)->origins.owner);
    st = levada_buffer_create(levada_env_pool(it->run->env), n * (int64_t)sizeof *each,
                              &(*out)->origins.owner, err);
    if (st != LEVADA_OK) {
        levada_block_unref(out);
        return st;
    }
    each = (levada_origin *)(void *)(*out)->origins.owner->data;
    memcpy(each, origins, (size_t)n * sizeof *each);
    (*out)->origins.each = each;
    return LEVADA_OK;
}

static void source_cancel(levada_iter *it)
{
    source_node *s = it->self;

    levada_mutex_lock(&s->lock);
    if (s->live && s->def->cancel) s->def->cancel(s->state);
    levada_mutex_unlock(&s->lock);
}

static void source_close(levada_iter *it)
{
    if (!it->self) return;
    source_close_state(it->self);
    levada_mutex_clear(&((source_node *)it->self)->lock);
    levada_free(it->self);
}

static void source_progress(const levada_iter *it, int64_t *done, int64_t *total)
{
    (void)it;
    *done = 0;
    *total = -1;
}

static const levada_node_ops source_ops = {
    .next = source_next,
    .save = source_save,
    .restore = source_restore,
    .rewind = source_rewind,
    .rereadable = source_rereadable,
    .reread = source_reread,
    .progress = source_progress,
    .cancel = source_cancel,
    .close = source_close,
};

int32_t levada_run_leaf(levada_run *run, levada_iter *it)
{
    if (run->leaves < LEVADA_RUN_LEAVES && !run->inner) run->leaf[run->leaves] = it;
    return run->leaves++;
}

levada_status levada_node_source(levada_run *run, const levada_dataset *at, levada_iter **out,
                                 levada_error *err)
{
    const levada_source_def *def = &at->op->def.source;
    levada_iter             *it = NULL;
    source_node             *s;
    levada_status            st;

    LEVADA_TRY(levada_node_create(run, at, &source_ops, &it, err));
    s = levada_alloc_aligned(64, sizeof *s + def->state_size);
    if (s) {
        memset(s, 0, sizeof *s);
        st = levada_mutex_init(&s->lock, err);
    } else {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a source");
    }
    if (st == LEVADA_OK) {
        s->def = def;
        s->opening = run->inner ? run->inner->opening : 0;
        s->leaf = levada_run_leaf(run, it);
        it->self = s;
        st = source_open_state(it, err);
    } else {
        levada_free(s);
    }
    if (st != LEVADA_OK) {
        levada_node_destroy(&it);
        return st;
    }
    it->version = def->state_version;
    *out = it;
    return LEVADA_OK;
}
