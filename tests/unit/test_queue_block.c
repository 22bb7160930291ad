/* SPDX-License-Identifier: Apache-2.0 */
#include "support/blocks.h"
#include "support/queues.h"

#include <levada/stage.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { X, N, S }; /* columns of test_block */

static const int32_t lengths[] = { 2, 0, 3, 1, 2, 2, 1, 4 };

static levada_block *eight(levada_pool *pool) { return test_block(pool, lengths, 8, 10); }

static levada_queue *padding(int64_t capacity)
{
    static const levada_dtype dtypes[] = { LEVADA_BYTES, LEVADA_INT64 };
    static const levada_shape shapes[] = { { 0, { 0 } }, { 1, { -1 } } };
    levada_queue_options      o = LEVADA_QUEUE_OPTIONS_INIT;

    o.kind = LEVADA_QUEUE_PADDING;
    o.capacity = capacity;
    o.ncomponents = 2;
    o.dtypes = dtypes;
    o.shapes = shapes;
    return test_queue_of(NULL, &o);
}

static void numbers_go_in_as_they_lie(void **state)
{
    levada_pool  *pool = test_pool();
    levada_block *block = eight(pool);
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    int32_t       column = N;
    int64_t       done = 0;

    (void)state;
    assert_int_equal(levada_queue_enqueue_block(queue, block, &column, 3, 0, &done, NULL),
                     LEVADA_OK);
    assert_int_equal(done, 5);
    test_expect(queue, 13, 5);
    assert_int_equal(levada_queue_enqueue_block(queue, block, &column, 8, 0, &done, NULL),
                     LEVADA_OK);
    assert_int_equal(done, 0);
    levada_block_unref(&block);
    levada_queue_unref(&queue);
    levada_pool_unref(&pool);
}

static void what_varies_becomes_tensors_and_is_padded(void **state)
{
    const int64_t  want[] = { 11, 11, 0, 0, 0, 0, 13, 13, 13 };
    levada_pool   *pool = test_pool();
    levada_block  *block = test_block(pool, lengths, 8, 11);
    levada_queue  *queue = padding(10);
    levada_tensor *out[2];
    int32_t        columns[] = { S, X };

    (void)state;
    assert_int_equal(levada_queue_enqueue_block(queue, block, columns, 0, 0, NULL, NULL),
                     LEVADA_OK);
    levada_block_unref(&block);
    assert_int_equal(levada_queue_dequeue_many(queue, 3, false, out, 0, NULL), LEVADA_OK);
    assert_memory_equal(levada_tensor_data(out[0]), "abbccc", 6);
    assert_int_equal(levada_tensor_shape(out[1])->dims[1], 3);
    assert_memory_equal(levada_tensor_data(out[1]), want, sizeof want);
    levada_tensor_unref(&out[0]);
    levada_tensor_unref(&out[1]);
    levada_queue_unref(&queue);
    levada_pool_unref(&pool);
}

static void one_that_gives_up_says_how_far_it_came(void **state)
{
    levada_pool   *pool = test_pool();
    levada_block  *block = eight(pool);
    levada_queue  *queue = padding(3);
    levada_tensor *out[2];
    int32_t        columns[] = { S, X };
    int64_t        done = 0;

    (void)state;
    assert_int_equal(levada_queue_enqueue_block(queue, block, columns, 0, 0, &done, NULL),
                     LEVADA_EDEADLINE_EXCEEDED);
    assert_int_equal(done, 3);
    assert_int_equal(levada_queue_dequeue_many(queue, 3, false, out, 0, NULL), LEVADA_OK);
    levada_tensor_unref(&out[0]);
    levada_tensor_unref(&out[1]);
    assert_int_equal(levada_queue_enqueue_block(queue, block, columns, 3, 0, &done, NULL),
                     LEVADA_EDEADLINE_EXCEEDED);
    assert_int_equal(levada_queue_dequeue(queue, out, 0, NULL), LEVADA_OK);
    assert_int_equal(((int64_t *)levada_tensor_data(out[1]))[0], 13);
    levada_tensor_unref(&out[0]);
    levada_tensor_unref(&out[1]);
    levada_block_unref(&block);
    levada_queue_unref(&queue);
    levada_pool_unref(&pool);
}

static void refuse(levada_queue *queue, const levada_block *block, const int32_t *columns,
                   const char *text)
{
    levada_error err = LEVADA_ERROR_INIT;
    int64_t      done = -1;

    assert_int_equal(levada_queue_enqueue_block(queue, block, columns, 0, 0, &done, &err),
                     LEVADA_EINVALID_ARGUMENT);
    if (strstr(err.message, text) == NULL) fail_msg("'%s' is not in '%s'", text, err.message);
    assert_int_equal(done, 0);
    assert_int_equal(levada_queue_size(queue), 0);
}

static void what_does_not_fit_is_named_and_nothing_goes_in(void **state)
{
    const int32_t outer[] = { 1, 1 }, inner[] = { 2, 2 };
    levada_pool  *pool = test_pool();
    levada_block *block = eight(pool), *nested = test_nested(pool, outer, 2, inner);
    levada_queue *one = test_queue(LEVADA_QUEUE_FIFO, 10, 0), *two = padding(10);
    int32_t       x = X, s = S, none = 7, swapped[] = { X, S }, scalars[] = { S, N };
    levada_error  err = LEVADA_ERROR_INIT;

    (void)state;
    refuse(one, block, &x, "Expected [], got [2] in column 'x' of record 0");
    refuse(one, block, &s, "Expected int64, got string of column 's'");
    refuse(one, block, &none, "no column for component 0");
    refuse(two, block, swapped, "Type mismatch in tuple component 0");
    refuse(two, block, scalars, "Shape mismatch in tuple component 1. Expected [?], got []");
    refuse(one, nested, NULL, "Expected int64, got int32");
    assert_int_equal(levada_queue_enqueue_block(one, block, &x, 9, 0, NULL, &err),
                     LEVADA_EINVALID_ARGUMENT);
    levada_block_unref(&block);
    levada_block_unref(&nested);
    levada_queue_unref(&one);
    levada_queue_unref(&two);
    levada_pool_unref(&pool);
}

static void rows_of_one_length_are_gathered_from_a_ragged_column(void **state)
{
    const int32_t              twos[] = { 2, 2, 2 };
    static const levada_dtype  dtype = LEVADA_INT64;
    static const levada_shape  shape = { 1, { 2 } };
    levada_queue_options       o = LEVADA_QUEUE_OPTIONS_INIT;
    levada_pool               *pool = test_pool();
    levada_block              *block = test_block(pool, twos, 3, 5), *ragged = eight(pool);
    int64_t                    got[6];
    void                      *rows[] = { got };

    (void)state;
    o.ncomponents = 1;
    o.dtypes = &dtype;
    o.shapes = &shape;
    levada_queue *queue = test_queue_of(NULL, &o);
    refuse(queue, ragged, NULL, "Expected [2], got [0] in column 'x' of record 1");
    assert_int_equal(levada_queue_enqueue_block(queue, block, NULL, 0, 0, NULL, NULL), LEVADA_OK);
    assert_int_equal(levada_queue_dequeue_rows(queue, 3, false, rows, 0, NULL, NULL), LEVADA_OK);
    for (int i = 0; i < 6; i++) assert_int_equal(got[i], 5 + i / 2);
    levada_block_unref(&block);
    levada_block_unref(&ragged);
    levada_queue_unref(&queue);
    levada_pool_unref(&pool);
}

static void selections_and_long_rows_outlive_their_block(void **state)
{
    const int32_t  longer[] = { 1, 5000 }, rows[] = { 1 };
    levada_pool   *pool = test_pool();
    levada_block  *block = test_block(pool, longer, 2, 0), *picked = NULL;
    levada_queue  *queue = padding(-1);
    levada_tensor *out[2];
    int32_t        columns[] = { S, X };

    (void)state;
    assert_int_equal(levada_block_select(block, rows, 1, &picked, NULL), LEVADA_OK);
    levada_block_unref(&block);
    assert_int_equal(levada_queue_enqueue_block(queue, picked, columns, 0, 0, NULL, NULL),
                     LEVADA_OK);
    levada_block_unref(&picked);
    assert_int_equal(levada_queue_dequeue(queue, out, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_tensor_count(out[1]), 5000);
    assert_int_equal(((int64_t *)levada_tensor_data(out[1]))[4999], 1);
    levada_tensor_unref(&out[0]);
    levada_tensor_unref(&out[1]);
    levada_queue_unref(&queue);
    levada_pool_unref(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_go_in_as_they_lie),
        cmocka_unit_test(what_varies_becomes_tensors_and_is_padded),
        cmocka_unit_test(one_that_gives_up_says_how_far_it_came),
        cmocka_unit_test(what_does_not_fit_is_named_and_nothing_goes_in),
        cmocka_unit_test(rows_of_one_length_are_gathered_from_a_ragged_column),
        cmocka_unit_test(selections_and_long_rows_outlive_their_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
