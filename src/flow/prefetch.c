/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prefetch - how many results of the stages before it may be ready. The plan (run/plan.c) sizes the
 * ring of their tickets; with one thread there is nothing to do.
 */
#include "registry/stage_core.h"

#include <levada/stage.h>

typedef struct prefetch_args {
    int64_t n, bytes;
} prefetch_args;

static const levada_arg prefetch_options[] = {
    LEVADA_ARG(INT, prefetch_args, n, .positional = true, .min = 1, .max = 1 << 20,
               .otherwise = "2", .tuning = true, .doc = "maximum number of blocks (batches) that "
                                                        "are ready"),
    LEVADA_ARG(SIZE, prefetch_args, bytes, .min = 1, .max = INT64_MAX, .tuning = true,
               .doc = "maximum bytes of these blocks; null = 256M"),
    LEVADA_ARG_END
};

static levada_status prefetch_apply(void *state, const void *args, const levada_block *in,
                                    levada_block **out, levada_error *err)
{
    (void)state, (void)args, (void)err;
    *out = levada_block_ref(in);
    return LEVADA_OK;
}

static void prefetch_read_ahead(const void *args, int64_t *blocks, int64_t *bytes)
{
    const prefetch_args *a = args;

    *blocks = a->n;
    if (a->bytes != LEVADA_NULL_INT) *bytes = a->bytes;
}

const levada_stage_def levada_stage_prefetch = {
    .struct_size = sizeof(levada_stage_def),
    .name = "prefetch",
    .doc = "prepares blocks (batches) ahead of the consumer",
    .example = "range:10 | prefetch:2",
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_NONE,
                            .divides = true, .never_rejects = true),
    .core = LEVADA_STAGE_CORE(.late = LEVADA_LATE_PASS, .read_ahead = prefetch_read_ahead),
    .takes_selection = true,
    .args = prefetch_options,
    .args_size = sizeof(prefetch_args),
    .apply = prefetch_apply,
};
