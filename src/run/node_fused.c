/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run of PURE stages as a node: with a worker pool by tickets, else on whoever pulls.
 *
 * The pipes that a ring opens count together, and the ring comes to a record of one and then to
 * one of another. So that a bad record counts when the ring comes to it, and not when its block is
 * read, a run of fused stages in a pipe gives a block with bad records in pieces: up to the next
 * bad record, then that one by itself. To learn which they are, the stages run once over all of it.
 */
#include "base/alloc.h"
#include "run/workers.h"
#include "run/plan.h"
#include "tensor/block_priv.h"

#include <string.h>

typedef struct fused_node {
    levada_result_ring ring;
    /* -- in a pipe */
    levada_cursor in;
    int64_t      *bad; /* rows of the block that are rejected, ascending; NULL = not known */
    int32_t       nbad;
} fused_node;

static levada_result_ring *fused_ring(const levada_node *it)
{ return &((fused_node *)it->self)->ring; }

/* -- in pieces */

/* What stands for a batch is not cut. */
static bool fused_cuts(const levada_node *it)
{
    const levada_node *in = it->inputs[0];

    return it->outer && !in->at->middle &&
           !(levada_spec_flags_of(in->edge.spec) & LEVADA_SPEC_BATCHED);
}

static void fused_clear(fused_node *c)
{
    levada_cursor_clear(&c->in);
    levada_free(c->bad);
    c->bad = NULL;
    c->nbad = 0;
}

static levada_status fused_remember(fused_node *c, const levada_block *made, levada_error *err)
{
    c->bad = levada_alloc((size_t)made->nrejects * sizeof *c->bad);
    if (!c->bad) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory to skip records");
    for (int32_t i = 0; i < made->nrejects; i++) {
        c->bad[c->nbad++] = c->in.row + made->rejects[i].row;
    }
    return LEVADA_OK;
}

/* The first row behind the piece that begins at the cursor. */
static int64_t fused_piece_end(const fused_node *c)
{
    int32_t i = 0;

    while (i < c->nbad && c->bad[i] < c->in.row) i++;
    if (i == c->nbad) return c->in.block->n;
    return c->bad[i] == c->in.row ? c->in.row + 1 : c->bad[i];
}

static levada_status fused_apply_piece(levada_node *it, int64_t end, levada_block **out,
                                       levada_error *err)
{
    const fused_node *c = it->self;
    levada_block     *piece = NULL;
    levada_status     st;

    LEVADA_TRY(levada_block_slice(NULL, c->in.block, c->in.row, end - c->in.row, &piece, err));
    st = levada_fused_apply(c->ring.fused, it->run, 0, piece, out, err);
    levada_block_unref(&piece);
    return st;
}

static levada_status fused_next_piece(levada_node *it, levada_block **out, levada_error *err)
{
    fused_node   *c = it->self;
    levada_block *made = NULL;
    int64_t       end;

    LEVADA_TRY(levada_cursor_fill(&c->in, it->inputs[0], err));
    end = fused_piece_end(c);
    LEVADA_TRY(fused_apply_piece(it, end, &made, err));
    if (made->nrejects && !c->bad) {
        levada_status st = fused_remember(c, made, err);

        levada_block_unref(&made);
        if (st != LEVADA_OK) return st;
        end = fused_piece_end(c);
        LEVADA_TRY(fused_apply_piece(it, end, &made, err));
    }
    LEVADA_TRY(levada_node_settle(it, end - c->in.row, &made, err));
    c->in.row = end; /* not behind what failed: a ring may be saved before it tells of that */
    if (end == c->in.block->n) fused_clear(c);
    *out = made;
    return LEVADA_OK;
}

/* -- as a node */

static levada_status fused_next(levada_node *it, levada_block **out, levada_error *err)
{
    levada_result_ring *j = fused_ring(it);
    levada_block *in = NULL;
    int64_t       records = -j->delivered; /* which only whoever takes results changes */
    levada_status st;

    if (fused_cuts(it)) return fused_next_piece(it, out, err);
    if (it->run->workers && j->tickets) {
        LEVADA_TRY(levada_workers_take(it->run->workers, j, *it->worker, out, err));
        records += j->delivered;
    } else {
        LEVADA_TRY(levada_input_next(it->inputs[0], &in, err));
        records = levada_block_rows(in);
        st = levada_fused_apply(j->fused, it->run, 0, in, out, err);
        if (st != LEVADA_OK) levada_node_unread(it->inputs[0], &in); /* part of the state */
        levada_block_unref(&in);
        if (st != LEVADA_OK) return st;
    }
    st = levada_node_settle(it, records, out, err);
    if (st != LEVADA_OK) it->lost = true; /* the block, some of whose bad records were counted */
    return st;
}

#define FUSED_REST "#fused.rest" /* behind a bad record; where there is some */

static levada_status fused_save(levada_node *it, levada_state_writer *to, levada_error *err)
{
    levada_result_ring     *j = fused_ring(it);
    const fused_node *c = it->self;

    if (it->run->workers && j->tickets) return levada_workers_save(it->run->workers, j, to, err);
    if (c->in.block) LEVADA_TRY(levada_cursor_save(&c->in, to, FUSED_REST, err));
    return levada_node_save(it->inputs[0], to, err);
}

static levada_status fused_restore(levada_node *it, levada_state_reader *from, levada_error *err)
{
    fused_node *c = it->self;

    if (!levada_state_has(from, FUSED_REST ".n")) return LEVADA_OK;
    fused_clear(c);
    return levada_cursor_restore(&c->in, from, FUSED_REST, err);
}

static levada_status fused_halt(levada_node *it, int32_t worker)
{
    levada_result_ring *j = fused_ring(it);

    if (!it->run->workers || !j->tickets) return LEVADA_OK;
    return levada_workers_halt(it->run->workers, j, worker);
}

/* Halted before: nothing is on its way. */
static levada_status fused_rewind(levada_node *it, levada_error *err)
{
    levada_result_ring *j = fused_ring(it);

    (void)err;
    fused_clear(it->self);
    if (it->run->workers && j->tickets) levada_workers_reset(it->run->workers, j);
    return LEVADA_OK;
}

static bool fused_rereadable(const levada_node *it)
{
    return levada_fused_rereadable(fused_ring(it)->fused) &&
           levada_node_rereadable(it->inputs[0]);
}

static levada_status fused_reread(levada_node *it, const levada_origin *origins, int64_t n,
                                  levada_block **out, levada_error *err)
{
    levada_block *in = NULL;
    levada_status st;

    LEVADA_TRY(levada_node_reread(it->inputs[0], origins, n, &in, err));
    st = levada_fused_apply(fused_ring(it)->fused, it->run, 0, in, out, err);
    levada_block_unref(&in);
    return st;
}

/* Only where it has no tickets: nothing runs ahead of the consumer. */
static levada_status fused_feed(levada_node *it, const levada_block *back, levada_error *err)
{
    return levada_node_feed(it->inputs[0], back, err);
}

static void fused_cancel(levada_node *it) { levada_fused_cancel(fused_ring(it)->fused); }

static void fused_close(levada_node *it)
{
    if (!it->self) return;
    fused_clear(it->self);
    levada_result_ring_clear(fused_ring(it));
    levada_free(it->self);
}

static const levada_node_ops fused_ops = {
    .next = fused_next,
    .save = fused_save,
    .restore = fused_restore,
    .halt = fused_halt,
    .rewind = fused_rewind,
    .rereadable = fused_rereadable,
    .reread = fused_reread,
    .feed = fused_feed,
    .cancel = fused_cancel,
    .close = fused_close,
    .fused = true,
};

levada_fused *levada_node_is_fused(const levada_node *it)
{
    return it->ops == &fused_ops ? fused_ring(it)->fused : NULL;
}

const levada_losses *levada_node_delivered(const levada_node *it)
{
    const levada_result_ring *j = it->ops == &fused_ops ? fused_ring(it) : NULL;

    return j && j->tickets && levada_workers_runs(it->run->workers) ? &j->losses : NULL;
}

/* Whoever has the intake of the ring pulls `it`, as whoever pulls the ring did before. */
static void fused_claim(levada_node *it, const int32_t *before, const int32_t *worker)
{
    if (it->worker != before) return; /* it is upstream of another ring */
    it->worker = worker;
    for (int32_t i = 0; i < it->ninputs; i++) fused_claim(it->inputs[i], before, worker);
}

static levada_status fused_tickets(levada_run *run, levada_result_ring *j, int64_t window,
                                   int64_t window_bytes, levada_error *err)
{
    j->window = window > 0 ? window : 2 * (int64_t)run->threads + 2;
    j->window_bytes = window_bytes > 0 ? window_bytes : INT64_C(256) << 20;
    j->tickets = levada_alloc_zero((size_t)j->window * sizeof *j->tickets);
    if (!j->tickets) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for tickets");
    j->name = levada_fused_path(j->fused) ? levada_fused_path(j->fused) : j->node->path;
    levada_workers_add(run->workers, j);
    fused_claim(j->node->inputs[0], j->node->worker, &j->worker);
    return LEVADA_OK;
}

levada_status levada_node_fused(levada_run *run, const levada_dataset *at, levada_fused **fused,
                                int64_t window, int64_t window_bytes, bool tickets,
                                levada_node **in, levada_node **out, levada_error *err)
{
    levada_node  *it = NULL;
    fused_node   *c;
    levada_result_ring *j;
    levada_status st;

    LEVADA_TRY(levada_node_create(run, at, &fused_ops, &it, err));
    it->saves_inputs = true;
    if (levada_fused_spec(*fused)) it->edge.spec = levada_fused_spec(*fused);
    c = levada_alloc_zero(sizeof *c);
    it->self = c;
    if (c) {
        j = &c->ring;
        j->node = it;
        j->fused = *fused;
        *fused = NULL;
        st = levada_node_adopt(it, in, 1, err);
    } else {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a stage");
    }
    if (st == LEVADA_OK && fused_cuts(it)) levada_fused_carry(c->ring.fused);
    if (st == LEVADA_OK && tickets && run->workers) {
        st = fused_tickets(run, &c->ring, window, window_bytes, err);
    }
    if (st != LEVADA_OK) {
        levada_node_destroy(&it);
        return st;
    }
    *out = it;
    return LEVADA_OK;
}
