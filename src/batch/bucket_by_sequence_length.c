/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bucket_by_sequence_length - batches of records of like length. The contract is tf.data's
 * (tensorflow/python/data/ops/dataset_ops.py, bucket_by_sequence_length): bucket i holds lengths
 * boundaries[i-1] <= l < boundaries[i], a batch leaves as soon as its bucket is full, and at the
 * end the rest leaves in ascending order of buckets.
 *
 * next() names the rows of a batch; apply() pads them, in parallel.
 */
#include "batch/buckets.h"
#include "batch/padding.h"
#include "description/columns.h"
#include "registry/env_priv.h"

typedef struct bucket_args {
    const char         *length;
    levada_ints         boundaries, batch_sizes;
    int64_t             max_tokens, pad_to_multiple;
    const levada_value *padded_shapes, *padding_values;
    bool                pad_to_bucket_boundary, no_padding, drop_remainder;
} bucket_args;

typedef struct bucket_state {
    const levada_context *context;
    levada_buckets        buckets;
    levada_padding_plan   plan;
} bucket_state;

static const levada_arg bucket_options[] = {
    LEVADA_ARG(TEXT, bucket_args, length, .required = true, .positional = true,
               .doc = "field whose first dimension counts, or an integer field"),
    LEVADA_ARG(INTS, bucket_args, boundaries, .required = true, .min = INT32_MIN, .max = INT32_MAX,
               .doc =
                   "strictly increasing; bucket i holds boundaries[i-1] <= length < boundaries[i]"),
    LEVADA_ARG(INTS, bucket_args, batch_sizes, .min = INT32_MIN, .max = INT32_MAX,
               .doc =
                   "records in a batch: one for each bucket (one more than boundaries), or one for "
                   "all"),
    LEVADA_ARG(INT, bucket_args, max_tokens, .min = 1, .max = INT64_MAX,
               .doc = "instead of batch_sizes: most elements of a padded batch (longest record, as "
                      "padded, times records)"),
    LEVADA_ARG(VALUE, bucket_args, padded_shapes,
               .doc = "{field: [length or null, ...]}; null = the longest of the batch"),
    LEVADA_ARG(VALUE, bucket_args, padding_values,
               .doc = "{field: value} or one value for all; null = 0 and empty"),
    LEVADA_ARG(BOOL, bucket_args, pad_to_bucket_boundary, .otherwise = "false",
               .doc = "pad to the boundary of the bucket less one, not to the longest"),
    LEVADA_ARG(INT, bucket_args, pad_to_multiple, .otherwise = "1", .min = 1, .max = 1 << 24,
               .doc = "round lengths up to this"),
    LEVADA_ARG(BOOL, bucket_args, no_padding, .otherwise = "false",
               .doc = "ragged batches instead of padded ones"),
    LEVADA_ARG(BOOL, bucket_args, drop_remainder, .otherwise = "false",
               .doc = "leave out what does not fill a batch at the end"),
    LEVADA_ARG_END
};

static levada_padding_options bucket_how(const bucket_args *a)
{
    levada_padding_options o = { a->padded_shapes, a->padding_values, a->pad_to_multiple };

    return o;
}

static levada_status bucket_check_sizes(const bucket_args *a, levada_error *err)
{
    for (int64_t i = 1; i < a->boundaries.n; i++) {
        if (a->boundaries.at[i] > a->boundaries.at[i - 1]) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "boundaries must be strictly increasing, but %lld comes before %lld",
                           (long long)a->boundaries.at[i - 1], (long long)a->boundaries.at[i]);
    }
    if ((a->batch_sizes.n > 0) == (a->max_tokens != LEVADA_NULL_INT)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "give either batch_sizes or max_tokens");
    }
    if (a->batch_sizes.n > 1 && a->batch_sizes.n != a->boundaries.n + 1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "len(batch_sizes)=%lld must be len(boundaries)+1=%lld",
                           (long long)a->batch_sizes.n, (long long)a->boundaries.n + 1);
    }
    return LEVADA_OK;
}

static levada_status bucket_check(const void *args, const levada_spec *in, levada_spec **out,
                                  levada_error *err)
{
    const bucket_args     *a = args;
    levada_padding_options how = bucket_how(a);
    levada_field           none = { 0 };
    int32_t                n = levada_spec_count(in);

    LEVADA_TRY(levada_spec_want_records(in, err));
    LEVADA_TRY(bucket_check_sizes(a, err));
    LEVADA_TRY(levada_buckets_check_length(a->length, in, err));
    if (!a->no_padding) return levada_padding_spec(&how, in, out, err);
    return levada_spec_create(n ? levada_spec_field(in, 0) : &none, n,
                              levada_spec_flags_of(in) | LEVADA_SPEC_BATCHED, out, err);
}

/* The padded length that padded_shapes gives the records, -1 = the longest of a batch. */
static int64_t bucket_width(const bucket_args *a)
{
    const levada_value *shape =
        a->padded_shapes && !a->no_padding ? levada_value_get(a->padded_shapes, a->length) : NULL;
    const levada_value *first = shape ? levada_value_item(shape, 0) : NULL;

    return levada_value_kind_of(first) == LEVADA_VALUE_INT ? levada_value_as_int(first) : -1;
}

static levada_status bucket_open(void *state, const void *args, const levada_context *context,
                                 levada_error *err)
{
    bucket_state         *s = state;
    const bucket_args    *a = args;
    levada_buckets_config c = { .length = a->length,
                                .boundaries = a->boundaries.at,
                                .nboundaries = a->boundaries.n,
                                .sizes = a->batch_sizes.at,
                                .nsizes = a->batch_sizes.n,
                                .max_tokens = a->max_tokens == LEVADA_NULL_INT ? 0 : a->max_tokens,
                                .multiple = a->no_padding ? 1 : a->pad_to_multiple,
                                .width = bucket_width(a),
                                .drop_remainder = a->drop_remainder,
                                .bounded = a->pad_to_bucket_boundary && !a->no_padding };

    s->context = context;
    return context->fused_end ? LEVADA_OK : levada_buckets_open(&s->buckets, &c, context, err);
}

static void bucket_close(void *state)
{
    bucket_state *s = state;

    levada_buckets_close(&s->buckets);
    levada_padding_clear(&s->plan);
}

static levada_status bucket_next(void *state, const void *args, levada_input *in,
                                 levada_block **out, levada_error *err)
{
    (void)args;
    return levada_buckets_next(&((bucket_state *)state)->buckets, in, out, err);
}

static levada_status bucket_apply(void *state, const void *args, const levada_block *in,
                                  levada_block **out, levada_error *err)
{
    bucket_state          *s = state;
    const bucket_args     *a = args;
    levada_padding_options how = bucket_how(a);

    if (a->no_padding) return levada_block_gather(levada_env_pool(s->context->env), in, out, err);
    return levada_padding_apply(&s->plan, &how, s->context, in, levada_block_bound(in), out, err);
}

static levada_status bucket_save(const void *state, levada_state_writer *to, levada_error *err)
{
    return levada_buckets_save(&((const bucket_state *)state)->buckets, to, err);
}

static levada_status bucket_restore(void *state, levada_state_reader *from, levada_error *err)
{
    return levada_buckets_restore(&((bucket_state *)state)->buckets, from, err);
}

const levada_stage_def levada_stage_bucket_by_sequence_length = {
    .struct_size = sizeof(levada_stage_def),
    .name = "bucket_by_sequence_length",
    .doc = "batches of records of like length, padded",
    .example = "range:30 | bucket_by_sequence_length:value,boundaries=[10,20],batch_sizes=4",
    .mode = LEVADA_MODE_SERIAL,
    .rows = LEVADA_ROWS_FREE,
    .takes_selection = true,
    .batches = true,
    .args = bucket_options,
    .args_size = sizeof(bucket_args),
    .state_size = sizeof(bucket_state),
    .state_version = 1,
    .check = bucket_check,
    .open = bucket_open,
    .close = bucket_close,
    .next = bucket_next,
    .apply = bucket_apply,
    .save = bucket_save,
    .restore = bucket_restore,
};
