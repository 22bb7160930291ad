/* SPDX-License-Identifier: Apache-2.0 */
/*
 * take - the first records, or after batching the first batches, and no more.
 */
#include "registry/stage_core.h"
#include "tensor/block_priv.h"
#include <levada/stage.h>

typedef struct take_args {
    int64_t count;
} take_args;

typedef struct take_state {
    bool    batches;
    int64_t given;
} take_state;

static const levada_arg take_options[] = {
    LEVADA_ARG(INT, take_args, count, .required = true, .positional = true, .min = 0,
               .max = INT64_MAX, .doc = "maximum number of records (batches) to return"),
    LEVADA_ARG_END,
};

static levada_status take_open(void *state, const void *args, const levada_context *context,
                               levada_error *err)
{
    (void)args, (void)err;
    ((take_state *)state)->batches = levada_spec_flags_of(context->in) & LEVADA_SPEC_BATCHED;
    return LEVADA_OK;
}

static levada_status take_next(void *state, const void *args, levada_input *in, levada_block **out,
                               levada_error *err)
{
    take_state   *s = state;
    int64_t       left = ((const take_args *)args)->count - s->given;
    levada_block *block = NULL;
    levada_status st;

    if (left <= 0) return LEVADA_END;
    LEVADA_TRY(levada_input_next(in, &block, err));
    if (s->batches) {
        *out = block;
        s->given++;
        return LEVADA_OK;
    }
    if (block->n < left) left = block->n;
    st = levada_block_slice(NULL, block, 0, left, out, err);
    levada_block_unref(&block);
    if (st == LEVADA_OK) s->given += left;
    return st;
}

static levada_status take_save(const void *state, levada_state_writer *to, levada_error *err)
{
    return levada_state_put_i64(to, "given", ((const take_state *)state)->given, err);
}

static levada_status take_restore(void *state, levada_state_reader *from, levada_error *err)
{
    return levada_state_get_count(from, "given", LEVADA_COUNT_LIMIT,
                                  &((take_state *)state)->given, err);
}

static int64_t take_count(const void *args, int64_t n)
{
    int64_t count = ((const take_args *)args)->count;

    return n < count ? n : count;
}

const levada_stage_def levada_stage_take = {
    .struct_size = sizeof(levada_stage_def),
    .name = "take",
    .doc = "returns only the first records (batches)",
    .example = "range:10 | take:7",
    .mode = LEVADA_MODE_SERIAL,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_SUBSET, .reads = LEVADA_READS_NONE,
                            .never_rejects = true, .count = take_count),
    .core = LEVADA_STAGE_CORE(.late = LEVADA_LATE_PASS),
    .args = take_options,
    .args_size = sizeof(take_args),
    .state_size = sizeof(take_state),
    .state_version = 1,
    .open = take_open,
    .next = take_next,
    .save = take_save,
    .restore = take_restore,
};
