/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues of one int64 scalar, and calls on threads of their own, for tests of what waits.
 */
#ifndef LEVADA_TESTS_QUEUES_H
#define LEVADA_TESTS_QUEUES_H

#include <levada/queue.h>

#include <pthread.h>

#define TEST_CALL_MOST 512
#define TEST_SECOND INT64_C(1000000000)
#define TEST_SCALAR ((levada_shape){ 0, { 0 } })

typedef enum test_act {
    TEST_ENQUEUE, /* values[0 .. n) as rows */
    TEST_DEQUEUE,
    TEST_DEQUEUE_UP_TO,
    TEST_CLOSE,
    TEST_CLOSE_CANCEL
} test_act;

/* One call, made by test_start on a thread of its own or by test_run on this one. */
typedef struct test_call {
    levada_queue *queue;
    test_act      act;
    int64_t       n, timeout; /* 0 is set to LEVADA_FOREVER by test_call_of */
    int64_t       values[TEST_CALL_MOST];
    int64_t       got;
    levada_status status;
    levada_error  err;
    pthread_t     thread;
} test_call;

/* Queues of int64 scalars. capacity -1 = unbounded. */
levada_queue *test_queue(levada_queue_kind kind, int64_t capacity, int64_t min_after_dequeue);
/* Of vectors of int64, held by reference. */
levada_queue *test_padding_queue(int64_t capacity);
/* Any other; NULL = the default environment. */
levada_queue *test_queue_of(levada_env *env, const levada_queue_options *options);

/* values: first, first + 1, ... */
test_call test_call_of(levada_queue *queue, test_act act, int64_t n, int64_t first);
void      test_run(test_call *call);
void      test_start(test_call *call);
/* Starts and returns when it waits in line. */
void test_start_waiting(test_call *call);
void test_join(test_call *call);

/* Calls that wait in the queues of the environment. */
int  test_waiting(levada_env *env);
void test_until_waiting(levada_env *env, int n);

/* Straight calls that must return that status. */
levada_status test_put(levada_queue *queue, int64_t first, int64_t n);
/* Takes n and expects first, first + 1, ... */
void test_expect(levada_queue *queue, int64_t first, int64_t n);
/* One, or the status as a negative number (values must not be negative). */
int64_t test_take(levada_queue *queue);
void    test_expect_status(const test_call *call, levada_status status, const char *text);

levada_tensor *test_tensor(levada_dtype dtype, int32_t rank, const int64_t *dims,
                           const void *data);
/* Byte strings, each terminated in the list. */
levada_tensor *test_strings(int32_t rank, const int64_t *dims, const char *const *strings);

#endif
