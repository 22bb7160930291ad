/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch - so many records to a block of their own. Ragged columns stay ragged: their offsets are
 * cu_seqlens.
 */
#include "batch/waiting.h"
#include "description/columns.h"
#include "registry/env_priv.h"
#include "tensor/block_priv.h"

typedef struct batch_args {
    int64_t batch_size;
    bool    drop_remainder;
} batch_args;

typedef struct batch_state {
    const levada_context *context;
    levada_waiting        waiting;
} batch_state;

static const levada_arg batch_options[] = {
    LEVADA_ARG(INT, batch_args, batch_size, .required = true, .positional = true, .min = 1,
               .max = 1 << 24, .doc = "records in a batch"),
    LEVADA_ARG(BOOL, batch_args, drop_remainder, .otherwise = "false",
               .doc = "leave out a last batch that is smaller"),
    LEVADA_ARG_END
};

static levada_status batch_check(const void *args, const levada_spec *in, levada_spec **out,
                                 levada_error *err)
{
    levada_field fields[1] = { 0 };
    int32_t      n = levada_spec_count(in);

    (void)args;
    LEVADA_TRY(levada_spec_want_records(in, err));
    return levada_spec_create(n ? levada_spec_field(in, 0) : fields, n,
                              levada_spec_flags_of(in) | LEVADA_SPEC_BATCHED, out, err);
}

static levada_status batch_open(void *state, const void *args, const levada_context *context,
                                levada_error *err)
{
    batch_state *s = state;

    (void)args;
    s->context = context;
    return context->fused_end ? LEVADA_OK : levada_waiting_open(&s->waiting, context, err);
}

static void batch_close(void *state) { levada_waiting_close(&((batch_state *)state)->waiting); }

static levada_status batch_next(void *state, const void *args, levada_input *in, levada_block **out,
                                levada_error *err)
{
    batch_state      *s = state;
    const batch_args *a = args;

    return levada_waiting_next(&s->waiting, s->context, in, a->batch_size, a->drop_remainder, out,
                               err);
}

static levada_status batch_apply(void *state, const void *args, const levada_block *in,
                                 levada_block **out, levada_error *err)
{
    (void)args;
    return levada_block_gather(levada_env_pool(((batch_state *)state)->context->env), in, out, err);
}

static levada_status batch_save(const void *state, levada_state_writer *to, levada_error *err)
{
    return levada_waiting_save(&((const batch_state *)state)->waiting, to, err);
}

static levada_status batch_restore(void *state, levada_state_reader *from, levada_error *err)
{
    return levada_waiting_restore(&((batch_state *)state)->waiting, from, err);
}

const levada_stage_def levada_stage_batch = {
    .struct_size = sizeof(levada_stage_def),
    .name = "batch",
    .doc = "so many records to a batch, ragged columns stay ragged",
    .example = "range:10 | batch:4",
    .mode = LEVADA_MODE_SERIAL,
    .rows = LEVADA_ROWS_FREE,
    .takes_selection = true,
    .batches = true,
    .args = batch_options,
    .args_size = sizeof(batch_args),
    .state_size = sizeof(batch_state),
    .state_version = 1,
    .check = batch_check,
    .open = batch_open,
    .close = batch_close,
    .next = batch_next,
    .apply = batch_apply,
    .save = batch_save,
    .restore = batch_restore,
};
