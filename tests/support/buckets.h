/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buckets of numbered elements, and what comes out of them.
 *
 * Element i has three components: number int64 = i, vector int64 [length(i)] of i, i + 1, ..., and
 * the bucket or length as int32.
 */
#ifndef LEVADA_TESTS_BUCKETS_H
#define LEVADA_TESTS_BUCKETS_H

#include <levada/bucket.h>

#include <stdatomic.h>

#define TEST_ELEMENTS 4096

typedef struct test_source {
    int64_t     n; /* elements; then LEVADA_END */
    atomic_llong next;
    /* Of an element: its bucket or length, the length of its vector, whether it is kept. NULL: 0,
     * its number modulo 32, true. */
    int64_t (*key)(int64_t i);
    int64_t (*length)(int64_t i);
    bool (*keep)(int64_t i);
    int64_t       fails_at; /* -1 = never */
    levada_status fails_with;
} test_source;

typedef struct test_batch {
    int32_t bucket;
    int64_t rows, width; /* of the padded vectors */
    int64_t numbers[TEST_ELEMENTS];
    int64_t lengths[TEST_ELEMENTS]; /* where there are boundaries */
} test_batch;

typedef struct test_taken {
    int64_t      batches, rows;
    int          seen[TEST_ELEMENTS]; /* how often each element came */
    levada_error end;                 /* why no more came */
} test_taken;

/* Options for such elements from the source (reset to its beginning), batches of `size`. */
levada_bucket_options test_bucket_options(test_source *source, int32_t buckets,
                                          const int64_t *size);
levada_status test_source_next(void *user, levada_tensor **components, levada_error *err);
levada_bucket *test_bucket(const levada_bucket_options *options);
void           test_bucket_start(levada_bucket *bucket, levada_coordinator *coordinator);
/* The next batch, checked: every row is an element as it was, padded with 0. */
levada_status test_bucket_next(levada_bucket *bucket, test_batch *batch, levada_error *err);
/* All batches until the end, whatever cancels the wait for one, each passed to look (may be NULL).
 */
void test_bucket_take(levada_bucket *bucket, test_taken *all,
                      void (*look)(const test_batch *batch, void *user), void *user);
levada_bucket_counts test_bucket_counts(const levada_bucket *bucket);
test_source          test_source_of(int64_t n, int64_t (*key)(int64_t i));
/* Why a bucket ended, and part of the text. */
void test_bucket_ends(const test_taken *all, levada_status status, const char *text);
/* Elements 0 .. n came once each. */
void test_bucket_came(const test_taken *all, int64_t n);
/* A whole run with a coordinator, which expects the error that consumers got. counts may be NULL.
 */
test_taken test_bucket_run(const levada_bucket_options *options, levada_bucket_counts *counts,
                           void (*look)(const test_batch *batch, void *user), void *user);
/* A bucket from options, and the counts of one into a struct, of any size. */
levada_status test_bucket_use_options(const void *options, levada_error *err);
levada_status test_bucket_use_counts(const void *counts, levada_error *err);
/* That the bucket cannot be made from these options. */
void test_bucket_refused(const levada_bucket_options *options, const char *text);

#endif
