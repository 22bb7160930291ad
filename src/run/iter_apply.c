/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stage downstream of an iterator, applied to one block.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "registry/env_priv.h"
#include "run/iter.h"
#include "run/plan.h"
#include "tensor/block_priv.h"

#include <string.h>

static levada_status iter_apply_check(const levada_iter *it, const levada_dataset *dataset,
                                      levada_error *err)
{
    levada_traits traits = levada_traits_of(dataset);

    if (dataset->op->family == LEVADA_FAMILY_STAGE && dataset->ninputs == 1 &&
        dataset->inputs[0] == it->run->dataset &&
        dataset->op->def.stage.mode == LEVADA_MODE_PURE && traits.never_rejects &&
        traits.random == LEVADA_RANDOM_NONE)
        return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "'%s' must be a PURE stage that draws nothing and rejects no record, on the "
                       "dataset of the iterator", dataset->op->name);
}

static levada_status iter_apply(levada_iter *it, const levada_dataset *dataset,
                                const levada_block *block, levada_block **out, levada_error *err)
{
    const levada_stage_def *def = &dataset->op->def.stage;
    levada_context          context = levada_node_context(it->run, dataset, 0);
    levada_block           *made = NULL;
    void                   *state = levada_alloc_aligned(64, def->state_size + 1);
    levada_status           st = LEVADA_OK;

    if (!state) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a stage");
    memset(state, 0, def->state_size);
    if (def->open) st = def->open(state, dataset->args, &context, err);
    if (st == LEVADA_OK) st = def->apply(state, dataset->args, block, &made, err);
    if (st == LEVADA_OK) {
        st = levada_block_gather(levada_env_pool(it->run->env), made, out, err);
    } else {
        levada_error_wrap(err, "%s", dataset->op->name);
    }
    levada_block_unref(&made);
    if (def->close) def->close(state);
    levada_free(state);
    return st;
}

levada_status levada_iter_apply(levada_iter *it, const levada_dataset *dataset,
                                const levada_block *block, levada_block **out, levada_error *err)
{
    levada_status st;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(dataset != NULL, "dataset", err));
    LEVADA_TRY(levada_require(block != NULL, "block", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_iter_enter(it);
    st = iter_apply_check(it, dataset, err);
    if (st == LEVADA_OK) st = iter_apply(it, dataset, block, out, err);
    levada_iter_leave(it);
    return st;
}
