/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which batch a record joins. Both policies of bucket_by_sequence_length: with boundaries, and with
 * a look-ahead.
 */
#include "base/text.h"
#include "batch/bucket_stage.h"
#include "batch/length.h"
#include "run/context.h"

#include <string.h>

bool levada_bucket_stage_has_budget(const levada_bucket_stage_args *a)
{
    return a->max_tokens != LEVADA_NULL_INT;
}

bool levada_bucket_stage_is_bounded(const levada_bucket_stage_args *a)
{
    return a->pad_to_bucket_boundary && !a->no_padding;
}

static levada_status bucket_keys(const void *self, const levada_block *block, int64_t *keys,
                                 levada_error *err)
{
    const levada_bucket_stage *s = self;
    int64_t                    n = s->args->length.n;

    LEVADA_TRY(levada_lengths_measure(&s->args->length, block, keys, err));
    if (s->args->too_long != LEVADA_TOO_LONG_TRUNCATE) return LEVADA_OK;
    for (int64_t i = 0; i < block->n; i++) {
        LEVADA_TRY(levada_truncation_lengths(&s->truncation, keys + i * n, err));
    }
    return LEVADA_OK;
}

/* -- records that are too long */

static levada_status bucket_reject(const levada_bucket_stage *s, levada_grouping *g,
                                   const levada_cost *cost, levada_error *err)
{
    levada_error   why = LEVADA_ERROR_INIT;
    const int64_t *keys = levada_grouping_key(g);
    double         each = 0;

    LEVADA_TRY(levada_cost_record(cost, keys, &each, err));
    if (cost->kind == LEVADA_COST_LINEAR && cost->fields == 1) {
        (void)levada_fail(&why, LEVADA_EINVALID_ARGUMENT,
                          "a record of length %lld (padded %.16g) is larger than max_tokens=%lld; "
                          "raise max_tokens, or set too_long=truncate or skip",
                          (long long)keys[0], each, (long long)s->args->max_tokens);
    } else {
        levada_text lengths = { 0 };

        for (int32_t k = 0; k < cost->fields; k++) {
            levada_text_format(&lengths, "%s%lld", k ? ", " : "", (long long)keys[k]);
        }
        (void)levada_fail(&why, LEVADA_EINVALID_ARGUMENT,
                          "a record of length%s %s costs %.16g, more than max_tokens=%lld; raise "
                          "max_tokens, or set too_long=skip",
                          cost->fields > 1 ? "s" : "", lengths.failed ? "?" : lengths.at, each,
                          (long long)s->args->max_tokens);
        levada_text_clear(&lengths);
    }
    return levada_grouping_reject(g, &why, err);
}

/* Pads records that are alone to the boundary of the bucket of the longest. */
static void bucket_bound_alone(const levada_bucket_stage *s, levada_grouping *g)
{
    levada_group *alone = &g->groups[s->alone];
    int64_t       bucket;

    if (s->buckets.n == 0) return; /* a look-ahead has no boundaries */
    bucket = levada_buckets_find(&s->buckets, alone->largest, s->cost.fields);
    levada_layout_unref(&alone->layout);
    alone->layout = levada_layout_ref(g->groups[bucket].layout);
}

/* Handles a next arrival that alone is over the budget: no batch can hold it, unless it may be
 * alone. Ranks in step have such a record each. */
static levada_status bucket_too_long(levada_bucket_stage *s, levada_grouping *g,
                                     const levada_cost *cost, int64_t *full, levada_error *err)
{
    if (s->args->too_long == LEVADA_TOO_LONG_SKIP) return levada_grouping_drop(g, err);
    if (s->args->too_long != LEVADA_TOO_LONG_ALONE) return bucket_reject(s, g, cost, err);
    LEVADA_TRY(levada_grouping_put(g, s->alone, 1, err));
    if (s->recalled > 0) s->recalled--;
    bucket_bound_alone(s, g);
    if (g->groups[s->alone].n >= g->options.world) *full = s->alone;
    return LEVADA_OK;
}

/* -- boundaries that follow the data */

/* Chooses other boundaries: all records that wait look for their buckets again. */
static levada_status bucket_choose(levada_bucket_stage *s, levada_grouping *g, levada_error *err)
{
    bool    changed = false;
    int64_t rest = g->n - g->at;

    LEVADA_TRY(levada_choice_make(&s->choice, &s->buckets, &changed, err));
    if (!changed) return LEVADA_OK;
    LEVADA_TRY(levada_grouping_recall(g, err));
    s->recalled = g->n - rest;
    LEVADA_TRY(levada_bucket_stage_set_rules(s, err));
    levada_choice_report(&s->choice, &s->buckets, g->context, true);
    return LEVADA_OK;
}

/* Counts the record that was placed last. *due: it is time to choose. */
static void bucket_count(levada_bucket_stage *s, const int64_t *keys, bool *due)
{
    *due = false;
    if (!s->choice.window || s->choice.fixed) return;
    if (s->recalled > 0) s->recalled--;
    else *due = levada_choice_add(&s->choice, levada_lengths_sum(keys, s->cost.fields));
}

/* Widens the last bucket, if it is empty, for a record longer than all before it, if batches have
 * the shapes of their buckets. */
static levada_status bucket_widen(levada_bucket_stage *s, levada_grouping *g, int64_t *full,
                                  levada_error *err)
{
    levada_error why = LEVADA_ERROR_INIT;
    int64_t      last = s->buckets.n - 2, length = levada_grouping_key(g)[0];

    if (length >= 1 << 30) { /* larger than any block */
        (void)levada_fail(&why, LEVADA_EINVALID_ARGUMENT,
                          "a record of length %lld cannot be padded: the limit is 2^30 - 1; "
                          "shorten it with slice", (long long)length);
        return levada_grouping_reject(g, &why, err);
    }
    if (g->groups[last].n > 0) {
        *full = last;
        return LEVADA_OK;
    }
    LEVADA_TRY(levada_choice_widen(&s->choice, &s->buckets, &s->cost, length, err));
    LEVADA_TRY(levada_bucket_stage_set_rule(s, last, err));
    levada_choice_report(&s->choice, &s->buckets, g->context, true);
    return LEVADA_OK;
}

/* -- with boundaries */

/* Sets *space if the next arrival fits in the group, which has at least one record, within the
 * budget. */
static levada_status bucket_has_space(const levada_group *group, const levada_cost *cost,
                                      const int64_t *keys, bool *out, levada_error *err)
{
    int64_t longest[LEVADA_GROUP_KEYS];
    double  each = 0;

    for (int32_t i = 0; i < cost->fields; i++) {
        longest[i] = keys[i] > group->largest[i] ? keys[i] : group->largest[i];
    }
    LEVADA_TRY(levada_cost_record(cost, longest, &each, err));
    *out = !levada_cost_exceeds(cost, group->n + 1, each);
    return LEVADA_OK;
}

/* Decides if the record may join its bucket now. It may not if *full is set, or if it is gone
 * because it is too long. */
static levada_status bucket_admit(levada_bucket_stage *s, levada_grouping *g, int64_t bucket,
                                  bool waits, bool *admitted, int64_t *full, levada_error *err)
{
    const levada_bucket_stage_rule *rule = &s->rules[bucket];
    const int64_t            *keys = levada_grouping_key(g);
    double                    each = 0;

    *admitted = false;
    if (!levada_bucket_stage_has_budget(s->args)) {
        *admitted = rule->size > 0;
        if (*admitted) return LEVADA_OK;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "window size must be greater than zero, but got %lld",
                           (long long)rule->size);
    }
    LEVADA_TRY(levada_cost_record(&rule->cost, keys, &each, err));
    if (levada_cost_exceeds(&rule->cost, 1, each)) {
        return bucket_too_long(s, g, &rule->cost, full, err);
    }
    *admitted = waits || g->groups[bucket].n == 0;
    if (*admitted) return LEVADA_OK;
    LEVADA_TRY(bucket_has_space(&g->groups[bucket], &rule->cost, keys, admitted, err));
    if (!*admitted) *full = bucket;
    return LEVADA_OK;
}

static levada_status bucket_place_record(levada_bucket_stage *s, levada_grouping *g, int64_t *full,
                                         levada_error *err)
{
    const int64_t *keys = levada_grouping_key(g);
    bool           waits = s->choice.window && !s->choice.made, due = false, admitted;
    int64_t        bucket = waits ? 0 : levada_buckets_find(&s->buckets, keys, s->cost.fields);

    LEVADA_TRY(bucket_admit(s, g, bucket, waits, &admitted, full, err));
    if (!admitted) return LEVADA_OK;
    if (s->choice.once && !waits && bucket == s->buckets.n - 1) {
        return bucket_widen(s, g, full, err);
    }
    LEVADA_TRY(levada_grouping_put(g, bucket, 1, err));
    bucket_count(s, keys, &due);
    if (due) LEVADA_TRY(bucket_choose(s, g, err));
    if (!waits && !levada_bucket_stage_has_budget(s->args) &&
        g->groups[bucket].n >= s->rules[bucket].size) {
        *full = bucket;
    }
    return LEVADA_OK;
}

/* Returns whether a record of one length and a linear cost may join its group: -1 = it exceeds the
 * budget alone, 0 = not before the group has left. */
static int bucket_fits(const levada_cost *cost, const levada_group *group, int64_t key,
                       int64_t longest)
{
    int64_t padded = levada_cost_length(cost, 0, longest);

    if (levada_cost_length(cost, 0, key) > cost->budget) return -1;
    return group->n == 0 ||
           !levada_cost_exceeds(cost, group->n + 1, padded > 1 ? (double)padded : 1);
}

/* Places arrivals with one length, a linear cost and given boundaries as fast as possible, until
 * one needs a decision that is made elsewhere. */
static levada_status bucket_place_run(levada_bucket_stage *s, levada_grouping *g, int64_t *full,
                                      levada_error *err)
{
    bool budget = levada_bucket_stage_has_budget(s->args);

    while (g->at < g->n && *full < 0) {
        int64_t       key = g->keys[g->at], bucket = levada_buckets_find(&s->buckets, &key, 1);
        levada_group *group = &g->groups[bucket];
        int64_t       longest = key > group->largest[0] ? key : group->largest[0];
        int64_t       size = budget ? INT64_MAX : s->rules[bucket].size;
        int           fits = budget ? bucket_fits(&s->rules[bucket].cost, group, key, longest) : 1;

        if (fits < 0 || size <= 0) return LEVADA_OK;
        if (fits == 0) {
            *full = bucket;
            return LEVADA_OK;
        }
        if (group->n == group->capacity) {
            LEVADA_TRY(levada_group_reserve(group, group->n + 1, 1, err));
        }
        group->slots[group->n] = g->arrivals[g->at++];
        group->keys[group->n++] = key;
        group->largest[0] = longest;
        if (group->n >= size) *full = bucket;
    }
    return LEVADA_OK;
}

static levada_status bucket_place(const void *self, levada_grouping *g, int64_t *full,
                                  levada_error *err)
{
    levada_bucket_stage *s = (levada_bucket_stage *)(uintptr_t)self;
    bool given = !s->choice.window || (s->choice.fixed && !s->choice.once);
    bool usual = s->cost.fields == 1 && s->cost.kind == LEVADA_COST_LINEAR && given;

    if (s->choice.pending) LEVADA_TRY(levada_bucket_stage_choose_pending(s, g->context, err));
    LEVADA_TRY(levada_cost_learn(&s->cost, levada_grouping_key(g), g->n - g->at, err));
    while (g->at < g->n && *full < 0) {
        if (usual) LEVADA_TRY(bucket_place_run(s, g, full, err));
        if (g->at < g->n && *full < 0) LEVADA_TRY(bucket_place_record(s, g, full, err));
    }
    return LEVADA_OK;
}

/* Chooses from fewer records than a first choice needs, at the end. */
static levada_status bucket_end(const void *self, levada_grouping *g, int64_t *full,
                                levada_error *err)
{
    levada_bucket_stage *s = (levada_bucket_stage *)(uintptr_t)self;

    (void)full;
    if (!s->choice.window || s->choice.made || s->choice.seen == 0) return LEVADA_OK;
    return bucket_choose(s, g, err);
}

/* Refuses records of the last bucket, which have no boundary to be padded to. */
static levada_status bucket_refuse(const void *self, const levada_grouping *g, int64_t group,
                                   levada_error *err)
{
    const levada_bucket_stage *s = self;
    levada_block              *record = NULL;
    int64_t                    length = 0;
    levada_status              st;

    if (!levada_bucket_stage_is_bounded(s->args) || s->choice.window || g->groups[group].layout) {
        return LEVADA_OK;
    }
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

static levada_status bucket_save(const void *self, levada_state_writer *to, levada_error *err)
{
    const levada_bucket_stage *s = self;

    if (!s->choice.window) return LEVADA_OK;
    LEVADA_TRY(levada_state_put_i64(to, "recalled", s->recalled, err));
    return levada_choice_save(&s->choice, &s->buckets, to, err);
}

static levada_status bucket_restore(const void *self, levada_grouping *g,
                                    levada_state_reader *from, levada_error *err)
{
    levada_bucket_stage *s = (levada_bucket_stage *)(uintptr_t)self;

    bucket_bound_alone(s, g);
    if (!s->choice.window) return LEVADA_OK;
    LEVADA_TRY(levada_state_get_count(from, "recalled", g->n - g->at, &s->recalled, err));
    LEVADA_TRY(levada_choice_restore(&s->choice, &s->buckets, from, err));
    levada_choice_report(&s->choice, &s->buckets, g->context, false);
    return levada_bucket_stage_set_rules(s, err);
}

const levada_grouping_policy levada_bucket_stage_policy = {
    .keys = bucket_keys,
    .place = bucket_place,
    .refuse = bucket_refuse,
    .end = bucket_end,
    .save = bucket_save,
    .restore = bucket_restore,
};

/* -- with a look-ahead */

/* Counts how many of the next arrivals fit in the budget, each alone. */
static levada_status bucket_fitting(const levada_bucket_stage *s, const levada_grouping *g,
                                    int64_t *out, levada_error *err)
{
    const int64_t *keys = levada_grouping_key(g);
    int64_t        n = g->n - g->at, i = 0;

    if (s->fits > 0) {
        while (i < n && keys[i] <= s->fits) i++;
    } else {
        for (; i < n; i++) {
            double each = 0;

            LEVADA_TRY(levada_cost_record(&s->cost, keys + i * s->cost.fields, &each, err));
            if (levada_cost_exceeds(&s->cost, 1, each)) break;
        }
    }
    *out = i;
    return LEVADA_OK;
}

static levada_status bucket_ahead_place(const void *self, levada_grouping *g, int64_t *full,
                                        levada_error *err)
{
    levada_bucket_stage *s = (levada_bucket_stage *)(uintptr_t)self;

    LEVADA_TRY(levada_cost_learn(&s->cost, levada_grouping_key(g), g->n - g->at, err));
    while (g->at < g->n && *full < 0) {
        int64_t rows = 0;

        LEVADA_TRY(bucket_fitting(s, g, &rows, err));
        LEVADA_TRY(rows ? levada_lookahead_place(&s->ahead, g, rows, full, err)
                        : bucket_too_long(s, g, &s->cost, full, err));
    }
    return LEVADA_OK;
}

static levada_status bucket_ahead_end(const void *self, levada_grouping *g, int64_t *full,
                                      levada_error *err)
{
    return levada_lookahead_end(&((levada_bucket_stage *)(uintptr_t)self)->ahead, g, full, err);
}

static levada_status bucket_ahead_save(const void *self, levada_state_writer *to,
                                       levada_error *err)
{
    return levada_lookahead_save(&((const levada_bucket_stage *)self)->ahead, to, err);
}

static levada_status bucket_ahead_restore(const void *self, levada_grouping *g,
                                          levada_state_reader *from, levada_error *err)
{
    levada_bucket_stage *s = (levada_bucket_stage *)(uintptr_t)self;

    return levada_lookahead_restore(&s->ahead, g, from, err);
}

const levada_grouping_policy levada_bucket_stage_lookahead_policy = {
    .keys = bucket_keys,
    .place = bucket_ahead_place,
    .end = bucket_ahead_end,
    .save = bucket_ahead_save,
    .restore = bucket_ahead_restore,
};
