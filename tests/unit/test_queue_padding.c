/* SPDX-License-Identifier: Apache-2.0 */
#include "support/queues.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static levada_queue *make(const levada_dtype *dtypes, const levada_shape *shapes, int32_t n)
{
    levada_queue_options o = LEVADA_QUEUE_OPTIONS_INIT;

    o.kind = LEVADA_QUEUE_PADDING;
    o.capacity = 10;
    o.ncomponents = n;
    o.dtypes = dtypes;
    o.shapes = shapes;
    return test_queue_of(NULL, &o);
}

static void pads_each_component_to_its_longest(void **state)
{
    levada_dtype      dtypes[] = { LEVADA_BYTES, LEVADA_INT32 };
    levada_shape      shapes[] = { { 1, { -1 } }, { 2, { 1, -1 } } };
    levada_queue     *queue = make(dtypes, shapes, 2);
    const char *const words[] = { "a", "bb", "ccc", "dddd" };
    int32_t           numbers[] = { 1, 2, 3, 4 };
    levada_tensor    *out[2] = { 0 };

    (void)state;
    for (int64_t n = 0; n <= 4; n++) {
        levada_tensor *in[] = { test_strings(1, &n, words),
                                test_tensor(LEVADA_INT32, 2, (int64_t[]){ 1, n }, numbers) };

        assert_int_equal(levada_queue_enqueue(queue, in, 0, NULL), LEVADA_OK);
        levada_tensor_unref(&in[0]);
        levada_tensor_unref(&in[1]);
    }
    assert_int_equal(levada_queue_dequeue_many(queue, 4, false, out, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_tensor_shape(out[0])->dims[1], 3);
    assert_memory_equal(levada_tensor_data(out[0]), "aabbabbccc", 10);
    assert_memory_equal(levada_tensor_offsets(out[0]),
                        ((int32_t[]){ 0, 0, 0, 0, 1, 1, 1, 2, 4, 4, 5, 7, 10 }), 52);
    assert_int_equal(levada_tensor_shape(out[1])->rank, 3);
    assert_memory_equal(levada_tensor_data(out[1]),
                        ((int32_t[]){ 0, 0, 0, 1, 0, 0, 1, 2, 0, 1, 2, 3 }), 48);
    levada_tensor_unref(&out[0]);
    levada_tensor_unref(&out[1]);
    assert_int_equal(levada_queue_dequeue(queue, out, 0, NULL), LEVADA_OK); /* as it came */
    assert_int_equal(levada_tensor_shape(out[1])->dims[1], 4);
    levada_tensor_unref(&out[0]);
    levada_tensor_unref(&out[1]);
    levada_queue_unref(&queue);
}

static void pads_in_every_dimension(void **state)
{
    levada_dtype   dtype = LEVADA_INT8;
    levada_shape   shape = { 3, { -1, 2, -1 } };
    levada_queue  *queue = make(&dtype, &shape, 1);
    int8_t         values[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    levada_tensor *a = test_tensor(LEVADA_INT8, 3, (int64_t[]){ 1, 2, 3 }, values);
    levada_tensor *b = test_tensor(LEVADA_INT8, 3, (int64_t[]){ 2, 2, 2 }, values), *out = NULL;

    (void)state;
    assert_int_equal(levada_queue_enqueue(queue, &a, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_queue_enqueue(queue, &b, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_queue_close(queue, false, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_queue_dequeue_many(queue, 5, true, &out, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_tensor_count(out), 2 * 2 * 2 * 3);
    assert_memory_equal(levada_tensor_data(out),
                        ((int8_t[]){ 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0, //
                                     1, 2, 0, 3, 4, 0, 5, 6, 0, 7, 8, 0 }),
                        24);
    levada_tensor_unref(&a);
    levada_tensor_unref(&b);
    levada_tensor_unref(&out);
    levada_queue_unref(&queue);
}

static void nothing_has_unknown_dimensions_of_zero(void **state)
{
    levada_dtype   dtypes[] = { LEVADA_FLOAT32, LEVADA_BYTES };
    levada_shape   shapes[] = { { 2, { -1, 3 } }, { 1, { -1 } } };
    levada_queue  *queue = make(dtypes, shapes, 2);
    levada_tensor *out[2] = { 0 };

    (void)state;
    assert_int_equal(levada_queue_dequeue_many(queue, 0, false, out, -1, NULL), LEVADA_OK);
    assert_int_equal(levada_tensor_shape(out[0])->rank, 3);
    assert_int_equal(levada_tensor_shape(out[0])->dims[1], 0);
    assert_int_equal(levada_tensor_shape(out[0])->dims[2], 3);
    assert_int_equal(levada_tensor_count(out[1]), 0);
    levada_tensor_unref(&out[0]);
    levada_tensor_unref(&out[1]);
    levada_queue_unref(&queue);
}

static void says_which_shape_it_wanted(void **state)
{
    levada_dtype   dtype = LEVADA_INT32;
    levada_shape   shape = { 2, { -1, 3 } };
    levada_queue  *queue = make(&dtype, &shape, 1);
    levada_tensor *one = test_tensor(LEVADA_INT32, 2, (int64_t[]){ 3, 4 }, NULL);
    levada_tensor *two = test_tensor(LEVADA_INT32, 3, (int64_t[]){ 2, 3, 4 }, NULL);
    levada_error   err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(levada_queue_enqueue(queue, &one, 0, &err), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "Expected [?,3], got [3,4]"));
    assert_int_equal(levada_queue_enqueue_many(queue, &two, 0, NULL, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "Expected [2,?,3], got [2,3,4]"));
    levada_tensor_unref(&one);
    levada_tensor_unref(&two);
    levada_queue_unref(&queue);
}

static void rows_of_equal_size_come_out_unpadded(void **state)
{
    levada_dtype   dtype = LEVADA_INT32;
    levada_shape   shape = { 1, { -1 } };
    levada_queue  *queue = make(&dtype, &shape, 1);
    int32_t        values[] = { 1, 2, 3, 4, 5, 6 };
    levada_tensor *in = test_tensor(LEVADA_INT32, 2, (int64_t[]){ 3, 2 }, values), *out = NULL;

    (void)state;
    assert_int_equal(levada_queue_enqueue_many(queue, &in, 0, NULL, NULL), LEVADA_OK);
    assert_int_equal(levada_queue_dequeue_many(queue, 3, false, &out, 0, NULL), LEVADA_OK);
    assert_memory_equal(levada_tensor_data(out), values, sizeof(values));
    levada_tensor_unref(&in);
    levada_tensor_unref(&out);
    levada_queue_unref(&queue);
}

static void large_rows_share_their_batch(void **state)
{
    static int64_t values[3 * 2000];
    levada_dtype   dtype = LEVADA_INT64;
    levada_shape   shape = { 1, { -1 } };
    levada_queue  *queue = make(&dtype, &shape, 1);
    levada_tensor *in = NULL, *out = NULL;

    (void)state;
    for (int64_t i = 0; i < 6000; i++) values[i] = i;
    in = test_tensor(LEVADA_INT64, 2, (int64_t[]){ 3, 2000 }, values);
    assert_int_equal(levada_queue_enqueue_many(queue, &in, 0, NULL, NULL), LEVADA_OK);
    levada_tensor_unref(&in);
    assert_int_equal(levada_queue_dequeue(queue, &out, 0, NULL), LEVADA_OK);
    levada_tensor_unref(&out);
    assert_int_equal(levada_queue_dequeue_many(queue, 2, false, &out, 0, NULL), LEVADA_OK);
    assert_memory_equal(levada_tensor_data(out), values + 2000, 4000 * sizeof(int64_t));
    levada_tensor_unref(&out);
    levada_queue_unref(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pads_each_component_to_its_longest),
        cmocka_unit_test(pads_in_every_dimension),
        cmocka_unit_test(nothing_has_unknown_dimensions_of_zero),
        cmocka_unit_test(says_which_shape_it_wanted),
        cmocka_unit_test(rows_of_equal_size_come_out_unpadded),
        cmocka_unit_test(large_rows_share_their_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
