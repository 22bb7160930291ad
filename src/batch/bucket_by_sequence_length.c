/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bucket_by_sequence_length - batches of records of like length. The contract is tf.data's
 * (tensorflow/python/data/ops/dataset_ops.py, bucket_by_sequence_length): bucket i holds lengths
 * boundaries[i-1] <= l < boundaries[i], a batch leaves as soon as its bucket is full, and at the
 * end the rest leaves in ascending order of buckets.
 *
 * A policy of the grouping engine: the key of a record is its length, and group i is bucket i.
 * next() names the rows of a batch; apply() pads them, in parallel.
 */
#include "base/alloc.h"
#include "batch/cost.h"
#include "batch/grouping.h"
#include "batch/length.h"
#include "batch/padding.h"
#include "description/columns.h"
#include "run/context.h"

#define BUCKET_TABLE 4096
#define BUCKET_MOST  65535

typedef struct bucket_args {
    const char         *length;
    levada_ints         boundaries, batch_sizes;
    int64_t             max_tokens, pad_to_multiple;
    const levada_value *padded_shapes, *padding_values;
    bool                pad_to_bucket_boundary, no_padding, drop_remainder;
} bucket_args;

typedef struct bucket_rule {
    int64_t     size; /* records in a batch */
    levada_cost cost; /* with max_tokens: instead of the size */
} bucket_rule;

typedef struct bucket_state {
    levada_grouping     grouping; /* first, as its hooks expect */
    const bucket_args  *args;
    int64_t             n;     /* buckets */
    bucket_rule        *rules; /* of each one */
    uint16_t           *table; /* bucket of each length below BUCKET_TABLE */
    levada_padding_plan plan;
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
    LEVADA_TRY(levada_length_check(a->length, in, err));
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

static bool bucket_has_budget(const bucket_args *a) { return a->max_tokens != LEVADA_NULL_INT; }

static bool bucket_is_bounded(const bucket_args *a)
{
    return a->pad_to_bucket_boundary && !a->no_padding;
}

/* -- the policy */

/* First i with length < boundaries[i]; the last bucket is open. */
static int64_t bucket_search(const bucket_args *a, int64_t length)
{
    int64_t low = 0, high = a->boundaries.n;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (length < a->boundaries.at[middle]) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static levada_status bucket_keys(const void *self, const levada_block *block, int64_t *keys,
                                 levada_error *err)
{
    return levada_length_measure(((const bucket_state *)self)->args->length, block, keys, err);
}

/* Longer than the budget by itself: no batch can hold it. */
static levada_status bucket_too_long(const bucket_state *s, levada_grouping *g,
                                     const levada_cost *cost, levada_error *err)
{
    levada_error why = LEVADA_ERROR_INIT;
    int64_t      length = g->keys[g->at];

    (void)levada_fail(&why, LEVADA_EINVALID_ARGUMENT,
                      "a record of length %lld (padded %lld) is larger than max_tokens=%lld by "
                      "itself",
                      (long long)length, (long long)levada_cost_length(cost, length),
                      (long long)s->args->max_tokens);
    return levada_grouping_reject(g, &why, err);
}

/* A group leaves before the record that would make it larger than the budget. */
static levada_status bucket_place_in_budget(const bucket_state *s, levada_grouping *g,
                                            int64_t bucket, int64_t *full, levada_error *err)
{
    const levada_group *group = &g->groups[bucket];
    const levada_cost  *cost = &s->rules[bucket].cost;
    int64_t             length = g->keys[g->at];
    int64_t             longest = length > group->largest ? length : group->largest;

    if (levada_cost_exceeds(cost, 1, length)) return bucket_too_long(s, g, cost, err);
    if (group->n > 0 && levada_cost_exceeds(cost, group->n + 1, longest)) {
        *full = bucket;
        return LEVADA_OK;
    }
    return levada_grouping_put(g, bucket, 1, err);
}

static levada_status bucket_place_by_size(const bucket_state *s, levada_grouping *g,
                                          int64_t bucket, int64_t *full, levada_error *err)
{
    int64_t size = s->rules[bucket].size;

    if (size <= 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "window size must be greater than zero, but got %lld",
                           (long long)size);
    }
    LEVADA_TRY(levada_grouping_put(g, bucket, 1, err));
    if (g->groups[bucket].n >= size) *full = bucket;
    return LEVADA_OK;
}

static levada_status bucket_place(const void *self, levada_grouping *g, int64_t *full,
                                  levada_error *err)
{
    const bucket_state *s = self;
    bool                budget = bucket_has_budget(s->args);

    while (g->at < g->n && *full < 0) {
        int64_t length = g->keys[g->at];
        int64_t bucket = length >= 0 && length < BUCKET_TABLE ? s->table[length]
                                                              : bucket_search(s->args, length);

        LEVADA_TRY(budget ? bucket_place_in_budget(s, g, bucket, full, err)
                          : bucket_place_by_size(s, g, bucket, full, err));
    }
    return LEVADA_OK;
}

/* Records of the last bucket have no boundary to be padded to. */
static levada_status bucket_refuse(const void *self, const levada_grouping *g, int64_t group,
                                   levada_error *err)
{
    const bucket_state *s = self;
    levada_block       *record = NULL;
    int64_t             length = 0;
    levada_status       st;

    if (!bucket_is_bounded(s->args) || group < s->n - 1) return LEVADA_OK;
    LEVADA_TRY(levada_grouping_first(g, group, &record, err));
    st = bucket_keys(self, record, &length, err);
    if (st == LEVADA_OK) {
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "when pad_to_bucket_boundary=True, elements must have length < "
                         "max(bucket_boundaries): one has %lld",
                         (long long)length);
        levada_context_place(g->context, record, 0, err);
    }
    levada_block_unref(&record);
    return st;
}

static const levada_grouping_policy bucket_policy = {
    .keys = bucket_keys,
    .place = bucket_place,
    .refuse = bucket_refuse,
};

/* -- as a stage */

static void bucket_set_rule(bucket_state *s, int64_t i)
{
    const bucket_args *a = s->args;
    bool               bounded = bucket_is_bounded(a) && i < s->n - 1;
    int64_t            width = bucket_width(a);

    if (a->batch_sizes.n) s->rules[i].size = a->batch_sizes.at[a->batch_sizes.n == 1 ? 0 : i];
    s->rules[i].cost.budget = a->max_tokens;
    s->rules[i].cost.multiple = a->no_padding ? 1 : a->pad_to_multiple;
    s->rules[i].cost.width = width < 0 && bounded ? a->boundaries.at[i] - 1 : width;
}

static levada_status bucket_open_rules(bucket_state *s, levada_error *err)
{
    s->rules = levada_alloc_zero((size_t)s->n * sizeof *s->rules);
    s->table = levada_alloc(BUCKET_TABLE * sizeof *s->table);
    if (!s->rules || !s->table) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for buckets");
    }
    for (int64_t i = 0; i < s->n; i++) bucket_set_rule(s, i);
    for (int64_t l = 0; l < BUCKET_TABLE; l++) s->table[l] = (uint16_t)bucket_search(s->args, l);
    for (int64_t i = 0; bucket_is_bounded(s->args) && i < s->n - 1; i++) {
        LEVADA_TRY(levada_layout_create(s->args->boundaries.at[i] - 1,
                                        &s->grouping.groups[i].layout, err));
    }
    return LEVADA_OK;
}

static levada_status bucket_open(void *state, const void *args, const levada_context *context,
                                 levada_error *err)
{
    bucket_state                 *s = state;
    const bucket_args            *a = args;
    const levada_grouping_options options = { .policy = &bucket_policy,
                                              .self = s,
                                              .groups = a->boundaries.n + 1,
                                              .drop_rest =
                                                  a->drop_remainder && !bucket_has_budget(a) };

    s->args = a;
    s->n = options.groups;
    if (s->n > BUCKET_MOST) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "more than %d boundaries",
                           BUCKET_MOST - 1);
    }
    LEVADA_TRY(levada_grouping_open(&s->grouping, context, &options, err));
    return context->fused_end ? LEVADA_OK : bucket_open_rules(s, err);
}

static void bucket_close(void *state)
{
    bucket_state *s = state;

    levada_grouping_close(&s->grouping);
    levada_padding_clear(&s->plan);
    levada_free(s->rules);
    levada_free(s->table);
}

static levada_status bucket_apply(void *state, const void *args, const levada_block *in,
                                  levada_block **out, levada_error *err)
{
    bucket_state          *s = state;
    const bucket_args     *a = args;
    levada_padding_options how = bucket_how(a);

    if (a->no_padding) return levada_grouping_gather(s, args, in, out, err);
    return levada_padding_apply(&s->plan, &how, s->grouping.context, in, levada_block_bound(in),
                                out, err);
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
    .next = levada_grouping_next,
    .apply = bucket_apply,
    .save = levada_grouping_save,
    .restore = levada_grouping_restore,
};
