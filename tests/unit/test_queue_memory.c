/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What queues take of memory, and free.
 */
#include "runtime/queue_priv.h"
#include "support/queues.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#ifdef __GLIBC__
static int64_t heap_bytes(void)
{
    struct mallinfo2 now = mallinfo2();

    return (int64_t)(now.uordblks + now.hblkhd);
}
#else
static int64_t heap_bytes(void) { return 0; }
#endif

static void an_empty_queue_takes_less_than_four_kilobytes(void **state)
{
    enum { MANY = 100 };
    levada_dtype  dtypes[] = { LEVADA_INT64, LEVADA_FLOAT32, LEVADA_BYTES };
    levada_shape  shapes[] = { { 0, { 0 } }, { 1, { 4 } }, { 0, { 0 } } };
    levada_queue *queues[MANY];

    (void)state;
    for (int kind = LEVADA_QUEUE_FIFO; kind <= LEVADA_QUEUE_PRIORITY; kind++) {
        levada_queue_options o = LEVADA_QUEUE_OPTIONS_INIT;
        int64_t              before;

        o.kind = (levada_queue_kind)kind;
        o.capacity = 100000;
        o.ncomponents = 3;
        o.dtypes = dtypes;
        o.shapes = shapes;
        queues[0] = test_queue_of(NULL, &o); /* with it what all share */
        before = heap_bytes();
        for (int i = 1; i < MANY; i++) queues[i] = test_queue_of(NULL, &o);
        assert_true(heap_bytes() - before < (MANY - 1) * 4096);
        for (int i = 0; i < MANY; i++) levada_queue_unref(&queues[i]);
    }
}

static void an_unbounded_queue_grows(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, -1, 0);

    (void)state;
    for (int64_t i = 0; i < 5000; i += 500) {
        assert_int_equal(test_put(queue, i, 500), LEVADA_OK);
        test_expect(queue, i, 0);
    }
    assert_int_equal(levada_queue_size(queue), 5000);
    for (int64_t i = 0; i < 5000; i += 250) test_expect(queue, i, 250);
    levada_queue_unref(&queue);
}

/* Bytes in use on the heap; 0 where nobody counts them. */
/* A thread that finds it nearly empty frees a half of its memory, down to what is not worth it. */
static void a_queue_that_was_drained_is_small_again(void **state)
{
    enum { MANY = 1 << 20, PART = 1 << 9 };

    (void)state;
    for (int kind = LEVADA_QUEUE_FIFO; kind <= LEVADA_QUEUE_PRIORITY; kind++) {
        bool          ordered = kind != LEVADA_QUEUE_SHUFFLE;
        levada_queue *queue = test_queue((levada_queue_kind)kind, -1, 0);
        int64_t       sum = 0, value;

        for (int64_t i = 0; i < MANY; i += PART) {
            assert_int_equal(test_put(queue, i, PART), LEVADA_OK);
        }
        assert_true(queue->allocated >= MANY);
        for (int64_t i = 0; i < MANY; i++) {
            assert_true((value = test_take(queue)) >= 0);
            assert_true(!ordered || value == i);
            if (i % PART == 0) assert_int_equal(levada_queue_size(queue), MANY - 1 - i);
            sum += value;
        }
        assert_int_equal(sum, (int64_t)MANY * (MANY - 1) / 2);
        for (int i = 0; i < 8; i++) assert_int_equal(levada_queue_size(queue), 0);
        assert_true(queue->allocated <= 1 << 16);
        for (int64_t i = 0; i < 256 * PART; i += PART) {
            assert_int_equal(test_put(queue, i, PART), LEVADA_OK);
        }
        for (int64_t i = 0; i < 256 * PART; i++) {
            value = test_take(queue);
            assert_true(ordered ? value == i : value >= 0);
        }
        levada_queue_unref(&queue);
    }
}

/* The bytes of a queue are those of its elements after each call, whether it was served, partly
 * served and put back, or not served. */
static void bytes_are_those_of_the_elements(void **state)
{
    const levada_queue_kind kinds[] = { LEVADA_QUEUE_FIFO, LEVADA_QUEUE_PADDING,
                                        LEVADA_QUEUE_SHUFFLE };
    levada_dtype            dtype = LEVADA_INT64;
    levada_shape            shape = TEST_SCALAR;
    uint64_t                random = 1;

    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        levada_queue_options o = LEVADA_QUEUE_OPTIONS_INIT;

        o.kind = kinds[kind];
        o.max_bytes = 80;
        o.ncomponents = 1;
        o.dtypes = &dtype;
        o.shapes = &shape;
        levada_queue *queue = test_queue_of(NULL, &o);
        for (int64_t i = 0, size = 0; i < 2000; i++) {
            int64_t   n = 1 + (int64_t)((random = random * 6364136223846793005U + 1) >> 61);
            bool      puts = (random >> 40) % 2 == 0;
            test_call call = test_call_of(queue, puts ? TEST_ENQUEUE : TEST_DEQUEUE, n, i);

            call.timeout = 1; /* it stands in line, and is served in part */
            test_run(&call);
            size = levada_queue_size(queue);
            assert_int_equal(queue->bytes, 8 * size);
            assert_in_range(size, 0, 10);
        }
        levada_queue_unref(&queue);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_those_of_the_elements),
        cmocka_unit_test(an_empty_queue_takes_less_than_four_kilobytes),
        cmocka_unit_test(an_unbounded_queue_grows),
        cmocka_unit_test(a_queue_that_was_drained_is_small_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
