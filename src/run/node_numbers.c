/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers in place of records (run/own.h): the records that they stand for.
 */
#include "base/alloc.h"
#include "run/plan.h"
#include "tensor/merge.h"

/* An input of a combiner, and the records that it fetched. */
typedef struct numbers_input {
    const levada_node *node;
    levada_block      *records; /* NULL = no number is its own */
    levada_merge_input rows;
    int64_t            at;
} numbers_input;

const levada_spec *levada_node_records(const levada_node *source)
{
    bool files = source->at->op->family == LEVADA_FAMILY_FORMAT;

    return files ? levada_file_reader_records(source->self) : source->at->spec;
}

static int32_t numbers_find(const levada_node *it, int32_t source)
{
    int32_t i = 0;

    while (i + 1 < it->ninputs && !levada_node_owns_source(it->inputs[i], 0, source)) i++;
    return i;
}

/* Sorts the input of each number; `same`: the one that has all of them, or -1. */
static void numbers_sort(const levada_node *it, const levada_block *numbers, int32_t *which,
                         int32_t *same)
{
    int32_t source = -1, input = 0;

    *same = 0;
    for (int64_t i = 0; i < numbers->n; i++) {
        levada_origin o = levada_block_origin(numbers, i);

        if (o.source != source) input = numbers_find(it, source = o.source);
        which[i] = input;
        if (which[i] != which[0]) *same = -1;
    }
    if (*same == 0 && numbers->n > 0) *same = which[0];
}

/* Fetches the records of one input; `rows` is space for their places. */
static levada_status numbers_fetch_some(numbers_input *input, const levada_block *numbers,
                                        const int32_t *which, int32_t own, int32_t *rows,
                                        levada_error *err)
{
    levada_block *some = NULL;
    int64_t       n = 0;
    levada_status st;

    for (int64_t i = 0; i < numbers->n; i++) {
        if (which[i] == own) rows[n++] = (int32_t)i;
    }
    if (n == 0) return LEVADA_OK;
    LEVADA_TRY(levada_block_select(numbers, rows, n, &some, err));
    st = levada_node_fetch(input->node->numbers, some, &input->records, err);
    levada_block_unref(&some);
    return st == LEVADA_OK ? levada_merge_switch(&input->rows, input->records, err) : st;
}

/* Fetches the records of all inputs, in the order of the numbers. */
static levada_status numbers_fetch_all(const levada_node *it, numbers_input *inputs,
                                       const levada_block *numbers, const int32_t *which,
                                       int32_t *rows, levada_block **out, levada_error *err)
{
    levada_merge  merge = { 0 };
    levada_status st = LEVADA_OK;

    for (int32_t k = 0; st == LEVADA_OK && k < it->ninputs; k++) {
        inputs[k].node = it->inputs[k];
        st = numbers_fetch_some(&inputs[k], numbers, which, k, rows, err);
    }
    if (st == LEVADA_OK) {
        st = levada_merge_begin(&merge, levada_env_pool(it->run->env), numbers->n, err);
    }
    for (int64_t i = 0; st == LEVADA_OK && i < numbers->n; i++) {
        numbers_input *input = &inputs[which[i]];

        levada_merge_row(&merge, &input->rows, input->at++);
    }
    if (st == LEVADA_OK) st = levada_merge_end(&merge, out, err);
    levada_merge_clear(&merge);
    return st;
}

static levada_status numbers_fetch_combined(const levada_node *it, const levada_block *numbers,
                                            levada_block **out, levada_error *err)
{
    size_t         n = (size_t)numbers->n;
    int32_t       *which = levada_alloc(2 * n * sizeof *which + 1), same;
    numbers_input *inputs = levada_alloc_zero((size_t)it->ninputs * sizeof *inputs);
    levada_status  st = LEVADA_OK;

    if (!which || !inputs) {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for numbers of records");
    } else {
        numbers_sort(it, numbers, which, &same);
        st = same >= 0 ? levada_node_fetch(it->inputs[same]->numbers, numbers, out, err)
                       : numbers_fetch_all(it, inputs, numbers, which, which + n, out, err);
    }
    for (int32_t k = 0; inputs && k < it->ninputs; k++) {
        levada_merge_input_clear(&inputs[k].rows);
        levada_block_unref(&inputs[k].records);
    }
    levada_free(inputs);
    levada_free(which);
    return st;
}

levada_status levada_node_fetch(const levada_node *source, const levada_block *numbers,
                                levada_block **out, levada_error *err)
{
    if (source->ninputs) return numbers_fetch_combined(source, numbers, out, err);
    return source->ops->numbers->fetch((levada_node *)(uintptr_t)source, numbers, out, err);
}
