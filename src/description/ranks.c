/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages that batch for one of several ranks, made of stages that batch for all.
 */
#include "description/dataset_priv.h"

const levada_dataset *levada_dataset_last(const levada_dataset *dataset)
{
    while (levada_op_core(dataset->op)->read_ahead) dataset = dataset->inputs[0];
    return dataset;
}

levada_status levada_dataset_rank(const levada_dataset *dataset, const levada_rank *rank,
                                  levada_dataset **out, levada_error *err)
{
    const levada_stage_core *core = levada_op_core(dataset->op);
    const levada_dataset    *input = dataset->ninputs == 1 ? dataset->inputs[0] : NULL;
    levada_dataset          *below = NULL;
    levada_value            *changes = NULL;
    levada_status            st = LEVADA_OK;

    if (core->read_ahead) {
        LEVADA_TRY(levada_dataset_rank(input, rank, &below, err));
        input = below;
    } else if (core->divide) {
        LEVADA_TRY(core->divide(dataset->args, rank, &changes, err));
    }
    if (below || changes) st = levada_dataset_remake(dataset, changes, &input, 1, out, err);
    levada_dataset_unref(&below);
    levada_value_destroy(&changes);
    return st;
}
