/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/bucket_rule.h"

levada_status levada_bucket_rule_check(const int64_t *boundaries, int64_t i, levada_error *err)
{
    if (boundaries[i] < 0 || boundaries[i] > INT32_MAX) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "bucket boundary %lld is not in [0, 2^31)", (long long)boundaries[i]);
    }
    if (i == 0 || boundaries[i - 1] < boundaries[i]) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "Buckets must contain sequential increasing lengths, but saw: %lld before "
                       "%lld",
                       (long long)boundaries[i - 1], (long long)boundaries[i]);
}

int64_t levada_bucket_rule_find(const int64_t *boundaries, int64_t n, int64_t length)
{
    int64_t low = 0, high = n;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (length < boundaries[middle]) high = middle;
        else low = middle + 1;
    }
    return low;
}
