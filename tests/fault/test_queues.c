/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory runs out at one allocation after the other while queues, a barrier, a coordinator and its
 * threads work: that call says so, nothing leaks, hangs or is lost, and what failed can be done
 * again. And what an empty queue takes.
 */
#include "conformance/fault.h"
#include "fault/fault_thread.h"
#include "support/coordinators.h"
#include "support/queues.h"

#include <levada/levada.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Runs it with allocation 0, 1, 2, ... failing until all were reached. */
static void sweep(void (*run)(void))
{
    bool reached = true;

    run(); /* what the library makes once is there */
    for (int64_t number = 0; reached; number++) {
        int64_t before = fault_live();

        fault_arm(number);
        run();
        reached = fault_disarm() > number;
        fault_expect_live(before, number);
        assert_int_equal(fault_thread_live(), 0);
    }
}

/* -- queues ------------------------------------------------------------------------------------ */

static levada_tensor *numbers(int32_t rank, int64_t n, int64_t first)
{
    levada_shape   shape = { rank, { n } };
    levada_tensor *t = NULL;
    int64_t        data[64];

    for (int64_t i = 0; i < (rank > 0 ? n : 1); i++) data[i] = first + i;
    FAULT_AGAIN(levada_tensor_create(NULL, LEVADA_INT64, &shape, data, &t, err));
    return t;
}

static levada_tensor *words(int32_t rank, int64_t n)
{
    levada_shape   shape = { rank, { n } };
    levada_tensor *t = NULL;
    int32_t        offsets[64];
    char           bytes[64];

    memset(bytes, 'w', sizeof(bytes));
    for (int32_t i = 0; i <= (rank > 0 ? n : 1); i++) offsets[i] = i;
    FAULT_AGAIN(levada_tensor_create_strings(NULL, &shape, offsets, bytes, &t, err));
    return t;
}

static void drop(levada_tensor **tensors)
{
    levada_tensor_unref(&tensors[0]);
    levada_tensor_unref(&tensors[1]);
}

/* 40 elements (i, "w") in, one by one and in tens; out in the same ways. */
static void use_queue(levada_queue_kind kind)
{
    levada_dtype         dtypes[] = { LEVADA_INT64, LEVADA_BYTES };
    levada_shape         shapes[] = { TEST_SCALAR, TEST_SCALAR };
    levada_queue_options o = LEVADA_QUEUE_OPTIONS_INIT;
    levada_queue        *queue = NULL;
    levada_tensor       *t[2] = { 0 };
    bool                 seen[40] = { 0 };

    o.kind = kind;
    o.capacity = 64;
    o.ncomponents = 2;
    o.dtypes = dtypes;
    o.shapes = shapes;
    o.shared_name = "fault";
    FAULT_AGAIN(levada_queue_create(NULL, &o, &queue, err));
    for (int64_t i = 0; i < 40; i += i < 20 ? 1 : 10) {
        bool many = i >= 20;

        t[0] = numbers(many, 10, i);
        t[1] = words(many, 10);
        if (many) FAULT_AGAIN(levada_queue_enqueue_many(queue, t, 0, NULL, err));
        else FAULT_AGAIN(levada_queue_enqueue(queue, t, 0, err));
        drop(t);
    }
    assert_int_equal(levada_queue_size(queue), 40);
    for (int64_t i = 0; i < 40; i += i < 20 ? 10 : 1) {
        bool many = i < 20;

        if (many) FAULT_AGAIN(levada_queue_dequeue_many(queue, 10, false, t, 0, err));
        else FAULT_AGAIN(levada_queue_dequeue(queue, t, 0, err));
        for (int64_t k = 0; k < (many ? 10 : 1); k++) {
            int64_t value = ((const int64_t *)levada_tensor_data(t[0]))[k];

            assert_in_range(value, 0, 39);
            assert_false(seen[value]);
            seen[value] = true;
            if (kind != LEVADA_QUEUE_SHUFFLE) assert_int_equal(value, i + k);
        }
        drop(t);
    }
    assert_int_equal(levada_queue_size(queue), 0);
    levada_queue_unref(&queue);
}

static void run_fifo(void) { use_queue(LEVADA_QUEUE_FIFO); }
static void run_padding(void) { use_queue(LEVADA_QUEUE_PADDING); }
static void run_shuffle(void) { use_queue(LEVADA_QUEUE_SHUFFLE); }
static void run_priority(void) { use_queue(LEVADA_QUEUE_PRIORITY); }

static void no_element_of_a_queue_is_lost(void **state)
{
    (void)state;
    sweep(run_fifo);
    sweep(run_padding);
    sweep(run_shuffle);
    sweep(run_priority);
}

/* -- barrier ----------------------------------------------------------------------------------- */

static levada_tensor *keys(int64_t n)
{
    levada_shape   shape = { 1, { n } };
    levada_tensor *t = NULL;
    int32_t        offsets[] = { 0, 2, 4, 6, 8 };

    FAULT_AGAIN(levada_tensor_create_strings(NULL, &shape, offsets, "k0k1k2k3", &t, err));
    return t;
}

static void run_barrier(void)
{
    levada_dtype        dtypes[] = { LEVADA_INT64, LEVADA_BYTES };
    levada_shape        shapes[] = { TEST_SCALAR, TEST_SCALAR };
    levada_barrier     *barrier = NULL;
    levada_barrier_options options = LEVADA_BARRIER_OPTIONS_INIT;
    levada_barrier_take how = { sizeof(how), 4, false, false, 0 };
    levada_tensor      *key = keys(4), *values[] = { numbers(1, 4, 7), words(1, 4) };
    levada_tensor      *indices = NULL, *out_keys = NULL, *out[2] = { 0 };

    options.ncomponents = 2;
    options.dtypes = dtypes;
    options.shapes = shapes;
    options.name = "b";
    FAULT_AGAIN(levada_barrier_create(NULL, &options, &barrier, err));
    for (int32_t i = 0; i < 2; i++) {
        FAULT_AGAIN(levada_barrier_insert_many(barrier, i, key, values[i], err));
        assert_int_equal(levada_barrier_incomplete_size(barrier), i == 0 ? 4 : 0);
    }
    FAULT_AGAIN(levada_barrier_take_many(barrier, &how, &indices, &out_keys, out, err));
    assert_memory_equal(levada_tensor_data(out_keys), "k0k1k2k3", 8);
    for (int64_t i = 0; i < 4; i++) {
        assert_int_equal(((const int64_t *)levada_tensor_data(out[0]))[i], 7 + i);
    }
    assert_int_equal(levada_barrier_ready_size(barrier), 0);
    drop(out);
    drop(values);
    levada_tensor_unref(&key);
    levada_tensor_unref(&indices);
    levada_tensor_unref(&out_keys);
    levada_barrier_unref(&barrier);
}

static void no_key_of_a_barrier_is_lost(void **state)
{
    (void)state;
    sweep(run_barrier);
}

/* -- coordinator and runner -------------------------------------------------------------------- */

typedef struct producer {
    levada_queue *queue;
    int64_t       next;
} producer;

/* Memory that is short for one element is there for the next try. */
static levada_status produce(void *user, levada_error *err)
{
    producer     *p = user;
    const void   *rows = &p->next;
    levada_status st;

    if (p->next == 20) return LEVADA_END;
    st = levada_queue_enqueue_rows(p->queue, 1, &rows, LEVADA_FOREVER, NULL, err);
    if (st == LEVADA_ERESOURCE_EXHAUSTED) return LEVADA_AGAIN;
    if (st == LEVADA_OK) p->next++;
    return st;
}

static levada_status tick(void *user, levada_error *err)
{
    (void)user;
    (void)err;
    return LEVADA_OK;
}

static void ignore(void *user, const levada_wait *wait)
{
    (void)user;
    (void)wait;
}

static int64_t take_all(levada_queue *queue)
{
    int64_t sum = 0, value = 0, n = 0;
    void   *rows = &value;

    for (;;) {
        levada_status st = levada_queue_dequeue_rows(queue, 1, false, &rows, LEVADA_FOREVER, NULL,
                                                     NULL);

        if (st == LEVADA_ERESOURCE_EXHAUSTED) continue;
        if (st != LEVADA_OK) break;
        sum += value;
        n++;
    }
    assert_int_equal(n, 40);
    return sum;
}

static levada_queue *scalar_queue(void)
{
    levada_queue_options o = LEVADA_QUEUE_OPTIONS_INIT;
    levada_dtype         dtype = LEVADA_INT64;
    levada_shape         shape = TEST_SCALAR;
    levada_queue        *queue = NULL;

    o.capacity = 3;
    o.ncomponents = 1;
    o.dtypes = &dtype;
    o.shapes = &shape;
    FAULT_AGAIN(levada_queue_create(NULL, &o, &queue, err));
    return queue;
}

static levada_queue_runner *make_runner(levada_queue *queue, producer *p)
{
    levada_enqueue_op           ops[] = { { produce, &p[0], NULL }, { produce, &p[1], "second" } };
    levada_queue_runner_options o = LEVADA_QUEUE_RUNNER_OPTIONS_INIT;
    levada_queue_runner        *runner = NULL;

    o.nops = 2;
    o.ops = ops;
    FAULT_AGAIN(levada_queue_runner_create(queue, &o, &runner, err));
    return runner;
}

static void run_coordinator(void)
{
    levada_queue           *queue = scalar_queue();
    producer                p[2] = { { queue, 0 }, { queue, 0 } };
    levada_queue_runner    *runner = make_runner(queue, p);
    levada_coordinator     *c = NULL;
    levada_member          *member = NULL;
    levada_watchdog        *watchdog = NULL;
    levada_looper_options   loop = LEVADA_LOOPER_OPTIONS_INIT;
    levada_watchdog_options watch = LEVADA_WATCHDOG_OPTIONS_INIT;
    test_gate               gate = { .open = 1 };

    loop.interval = 1000000;
    loop.run = tick;
    watch.report = ignore;
    FAULT_AGAIN(levada_watchdog_create(NULL, &watch, &watchdog, err));
    FAULT_AGAIN(levada_coordinator_create(NULL, NULL, 0, &c, err));
    FAULT_AGAIN(levada_coordinator_start_thread(c, "t", test_gate_run_until_stop, &gate, err));
    FAULT_AGAIN(levada_looper_start(c, &loop, err));
    FAULT_AGAIN(levada_coordinator_register(c, "mine", &member, err));
    FAULT_AGAIN(levada_queue_runner_start(runner, c, err));
    assert_int_equal(take_all(queue), 2 * 190);
    levada_member_end(&member);
    assert_int_equal(levada_coordinator_request_stop(c, NULL, NULL), LEVADA_OK);
    test_joins(c, LEVADA_FOREVER, LEVADA_OK, NULL);
    assert_int_equal(gate.left, 1);
    levada_watchdog_destroy(&watchdog);
    levada_queue_runner_destroy(&runner);
    levada_coordinator_destroy(&c);
    levada_queue_unref(&queue);
}

/* The runner's own threads. */
static void run_runner(void)
{
    levada_queue        *queue = scalar_queue();
    producer             p[2] = { { queue, 0 }, { queue, 0 } };
    levada_queue_runner *runner = make_runner(queue, p);

    FAULT_AGAIN(levada_queue_runner_start(runner, NULL, err));
    assert_int_equal(take_all(queue), 2 * 190);
    levada_queue_runner_destroy(&runner);
    levada_queue_unref(&queue);
}

static void threads_of_a_coordinator_lose_nothing(void **state)
{
    (void)state;
    sweep(run_coordinator);
    sweep(run_runner);
}

/* -- threads that cannot be started -------------------------------------------------------------
 */

static void expect_refused(levada_status st, const char *name, const levada_error *err)
{
    assert_int_equal(st, LEVADA_ERESOURCE_EXHAUSTED);
    if (strstr(err->message, name) == NULL ||
        strstr(err->message, "cannot make a thread") == NULL) {
        fail_msg("%s", err->message);
    }
}

static void a_runner_starts_all_its_threads_or_none(void **state)
{
    levada_coordinator *c = test_coordinator(NULL, 0);
    const char *const   names[] = { "fifo_queue-op0", "fifo_queue-second", "close_on_stop" };

    (void)state;
    for (int own = 0; own < 2; own++) {
        for (int number = 0; number < 3 - own; number++) {
            levada_queue        *queue = scalar_queue();
            producer             p[2] = { { queue, 0 }, { queue, 0 } };
            levada_queue_runner *runner = make_runner(queue, p);
            levada_error         err = LEVADA_ERROR_INIT;

            fault_thread_arm(number);
            expect_refused(levada_queue_runner_start(runner, own ? NULL : c, &err),
                           names[number], &err);
            fault_thread_arm(-1);
            assert_int_equal(fault_thread_live(), 0); /* nothing runs, nothing was called */
            assert_int_equal(p[0].next + p[1].next + levada_queue_size(queue), 0);
            assert_false(levada_queue_is_closed(queue));
            assert_int_equal(levada_queue_runner_wait(runner, 0, NULL), LEVADA_OK);
            assert_int_equal(levada_queue_runner_start(runner, own ? NULL : c, &err), LEVADA_OK);
            assert_int_equal(take_all(queue), 2 * 190);
            assert_int_equal(levada_coordinator_request_stop(c, NULL, NULL), LEVADA_OK);
            test_joins(c, LEVADA_FOREVER, LEVADA_OK, NULL);
            levada_coordinator_clear_stop(c);
            levada_queue_runner_destroy(&runner);
            levada_queue_unref(&queue);
        }
    }
    levada_coordinator_destroy(&c);
}

static void no_thread_is_a_clean_error(void **state)
{
    levada_coordinator     *c = test_coordinator(NULL, 0);
    levada_looper_options   loop = LEVADA_LOOPER_OPTIONS_INIT;
    levada_watchdog_options watch = LEVADA_WATCHDOG_OPTIONS_INIT;
    levada_watchdog        *watchdog = NULL;
    levada_error            err = LEVADA_ERROR_INIT;
    test_gate               gate = { .open = 1 };

    (void)state;
    loop.run = tick;
    watch.report = ignore;
    fault_thread_arm(0);
    expect_refused(levada_coordinator_start_thread(c, "reader", test_gate_run, &gate, &err),
                   "reader", &err);
    expect_refused(levada_looper_start(c, &loop, &err), "looper", &err);
    expect_refused(levada_watchdog_create(NULL, &watch, &watchdog, &err), "", &err);
    fault_thread_arm(-1);
    assert_null(watchdog);
    test_joins(c, LEVADA_FOREVER, LEVADA_OK, NULL);
    assert_int_equal(gate.reached, 0);
    levada_coordinator_destroy(&c);
}

/* -- size -------------------------------------------------------------------------------------- */

static void an_empty_queue_takes_less_than_4_kib(void **state)
{
    levada_dtype         dtypes[] = { LEVADA_INT64, LEVADA_BYTES, LEVADA_FLOAT32 };
    levada_shape         shapes[] = { TEST_SCALAR, TEST_SCALAR, { 1, { 8 } } };
    levada_queue_options o = LEVADA_QUEUE_OPTIONS_INIT;

    (void)state;
    o.capacity = 1000;
    o.ncomponents = 3;
    o.dtypes = dtypes;
    o.shapes = shapes;
    o.shared_name = "words";
    for (int kind = LEVADA_QUEUE_FIFO; kind <= LEVADA_QUEUE_PRIORITY; kind++) {
        levada_queue *queue = NULL;

        o.kind = (levada_queue_kind)kind;
        fault_arm(INT64_MAX - 1);
        assert_int_equal(levada_queue_create(NULL, &o, &queue, NULL), LEVADA_OK);
        assert_in_range(fault_bytes(), 1, 4095);
        (void)fault_disarm();
        levada_queue_unref(&queue);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_element_of_a_queue_is_lost),
        cmocka_unit_test(no_key_of_a_barrier_is_lost),
        cmocka_unit_test(threads_of_a_coordinator_lose_nothing),
        cmocka_unit_test(a_runner_starts_all_its_threads_or_none),
        cmocka_unit_test(no_thread_is_a_clean_error),
        cmocka_unit_test(an_empty_queue_takes_less_than_4_kib),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
