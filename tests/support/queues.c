/* SPDX-License-Identifier: Apache-2.0 */
#include "support/queues.h"

#include <levada/dataset.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

levada_queue *test_queue_of(levada_env *env, const levada_queue_options *options)
{
    levada_queue *queue = NULL;
    levada_error  err = LEVADA_ERROR_INIT;

    if (levada_queue_create(env, options, &queue, &err) != LEVADA_OK) fail_msg("%s", err.message);
    return queue;
}

levada_queue *test_queue(levada_queue_kind kind, int64_t capacity, int64_t min_after_dequeue)
{
    levada_queue_options options = LEVADA_QUEUE_OPTIONS_INIT;
    levada_dtype         dtype = LEVADA_INT64;
    levada_shape         shape = { 0, { 0 } };

    options.kind = kind;
    options.capacity = capacity;
    options.min_after_dequeue = min_after_dequeue;
    options.seed = 7;
    options.ncomponents = 1;
    options.dtypes = &dtype;
    options.shapes = &shape;
    return test_queue_of(NULL, &options);
}

levada_queue *test_padding_queue(int64_t capacity)
{
    levada_queue_options o = LEVADA_QUEUE_OPTIONS_INIT;

    o.kind = LEVADA_QUEUE_PADDING;
    o.capacity = capacity;
    o.ncomponents = 1;
    o.dtypes = &(levada_dtype){ LEVADA_INT64 };
    o.shapes = &(levada_shape){ 1, { -1 } };
    return test_queue_of(NULL, &o);
}

test_call test_call_of(levada_queue *queue, test_act act, int64_t n, int64_t first)
{
    test_call call = { .queue = queue, .act = act, .n = n, .timeout = LEVADA_FOREVER };

    for (int64_t i = 0; i < n && act == TEST_ENQUEUE; i++) call.values[i] = first + i;
    return call;
}

void test_run(test_call *call)
{
    const void *in = call->values;
    void       *out = call->values;

    switch (call->act) {
    case TEST_ENQUEUE:
        call->status = levada_queue_enqueue_rows(call->queue, call->n, &in, call->timeout,
                                                 &call->got, &call->err);
        break;
    case TEST_DEQUEUE:
    case TEST_DEQUEUE_UP_TO:
        call->status = levada_queue_dequeue_rows(call->queue, call->n,
                                                 call->act == TEST_DEQUEUE_UP_TO, &out,
                                                 call->timeout, &call->got, &call->err);
        break;
    default:
        call->status = levada_queue_close(call->queue, call->act == TEST_CLOSE_CANCEL,
                                          call->timeout, &call->err);
    }
}

static void *queues_thread(void *user)
{
    test_run(user);
    return NULL;
}

void test_start(test_call *call)
{
    assert_int_equal(pthread_create(&call->thread, NULL, queues_thread, call), 0);
}

void test_start_waiting(test_call *call)
{
    int before = test_waiting(NULL);

    test_start(call);
    test_until_waiting(NULL, before + 1);
}

void test_join(test_call *call) { pthread_join(call->thread, NULL); }

int test_waiting(levada_env *env)
{
    char *text = NULL;
    int   n = 0;

    assert_int_equal(levada_waiters_json(env, &text, NULL), LEVADA_OK);
    for (const char *at = text; (at = strstr(at, "\"object\"")) != NULL; at++) n++;
    levada_string_free(&text);
    return n;
}

void test_until_waiting(levada_env *env, int n)
{
    struct timespec pause = { 0, 200000 };

    for (int i = 0; i < 100000; i++) {
        if (test_waiting(env) >= n) return;
        nanosleep(&pause, NULL);
    }
    fail_msg("%d calls should wait", n);
}

levada_status test_put(levada_queue *queue, int64_t first, int64_t n)
{
    test_call call = test_call_of(queue, TEST_ENQUEUE, n, first);

    call.timeout = 0;
    test_run(&call);
    return call.status;
}

void test_expect(levada_queue *queue, int64_t first, int64_t n)
{
    test_call call = test_call_of(queue, TEST_DEQUEUE, n, 0);

    call.timeout = 10 * TEST_SECOND;
    test_run(&call);
    if (call.status != LEVADA_OK) fail_msg("%s", call.err.message);
    for (int64_t i = 0; i < n; i++) assert_int_equal(call.values[i], first + i);
}

int64_t test_take(levada_queue *queue)
{
    test_call call = test_call_of(queue, TEST_DEQUEUE, 1, 0);

    call.timeout = 0;
    test_run(&call);
    return call.status == LEVADA_OK ? call.values[0] : (int64_t)call.status;
}

void test_expect_status(const test_call *call, levada_status status, const char *text)
{
    if (call->status != status) {
        fail_msg("%s (%s), not %s", levada_status_name(call->status), call->err.message,
                 levada_status_name(status));
    }
    if (text != NULL && strstr(call->err.message, text) == NULL) {
        fail_msg("'%s' is not in '%s'", text, call->err.message);
    }
}

levada_tensor *test_tensor(levada_dtype dtype, int32_t rank, const int64_t *dims, const void *data)
{
    levada_shape   shape = { rank, { 0 } };
    levada_tensor *t = NULL;

    for (int32_t i = 0; i < rank; i++) shape.dims[i] = dims[i];
    assert_int_equal(levada_tensor_create(NULL, dtype, &shape, data, &t, NULL), LEVADA_OK);
    return t;
}

levada_tensor *test_strings(int32_t rank, const int64_t *dims, const char *const *strings)
{
    levada_shape   shape = { rank, { 0 } };
    levada_tensor *t = NULL;
    int32_t        offsets[64] = { 0 }, n = 1;
    char           bytes[1024];

    for (int32_t i = 0; i < rank; i++) n *= (int32_t)(shape.dims[i] = dims[i]);
    assert_true(n < 64);
    for (int32_t i = 0; i < n; i++) {
        size_t size = strlen(strings[i]);

        memcpy(bytes + offsets[i], strings[i], size);
        offsets[i + 1] = offsets[i] + (int32_t)size;
    }
    assert_int_equal(levada_tensor_create_strings(NULL, &shape, offsets, bytes, &t, NULL),
                     LEVADA_OK);
    return t;
}
