/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rejects on their way to the consumer. They stay before the row that came after them:
 *
 *  - Fused stages receive items (levada_node_next), and move their rejects with the rows.
 *  - A SERIAL stage or a combiner never sees one. levada_input_next returns the rows up to the next
 *    reject. The call after that keeps the reject for the next item of the stage and returns AGAIN:
 *    everything that the stage has made so far comes before it.
 *  - The iterator of the user counts them (levada_node_commit_rejects).
 */
#include "run/node.h"

#define TRANSIT_AFTER INT64_MAX /* row of a reject that follows all rows of a block */

/* -- a node's own */

/* Passes on a reject of a node in a pipe; the combiner that opened the pipe numbers it. */
static levada_status transit_add(levada_node *it, const levada_reject *reject, int64_t row,
                                 levada_error *err)
{
    levada_reject *kept;

    LEVADA_TRY(levada_rejects_add(&it->kept, reject, 1, err));
    kept = &it->kept.list[it->kept.n - 1];
    kept->row = row;
    if (kept->loss.piped && !it->place.piped) {
        kept->loss.piped = false;
        levada_skip_number(&kept->loss, &it->progress, it->progress.read);
    }
    return LEVADA_OK;
}

levada_status levada_node_keep(levada_node *it, const levada_reject *reject, levada_error *err)
{
    return transit_add(it, reject, TRANSIT_AFTER, err);
}

levada_status levada_node_reject(levada_node *it, const levada_error *why, int64_t unread,
                                 levada_error *err)
{
    levada_reject reject = { .why = *why };

    reject.loss = levada_skip_loss(&it->place, &it->run->skips.policy, 1);
    if (!reject.loss.piped) {
        reject.loss.lost = ++it->progress.lost;
        reject.loss.total = it->progress.read - unread;
    }
    return transit_add(it, &reject, 0, err);
}

static levada_reject transit_note(levada_node *it, const levada_error *why)
{
    levada_reject note = { .why = *why };

    note.loss = levada_skip_loss(&it->place, &it->run->skips.policy, 0);
    note.loss.noted = true;
    return note;
}

levada_status levada_node_note(levada_node *it, const levada_error *why, levada_error *err)
{
    levada_reject note = transit_note(it, why);

    return transit_add(it, &note, 0, err);
}

levada_status levada_node_note_restored(levada_node *it, const levada_error *why,
                                        levada_error *err)
{
    levada_reject note = transit_note(it, why);

    return levada_skip_commit(&it->run->skips, it->run->env, &note, err);
}

levada_status levada_node_dropped(levada_node *it, int64_t records, levada_error *err)
{
    levada_reject reject = { .why = LEVADA_ERROR_INIT };

    reject.why.code = LEVADA_EUNKNOWN; /* an error that a state can keep; it is never reported */
    reject.loss = levada_skip_loss(&it->place, &it->run->skips.policy, 0);
    reject.loss.piped = false;
    reject.loss.dropped = records;
    return transit_add(it, &reject, 0, err);
}

void levada_node_number(levada_node *it, levada_rejects *made, int64_t records)
{
    for (int32_t i = 0; i < made->n; i++) {
        levada_loss *loss = &made->list[i].loss;

        if (!loss->records || loss->lost || loss->piped) continue;
        loss->lost = ++it->progress.lost;
        loss->total += it->progress.read - records;
    }
}

levada_status levada_node_judge(levada_node *it, levada_item *made, levada_error *err)
{
    int64_t rows = levada_item_rows(made);

    if (!made->block || made->block->nrejects == 0) return LEVADA_OK;
    LEVADA_TRY(levada_run_reject(it->run, &it->place, it->path, made->block, made, err));
    levada_node_number(it, &made->rejects, rows);
    return LEVADA_OK;
}

levada_status levada_node_attach(levada_node *it, levada_item *made, levada_error *err)
{
    levada_rejects *kept = &it->kept, all = { 0 };
    int32_t         before = 0, own = made->rejects.n;
    levada_status   st;

    while (before < kept->n && kept->list[before].row == 0) before++;
    st = levada_rejects_add(&all, kept->list, before, err);
    if (st == LEVADA_OK) st = levada_rejects_add(&all, made->rejects.list, own, err);
    if (st == LEVADA_OK) {
        st = levada_rejects_add(&all, kept->list + before, kept->n - before, err);
    }
    if (st != LEVADA_OK) {
        levada_rejects_clear(&all);
        return st;
    }
    for (int32_t i = before + own; i < all.n; i++) all.list[i].row = levada_item_rows(made);
    levada_rejects_clear(&made->rejects);
    made->rejects = all;
    kept->n = 0;
    return LEVADA_OK;
}

/* -- at the iterator */

levada_status levada_node_commit_rejects(levada_node *root, levada_item *item, levada_error *err)
{
    const levada_rejects *rejects = &item->rejects;
    int32_t               i = 0;
    levada_status         st = LEVADA_OK;

    for (; st == LEVADA_OK && i < rejects->n; i++) {
        st = levada_skip_commit(&root->run->skips, root->run->env, &rejects->list[i], err);
    }
    if (st != LEVADA_OK && rejects->list[--i].row > 0) { /* reported after the rows before it */
        levada_error_clear(err);
        st = levada_node_cut(root, item, rejects->list[i].row, i, err);
    }
    if (st == LEVADA_OK) levada_rejects_clear(&item->rejects);
    else levada_item_clear(item);
    return st;
}
