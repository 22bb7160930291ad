/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Length histograms, the bucket boundaries that pad least, and the padding of several batching
 * strategies.
 *
 * bucket_by_sequence_length pads each batch to its longest record. The best boundaries depend on
 * how often each length occurs. Any thread may call each function, but only one thread at a time
 * may use a histogram.
 *
 * Example:
 *
 *     const int64_t lengths[] = {3, 5, 50, 60};
 *     const int64_t counts[] = {10, 10, 1, 1}; // 10 records of 3 steps, ...
 *     int64_t       boundaries[1], n;
 *
 *     LEVADA_TRY(levada_optimal_boundaries(lengths, counts, 4, 2, 1, boundaries, &n, err)); // 6
 */
#ifndef LEVADA_LENGTHS_H
#define LEVADA_LENGTHS_H

#include <levada/iter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Finds the boundaries of at most `num_buckets` buckets that pad the least, if every record is
 * padded to the longest of its bucket, rounded up to a multiple of `multiple_of`.
 *
 * lengths[0..n) are strictly increasing and not negative; counts[i] > 0 records have lengths[i].
 * `out` has space for num_buckets - 1 boundaries; *nout receives their number. Bucket i holds
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

/* -- lengths of a dataset */

/* A histogram of lengths. One thread at a time uses it. */
typedef struct levada_length_histogram levada_length_histogram;

/* Creates an empty histogram of lengths. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_length_histogram_create(levada_length_histogram **out, levada_error *err);
/* Frees it and sets *histogram to NULL; accepts NULL. */
LEVADA_API void levada_length_histogram_destroy(levada_length_histogram **histogram);
/* Adds n lengths; a negative one counts as 0. On failure some may have been added. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_length_histogram_add(levada_length_histogram *histogram, const int64_t *lengths, int64_t n,
                            levada_error *err);
/* Adds the length of `field` of each record of a dataset, as bucket_by_sequence_length measures it:
 * the first dimension, the bytes of a byte string, or the value of an integer field. Reads the
 * dataset once with these options (NULL: the defaults). If the index contains the lengths
 * (levada_inspect_lengths), only the index is read. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_length_histogram_read(levada_length_histogram *histogram, const levada_dataset *dataset,
                             const levada_iter_options *options, const char *field,
                             levada_error *err);
/* Returns the distinct lengths in ascending order, their counts, and their number, as arguments of
 * levada_optimal_boundaries. Borrowed until the histogram changes. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_length_histogram_get(levada_length_histogram *histogram, const int64_t **lengths,
                            const int64_t **counts, int64_t *n, levada_error *err);

/* -- what padding costs */

typedef struct levada_padding_report_options {
    size_t         struct_size;
    int64_t        max_tokens;  /* budget per batch, in elements                     */
    int64_t        batch_size;  /* records per batch without a budget                */
    int64_t        multiple_of; /* padded lengths are rounded up to this             */
    const int64_t *boundaries;  /* boundaries of an additional strategy; NULL = none */
    int64_t        nboundaries;
    const char    *field;       /* field name in `stage` and `call`; NULL = "length"              */
    int64_t        num_buckets; /* an additional number of buckets; 0 = none                      */
    int64_t        pack_length; /* length of a packed record; 0 = a power of two from the lengths */
} levada_padding_report_options;

#define LEVADA_PADDING_REPORT_OPTIONS_INIT                                            \
    {                                                                          \
        sizeof(levada_padding_report_options), 16384, 64, 1, NULL, 0, NULL, 0, 0      \
    }
/* Sets *all to its defaults, for languages without macros; size is
 * sizeof(levada_padding_report_options). */
LEVADA_API void levada_padding_report_options_init(levada_padding_report_options *all, size_t size);

/* Simulates several batching strategies on records with these lengths, in this order, and reports
 * the padding of each. Every strategy runs the stage in its report, on the lengths alone. A
 * negative length counts as 0. Returns one JSON object; free it with levada_string_free:
 *
 *     {"records", "tokens", "field",
 *      "quantiles": {"min", "p10", "median", "p90", "p99", "max"},
 *      "histogram": [[from, to, records], ...],
 *      "strategies": [{"strategy", "stage", "call", "padding", "batches", "tokens_per_batch",
 *                      "shapes"}],
 *      "recommended": {"strategy", "stage", "call"}}
 *
 * padding is the share of all elements of the batches; shapes is the number of distinct padded
 * lengths. stage is the text of the stage, and call the corresponding method of a dataset in
 * Python. A bin of the histogram has the records with from <= length < to; the bins are equally
 * wide, except that the last bin has all longer records. The strategy "packing" pads every packed
 * record to its full length.
 *
 * The recommended strategy is the first of the look-aheads and optimal buckets (most buckets first)
 * that pads at most one percent of the elements more than the best of them. Packing is never
 * recommended, because a model must mask the segments of packed records. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_padding_report(const int64_t *lengths, int64_t n,
                      const levada_padding_report_options *options, char **out, levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
