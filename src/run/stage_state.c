/* SPDX-License-Identifier: Apache-2.0 */
#include "run/stage_state.h"

#include "base/alloc.h"

#include <string.h>

void *levada_stage_state_of(const levada_node *it)
{ return ((levada_stage_state *)it->self)->state; }

static levada_status stage_state_open(levada_node *it, levada_error *err)
{
    levada_stage_state *h = it->self;

    memset(h->state, 0, h->hooks.state_size);
    h->opened = true;
    LEVADA_TRY(h->hooks.open(it, h->state, err));
    levada_mutex_lock(&h->lock);
    h->live = true;
    if (h->hooks.cancel && levada_run_is_cancelled(it->run)) h->hooks.cancel(h->state);
    levada_mutex_unlock(&h->lock);
    return LEVADA_OK;
}

static void stage_state_close(levada_stage_state *h)
{
    levada_mutex_lock(&h->lock);
    h->live = false;
    levada_mutex_unlock(&h->lock);
    if (h->opened && h->hooks.close) h->hooks.close(h->state);
    h->opened = false;
}

levada_status levada_stage_state_open(levada_node *it, const levada_stage_hooks *hooks,
                                 levada_error *err)
{
    levada_stage_state *h = levada_alloc_zero(sizeof *h);
    void          *state = levada_alloc_aligned(64, hooks->state_size + 1);
    levada_status  st = h && state ? levada_mutex_init(&h->lock, LEVADA_LOCK_NODE, err)
                                   : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                                 "out of memory for a stage");

    if (st != LEVADA_OK) {
        levada_free(h);
        levada_free(state);
        return st;
    }
    h->hooks = *hooks;
    h->state = state;
    it->self = h;
    return stage_state_open(it, err);
}

/* -- operations */

levada_status levada_stage_state_save(levada_node *it, levada_state_writer *to, levada_error *err)
{
    const levada_stage_state *h = it->self;

    LEVADA_TRY(levada_state_put_i64(to, "#ended", it->inlet.reported == LEVADA_END, err));
    LEVADA_TRY(levada_state_put_i64(to, "#pass", it->context.pass, err));
    return h->hooks.save ? h->hooks.save(h->state, to, err) : LEVADA_OK;
}

levada_status levada_stage_state_restore(levada_node *it, levada_state_reader *from,
                                         levada_error *err)
{
    levada_stage_state *h = it->self;
    int64_t        ended;

    LEVADA_TRY(levada_state_get_count(from, "#ended", 1, &ended, err));
    LEVADA_TRY(levada_state_get_count(from, "#pass", LEVADA_COUNT_LIMIT, &it->context.pass,
                                      err));
    if (h->hooks.restore) LEVADA_TRY(h->hooks.restore(h->state, from, err));
    if (ended) levada_inlet_restore_end(&it->inlet);
    return LEVADA_OK;
}

levada_status levada_stage_state_rewind(levada_node *it, bool read_to_end, levada_error *err)
{
    (void)read_to_end;
    stage_state_close(it->self);
    return stage_state_open(it, err);
}

void levada_stage_state_cancel(levada_node *it)
{
    levada_stage_state *h = it->self;

    if (!h->hooks.cancel) return;
    levada_mutex_lock(&h->lock);
    if (h->live) h->hooks.cancel(h->state);
    levada_mutex_unlock(&h->lock);
}

void levada_stage_state_close(levada_node *it)
{
    levada_stage_state *h = it->self;

    if (!h) return;
    stage_state_close(h);
    levada_mutex_clear(&h->lock);
    levada_spec_unref(&h->keys);
    levada_free(h->state);
    levada_free(h);
}
