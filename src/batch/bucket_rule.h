/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule of buckets, which the stage bucket_by_sequence_length and the buckets over queues
 * (src/train) share: n boundaries make n + 1 buckets, and bucket i has the lengths l with
 * boundaries[i - 1] <= l < boundaries[i]. Batch sizes are one for all buckets, or one for each.
 */
#ifndef LEVADA_BATCH_BUCKET_RULE_H
#define LEVADA_BATCH_BUCKET_RULE_H

#include <levada/error.h>

/* Returns EINVALID_ARGUMENT unless boundary i is in [0, 2^31) and larger than the one before. */
LEVADA_MUST_USE levada_status levada_bucket_rule_check(const int64_t *boundaries, int64_t i,
                                                       levada_error *err);
/* Returns the bucket of a length, from 0 to n. */
int64_t levada_bucket_rule_find(const int64_t *boundaries, int64_t n, int64_t length);

static inline int64_t levada_bucket_rule_size(const int64_t *batch_sizes, int64_t n, int64_t bucket)
{
    return batch_sizes[n == 1 ? 0 : bucket];
}

#endif
