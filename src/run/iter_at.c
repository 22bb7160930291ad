/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single records of an iterator, read by their origins through all stages.
 */
#include "registry/env_priv.h"
#include "run/iter.h"
#include "run/plan.h"
#include "tensor/block_priv.h"

levada_status levada_iter_at(levada_iter *it, int64_t number, levada_block **out,
                             levada_error *err)
{
    levada_node  *source = it->root;
    levada_origin origin;
    levada_block *made = NULL;
    levada_status st;

    while (source->ninputs) source = source->inputs[0];
    LEVADA_TRY(source->ops->access->locate(source, number, &origin, err));
    LEVADA_TRY(levada_node_read(it->root, &origin, 1, LEVADA_READ_FIRST, &made, err));
    st = levada_block_gather(levada_env_pool(it->run->env), made, out, err);
    levada_block_unref(&made);
    return st;
}
