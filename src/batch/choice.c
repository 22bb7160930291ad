/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/text.h"
#include "batch/bucket_stage.h"
#include "run/context.h"
#include "state/damaged.h"
#include <levada/lengths.h>

#include <stdlib.h>
#include <string.h>

#define CHOICE_COUNTED (1 << 16) /* shorter ones are sorted by counting */

static levada_status choice_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for boundaries");
}

levada_status levada_choice_open(levada_choice *c, int64_t buckets, int64_t multiple, bool once,
                                 levada_error *err)
{
    c->buckets = buckets;
    c->multiple = multiple;
    c->once = once;
    c->window = levada_alloc_zero(LEVADA_CHOICE_WINDOW * sizeof *c->window);
    return c->window ? LEVADA_OK : choice_memory(err);
}

void levada_choice_close(levada_choice *c)
{
    levada_free(c->window);
    memset(c, 0, sizeof *c);
}

static int64_t choice_count(const levada_choice *c)
{
    return c->seen < LEVADA_CHOICE_WINDOW ? c->seen : LEVADA_CHOICE_WINDOW;
}

static int choice_order(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Sorts the lengths of the window in ascending order: counted if they are short, else sorted. */
static levada_status choice_sort(const levada_choice *c, int64_t *to, levada_error *err)
{
    int64_t  n = choice_count(c), longest = 0, k = 0;
    int32_t *count;

    for (int64_t i = 0; i < n; i++) longest = c->window[i] > longest ? c->window[i] : longest;
    if (longest >= CHOICE_COUNTED) {
        memcpy(to, c->window, (size_t)n * sizeof *to);
        qsort(to, (size_t)n, sizeof *to, choice_order);
        return LEVADA_OK;
    }
    count = levada_alloc_zero((size_t)(longest + 1) * sizeof *count);
    if (!count) return choice_memory(err);
    for (int64_t i = 0; i < n; i++) count[c->window[i]]++;
    for (int64_t length = 0; length <= longest; length++) {
        while (count[length]-- > 0) to[k++] = length;
    }
    levada_free(count);
    return LEVADA_OK;
}

/* Counts how often each length of the window occurs; lengths are sorted. *lengths_out is one
 * allocation with both. */
static levada_status choice_histogram(const levada_choice *c, int64_t **lengths_out,
                                      int64_t **counts_out, int64_t *n_out, levada_error *err)
{
    int64_t       n = choice_count(c), distinct = 0;
    int64_t      *lengths = levada_alloc((size_t)n * 2 * sizeof *lengths + 1), *counts;
    levada_status st = lengths ? choice_sort(c, lengths, err) : choice_memory(err);

    if (st != LEVADA_OK) {
        levada_free(lengths);
        return st;
    }
    counts = lengths + n;
    for (int64_t i = 0; i < n; i++) {
        if (distinct == 0 || lengths[distinct - 1] != lengths[i]) {
            lengths[distinct] = lengths[i];
            counts[distinct++] = 0;
        }
        counts[distinct - 1]++;
    }
    *lengths_out = lengths;
    *counts_out = counts;
    *n_out = distinct;
    return LEVADA_OK;
}

static double choice_padded(const levada_choice *c, int64_t length)
{
    return (double)((length + c->multiple - 1) / c->multiple * c->multiple);
}

/* Returns the elements of padding that these boundaries cost. */
static double choice_waste(const levada_choice *c, const levada_buckets *b, const int64_t *lengths,
                           const int64_t *counts, int64_t n)
{
    double waste = 0;

    for (int64_t i = n - 1, longest = 0, bucket = -1; i >= 0; i--) {
        int64_t at = levada_buckets_find(b, &lengths[i], 1);

        if (at != bucket) longest = lengths[i];
        bucket = at;
        waste += (double)counts[i] * (choice_padded(c, longest) - (double)lengths[i]);
    }
    return waste;
}

/* Ends the last bucket at the last boundary if the shapes of batches must be known. */
static void choice_close_last(const levada_choice *c, int64_t *at, int64_t *n, int64_t longest)
{
    for (int64_t i = 0; i < *n; i++) at[i] = (int64_t)choice_padded(c, at[i] - 1) + 1;
    at[(*n)++] = (int64_t)choice_padded(c, longest) + 1;
}

/* Finds the boundaries that pad these lengths the least. */
static levada_status choice_best(const levada_choice *c, const int64_t *lengths,
                                 const int64_t *counts, int64_t n, levada_buckets *best,
                                 levada_error *err)
{
    int64_t      *at = levada_alloc((size_t)(c->buckets + 1) * sizeof *at), nat = 0;
    levada_status st = at ? LEVADA_OK : choice_memory(err);

    if (st == LEVADA_OK) {
        st = levada_optimal_boundaries(lengths, counts, n, c->buckets, c->multiple, at, &nat, err);
    }
    if (st == LEVADA_OK && c->once && n > 0) choice_close_last(c, at, &nat, lengths[n - 1]);
    if (st == LEVADA_OK) st = levada_buckets_set(best, at, nat, err);
    levada_free(at);
    return st;
}

levada_status levada_choice_fix(levada_choice *c, levada_buckets *buckets, const int64_t *lengths,
                                const int64_t *counts, int64_t n, levada_error *err)
{
    LEVADA_TRY(choice_best(c, lengths, counts, n, buckets, err));
    c->made = c->fixed = true;
    return LEVADA_OK;
}

levada_status levada_choice_make(levada_choice *c, levada_buckets *buckets, bool *changed,
                                 levada_error *err)
{
    levada_buckets best = { 0 };
    int64_t       *lengths = NULL, *counts = NULL, n = 0;
    levada_status  st = choice_histogram(c, &lengths, &counts, &n, err);

    *changed = false;
    if (st == LEVADA_OK) st = choice_best(c, lengths, counts, n, &best, err);
    if (st == LEVADA_OK &&
        (!c->made || choice_waste(c, &best, lengths, counts, n) <
                         0.9 * choice_waste(c, buckets, lengths, counts, n))) {
        levada_buckets old = *buckets;

        *buckets = best;
        best = old;
        *changed = c->made = true;
    }
    levada_buckets_clear(&best);
    levada_free(lengths);
    return st;
}

levada_status levada_choice_widen(const levada_choice *c, levada_buckets *buckets,
                                  const levada_cost *cost, int64_t length, levada_error *err)
{
    int64_t padded = (int64_t)choice_padded(c, length), bound = 1;
    double  each = 0;

    while (bound < padded) bound *= 2;
    bound = (int64_t)choice_padded(c, bound);
    LEVADA_TRY(levada_cost_record(cost, &bound, &each, err));
    if (levada_cost_exceeds(cost, 1, each)) bound = padded;
    buckets->at[buckets->n - 2] = bound + 1;
    levada_buckets_index(buckets);
    return LEVADA_OK;
}

/* Returns the text that says where boundaries come from. */
static const char *choice_origin(const levada_choice *c)
{
    if (c->fixed) return "from the index";
    if (c->pending) return "from the index, at the first record";
    return c->why[0] ? "from the records so far: " : "from the records so far";
}

void levada_choice_report(const levada_choice *c, const levada_buckets *buckets,
                          const levada_context *context, bool made)
{
    levada_text text = { 0 };

    levada_text_put(&text, c->made ? "boundaries=[" : "boundaries ");
    for (int64_t i = 0; c->made && i < buckets->n - 1; i++) {
        levada_text_format(&text, "%s%lld", i ? "," : "", (long long)buckets->at[i]);
    }
    levada_text_format(&text, "%s%s%s", c->made ? "], " : "", choice_origin(c),
                       c->fixed || c->pending ? "" : c->why);
    if (!text.failed) levada_context_set_explain_note(context, text.at);
    if (!text.failed && made) {
        levada_context_log(context, LEVADA_LOG_INFO, "bucket_by_sequence_length: %s", text.at);
    }
    levada_text_clear(&text);
}

levada_status levada_choice_save(const levada_choice *c, const levada_buckets *buckets,
                                 levada_state_writer *to, levada_error *err)
{
    LEVADA_TRY(levada_state_put_i64(to, "seen", c->seen, err));
    LEVADA_TRY(levada_state_put_i64s(to, "window", c->window, choice_count(c), err));
    if (c->fixed || c->pending) {
        LEVADA_TRY(levada_state_put_i64(to, "lengths", (int64_t)c->lengths, err));
    }
    if (!c->made) return LEVADA_OK;
    return levada_state_put_i64s(to, "boundaries", buckets->at, buckets->n - 1, err);
}

/* Restores a choice from an index: of the same lengths as those that the index has now, if it has
 * any. */
static levada_status choice_restore_indexed(levada_choice *c, bool made, levada_state_reader *from,
                                            levada_error *err)
{
    bool    has = levada_state_has(from, "lengths");
    int64_t lengths = 0;

    if (has) LEVADA_TRY(levada_state_get_i64(from, "lengths", &lengths, err));
    if (has && (c->fixed || c->pending) && (uint64_t)lengths != c->lengths) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the lengths in the index differ from the checkpoint, so the data has "
                           "changed; restore the data and the index of the checkpoint");
    }
    if (has && !made && !c->pending) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the checkpoint was saved before the boundaries were chosen, and the "
                           "index that they are chosen from lacks the lengths now: %s",
                           c->why);
    }
    c->lengths = (uint64_t)lengths;
    c->pending = has && !made;
    c->fixed = has && made;
    return LEVADA_OK;
}

levada_status levada_choice_restore(levada_choice *c, levada_buckets *buckets,
                                    levada_state_reader *from, levada_error *err)
{
    const int64_t *at = NULL, *window = NULL;
    int64_t        n = 0, nat = 0;
    bool           made = levada_state_has(from, "boundaries"), sound = true, ascending = true;

    LEVADA_TRY(levada_state_get_count(from, "seen", LEVADA_COUNT_LIMIT, &c->seen, err));
    LEVADA_TRY(levada_state_get_i64s(from, "window", &window, &n, err));
    if (made) LEVADA_TRY(levada_state_get_i64s(from, "boundaries", &at, &nat, err));
    for (int64_t i = 1; i < nat; i++) {
        ascending = ascending && at[i] > at[i - 1];
    }
    for (int64_t i = 0; i < n; i++) {
        sound = sound && window[i] >= 0 && window[i] <= INT32_MAX;
    }
    if (!sound || n != choice_count(c)) {
        return levada_state_damaged(from, "window", err, "not %lld lengths from 0 to %d",
                                    (long long)choice_count(c), INT32_MAX);
    }
    if (!ascending || nat > c->buckets) {
        return levada_state_damaged(from, "boundaries", err,
                                    "not up to %lld boundaries that ascend", (long long)c->buckets);
    }
    LEVADA_TRY(choice_restore_indexed(c, made, from, err));
    if (n) memcpy(c->window, window, (size_t)n * sizeof *window);
    c->made = made;
    return levada_buckets_set(buckets, at, nat, err);
}
