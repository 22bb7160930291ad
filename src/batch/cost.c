/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/cost.h"

#include "batch/cost_function.h"

static void cost_pad(const levada_cost *cost, const int64_t *longest, int64_t *padded)
{
    for (int32_t i = 0; i < cost->fields; i++) {
        padded[i] = levada_cost_length(cost, i, longest[i]);
    }
}

levada_status levada_cost_compute(const levada_cost *cost, const int64_t *longest, double *out,
                                  levada_error *err)
{
    int64_t padded[LEVADA_GROUP_KEYS];
    double  total = cost->kind == LEVADA_COST_2D;

    cost_pad(cost, longest, padded);
    if (cost->kind == LEVADA_COST_FUNCTION) {
        return levada_cost_function_get(cost->function, padded, out, err);
    }
    for (int32_t i = 0; i < cost->fields; i++) {
        double length = (double)padded[i];

        if (cost->kind == LEVADA_COST_LINEAR) total += length;
        else if (cost->kind == LEVADA_COST_2D) total *= length;
        else total += length * length;
    }
    *out = total > 1 ? total : 1;
    return LEVADA_OK;
}

levada_status levada_cost_learn(const levada_cost *cost, const int64_t *lengths, int64_t rows,
                                levada_error *err)
{
    if (cost->kind != LEVADA_COST_FUNCTION) return LEVADA_OK;
    for (int64_t i = 0; i < rows; i++) {
        int64_t padded[LEVADA_GROUP_KEYS];

        cost_pad(cost, lengths + i * cost->fields, padded);
        LEVADA_TRY(levada_cost_function_note(cost->function, padded, err));
    }
    return levada_cost_function_run(cost->function, err);
}
