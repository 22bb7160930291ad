/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bucket boundaries from the lengths of sequences.
 *
 * bucket_by_sequence_length pads each batch to its longest record. Which boundaries waste the least
 * depends on how often each length occurs. Pure functions: any thread, nothing is kept.
 */
#ifndef LEVADA_LENGTHS_H
#define LEVADA_LENGTHS_H

#include <levada/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Finds the boundaries of at most `num_buckets` buckets that pad the least, if every record is
 * padded to the longest of its bucket, rounded up to a multiple of `multiple_of`.
 *
 * lengths[0..n) are strictly increasing and not negative; counts[i] > 0 records have lengths[i].
 * `out` has room for num_buckets - 1 boundaries; *nout receives their number. Bucket i holds
 * out[i - 1] <= length < out[i]; the last bucket is open.
 *
 * The optimum is exact. Each bucket adds one pass over the distinct lengths (dynamic programming
 * over the lower envelope of lines), so the time is O(num_buckets * n). EINVALID_ARGUMENT for
 * arguments that do not fit; ERESOURCE_EXHAUSTED if memory runs out, or if the padded records have
 * 2^62 elements or more. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_optimal_boundaries(const int64_t *lengths, const int64_t *counts, int64_t n,
                          int64_t num_buckets, int64_t multiple_of, int64_t *out, int64_t *nout,
                          levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
