/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch - groups batch_size records to a block. Ragged columns stay ragged: their offsets are
 * cu_seqlens.
 */
#include "batch/grouping.h"
#include "description/columns.h"
#include "registry/stage_core.h"
#include "run/context.h"

typedef struct batch_args {
    int64_t batch_size;
    bool    drop_remainder;
} batch_args;

static const levada_arg batch_options[] = {
    LEVADA_ARG(INT, batch_args, batch_size, .required = true, .positional = true, .min = 1,
               .max = 1 << 24, .doc = "records in a batch"),
    LEVADA_ARG(BOOL, batch_args, drop_remainder, .otherwise = "false",
               .doc = "drop a smaller last batch"),
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
    const batch_args             *a = args;
    const levada_grouping_options options = { .policy = &levada_grouping_by_size,
                                              .self = &a->batch_size,
                                              .groups = 1,
                                              .drop_rest = a->drop_remainder };

    levada_context_hint_batch_size(context, a->batch_size);
    return levada_grouping_open(state, context, &options, err);
}

static void batch_close(void *state) { levada_grouping_close(state); }

static int64_t batch_count(const void *args, int64_t n)
{
    const batch_args *a = args;

    return n / a->batch_size + (!a->drop_remainder && n % a->batch_size > 0);
}

const levada_stage_def levada_stage_batch = {
    .struct_size = sizeof(levada_stage_def),
    .name = "batch",
    .doc = "groups batch_size records into a batch; ragged columns stay ragged",
    .example = "range:10 | batch:4",
    .mode = LEVADA_MODE_SERIAL,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_BATCHES, .divides = true,
                            .saves = "buffered records, by origin", .count = batch_count),
    .core = LEVADA_STAGE_CORE(.late = LEVADA_LATE_TAKES),
    .takes_selection = true,
    .args = batch_options,
    .args_size = sizeof(batch_args),
    .state_size = sizeof(levada_grouping),
    .state_version = 2,
    .check = batch_check,
    .open = batch_open,
    .close = batch_close,
    .next = levada_grouping_next,
    .apply = levada_grouping_gather,
    .save = levada_grouping_save,
    .restore = levada_grouping_restore,
};
