/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fused stages as a node: they run on the worker pool by tickets, or else on the thread that pulls.
 *
 * The pipes that a combiner opens count together, and the combiner comes to a record of one and
 * then of another. So that a bad record counts when the combiner comes to it, and not when its
 * block is read, a run of fused stages in a pipe returns what it made of a block with bad records
 * in pieces: up to the next bad record, then that one by itself.
 */
#include "base/alloc.h"
#include "run/workers.h"
#include "run/plan.h"
#include "tensor/block_priv.h"

#include <string.h>

/* A bad record of the block that is returned in pieces. */
typedef struct fused_cut {
    int64_t  row;         /* of the block of the input                              */
    int64_t  begin, end;  /* rows that the stages made of it; those before come first */
    int32_t  first, next; /* of the rejects: its own                                */
} fused_cut;

typedef struct fused_node {
    levada_result_ring ring;
    /* -- in a pipe */
    levada_cursor  in;
    levada_block  *made;    /* of the rest of the block, if that has bad records; else NULL */
    int64_t        row;     /* of `made`: those before were returned                         */
    levada_reject *rejects; /* of `made`                                                    */
    fused_cut     *cuts;    /* ascending by row                                             */
    int32_t        ncuts, cut; /* ... and the one that comes next                           */
} fused_node;

static levada_result_ring *fused_ring(const levada_node *it)
{ return &((fused_node *)it->self)->ring; }

/* -- in pieces */

/* What stands for a batch is not cut. */
static bool fused_cuts(const levada_node *it)
{
    const levada_node *in = it->inputs[0];

    return it->place.piped && !in->at->middle &&
           !(levada_spec_flags_of(in->edge.spec) & LEVADA_SPEC_BATCHED);
}

static void fused_forget(fused_node *c)
{
    levada_block_unref(&c->made);
    levada_free(c->rejects);
    levada_free(c->cuts);
    c->rejects = NULL;
    c->cuts = NULL;
    c->row = 0;
    c->ncuts = c->cut = 0;
}

static void fused_clear(fused_node *c)
{
    levada_cursor_clear(&c->in);
    fused_forget(c);
}

/* Moves `row` of the input on to the record that row k of `made` was made of. */
static void fused_trace(const fused_node *c, int64_t k, int64_t *row)
{
    int64_t found =
        k < c->made->n ? levada_run_find(c->in.block, *row, levada_block_origin(c->made, k)) : -1;

    *row = found >= 0 ? found : c->in.block->n;
}

/* Finds the rows of `made` before, and of, each bad record. Records that cannot be traced to one of
 * the input come after all bad ones. */
static levada_status fused_find_cuts(fused_node *c, int32_t nrejects, levada_error *err)
{
    int64_t k = 0, row = c->in.row;

    c->cuts = levada_alloc((size_t)nrejects * sizeof *c->cuts);
    if (!c->cuts) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory to skip records");
    fused_trace(c, k, &row);
    for (int32_t i = 0, next; i < nrejects; i = next) {
        fused_cut *cut = &c->cuts[c->ncuts++];

        *cut = (fused_cut){ .row = c->rejects[i].row, .first = i };
        for (next = i; next < nrejects && c->rejects[next].row == cut->row;) next++;
        cut->next = next;
        while (row < cut->row) fused_trace(c, ++k, &row);
        cut->begin = k;
        while (row == cut->row) fused_trace(c, ++k, &row);
        cut->end = k;
    }
    return LEVADA_OK;
}

/* Takes what the stages made of the rest of the block. On failure they have to run again. */
static levada_status fused_keep(fused_node *c, levada_block **made, levada_error *err)
{
    int32_t       n = (*made)->nrejects;
    levada_status st;

    c->made = *made;
    c->row = 0;
    c->rejects = c->made->rejects;
    c->made->rejects = NULL;
    c->made->nrejects = 0;
    *made = NULL;
    for (int32_t i = 0; i < n; i++) c->rejects[i].row += c->in.row;
    st = fused_find_cuts(c, n, err);
    if (st != LEVADA_OK) fused_forget(c);
    return st;
}

/* The rows of `made` up to `end`, with the rejects of `cut`, if that is given. */
static levada_status fused_piece(const fused_node *c, int64_t end, const fused_cut *cut,
                                 levada_block **out, levada_error *err)
{
    int32_t        n = cut ? cut->next - cut->first : 0;
    levada_reject *rejects = n ? levada_alloc((size_t)n * sizeof *rejects) : NULL;
    levada_status  st;

    if (n && !rejects) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory to skip records");
    }
    st = levada_block_slice(NULL, c->made, c->row, end - c->row, out, err);
    if (st != LEVADA_OK) {
        levada_free(rejects);
        return st;
    }
    for (int32_t i = 0; i < n; i++) {
        rejects[i] = c->rejects[cut->first + i];
        rejects[i].row = 0;
    }
    (*out)->rejects = rejects;
    (*out)->nrejects = n;
    return LEVADA_OK;
}

/* The next piece: up to the bad record that comes next, that one alone, or the rest. */
static levada_status fused_next_cut(levada_node *it, levada_block **out, levada_error *err)
{
    fused_node      *c = it->self;
    const fused_cut *cut = c->cut < c->ncuts ? &c->cuts[c->cut] : NULL;
    bool             at_cut = cut && c->in.row == cut->row;
    int64_t          row = cut ? cut->row + at_cut : c->in.block->n;
    int64_t          end = !cut ? c->made->n : at_cut ? cut->end : cut->begin;
    levada_block    *piece = NULL;

    LEVADA_TRY(fused_piece(c, end, at_cut ? cut : NULL, &piece, err));
    LEVADA_TRY(levada_skip_settle(&it->place, row - c->in.row, &piece, err));
    c->in.row = row; /* not before: a combiner may be saved before it reports what failed */
    c->row = end;
    c->cut += at_cut;
    if (row == c->in.block->n && c->cut == c->ncuts && end == c->made->n) fused_clear(c);
    *out = piece;
    return LEVADA_OK;
}

static levada_status fused_next_piece(levada_node *it, levada_block **out, levada_error *err)
{
    fused_node   *c = it->self;
    levada_block *rest = NULL, *made = NULL;
    levada_status st;

    if (c->made) return fused_next_cut(it, out, err);
    LEVADA_TRY(levada_cursor_fill(&c->in, it->inputs[0], err));
    LEVADA_TRY(levada_block_slice(NULL, c->in.block, c->in.row, c->in.block->n - c->in.row, &rest,
                                  err));
    st = levada_fused_apply(c->ring.fused, it->run, 0, rest, &made, err);
    levada_block_unref(&rest);
    if (st != LEVADA_OK) return st;
    if (made->nrejects) {
        LEVADA_TRY(fused_keep(c, &made, err));
        return fused_next_cut(it, out, err);
    }
    LEVADA_TRY(levada_skip_settle(&it->place, c->in.block->n - c->in.row, &made, err));
    fused_clear(c);
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
    st = levada_skip_settle(&it->place, records, out, err);
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
