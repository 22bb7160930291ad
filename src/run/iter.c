/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs: what happens around each node's own next(), and walks over the tree.
 */
#include "base/assert.h"
#include "run/node.h"
#include "run/plan.h"
#include "run/input_cursor.h"
#include "tensor/encoded.h"

#include <string.h>

static levada_status iter_stuck(const levada_node *it, levada_error *err)
{
    if (err) *err = it->why;
    return it->stuck;
}

/* The consumer's deadline is checked where it pulls a source itself, before each block but the
 * first, and where it takes results of workers (workers.c). */
static levada_status iter_interrupted(const levada_node *it, levada_error *err)
{
    levada_run *run = it->run;

    if (atomic_load_explicit(&run->cancelled, memory_order_relaxed)) {
        return levada_fail(err, LEVADA_ECANCELLED, "cancelled");
    }
    if (it->ninputs || *it->worker != 0) return LEVADA_OK;
    if (run->deadline >= 0 && run->pulls > 0 && levada_now() >= run->deadline) return LEVADA_AGAIN;
    run->pulls++;
    return LEVADA_OK;
}

/* Whether a node that answered with an error may have lost records. Readers of files and combiners
 * have not moved, and runs of fused stages return what they could not process. Hooks may have
 * stopped half-way, unless it was their input that failed, or their block went back to it. Memory
 * runs out anywhere. */
static bool iter_loses(const levada_node *it, levada_status st)
{
    if (st == LEVADA_ERESOURCE_EXHAUSTED) return true;
    if (!it->ops->hooks) return false;
    return it->ninputs == 0 || !(it->inputs[0]->failed || it->inputs[0]->unread.block);
}

/* What waits, or else what the node makes. */
static levada_status iter_take(levada_node *it, levada_block **out, levada_error *err)
{
    levada_block **waiting = it->unread.block ? &it->unread.block : &it->rest;
    levada_status  st;

    *out = *waiting;
    *waiting = NULL;
    if (*out) return LEVADA_OK;
    st = levada_node_make(it, out, err);
    if ((st < 0 && iter_loses(it, st)) || (it->late < 0 && iter_loses(it, it->late))) {
        it->lost = true;
    }
    return st;
}

static levada_status iter_pull(levada_node *it, levada_block **out, levada_error *err)
{
    levada_status st = LEVADA_OK;

    while (st == LEVADA_OK && !*out) {
        if (!it->unread.block && !it->rest) LEVADA_TRY(iter_interrupted(it, err));
        st = iter_take(it, out, err);
        if (st == LEVADA_OK && (*out)->n == 0 && (*out)->nrejects == 0) levada_block_unref(out);
        if (st == LEVADA_OK && *out) st = levada_node_drop(it, out, err);
    }
    if (st == LEVADA_OK && !it->encoded) {
        st = levada_block_decode(levada_env_pool(it->run->env), out, err);
    }
    if (st == LEVADA_ERESOURCE_EXHAUSTED) it->lost = true; /* a drop that could not be done */
    return st;
}

levada_status levada_node_next(levada_node *it, levada_block **out, levada_error *err)
{
    int64_t       began;
    levada_block *block = NULL;
    levada_error  why = LEVADA_ERROR_INIT;
    levada_status st;

    if (it->stuck != LEVADA_OK) return iter_stuck(it, err);
    if (it->ended) return LEVADA_END;
    began = levada_now();
    st = iter_pull(it, &block, &why);
    atomic_fetch_add_explicit(&it->nanoseconds, levada_now() - began, memory_order_relaxed);
    if (st == LEVADA_OK) {
        atomic_fetch_add_explicit(&it->records, block->n, memory_order_relaxed);
        atomic_fetch_add_explicit(&it->blocks, 1, memory_order_relaxed);
        *out = block;
        return LEVADA_OK;
    }
    levada_block_unref(&block);
    if (st == LEVADA_END) {
        it->ended = true;
    } else if (st < 0) {
        levada_error_place(&why, it->path, NULL, -1, -1);
        it->failed = true;
        it->why = why;
        /* Whether the iterator was cancelled is looked up each time. */
        if (st != LEVADA_ECANCELLED || !atomic_load(&it->run->cancelled)) it->stuck = st;
        if (err) *err = why;
    } else if (why.code == LEVADA_AGAIN && err) {
        *err = why; /* what it waits for */
    }
    return st;
}

levada_status levada_cursor_fill(levada_cursor *cur, levada_input *in, levada_error *err)
{
    LEVADA_TRY(levada_require(cur != NULL, "cur", err));
    LEVADA_TRY(levada_require(in != NULL, "in", err));
    if (cur->block && cur->row < cur->block->n) return LEVADA_OK;
    levada_cursor_clear(cur);
    return levada_input_next(in, &cur->block, err);
}

bool levada_node_ahead(levada_node *it, bool work)
{
    if (it->ops->ahead) return it->ops->ahead(it, work);
    for (int32_t i = 0; i < it->ninputs; i++) {
        if (levada_node_ahead(it->inputs[i], work)) return true;
    }
    return false;
}

void levada_node_unread(levada_node *it, levada_block **block)
{
    atomic_fetch_sub_explicit(&it->records, (*block)->n, memory_order_relaxed);
    atomic_fetch_sub_explicit(&it->blocks, 1, memory_order_relaxed);
    levada_node_count_read(it, -(*block)->n);
    if (it->ops->take_back && it->ops->take_back(it)) {
        levada_block_unref(block);
        return;
    }
    it->unread.block = *block;
    *block = NULL;
}

levada_status levada_input_peek(levada_input *in, const levada_block **out, levada_error *err)
{
    levada_block *block = NULL;

    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_input_next(in, &block, err));
    levada_node_unread(in, &block);
    *out = in->unread.block;
    return LEVADA_OK;
}

/* -- save, restore, rewind, re-read: walks over the tree */

/* Records of a node with one input wait there; a combiner says which one it means
 * (run/input_cursor.h). */
static levada_state_scope iter_scope(const levada_node *it)
{
    return (levada_state_scope){
        .path = it->path,
        .version = it->version,
        .edge = it->ninputs == 1 ? &it->inputs[0]->edge : NULL,
    };
}

/* A combiner returns the records before a failure first; its state may be requested before it
 * reports the failure. */
static levada_status iter_savable(const levada_node *it, levada_error *err)
{
    if (!it->lost) return LEVADA_OK;
    return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                       "a stage has failed and records may be lost; resume from an earlier "
                       "checkpoint (%s)",
                       it->why.message);
}

levada_status levada_node_save(levada_node *it, levada_state_writer *to, levada_error *err)
{
    levada_state_scope before = to->scope;
    levada_status st = iter_savable(it, err);

    to->scope = iter_scope(it);
    if (st == LEVADA_OK && it->ops->save) st = it->ops->save(it, to, err);
    to->scope = iter_scope(it);
    if (st == LEVADA_OK) st = levada_node_save_waiting(it, to, err);
    to->scope = before;
    if (st != LEVADA_OK) {
        levada_error_place(err, it->path, NULL, -1, -1);
        return st;
    }
    if (it->saves_inputs) return LEVADA_OK;
    for (int32_t i = 0; i < it->ninputs; i++) LEVADA_TRY(levada_node_save(it->inputs[i], to, err));
    return LEVADA_OK;
}

levada_status levada_node_save_late(levada_node *it, levada_state_writer *to, levada_error *err)
{
    levada_state_scope before = to->scope;
    levada_status st = LEVADA_OK;

    to->scope = iter_scope(it);
    if (it->ops->save_late) st = it->ops->save_late(it, to, err);
    if (st == LEVADA_OK) st = levada_skips_save(&it->run->skips, &it->skips, to, err);
    to->scope = before;
    for (int32_t i = 0; st == LEVADA_OK && i < it->ninputs; i++) {
        st = levada_node_save_late(it->inputs[i], to, err);
    }
    return st;
}

/* Inputs first: a row store that reads records again needs them in their place. */
levada_status levada_node_restore(levada_node *it, levada_state_reader *from, levada_error *err)
{
    levada_state_scope before = from->scope;
    levada_status st = LEVADA_OK;

    for (int32_t i = 0; i < it->ninputs; i++) {
        LEVADA_TRY(levada_node_restore(it->inputs[i], from, err));
    }
    from->scope = iter_scope(it);
    it->ended = false;
    it->failed = false;
    it->lost = false;
    it->stuck = LEVADA_OK;
    st = levada_skips_restore(&it->run->skips, &it->skips, from, err);
    if (st == LEVADA_OK && it->ops->restore) st = it->ops->restore(it, from, err);
    if (st == LEVADA_OK) st = levada_node_restore_waiting(it, from, err);
    from->scope = before;
    if (st != LEVADA_OK) levada_error_place(err, it->path, NULL, -1, -1);
    return st;
}

/* The most downstream first: a halted node pulls no more from those upstream. */
static levada_status iter_halt(levada_node *it, int32_t worker)
{
    if (it->ops->halt) LEVADA_TRY(it->ops->halt(it, worker));
    for (int32_t i = 0; i < it->ninputs; i++) LEVADA_TRY(iter_halt(it->inputs[i], worker));
    return LEVADA_OK;
}

/* How often the node here started again. Fused stages have no number, but one input. */
static int64_t iter_pass(const levada_node *it)
{
    while (it->ops->fused) it = it->inputs[0];
    return it->context.pass - it->opened_as;
}

/* That of its inputs where pass number n of a node begins: not how often they really began,
 * since what was read ahead in the one before depends on threads and on the size of blocks. */
static int64_t iter_first_pass(const levada_node *it, int64_t n)
{
    return n <= LEVADA_COUNT_LIMIT / it->passes ? n * it->passes : n;
}

/* `read_to_end`: the consumer read the pass that ends. Threads may have read further upstream. */
static levada_status iter_rewind(levada_node *it, int64_t pass, bool read_to_end, levada_error *err)
{
    for (int32_t i = 0; i < it->ninputs; i++) {
        LEVADA_TRY(iter_rewind(it->inputs[i], iter_first_pass(it, pass),
                               read_to_end && it->inputs[i]->ended, err));
    }
    it->read_to_end = read_to_end;
    levada_skip_next_pass(&it->progress, read_to_end);
    it->context.pass = it->opened_as + pass;
    it->ended = false;
    it->failed = false;
    it->lost = false;
    it->stuck = LEVADA_OK; /* of reading ahead, perhaps */
    it->drop = it->drop_rejects = 0;
    levada_node_clear_waiting(it);
    return it->ops->rewind ? it->ops->rewind(it, err) : LEVADA_OK;
}

levada_status levada_input_rewind(levada_node *it, levada_error *err)
{
    LEVADA_TRY(levada_require(it != NULL, "in", err));
    LEVADA_TRY(iter_halt(it, *it->worker));
    return iter_rewind(it, iter_pass(it) + 1, it->ended, err);
}

const levada_node *levada_node_fed(const levada_node *it)
{
    while (it && it->ops->fused) it = it->inputs[0];
    return it && it->feeding ? it : NULL;
}

levada_status levada_node_feed(levada_node *it, const levada_block *back, levada_error *err)
{
    levada_status st;

    if (!it->ops->feed) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "'%s' does not take blocks back",
                           it->at->op->name);
    }
    st = it->ops->feed(it, back, err);
    if (st != LEVADA_OK) levada_error_place(err, it->path, NULL, -1, -1);
    return st;
}

static bool iter_passes(const levada_node *it) { return it->ops->passes && it->ops->passes(it); }

int32_t levada_node_origin_parts(const levada_node *it)
{
    bool    passes = iter_passes(it);
    int32_t nparts = it->ninputs == 0;

    for (int32_t i = 0; i < it->ninputs; i++) {
        int32_t in = levada_node_origin_parts(it->inputs[i]);

        nparts = !passes ? nparts + in : in > nparts ? in : nparts;
    }
    return nparts;
}

bool levada_node_gives(const levada_node *it, int32_t part, int32_t source)
{
    bool passes = iter_passes(it), found = it->ninputs == 0 && part == 0 && it->source == source;

    for (int32_t i = 0; !found && i < it->ninputs; i++) {
        found = levada_node_gives(it->inputs[i], part, source);
        if (!passes) part -= levada_node_origin_parts(it->inputs[i]);
    }
    return found;
}

bool levada_node_rereadable(const levada_node *it)
{
    if (!it->ops->reread) return false;
    return it->ops->rereadable ? it->ops->rereadable(it)
                               : it->ninputs == 0 || levada_node_rereadable(it->inputs[0]);
}

levada_status levada_node_reread(levada_node *it, const levada_origin *origins, int64_t n,
                                 levada_block **out, levada_error *err)
{
    levada_status st;

    if (!levada_node_rereadable(it)) {
        return levada_fail(err, LEVADA_EUNIMPLEMENTED, "records cannot be read again");
    }
    st = it->ops->reread(it, origins, n, out, err);
    if (st == LEVADA_AGAIN) { /* there is nobody to ask again */
        st = levada_fail(err, LEVADA_ECANCELLED, "interrupted while records were read again");
    }
    if (st == LEVADA_OK && !it->encoded) {
        st = levada_block_decode(levada_env_pool(it->run->env), out, err);
        if (st != LEVADA_OK) levada_block_unref(out);
    }
    if (st == LEVADA_OK && (*out)->n != n) {
        st = levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                         "%lld of %lld buffered records do not exist any more",
                         (long long)(n - (*out)->n), (long long)n);
        levada_block_unref(out);
    }
    if (st != LEVADA_OK) levada_error_place(err, it->path, NULL, -1, -1);
    return st;
}

void levada_node_cancel(levada_node *it)
{
    if (it->ops->cancel) it->ops->cancel(it);
    for (int32_t i = 0; i < it->ninputs; i++) levada_node_cancel(it->inputs[i]);
}

/* -- for entries of states */

static int32_t iter_edge_parts(const levada_edge *edge)
{
    return levada_node_origin_parts((const levada_node *)edge);
}

static bool iter_edge_gives(const levada_edge *edge, int32_t part, int32_t source)
{
    return levada_node_gives((const levada_node *)edge, part, source);
}

static bool iter_edge_rereadable(const levada_edge *edge)
{
    return levada_node_rereadable((const levada_node *)edge);
}

static levada_status iter_edge_reread(levada_edge *edge, const levada_origin *origins, int64_t n,
                                      levada_block **out, levada_error *err)
{
    return levada_node_reread((levada_node *)edge, origins, n, out, err);
}

static levada_status iter_edge_check_cancelled(const levada_edge *edge, levada_error *err)
{
    return levada_run_check_cancelled(((const levada_node *)edge)->run, err);
}

static void iter_edge_place(const levada_edge *edge, const char *path, const levada_block *block,
                            int64_t row, levada_error *err)
{
    levada_run_place(((const levada_node *)edge)->run, path, block, row, err);
}

const levada_edge_ops levada_node_edge_ops = {
    .nparts = iter_edge_parts,
    .gives = iter_edge_gives,
    .rereadable = iter_edge_rereadable,
    .reread = iter_edge_reread,
    .check_cancelled = iter_edge_check_cancelled,
    .place = iter_edge_place,
};
