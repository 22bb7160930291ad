/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run of PURE stages as a node: with a crew by tickets, else on whoever pulls.
 *
 * The pipes that a joint opens count together, and the joint comes to a record of one and then to
 * one of another. So that a bad record counts when the joint comes to it, and not when its block is
 * read, a chain in a pipe gives a block with bad records in pieces: up to the next bad record, then
 * that one by itself. To learn which they are, the stages run once over all of it.
 */
#include "base/alloc.h"
#include "core/crew.h"
#include "tensor/block_priv.h"

#include <string.h>

typedef struct chain_node {
    levada_joint joint;
    /* -- in a pipe */
    levada_cursor in;
    int64_t      *bad; /* rows of the block that are rejected, ascending; NULL = not known */
    int32_t       nbad;
} chain_node;

static levada_joint *chain_joint(const levada_node *it) { return &((chain_node *)it->self)->joint; }

/* -- in pieces */

/* What stands for a batch is not cut. */
static bool chain_cuts(const levada_node *it)
{
    const levada_node *in = it->inputs[0];

    return it->outer && !in->at->middle &&
           !(levada_spec_flags_of(in->edge.spec) & LEVADA_SPEC_BATCHED);
}

static void chain_clear(chain_node *c)
{
    levada_cursor_clear(&c->in);
    levada_free(c->bad);
    c->bad = NULL;
    c->nbad = 0;
}

static levada_status chain_remember(chain_node *c, const levada_block *made, levada_error *err)
{
    c->bad = levada_alloc((size_t)made->nrejects * sizeof *c->bad);
    if (!c->bad) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory to skip records");
    for (int32_t i = 0; i < made->nrejects; i++) {
        c->bad[c->nbad++] = c->in.row + made->rejects[i].row;
    }
    return LEVADA_OK;
}

/* The first row behind the piece that begins at the cursor. */
static int64_t chain_piece_end(const chain_node *c)
{
    int32_t i = 0;

    while (i < c->nbad && c->bad[i] < c->in.row) i++;
    if (i == c->nbad) return c->in.block->n;
    return c->bad[i] == c->in.row ? c->in.row + 1 : c->bad[i];
}

static levada_status chain_apply_piece(levada_node *it, int64_t end, levada_block **out,
                                       levada_error *err)
{
    const chain_node *c = it->self;
    levada_block     *piece = NULL;
    levada_status     st;

    LEVADA_TRY(levada_block_slice(NULL, c->in.block, c->in.row, end - c->in.row, &piece, err));
    st = levada_chain_apply(c->joint.chain, it->run, 0, piece, out, err);
    levada_block_unref(&piece);
    return st;
}

static levada_status chain_next_piece(levada_node *it, levada_block **out, levada_error *err)
{
    chain_node   *c = it->self;
    levada_block *made = NULL;
    int64_t       end;

    LEVADA_TRY(levada_cursor_fill(&c->in, it->inputs[0], err));
    end = chain_piece_end(c);
    LEVADA_TRY(chain_apply_piece(it, end, &made, err));
    if (made->nrejects && !c->bad) {
        levada_status st = chain_remember(c, made, err);

        levada_block_unref(&made);
        if (st != LEVADA_OK) return st;
        end = chain_piece_end(c);
        LEVADA_TRY(chain_apply_piece(it, end, &made, err));
    }
    LEVADA_TRY(levada_node_settle(it, end - c->in.row, &made, err));
    c->in.row = end; /* not behind what failed: a joint may be saved before it tells of that */
    if (end == c->in.block->n) chain_clear(c);
    *out = made;
    return LEVADA_OK;
}

/* -- as a node */

static levada_status chain_next(levada_node *it, levada_block **out, levada_error *err)
{
    levada_joint *j = chain_joint(it);
    levada_block *in = NULL;
    int64_t       records = -j->delivered; /* which only whoever takes results changes */
    levada_status st;

    if (chain_cuts(it)) return chain_next_piece(it, out, err);
    if (it->run->crew && j->ring) {
        LEVADA_TRY(levada_crew_take(it->run->crew, j, out, err));
        records += j->delivered;
    } else {
        LEVADA_TRY(levada_input_next(it->inputs[0], &in, err));
        records = levada_block_rows(in);
        st = levada_chain_apply(j->chain, it->run, 0, in, out, err);
        if (st != LEVADA_OK) levada_node_unread(it->inputs[0], &in); /* part of the state */
        levada_block_unref(&in);
        if (st != LEVADA_OK) return st;
    }
    st = levada_node_settle(it, records, out, err);
    if (st != LEVADA_OK) it->lost = true; /* the block, some of whose bad records were counted */
    return st;
}

#define CHAIN_REST "#chain.rest" /* behind a bad record; where there is some */

static levada_status chain_save(levada_node *it, levada_state_writer *to, levada_error *err)
{
    levada_joint     *j = chain_joint(it);
    const chain_node *c = it->self;

    if (it->run->crew && j->ring) return levada_crew_save(it->run->crew, j, to, err);
    if (c->in.block) LEVADA_TRY(levada_cursor_save(&c->in, to, CHAIN_REST, err));
    return levada_node_save(it->inputs[0], to, err);
}

static levada_status chain_restore(levada_node *it, levada_state_reader *from, levada_error *err)
{
    chain_node *c = it->self;

    if (!levada_state_has(from, CHAIN_REST ".n")) return LEVADA_OK;
    chain_clear(c);
    return levada_cursor_restore(&c->in, from, CHAIN_REST, err);
}

static levada_status chain_halt(levada_node *it)
{
    levada_joint *j = chain_joint(it);

    return it->run->crew && j->ring ? levada_crew_halt(it->run->crew, j) : LEVADA_OK;
}

/* Halted before: nothing is on its way. */
static levada_status chain_rewind(levada_node *it, levada_error *err)
{
    levada_joint *j = chain_joint(it);

    (void)err;
    chain_clear(it->self);
    if (it->run->crew && j->ring) levada_crew_reset(it->run->crew, j);
    return LEVADA_OK;
}

static bool chain_rereadable(const levada_node *it)
{
    return levada_chain_rereadable(chain_joint(it)->chain) &&
           levada_node_rereadable(it->inputs[0]);
}

static levada_status chain_reread(levada_node *it, const levada_origin *origins, int64_t n,
                                  levada_block **out, levada_error *err)
{
    levada_block *in = NULL;
    levada_status st;

    LEVADA_TRY(levada_node_reread(it->inputs[0], origins, n, &in, err));
    st = levada_chain_apply(chain_joint(it)->chain, it->run, 0, in, out, err);
    levada_block_unref(&in);
    return st;
}

static void chain_cancel(levada_node *it) { levada_chain_cancel(chain_joint(it)->chain); }

static void chain_close(levada_node *it)
{
    if (!it->self) return;
    chain_clear(it->self);
    levada_joint_clear(chain_joint(it));
    levada_free(it->self);
}

static const levada_node_ops chain_ops = {
    .next = chain_next,
    .save = chain_save,
    .restore = chain_restore,
    .halt = chain_halt,
    .rewind = chain_rewind,
    .rereadable = chain_rereadable,
    .reread = chain_reread,
    .cancel = chain_cancel,
    .close = chain_close,
};

levada_chain *levada_node_is_chain(const levada_node *it)
{
    return it->ops == &chain_ops ? chain_joint(it)->chain : NULL;
}

const levada_losses *levada_node_delivered(const levada_node *it)
{
    const levada_joint *j = it->ops == &chain_ops ? chain_joint(it) : NULL;

    return j && j->ring && levada_crew_runs(it->run->crew) ? &j->losses : NULL;
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
                                levada_node **in, levada_node **out, levada_error *err)
{
    levada_node  *it = NULL;
    chain_node   *c;
    levada_joint *j;
    levada_status st;

    LEVADA_TRY(levada_node_create(run, at, &chain_ops, &it, err));
    it->saves_inputs = true;
    if (levada_chain_spec(*chain)) it->edge.spec = levada_chain_spec(*chain);
    c = levada_alloc_zero(sizeof *c);
    it->self = c;
    if (c) {
        j = &c->joint;
        j->node = it;
        j->chain = *chain;
        *chain = NULL;
        st = levada_node_adopt(it, in, 1, err);
    } else {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a stage");
    }
    if (st == LEVADA_OK && chain_cuts(it)) levada_chain_carry(c->joint.chain);
    if (st == LEVADA_OK && tickets && run->crew) {
        st = chain_tickets(run, &c->joint, window, window_bytes, err);
    }
    if (st != LEVADA_OK) {
        levada_node_destroy(&it);
        return st;
    }
    *out = it;
    return LEVADA_OK;
}
