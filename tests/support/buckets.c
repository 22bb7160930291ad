/* SPDX-License-Identifier: Apache-2.0 */
#include "support/buckets.h"

#include "support/coordinators.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const levada_dtype bucket_dtypes[] = { LEVADA_INT64, LEVADA_INT64, LEVADA_INT32,
                                              LEVADA_BOOL };
static const levada_shape bucket_shapes[] = { { 0, { 0 } }, { 1, { -1 } }, { 0, { 0 } },
                                              { 0, { 0 } } };

levada_status test_source_next(void *user, levada_tensor **components, levada_error *err)
{
    test_source *s = user;
    int64_t      i = atomic_fetch_add(&s->next, 1), length, values[512];
    int32_t      key;
    bool         keep;

    if (i == s->fails_at) return levada_fail(err, s->fails_with, "element %d", (int)i);
    if (i >= s->n) return LEVADA_END;
    length = s->length != NULL ? s->length(i) : i % 32;
    key = s->key != NULL ? (int32_t)s->key(i) : 0;
    keep = s->keep == NULL || s->keep(i);
    for (int64_t k = 0; k < length; k++) values[k] = i + k;
    LEVADA_TRY(levada_tensor_create(NULL, LEVADA_INT64, &bucket_shapes[0], &i, &components[0],
                                    err));
    LEVADA_TRY(levada_tensor_create(NULL, LEVADA_INT64, &(levada_shape){ 1, { length } }, values,
                                    &components[1], err));
    LEVADA_TRY(levada_tensor_create(NULL, LEVADA_INT32, &bucket_shapes[2], &key, &components[2],
                                    err));
    return levada_tensor_create(NULL, LEVADA_BOOL, &bucket_shapes[3], &keep, &components[3], err);
}

levada_bucket_options test_bucket_options(test_source *source, int32_t buckets,
                                          const int64_t *size)
{
    levada_bucket_options o = LEVADA_BUCKET_OPTIONS_INIT;

    atomic_store(&source->next, 0);
    o.next = test_source_next;
    o.user = source;
    o.ncomponents = 4;
    o.dtypes = bucket_dtypes;
    o.shapes = bucket_shapes;
    o.dynamic_pad = true;
    o.key_component = 2;
    o.num_buckets = buckets;
    o.batch_sizes = size;
    o.nbatch_sizes = 1;
    return o;
}

levada_bucket *test_bucket(const levada_bucket_options *options)
{
    levada_bucket *bucket = NULL;
    levada_error   err = LEVADA_ERROR_INIT;

    if (levada_bucket_create(NULL, options, &bucket, &err) != LEVADA_OK) {
        fail_msg("%s", err.message);
    }
    return bucket;
}

void test_bucket_start(levada_bucket *bucket, levada_coordinator *coordinator)
{
    levada_error err = LEVADA_ERROR_INIT;

    if (levada_bucket_start(bucket, coordinator, &err) != LEVADA_OK) fail_msg("%s", err.message);
}

static void bucket_check_row(const test_batch *batch, const int64_t *row, int64_t number)
{
    int64_t length = 0;

    while (length < batch->width && row[length] == number + length) length++;
    for (int64_t k = length; k < batch->width; k++) assert_int_equal(row[k], 0);
}

levada_status test_bucket_next(levada_bucket *bucket, test_batch *batch, levada_error *err)
{
    levada_tensor *t[4] = { NULL }, *lengths = NULL;
    levada_status  st = levada_bucket_next(bucket, &batch->bucket, &lengths, t, LEVADA_FOREVER,
                                           err);

    if (st != LEVADA_OK) return st;
    batch->rows = levada_tensor_shape(t[0])->dims[0];
    batch->width = levada_tensor_shape(t[1])->dims[1];
    assert_in_range(batch->rows, 1, TEST_ELEMENTS);
    assert_int_equal(levada_tensor_shape(t[1])->dims[0], batch->rows);
    memcpy(batch->numbers, levada_tensor_data(t[0]), (size_t)batch->rows * 8);
    for (int64_t k = 0; k < batch->rows; k++) {
        bucket_check_row(batch, (const int64_t *)levada_tensor_data(t[1]) + k * batch->width,
                         batch->numbers[k]);
        if (lengths != NULL) batch->lengths[k] = ((int32_t *)levada_tensor_data(lengths))[k];
    }
    for (int i = 0; i < 4; i++) levada_tensor_unref(&t[i]);
    levada_tensor_unref(&lengths);
    return LEVADA_OK;
}

void test_bucket_take(levada_bucket *bucket, test_taken *all,
                      void (*look)(const test_batch *batch, void *user), void *user)
{
    static _Thread_local test_batch batch;

    levada_status st = LEVADA_OK;

    memset(all, 0, sizeof *all);
    levada_error_clear(&all->end);
    while (st == LEVADA_OK || st == LEVADA_ECANCELLED) { /* of this call; the next may be met */
        st = test_bucket_next(bucket, &batch, &all->end);
        if (st != LEVADA_OK) continue;
        all->batches++;
        all->rows += batch.rows;
        for (int64_t k = 0; k < batch.rows; k++) all->seen[batch.numbers[k]]++;
        if (look != NULL) look(&batch, user);
    }
}

levada_bucket_counts test_bucket_counts(const levada_bucket *bucket)
{
    levada_bucket_counts counts = LEVADA_BUCKET_COUNTS_INIT;

    assert_int_equal(levada_bucket_get_counts(bucket, &counts, NULL), LEVADA_OK);
    return counts;
}

void test_bucket_refused(const levada_bucket_options *options, const char *text)
{
    levada_bucket *bucket = NULL;
    levada_error   err = LEVADA_ERROR_INIT;

    assert_int_equal(levada_bucket_create(NULL, options, &bucket, &err), LEVADA_EINVALID_ARGUMENT);
    assert_null(bucket);
    if (strstr(err.message, text) == NULL) fail_msg("%s", err.message);
}

test_source test_source_of(int64_t n, int64_t (*key)(int64_t i))
{
    return (test_source){ .n = n, .key = key, .fails_at = -1 };
}

void test_bucket_ends(const test_taken *all, levada_status status, const char *text)
{
    if (all->end.code != status || strstr(all->end.message, text) == NULL) {
        fail_msg("%d: %s", (int)all->end.code, all->end.message);
    }
}

void test_bucket_came(const test_taken *all, int64_t n)
{
    assert_int_equal(all->rows, n);
    for (int64_t i = 0; i < n; i++) assert_int_equal(all->seen[i], 1);
}

test_taken test_bucket_run(const levada_bucket_options *o, levada_bucket_counts *counts,
                           void (*look)(const test_batch *batch, void *user), void *user)
{
    levada_coordinator *c = test_coordinator(NULL, 0);
    levada_bucket      *bucket = test_bucket(o);
    test_taken          all;

    test_bucket_start(bucket, c);
    test_bucket_take(bucket, &all, look, user);
    assert_int_equal(levada_coordinator_request_stop(c, NULL, NULL), LEVADA_OK);
    test_joins(c, LEVADA_FOREVER, all.end.code == LEVADA_EOUT_OF_RANGE ? LEVADA_OK : all.end.code,
               NULL);
    if (counts != NULL) *counts = test_bucket_counts(bucket);
    levada_bucket_destroy(&bucket);
    assert_null(bucket);
    levada_coordinator_destroy(&c);
    return all;
}

levada_status test_bucket_use_options(const void *options, levada_error *err)
{
    levada_bucket *bucket = NULL;
    levada_status  st = levada_bucket_create(NULL, options, &bucket, err);

    levada_bucket_destroy(&bucket);
    return st;
}

levada_status test_bucket_use_counts(const void *counts, levada_error *err)
{
    static test_source    none;
    const int64_t         one = 1;
    levada_bucket_options o = test_bucket_options(&none, 1, &one);
    levada_bucket        *bucket = test_bucket(&o);
    levada_status         st;

    st = levada_bucket_get_counts(bucket, (levada_bucket_counts *)(uintptr_t)counts, err);
    levada_bucket_destroy(&bucket);
    return st;
}
