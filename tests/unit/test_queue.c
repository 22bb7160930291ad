/* SPDX-License-Identifier: Apache-2.0 */
#include "support/queues.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static levada_queue_options options_of(levada_queue_kind kind, int64_t capacity,
                                       const levada_dtype *dtypes, const levada_shape *shapes,
                                       int32_t n)
{
    levada_queue_options o = LEVADA_QUEUE_OPTIONS_INIT;

    o.kind = kind;
    o.capacity = capacity;
    o.dtypes = dtypes;
    o.shapes = shapes;
    o.ncomponents = n;
    return o;
}

static void expect_refused(const levada_queue_options *options, const char *text)
{
    levada_queue *queue = NULL;
    levada_error  err = LEVADA_ERROR_INIT;

    assert_int_equal(levada_queue_create(NULL, options, &queue, &err), LEVADA_EINVALID_ARGUMENT);
    assert_null(queue);
    if (strstr(err.message, text) == NULL) fail_msg("'%s' is not in '%s'", text, err.message);
}

static void keeps_the_options(void **state)
{
    levada_dtype         dtypes[] = { LEVADA_INT32, LEVADA_BYTES };
    levada_shape         shapes[] = { { 2, { 3, 3 } }, { 0, { 0 } } };
    levada_queue_options o = options_of(LEVADA_QUEUE_FIFO, 10, dtypes, shapes, 2);
    levada_queue        *queue = test_queue_of(NULL, &o);

    (void)state;
    o = *levada_queue_info(queue);
    assert_int_equal(o.capacity, 10);
    assert_int_equal(o.ncomponents, 2);
    assert_int_equal(o.dtypes[1], LEVADA_BYTES);
    assert_int_equal(o.shapes[0].dims[1], 3);
    assert_string_equal(o.name, "fifo_queue");
    assert_null(o.shared_name);
    levada_queue_unref(&queue);
}

static void refuses_wrong_options(void **state)
{
    levada_dtype         dtype = LEVADA_INT32, none = LEVADA_NONE;
    levada_shape         known = { 1, { 2 } }, open = { 1, { -1 } }, any = { -1, { 0 } };
    levada_queue_options o = options_of(LEVADA_QUEUE_FIFO, 10, &dtype, &known, 1);

    (void)state;
    o.capacity = 0;
    expect_refused(&o, "capacity=0");
    o = options_of(LEVADA_QUEUE_FIFO, 10, &dtype, &known, 0);
    expect_refused(&o, "must have at least one component type");
    o = options_of(LEVADA_QUEUE_FIFO, 10, &none, &known, 1);
    expect_refused(&o, "unknown");
    o = options_of(LEVADA_QUEUE_FIFO, 10, &dtype, &open, 1);
    expect_refused(&o, "all shapes must be fully defined");
    o = options_of(LEVADA_QUEUE_PADDING, 10, &dtype, NULL, 1);
    expect_refused(&o, "when providing partial shapes");
    o = options_of(LEVADA_QUEUE_PADDING, 10, &dtype, &any, 1);
    expect_refused(&o, "must have a defined rank");
    o = options_of(LEVADA_QUEUE_SHUFFLE, 10, &dtype, &known, 1);
    o.min_after_dequeue = 10;
    expect_refused(&o, "must be < capacity");
    o.min_after_dequeue = -1;
    expect_refused(&o, "must be >= 0");
    o = options_of(LEVADA_QUEUE_PRIORITY, 10, &dtype, NULL, 1);
    expect_refused(&o, "priority must be int64");
}

static void gives_elements_in_order(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);

    (void)state;
    for (int64_t i = 0; i < 1000; i += 5) { /* round and round the ring */
        assert_int_equal(test_put(queue, i, 3), LEVADA_OK);
        assert_int_equal(test_put(queue, i + 3, 2), LEVADA_OK);
        assert_int_equal(levada_queue_size(queue), 5);
        test_expect(queue, i, 1);
        test_expect(queue, i + 1, 4);
    }
    assert_int_equal(levada_queue_size(queue), 0);
    assert_int_equal(test_take(queue), LEVADA_EDEADLINE_EXCEEDED);
    levada_queue_unref(&queue);
}

static void holds_no_more_than_its_capacity(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 3, 0);
    test_call     call = test_call_of(queue, TEST_ENQUEUE, 5, 0);

    (void)state;
    call.timeout = 0;
    test_run(&call);
    test_expect_status(&call, LEVADA_EDEADLINE_EXCEEDED, "3 of 5 elements");
    assert_int_equal(call.got, 3); /* a prefix stays */
    test_expect(queue, 0, 3);
    levada_queue_unref(&queue);
}

static void keeps_components_together(void **state)
{
    levada_dtype         dtypes[] = { LEVADA_INT32, LEVADA_BYTES };
    levada_shape         shapes[] = { { 1, { 2 } }, { 0, { 0 } } };
    levada_queue_options o = options_of(LEVADA_QUEUE_FIFO, 10, dtypes, shapes, 2);
    levada_queue        *queue = test_queue_of(NULL, &o);
    int32_t              numbers[] = { 1, 2, 3, 4, 5, 6 };
    const char *const    words[] = { "one", "", "three" };
    levada_tensor       *in[] = { test_tensor(LEVADA_INT32, 2, (int64_t[]){ 3, 2 }, numbers),
                                  test_strings(1, (int64_t[]){ 3 }, words) };
    levada_tensor       *out[2] = { 0 };
    int64_t              done = 0;

    (void)state;
    assert_int_equal(levada_queue_enqueue_many(queue, in, 0, &done, NULL), LEVADA_OK);
    assert_int_equal(done, 3);
    assert_int_equal(levada_queue_dequeue(queue, out, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_tensor_shape(out[0])->rank, 1);
    assert_int_equal(((int32_t *)levada_tensor_data(out[0]))[1], 2);
    assert_int_equal(levada_tensor_bytes(out[1]), 3);
    assert_memory_equal(levada_tensor_data(out[1]), "one", 3);
    assert_int_equal(levada_queue_enqueue(queue, out, 0, NULL), LEVADA_OK);
    levada_tensor_unref(&out[0]);
    levada_tensor_unref(&out[1]);
    assert_int_equal(levada_queue_dequeue_many(queue, 3, false, out, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_tensor_shape(out[0])->dims[0], 3);
    assert_memory_equal(levada_tensor_data(out[0]), ((int32_t[]){ 3, 4, 5, 6, 1, 2 }), 24);
    assert_memory_equal(levada_tensor_data(out[1]), "threeone", 8);
    assert_memory_equal(levada_tensor_offsets(out[1]), ((int32_t[]){ 0, 0, 5, 8 }), 16);
    for (int i = 0; i < 2; i++) {
        levada_tensor_unref(&in[i]);
        levada_tensor_unref(&out[i]);
    }
    levada_queue_unref(&queue);
}

static void any_shape_goes_where_none_was_given(void **state)
{
    levada_dtype         dtype = LEVADA_FLOAT32;
    levada_queue_options o = options_of(LEVADA_QUEUE_FIFO, 10, &dtype, NULL, 1);
    levada_queue        *queue = test_queue_of(NULL, &o);
    float                values[6] = { 1, 2, 3, 4, 5, 6 };
    levada_tensor       *a = test_tensor(LEVADA_FLOAT32, 2, (int64_t[]){ 2, 3 }, values);
    levada_tensor       *b = test_tensor(LEVADA_FLOAT32, 0, NULL, values), *out = NULL;
    levada_error         err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(levada_queue_enqueue(queue, &a, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_queue_enqueue(queue, &b, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_queue_dequeue_many(queue, 0, false, &out, 0, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "specified shapes"));
    assert_int_equal(levada_queue_dequeue(queue, &out, 0, NULL), LEVADA_OK);
    assert_ptr_equal(out, a); /* the tensor itself went through */
    levada_tensor_unref(&out);
    assert_int_equal(levada_queue_size(queue), 1);
    levada_tensor_unref(&a);
    levada_tensor_unref(&b);
    levada_queue_unref(&queue); /* with an element in it */
}

static void names_the_component_that_does_not_fit(void **state)
{
    levada_dtype         dtypes[] = { LEVADA_INT32, LEVADA_INT32 };
    levada_shape         shapes[] = { { 0, { 0 } }, { 2, { 3, 3 } } };
    levada_queue_options o = options_of(LEVADA_QUEUE_FIFO, 10, dtypes, shapes, 2);
    levada_queue        *queue = test_queue_of(NULL, &o);
    levada_tensor       *one = test_tensor(LEVADA_INT32, 0, NULL, NULL);
    levada_tensor       *two = test_tensor(LEVADA_INT32, 1, (int64_t[]){ 2 }, NULL);
    levada_tensor       *wide = test_tensor(LEVADA_INT32, 2, (int64_t[]){ 3, 4 }, NULL);
    levada_tensor       *many = test_tensor(LEVADA_INT32, 3, (int64_t[]){ 2, 3, 4 }, NULL);
    levada_tensor       *real = test_tensor(LEVADA_FLOAT32, 0, NULL, NULL);
    levada_error         err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(levada_queue_enqueue(queue, (levada_tensor *[]){ one, wide }, 0, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_string_equal(err.message,
                        "Shape mismatch in tuple component 1. Expected [3,3], got [3,4]");
    assert_int_equal(
        levada_queue_enqueue_many(queue, (levada_tensor *[]){ two, many }, 0, NULL, &err),
        LEVADA_EINVALID_ARGUMENT);
    assert_string_equal(err.message,
                        "Shape mismatch in tuple component 1. Expected [2,3,3], got [2,3,4]");
    assert_int_equal(levada_queue_enqueue(queue, (levada_tensor *[]){ real, wide }, 0, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_string_equal(err.message,
                        "Type mismatch in tuple component 0. Expected int32, got float32");
    levada_tensor_unref(&one);
    levada_tensor_unref(&two);
    levada_tensor_unref(&wide);
    levada_tensor_unref(&many);
    levada_tensor_unref(&real);
    levada_queue_unref(&queue);
}

static void wants_equal_rows_in_all_components(void **state)
{
    levada_dtype         dtypes[] = { LEVADA_INT32, LEVADA_INT32 };
    levada_queue_options o = options_of(LEVADA_QUEUE_FIFO, 10, dtypes, NULL, 2);
    levada_queue        *queue = test_queue_of(NULL, &o);
    levada_tensor       *two = test_tensor(LEVADA_INT32, 1, (int64_t[]){ 2 }, NULL);
    levada_tensor       *three = test_tensor(LEVADA_INT32, 1, (int64_t[]){ 3 }, NULL);
    levada_error         err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(
        levada_queue_enqueue_many(queue, (levada_tensor *[]){ two, three }, 0, NULL, &err),
        LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "All input tensors must have the same size in the 0th"));
    levada_tensor_unref(&two);
    levada_tensor_unref(&three);
    levada_queue_unref(&queue);
}

static void nothing_is_never_a_wait(void **state)
{
    levada_queue  *queue = test_queue(LEVADA_QUEUE_FIFO, 1, 0);
    levada_tensor *out = NULL, *none = test_tensor(LEVADA_INT64, 1, (int64_t[]){ 0 }, NULL);
    levada_error   err = LEVADA_ERROR_INIT;

    (void)state;
    for (int closed = 0; closed < 2; closed++) {
        assert_int_equal(levada_queue_enqueue_many(queue, &none, -1, NULL, NULL), LEVADA_OK);
        assert_int_equal(levada_queue_size(queue), 0);
        assert_int_equal(levada_queue_dequeue_many(queue, 0, closed, &out, -1, NULL), LEVADA_OK);
        assert_int_equal(levada_tensor_shape(out)->dims[0], 0);
        levada_tensor_unref(&out);
        assert_int_equal(levada_queue_close(queue, true, -1, NULL), LEVADA_OK);
    }
    assert_int_equal(levada_queue_dequeue_many(queue, -1, false, &out, -1, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "requested -1 < 0 elements"));
    levada_tensor_unref(&none);
    levada_queue_unref(&queue);
}

static void all_dtypes_go_through(void **state)
{
    uint8_t bytes[32 * 4 * 16];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++) bytes[i] = (uint8_t)(i * 7);
    for (int d = LEVADA_NONE + 1; d < LEVADA_BYTES; d++) {
        levada_dtype         dtype = (levada_dtype)d;
        levada_shape         shape = { 2, { 4, 8 } };
        levada_queue_options o = options_of(LEVADA_QUEUE_FIFO, 20, &dtype, &shape, 1);
        levada_queue        *queue = test_queue_of(NULL, &o);
        levada_tensor       *in = test_tensor(dtype, 3, (int64_t[]){ 4, 4, 8 }, bytes), *out = NULL;

        assert_int_equal(levada_queue_enqueue_many(queue, &in, 0, NULL, NULL), LEVADA_OK);
        assert_int_equal(levada_queue_dequeue_many(queue, 4, false, &out, 0, NULL), LEVADA_OK);
        assert_int_equal(levada_tensor_dtype(out), dtype);
        assert_int_equal(levada_tensor_bytes(out), levada_tensor_bytes(in));
        assert_memory_equal(levada_tensor_data(out), bytes, (size_t)levada_tensor_bytes(in));
        levada_tensor_unref(&in);
        levada_tensor_unref(&out);
        levada_queue_unref(&queue);
    }
}

static void bytes_bound_it_too(void **state)
{
    levada_dtype         dtype = LEVADA_BYTES;
    levada_shape         shape = { 0, { 0 } };
    levada_queue_options o = options_of(LEVADA_QUEUE_FIFO, -1, &dtype, &shape, 1);
    const char *const    small[] = { "12345" }, *const large[] = { "1234567890123" };
    levada_tensor       *five = test_strings(0, NULL, small), *much = test_strings(0, NULL, large);
    levada_tensor       *out = NULL;

    (void)state;
    o.max_bytes = 10;
    levada_queue *queue = test_queue_of(NULL, &o);
    assert_int_equal(levada_queue_enqueue(queue, &five, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_queue_enqueue(queue, &five, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_queue_enqueue(queue, &five, 0, NULL), LEVADA_EDEADLINE_EXCEEDED);
    assert_int_equal(levada_queue_dequeue_many(queue, 2, false, &out, 0, NULL), LEVADA_OK);
    levada_tensor_unref(&out);
    assert_int_equal(levada_queue_enqueue(queue, &much, 0, NULL), LEVADA_OK); /* one may pass */
    assert_int_equal(levada_queue_enqueue(queue, &five, 0, NULL), LEVADA_EDEADLINE_EXCEEDED);
    levada_tensor_unref(&five);
    levada_tensor_unref(&much);
    levada_queue_unref(&queue);
}

static void a_shared_name_means_one_queue(void **state)
{
    levada_dtype         dtypes[] = { LEVADA_INT64, LEVADA_INT64 }, other = LEVADA_INT32;
    levada_shape         shape[] = { { 0, { 0 } }, { 0, { 0 } } }, wide = { 1, { 2 } };
    levada_queue_options o = options_of(LEVADA_QUEUE_FIFO, 10, dtypes, shape, 1);

    (void)state;
    o.shared_name = "shared";
    levada_queue *a = test_queue_of(NULL, &o), *b = test_queue_of(NULL, &o);
    assert_ptr_equal(a, b);
    o.capacity = 11;
    expect_refused(&o, "other capacity: 10, but the call requested 11");
    o.capacity = 10;
    o.max_bytes = 4096;
    expect_refused(&o, "other max_bytes: -1, but the call requested 4096");
    o.max_bytes = -1;
    o.ncomponents = 2;
    expect_refused(&o, "component types: 1, but the call requested 2");
    o.ncomponents = 1;
    o.dtypes = &other;
    expect_refused(&o, "component types: component 0 is int64, but the call requested int32");
    o.dtypes = dtypes;
    o.shapes = &wide;
    expect_refused(&o, "component shapes: component 0 is [], but the call requested [2]");
    o.shapes = NULL;
    expect_refused(&o, "component shapes: component 0 is [], but the call requested any shape");
    o.kind = LEVADA_QUEUE_SHUFFLE;
    expect_refused(&o, "Expected FIFOQueue, found RandomShuffleQueue");
    o.shared_name = NULL;
    levada_queue *c = test_queue_of(NULL, &o);
    assert_ptr_not_equal(a, c);
    levada_queue_unref(&a);
    levada_queue_unref(&b); /* the last one frees the name */
    o.shared_name = "shared";
    a = test_queue_of(NULL, &o);
    levada_queue_unref(&a);
    levada_queue_unref(&c);
}

static void a_shared_shuffle_has_one_seed(void **state)
{
    levada_dtype         dtype = LEVADA_INT64;
    levada_shape         shape = { 0, { 0 } };
    levada_queue_options o = options_of(LEVADA_QUEUE_SHUFFLE, 10, &dtype, &shape, 1);

    (void)state;
    o.shared_name = "shared shuffle";
    o.seed = 12;
    o.min_after_dequeue = 2;
    levada_queue *a = test_queue_of(NULL, &o), *b = NULL;
    o.seed = 13;
    expect_refused(&o, "other random seeds: 12, but the call requested 13");
    o.seed = 12;
    o.min_after_dequeue = 3;
    expect_refused(&o, "other min_after_dequeue: 2, but the call requested 3");
    o.min_after_dequeue = 2;
    o.seed = -1; /* accepts what is there */
    b = test_queue_of(NULL, &o);
    assert_ptr_equal(a, b);
    levada_queue_unref(&a);
    levada_queue_unref(&b);
}

static void blocked_calls_are_served_in_order(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    test_call     pair = test_call_of(queue, TEST_DEQUEUE, 2, 0);
    test_call     one = test_call_of(queue, TEST_DEQUEUE, 1, 0);

    (void)state;
    test_start_waiting(&pair);
    assert_int_equal(test_put(queue, 5, 1), LEVADA_OK);
    assert_int_equal(levada_queue_size(queue), 0); /* in the hands of the first */
    test_start_waiting(&one);
    assert_int_equal(test_put(queue, 6, 1), LEVADA_OK);
    test_join(&pair);
    assert_int_equal(pair.values[0], 5);
    assert_int_equal(pair.values[1], 6);
    assert_int_equal(test_waiting(NULL), 1);
    assert_int_equal(test_put(queue, 7, 1), LEVADA_OK);
    test_join(&one);
    assert_int_equal(one.values[0], 7);
    levada_queue_unref(&queue);
}

static void enqueues_of_many_do_not_interleave(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 4, 0);
    test_call     a = test_call_of(queue, TEST_ENQUEUE, 10, 0);
    test_call     b = test_call_of(queue, TEST_ENQUEUE, 10, 10);

    (void)state;
    test_start_waiting(&a);
    test_start_waiting(&b);
    assert_int_equal(levada_queue_size(queue), 4);
    for (int64_t i = 0; i < 20; i++) test_expect(queue, i, 1);
    test_join(&a);
    test_join(&b);
    assert_int_equal(a.got, 10);
    levada_queue_unref(&queue);
}

static void one_call_may_be_larger_than_the_capacity(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 5, 0), *tiny;
    test_call     in = test_call_of(queue, TEST_ENQUEUE, 10, 0), out;

    (void)state;
    test_start_waiting(&in);
    for (int64_t i = 0; i < 5; i++) {
        assert_int_equal(levada_queue_size(queue), 5);
        assert_int_equal(test_waiting(NULL), 1);
        test_expect(queue, i, 1);
    }
    test_join(&in); /* exactly at the fifth */
    test_expect_status(&in, LEVADA_OK, NULL);
    test_expect(queue, 5, 5);
    levada_queue_unref(&queue);

    tiny = test_queue(LEVADA_QUEUE_FIFO, 2, 0);
    out = test_call_of(tiny, TEST_DEQUEUE, 4, 0);
    test_start_waiting(&out);
    for (int64_t i = 0; i < 4; i++) assert_int_equal(test_put(tiny, i, 1), LEVADA_OK);
    test_join(&out);
    for (int64_t i = 0; i < 4; i++) assert_int_equal(out.values[i], i);
    levada_queue_unref(&tiny);
}

/* Elements for a dequeue that stays incomplete are its own as soon as they are in: they take no
 * space, and come back in front if it gives up. */
static void what_a_waiting_dequeue_has_takes_no_space(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 4, 0);
    test_call     out = test_call_of(queue, TEST_DEQUEUE, 6, 0), in;

    (void)state;
    test_start_waiting(&out);
    for (int64_t i = 0; i < 5; i++) assert_int_equal(test_put(queue, i, 1), LEVADA_OK);
    assert_int_equal(levada_queue_size(queue), 0);
    levada_queue_cancel(queue);
    test_join(&out);
    assert_int_equal(levada_queue_size(queue), 5);
    test_expect(queue, 0, 5);

    test_start_waiting(&out);
    assert_int_equal(test_put(queue, 0, 2), LEVADA_OK);
    in = test_call_of(queue, TEST_ENQUEUE, 3, 2);
    in.timeout = LEVADA_AT_ONCE;
    test_run(&in);
    assert_int_equal(in.status, LEVADA_OK);
    assert_int_equal(test_put(queue, 5, 1), LEVADA_OK);
    test_join(&out);
    for (int64_t i = 0; i < 6; i++) assert_int_equal(out.values[i], i);
    levada_queue_unref(&queue);
}

/* Rows of no bytes: any number of them lies anywhere. */
static void no_number_of_rows_is_too_large_to_count(void **state)
{
    levada_queue_options o = LEVADA_QUEUE_OPTIONS_INIT;
    const int64_t        capacities[] = { -1, 4, INT64_MAX };
    const void          *in = "";
    void                *out = (char[1]){ 0 };
    int64_t              most = INT64_MAX, done = -1;

    (void)state;
    o.ncomponents = 1;
    o.dtypes = &(levada_dtype){ LEVADA_INT64 };
    o.shapes = &(levada_shape){ 1, { 0 } };
    for (int i = 0; i < 3 * 2; i++) {
        o.capacity = capacities[i / 2];
        o.kind = i % 2 == 0 ? LEVADA_QUEUE_FIFO : LEVADA_QUEUE_SHUFFLE;
        levada_queue *queue = test_queue_of(NULL, &o);
        assert_int_equal(levada_queue_enqueue_rows(queue, 3, &in, -1, NULL, NULL), LEVADA_OK);
        assert_int_equal(levada_queue_dequeue_rows(queue, 1, false, &out, -1, NULL, NULL),
                         LEVADA_OK);
        for (int64_t time = LEVADA_AT_ONCE; time <= 0; time += 2) {
            assert_int_equal(levada_queue_dequeue_rows(queue, most, false, &out, time, NULL, NULL),
                             time == 0 ? LEVADA_EDEADLINE_EXCEEDED : LEVADA_AGAIN);
        }
        assert_int_equal(levada_queue_enqueue_rows(queue, most, &in, LEVADA_AT_ONCE, &done, NULL),
                         LEVADA_AGAIN);
        levada_status status = levada_queue_enqueue_rows(queue, most, &in, 0, &done, NULL);
        assert_int_equal(status, o.capacity == 4 ? LEVADA_EDEADLINE_EXCEEDED
                                                 : LEVADA_ERESOURCE_EXHAUSTED);
        assert_int_equal(done, o.capacity == 4 ? 2 : 0);
        assert_int_equal(levada_queue_size(queue), 2 + done);
        levada_queue_unref(&queue);
    }
}

static void a_mixture_of_enqueues_keeps_the_order(void **state)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    int64_t       sent = 0, got = 0;
    test_call     in, out;

    (void)state;
    srand(5);
    while (got < 250) {
        int64_t n = rand() % 20;

        if (sent + n > 250) n = 250 - sent;
        in = test_call_of(queue, TEST_ENQUEUE, n, sent);
        test_start(&in);
        sent += n;
        while (got < sent) {
            int64_t m = rand() % 20;

            if (m > sent - got) m = sent - got;
            out = test_call_of(queue, TEST_DEQUEUE, m, 0);
            test_run(&out);
            for (int64_t i = 0; i < m; i++) assert_int_equal(out.values[i], got + i);
            got += m;
        }
        test_join(&in);
    }
    assert_int_equal(levada_queue_size(queue), 0);
    levada_queue_unref(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_options),
        cmocka_unit_test(refuses_wrong_options),
        cmocka_unit_test(gives_elements_in_order),
        cmocka_unit_test(holds_no_more_than_its_capacity),
        cmocka_unit_test(keeps_components_together),
        cmocka_unit_test(any_shape_goes_where_none_was_given),
        cmocka_unit_test(names_the_component_that_does_not_fit),
        cmocka_unit_test(wants_equal_rows_in_all_components),
        cmocka_unit_test(nothing_is_never_a_wait),
        cmocka_unit_test(all_dtypes_go_through),
        cmocka_unit_test(bytes_bound_it_too),
        cmocka_unit_test(a_shared_name_means_one_queue),
        cmocka_unit_test(a_shared_shuffle_has_one_seed),
        cmocka_unit_test(blocked_calls_are_served_in_order),
        cmocka_unit_test(enqueues_of_many_do_not_interleave),
        cmocka_unit_test(one_call_may_be_larger_than_the_capacity),
        cmocka_unit_test(what_a_waiting_dequeue_has_takes_no_space),
        cmocka_unit_test(no_number_of_rows_is_too_large_to_count),
        cmocka_unit_test(a_mixture_of_enqueues_keeps_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
