/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad records: a decoder marks rows, the policy of the iterator says what becomes of them.
 *
 * Rows are cut out wherever a stage ran; they are counted against the budget where results leave in
 * the order of records, so that threads do not decide where it ends. Each place counts by itself,
 * and the count is part of the state.
 */
#include "base/alloc.h"
#include "core/iter_priv.h"
#include "tensor/block_priv.h"

#include <string.h>

void levada_run_place(const levada_run *run, const char *path, const levada_block *block,
                      int64_t row, levada_error *err)
{
    levada_origin      origin = levada_block_origin(block, row);
    const levada_iter *leaf =
        origin.leaf >= 0 && origin.leaf < 64 ? run->leaf[origin.leaf] : NULL;
    const char *file = leaf ? levada_iter_file(leaf, origin.leaf, origin.shard) : NULL;

    levada_error_place(err, path, file, origin.record, origin.offset);
}

static levada_status reject_cut(levada_block **made, levada_error *err)
{
    levada_block       *block = *made;
    int32_t            *rows = levada_alloc((size_t)block->n * sizeof *rows);
    levada_block       *kept = NULL;
    int64_t             n = 0;
    int32_t             next = 0;
    levada_status       st;

    if (!rows) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory to skip records");
    for (int64_t i = 0; i < block->n; i++) {
        if (next < block->nrejects && block->rejects[next].row == i) {
            while (next < block->nrejects && block->rejects[next].row == i) next++;
        } else {
            rows[n++] = (int32_t)i;
        }
    }
    st = levada_block_select(block, rows, n, &kept, err);
    levada_free(rows);
    if (st != LEVADA_OK) return st;
    kept->rejects = block->rejects;
    kept->nrejects = block->nrejects;
    block->rejects = NULL;
    block->nrejects = 0;
    levada_block_unref(made);
    *made = kept;
    return LEVADA_OK;
}

static void reject_sort(levada_reject *rejects, int32_t n)
{
    for (int32_t i = 1; i < n; i++) { /* nearly sorted: decoders go through rows in order */
        levada_reject one = rejects[i];
        int32_t       k = i;

        for (; k > 0 && rejects[k - 1].row > one.row; k--) rejects[k] = rejects[k - 1];
        rejects[k] = one;
    }
}

levada_status levada_run_reject(levada_run *run, const char *path, levada_block **made,
                                levada_error *err)
{
    levada_block *block = *made;

    reject_sort(block->rejects, block->nrejects);
    for (int32_t i = 0; i < block->nrejects; i++) {
        levada_error *why = &block->rejects[i].why;

        levada_run_place(run, path, block, block->rejects[i].row, why);
        if (run->policy.skip) continue;
        if (err) *err = *why;
        return why->code;
    }
    return reject_cut(made, err);
}

/* -- counting */

levada_tally *levada_node_tally(levada_iter *it) { return it->outer ? it->outer : &it->tally; }

void levada_run_note(levada_run *run, const char *path, const levada_error *why)
{
    levada_mutex_lock(&run->noting);
    if (!run->notes) run->notes = levada_alloc(LEVADA_RUN_NOTES * sizeof *run->notes);
    if (run->notes && run->noted < LEVADA_RUN_NOTES) {
        run->notes[run->noted] = *why;
        levada_error_place(&run->notes[run->noted], path, NULL, -1, -1);
    }
    run->noted++;
    levada_mutex_unlock(&run->noting);
}

levada_status levada_node_settle(levada_iter *it, int64_t records, levada_block **made,
                                 levada_error *err)
{
    levada_tally *t = levada_node_tally(it);
    levada_block *block = *made;
    int64_t seen = atomic_fetch_add_explicit(&t->seen, records, memory_order_relaxed) + records;

    for (int32_t i = 0; i < block->nrejects; i++) {
        levada_error *why = &block->rejects[i].why;

        if (!levada_policy_allows(&it->run->policy, atomic_load(&t->bad) + 1, seen)) {
            levada_status st = why->code;

            if (err) *err = *why;
            levada_block_unref(made);
            return st;
        }
        (void)atomic_fetch_add(&t->bad, 1);
        levada_run_note(it->run, it->path, why);
    }
    levada_free(block->rejects);
    block->rejects = NULL;
    block->nrejects = 0;
    return LEVADA_OK;
}

/* Stages that call this run one block after the other, in order. */
levada_status levada_context_reject(const levada_context *context, const levada_block *record,
                                    const levada_error *why, levada_error *err)
{
    levada_run   *run = context->run;
    levada_iter  *node = context->node;
    levada_tally *t = node ? levada_node_tally(node) : &run->tally;
    levada_error  placed = *why;
    int64_t       seen = atomic_load(&t->seen);

    if (node && node->ninputs) seen += atomic_load(&node->inputs[0]->records);
    levada_run_place(run, node ? node->path : "", record, 0, &placed);
    if (!levada_policy_allows(&run->policy, atomic_load(&t->bad) + 1, seen)) {
        if (err) *err = placed;
        return why->code;
    }
    (void)atomic_fetch_add(&t->bad, 1);
    levada_run_note(run, NULL, &placed);
    return LEVADA_OK;
}

/* -- in the state: only what a budget needs, so that a run without bad records costs nothing */

#define REJECT_COUNTS 3

/* A chain may share its path with the stage whose apply() it ends in. */
static const char *const reject_keys[2][REJECT_COUNTS] = {
    { "#bad", "#seen", "#read" },
    { "#chain.bad", "#chain.seen", "#chain.read" },
};

static atomic_llong *reject_count(levada_tally *t, int i)
{
    return i == 0 ? &t->bad : i == 1 ? &t->seen : &t->read;
}

levada_status levada_tally_save(levada_iter *it, levada_state_writer *to, levada_error *err)
{
    bool chain = levada_node_is_chain(it) != NULL;

    if (atomic_load(&it->tally.bad) == 0 && it->run->policy.share < 0) return LEVADA_OK;
    for (int i = 0; i < REJECT_COUNTS; i++) {
        int64_t count = atomic_load(reject_count(&it->tally, i));

        if (i == 1 && !chain && it->ninputs) count += atomic_load(&it->inputs[0]->records);
        LEVADA_TRY(levada_state_put_i64(to, reject_keys[chain][i], count, err));
    }
    return LEVADA_OK;
}

levada_status levada_tally_restore(levada_iter *it, levada_state_reader *from, levada_error *err)
{
    bool chain = levada_node_is_chain(it) != NULL;

    for (int i = 0; i < REJECT_COUNTS; i++) {
        int64_t count = 0;

        if (levada_state_has(from, reject_keys[chain][i])) {
            LEVADA_TRY(levada_state_get_i64(from, reject_keys[chain][i], &count, err));
        }
        if (count < 0 || count > LEVADA_COUNT_LIMIT) { /* made up: sums must not overflow */
            return levada_fail(err, LEVADA_EDATA_LOSS, "the saved state is damaged");
        }
        atomic_store(reject_count(&it->tally, i), count);
    }
    return LEVADA_OK;
}
