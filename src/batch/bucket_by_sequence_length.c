/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bucket_by_sequence_length - batches of records of similar length. The contract is tf.data's
 * (tensorflow/python/data/ops/dataset_ops.py, bucket_by_sequence_length): bucket i holds lengths
 * boundaries[i-1] <= l < boundaries[i], a batch is emitted as soon as its bucket is full, and at
 * the end the rest is emitted in ascending order of buckets.
 *
 * Beyond that contract: budgets, several lengths, boundaries that are chosen while data flows, and
 * a look-ahead that needs none. Policies of the grouping engine: the keys of a record are its
 * lengths. next() names the rows of a batch; apply() cuts and pads them, in parallel.
 */
#include "base/alloc.h"
#include "batch/bucket_rule.h"
#include "batch/bucket_stage.h"
#include "batch/length.h"
#include "description/columns.h"
#include "registry/env_priv.h"
#include "registry/stage_core.h"
#include "tensor/builder_priv.h"

#include <string.h>

static const levada_arg bucket_options[] = {
    LEVADA_ARG(TEXTS, levada_bucket_stage_args, length, .required = true, .positional = true,
               .doc = "field whose first dimension is the length, or an integer field with the "
                      "length; up to 4 fields"),
    LEVADA_ARG(VALUE, levada_bucket_stage_args, boundaries,
               .doc = "strictly increasing lengths: bucket i has the records with boundaries[i-1] "
                      "<= length < boundaries[i]; pairs for two fields; null = levada chooses them "
                      "from an index, or from the first records"),
    LEVADA_ARG(INTS, levada_bucket_stage_args, batch_sizes, .min = INT32_MIN, .max = INT32_MAX,
               .doc = "records in a batch: one number, or one for each bucket"),
    LEVADA_ARG(INT, levada_bucket_stage_args, max_tokens, .min = 1, .max = LEVADA_COST_MOST,
               .doc = "instead of batch_sizes: maximum cost of a batch, which is its number of "
                      "records times the cost of the longest record"),
    LEVADA_ARG(VALUE, levada_bucket_stage_args, cost,
               .doc = "cost of a padded record: linear (sum of its lengths), quadratic (sum of "
                      "their squares), 2d (product of two), or a pure function of its lengths "
                      "({c: NAME} of a plug-in); null = linear"),
    LEVADA_ARG(INT, levada_bucket_stage_args, num_buckets, .min = 1, .max = 4096,
               .doc = "maximum number of buckets, if levada chooses the boundaries; null = 16"),
    LEVADA_ARG(INT, levada_bucket_stage_args, lookahead, .min = 1, .max = LEVADA_LOOKAHEAD_MOST,
               .doc = "instead of boundaries: number of records to buffer and sort by length"),
    LEVADA_ARG(CHOICE, levada_bucket_stage_args, too_long, .choices = "error|truncate|skip|alone",
               .doc = "policy for a record that is larger than max_tokens: raise an error, "
                      "truncate it, drop and count it, or emit it as a batch of one record"),
    LEVADA_ARG(VALUE, levada_bucket_stage_args, padded_shapes,
               .doc = "{field: [length or null, ...]} to pad to; null = the longest record of the "
                      "batch"),
    LEVADA_ARG(VALUE, levada_bucket_stage_args, padding_values,
               .doc = "{field: value}, or one value for all fields; null = 0, and empty strings"),
    LEVADA_ARG(BOOL, levada_bucket_stage_args, pad_to_bucket_boundary, .otherwise = "false",
               .doc = "pad to the boundary of the bucket minus 1, not to the longest record"),
    LEVADA_ARG(INT, levada_bucket_stage_args, pad_to_multiple, .otherwise = "1", .min = 1,
               .max = 1 << 24,
               .doc = "round padded lengths up to a multiple of this number"),
    LEVADA_PADDING_LEFT(levada_bucket_stage_args),
    LEVADA_ARG(BOOL, levada_bucket_stage_args, no_padding, .otherwise = "false",
               .doc = "return ragged batches instead of padded ones"),
    LEVADA_ARG(BOOL, levada_bucket_stage_args, drop_remainder, .otherwise = "false",
               .doc = "with batch_sizes: drop records that do not fill a batch at the end"),
    LEVADA_ARG(INTS, levada_bucket_stage_args, ranks, .min = 0, .max = 1 << 20,
               .doc =
                   "[rank, world] for ranks in step, set by shard with sync=buckets; all ranks "
                   "need the same seed; null = one rank"),
    LEVADA_ARG(CHOICE, levada_bucket_stage_args, tail, .choices = "pad|drop",
               .doc = "with ranks, policy at the end of the input: pad fills the last batches with "
                      "copies (is_padding is true, lengths are 0); drop drops and counts the "
                      "remaining records of each bucket, fewer than the number of ranks"),
    LEVADA_ARG_END
};

/* Sets the flag that a row is a copy which fills a batch. */
static bool bucket_flags(const levada_bucket_stage_args *a)
{
    return a->ranks.n > 0 && a->tail == LEVADA_BUCKET_TAIL_PAD;
}

static levada_padding_options bucket_how(const levada_bucket_stage_args *a)
{
    levada_padding_options o = { a->padded_shapes, a->padding_values, a->pad_to_multiple,
                                 a->padding_side != 0 };

    return o;
}

/* -- checks */

static levada_status bucket_fail(const char *message, levada_error *err)
{
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s", message);
}

/* Returns a message about options that exclude each other, apart from boundaries; NULL = none. */
static const char *bucket_conflict(const levada_bucket_stage_args *a)
{
    bool budget = levada_bucket_stage_has_budget(a), ahead = a->lookahead != LEVADA_NULL_INT;

    if ((a->batch_sizes.n > 0) == budget) return "set exactly one of batch_sizes and max_tokens";
    if (a->cost && !budget) return "cost needs max_tokens";
    if (a->too_long != LEVADA_TOO_LONG_ERROR && !budget) return "too_long needs max_tokens";
    if (ahead && (a->boundaries || a->num_buckets != LEVADA_NULL_INT)) {
        return "lookahead cannot be combined with boundaries or num_buckets";
    }
    if (a->boundaries && a->num_buckets != LEVADA_NULL_INT) {
        return "set boundaries or num_buckets, not both";
    }
    if (ahead && a->pad_to_bucket_boundary) {
        return "pad_to_bucket_boundary needs boundaries and cannot be combined with lookahead";
    }
    if (a->ranks.n && (a->ranks.n != 2 || a->ranks.at[0] >= a->ranks.at[1])) {
        return "ranks must be [rank, world] with rank below world, such as ranks=[0,8]";
    }
    if (a->ranks.n && a->pad_to_bucket_boundary && !a->boundaries) {
        return "ranks with pad_to_bucket_boundary need boundaries";
    }
    if (a->pad_to_bucket_boundary && a->length.n > 1) {
        return "pad_to_bucket_boundary needs a single length";
    }
    return NULL;
}

static levada_status bucket_check_sizes(const levada_bucket_stage_args *a, int64_t buckets,
                                        levada_error *err)
{
    if (a->batch_sizes.n <= 1) return LEVADA_OK;
    if (!a->boundaries)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "batch_sizes must be one number unless boundaries are set, got %lld",
                           (long long)a->batch_sizes.n);
    if (a->batch_sizes.n == buckets) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "len(batch_sizes)=%lld must be len(boundaries)+1=%lld",
                       (long long)a->batch_sizes.n, (long long)buckets);
}

static levada_status bucket_check_boundaries(const levada_bucket_stage_args *a, levada_error *err)
{
    levada_buckets buckets = { 0 };
    levada_status  st = LEVADA_OK;

    if (a->boundaries) st = levada_buckets_read(a->boundaries, a->length.n, &buckets, err);
    if (st == LEVADA_OK) st = bucket_check_sizes(a, buckets.n, err);
    if (st == LEVADA_OK && a->boundaries && levada_bucket_stage_is_bounded(a) && buckets.n > 1 &&
        a->too_long == LEVADA_TOO_LONG_TRUNCATE && buckets.at[buckets.n - 2] - 1 > a->max_tokens) {
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "too_long='truncate' with pad_to_bucket_boundary pads to %lld, which "
                         "exceeds max_tokens=%lld; raise max_tokens, or lower the last boundary",
                         (long long)buckets.at[buckets.n - 2] - 1, (long long)a->max_tokens);
    }
    levada_buckets_clear(&buckets);
    return st;
}

static levada_status bucket_read_cost(const levada_bucket_stage_args *a, levada_cost_kind *out,
                                      levada_error *err)
{
    static const char *const names[] = { "linear", "quadratic", "2d" };
    const levada_function   *function = levada_value_as_function(a->cost);
    const char              *name = levada_value_as_text(a->cost, NULL);
    const char              *marked = levada_value_as_text(levada_value_item(a->cost, 0), NULL);

    *out = LEVADA_COST_LINEAR;
    if (!a->cost) return LEVADA_OK;
    if (function) {
        *out = LEVADA_COST_FUNCTION;
        return levada_cost_function_check(function, err);
    }
    for (int i = 0; name && i < 3; i++) {
        if (strcmp(name, names[i]) != 0) continue;
        *out = (levada_cost_kind)i;
        if (i != LEVADA_COST_2D || a->length.n == 2) return LEVADA_OK;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "cost='2d' needs two fields in length, got %lld",
                           (long long)a->length.n);
    }
    if (!name && marked) {
        return levada_fail(err, LEVADA_ENOT_FOUND,
                           "cost: no function '%s' is registered; load the plug-in that registers "
                           "it", marked);
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "cost=%s%s%s must be linear, quadratic, 2d or a function%s%s%s",
                       name ? "'" : "", name ? name : "", name ? "'" : "of this type",
                       name ? "; that of a plug-in is {c:" : "", name ? name : "",
                       name ? "}" : "");
}

static levada_status bucket_check_cost(const levada_bucket_stage_args *a, const levada_spec *in,
                                       levada_error *err)
{
    levada_cost_kind kind = LEVADA_COST_LINEAR;

    LEVADA_TRY(bucket_read_cost(a, &kind, err));
    if (a->too_long != LEVADA_TOO_LONG_TRUNCATE) return LEVADA_OK;
    if (kind == LEVADA_COST_FUNCTION) {
        return bucket_fail(
            "too_long='truncate' needs a cost of linear, quadratic or 2d, got a function", err);
    }
    return levada_truncation_check(&a->length, in, err);
}

/* Makes the columns of the batch. */
static levada_status bucket_batch_spec(const levada_bucket_stage_args *a, const levada_spec *in,
                                       levada_spec **out, levada_error *err)
{
    levada_padding_options how = bucket_how(a);
    levada_field           none = { 0 };
    int32_t                n = levada_spec_count(in);

    if (!a->no_padding) return levada_padding_spec(&how, in, out, err);
    return levada_spec_create(n ? levada_spec_field(in, 0) : &none, n,
                              levada_spec_flags_of(in) | LEVADA_SPEC_BATCHED, out, err);
}

/* Sets the columns of the batch, and is_padding. */
static levada_status bucket_flagged_spec(const levada_bucket_stage_args *a, const levada_spec *in,
                                         levada_spec **out, levada_error *err)
{
    levada_spec  *batch = NULL;
    levada_status st;

    LEVADA_TRY(bucket_batch_spec(a, in, &batch, err));
    st = levada_spec_add_field(batch, "is_padding", LEVADA_BOOL, out, err);
    levada_spec_unref(&batch);
    return st;
}

static levada_status bucket_check(const void *args, const levada_spec *in, levada_spec **out,
                                  levada_error *err)
{
    const levada_bucket_stage_args *a = args;
    const char               *conflict = bucket_conflict(a);

    LEVADA_TRY(levada_spec_want_records(in, err));
    if (a->length.n < 1 || a->length.n > LEVADA_GROUP_KEYS) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "length must list 1 to %d fields, got %lld",
                           LEVADA_GROUP_KEYS, (long long)a->length.n);
    }
    LEVADA_TRY(bucket_check_boundaries(a, err));
    if (conflict) return bucket_fail(conflict, err);
    for (int64_t i = 0; i < a->length.n; i++) {
        LEVADA_TRY(levada_length_check(a->length.at[i], in, err));
    }
    LEVADA_TRY(bucket_check_cost(a, in, err));
    return bucket_flags(a) ? bucket_flagged_spec(a, in, out, err)
                           : bucket_batch_spec(a, in, out, err);
}

/* -- open */

/* Returns the padded length of a field in padded_shapes, -1 = the longest of a batch. */
static int64_t bucket_width(const levada_bucket_stage_args *a, const char *field)
{
    const levada_value *shape =
        a->padded_shapes && !a->no_padding ? levada_value_get(a->padded_shapes, field) : NULL;
    const levada_value *first = shape ? levada_value_item(shape, 0) : NULL;

    return levada_value_kind_of(first) == LEVADA_VALUE_INT ? levada_value_as_int(first) : -1;
}

static levada_status bucket_open_cost(levada_bucket_stage *s, const levada_context *context,
                                      levada_error *err)
{
    const levada_bucket_stage_args *a = s->args;
    levada_cost              *c = &s->cost;

    LEVADA_TRY(bucket_read_cost(a, &c->kind, err));
    c->fields = (int32_t)a->length.n;
    c->budget = levada_bucket_stage_has_budget(a) ? a->max_tokens : INT64_MAX;
    c->ranks = a->ranks.n ? a->ranks.at[1] : 0;
    c->multiple = a->no_padding ? 1 : a->pad_to_multiple;
    for (int32_t i = 0; i < c->fields; i++) c->width[i] = bucket_width(a, a->length.at[i]);
    if (c->kind == LEVADA_COST_FUNCTION) {
        if (context->fused_end) return LEVADA_OK;
        LEVADA_TRY(levada_cost_function_open(levada_value_as_function(a->cost), context,
                                             &a->length, &s->function, err));
        c->function = s->function;
        return LEVADA_OK;
    }
    s->truncation = (levada_truncation){ .fields = &a->length, .cost = c };
    LEVADA_TRY(levada_truncation_limit(c, &s->truncation.limit, err));
    if (c->fields == 1 && c->width[0] < 0 && c->budget < INT32_MAX) s->fits = s->truncation.limit;
    return LEVADA_OK;
}

levada_status levada_bucket_stage_set_rule(levada_bucket_stage *s, int64_t i, levada_error *err)
{
    const levada_bucket_stage_args *a = s->args;
    levada_bucket_stage_rule       *rule = &s->rules[i];
    levada_group             *group = &s->grouping.groups[i];
    bool                      bounded = levada_bucket_stage_is_bounded(a) && i < s->buckets.n - 1;

    if (a->batch_sizes.n) {
        rule->size = levada_bucket_rule_size(a->batch_sizes.at, a->batch_sizes.n, i);
    }
    if (a->ranks.n) rule->size *= a->ranks.at[1];
    rule->cost = s->cost;
    levada_layout_unref(&group->layout);
    if (!bounded) return LEVADA_OK;
    if (rule->cost.width[0] < 0) {
        rule->cost.width[0] = levada_cost_length(&s->cost, 0, s->buckets.at[i] - 1);
    }
    return levada_layout_create(s->buckets.at[i] - 1, &group->layout, err);
}

levada_status levada_bucket_stage_set_rules(levada_bucket_stage *s, levada_error *err)
{
    for (int64_t i = 0; i < s->buckets.n; i++) LEVADA_TRY(levada_bucket_stage_set_rule(s, i, err));
    return LEVADA_OK;
}

static levada_status bucket_open_boundaries(levada_bucket_stage *s, const levada_context *context,
                                            levada_error *err)
{
    const levada_bucket_stage_args *a = s->args;
    int64_t most = a->num_buckets == LEVADA_NULL_INT ? LEVADA_CHOICE_BUCKETS : a->num_buckets;

    if (a->boundaries) {
        LEVADA_TRY(levada_buckets_read(a->boundaries, a->length.n, &s->buckets, err));
        s->alone = s->buckets.n;
    } else {
        LEVADA_TRY(levada_buckets_set(&s->buckets, NULL, 0, err));
        LEVADA_TRY(levada_choice_open(&s->choice, most, s->cost.multiple,
                                      levada_bucket_stage_is_bounded(a), err));
        s->alone = most + 1;
        LEVADA_TRY(levada_bucket_stage_choose_indexed(s, context, err));
    }
    s->rules = levada_alloc_zero((size_t)s->alone * sizeof *s->rules);
    if (s->rules) return LEVADA_OK;
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for buckets");
}

static void bucket_open_lookahead(levada_bucket_stage *s)
{
    const levada_bucket_stage_args *a = s->args;

    s->ahead.world = a->ranks.n ? a->ranks.at[1] : 1;
    s->ahead.fill = bucket_flags(a);
    s->ahead.records = a->lookahead > s->ahead.world ? a->lookahead : s->ahead.world;
    s->ahead.cost = &s->cost;
    s->ahead.batch_size = a->batch_sizes.n ? a->batch_sizes.at[0] * s->ahead.world : INT64_MAX;
    s->ahead.drop_rest = a->drop_remainder && a->batch_sizes.n;
    s->alone = LEVADA_LOOKAHEAD_GROUPS;
}

static levada_status bucket_open_groups(levada_bucket_stage *s, const levada_context *context,
                                        levada_error *err)
{
    const levada_bucket_stage_args *a = s->args;
    bool                      ahead = a->lookahead != LEVADA_NULL_INT;
    levada_grouping_options   options = {
        .policy = ahead ? &levada_bucket_stage_lookahead_policy : &levada_bucket_stage_policy,
        .self = s,
        .keys = a->length.n,
        .drop_rest = a->drop_remainder && !levada_bucket_stage_has_budget(a),
        .rank = a->ranks.n ? a->ranks.at[0] : 0,
        .world = a->ranks.n ? a->ranks.at[1] : 0,
        .fill = bucket_flags(a),
        .fields = &a->length,
    };

    if (ahead) bucket_open_lookahead(s);
    else LEVADA_TRY(bucket_open_boundaries(s, context, err));
    options.groups = s->alone + 1;
    LEVADA_TRY(levada_grouping_open(&s->grouping, context, &options, err));
    return ahead ? LEVADA_OK : levada_bucket_stage_set_rules(s, err);
}

static levada_status bucket_open(void *state, const void *args, const levada_context *context,
                                 levada_error *err)
{
    levada_bucket_stage *s = state;

    s->args = args;
    LEVADA_TRY(bucket_open_cost(s, context, err));
    if (!context->fused_end) return bucket_open_groups(s, context, err);
    s->grouping.context = context; /* all that apply() needs of it */
    return LEVADA_OK;
}

static void bucket_close(void *state)
{
    levada_bucket_stage *s = state;

    levada_grouping_close(&s->grouping);
    levada_padding_clear(&s->plan);
    levada_derived_clear(&s->flagged);
    levada_buckets_clear(&s->buckets);
    levada_choice_close(&s->choice);
    levada_lookahead_clear(&s->ahead);
    levada_cost_function_close(&s->function);
    levada_free(s->rules);
}

static void bucket_cancel(void *state)
{
    levada_cost_function_cancel(((levada_bucket_stage *)state)->function);
}

/* -- the batch */

static levada_status bucket_make(levada_bucket_stage *s, const levada_block *in,
                                 levada_block **out, levada_error *err)
{
    levada_padding_options how = bucket_how(s->args);

    if (s->args->no_padding) return levada_grouping_gather(s, s->args, in, out, err);
    return levada_padding_apply(&s->plan, &how, s->grouping.context, in, levada_block_bound(in),
                                out, err);
}

static levada_status bucket_derive(const void *args, const levada_spec *in, levada_spec **out,
                                   levada_error *err)
{
    (void)args;
    return levada_spec_add_field(in, "is_padding", LEVADA_BOOL, out, err);
}

/* Removes the steps of the copy in the last row of a batch, from the lengths of a padded column and
 * from a ragged one. */
static levada_status bucket_empty_last(levada_builder *b, int32_t i, levada_error *err)
{
    levada_column *c = &b->block->columns[i];
    levada_level   old = c->level[0];
    size_t         bytes = (size_t)c->n * sizeof(int32_t);
    int32_t       *begin = NULL, *end = NULL;
    levada_status  st;

    if (c->lengths) ((int32_t *)(uintptr_t)c->lengths)[c->n - 1] = 0;
    if (c->field->depth == 0) return LEVADA_OK;
    memset(&c->level[0], 0, sizeof c->level[0]);
    st = levada_builder_ranges(b, i, 0, c->n, &begin, &end, err);
    if (st == LEVADA_OK) {
        memcpy(begin, old.begin, bytes);
        memcpy(end, old.end, bytes);
        end[c->n - 1] = begin[c->n - 1];
    }
    levada_buffer_unref(&old.owner);
    return st;
}

/* Adds is_padding to a batch that was just made, which nobody else knows; takes *block. */
static levada_status bucket_flag(levada_bucket_stage *s, bool filled, levada_block **block,
                                 levada_block **out, levada_error *err)
{
    levada_pool       *pool = levada_env_pool(s->grouping.context->env);
    levada_block      *made = *block;
    const levada_spec *spec = NULL;
    levada_builder    *b = NULL;
    void              *flags = NULL;
    levada_status      st;

    *block = NULL;
    st = levada_derived_get(&s->flagged, bucket_derive, NULL, made->spec, &spec, err);
    if (st == LEVADA_OK) st = levada_columns_add(pool, made, spec, &b, &flags, err);
    if (st == LEVADA_OK) memset(flags, 0, (size_t)made->n);
    if (st == LEVADA_OK && filled) ((bool *)flags)[made->n - 1] = true;
    for (int32_t i = 0; st == LEVADA_OK && filled && i < levada_spec_count(made->spec); i++) {
        st = bucket_empty_last(b, i, err);
    }
    if (st == LEVADA_OK) st = levada_columns_publish(pool, &b, made, out, err);
    levada_builder_destroy(&b);
    levada_block_unref(&made);
    return st;
}

/* Finishes the batch of one rank, with its flags where it has some. */
static levada_status bucket_finish(levada_bucket_stage *s, const levada_block *in,
                                   levada_block **out, levada_error *err)
{
    bool          filled = in->layout && in->layout->filled;
    levada_block *made = NULL;

    if (!bucket_flags(s->args)) return bucket_make(s, in, out, err);
    LEVADA_TRY(bucket_make(s, in, &made, err));
    return bucket_flag(s, filled, &made, out, err);
}

static levada_status bucket_apply(void *state, const void *args, const levada_block *in,
                                  levada_block **out, levada_error *err)
{
    levada_bucket_stage *s = state;
    levada_pool         *pool = levada_env_pool(s->grouping.context->env);
    levada_block        *cut = NULL;
    levada_status        st;

    (void)args;
    LEVADA_TRY(levada_bucket_stage_check_keys(s, in, err));
    if (s->args->too_long != LEVADA_TOO_LONG_TRUNCATE) return bucket_finish(s, in, out, err);
    LEVADA_TRY(levada_truncation_apply(&s->truncation, pool, in, &cut, err));
    st = bucket_finish(s, cut, out, err);
    levada_block_unref(&cut);
    return st;
}

static void bucket_vary(const void *args, levada_traits *traits)
{
    if (((const levada_bucket_stage_args *)args)->lookahead == LEVADA_NULL_INT) return;
    traits->random = LEVADA_RANDOM_BY_PASS;
    traits->drawn = "order of batches in a window";
}

const levada_stage_def levada_stage_bucket_by_sequence_length = {
    .struct_size = sizeof(levada_stage_def),
    .name = "bucket_by_sequence_length",
    .doc = "groups records of similar length into padded batches",
    .example = "range:30 | bucket_by_sequence_length:value,boundaries=[10,20],batch_sizes=4",
    .mode = LEVADA_MODE_SERIAL,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_BATCHES, .divides = true,
                            .saves = "buffered records, by origin; boundaries, if it chose them",
                            .vary = bucket_vary),
    .core = LEVADA_STAGE_CORE(.late = LEVADA_LATE_TAKES, .needs = levada_bucket_stage_needs,
                              .divide = levada_bucket_stage_divide),
    .takes_selection = true,
    .args = bucket_options,
    .args_size = sizeof(levada_bucket_stage_args),
    .state_size = sizeof(levada_bucket_stage),
    .state_version = 3,
    .check = bucket_check,
    .open = bucket_open,
    .close = bucket_close,
    .cancel = bucket_cancel,
    .next = levada_grouping_next,
    .apply = bucket_apply,
    .save = levada_grouping_save,
    .restore = levada_grouping_restore,
};
