/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stream of a node: what happens around its own next().
 */
#include "base/assert.h"
#include "run/fused.h"
#include "run/node.h"
#include "tensor/block_priv.h"
#include "tensor/encoded.h"

/* The consumer's deadline is checked where it pulls a source itself, before each block but the
 * first, and where it receives results of workers (workers.c). */
static levada_status stream_interrupted(const levada_node *it, levada_error *err)
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

/* Returns true if a node that failed may have lost records. Readers of files and combiners
 * have not moved, and runs of fused stages return what they could not process. Hooks may have
 * stopped half-way, unless their input failed, or their block was returned to it. */
static bool stream_loses(const levada_node *it)
{
    if (!levada_node_has_hooks(it)) return false;
    return it->ninputs == 0 || !(it->inputs[0]->inlet.reported < 0 ||
                                 levada_inlet_returned(&it->inputs[0]->inlet));
}

/* A cancelled run is not the end of the stream: each call finds out by itself. Memory runs out
 * anywhere. */
void levada_node_end(levada_node *it, levada_status end, levada_error *why)
{
    levada_inlet *inlet = &it->inlet;

    if (end != LEVADA_ECANCELLED || !atomic_load(&it->run->cancelled)) inlet->end = end;
    if (end == LEVADA_ERESOURCE_EXHAUSTED) inlet->lost = true;
    if (end == LEVADA_END) return;
    levada_error_place(why, it->path, NULL, -1, -1);
    inlet->why = *why;
}

/* Makes a block, with the rejects that the node kept meanwhile: perhaps without a row. */
static levada_status stream_make(levada_node *it, levada_hint hint, levada_block **out,
                                 levada_error *why)
{
    levada_status st;

    LEVADA_TRY(levada_inlet_report(&it->inlet, why));
    LEVADA_TRY(stream_interrupted(it, why));
    st = it->ops->next(it, hint, out, why);
    if (st == LEVADA_OK && it->ninputs == 0) it->progress.read += (*out)->n;
    if (st == LEVADA_OK) st = levada_node_judge(it, out, why);
    if (st < 0 && stream_loses(it)) it->inlet.lost = true;
    if (it->nkept == 0) return st;
    if (st != LEVADA_OK) { /* it follows the rejects */
        if (st != LEVADA_AGAIN) levada_node_end(it, st, why);
        levada_error_clear(why);
        LEVADA_TRY(levada_block_create(it->edge.spec, 0, out, why));
    }
    return levada_node_attach(it, out, why);
}

/* Ends a pull without a block. */
static levada_status stream_stop(levada_node *it, levada_status st, levada_error *why,
                                 levada_error *err)
{
    if (st != LEVADA_AGAIN) {
        levada_node_end(it, st, why);
        it->inlet.reported = st;
    }
    if (err && (st < 0 || why->code == LEVADA_AGAIN)) *err = *why;
    return st;
}

/* The pieces of a block that was cut count as one block, together with the last of them. */
static void stream_count(levada_node *it, const levada_block *block, int64_t times)
{
    atomic_fetch_add_explicit(&it->records, block->n * times, memory_order_relaxed);
    if (it->inlet.n) return;
    atomic_fetch_add_explicit(&it->blocks, times, memory_order_relaxed);
}

levada_status levada_node_next(levada_node *it, levada_hint hint, levada_block **out,
                               levada_error *err)
{
    levada_block *block = NULL;
    levada_error  why = LEVADA_ERROR_INIT;
    int64_t       began;
    levada_status st = levada_inlet_report(&it->inlet, err);

    if (st != LEVADA_OK) return st;
    began = levada_now();
    while (st == LEVADA_OK && !block) {
        if (!levada_inlet_take(&it->inlet, &block)) st = stream_make(it, hint, &block, &why);
        if (st == LEVADA_OK && block->n == 0 && block->nrejects == 0) levada_block_unref(&block);
        if (st == LEVADA_OK && block) st = levada_inlet_skip(&it->inlet, &block, &why);
    }
    if (st == LEVADA_OK && !it->encoded) {
        st = levada_block_decode(levada_env_pool(it->run->env), &block, &why);
    }
    atomic_fetch_add_explicit(&it->nanoseconds, levada_now() - began, memory_order_relaxed);
    if (st != LEVADA_OK) {
        levada_block_unref(&block);
        return stream_stop(it, st, &why, err);
    }
    stream_count(it, block, 1);
    *out = block;
    return LEVADA_OK;
}

levada_status levada_node_cut(levada_node *it, levada_block **block, int64_t rows, int32_t rejects,
                              levada_error *err)
{
    levada_status st;

    if (rows == (*block)->n && rejects == (*block)->nrejects) return LEVADA_OK;
    stream_count(it, *block, -1);
    st = levada_inlet_cut(&it->inlet, block, rows, rejects, err);
    stream_count(it, *block, 1);
    return st;
}

/* Cuts a block before row number `rows`, unless it is a part of a block already: its remainder
 * waits. */
static levada_status stream_limit(levada_node *it, levada_block **block, int64_t rows,
                                  levada_error *err)
{
    int32_t n = 0;

    if (rows >= (*block)->n || it->inlet.n) return LEVADA_OK;
    while (n < (*block)->nrejects && (*block)->rejects[n].row < rows) n++;
    return levada_node_cut(it, block, rows, n, err);
}

static void stream_return(levada_node *it, levada_block **block)
{
    stream_count(it, *block, -1);
    levada_inlet_return(&it->inlet, block);
}

levada_status levada_node_pull(levada_node *it, levada_fused *fused, levada_block **out,
                               levada_error *err)
{
    levada_hint   hint = levada_fused_hint(fused);
    levada_block *block = NULL;
    int64_t       rows = 0;
    levada_status st;

    LEVADA_TRY(levada_node_next(it, hint, &block, err));
    st = levada_fused_measure(fused, block, &rows, err);
    if (rows > hint.rows) rows = hint.rows;
    if (st == LEVADA_OK) st = stream_limit(it, &block, rows, err);
    levada_fused_pulled(fused, block->n);
    if (st == LEVADA_OK) *out = block;
    else levada_node_unpull(it, fused, &block);
    return st;
}

void levada_node_unpull(levada_node *it, levada_fused *fused, levada_block **block)
{
    levada_fused_pulled(fused, -(*block)->n);
    levada_node_unread(it, block);
}

/* -- at an input */

/* Rejects before the first row go to the consumer, and the remainder waits. */
static levada_status stream_hand_over(levada_node *it, levada_block **block, levada_error *err)
{
    levada_node  *to = it->consumer;
    int32_t       n = 0, kept = to->nkept;
    levada_status st = LEVADA_OK;

    while (st == LEVADA_OK && n < (*block)->nrejects && (*block)->rejects[n].row == 0) {
        st = levada_node_keep(to, &(*block)->rejects[n++], err);
    }
    if (st == LEVADA_OK) st = levada_node_cut(it, block, 0, n, err);
    if (st == LEVADA_OK) {
        levada_block_unref(block);
        return LEVADA_AGAIN;
    }
    to->nkept = kept;
    return st;
}

/* Pulls the rows up to the next reject. */
static levada_status stream_pull_rows(levada_node *it, levada_hint hint, levada_block **out,
                                      levada_error *err)
{
    levada_block *block = NULL;
    int64_t       rows;
    levada_status st;

    LEVADA_TRY(levada_require(it != NULL, "in", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_ASSERT(it->consumer);
    if (it->consumer->nkept) return LEVADA_AGAIN; /* these come first */
    LEVADA_TRY(levada_node_next(it, hint, &block, err));
    rows = block->nrejects ? block->rejects[0].row : block->n;
    if (hint.rows < rows && it->inlet.n == 0) rows = hint.rows;
    st = rows > 0 ? levada_node_cut(it, &block, rows, 0, err) : stream_hand_over(it, &block, err);
    if (st == LEVADA_OK) *out = block;
    else if (block) stream_return(it, &block);
    return st;
}

levada_status levada_input_next(levada_input *it, levada_block **out, levada_error *err)
{
    LEVADA_TRY(stream_pull_rows(it, LEVADA_HINT_ANY, out, err));
    levada_node_count_read(it, (*out)->n);
    return LEVADA_OK;
}

levada_status levada_input_peek_hinted(levada_input *in, levada_hint hint,
                                       const levada_block **out, levada_error *err)
{
    levada_block *block = NULL;

    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(stream_pull_rows(in, hint, &block, err));
    *out = block;
    stream_return(in, &block);
    return LEVADA_OK;
}

levada_status levada_input_peek(levada_input *in, const levada_block **out, levada_error *err)
{
    return levada_input_peek_hinted(in, LEVADA_HINT_ANY, out, err);
}

levada_status levada_cursor_fill(levada_cursor *cur, levada_input *in, levada_error *err)
{
    LEVADA_TRY(levada_require(cur != NULL, "cur", err));
    LEVADA_TRY(levada_require(in != NULL, "in", err));
    if (cur->block && cur->row < cur->block->n) return LEVADA_OK;
    levada_cursor_clear(cur);
    return levada_input_next(in, &cur->block, err);
}

void levada_node_unread(levada_node *it, levada_block **block)
{
    levada_node_count_read(it, -(*block)->n);
    if (levada_node_take_back(it)) {
        stream_count(it, *block, -1);
        levada_block_unref(block);
    } else {
        stream_return(it, block);
    }
}

bool levada_node_ahead(levada_node *it, bool work)
{
    if (it->ops->ahead) return it->ops->ahead->work(it, work);
    for (int32_t i = 0; i < it->ninputs; i++) {
        if (levada_node_ahead(it->inputs[i], work)) return true;
    }
    return false;
}
