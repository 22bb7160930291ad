/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fused stages as a node: they run on the worker pool by tickets, or else on the thread that pulls.
 */
#include "base/alloc.h"
#include "run/absent.h"
#include "run/workers.h"
#include "run/plan.h"
#include "tensor/block_priv.h"

#include <string.h>

static levada_result_ring *fused_ring(const levada_node *it) { return it->self; }

/* Returns true if a block is a batch there. */
static bool fused_batched(const levada_node *in)
{
    return in->at->middle || (levada_spec_flags_of(in->edge.spec) & LEVADA_SPEC_BATCHED);
}

void levada_node_add_absent(levada_node *it, levada_absent *to)
{
    levada_fused *fused = levada_node_is_fused(it);

    for (int32_t i = 0; i < it->ninputs; i++) levada_node_add_absent(it->inputs[i], to);
    if (fused) levada_fused_found(fused, to);
}

levada_status levada_node_report_absent(levada_node *it, levada_absent *absent,
                                         levada_error *err)
{
    levada_status st = LEVADA_OK;

    if (absent->failed)
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a note");
    for (int32_t i = 0; st == LEVADA_OK && i < absent->n; i++) {
        levada_error why = LEVADA_ERROR_INIT;

        st = levada_absent_note(absent, i, &why, err);
        if (st == LEVADA_OK && why.code != LEVADA_OK) st = levada_node_note(it, &why, err);
    }
    levada_absent_clear(absent);
    return st;
}

/* Reports missing columns at the end of the first whole pass. The combiner that opened a pipe
 * reports what all its pipes miss. */
static levada_status fused_ended(levada_node *it, levada_status st, levada_error *err)
{
    levada_fused  *fused = fused_ring(it)->fused;
    levada_absent absent = { 0 };

    if (st != LEVADA_END || !levada_fused_end(fused, it->run->resumed) ||
        it->place.piped) return st;
    levada_fused_found(fused, &absent);
    LEVADA_TRY(levada_node_report_absent(it, &absent, err));
    return LEVADA_END;
}

static levada_status fused_next(levada_node *it, levada_hint hint, levada_item *out,
                                levada_error *err)
{
    levada_result_ring *j = fused_ring(it);
    levada_item   in = { 0 };
    int64_t       records = -j->delivered; /* which only the thread that takes results changes */
    levada_status st;

    (void)hint;
    if (it->run->workers && j->tickets) {
        st = levada_workers_take(it->run->workers, j, it->puller, out, err);
        if (st != LEVADA_OK) return fused_ended(it, st, err);
        records += j->delivered;
    } else {
        st = levada_node_pull(it->inputs[0], j->fused, &in, err);
        if (st != LEVADA_OK) return fused_ended(it, st, err);
        records = levada_item_rows(&in);
        st = levada_fused_apply(j->fused, it->run, &it->place, 0, &in, out, err);
        if (st != LEVADA_OK) levada_node_unpull(it->inputs[0], j->fused, &in);
        levada_item_clear(&in);
        if (st != LEVADA_OK) return st;
    }
    it->progress.read += records;
    levada_node_number(it, &out->rejects, records);
    return LEVADA_OK;
}

static levada_status fused_save(levada_node *it, levada_state_writer *to, levada_error *err)
{
    levada_result_ring *j = fused_ring(it);

    if (it->run->workers && j->tickets) return levada_workers_save(it->run->workers, j, to, err);
    return levada_node_save(it->inputs[0], to, err);
}

static levada_status fused_halt(levada_node *it, int32_t worker)
{
    levada_result_ring *j = fused_ring(it);

    if (!it->run->workers || !j->tickets) return LEVADA_OK;
    return levada_workers_halt(it->run->workers, j, worker);
}

/* Rewinds a ring that was halted before, so that nothing is on its way. */
static levada_status fused_rewind(levada_node *it, bool read_to_end, levada_error *err)
{
    levada_result_ring *j = fused_ring(it);

    (void)read_to_end;
    (void)err;
    levada_fused_rewind(j->fused);
    if (it->run->workers && j->tickets) levada_workers_reset(it->run->workers, j);
    return LEVADA_OK;
}

static bool fused_rereadable(const levada_node *it)
{
    return levada_fused_rereadable(fused_ring(it)->fused) &&
           levada_node_rereadable(it->inputs[0]);
}

static levada_status fused_read(levada_node *it, const levada_origin *origins, int64_t n,
                                levada_read how, levada_block **out, levada_error *err)
{
    levada_item   in = { 0 }, made = { 0 };
    levada_status st;

    LEVADA_TRY(levada_node_read(it->inputs[0], origins, n, how, &in.block, err));
    st = levada_fused_apply(fused_ring(it)->fused, it->run, &it->place, 0, &in, &made, err);
    levada_item_clear(&in);
    for (int32_t i = 0; st == LEVADA_OK && i < made.rejects.n; i++) {
        const levada_reject *r = &made.rejects.list[i];

        if (levada_reject_is_note(r)) continue; /* counted when the record was read first */
        if (err) *err = r->why; /* it was good when the checkpoint was saved */
        st = r->why.code;
    }
    levada_rejects_clear(&made.rejects);
    if (st == LEVADA_OK) *out = made.block;
    else levada_block_unref(&made.block);
    return st;
}

/* Returns true if its ring reads ahead; what is upstream of the ring is a matter of that ring. */
static bool fused_ahead(levada_node *it, bool work)
{
    return !fused_ring(it)->tickets && levada_node_ahead(it->inputs[0], work);
}

static void fused_cancel(levada_node *it) { levada_fused_cancel(fused_ring(it)->fused); }

static void fused_close(levada_node *it)
{
    if (!it->self) return;
    levada_result_ring_clear(fused_ring(it));
    levada_free(it->self);
}

static const levada_node_ops fused_ops = {
    .kind = LEVADA_NODE_FUSED,
    .next = fused_next,
    .save = fused_save,
    .rewind = fused_rewind,
    .cancel = fused_cancel,
    .close = fused_close,
    .access = &(const levada_access_ops){ .possible = fused_rereadable, .read = fused_read },
    .ahead = &(const levada_ahead_ops){ .work = fused_ahead, .halt = fused_halt },
};

void levada_node_disable_readahead(levada_node *it)
{
    levada_result_ring *j = it->ops->kind == LEVADA_NODE_FUSED ? fused_ring(it) : NULL;

    if (j && !j->rests) j->rests = j->resting = true; /* later passes find it so */
    for (int32_t i = 0; i < it->ninputs; i++) levada_node_disable_readahead(it->inputs[i]);
}

/* Lets the thread that has the intake of the ring pull `it`, as the ring's consumer did before. */
static void fused_claim(levada_node *it, const levada_puller *before, levada_puller *puller)
{
    if (it->puller != before) return; /* it is upstream of another ring */
    it->puller = puller;
    for (int32_t i = 0; i < it->ninputs; i++) fused_claim(it->inputs[i], before, puller);
}

static levada_status fused_tickets(levada_run *run, levada_result_ring *j, int64_t window,
                                   int64_t window_bytes, levada_error *err)
{
    j->window = window > 0 ? window : 2 * (int64_t)run->threads + 2;
    j->window_bytes = window_bytes > 0 ? window_bytes : INT64_C(256) << 20;
    j->tickets = levada_alloc_zero((size_t)j->window * sizeof *j->tickets);
    if (!j->tickets) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                        "out of memory for tickets");
    j->name = levada_fused_path(j->fused) ? levada_fused_path(j->fused) : j->node->path;
    levada_workers_add(run->workers, j);
    fused_claim(j->node->inputs[0], j->node->puller, &j->puller);
    return LEVADA_OK;
}

levada_status levada_node_fused(levada_run *run, const levada_step *step, levada_fused **fused,
                                int64_t window, int64_t window_bytes, bool tickets,
                                levada_node **in, levada_node **out, levada_error *err)
{
    levada_node  *it = NULL;
    levada_result_ring *j;
    levada_status st;

    LEVADA_TRY(levada_node_create(run, step, &fused_ops, &it, err));
    if (levada_fused_spec(*fused)) it->edge.spec = levada_fused_spec(*fused);
    j = levada_alloc_zero(sizeof *j);
    it->self = j;
    if (j) {
        j->node = it;
        j->fused = *fused;
        *fused = NULL;
        st = levada_node_adopt(it, in, 1, err);
    } else {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a stage");
    }
    if (st == LEVADA_OK && fused_batched(it->inputs[0])) levada_fused_set_input_batched(j->fused);
    if (st == LEVADA_OK && tickets && run->workers) {
        st = fused_tickets(run, j, window, window_bytes, err);
    }
    if (st != LEVADA_OK) {
        levada_node_destroy(&it);
        return st;
    }
    *out = it;
    return LEVADA_OK;
}
