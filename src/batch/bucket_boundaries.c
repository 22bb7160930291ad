/* SPDX-License-Identifier: Apache-2.0 */

#include "base/alloc.h"
#include "batch/bucket_rule.h"
#include "batch/bucket_stage.h"
#include "option/value_priv.h"

#include <string.h>

#define BUCKET_TABLE 4096

int64_t levada_lengths_sum(const int64_t *keys, int64_t nkeys)
{
    int64_t sum = keys[0];

    for (int64_t k = 1; k < nkeys; k++) {
        if (keys[k] > 0) sum = sum > INT64_MAX - keys[k] ? INT64_MAX : sum + keys[k];
    }
    return sum;
}

/* -- finding */

int64_t levada_buckets_find(const levada_buckets *b, const int64_t *keys, int64_t nkeys)
{
    int64_t length, i = 0;

    if (b->pairs) {
        while (i < b->n - 1 && (keys[0] >= b->at[2 * i] || keys[1] >= b->at[2 * i + 1])) i++;
        return i;
    }
    length = nkeys == 1 ? keys[0] : levada_lengths_sum(keys, nkeys);
    return length >= 0 && length < BUCKET_TABLE ? b->table[length]
                                                : levada_bucket_rule_find(b->at, b->n - 1, length);
}

/* -- reading */

static levada_status bucket_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for boundaries");
}

void levada_buckets_clear(levada_buckets *b)
{
    levada_free(b->at);
    levada_free(b->table);
    memset(b, 0, sizeof *b);
}

static levada_status bucket_reserve(levada_buckets *b, int64_t n, bool pairs, levada_error *err)
{
    levada_buckets_clear(b);
    if (n > LEVADA_BUCKETS_MOST) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "at most %d boundaries are allowed, got %lld",
                           LEVADA_BUCKETS_MOST, (long long)n);
    }
    b->n = n + 1;
    b->pairs = pairs;
    b->at = levada_alloc((size_t)(pairs ? 2 * n : n) * sizeof *b->at + 1);
    if (!pairs) b->table = levada_alloc(BUCKET_TABLE * sizeof *b->table);
    return b->at && (pairs || b->table) ? LEVADA_OK : bucket_memory(err);
}

void levada_buckets_index(levada_buckets *b)
{
    for (int64_t l = 0; l < BUCKET_TABLE; l++) {
        b->table[l] = (uint16_t)levada_bucket_rule_find(b->at, b->n - 1, l);
    }
}

levada_status levada_buckets_set(levada_buckets *out, const int64_t *at, int64_t n,
                                 levada_error *err)
{
    LEVADA_TRY(bucket_reserve(out, n, false, err));
    for (int64_t i = 0; i < n; i++) out->at[i] = at[i];
    levada_buckets_index(out);
    return LEVADA_OK;
}

static levada_status bucket_number(const levada_value *value, int64_t *out, levada_error *err)
{
    char    shown[LEVADA_VALUE_SHOWN];
    int64_t number = levada_value_as_int(value);

    if (levada_value_kind_of(value) != LEVADA_VALUE_INT) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "boundaries must be integers, or pairs of them for two lengths, got %s",
                           levada_value_shown(value, LEVADA_PRINT_TEXT, shown));
    }
    *out = number;
    return levada_bucket_rule_check(out, 0, err);
}

static levada_status bucket_read_number(levada_buckets *b, int64_t i, const levada_value *value,
                                        levada_error *err)
{
    LEVADA_TRY(bucket_number(value, &b->at[i], err));
    return levada_bucket_rule_check(b->at, i, err);
}

/* Reads a pair; a pair that an earlier one covers would have an empty bucket. */
static levada_status bucket_read_pair(levada_buckets *b, int64_t i, const levada_value *value,
                                      levada_error *err)
{
    int64_t *at = b->at + 2 * i;
    char     shown[LEVADA_VALUE_SHOWN];

    if (levada_value_kind_of(value) != LEVADA_VALUE_LIST || levada_value_count(value) != 2) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "boundaries[%lld] must be a pair, as boundaries[0] is, got %s",
                           (long long)i, levada_value_shown(value, LEVADA_PRINT_TEXT, shown));
    }
    LEVADA_TRY(bucket_number(levada_value_item(value, 0), &at[0], err));
    LEVADA_TRY(bucket_number(levada_value_item(value, 1), &at[1], err));
    for (int64_t k = 0; k < i; k++) {
        if (b->at[2 * k] < at[0] || b->at[2 * k + 1] < at[1]) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "boundaries: no record can be in bucket %lld, because [%lld, %lld] "
                           "comes before [%lld, %lld]",
                           (long long)i, (long long)b->at[2 * k], (long long)b->at[2 * k + 1],
                           (long long)at[0], (long long)at[1]);
    }
    return LEVADA_OK;
}

levada_status levada_buckets_read(const levada_value *boundaries, int64_t fields,
                                  levada_buckets *out, levada_error *err)
{
    char                shown[LEVADA_VALUE_SHOWN];
    bool                single = levada_value_kind_of(boundaries) == LEVADA_VALUE_INT;
    int64_t             n = single ? 1 : levada_value_count(boundaries);
    const levada_value *first = single ? boundaries : levada_value_item(boundaries, 0);
    bool                pairs = levada_value_kind_of(first) == LEVADA_VALUE_LIST;

    if (!single && levada_value_kind_of(boundaries) != LEVADA_VALUE_LIST) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "boundaries must be a list of integers, got %s",
                           levada_value_shown(boundaries, LEVADA_PRINT_TEXT, shown));
    }
    if (pairs && fields != 2) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "boundaries are pairs, so length must list 2 fields, got %lld",
                           (long long)fields);
    }
    LEVADA_TRY(bucket_reserve(out, n, pairs, err));
    for (int64_t i = 0; i < n; i++) {
        const levada_value *value = single ? boundaries : levada_value_item(boundaries, i);

        LEVADA_TRY(pairs ? bucket_read_pair(out, i, value, err)
                         : bucket_read_number(out, i, value, err));
    }
    if (!pairs) levada_buckets_index(out);
    return LEVADA_OK;
}
