/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rejects on their way to the consumer. They stay before the row that came after them:
 *
 *  - Fused stages receive whole blocks with their rejects (levada_node_next), and move them.
 *  - A SERIAL stage or a combiner never sees one. levada_input_next returns the rows up to the next
 *    reject. The call after that keeps the reject for the block of the stage and returns AGAIN:
 *    everything that the stage has made so far comes before it.
 *  - The iterator of the user counts them (levada_node_commit_rejects).
 */
#include "base/alloc.h"
#include "run/node.h"
#include "tensor/block_priv.h"

#include <string.h>

#define TRANSIT_AFTER INT64_MAX /* row of a reject that follows all rows of a block */

/* -- a node's own */

/* What a node in a pipe rejects is numbered by the combiner that opened the pipe. */
static levada_status transit_add(levada_node *it, const levada_reject *reject, int64_t row,
                                 levada_error *err)
{
    levada_reject *kept;

    if (!levada_reserve(&it->kept, &it->kept_capacity, it->nkept + 1, sizeof *it->kept)) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while skipping records");
    }
    kept = &it->kept[it->nkept++];
    *kept = *reject;
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

levada_status levada_node_note(levada_node *it, const levada_error *why, levada_error *err)
{
    levada_reject note = { .why = *why };

    note.loss = levada_skip_loss(&it->place, &it->run->skips.policy, 0);
    note.loss.noted = true;
    return transit_add(it, &note, 0, err);
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

void levada_node_number(levada_node *it, levada_block *made, int64_t records)
{
    for (int32_t i = 0; i < made->nrejects; i++) {
        levada_loss *loss = &made->rejects[i].loss;

        if (!loss->records || loss->lost || loss->piped) continue;
        loss->lost = ++it->progress.lost;
        loss->total += it->progress.read - records;
    }
}

levada_status levada_node_judge(levada_node *it, levada_block **made, levada_error *err)
{
    int64_t rows = (*made)->n;

    if (it->ops->kind == LEVADA_NODE_FUSED || (*made)->nrejects == 0 ||
        (*made)->rejects[0].loss.counts) {
        return LEVADA_OK;
    }
    LEVADA_TRY(levada_run_reject(it->run, &it->place, it->path, *made, made, err));
    levada_node_number(it, *made, rows);
    return LEVADA_OK;
}

levada_status levada_node_attach(levada_node *it, levada_block **made, levada_error *err)
{
    int32_t        own = (*made)->nrejects, before = 0;
    levada_reject *all = levada_alloc((size_t)(own + it->nkept) * sizeof *all);
    levada_block  *alone = NULL;

    if (!all) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                 "out of memory while skipping records");
    if (!levada_block_exclusive(*made)) {
        levada_status st = levada_block_copy_rows(*made, &alone, err);

        if (st != LEVADA_OK) {
            levada_free(all);
            return st;
        }
    }
    while (before < it->nkept && it->kept[before].row == 0) before++;
    memcpy(all, it->kept, (size_t)before * sizeof *all);
    if (own) memcpy(all + before, (*made)->rejects, (size_t)own * sizeof *all);
    memcpy(all + before + own, it->kept + before, (size_t)(it->nkept - before) * sizeof *all);
    for (int32_t i = before + own; i < own + it->nkept; i++) all[i].row = (*made)->n;
    if (alone) {
        levada_block_unref(made);
        *made = alone;
    }
    levada_free((*made)->rejects);
    (*made)->rejects = all;
    (*made)->nrejects = own + it->nkept;
    it->nkept = 0;
    return LEVADA_OK;
}

/* -- at the iterator */

levada_status levada_node_commit_rejects(levada_node *root, levada_block **block,
                                         levada_error *err)
{
    levada_skips *account = &root->run->skips;
    int32_t       i = 0;
    levada_status st = LEVADA_OK;

    for (; st == LEVADA_OK && i < (*block)->nrejects; i++) {
        st = levada_skip_commit(account, root->run->env, &(*block)->rejects[i], err);
    }
    if (st != LEVADA_OK && (*block)->rejects[--i].row > 0) { /* reported after the rows before it */
        levada_error_clear(err);
        st = levada_node_cut(root, block, (*block)->rejects[i].row, i, err);
    }
    if (st != LEVADA_OK) {
        levada_block_unref(block);
        return st;
    }
    levada_free((*block)->rejects);
    (*block)->rejects = NULL;
    (*block)->nrejects = 0;
    return LEVADA_OK;
}
