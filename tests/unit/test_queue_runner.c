/* SPDX-License-Identifier: Apache-2.0 */
/* Named cases of TensorFlow's queue_runner_test.py stand at the tests that make the same claim. */
#include "support/coordinators.h"
#include "support/queues.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define MS INT64_C(1000000)

/* An op that puts 0, 1, ... into a queue (where there is one) up to a limit, then says `end`. */
typedef struct source {
    levada_queue *queue;
    int           limit;
    levada_status end;
    atomic_int    count, go; /* go: it fails not before this is set, where waits is */
    bool          waits;
} source;

static levada_status produce(void *user, levada_error *err)
{
    source     *s = user;
    int64_t     value = atomic_load(&s->count);
    const void *rows = &value;

    if (value >= s->limit) {
        if (s->waits) test_until(&s->go, 1);
        if (s->end > 0) return s->end;
        return levada_fail(err, s->end, "the source says %d", (int)s->end);
    }
    if (s->queue != NULL) {
        LEVADA_TRY(levada_queue_enqueue_rows(s->queue, 1, &rows, LEVADA_FOREVER, NULL, err));
    }
    atomic_fetch_add(&s->count, 1);
    return LEVADA_OK;
}

static levada_queue_runner *runner_of(levada_queue *queue, const levada_queue_runner_options *o)
{
    levada_queue_runner *runner = NULL;
    levada_error         err = LEVADA_ERROR_INIT;

    if (levada_queue_runner_create(queue, o, &runner, &err) != LEVADA_OK) {
        fail_msg("%s", err.message);
    }
    return runner;
}

/* A runner of n sources, which are ops with the names of letters. */
static levada_queue_runner *runner(levada_queue *queue, source *sources, int32_t n)
{
    levada_queue_runner_options o = LEVADA_QUEUE_RUNNER_OPTIONS_INIT;
    levada_enqueue_op           ops[4];
    char                        names[] = "a\0b\0c\0d";

    for (int32_t i = 0; i < n; i++) {
        ops[i] = (levada_enqueue_op){ produce, &sources[i], names + 2 * i };
    }
    o.nops = n;
    o.ops = ops;
    return runner_of(queue, &o);
}

static void start(levada_queue_runner *r, levada_coordinator *c)
{
    levada_error err = LEVADA_ERROR_INIT;

    if (levada_queue_runner_start(r, c, &err) != LEVADA_OK) fail_msg("%s", err.message);
}

static void wait_for(levada_queue_runner *r)
{
    assert_int_equal(levada_queue_runner_wait(r, LEVADA_FOREVER, NULL), LEVADA_OK);
}

/* testBasic */
static void runs_its_op_until_out_of_range(void **state)
{
    levada_queue        *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    source               s = { .limit = 3, .end = LEVADA_EOUT_OF_RANGE };
    levada_queue_runner *r = runner(queue, &s, 1);

    (void)state;
    assert_string_equal(levada_queue_runner_name(r), "fifo_queue");
    assert_int_equal(levada_queue_runner_wait(r, LEVADA_FOREVER, NULL), LEVADA_OK);
    start(r, NULL);
    wait_for(r);
    assert_int_equal(s.count, 3);
    assert_null(levada_queue_runner_error(r, 0));
    assert_true(levada_queue_is_closed(queue));
    levada_queue_runner_destroy(&r);
    assert_null(r);
    levada_queue_runner_destroy(&r);
    levada_queue_unref(&queue);
}

/* testTwoOps */
static void each_op_runs_to_its_own_end(void **state)
{
    levada_queue        *queue = test_queue(LEVADA_QUEUE_FIFO, -1, 0);
    source               s[2] = { { .limit = 3, .end = LEVADA_EOUT_OF_RANGE },
                                  { .limit = 30, .end = LEVADA_END } };
    levada_queue_runner *r = runner(queue, s, 2);

    (void)state;
    start(r, NULL);
    wait_for(r);
    assert_int_equal(s[0].count, 3);
    assert_int_equal(s[1].count, 30);
    assert_null(levada_queue_runner_error(r, 0));
    levada_queue_runner_destroy(&r);
    levada_queue_unref(&queue);
}

static levada_status not_now_and_then(void *user, levada_error *err)
{
    source *s = user;

    (void)err;
    return atomic_fetch_add(&s->count, 1) < 5 ? LEVADA_AGAIN : LEVADA_END;
}

static void an_op_that_says_again_is_called_again(void **state)
{
    levada_queue               *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    source                      s = { .limit = 0 };
    levada_enqueue_op           op = { not_now_and_then, &s, NULL };
    levada_queue_runner_options o = LEVADA_QUEUE_RUNNER_OPTIONS_INIT;

    (void)state;
    o.nops = 1;
    o.ops = &op;
    levada_queue_runner *r = runner_of(queue, &o);
    start(r, NULL);
    wait_for(r);
    assert_int_equal(s.count, 6);
    levada_queue_runner_destroy(&r);
    levada_queue_unref(&queue);
}

/* testExceptionsCaptured */
static void errors_are_listed_without_a_coordinator(void **state)
{
    levada_queue        *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    source               s[2] = { { .limit = 0, .end = LEVADA_EDATA_LOSS },
                                  { .limit = 5, .end = LEVADA_EDATA_LOSS } };
    levada_queue_runner *r = runner(queue, s, 2);

    (void)state;
    start(r, NULL);
    wait_for(r);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(levada_queue_runner_error(r, i)->code, LEVADA_EDATA_LOSS);
        assert_non_null(strstr(levada_queue_runner_error(r, i)->message, "the source says -15"));
    }
    assert_null(levada_queue_runner_error(r, 2));
    assert_int_equal(s[1].count, 5);             /* an error ends its own thread only */
    assert_true(levada_queue_is_closed(queue)); /* and the last one closes all the same */
    levada_queue_runner_destroy(&r);
    levada_queue_unref(&queue);
}

typedef struct copier {
    levada_queue *from, *to;
} copier;

static levada_status copy_one(void *user, levada_error *err)
{
    copier     *c = user;
    int64_t     value = 0;
    void       *out = &value;
    const void *in = &value;

    LEVADA_TRY(levada_queue_dequeue_rows(c->from, 1, false, &out, LEVADA_FOREVER, NULL, err));
    return levada_queue_enqueue_rows(c->to, 1, &in, LEVADA_FOREVER, NULL, err);
}

/* testRealDequeueEnqueue */
static void the_end_of_one_queue_becomes_that_of_the_next(void **state)
{
    copier                      c = { test_queue(LEVADA_QUEUE_FIFO, 3, 0),
                                      test_queue(LEVADA_QUEUE_FIFO, 30, 0) };
    levada_enqueue_op           op = { copy_one, &c, NULL };
    levada_queue_runner_options o = LEVADA_QUEUE_RUNNER_OPTIONS_INIT;
    test_call                   call = test_call_of(c.to, TEST_DEQUEUE, 1, 0);

    (void)state;
    o.nops = 1;
    o.ops = &op;
    levada_queue_runner *r = runner_of(c.to, &o);
    assert_int_equal(test_put(c.from, 10, 2), LEVADA_OK);
    assert_int_equal(levada_queue_close(c.from, false, 0, NULL), LEVADA_OK);
    start(r, NULL);
    test_expect(c.to, 10, 2);
    test_run(&call);
    test_expect_status(&call, LEVADA_EOUT_OF_RANGE, "is closed");
    levada_queue_runner_destroy(&r);
    levada_queue_unref(&c.from);
    levada_queue_unref(&c.to);
}

/* testRespectCoordShouldStop */
static void a_stopped_coordinator_lets_no_op_run(void **state)
{
    levada_queue        *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    levada_coordinator  *c = test_coordinator(NULL, 0);
    source               s = { .limit = 3, .end = LEVADA_EOUT_OF_RANGE };
    levada_queue_runner *r = runner(queue, &s, 1);

    (void)state;
    assert_int_equal(test_stop(c, LEVADA_OK, ""), LEVADA_OK);
    start(r, c);
    test_joins(c, LEVADA_FOREVER, LEVADA_OK, NULL);
    assert_int_equal(s.count, 0);
    assert_true(levada_queue_is_closed(queue));
    levada_queue_runner_destroy(&r);
    levada_coordinator_destroy(&c);
    levada_queue_unref(&queue);
}

/* testRequestStopOnException */
static void an_error_asks_for_the_stop(void **state)
{
    levada_queue        *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    levada_coordinator  *c = test_coordinator(NULL, 0);
    source               s = { .limit = 0, .end = LEVADA_EINVALID_ARGUMENT };
    levada_queue_runner *r = runner(queue, &s, 1);

    (void)state;
    start(r, c);
    assert_true(levada_coordinator_wait_for_stop(c, LEVADA_FOREVER));
    test_joins(c, LEVADA_FOREVER, LEVADA_EINVALID_ARGUMENT,
               "thread 'QueueRunnerThread-fifo_queue-a': the source says -3");
    assert_null(levada_queue_runner_error(r, 0)); /* the coordinator has it */
    levada_queue_runner_destroy(&r);
    levada_coordinator_destroy(&c);
    levada_queue_unref(&queue);
}

/* testGracePeriod */
static void the_stop_frees_a_blocked_producer(void **state)
{
    levada_queue        *queue = test_queue(LEVADA_QUEUE_FIFO, 2, 0);
    levada_coordinator  *c = test_coordinator(NULL, 0);
    source s[2] = { { .queue = queue, .limit = 100 }, { .queue = queue, .limit = 9 } };
    levada_queue_runner *r = runner(queue, s, 2);

    (void)state;
    start(r, c);
    test_until_waiting(NULL, 3); /* both, and close_on_stop */
    assert_int_equal(test_stop(c, LEVADA_OK, ""), LEVADA_OK);
    test_joins(c, 60 * TEST_SECOND, LEVADA_OK, NULL);
    assert_int_equal(levada_queue_size(queue), 2); /* what was accepted stays */
    levada_queue_runner_destroy(&r);
    levada_coordinator_destroy(&c);
    levada_queue_unref(&queue);
}

/* R9: with the threads of the ops there is one more, and all have telling names. */
static void threads_have_telling_names(void **state)
{
    levada_queue        *queue = test_queue(LEVADA_QUEUE_FIFO, 2, 0);
    levada_coordinator  *c = test_coordinator(NULL, 0);
    source s[2] = { { .queue = queue, .limit = 100 }, { .queue = queue, .limit = 9 } };
    levada_queue_runner *r = runner(queue, s, 2);
    char                *text = NULL;

    (void)state;
    start(r, c);
    test_until_waiting(NULL, 3);
    assert_int_equal(levada_waiters_json(NULL, &text, NULL), LEVADA_OK);
    assert_non_null(strstr(text, "\"QueueRunnerThread-fifo_queue-a\""));
    assert_non_null(strstr(text, "\"QueueRunnerThread-fifo_queue-b\""));
    assert_non_null(strstr(text, "{\"thread\": \"QueueRunnerThread-fifo_queue-close_on_stop\", "
                                 "\"object\": \"coordinator\", \"waits_for\": \"stop\""));
    levada_string_free(&text);
    assert_int_equal(test_stop(c, LEVADA_OK, ""), LEVADA_OK);
    test_joins(c, LEVADA_FOREVER, LEVADA_OK, NULL);
    levada_queue_runner_destroy(&r);
    levada_coordinator_destroy(&c);
    levada_queue_unref(&queue);
}

/* testIgnoreMultiStarts */
static void a_second_start_changes_nothing(void **state)
{
    levada_queue        *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    source               s = { .limit = 3, .end = LEVADA_EOUT_OF_RANGE, .waits = true };
    levada_queue_runner *r = runner(queue, &s, 1);

    (void)state;
    start(r, NULL);
    test_until(&s.count, 3);
    assert_int_equal(levada_queue_runner_start(r, NULL, NULL), LEVADA_AGAIN);
    assert_int_equal(levada_queue_runner_wait(r, 0, NULL), LEVADA_EDEADLINE_EXCEEDED);
    assert_int_equal(levada_queue_runner_wait(r, MS, NULL), LEVADA_EDEADLINE_EXCEEDED);
    atomic_store(&s.go, 1);
    wait_for(r);
    assert_int_equal(s.count, 3);
    levada_queue_runner_destroy(&r);
    levada_queue_unref(&queue);
}

/* testThreads */
static void a_new_run_begins_with_no_errors(void **state)
{
    levada_queue        *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    source               s[2] = { { .limit = 3, .end = LEVADA_EOUT_OF_RANGE },
                                  { .limit = 0, .end = LEVADA_EABORTED } };
    levada_queue_runner *r = runner(queue, s, 2);

    (void)state;
    for (int round = 0; round < 3; round++) {
        start(r, NULL);
        wait_for(r);
        assert_int_equal(levada_queue_runner_error(r, 0)->code, LEVADA_EABORTED);
        assert_null(levada_queue_runner_error(r, 1));
    }
    levada_queue_runner_destroy(&r);
    levada_queue_unref(&queue);
}

/* A run after the queue was closed: a real error, unless ECANCELLED is one of the closed codes. */
static void a_restart_on_a_closed_queue_is_an_error(void **state)
{
    levada_queue        *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    source               s = { .queue = queue, .limit = 3, .end = LEVADA_EOUT_OF_RANGE };
    levada_queue_runner *r = runner(queue, &s, 1);

    (void)state;
    start(r, NULL);
    wait_for(r);
    atomic_store(&s.count, 0);
    start(r, NULL);
    wait_for(r);
    assert_int_equal(levada_queue_runner_error(r, 0)->code, LEVADA_ECANCELLED);
    levada_queue_runner_destroy(&r);
    levada_queue_unref(&queue);
}

static void a_closed_code_ends_a_thread_quietly(void **state)
{
    const levada_status         closed[] = { LEVADA_EOUT_OF_RANGE, LEVADA_ECANCELLED };
    levada_queue               *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    levada_coordinator         *c = test_coordinator(NULL, 0);
    source                      s = { .queue = queue, .limit = 3 };
    levada_enqueue_op           op = { produce, &s, NULL };
    levada_queue_runner_options o = LEVADA_QUEUE_RUNNER_OPTIONS_INIT;

    (void)state;
    o.nops = 1;
    o.ops = &op;
    o.closed = closed;
    o.nclosed = 2;
    levada_queue_runner *r = runner_of(queue, &o);
    assert_int_equal(levada_queue_close(queue, false, 0, NULL), LEVADA_OK);
    start(r, c);
    wait_for(r);
    assert_false(levada_coordinator_should_stop(c));
    assert_int_equal(test_stop(c, LEVADA_OK, ""), LEVADA_OK);
    test_joins(c, LEVADA_FOREVER, LEVADA_OK, NULL);
    levada_queue_runner_destroy(&r);
    levada_coordinator_destroy(&c);
    levada_queue_unref(&queue);
}

/* R6 */
static void a_clean_code_of_the_coordinator_stops_all_cleanly(void **state)
{
    const levada_status         closed = LEVADA_ECANCELLED;
    levada_queue               *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    levada_coordinator         *c = test_coordinator(NULL, 0);
    source                      s = { .limit = 3, .end = LEVADA_EOUT_OF_RANGE };
    levada_enqueue_op           op = { produce, &s, NULL };
    levada_queue_runner_options o = LEVADA_QUEUE_RUNNER_OPTIONS_INIT;

    (void)state;
    o.nops = 1;
    o.ops = &op;
    o.closed = &closed;
    o.nclosed = 1;
    levada_queue_runner *r = runner_of(queue, &o);
    start(r, c);
    assert_true(levada_coordinator_wait_for_stop(c, LEVADA_FOREVER));
    test_joins(c, LEVADA_FOREVER, LEVADA_OK, NULL);
    levada_queue_runner_destroy(&r);
    levada_coordinator_destroy(&c);
    levada_queue_unref(&queue);
}

/* R5: in TensorFlow nobody closes the queue when the last thread dies by an error. */
static void the_last_exit_closes_whatever_its_cause(void **state)
{
    levada_queue        *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    levada_coordinator  *c = test_coordinator(NULL, 0);
    source               s[3] = { { .queue = queue, .limit = 2, .end = LEVADA_EOUT_OF_RANGE },
                                  { .limit = 0, .end = LEVADA_EOUT_OF_RANGE },
                                  { .limit = 0, .end = LEVADA_EDATA_LOSS, .waits = true } };
    levada_queue_runner *r = runner(queue, s, 3);
    test_call            call = test_call_of(queue, TEST_DEQUEUE, 1, 0);

    (void)state;
    start(r, c);
    test_expect(queue, 0, 2);
    test_start(&call);
    test_until_waiting(NULL, 2); /* the consumer, and close_on_stop */
    assert_false(levada_queue_is_closed(queue));
    atomic_store(&s[2].go, 1);
    test_join(&call);
    test_expect_status(&call, LEVADA_EOUT_OF_RANGE, "is closed");
    /* Who sees the end can ask why it came. */
    assert_int_equal(levada_coordinator_raise_requested(c, NULL), LEVADA_EDATA_LOSS);
    test_joins(c, LEVADA_FOREVER, LEVADA_EDATA_LOSS, NULL);
    levada_queue_runner_destroy(&r);
    levada_coordinator_destroy(&c);
    levada_queue_unref(&queue);
}

static void an_error_after_join_is_listed(void **state)
{
    levada_queue        *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    levada_coordinator  *c = test_coordinator(NULL, 0);
    source               s = { .limit = 0, .end = LEVADA_EDATA_LOSS, .waits = true };
    levada_queue_runner *r = runner(queue, &s, 1);

    (void)state;
    start(r, c);
    assert_int_equal(test_stop(c, LEVADA_OK, ""), LEVADA_OK);
    assert_int_equal(levada_coordinator_join(c, 0, true, NULL), LEVADA_OK);
    atomic_store(&s.go, 1);
    wait_for(r);
    /* It may have seen the stop before its first turn. */
    const levada_error *err = levada_queue_runner_error(r, 0);
    if (err != NULL) assert_int_equal(err->code, LEVADA_EDATA_LOSS);
    levada_coordinator_destroy(&c);
    levada_queue_runner_destroy(&r);
    levada_queue_unref(&queue);
}

static void count_call(void *user) { atomic_fetch_add((atomic_int *)user, 1); }

static void count_close(void *user) { atomic_fetch_add((atomic_int *)user, 100); }

static void other_ways_to_close_and_cancel_are_used(void **state)
{
    levada_queue               *queue = test_queue(LEVADA_QUEUE_FIFO, 10, 0);
    levada_coordinator         *c = test_coordinator(NULL, 0);
    source                      s = { .limit = 3, .end = LEVADA_END };
    levada_enqueue_op           op = { produce, &s, NULL };
    levada_queue_runner_options o = LEVADA_QUEUE_RUNNER_OPTIONS_INIT;
    atomic_int                  calls = 0;

    (void)state;
    o.nops = 1;
    o.ops = &op;
    o.close = count_close;
    o.cancel = count_call;
    o.user = &calls;
    levada_queue_runner *r = runner_of(queue, &o);
    start(r, c);
    wait_for(r);
    assert_int_equal(calls, 100);
    assert_int_equal(test_stop(c, LEVADA_OK, ""), LEVADA_OK);
    test_joins(c, LEVADA_FOREVER, LEVADA_OK, NULL);
    assert_int_equal(calls, 101);
    assert_false(levada_queue_is_closed(queue));
    levada_queue_runner_destroy(&r);
    levada_coordinator_destroy(&c);
    levada_queue_unref(&queue);
}

static void may_be_destroyed_while_its_threads_run(void **state)
{
    levada_queue        *queue = test_queue(LEVADA_QUEUE_FIFO, 2, 0);
    levada_coordinator  *c = test_coordinator(NULL, 0);
    source s[2] = { { .queue = queue, .limit = 100 }, { .queue = queue, .limit = 100 } };
    levada_queue_runner *r = runner(queue, s, 1);

    (void)state;
    start(r, c);
    levada_queue_runner_destroy(&r); /* threads of a coordinator go on */
    test_expect(queue, 0, 5);
    assert_int_equal(test_stop(c, LEVADA_OK, ""), LEVADA_OK);
    test_joins(c, LEVADA_FOREVER, LEVADA_OK, NULL);
    levada_coordinator_destroy(&c);
    levada_queue_unref(&queue);

    queue = test_queue(LEVADA_QUEUE_FIFO, 2, 0);
    s[1].queue = queue;
    r = runner(queue, &s[1], 1);
    start(r, NULL);
    test_until_waiting(NULL, 1);
    levada_queue_runner_destroy(&r); /* its own are freed and waited for */
    assert_int_equal(test_waiting(NULL), 0);
    levada_queue_unref(&queue);
}

static void set(void *user) { atomic_store((atomic_int *)user, 1); }

static levada_status fail_once_set(void *user, levada_error *err)
{
    while (atomic_load((atomic_int *)user) == 0) sched_yield();
    return levada_fail(err, LEVADA_EABORTED, "it was set");
}

/* At that very moment: a sanitizer of threads looks on. */
static void may_be_destroyed_while_its_threads_fail(void **state)
{
    levada_queue               *queue = test_queue(LEVADA_QUEUE_FIFO, 2, 0);
    levada_queue_runner_options o = LEVADA_QUEUE_RUNNER_OPTIONS_INIT;
    atomic_int                  go = 0;
    levada_enqueue_op           op = { fail_once_set, &go, NULL };

    (void)state;
    o.nops = 1;
    o.ops = &op;
    o.cancel = o.close = set;
    o.user = &go;
    levada_queue_runner *r = runner_of(queue, &o);
    start(r, NULL);
    levada_queue_runner_destroy(&r);
    assert_int_equal(go, 1);
    levada_queue_unref(&queue);
}

static void refuses(const levada_queue_runner_options *o, levada_queue *queue, const char *text)
{
    levada_queue_runner *r = NULL;
    levada_error         err = LEVADA_ERROR_INIT;

    assert_int_equal(levada_queue_runner_create(queue, o, &r, &err), LEVADA_EINVALID_ARGUMENT);
    if (strstr(err.message, text) == NULL) fail_msg("'%s' is not in '%s'", text, err.message);
    assert_null(r);
}

static void refuses_wrong_options(void **state)
{
    const levada_status         closed[] = { LEVADA_EABORTED, LEVADA_OK };
    levada_queue               *queue = test_queue(LEVADA_QUEUE_FIFO, 2, 0);
    levada_enqueue_op           op = { produce, NULL, NULL }, none = { NULL, NULL, NULL };
    levada_queue_runner_options o = LEVADA_QUEUE_RUNNER_OPTIONS_INIT;

    (void)state;
    refuses(&o, queue, "needs a queue and 1 to");
    o.ops = &op;
    refuses(&o, queue, "got 0");
    o.nops = 1;
    refuses(&o, NULL, "needs a queue");
    o.ops = &none;
    refuses(&o, queue, "op 0 has no function");
    o.ops = &op;
    o.closed = closed;
    refuses(&o, queue, "nclosed=0");
    o.nclosed = 2;
    refuses(&o, queue, "closed[1]=0 is not");
    levada_queue_unref(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_its_op_until_out_of_range),
        cmocka_unit_test(each_op_runs_to_its_own_end),
        cmocka_unit_test(an_op_that_says_again_is_called_again),
        cmocka_unit_test(errors_are_listed_without_a_coordinator),
        cmocka_unit_test(the_end_of_one_queue_becomes_that_of_the_next),
        cmocka_unit_test(a_stopped_coordinator_lets_no_op_run),
        cmocka_unit_test(an_error_asks_for_the_stop),
        cmocka_unit_test(the_stop_frees_a_blocked_producer),
        cmocka_unit_test(threads_have_telling_names),
        cmocka_unit_test(a_second_start_changes_nothing),
        cmocka_unit_test(a_new_run_begins_with_no_errors),
        cmocka_unit_test(a_restart_on_a_closed_queue_is_an_error),
        cmocka_unit_test(a_closed_code_ends_a_thread_quietly),
        cmocka_unit_test(a_clean_code_of_the_coordinator_stops_all_cleanly),
        cmocka_unit_test(the_last_exit_closes_whatever_its_cause),
        cmocka_unit_test(an_error_after_join_is_listed),
        cmocka_unit_test(other_ways_to_close_and_cancel_are_used),
        cmocka_unit_test(may_be_destroyed_while_its_threads_run),
        cmocka_unit_test(may_be_destroyed_while_its_threads_fail),
        cmocka_unit_test(refuses_wrong_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
