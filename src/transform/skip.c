/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skip - all but the first records, or after batching all but the first batches.
 */
#include "registry/stage_core.h"
#include "tensor/block_priv.h"
#include <levada/stage.h>

typedef struct skip_args {
    int64_t count;
} skip_args;

typedef struct skip_state {
    bool    batches;
    int64_t count, skipped;
} skip_state;

static const levada_arg skip_options[] = {
    LEVADA_ARG(INT, skip_args, count, .required = true, .positional = true, .min = 0,
               .max = INT64_MAX, .doc = "records (batches) to skip"),
    LEVADA_ARG_END,
};

static levada_status skip_open(void *state, const void *args, const levada_context *context,
                               levada_error *err)
{
    skip_state *s = state;

    (void)err;
    s->batches = levada_spec_flags_of(context->in) & LEVADA_SPEC_BATCHED;
    s->count = ((const skip_args *)args)->count;
    return LEVADA_OK;
}

/* Returns what a block counts for. */
static int64_t skip_units(const skip_state *s, const levada_block *block)
{
    return s->batches ? 1 : block->n;
}

static levada_status skip_next(void *state, const void *args, levada_input *in, levada_block **out,
                               levada_error *err)
{
    skip_state   *s = state;
    int64_t       left = s->count - s->skipped;
    levada_block *block = NULL;
    levada_status st = levada_input_next(in, &block, err);

    (void)args;
    while (st == LEVADA_OK && skip_units(s, block) <= left) {
        s->skipped += skip_units(s, block);
        left -= skip_units(s, block);
        levada_block_unref(&block);
        st = levada_input_next(in, &block, err);
    }
    if (st != LEVADA_OK) return st;
    st = levada_block_slice(NULL, block, left, block->n - left, out, err);
    levada_block_unref(&block);
    if (st == LEVADA_OK) s->skipped += left;
    return st;
}

static levada_status skip_save(const void *state, levada_state_writer *to, levada_error *err)
{
    return levada_state_put_i64(to, "skipped", ((const skip_state *)state)->skipped, err);
}

static levada_status skip_restore(void *state, levada_state_reader *from, levada_error *err)
{
    skip_state *s = state;

    return levada_state_get_count(from, "skipped", s->count, &s->skipped, err);
}

static int64_t skip_count(const void *args, int64_t n)
{
    int64_t count = ((const skip_args *)args)->count;

    return n > count ? n - count : 0;
}

const levada_stage_def levada_stage_skip = {
    .struct_size = sizeof(levada_stage_def),
    .name = "skip",
    .doc = "skips the first records (batches)",
    .example = "range:10 | skip:3",
    .mode = LEVADA_MODE_SERIAL,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_SUBSET, .reads = LEVADA_READS_NONE,
                            .never_rejects = true, .count = skip_count),
    .core = LEVADA_STAGE_CORE(.late = LEVADA_LATE_PASS),
    .args = skip_options,
    .args_size = sizeof(skip_args),
    .state_size = sizeof(skip_state),
    .state_version = 1,
    .open = skip_open,
    .next = skip_next,
    .save = skip_save,
    .restore = skip_restore,
};
