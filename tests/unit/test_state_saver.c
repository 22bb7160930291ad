/* SPDX-License-Identifier: Apache-2.0 */
/* The upstream tests of the state saver, and its rules: who is served when. */
#include "support/queues.h"
#include "support/savers.h"

#include <levada/levada.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static void expect_error(levada_status st, levada_status want, const char *message,
                         const char *text)
{
    if (st != want) fail_msg("%s (%s)", levada_status_name(st), message);
    if (strstr(message, text) == NULL) fail_msg("'%s' is not in '%s'", text, message);
}

static void refuse_insert(levada_state_saver *s, int64_t k, int64_t steps, levada_status want,
                          const char *text)
{
    levada_error err = LEVADA_ERROR_INIT;

    expect_error(test_saver_insert(s, k, steps, -1, false, 0, &err), want, err.message, text);
}

static void refuse_next(levada_state_saver *s, int64_t n, levada_status want, const char *text)
{
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;

    assert_null(test_saver_wait(s, n, 0, &st, &err));
    expect_error(st, want, err.message, text);
}

/* testStateSaverWithTwoSimpleSteps */
static void two_simple_steps(void **state)
{
    levada_state_saver_options o = test_saver_options(2, 2);
    levada_state_saver        *s;

    (void)state;
    o.pad = true;
    s = test_saver_of(&o);
    test_saver_put(s, 1, 3);
    test_saver_put(s, 2, 3);
    test_saver_step(s, -1, "k1/0 k2/0");
    assert_int_equal(test_saver_stats(s).ready, 2);
    test_saver_step(s, -1, "k1/1 k2/1");
    assert_int_equal(test_saver_stats(s).ready, 0);
    assert_int_equal(test_saver_stats(s).finished, 2);
    assert_int_equal(test_saver_stats(s).live, 0);
    test_saver_step(s, -1, "");
    levada_state_saver_unref(&s);
}

/* testStateSaverProcessesExamplesInOrder: step t holds exactly the examples 32 * (t / 2) on. */
static void examples_in_order(void **state)
{
    levada_state_saver *s = test_saver(32, 4);
    int64_t             k[32], segment[32];

    (void)state;
    for (int64_t i = 0; i < 3200; i++) test_saver_put(s, i, 8);
    assert_int_equal(test_saver_stats(s).incomplete, 3200);
    for (int64_t step = 0; step < 200; step++) {
        levada_segment_batch *batch = test_saver_take(s, -1);

        assert_non_null(batch);
        assert_int_equal(test_batch_rows(batch, k, segment), 32);
        for (int64_t i = 0; i < 32; i++) {
            assert_int_equal(k[i], 32 * (step / 2) + i);
            assert_int_equal(segment[i], step % 2);
        }
        assert_int_equal(test_batch_save(batch, NULL), LEVADA_OK);
        levada_segment_batch_destroy(&batch);
    }
    assert_int_equal(test_saver_stats(s).ready, 0);
    assert_int_equal(test_saver_stats(s).incomplete, 0);
    levada_state_saver_unref(&s);
}

/* testStateSaverCanHandleVariableBatchsize */
static void variable_batch_size(void **state)
{
    static const char *const rows[] = {
        "", "k0/0", "k0/1 k1/0", "k1/1 k2/0 k3/0", "k2/1 k3/1 k4/0 k5/0",
        "k4/1 k5/1 k6/0 k7/0 k8/0", "k6/1 k7/1 k8/1 k9/0 k10/0 k11/0",
        "k9/1 k10/1 k11/1 k12/0 k13/0 k14/0 k15/0",
    };
    levada_state_saver *s = test_saver(1, 2);

    (void)state;
    for (int64_t k = 0; k < 16; k++) test_saver_put(s, k, 4);
    for (int64_t n = 0; n < 8; n++) test_saver_step(s, n, rows[n]);
    levada_state_saver_unref(&s);
}

static void lengths_must_fit(void **state)
{
    levada_state_saver *s = test_saver(2, 17);

    (void)state;
    refuse_insert(s, 1, 3, LEVADA_EINVALID_ARGUMENT,
                  "should be a multiple of: 17, but saw value: 3");
    refuse_insert(s, 1, 3, LEVADA_EINVALID_ARGUMENT, "Consider setting pad=True");
    refuse_insert(s, 1, 0, LEVADA_EINVALID_ARGUMENT, "zero_length");
    test_saver_put(s, 1, 34);
    refuse_insert(s, 1, 17, LEVADA_EALREADY_EXISTS, "'k1'");
    assert_int_equal(test_saver_stats(s).live, 1);
    levada_state_saver_unref(&s);
}

static void zero_length_policies(void **state)
{
    levada_state_saver_options o = test_saver_options(1, 2);
    levada_state_saver        *s;

    (void)state;
    o.zero_length = LEVADA_ZERO_LENGTH_SKIP;
    s = test_saver_of(&o);
    test_saver_put(s, 1, 0);
    test_saver_put(s, 2, 2);
    assert_int_equal(test_saver_stats(s).skipped, 1);
    test_saver_step(s, 1, "k2/0");
    levada_state_saver_unref(&s);
    o.zero_length = LEVADA_ZERO_LENGTH_SEGMENT;
    s = test_saver_of(&o);
    test_saver_put(s, 1, 0);
    test_saver_step(s, 1, "k1/0");
    assert_int_equal(test_saver_stats(s).live, 0);
    levada_state_saver_unref(&s);
}

static void options_are_checked(void **state)
{
    const levada_shape         scalar = { 0, { 0 } };
    levada_saver_field         fields[] = { { "x", LEVADA_INT64, scalar, false },
                                            { "y", LEVADA_INT64, scalar, false } };
    levada_state_saver_options o = test_saver_options(32, 1);
    levada_state_saver        *s = NULL;
    levada_error               err = LEVADA_ERROR_INIT;

    (void)state;
    o.capacity = 10;
    expect_error(levada_state_saver_create(NULL, &o, &s, &err), LEVADA_EINVALID_ARGUMENT,
                 err.message,
                 "capacity 10 needs to be >= batch_size 32");
    o.capacity = 0;
    expect_error(levada_state_saver_create(NULL, &o, &s, &err), LEVADA_EINVALID_ARGUMENT,
                 err.message,
                 "capacity=0");
    o.capacity = -1;
    expect_error(levada_state_saver_create(NULL, &o, &s, &err), LEVADA_EINVALID_ARGUMENT,
                 err.message,
                 "input_sequences may not be empty");
    o.sequences = fields;
    o.nsequences = 1;
    expect_error(levada_state_saver_create(NULL, &o, &s, &err), LEVADA_EINVALID_ARGUMENT,
                 err.message,
                 "initial_states may not be empty");
    o.states = fields;
    o.nstates = 2;
    fields[1].name = "a:b";
    expect_error(levada_state_saver_create(NULL, &o, &s, &err), LEVADA_EINVALID_ARGUMENT,
                 err.message,
                 "'a:b' must not contain a colon");
    fields[1].name = "x";
    expect_error(levada_state_saver_create(NULL, &o, &s, &err), LEVADA_EINVALID_ARGUMENT,
                 err.message,
                 "two fields");
    fields[1].name = "y";
    fields[1].shape = (levada_shape){ 1, { -1 } };
    expect_error(levada_state_saver_create(NULL, &o, &s, &err), LEVADA_EINVALID_ARGUMENT,
                 err.message,
                 "is not fully defined");
    o.num_unroll = 0;
    expect_error(levada_state_saver_create(NULL, &o, &s, &err), LEVADA_EINVALID_ARGUMENT,
                 err.message,
                 "num_unroll=0");
    assert_null(s);
    s = test_saver(1, 1);
    refuse_next(s, -2, LEVADA_EINVALID_ARGUMENT, "negative");
    levada_state_saver_unref(&s);
    o = test_saver_options(2, 1);
    o.capacity = 3;
    s = test_saver_of(&o);
    refuse_next(s, 4, LEVADA_EINVALID_ARGUMENT, "capacity needs to be >= batch_size.");
    levada_state_saver_unref(&s);
}

/* -- capacity ---------------------------------------------------------------------------------- */

typedef struct call {
    levada_state_saver   *s;
    int64_t               k, n, timeout;
    bool                  inserts, reserves;
    levada_status         status;
    levada_error          err;
    levada_segment_batch *batch;
    pthread_t             thread;
} call;

static void *call_run(void *user)
{
    call *c = user;

    if (c->inserts) {
        c->status = test_saver_insert(c->s, c->k, 4, -1, false, c->timeout, &c->err);
    } else if (c->reserves) {
        c->status = levada_state_saver_reserve(c->s, c->timeout, &c->err);
    } else {
        c->batch = test_saver_wait(c->s, c->n, c->timeout, &c->status, &c->err);
    }
    return NULL;
}

static void call_start(call *c)
{
    int before = test_waiting(NULL);

    assert_int_equal(pthread_create(&c->thread, NULL, call_run, c), 0);
    test_until_waiting(NULL, before + 1);
}

static void call_join(call *c, levada_status want, const char *text)
{
    pthread_join(c->thread, NULL);
    expect_error(c->status, want, c->err.message, text);
}

static void the_take_releases_capacity(void **state)
{
    levada_state_saver_options o = test_saver_options(2, 2);
    char                       text[64];

    (void)state;
    o.capacity = 2;
    levada_state_saver *s = test_saver_of(&o);
    test_saver_put(s, 1, 2);
    test_saver_put(s, 2, 4);
    call insert = { .s = s, .inserts = true, .k = 3, .timeout = LEVADA_FOREVER };
    call_start(&insert);
    refuse_insert(s, 4, 4, LEVADA_EDEADLINE_EXCEEDED, "2 of 2 examples live");
    levada_segment_batch *batch = test_saver_take(s, 2); /* k1 has one segment */
    call_join(&insert, LEVADA_OK, "");
    assert_string_equal(test_batch_text(batch, text), "k1/0 k2/0");
    assert_int_equal(test_saver_stats(s).live, 2);
    test_saver_step(s, 2, ""); /* only k3 is ready */
    assert_int_equal(test_batch_save(batch, NULL), LEVADA_OK);
    levada_segment_batch_destroy(&batch);
    test_saver_step(s, 2, "k2/1 k3/0");
    levada_state_saver_unref(&s);
}

static void reservations_count(void **state)
{
    levada_state_saver_options o = test_saver_options(1, 2);
    levada_error               err = LEVADA_ERROR_INIT;

    (void)state;
    o.capacity = 2;
    levada_state_saver *s = test_saver_of(&o);
    assert_int_equal(levada_state_saver_reserve(s, 0, NULL), LEVADA_OK);
    test_saver_put(s, 1, 2);
    expect_error(levada_state_saver_reserve(s, 0, &err), LEVADA_EDEADLINE_EXCEEDED, err.message,
                 "2 of 2");
    assert_int_equal(test_saver_insert(s, 1, 2, -1, true, 0, &err), LEVADA_EALREADY_EXISTS);
    assert_int_equal(test_saver_stats(s).reserved, 1); /* a failed insert keeps it */
    assert_int_equal(test_saver_insert(s, 2, 2, -1, true, 0, &err), LEVADA_OK);
    assert_int_equal(test_saver_stats(s).reserved, 0);
    call reserve = { .s = s, .reserves = true, .timeout = LEVADA_FOREVER };
    call_start(&reserve);
    assert_int_equal(levada_state_saver_close(s, false, NULL), LEVADA_OK);
    expect_error(levada_state_saver_reserve(s, LEVADA_FOREVER, &err), LEVADA_ECANCELLED,
                 err.message, "is closed"); /* it comes after the close */
    test_saver_step(s, 1, "k1/0");             /* its last segment: there is capacity */
    call_join(&reserve, LEVADA_OK, "");
    refuse_next(s, 2, LEVADA_EDEADLINE_EXCEEDED, ""); /* k2, and whatever was reserved */
    assert_int_equal(test_saver_insert(s, 3, 2, -1, true, 0, &err), LEVADA_OK);
    test_saver_step(s, 2, "k2/0 k3/0");
    refuse_next(s, 1, LEVADA_EOUT_OF_RANGE, "is closed");
    levada_state_saver_unref(&s);
}

/* Abandoned examples fill the saver, and the one that waits can never enter. */
static void a_take_does_not_wait_for_who_cannot_enter(void **state)
{
    levada_state_saver_options o = test_saver_options(1, 2);

    (void)state;
    o.capacity = 1;
    levada_state_saver *s = test_saver_of(&o);
    test_saver_put(s, 1, 4);
    call reserve = { .s = s, .reserves = true, .timeout = LEVADA_FOREVER };
    call_start(&reserve);
    levada_segment_batch *batch = test_saver_take(s, 1);
    levada_segment_batch_destroy(&batch);
    assert_int_equal(levada_state_saver_close(s, false, NULL), LEVADA_OK);
    refuse_next(s, 1, LEVADA_EFAILED_PRECONDITION, "k1");
    assert_int_equal(levada_state_saver_close(s, true, NULL), LEVADA_OK);
    call_join(&reserve, LEVADA_ECANCELLED, "");
    levada_state_saver_unref(&s);
}

/* Last segments that are requeued exceed the capacity beside an abandoned example and a
 * reservation: the reserved example may still come, so a take waits. */
static void a_take_waits_for_a_reserved_example(void **state)
{
    levada_state_saver_options o = test_saver_options(1, 2);
    levada_error               err = LEVADA_ERROR_INIT;

    (void)state;
    o.capacity = 2;
    levada_state_saver *s = test_saver_of(&o);
    test_saver_put(s, 1, 2);
    levada_segment_batch *last = test_saver_take(s, 1);
    test_saver_put(s, 2, 4);
    levada_segment_batch *lost = test_saver_take(s, 1);
    levada_segment_batch_destroy(&lost);
    assert_int_equal(levada_state_saver_reserve(s, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_segment_batch_requeue(last, &err), LEVADA_OK);
    levada_segment_batch_destroy(&last);
    refuse_next(s, 2, LEVADA_EDEADLINE_EXCEEDED, "");
    assert_int_equal(test_saver_insert(s, 3, 2, -1, true, 0, &err), LEVADA_OK);
    test_saver_step(s, 2, "k1/0 k3/0");
    levada_state_saver_unref(&s);
}

/* An example that was read before the close still enters, and takes wait for it. */
static void a_plain_close_lets_waiting_examples_in(void **state)
{
    levada_state_saver_options o = test_saver_options(1, 2);

    (void)state;
    o.capacity = 2;
    levada_state_saver *s = test_saver_of(&o);
    test_saver_put(s, 1, 2);
    assert_int_equal(levada_state_saver_reserve(s, 0, NULL), LEVADA_OK);
    call insert = { .s = s, .inserts = true, .k = 3, .timeout = LEVADA_FOREVER };
    call_start(&insert);
    assert_int_equal(levada_state_saver_close(s, false, NULL), LEVADA_OK);
    refuse_insert(s, 4, 2, LEVADA_ECANCELLED, "is closed");
    test_saver_step(s, 1, "k1/0");
    call_join(&insert, LEVADA_OK, "");
    test_saver_step(s, 1, "k3/0");
    test_saver_step(s, 1, "k3/1");
    call take = { .s = s, .n = 1, .timeout = LEVADA_FOREVER };
    call_start(&take);
    assert_int_equal(test_saver_insert(s, 2, 2, -1, true, 0, NULL), LEVADA_OK);
    call_join(&take, LEVADA_OK, "");
    levada_segment_batch_destroy(&take.batch);
    refuse_next(s, 1, LEVADA_EOUT_OF_RANGE, "requested 1, total size 0");
    assert_int_equal(levada_state_saver_close(s, false, NULL), LEVADA_ECANCELLED);
    assert_int_equal(levada_state_saver_close(s, true, NULL), LEVADA_OK);
    assert_int_equal(levada_state_saver_close(s, true, NULL), LEVADA_OK);
    levada_state_saver_unref(&s);
}

/* -- the end ----------------------------------------------------------------------------------- */

static void small_batches_shrink_until_nothing_is_left(void **state)
{
    levada_state_saver_options o = test_saver_options(3, 2);

    (void)state;
    o.allow_small_batch = true;
    levada_state_saver *s = test_saver_of(&o);
    test_saver_put(s, 1, 2);
    test_saver_put(s, 2, 6);
    test_saver_step(s, 3, ""); /* not while it is open */
    assert_int_equal(levada_state_saver_close(s, false, NULL), LEVADA_OK);
    test_saver_step(s, 3, "k1/0 k2/0");
    test_saver_step(s, 3, "k2/1");
    test_saver_step(s, 0, "");
    test_saver_step(s, 3, "k2/2");
    refuse_next(s, 3, LEVADA_EOUT_OF_RANGE, "insufficient");
    refuse_next(s, 0, LEVADA_EOUT_OF_RANGE, "requested 0, total size 0");
    assert_int_equal(test_saver_stats(s).dropped, 0);
    levada_state_saver_unref(&s);
}

static void the_rest_of_full_batches_is_counted(void **state)
{
    levada_state_saver *s = test_saver(2, 2);

    (void)state;
    for (int64_t k = 0; k < 3; k++) test_saver_put(s, k, 2 + 2 * k);
    assert_int_equal(levada_state_saver_close(s, false, NULL), LEVADA_OK);
    test_saver_step(s, 2, "k0/0 k1/0");
    test_saver_step(s, 2, "k1/1 k2/0");
    refuse_next(s, 2, LEVADA_EOUT_OF_RANGE, "requested 2, total size 1");
    assert_int_equal(test_saver_stats(s).dropped, 1);
    levada_state_saver_unref(&s);
}

/* A second consumer waits while the first one can still save: nothing is lost at the end. */
static void two_consumers_with_small_batches_lose_nothing(void **state)
{
    levada_state_saver_options o = test_saver_options(2, 2);

    (void)state;
    o.allow_small_batch = true;
    levada_state_saver *s = test_saver_of(&o);
    test_saver_put(s, 1, 4);
    assert_int_equal(levada_state_saver_close(s, false, NULL), LEVADA_OK);
    levada_segment_batch *batch = test_saver_take(s, 2);
    call                  other = { .s = s, .n = 2, .timeout = LEVADA_FOREVER };
    call_start(&other);
    assert_int_equal(test_batch_save(batch, NULL), LEVADA_OK);
    call_join(&other, LEVADA_OK, "");
    call third = { .s = s, .n = 2, .timeout = 0 };
    call_run(&third);
    assert_int_equal(third.status, LEVADA_EOUT_OF_RANGE); /* the last segment is taken */
    levada_segment_batch_destroy(&batch);
    levada_segment_batch_destroy(&other.batch);
    levada_state_saver_unref(&s);
}

static void a_cancelling_close_drops_what_waits_for_states(void **state)
{
    levada_state_saver_options o = test_saver_options(1, 2);
    levada_error               err = LEVADA_ERROR_INIT;

    (void)state;
    o.capacity = 3;
    levada_state_saver *s = test_saver_of(&o);
    for (int64_t k = 1; k <= 3; k++) test_saver_put(s, k, 4);
    levada_segment_batch *batch = test_saver_take(s, 1);
    call                  insert = { .s = s, .inserts = true, .k = 4, .timeout = LEVADA_FOREVER };
    call_start(&insert);
    assert_int_equal(levada_state_saver_close(s, true, NULL), LEVADA_OK);
    call_join(&insert, LEVADA_ECANCELLED, "");
    expect_error(test_batch_save(batch, &err), LEVADA_ECANCELLED, err.message,
                 "no state can be saved");
    expect_error(levada_segment_batch_requeue(batch, &err), LEVADA_ECANCELLED, err.message, "");
    assert_int_equal(levada_segment_batch_discard(batch, NULL), LEVADA_OK);
    levada_segment_batch_destroy(&batch);
    assert_int_equal(test_saver_stats(s).incomplete, 0);
    batch = test_saver_take(s, 1);
    assert_non_null(batch);
    expect_error(levada_segment_batch_requeue(batch, &err), LEVADA_OK, err.message, "");
    levada_segment_batch_destroy(&batch);
    batch = test_saver_take(s, 2);
    assert_non_null(batch);
    levada_segment_batch_destroy(&batch);
    refuse_next(s, 1, LEVADA_EOUT_OF_RANGE, "insufficient");
    assert_int_equal(test_saver_stats(s).dropped, 3);
    assert_int_equal(test_saver_stats(s).live, 0);
    levada_state_saver_unref(&s);
}

/* -- states that nobody saved ------------------------------------------------------------------ */

static void unsaved_states_are_reported(void **state)
{
    levada_state_saver_options o = test_saver_options(1, 2);
    levada_error               err = LEVADA_ERROR_INIT;
    int64_t                    one = 1;
    char                      *text = NULL;
    levada_status              st;

    (void)state;
    o.capacity = 2;
    levada_state_saver *s = test_saver_of(&o);
    test_saver_put(s, 5, 6);
    levada_segment_batch *batch = test_saver_take(s, 1);
    levada_tensor        *c = test_tensor(LEVADA_INT64, 1, &one, &one);
    assert_int_equal(levada_segment_batch_save(batch, 1, c, NULL), LEVADA_OK);
    levada_tensor_unref(&c);
    call take = { .s = s, .n = 1, .timeout = LEVADA_FOREVER };
    call_start(&take);
    assert_int_equal(levada_waiters_json(NULL, &text, NULL), LEVADA_OK);
    assert_non_null(strstr(text, "\"detail\": \"ready 0, incomplete 2, unsaved 1 for 0."));
    levada_string_free(&text);
    levada_state_saver_cancel(s);
    call_join(&take, LEVADA_ECANCELLED, "cancelled");
    assert_null(test_saver_wait(s, 1, 20000000, &st, &err));
    expect_error(
        st, LEVADA_EDEADLINE_EXCEEDED, err.message,
        "ready 0, incomplete 2; state 'h' of key '00000_of_00003:k5' was not saved for 0.");
    assert_int_equal(levada_state_saver_unsaved_json(s, &text, NULL), LEVADA_OK);
    assert_non_null(strstr(text, "[{\"key\": \"00000_of_00003:k5\", \"states\": [\"h\"]"));
    levada_string_free(&text);
    assert_in_range(test_saver_stats(s).oldest_unsaved, 20000000, 60 * TEST_SECOND);
    test_saver_put(s, 6, 6);
    levada_segment_batch_destroy(&batch); /* now nobody can save it */
    assert_int_equal(test_saver_stats(s).abandoned, 1);
    test_saver_step(s, 1, "k6/0");
    batch = test_saver_take(s, 1);
    levada_segment_batch_destroy(&batch);
    refuse_next(s, 1, LEVADA_EFAILED_PRECONDITION, "and its batch is gone");
    assert_int_equal(levada_state_saver_close(s, true, NULL), LEVADA_OK);
    refuse_next(s, 1, LEVADA_EOUT_OF_RANGE, "");
    levada_state_saver_unref(&s);
}

typedef struct log_lines {
    atomic_int n;
    char       text[512];
} log_lines;

static void log_line(void *user, levada_log_level level, const char *line)
{
    log_lines *lines = user;

    if (level != LEVADA_LOG_WARNING) return;
    snprintf(lines->text, sizeof(lines->text), "%s", line);
    atomic_fetch_add(&lines->n, 1);
}

static void a_forgotten_state_is_logged_once(void **state)
{
    const levada_saver_field   x = { "x", LEVADA_NONE, { -1, { 0 } }, false };
    levada_state_saver_options o = test_saver_options(1, 1);
    levada_env_options         eo = LEVADA_ENV_OPTIONS_INIT;
    levada_env                *env = NULL;
    levada_state_saver        *s = NULL;
    levada_saver_example       e = LEVADA_SAVER_EXAMPLE_INIT;
    levada_segment_batch      *batch = NULL, *other = NULL;
    log_lines                  lines = { 0 };
    int64_t                    two = 2, data[2] = { 0 };

    (void)state;
    eo.log = log_line;
    eo.user = &lines;
    assert_int_equal(levada_env_create(&eo, &env, NULL), LEVADA_OK);
    o.state_timeout = 10000000;
    o.nsequences = o.nstates = 1;
    o.sequences = o.states = &x;
    assert_int_equal(levada_state_saver_create(env, &o, &s, NULL), LEVADA_OK);
    levada_env_destroy(&env);
    levada_tensor *sequence = test_tensor(LEVADA_INT64, 1, &two, data);
    levada_tensor *start = test_tensor(LEVADA_INT64, 0, NULL, data);
    e.key = "a";
    e.key_size = 1;
    e.length = 2;
    e.sequences = &sequence;
    e.states = &start;
    assert_int_equal(levada_state_saver_insert(s, &e, false, 0, NULL), LEVADA_OK);
    levada_tensor_unref(&sequence);
    levada_tensor_unref(&start);
    assert_int_equal(levada_state_saver_next(s, 1, 0, &batch, NULL), LEVADA_OK);
    assert_int_equal(levada_state_saver_next(s, 1, TEST_SECOND / 5, &other, NULL),
                     LEVADA_EDEADLINE_EXCEEDED);
    assert_int_equal(atomic_load(&lines.n), 1);
    assert_non_null(
        strstr(lines.text, "state 'x' of key '00000_of_00002:a' was not saved for 0."));
    levada_segment_batch_destroy(&batch);
    levada_state_saver_unref(&s);
}

/* Abandoned examples fill it, but the last segment of another one is still in a batch. */
static void a_batch_that_may_be_requeued_is_waited_for(void **state)
{
    levada_state_saver_options o = test_saver_options(1, 2);
    levada_state_saver        *s;
    levada_segment_batch      *last, *lost;
    levada_error               err = LEVADA_ERROR_INIT;

    (void)state;
    o.capacity = 1;
    s = test_saver_of(&o);
    test_saver_put(s, 0, 2);
    last = test_saver_take(s, 1);
    assert_non_null(last);
    test_saver_put(s, 1, 4);
    lost = test_saver_take(s, 1);
    levada_segment_batch_destroy(&lost);
    assert_int_equal(levada_state_saver_next(s, 1, 0, &lost, &err), LEVADA_EDEADLINE_EXCEEDED);
    assert_int_equal(levada_segment_batch_requeue(last, &err), LEVADA_OK);
    levada_segment_batch_destroy(&last);
    last = test_saver_take(s, 1);
    assert_non_null(last);
    levada_segment_batch_destroy(&last);
    assert_int_equal(levada_state_saver_next(s, 1, 0, &lost, &err), LEVADA_EFAILED_PRECONDITION);
    levada_state_saver_unref(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_simple_steps),
        cmocka_unit_test(examples_in_order),
        cmocka_unit_test(variable_batch_size),
        cmocka_unit_test(lengths_must_fit),
        cmocka_unit_test(zero_length_policies),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(the_take_releases_capacity),
        cmocka_unit_test(reservations_count),
        cmocka_unit_test(a_take_does_not_wait_for_who_cannot_enter),
        cmocka_unit_test(a_take_waits_for_a_reserved_example),
        cmocka_unit_test(a_plain_close_lets_waiting_examples_in),
        cmocka_unit_test(small_batches_shrink_until_nothing_is_left),
        cmocka_unit_test(the_rest_of_full_batches_is_counted),
        cmocka_unit_test(two_consumers_with_small_batches_lose_nothing),
        cmocka_unit_test(a_cancelling_close_drops_what_waits_for_states),
        cmocka_unit_test(unsaved_states_are_reported),
        cmocka_unit_test(a_batch_that_may_be_requeued_is_waited_for),
        cmocka_unit_test(a_forgotten_state_is_logged_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
