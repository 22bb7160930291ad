/* SPDX-License-Identifier: Apache-2.0 */
#include "inspect/rows_check.h"

#include "base/alloc.h"
#include "registry/registry.h"
#include "tensor/builder_priv.h"

#include <stdlib.h>
#include <string.h>

levada_status levada_rows_check_open(levada_rows_check *check, const levada_dataset *dataset,
                                     const levada_context *context, levada_error *err)
{
    *check = (levada_rows_check){ .decoder = levada_op_decoder(dataset->op), .dataset = dataset };
    if (!check->decoder) return LEVADA_OK;
    check->state = levada_alloc_aligned(64, check->decoder->state_size + 1);
    if (!check->state) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                          "out of memory for rows");
    memset(check->state, 0, check->decoder->state_size);
    if (check->decoder->open)
        LEVADA_TRY(check->decoder->open(check->state, dataset->args, context, err));
    check->opened = true;
    return LEVADA_OK;
}

void levada_rows_check_close(levada_rows_check *check)
{
    if (check->opened && check->decoder->close) check->decoder->close(check->state);
    levada_block_unref(&check->decoded);
    levada_free(check->state);
    *check = (levada_rows_check){ 0 };
}

static int check_compare(const void *a, const void *b)
{
    int64_t first = ((const levada_reject *)a)->row, second = ((const levada_reject *)b)->row;

    return (first > second) - (first < second);
}

/* Compares by row; takes the first of each. */
static int32_t check_sort(levada_reject *rejects, int32_t n)
{
    int32_t kept = 0;

    if (n > 1) qsort(rejects, (size_t)n, sizeof *rejects, check_compare);
    for (int32_t i = 0; i < n; i++)
        if (kept == 0 || rejects[kept - 1].row != rejects[i].row) rejects[kept++] = rejects[i];
    return kept;
}

levada_status levada_rows_check_block(levada_rows_check *check, const levada_block *rows,
                                      const levada_reject **rejects, int32_t *n, levada_error *err)
{
    levada_pool         *pool = levada_env_pool(check->dataset->env);
    const levada_column *c = &rows->columns[0];
    levada_builder      *builder = NULL;
    const uint8_t      **data = levada_alloc((size_t)rows->n * sizeof *data + 1);
    int32_t             *size = levada_alloc((size_t)rows->n * sizeof *size + 1);
    levada_strings       in = { .data = data, .size = size, .n = rows->n, .owner = c->owner };
    levada_status        st = LEVADA_OK;

    levada_block_unref(&check->decoded);
    if (!data || !size) st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for rows");
    for (int64_t i = 0; st == LEVADA_OK && i < rows->n; i++) {
        data[i] = c->values + c->level[0].begin[i];
        size[i] = c->level[0].end[i] - c->level[0].begin[i];
    }
    if (st == LEVADA_OK)
        st = levada_builder_make(pool, check->dataset->spec, rows->n, &builder, err);
    if (st == LEVADA_OK)
        st = check->decoder->decode(check->state, check->dataset->args, &in, builder, err);
    if (st == LEVADA_OK) st = levada_builder_check_text(builder, err);
    if (st == LEVADA_OK) st = levada_builder_publish(&builder, &check->decoded, err);
    if (st == LEVADA_OK) {
        *n = check_sort(check->decoded->rejects, check->decoded->nrejects);
        *rejects = check->decoded->rejects;
    }
    levada_builder_destroy(&builder);
    levada_free(size);
    levada_free(data);
    return st;
}
