/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sentences of every length in batches of similar length: bucket_by_sequence_length of TensorFlow
 * 1.x, with a coordinator and queue runners.
 *
 *     read ──► buckets: shorter than 8 │ 8 to 15 │ 16 and longer ──► batches ──► main
 *
 * The end of the input travels with the data: `read` returns LEVADA_END, the buckets deliver what
 * they hold, and main receives EOUT_OF_RANGE. A stop travels against it.
 */
#include <levada/levada.h>
#include <stdio.h>

enum { SENTENCES = 1000 };

/* A component of an element: words with a number each. */
static levada_status sentence(int64_t number, levada_tensor **out, levada_error *err)
{
    levada_shape shape = { 1, { 1 + number * 7 % 24 } };

    LEVADA_TRY(levada_tensor_create(NULL, LEVADA_INT64, &shape, NULL, out, err));
    for (int64_t i = 0; i < shape.dims[0]; i++) {
        ((int64_t *)levada_tensor_data(*out))[i] = number + i;
    }
    return LEVADA_OK;
}

/* The next element; a thread of the bucket calls it until it returns anything but LEVADA_OK. */
static levada_status read(void *user, levada_tensor **components, levada_error *err)
{
    int64_t *next = user;

    if (*next == SENTENCES) return LEVADA_END;
    return sentence((*next)++, &components[0], err);
}

/* Batches until the end; *padding counts the elements that are not words. */
static levada_status train(levada_bucket *bucket, int64_t *rows, int64_t *words, int64_t *padding,
                           levada_error *err)
{
    for (levada_tensor *batch = NULL, *lengths = NULL;;) {
        int32_t number;

        LEVADA_TRY(levada_bucket_next(bucket, &number, &lengths, &batch, LEVADA_FOREVER, err));
        const levada_shape *shape = levada_tensor_shape(batch);
        const int32_t      *length = levada_tensor_data(lengths);
        *rows += shape->dims[0];
        for (int64_t i = 0; i < shape->dims[0]; i++) {
            *words += length[i];
            *padding += shape->dims[1] - length[i];
        }
        levada_tensor_unref(&batch);
        levada_tensor_unref(&lengths);
    }
}

int main(void)
{
    const levada_dtype    dtype = LEVADA_INT64;
    const levada_shape    any_length = { 1, { -1 } };
    const int64_t         boundaries[] = { 8, 16 }, batch_size = 32;
    levada_bucket_options what = LEVADA_BUCKET_OPTIONS_INIT;
    levada_bucket        *bucket = NULL;
    levada_coordinator   *coord = NULL;
    levada_error          err = LEVADA_ERROR_INIT;
    int64_t               next = 0, rows = 0, words = 0, padding = 0;

    what.next = read;
    what.user = &next;
    what.ncomponents = 1;
    what.dtypes = &dtype;
    what.shapes = &any_length;
    what.dynamic_pad = true;
    what.key_component = 0; /* its first dimension is the length */
    what.boundaries = boundaries;
    what.nboundaries = 2;
    what.batch_sizes = &batch_size;
    what.nbatch_sizes = 1;
    what.allow_smaller_final_batch = true;
    if (levada_coordinator_create(NULL, NULL, 0, &coord, &err) != LEVADA_OK) return 1;
    levada_status st = levada_bucket_create(NULL, &what, &bucket, &err);
    if (st == LEVADA_OK) st = levada_bucket_start(bucket, coord, &err);
    if (st == LEVADA_OK) st = train(bucket, &rows, &words, &padding, &err);
    /* Request the stop, wait, and report the first error, of this thread or of any other. */
    if (levada_coordinator_request_stop(coord, &err, NULL) != LEVADA_OK) return 1;
    st = levada_coordinator_join(coord, INT64_C(10000000000), false, &err);
    printf("%lld sentences, %lld words, %.1f %% padding %s\n", (long long)rows, (long long)words,
           100.0 * (double)padding / (double)(words + padding), st == LEVADA_OK ? "" : err.message);
    levada_bucket_destroy(&bucket);
    levada_coordinator_destroy(&coord);
    return st == LEVADA_OK && rows == SENTENCES ? 0 : 1;
}
