/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "batch/bucket.h"
#include "files/index_lengths.h"
#include "run/context.h"
#include <levada/lengths.h>

static levada_status bucket_index_add(void *user, const int64_t *lengths, int64_t n,
                                      levada_error *err)
{
    return levada_length_histogram_add(user, lengths, n, err);
}

/* The length with which a record joins a batch; -1: it joins none. */
static levada_status bucket_index_length(const levada_bucket_state *s, int64_t length,
                                         int64_t *out, levada_error *err)
{
    double each = 0;

    *out = length < INT32_MAX ? length : INT32_MAX; /* no batch could be longer */
    if (s->args->too_long == LEVADA_TOO_LONG_TRUNCATE) {
        LEVADA_TRY(levada_truncation_lengths(&s->truncation, out, err));
    }
    LEVADA_TRY(levada_cost_record(&s->cost, out, &each, err));
    if (levada_cost_exceeds(&s->cost, 1, each)) *out = -1;
    return LEVADA_OK;
}

/* Limits the lengths, and joins those that are equal then. */
static levada_status bucket_index_limit(const levada_bucket_state *s, const int64_t *lengths,
                                        const int64_t *counts, int64_t n, int64_t *to,
                                        int64_t *to_counts, int64_t *made, levada_error *err)
{
    int64_t k = 0;

    for (int64_t i = 0; i < n; i++) {
        int64_t length = 0;

        LEVADA_TRY(bucket_index_length(s, lengths[i], &length, err));
        if (length < 0) continue;
        if (k == 0 || to[k - 1] != length) {
            to[k] = length;
            to_counts[k++] = 0;
        }
        to_counts[k - 1] += counts[i];
    }
    *made = k;
    return LEVADA_OK;
}

static levada_status bucket_index_choose(levada_bucket_state *s, levada_length_histogram *h,
                                         const levada_context *context, levada_error *err)
{
    const int64_t *lengths = NULL, *counts = NULL;
    int64_t n = 0, half, *own;
    levada_status st;

    LEVADA_TRY(levada_length_histogram_get(h, &lengths, &counts, &n, err));
    half = n;
    own = levada_alloc((size_t)n * 2 * sizeof *own + 1);
    if (!own) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for boundaries");
    st = bucket_index_limit(s, lengths, counts, n, own, own + half, &n, err);
    if (st == LEVADA_OK && n > 0) {
        st = levada_choice_fix(&s->choice, &s->buckets, own, own + half, n, err);
        if (st == LEVADA_OK) levada_choice_report(&s->choice, &s->buckets, context, true);
    }
    levada_free(own);
    return st;
}

levada_status levada_bucket_choose_indexed(levada_bucket_state *s, const levada_context *context,
                                           levada_error *err)
{
    const levada_dataset *input = levada_context_input(context);
    levada_length_histogram *h = NULL;
    bool found = false;
    levada_status st;

    if (!input || s->args->length.n != 1 || s->cost.kind == LEVADA_COST_FUNCTION) {
        return LEVADA_OK;
    }
    LEVADA_TRY(levada_length_histogram_create(&h, err));
    st = levada_index_lengths_of_files(input, s->args->length.at[0], bucket_index_add, h, &found,
                                       err);
    if (st == LEVADA_OK && found) st = bucket_index_choose(s, h, context, err);
    levada_length_histogram_destroy(&h);
    return st;
}
