/* SPDX-License-Identifier: Apache-2.0 */
/* Records of datasets into buckets, a block at a time, and elements from threads of the caller. */
#include "support/buckets.h"
#include "support/coordinators.h"
#include "support/iters.h"
#include "support/queues.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 300 };

static const int64_t bounds[] = { 3, 4, 5, 10 }, eight = 8;
static const int64_t lengths[] = { 1, 3, 4, 5, 6, 10, 0 };

#define LENGTHS ",lengths=[1,3,4,5,6,10,0]"

static levada_dataset *parsed(const char *text)
{
    levada_dataset *ds = NULL;
    levada_error    err = LEVADA_ERROR_INIT;

    if (levada_dataset_parse(t_iter_env(), text, &ds, &err) != LEVADA_OK) {
        fail_msg("%s", err.message);
    }
    return ds;
}

static levada_bucket_options over(const levada_dataset *ds)
{
    static const char *const fields[] = { "n", "x", "s", "l" };
    levada_bucket_options    o = LEVADA_BUCKET_OPTIONS_INIT;

    o.dataset = ds;
    o.ncomponents = 4;
    o.fields = fields;
    o.dynamic_pad = true;
    o.key_component = 3;
    o.boundaries = bounds;
    o.nboundaries = 4;
    o.batch_sizes = &eight;
    o.nbatch_sizes = 1;
    o.allow_smaller_final_batch = true;
    return o;
}

typedef struct taken {
    int64_t      rows, batches, last[5];
    int          seen[ROWS];
    levada_error end;
} taken;

static void take_row(taken *all, int32_t bucket, int64_t i, int64_t length, const int32_t *x,
                     int64_t width)
{
    assert_in_range(i, 0, ROWS - 1);
    all->seen[i]++;
    assert_true(i > all->last[bucket]); /* one thread moves them: in order */
    all->last[bucket] = i;
    assert_int_equal(length, lengths[i % 7]);
    assert_true(width >= length);
    for (int64_t k = 0; k < width; k++) {
        assert_int_equal(x[k], k < length ? i * 100 + k : 0);
    }
    assert_true(bucket == 4 || length < bounds[bucket]);
    assert_true(bucket == 0 || length >= bounds[bucket - 1]);
}

static levada_status take_batch(levada_bucket *bucket, taken *all)
{
    levada_tensor *t[4], *length = NULL;
    int32_t        index;
    levada_status  st = levada_bucket_next(bucket, &index, &length, t, LEVADA_FOREVER, &all->end);

    if (st != LEVADA_OK) return st;
    int64_t rows = levada_tensor_shape(t[0])->dims[0], width = levada_tensor_shape(t[1])->dims[1];
    all->batches++;
    all->rows += rows;
    assert_int_equal(levada_tensor_dtype(t[2]), LEVADA_BYTES);
    for (int64_t k = 0; k < rows; k++) {
        take_row(all, index, ((int64_t *)levada_tensor_data(t[0]))[k],
                 ((int32_t *)levada_tensor_data(length))[k],
                 (int32_t *)levada_tensor_data(t[1]) + k * width, width);
    }
    for (int i = 0; i < 4; i++) levada_tensor_unref(&t[i]);
    levada_tensor_unref(&length);
    return LEVADA_OK;
}

static taken take_all(levada_bucket *bucket)
{
    taken all = { .last = { -1, -1, -1, -1, -1 }, .end = LEVADA_ERROR_INIT };

    while (take_batch(bucket, &all) == LEVADA_OK) {}
    return all;
}

static levada_bucket *made(const levada_bucket_options *o)
{
    levada_bucket *bucket = NULL;
    levada_error   err = LEVADA_ERROR_INIT;

    if (levada_bucket_create(t_iter_env(), o, &bucket, &err) != LEVADA_OK) {
        fail_msg("%s", err.message);
    }
    return bucket;
}

static taken run(const levada_bucket_options *o, levada_bucket_counts *counts)
{
    levada_bucket *bucket = made(o);
    taken          all;

    test_bucket_start(bucket, NULL);
    all = take_all(bucket);
    if (counts != NULL) *counts = test_bucket_counts(bucket);
    levada_bucket_destroy(&bucket);
    return all;
}

static void a_dataset_fills_buckets_in_order(void **state)
{
    const char *const texts[] = { "t_rows:300" LENGTHS, "t_rows:300" LENGTHS " | prefetch:2",
                                  "t_stream:300" LENGTHS };

    (void)state;
    for (int i = 0; i < 3; i++) {
        levada_dataset *ds = parsed(texts[i]);

        for (int32_t block = 0; block < 20; block += 7) {
            levada_iter_options   it = LEVADA_ITER_OPTIONS_INIT;
            levada_bucket_options o = over(ds);
            taken                 all;

            it.block_rows = block;
            it.threads = 1 + block % 2;
            o.iter = block > 0 ? &it : NULL;
            o.capacity = block > 7 ? 3 : 32;
            o.key_component = block == 7 ? 1 : 3; /* the vector, or its length */
            all = run(&o, NULL);
            assert_int_equal(all.end.code, LEVADA_EOUT_OF_RANGE);
            assert_int_equal(all.rows, ROWS);
            for (int64_t k = 0; k < ROWS; k++) assert_int_equal(all.seen[k], 1);
        }
        levada_dataset_unref(&ds);
    }
}

static void records_that_are_not_kept_are_counted(void **state)
{
    levada_dataset       *ds = parsed("t_rows:300" LENGTHS);
    levada_bucket_options o = over(ds);
    levada_bucket_counts  counts;
    taken                 all;

    (void)state;
    o.keep_component = 3; /* a length of 0 is false */
    o.allow_smaller_final_batch = false;
    all = run(&o, &counts);
    assert_int_equal(counts.filtered, ROWS / 7);
    assert_int_equal(counts.records, all.rows);
    assert_int_equal(counts.records + counts.dropped + counts.filtered, ROWS);
    assert_int_equal(all.rows % 8, 0);
    levada_dataset_unref(&ds);
}

static void expect_text(const levada_error *got, levada_status code, const char *text)
{
    if (got->code != code || strstr(got->message, text) == NULL) fail_msg("%s", got->message);
}

static void an_error_follows_the_records_before_it(void **state)
{
    levada_dataset       *unfit = parsed("t_rows:300" LENGTHS),
                         *fails = parsed("t_rows:300,fail_at=77" LENGTHS);
    levada_bucket_options o = over(unfit);
    levada_bucket_counts  counts;
    const int64_t         one = 1;
    levada_bucket        *bucket;
    levada_tensor        *t[4];
    int32_t               index;
    levada_error          err = LEVADA_ERROR_INIT;
    taken                 all;

    (void)state;
    o.dataset = fails;
    all = run(&o, NULL);
    expect_text(&all.end, LEVADA_EDATA_LOSS, "");
    assert_int_equal(all.rows, 77);
    o.dataset = unfit;
    o.boundaries = NULL;
    o.nboundaries = 0;
    o.num_buckets = 5;
    o.key_component = 0; /* its number */
    o.batch_sizes = &one;
    bucket = made(&o);
    test_bucket_start(bucket, NULL);
    for (int64_t i = 0; i < 5; i++) {
        assert_int_equal(levada_bucket_next(bucket, &index, NULL, t, LEVADA_FOREVER, &err),
                         LEVADA_OK);
        assert_int_equal(*(int64_t *)levada_tensor_data(t[0]), index);
        for (int k = 0; k < 4; k++) levada_tensor_unref(&t[k]);
    }
    assert_int_equal(levada_bucket_next(bucket, &index, NULL, t, LEVADA_FOREVER, &err),
                     LEVADA_EINVALID_ARGUMENT);
    expect_text(&err, LEVADA_EINVALID_ARGUMENT, "record 5: which_bucket=5 is not in [0, 5)");
    counts = test_bucket_counts(bucket);
    assert_int_equal(counts.records, 5);
    assert_true(counts.dropped >= 1); /* the rest of that block */
    levada_bucket_destroy(&bucket);
    levada_dataset_unref(&unfit);
    levada_dataset_unref(&fails);
}

/* Of one block: record 0 is not kept, 1 to 4 enter, and 5 ends the input. */
static void an_error_counts_each_record_once(void **state)
{
    levada_dataset       *ds = parsed("t_rows:300" LENGTHS);
    levada_bucket_options o = over(ds);
    levada_iter_options   it = LEVADA_ITER_OPTIONS_INIT;
    levada_bucket_counts  counts;
    const int64_t         one = 1;
    taken                 all;

    (void)state;
    it.block_rows = 50;
    o.iter = &it;
    o.boundaries = NULL;
    o.nboundaries = 0;
    o.num_buckets = 5;
    o.key_component = o.keep_component = 0; /* its number */
    o.batch_sizes = &one;
    levada_bucket *bucket = made(&o);
    test_bucket_start(bucket, NULL);
    for (all.rows = 0; all.rows < 4; all.rows++) {
        levada_tensor *t[4];
        int32_t        index;

        assert_int_equal(levada_bucket_next(bucket, &index, NULL, t, LEVADA_FOREVER, NULL),
                         LEVADA_OK);
        assert_int_equal(*(int64_t *)levada_tensor_data(t[0]), index);
        for (int k = 0; k < 4; k++) levada_tensor_unref(&t[k]);
    }
    all.end = (levada_error)LEVADA_ERROR_INIT;
    assert_int_not_equal(take_batch(bucket, &all), LEVADA_OK);
    expect_text(&all.end, LEVADA_EINVALID_ARGUMENT, "record 5");
    counts = test_bucket_counts(bucket);
    assert_int_equal(counts.filtered, 1);
    assert_int_equal(counts.records, 4);
    assert_int_equal(counts.dropped, 45);
    levada_bucket_destroy(&bucket);
    levada_dataset_unref(&ds);
}

static void refused(const levada_bucket_options *o, const char *text)
{
    levada_bucket *bucket = NULL;
    levada_error   err = LEVADA_ERROR_INIT;

    assert_int_equal(levada_bucket_create(t_iter_env(), o, &bucket, &err),
                     LEVADA_EINVALID_ARGUMENT);
    expect_text(&err, LEVADA_EINVALID_ARGUMENT, text);
}

static levada_status no_key(void *user, levada_tensor *const *components, int64_t *key,
                            levada_error *err)
{
    (void)user;
    (void)components;
    *key = 0;
    return levada_fail(err, LEVADA_EINTERNAL, "never called");
}

static void what_is_no_source_is_refused(void **state)
{
    levada_dataset *ds = parsed("t_rows:9"), *batched = parsed("t_rows:9 | padded_batch:3");
    levada_bucket_options    o = over(ds);
    static const char *const unknown[] = { "n", "no", "s", "l" }, *const deep[] = { "z" };

    (void)state;
    o.fields = unknown;
    refused(&o, "component 1 is not a field of the dataset: no");
    o.fields = deep;
    o.ncomponents = 1;
    o.key_component = 0;
    refused(&o, "field 'z' has 2 ragged levels");
    o = over(ds);
    o.dynamic_pad = false;
    refused(&o, "field 'x' differs in shape");
    o = over(batched);
    refused(&o, "add unbatch()");
    o = over(ds);
    o.key = no_key;
    refused(&o, "a dataset has no functions next, key or keep");
    levada_dataset_unref(&ds);
    levada_dataset_unref(&batched);
}

static void all_fields_are_components_by_default(void **state)
{
    levada_dataset       *ds = parsed("range:100");
    levada_bucket_options o = over(ds);
    const int64_t         hundred[] = { 100 };
    levada_bucket        *bucket;
    levada_tensor        *t = NULL, *length = NULL;
    int32_t               index = -1;

    (void)state;
    o.fields = NULL;
    o.ncomponents = 0;
    o.dynamic_pad = false;
    o.key_component = 0;
    o.boundaries = hundred;
    o.nboundaries = 1;
    o.batch_sizes = hundred;
    bucket = made(&o);
    test_bucket_start(bucket, NULL);
    assert_int_equal(levada_bucket_next(bucket, &index, &length, &t, LEVADA_FOREVER, NULL),
                     LEVADA_OK);
    assert_int_equal(index, 0);
    for (int64_t i = 0; i < 100; i++) {
        assert_int_equal(((int64_t *)levada_tensor_data(t))[i], i);
        assert_int_equal(((int32_t *)levada_tensor_data(length))[i], i);
    }
    levada_tensor_unref(&t);
    levada_tensor_unref(&length);
    levada_bucket_destroy(&bucket);
    levada_dataset_unref(&ds);
}

/* -- threads of the caller --------------------------------------------------------------------- */

typedef struct work {
    levada_bucket *bucket;
    const char    *text;
    int32_t        i;
    levada_status  status;
    pthread_t      thread;
} work;

/* Every block of a dataset, then the end of the input. */
static void *put_blocks(void *user)
{
    work         *w = user;
    levada_iter  *it = t_iter_open(w->text, 1, 16);
    levada_block *block = NULL;
    const int32_t columns[] = { 0, 2, 3, 1 }; /* n, x, s, l of n, l, x, s, ... */

    while (levada_iter_next(it, &block, NULL) == LEVADA_OK && w->status == LEVADA_OK) {
        w->status = levada_bucket_put_block(w->bucket, block, columns, LEVADA_FOREVER, NULL);
        levada_block_unref(&block);
    }
    levada_block_unref(&block);
    levada_iter_close(&it);
    levada_bucket_close(w->bucket, false);
    return NULL;
}

static void *run_bucket(void *user)
{
    work *w = user;

    w->status = levada_bucket_run(w->bucket, w->i, NULL);
    return NULL;
}

/* Buckets without a source, of the components n, x, s, l. */
static levada_bucket *open_buckets(levada_dataset *ds)
{
    static const levada_dtype dtypes[] = { LEVADA_INT64, LEVADA_INT32, LEVADA_BYTES,
                                           LEVADA_INT64 };
    static const levada_shape shapes[] = { { 0, { 0 } }, { 1, { -1 } }, { 0, { 0 } },
                                           { 0, { 0 } } };
    levada_bucket_options     o = over(ds);

    o.dataset = NULL;
    o.fields = NULL;
    o.dtypes = dtypes;
    o.shapes = shapes;
    return made(&o);
}

static void threads_of_the_caller_do_it_all(void **state)
{
    levada_bucket *bucket = open_buckets(NULL);
    work           works[6];
    taken          all = { .last = { -1, -1, -1, -1, -1 }, .end = LEVADA_ERROR_INIT };

    (void)state;
    for (int i = 0; i < 6; i++) {
        works[i] = (work){ bucket, "t_rows:300" LENGTHS, i, LEVADA_OK, 0 };
        assert_int_equal(pthread_create(&works[i].thread, NULL, i < 5 ? run_bucket : put_blocks,
                                        &works[i]),
                         0);
    }
    while (all.rows < ROWS) assert_int_equal(take_batch(bucket, &all), LEVADA_OK);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(pthread_join(works[i].thread, NULL), 0);
        assert_int_equal(works[i].status, i < 5 ? LEVADA_EOUT_OF_RANGE : LEVADA_OK);
    }
    assert_int_equal(levada_queue_close(levada_bucket_queue(bucket, -1), false, 0, NULL),
                     LEVADA_OK);
    assert_int_equal(take_batch(bucket, &all), LEVADA_EOUT_OF_RANGE);
    levada_bucket_destroy(&bucket);
}

static void wrong_blocks_and_elements_are_refused(void **state)
{
    levada_bucket *bucket = open_buckets(NULL);
    levada_iter   *it = t_iter_open("range:3", 1, 16);
    levada_block  *block = NULL;
    levada_tensor *none[4] = { NULL };
    levada_error   err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_int_equal(levada_bucket_put_block(bucket, block, NULL, 0, &err),
                     LEVADA_EINVALID_ARGUMENT);
    expect_text(&err, LEVADA_EINVALID_ARGUMENT, "the block has no column 1 for component 1");
    assert_int_equal(levada_bucket_put(bucket, none, 0, &err), LEVADA_EINVALID_ARGUMENT);
    expect_text(&err, LEVADA_EINVALID_ARGUMENT, "component 0 of 4 of the element is NULL");
    assert_int_equal(levada_bucket_run(bucket, 5, &err), LEVADA_EINVALID_ARGUMENT);
    expect_text(&err, LEVADA_EINVALID_ARGUMENT, "bucket 5 is not in [0, 5)");
    assert_int_equal(test_bucket_counts(bucket).dropped, 3);
    levada_block_unref(&block);
    levada_iter_close(&it);
    levada_bucket_destroy(&bucket);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dataset_fills_buckets_in_order),
        cmocka_unit_test(records_that_are_not_kept_are_counted),
        cmocka_unit_test(an_error_follows_the_records_before_it),
        cmocka_unit_test(an_error_counts_each_record_once),
        cmocka_unit_test(what_is_no_source_is_refused),
        cmocka_unit_test(all_fields_are_components_by_default),
        cmocka_unit_test(threads_of_the_caller_do_it_all),
        cmocka_unit_test(wrong_blocks_and_elements_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
