/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"
#include "batch/bucket_stage.h"
#include "files/index_lengths.h"
#include "run/context.h"
#include <levada/lengths.h>

#include <string.h>

/* What is made of the lengths of all records. */
typedef struct bucket_index {
    const levada_bucket_stage *s;
    levada_length_histogram   *h;   /* of records that join batches; NULL = not wanted */
    uint64_t                   all; /* a hash of the lengths of all */
} bucket_index;

/* Finds the length with which a record joins a batch; -1: it joins none. */
static levada_status bucket_index_length(const levada_bucket_stage *s, const int64_t *lengths,
                                         int64_t *out, levada_error *err)
{
    int64_t keys[LEVADA_GROUP_KEYS];
    double  each = 0;

    for (int32_t i = 0; i < s->cost.fields; i++) {
        keys[i] = lengths[i] < INT32_MAX ? lengths[i] : INT32_MAX; /* no batch could be longer */
    }
    if (s->args->too_long == LEVADA_TOO_LONG_TRUNCATE) {
        LEVADA_TRY(levada_truncation_lengths(&s->truncation, keys, err));
    }
    LEVADA_TRY(levada_cost_record(&s->cost, keys, &each, err));
    *out = levada_lengths_sum(keys, s->cost.fields);
    if (*out > INT32_MAX) *out = INT32_MAX;
    if (levada_cost_exceeds(&s->cost, 1, each)) *out = -1;
    return LEVADA_OK;
}

static levada_status bucket_index_add(void *user, const int64_t *lengths, int64_t n,
                                      levada_error *err)
{
    bucket_index *x = user;
    int32_t       fields = x->s->cost.fields;

    for (int64_t i = 0; i < n * fields; i++) {
        x->all = levada_random_key(x->all, (uint64_t)lengths[i]);
    }
    if (!x->h) return LEVADA_OK;
    LEVADA_TRY(levada_cost_learn(&x->s->cost, lengths, n, err));
    for (int64_t i = 0; i < n; i++) {
        int64_t length = 0;

        LEVADA_TRY(bucket_index_length(x->s, lengths + i * fields, &length, err));
        if (length >= 0) LEVADA_TRY(levada_length_histogram_add(x->h, &length, 1, err));
    }
    return LEVADA_OK;
}

static levada_status bucket_index_fix(levada_bucket_stage *s, levada_length_histogram *h,
                                      const levada_context *context, levada_error *err)
{
    const int64_t *lengths = NULL, *counts = NULL;
    int64_t        n = 0;

    LEVADA_TRY(levada_length_histogram_get(h, &lengths, &counts, &n, err));
    if (n == 0) return LEVADA_OK;
    LEVADA_TRY(levada_choice_fix(&s->choice, &s->buckets, lengths, counts, n, err));
    levada_choice_report(&s->choice, &s->buckets, context, true);
    return LEVADA_OK;
}

/* Looks up the lengths, and chooses if `now`. */
static levada_status bucket_index_look(levada_bucket_stage *s, const levada_context *context,
                                       bool now, levada_index_lookup *lookup, levada_error *err)
{
    bucket_index  x = { .s = s };
    levada_status st = LEVADA_OK;

    *lookup = (levada_index_lookup){ .fields = (const char *const *)s->args->length.at,
                                     .n = s->cost.fields,
                                     .each = bucket_index_add,
                                     .user = &x };
    if (now) st = levada_length_histogram_create(&x.h, err);
    if (st == LEVADA_OK) st = levada_index_look_up(levada_context_input(context), lookup, err);
    s->choice.lengths = x.all;
    if (st == LEVADA_OK && now && !lookup->why[0]) st = bucket_index_fix(s, x.h, context, err);
    levada_length_histogram_destroy(&x.h);
    return st;
}

levada_status levada_bucket_stage_choose_indexed(levada_bucket_stage  *s,
                                                 const levada_context *context,
                                                 levada_error *err)
{
    bool                later = s->cost.kind == LEVADA_COST_FUNCTION;
    levada_index_lookup lookup;

    if (!levada_context_input(context)) return LEVADA_OK;
    LEVADA_TRY(bucket_index_look(s, context, !later, &lookup, err));
    memcpy(s->choice.why, lookup.why, sizeof s->choice.why);
    s->choice.pending = later && !lookup.why[0];
    if (!s->choice.fixed) levada_choice_report(&s->choice, &s->buckets, context, false);
    return LEVADA_OK;
}

levada_status levada_bucket_stage_choose_pending(levada_bucket_stage  *s,
                                                 const levada_context *context,
                                                 levada_error *err)
{
    levada_index_lookup lookup;

    LEVADA_TRY(bucket_index_look(s, context, true, &lookup, err));
    if (lookup.why[0]) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the index was written again while it was used: %s", lookup.why);
    }
    s->choice.pending = false;
    return levada_bucket_stage_set_rules(s, err);
}
