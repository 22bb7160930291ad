/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad records: a decoder marks rows, the policy of the iterator says what becomes of them.
 */
#include "base/alloc.h"
#include "core/iter_priv.h"
#include "tensor/block_priv.h"

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
    const levada_block *block = *made;
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

levada_status levada_run_reject(levada_run *run, const char *path, const levada_block *in,
                                levada_block **made, levada_error *err)
{
    levada_block *block = *made;
    int64_t       bad, all;

    reject_sort(block->rejects, block->nrejects);
    bad = atomic_fetch_add(&run->rejected, block->nrejects) + block->nrejects;
    all = atomic_load(&run->decoded);
    if (!levada_policy_allows(&run->policy, bad, all)) {
        if (err) {
            *err = block->rejects[0].why;
            levada_run_place(run, path, in, block->rejects[0].row, err);
        }
        return block->rejects[0].why.code;
    }
    return reject_cut(made, err);
}

levada_status levada_context_reject(const levada_context *context, const levada_block *record,
                                    const levada_error *why, levada_error *err)
{
    levada_run *run = context->run;
    int64_t     bad = atomic_fetch_add(&run->rejected, 1) + 1;

    if (levada_policy_allows(&run->policy, bad, atomic_load(&run->decoded))) return LEVADA_OK;
    if (err) {
        *err = *why;
        levada_run_place(run, "", record, 0, err);
    }
    return why->code;
}
