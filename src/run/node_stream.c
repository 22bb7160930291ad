/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stream of a node: what happens around its own next().
 */
#include "base/assert.h"
#include "run/fused.h"
#include "run/node.h"
#include "tensor/block_priv.h"
#include "tensor/encoded.h"

/* Returns ECANCELLED or AGAIN if the call should end. The consumer's deadline is checked where it
 * pulls a source itself, before each block but the first, and where it receives results of workers
 * (workers.c). */
static levada_status stream_interrupted(const levada_node *it, levada_error *err)
{
    levada_run *run = it->run;

    if (atomic_load_explicit(&run->cancelled, memory_order_relaxed)) {
        return levada_fail(err, LEVADA_ECANCELLED, "cancelled");
    }
    if (it->ninputs || it->puller->worker != 0) return LEVADA_OK;
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
    return it->ninputs == 0 ||
           !(it->inputs[0]->inlet.reported < 0 || it->inputs[0]->inlet.returned);
}

/* Notes how the stream ended. A cancelled run is not the end of the stream: each call finds out by
 * itself. Memory may run out anywhere. */
void levada_node_end(levada_node *it, levada_status end, levada_error *why)
{
    levada_inlet *inlet = &it->inlet;

    if (end != LEVADA_ECANCELLED || !atomic_load(&it->run->cancelled)) inlet->end = end;
    if (end == LEVADA_ERESOURCE_EXHAUSTED) inlet->lost = true;
    if (end == LEVADA_END) return;
    levada_error_place(why, it->path, NULL, -1, -1);
    inlet->why = *why;
}

/* Makes an item, with the rejects that the node kept meanwhile. */
static levada_status stream_make(levada_node *it, levada_hint hint, levada_item *out,
                                 levada_error *why)
{
    levada_status st;

    LEVADA_TRY(levada_inlet_report(&it->inlet, why));
    LEVADA_TRY(stream_interrupted(it, why));
    st = it->ops->next(it, hint, out, why);
    if (st == LEVADA_OK && it->ninputs == 0) it->progress.read += levada_item_rows(out);
    if (st == LEVADA_OK) st = levada_node_judge(it, out, why);
    if (st < 0 && stream_loses(it)) it->inlet.lost = true;
    if (it->kept.n == 0) return st;
    if (st != LEVADA_OK) { /* it follows the rejects */
        if (st != LEVADA_AGAIN) levada_node_end(it, st, why);
        levada_error_clear(why);
        levada_item_clear(out);
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

/* Counts a block; the pieces of an item that was cut count as one block, together with the last of
 * them. */
static void stream_count(levada_node *it, const levada_item *item, int64_t times)
{
    atomic_fetch_add_explicit(&it->shown.records, levada_item_rows(item) * times,
                              memory_order_relaxed);
    if (it->inlet.n) return;
    atomic_fetch_add_explicit(&it->shown.blocks, times, memory_order_relaxed);
}

levada_status levada_node_next(levada_node *it, levada_hint hint, levada_item *out,
                               levada_error *err)
{
    levada_item   item = { 0 };
    levada_error  why = LEVADA_ERROR_INIT;
    int64_t       began;
    levada_status st = levada_inlet_report(&it->inlet, err);

    if (st != LEVADA_OK) return st;
    began = levada_now();
    while (st == LEVADA_OK && levada_item_rows(&item) == 0 && item.rejects.n == 0) {
        levada_item_clear(&item);
        if (!levada_inlet_take(&it->inlet, &item)) st = stream_make(it, hint, &item, &why);
        if (st == LEVADA_OK) st = levada_inlet_skip(&it->inlet, &item, &why);
    }
    if (st == LEVADA_OK && item.block && !it->encoded) {
        st = levada_block_decode(levada_env_pool(it->run->env), &item.block, &why);
    }
    atomic_fetch_add_explicit(&it->shown.nanoseconds,
                              levada_meter_end(&it->run->meter, it->path, began,
                                               levada_item_rows(&item)),
                              memory_order_relaxed);
    if (st != LEVADA_OK) {
        levada_item_clear(&item);
        return stream_stop(it, st, &why, err);
    }
    stream_count(it, &item, 1);
    *out = item;
    return LEVADA_OK;
}

levada_status levada_node_cut(levada_node *it, levada_item *item, int64_t rows, int32_t rejects,
                              levada_error *err)
{
    levada_status st;

    if (rows == levada_item_rows(item) && rejects == item->rejects.n) return LEVADA_OK;
    stream_count(it, item, -1);
    st = levada_inlet_cut(&it->inlet, item, rows, rejects, err);
    stream_count(it, item, 1);
    return st;
}

/* Cuts an item before row number `rows`, unless it is a part of an item already: its remainder
 * waits. */
static levada_status stream_limit(levada_node *it, levada_item *item, int64_t rows,
                                  levada_error *err)
{
    int32_t n = 0;

    if (rows >= levada_item_rows(item) || it->inlet.n) return LEVADA_OK;
    while (n < item->rejects.n && item->rejects.list[n].row < rows) n++;
    return levada_node_cut(it, item, rows, n, err);
}

static void stream_return(levada_node *it, levada_item *item)
{
    stream_count(it, item, -1);
    levada_inlet_return(&it->inlet, item);
}

levada_status levada_node_pull(levada_node *it, levada_fused *fused, levada_item *out,
                               levada_error *err)
{
    levada_hint   hint = levada_fused_hint(fused);
    levada_item   item = { 0 };
    int64_t       rows = 0;
    levada_status st = LEVADA_OK;

    LEVADA_TRY(levada_node_next(it, hint, &item, err));
    if (item.block) st = levada_fused_measure(fused, item.block, &rows, err);
    if (rows > hint.rows) rows = hint.rows;
    if (st == LEVADA_OK) st = stream_limit(it, &item, rows, err);
    levada_fused_pulled(fused, levada_item_rows(&item));
    if (st == LEVADA_OK) *out = item;
    else levada_node_unpull(it, fused, &item);
    return st;
}

void levada_node_unpull(levada_node *it, levada_fused *fused, levada_item *item)
{
    levada_fused_pulled(fused, -levada_item_rows(item));
    levada_node_unread(it, item);
}

levada_status levada_node_settle(levada_node *it, levada_error *err)
{
    levada_inlet *inlet = &it->inlet;
    levada_item   item = { 0 };
    levada_status st = LEVADA_AGAIN;

    for (int32_t i = 0; i < it->ninputs; i++) LEVADA_TRY(levada_node_settle(it->inputs[i], err));
    if (inlet->skip_rows == 0 && inlet->skip_rejects == 0) return LEVADA_OK;
    while (st == LEVADA_AGAIN) st = levada_node_next(it, LEVADA_HINT_ANY, &item, err);
    if (st == LEVADA_OK) stream_return(it, &item);
    if (st < 0) return st;
    if (inlet->skip_rows == 0 && inlet->skip_rejects == 0) return LEVADA_OK;
    return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                       "'%s' ends before the saved position: it has fewer records than when the "
                       "checkpoint was saved", it->path);
}

/* -- at an input */

/* Rejects before the first row go to the consumer, and the remainder waits. */
static levada_status stream_hand_over(levada_node *it, levada_item *item, levada_error *err)
{
    levada_node  *to = it->consumer;
    int32_t       n = 0, kept = to->kept.n;
    levada_status st = LEVADA_OK;

    while (st == LEVADA_OK && n < item->rejects.n && item->rejects.list[n].row == 0) {
        st = levada_node_keep(to, &item->rejects.list[n++], err);
    }
    if (st == LEVADA_OK) st = levada_node_cut(it, item, 0, n, err);
    if (st == LEVADA_OK) {
        levada_item_clear(item);
        return LEVADA_AGAIN;
    }
    to->kept.n = kept;
    stream_return(it, item);
    return st;
}

/* Pulls the rows up to the next reject. */
static levada_status stream_pull_rows(levada_node *it, levada_hint hint, levada_item *item,
                                      levada_error *err)
{
    int64_t       rows;
    levada_status st;

    LEVADA_TRY(levada_require(it != NULL, "in", err));
    LEVADA_ASSERT(it->consumer);
    if (it->consumer->kept.n) return LEVADA_AGAIN; /* these come first */
    LEVADA_TRY(levada_node_next(it, hint, item, err));
    rows = item->rejects.n ? item->rejects.list[0].row : item->block->n;
    if (hint.rows < rows && it->inlet.n == 0) rows = hint.rows;
    if (rows == 0) return stream_hand_over(it, item, err);
    st = levada_node_cut(it, item, rows, 0, err);
    if (st == LEVADA_OK) levada_rejects_clear(&item->rejects);
    else stream_return(it, item);
    return st;
}

levada_status levada_input_next(levada_input *it, levada_block **out, levada_error *err)
{
    levada_item item = { 0 };

    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(stream_pull_rows(it, LEVADA_HINT_ANY, &item, err));
    levada_node_count_read(it, item.block->n);
    *out = item.block;
    return LEVADA_OK;
}

levada_status levada_input_peek_hinted(levada_input *in, levada_hint hint,
                                       const levada_block **out, levada_error *err)
{
    levada_item item = { 0 };

    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(stream_pull_rows(in, hint, &item, err));
    *out = item.block;
    stream_return(in, &item);
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

levada_status levada_cursor_fill_hurried(levada_cursor *cur, levada_input *in, bool hurry,
                                         levada_error *err)
{
    atomic_int   *hurried = &in->puller->hurried;
    int           own = hurry ? ~atomic_fetch_or(hurried, LEVADA_HURRY_STAGE) & LEVADA_HURRY_STAGE
                              : 0; /* else a stage downstream hurries, too */
    levada_status st = levada_cursor_fill(cur, in, err);

    (void)atomic_fetch_and(hurried, ~own);
    return st;
}

void levada_node_unread(levada_node *it, levada_item *item)
{
    levada_node_count_read(it, -levada_item_rows(item));
    if (levada_node_take_back(it)) {
        stream_count(it, item, -1);
        levada_item_clear(item);
    } else {
        stream_return(it, item);
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
