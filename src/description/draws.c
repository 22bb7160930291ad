/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the stages of a dataset whose random numbers decide which records there are, and in which
 * order.
 */
#include "description/dataset_priv.h"

static bool draws_itself(const levada_dataset *at, levada_draws what)
{
    const levada_traits t = levada_traits_of(at);

    if (what == LEVADA_DRAWS_ANY) return t.random != LEVADA_RANDOM_NONE;
    if (what == LEVADA_DRAWS_ORDER || !levada_traits_order(&t)) return levada_traits_order(&t);
    return levada_value_kind_of(levada_value_get(at->options, "seed")) == LEVADA_VALUE_NULL;
}

const levada_dataset *levada_dataset_draws(const levada_dataset *at, levada_draws what)
{
    const levada_dataset *found = draws_itself(at, what) ? at : NULL;

    for (int32_t i = 0; !found && i < at->ninputs; i++) {
        found = levada_dataset_draws(at->inputs[i], what);
    }
    for (int64_t i = 0; !found && i < levada_value_count(at->options); i++) {
        const levada_dataset *pipe = levada_value_as_pipe(levada_value_item(at->options, i));

        if (pipe) found = levada_dataset_draws(pipe, what);
    }
    return found;
}

bool levada_dataset_divides(const levada_dataset *at)
{
    const levada_value *ranks = levada_value_get(at->options, "ranks");

    if (levada_value_count(ranks) == 2) return levada_value_as_int(levada_value_item(ranks, 1)) > 1;
    if (!at->op->traits.shards) return false;
    return levada_value_as_int(levada_value_get(at->options, "count")) > 1;
}

const levada_dataset *levada_dataset_draws_before_shard(const levada_dataset *at)
{
    const levada_dataset *found = NULL;

    if (levada_dataset_divides(at)) found = levada_dataset_draws(at, LEVADA_DRAWS_SEEDLESS);
    for (int32_t i = 0; !found && i < at->ninputs; i++) {
        found = levada_dataset_draws_before_shard(at->inputs[i]);
    }
    for (int64_t i = 0; !found && i < levada_value_count(at->options); i++) {
        const levada_dataset *pipe = levada_value_as_pipe(levada_value_item(at->options, i));

        if (pipe) found = levada_dataset_draws_before_shard(pipe);
    }
    return found;
}
