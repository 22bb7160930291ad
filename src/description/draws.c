/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the stages of a dataset whose random numbers decide which records there are, and in which
 * order.
 */
#include "description/dataset_priv.h"

#include <string.h>

static bool draws_option(const levada_arg *arg, const levada_value *value, bool seeded)
{
    if (strcmp(arg->name, "seed") == 0) {
        return seeded || levada_value_kind_of(value) == LEVADA_VALUE_NULL;
    }
    if (strcmp(arg->name, "random_crop") == 0) return seeded && levada_value_count(value) > 0;
    if (strcmp(arg->name, "shuffle") != 0 && strcmp(arg->name, "shuffle_files") != 0 &&
        strcmp(arg->name, "shuffle_records") != 0) {
        return false;
    }
    return arg->type == LEVADA_ARG_BOOL && levada_value_as_bool(value);
}

const char *levada_dataset_draws(const levada_dataset *at, bool seeded)
{
    const char *found = NULL;

    for (int64_t i = 0; !found && i < levada_value_count(at->options); i++) {
        const levada_value *value = levada_value_item(at->options, i);
        const levada_dataset *pipe = levada_value_as_pipe(value);

        if (pipe) found = levada_dataset_draws(pipe, seeded);
        else if (draws_option(&at->op->args[i], value, seeded)) found = at->op->name;
    }
    for (int32_t i = 0; !found && i < at->ninputs; i++) {
        found = levada_dataset_draws(at->inputs[i], seeded);
    }
    return found;
}

/* A shard, or a stage with ranks, that divides: there is more than one part. */
static bool draws_divides(const levada_dataset *at)
{
    const levada_value *ranks = levada_value_get(at->options, "ranks");

    if (levada_value_count(ranks) == 2) return levada_value_as_int(levada_value_item(ranks, 1)) > 1;
    if (at->op->family != LEVADA_FAMILY_STAGE || !at->op->def.stage.shards) return false;
    return levada_value_as_int(levada_value_get(at->options, "count")) > 1;
}

const char *levada_dataset_draws_before_shard(const levada_dataset *at)
{
    const char *found = NULL;

    for (int32_t i = 0; !found && i < at->ninputs; i++) {
        if (draws_divides(at)) found = levada_dataset_draws(at->inputs[i], false);
        if (!found) found = levada_dataset_draws_before_shard(at->inputs[i]);
    }
    for (int64_t i = 0; !found && i < levada_value_count(at->options); i++) {
        const levada_dataset *pipe = levada_value_as_pipe(levada_value_item(at->options, i));

        if (pipe) found = levada_dataset_draws_before_shard(pipe);
    }
    return found;
}
