/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run of PURE stages as a node: with a crew by tickets, else on whoever pulls.
 */
#include "base/alloc.h"
#include "core/crew.h"

#include <string.h>

static levada_joint *chain_joint(const levada_iter *it) { return it->self; }

static levada_status chain_next(levada_iter *it, levada_block **out, levada_error *err)
{
    levada_joint *j = it->self;
    levada_block *in = NULL;
    int64_t       records = -j->delivered; /* which only whoever takes results changes */
    levada_status st;

    if (it->run->crew && j->ring) {
        LEVADA_TRY(levada_crew_take(it->run->crew, j, out, err));
        records += j->delivered;
    } else {
        LEVADA_TRY(levada_iter_next(it->inputs[0], &in, err));
        records = levada_block_rows(in);
        st = levada_chain_apply(j->chain, it->run, 0, in, out, err);
        if (st == LEVADA_AGAIN) levada_node_unread(it->inputs[0], &in);
        levada_block_unref(&in);
        if (st != LEVADA_OK) return st;
    }
    return levada_node_settle(it, records, out, err);
}

static levada_status chain_save(levada_iter *it, levada_state_writer *to, levada_error *err)
{
    levada_joint *j = it->self;

    if (it->run->crew && j->ring) return levada_crew_save(it->run->crew, j, to, err);
    return levada_node_save(it->inputs[0], to, err);
}

static void chain_halt(levada_iter *it)
{
    levada_joint *j = it->self;

    if (it->run->crew && j->ring) levada_crew_halt(it->run->crew, j);
}

/* Halted before: nothing is on its way. */
static levada_status chain_rewind(levada_iter *it, levada_error *err)
{
    levada_joint *j = it->self;

    (void)err;
    if (it->run->crew && j->ring) levada_crew_reset(it->run->crew, j);
    return LEVADA_OK;
}

static bool chain_rereadable(const levada_iter *it)
{
    return levada_chain_rereadable(chain_joint(it)->chain) &&
           levada_node_rereadable(it->inputs[0]);
}

static levada_status chain_reread(levada_iter *it, const levada_origin *origins, int64_t n,
                                  levada_block **out, levada_error *err)
{
    levada_block *in = NULL;
    levada_status st;

    LEVADA_TRY(levada_node_reread(it->inputs[0], origins, n, &in, err));
    st = levada_chain_apply(chain_joint(it)->chain, it->run, 0, in, out, err);
    levada_block_unref(&in);
    return st;
}

static void chain_cancel(levada_iter *it) { levada_chain_cancel(chain_joint(it)->chain); }

static void chain_close(levada_iter *it)
{
    if (!it->self) return;
    levada_joint_clear(it->self);
    levada_free(it->self);
}

static const levada_node_ops chain_ops = {
    .next = chain_next,
    .save = chain_save,
    .halt = chain_halt,
    .rewind = chain_rewind,
    .rereadable = chain_rereadable,
    .reread = chain_reread,
    .cancel = chain_cancel,
    .close = chain_close,
};

levada_chain *levada_node_is_chain(const levada_iter *it)
{
    return it->ops == &chain_ops ? chain_joint(it)->chain : NULL;
}

static levada_status chain_tickets(levada_run *run, levada_joint *j, int64_t window,
                                   int64_t window_bytes, levada_error *err)
{
    j->window = window > 0 ? window : 2 * (int64_t)run->threads + 2;
    j->window_bytes = window_bytes > 0 ? window_bytes : INT64_C(256) << 20;
    j->ring = levada_alloc_zero((size_t)j->window * sizeof *j->ring);
    if (!j->ring) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for tickets");
    levada_crew_add(run->crew, j);
    return LEVADA_OK;
}

levada_status levada_node_chain(levada_run *run, const levada_dataset *at, levada_chain **chain,
                                int64_t window, int64_t window_bytes, bool tickets,
                                levada_iter **in, levada_iter **out, levada_error *err)
{
    levada_iter  *it = NULL;
    levada_joint *j;
    levada_status st;

    LEVADA_TRY(levada_node_create(run, at, &chain_ops, &it, err));
    it->saves_inputs = true;
    if (levada_chain_spec(*chain)) it->spec = levada_chain_spec(*chain);
    j = levada_alloc_zero(sizeof *j);
    it->self = j;
    if (j) {
        j->node = it;
        j->chain = *chain;
        *chain = NULL;
        st = levada_node_adopt(it, in, 1, err);
    } else {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a stage");
    }
    if (st == LEVADA_OK && tickets && run->crew) {
        st = chain_tickets(run, j, window, window_bytes, err);
    }
    if (st != LEVADA_OK) {
        levada_node_destroy(&it);
        return st;
    }
    *out = it;
    return LEVADA_OK;
}
