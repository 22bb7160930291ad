/* SPDX-License-Identifier: Apache-2.0 */
/*
 * padded_batch - groups batch_size records to a batch, ragged columns padded to one FIXED column.
 */
#include "batch/grouping.h"
#include "batch/padding.h"
#include "description/columns.h"
#include "registry/stage_core.h"
#include "run/context.h"

typedef struct padded_batch_args {
    int64_t             batch_size, pad_to_multiple, padding_side;
    const levada_value *padded_shapes, *padding_values;
    bool                drop_remainder;
} padded_batch_args;

typedef struct padded_batch_state {
    levada_grouping     grouping; /* first, as its hooks expect */
    levada_padding_plan plan;
} padded_batch_state;

static const levada_arg padded_batch_options[] = {
    LEVADA_ARG(INT, padded_batch_args, batch_size, .required = true, .positional = true, .min = 1,
               .max = 1 << 24, .doc = "records in a batch"),
    LEVADA_ARG(VALUE, padded_batch_args, padded_shapes,
               .doc = "{field: [length or null, ...]} to pad to; null = the longest record of the "
                      "batch"),
    LEVADA_ARG(VALUE, padded_batch_args, padding_values,
               .doc = "{field: value}, or one value for all fields; null = 0, and empty strings"),
    LEVADA_ARG(INT, padded_batch_args, pad_to_multiple, .otherwise = "1", .min = 1, .max = 1 << 24,
               .doc = "round padded lengths up to a multiple of this number"),
    LEVADA_PADDING_LEFT(padded_batch_args),
    LEVADA_ARG(BOOL, padded_batch_args, drop_remainder, .otherwise = "false",
               .doc = "drop a smaller last batch"),
    LEVADA_ARG_END
};

static levada_padding_options padded_batch_how(const padded_batch_args *a)
{
    levada_padding_options o = { a->padded_shapes, a->padding_values, a->pad_to_multiple,
                                 a->padding_side != 0 };

    return o;
}

static levada_status padded_batch_check(const void *args, const levada_spec *in, levada_spec **out,
                                        levada_error *err)
{
    levada_padding_options how = padded_batch_how(args);

    LEVADA_TRY(levada_spec_want_records(in, err));
    return levada_padding_spec(&how, in, out, err);
}

static levada_status padded_batch_open(void *state, const void *args,
                                       const levada_context *context, levada_error *err)
{
    const padded_batch_args      *a = args;
    const levada_grouping_options options = { .policy = &levada_grouping_by_size,
                                              .self = &a->batch_size,
                                              .groups = 1,
                                              .drop_rest = a->drop_remainder };

    levada_context_hint_batch_size(context, a->batch_size);
    return levada_grouping_open(state, context, &options, err);
}

static void padded_batch_close(void *state)
{
    padded_batch_state *s = state;

    levada_grouping_close(&s->grouping);
    levada_padding_clear(&s->plan);
}

static levada_status padded_batch_apply(void *state, const void *args, const levada_block *in,
                                        levada_block **out, levada_error *err)
{
    padded_batch_state    *s = state;
    levada_padding_options how = padded_batch_how(args);

    return levada_padding_apply(&s->plan, &how, s->grouping.context, in, -1, out, err);
}

static int64_t padded_batch_count(const void *args, int64_t n)
{
    const padded_batch_args *a = args;

    return n / a->batch_size + (!a->drop_remainder && n % a->batch_size > 0);
}

const levada_stage_def levada_stage_padded_batch = {
    .struct_size = sizeof(levada_stage_def),
    .name = "padded_batch",
    .doc = "groups batch_size records into a batch, padded to the longest",
    .example = "range:10 | padded_batch:4",
    .mode = LEVADA_MODE_SERIAL,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_BATCHES, .divides = true,
                            .saves = "buffered records, by origin", .count = padded_batch_count),
    .core = LEVADA_STAGE_CORE(.late = LEVADA_LATE_TAKES),
    .takes_selection = true,
    .args = padded_batch_options,
    .args_size = sizeof(padded_batch_args),
    .state_size = sizeof(padded_batch_state),
    .state_version = 2,
    .check = padded_batch_check,
    .open = padded_batch_open,
    .close = padded_batch_close,
    .next = levada_grouping_next,
    .apply = padded_batch_apply,
    .save = levada_grouping_save,
    .restore = levada_grouping_restore,
};
