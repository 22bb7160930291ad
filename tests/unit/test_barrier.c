/* SPDX-License-Identifier: Apache-2.0 */
#include "support/queues.h"

#include <levada/binding.h>
#include <levada/barrier.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static levada_status create(int32_t n, const levada_dtype *dtypes, const levada_shape *shapes,
                            const char *name, const char *shared_name, levada_barrier **out,
                            levada_error *err)
{
    levada_barrier_options o = LEVADA_BARRIER_OPTIONS_INIT;

    o.ncomponents = n;
    o.dtypes = dtypes;
    o.shapes = shapes;
    o.name = name;
    o.shared_name = shared_name;
    return levada_barrier_create(NULL, &o, out, err);
}

/* Two components: int64 scalars and byte strings. */
static levada_barrier *make(void)
{
    levada_dtype    dtypes[] = { LEVADA_INT64, LEVADA_BYTES };
    levada_shape    shapes[] = { { 0, { 0 } }, { 0, { 0 } } };
    levada_barrier *b = NULL;

    assert_int_equal(create(2, dtypes, shapes, "b", NULL, &b, NULL),
                     LEVADA_OK);
    return b;
}

/* One letter each. Component 0 gets the letters' numbers, component 1 the letters. */
static levada_status insert(levada_barrier *b, int component, const char *letters,
                            levada_error *err)
{
    int64_t       n = (int64_t)strlen(letters), numbers[32];
    char          text[32][2];
    const char   *list[32];
    levada_status status;

    for (int64_t i = 0; i < n; i++) {
        numbers[i] = letters[i];
        text[i][0] = letters[i];
        text[i][1] = '\0';
        list[i] = text[i];
    }
    levada_tensor *keys = test_strings(1, &n, list);
    levada_tensor *values = component != 0 ? test_strings(1, &n, list)
                                           : test_tensor(LEVADA_INT64, 1, &n, numbers);
    status = levada_barrier_insert_many(b, component, keys, values, err);
    levada_tensor_unref(&keys);
    levada_tensor_unref(&values);
    return status;
}

static void put(levada_barrier *b, int component, const char *letters)
{
    levada_error err = LEVADA_ERROR_INIT;

    if (insert(b, component, letters, &err) != LEVADA_OK) fail_msg("%s", err.message);
}

static void refuse(levada_barrier *b, int component, const char *letters, levada_status status,
                   const char *text)
{
    levada_error err = LEVADA_ERROR_INIT;

    assert_int_equal(insert(b, component, letters, &err), status);
    if (strstr(err.message, text) == NULL) fail_msg("'%s' is not in '%s'", text, err.message);
}

typedef struct take {
    levada_barrier     *b;
    levada_barrier_take how;
    levada_status       status;
    levada_error        err;
    char                keys[64];
    int64_t             indices[64];
    pthread_t           thread;
} take;

static take take_of(levada_barrier *b, int64_t n, bool small, int64_t timeout)
{
    take t = { .b = b, .how = { sizeof(levada_barrier_take), n, small, false, timeout } };

    return t;
}

static void take_run(take *t)
{
    levada_tensor *indices = NULL, *keys = NULL, *values[2] = { 0 };

    t->status = levada_barrier_take_many(t->b, &t->how, &indices, &keys, values, &t->err);
    if (t->status != LEVADA_OK) return;
    int64_t n = levada_tensor_count(keys);
    memcpy(t->keys, levada_tensor_data(keys), (size_t)n);
    t->keys[n] = '\0';
    memcpy(t->indices, levada_tensor_data(indices), (size_t)n * sizeof(int64_t));
    /* Values belong to their keys. */
    assert_memory_equal(levada_tensor_data(values[1]), t->keys, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        assert_int_equal(((int64_t *)levada_tensor_data(values[0]))[i], t->keys[i]);
    }
    levada_tensor_unref(&indices);
    levada_tensor_unref(&keys);
    levada_tensor_unref(&values[0]);
    levada_tensor_unref(&values[1]);
}

static void *take_thread(void *user)
{
    take_run(user);
    return NULL;
}

static void take_start(take *t)
{
    int before = test_waiting(NULL);

    assert_int_equal(pthread_create(&t->thread, NULL, take_thread, t), 0);
    test_until_waiting(NULL, before + 1);
}

static void take_join(take *t) { pthread_join(t->thread, NULL); }

static void expect(const take *t, levada_status status, const char *text)
{
    if (t->status != status) fail_msg("%d %s, not %d", t->status, t->err.message, status);
    const char *found = status == LEVADA_OK ? t->keys : t->err.message;
    bool        same = status == LEVADA_OK ? strcmp(found, text) == 0 : strstr(found, text) != NULL;
    if (!same) fail_msg("'%s' is not '%s'", found, text);
}

static void expect_keys(levada_barrier *b, int64_t n, bool small, const char *keys)
{
    take t = take_of(b, n, small, 0);

    take_run(&t);
    expect(&t, LEVADA_OK, keys);
}

static void expect_drained(levada_barrier *b, int64_t n, bool small, const char *text)
{
    take t = take_of(b, n, small, 0);

    take_run(&t);
    expect(&t, LEVADA_EOUT_OF_RANGE, text);
}

static void keys_leave_when_all_components_are_there(void **state)
{
    levada_barrier *b = make();

    (void)state;
    put(b, 0, "abc");
    assert_int_equal(levada_barrier_ready_size(b), 0);
    assert_int_equal(levada_barrier_incomplete_size(b), 3);
    put(b, 1, "acb");
    assert_int_equal(levada_barrier_ready_size(b), 3);
    assert_int_equal(levada_barrier_incomplete_size(b), 0);
    take t = take_of(b, 3, false, 0);
    take_run(&t);
    expect(&t, LEVADA_OK, "abc"); /* in the order of the call that brought them */
    for (int i = 0; i < 3; i++) assert_int_equal(t.indices[i], INT64_MIN);
    put(b, 0, "a"); /* as a new key */
    assert_int_equal(levada_barrier_incomplete_size(b), 1);
    levada_barrier_unref(&b);
}

static void the_order_is_that_of_first_sight(void **state)
{
    levada_barrier *b = make();

    (void)state;
    put(b, 1, "x");
    put(b, 0, "y");
    put(b, 0, "xz"); /* one new and one known key: the index grows by one */
    put(b, 1, "y");  /* only known ones: it stays */
    put(b, 0, "w");
    put(b, 1, "wz");
    take t = take_of(b, 4, false, 0);
    take_run(&t);
    expect(&t, LEVADA_OK, "xyzw");
    for (int i = 0; i < 4; i++) assert_int_equal(t.indices[i], INT64_MIN + i);
    levada_barrier_unref(&b);
}

static void a_refused_insert_changes_nothing(void **state)
{
    levada_barrier *b = make();
    int64_t         two = 2, one = 1, none = 0;
    const char     *list[] = { "p", "q" };
    levada_tensor  *keys = test_strings(1, &two, list);
    levada_tensor  *short_values = test_tensor(LEVADA_INT64, 1, &one, NULL);
    levada_tensor  *no_values = test_tensor(LEVADA_INT64, 1, &none, NULL);
    levada_error    err = LEVADA_ERROR_INIT;

    (void)state;
    put(b, 0, "ab");
    put(b, 1, "a");
    refuse(b, 0, "cbd", LEVADA_EINVALID_ARGUMENT,
           "Key b already has a value for component 0 in barrier b");
    refuse(b, 1, "bcb", LEVADA_EINVALID_ARGUMENT, "twice");
    refuse(b, 2, "c", LEVADA_EINVALID_ARGUMENT, "out of range");
    refuse(b, -1, "c", LEVADA_EINVALID_ARGUMENT, "out of range");
    assert_int_equal(levada_barrier_insert_many(b, 0, keys, short_values, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_barrier_insert_many(b, 0, keys, no_values, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "Tensors with no elements are not supported"));
    assert_int_equal(levada_barrier_ready_size(b), 1);
    assert_int_equal(levada_barrier_incomplete_size(b), 1);
    put(b, 0, "c");
    put(b, 1, "cb");
    take t = take_of(b, 3, false, 0);
    take_run(&t);
    expect(&t, LEVADA_OK, "abc");
    assert_int_equal(t.indices[2], INT64_MIN + 1);
    levada_tensor_unref(&keys);
    levada_tensor_unref(&short_values);
    levada_tensor_unref(&no_values);
    levada_barrier_unref(&b);
}

static void small_batches_after_the_close(void **state)
{
    levada_barrier *b = make();

    (void)state;
    put(b, 0, "abcd");
    put(b, 1, "ab");
    assert_int_equal(levada_barrier_close(b, false, NULL), LEVADA_OK);
    assert_int_equal(levada_barrier_incomplete_size(b), 2);
    expect_keys(b, 3, true, "ab");
    expect_drained(b, 3, true, "requested 3, total size 0"); /* c and d are not complete */
    put(b, 1, "c");
    expect_keys(b, 3, true, "c");
    put(b, 0, "");
    refuse(b, 0, "ab", LEVADA_ECANCELLED, "is closed");
    assert_int_equal(levada_barrier_close(b, true, NULL), LEVADA_OK);
    refuse(b, 0, "", LEVADA_ECANCELLED, "is closed. Pending enqueues cancelled: 1");
    assert_int_equal(levada_barrier_close(b, true, NULL), LEVADA_ECANCELLED);
    levada_barrier_unref(&b);
}

static void a_closed_barrier_waits_for_what_is_incomplete(void **state)
{
    levada_barrier *b = make();

    (void)state;
    put(b, 0, "abc");
    put(b, 1, "a");
    assert_int_equal(levada_barrier_close(b, false, NULL), LEVADA_OK);
    assert_int_equal(levada_barrier_close(b, false, NULL), LEVADA_ECANCELLED);
    refuse(b, 1, "d", LEVADA_ECANCELLED, "is closed");
    expect_drained(b, 4, false, "requested 4, total size 3");
    expect_keys(b, 0, false, "");
    put(b, 1, "bc");
    expect_keys(b, 3, false, "abc");
    expect_drained(b, 1, false, "requested 1, total size 0");
    expect_drained(b, 0, false, "requested 0, total size 0");
    levada_barrier_unref(&b);
}

static void cancel_drops_what_is_incomplete(void **state)
{
    levada_barrier *b = make();

    (void)state;
    put(b, 0, "abc");
    put(b, 1, "ab");
    assert_int_equal(levada_barrier_close(b, true, NULL), LEVADA_OK);
    refuse(b, 1, "c", LEVADA_ECANCELLED, "is closed");
    expect_drained(b, 3, false, "requested 3, total size 2");
    expect_keys(b, 2, false, "ab");
    expect_drained(b, 1, false, "insufficient elements");
    expect_drained(b, 1, true, "insufficient elements");
    levada_barrier_unref(&b);
}

static void an_empty_closed_barrier_gives_no_empty_batch(void **state)
{
    (void)state;
    for (int cancel = 0; cancel < 2; cancel++) {
        levada_barrier *b = make();

        assert_int_equal(levada_barrier_close(b, cancel != 0, NULL), LEVADA_OK);
        expect_drained(b, 1, true, "is closed and has insufficient elements");
        if (cancel == 0) assert_int_equal(levada_barrier_close(b, true, NULL), LEVADA_OK);
        levada_barrier_unref(&b);
    }
}

static void a_waiting_take_gets_its_keys_at_once(void **state)
{
    levada_barrier *b = make();
    take            t = take_of(b, 4, false, -1), next = take_of(b, 1, false, -1);

    (void)state;
    take_start(&t);
    take_start(&next);
    for (const char *at = "abcde"; *at != '\0'; at++) {
        put(b, 0, (char[]){ *at, '\0' });
        put(b, 1, (char[]){ *at, '\0' });
    }
    take_join(&t);
    take_join(&next);
    expect(&t, LEVADA_OK, "abcd");
    expect(&next, LEVADA_OK, "e"); /* though one was there earlier: first come, first served */
    levada_barrier_unref(&b);
}

static void takes_that_can_not_be_met_any_more_fail(void **state)
{
    levada_barrier *b = make();
    take            first = take_of(b, 3, false, -1), second = take_of(b, 3, false, -1);

    (void)state;
    put(b, 0, "abcd");
    put(b, 1, "ab");
    take_start(&first);
    take_start(&second);
    assert_int_equal(levada_barrier_close(b, false, NULL), LEVADA_OK);
    assert_int_equal(test_waiting(NULL), 2);
    put(b, 1, "cd");
    take_join(&first);
    take_join(&second);
    expect(&first, LEVADA_OK, "abc");
    expect(&second, LEVADA_EOUT_OF_RANGE, "requested 3, total size 1");
    assert_int_equal(levada_barrier_ready_size(b), 1);
    levada_barrier_unref(&b);
}

static void a_small_take_that_waits_loses_nothing_at_the_close(void **state)
{
    levada_barrier *b = make();
    take            t = take_of(b, 3, true, -1), patient = take_of(b, 3, true, -1);

    (void)state;
    put(b, 0, "abcd");
    put(b, 1, "ab");
    take_start(&t);
    assert_int_equal(levada_barrier_close(b, false, NULL), LEVADA_OK);
    take_join(&t);
    expect(&t, LEVADA_OK, "ab");
    patient.how.wait_for_incomplete = true;
    take_start(&patient);
    put(b, 1, "c");
    assert_int_equal(test_waiting(NULL), 1);
    put(b, 1, "d");
    take_join(&patient);
    expect(&patient, LEVADA_OK, "cd");
    levada_barrier_unref(&b);
}

static void a_take_ends_in_time_or_by_cancel(void **state)
{
    levada_barrier *b = make();
    take            t = take_of(b, 2, false, TEST_SECOND / 100);

    (void)state;
    put(b, 0, "a");
    put(b, 1, "a");
    take_run(&t);
    expect(&t, LEVADA_EDEADLINE_EXCEEDED, "timed out");
    t.how.timeout = -1;
    take_start(&t);
    levada_barrier_cancel(b);
    take_join(&t);
    expect(&t, LEVADA_ECANCELLED, "Dequeue operation was cancelled");
    t = take_of(b, -1, false, -1);
    take_run(&t);
    expect(&t, LEVADA_EINVALID_ARGUMENT, "requested -1 < 0");
    expect_keys(b, 1, false, "a");
    levada_barrier_unref(&b);
}

static bool complete_and_stop(void *user)
{
    put(user, 1, "a");
    return false;
}

static bool never(void *user) { return user != NULL; }

static void who_is_stopped_too_late_gives_its_keys_back(void **state)
{
    levada_barrier *b = make();
    take            t = take_of(b, 2, false, -1);

    (void)state;
    put(b, 0, "ab");
    put(b, 1, "b");
    t.how.timeout = LEVADA_AT_ONCE;
    take_run(&t);
    assert_int_equal(t.status, LEVADA_AGAIN);
    levada_barrier_set_poll(b, complete_and_stop, b, TEST_SECOND / 1000);
    t.how.timeout = -1;
    take_run(&t);
    expect(&t, LEVADA_ECANCELLED, "Dequeue operation was cancelled");
    assert_int_equal(levada_barrier_ready_size(b), 2);
    expect_keys(b, 2, false, "ab");
    levada_barrier_set_poll(b, NULL, NULL, 0);
    levada_barrier_set_accept(b, never, NULL);
    take_start(&t);
    put(b, 0, "cd");
    put(b, 1, "cd");
    take_join(&t);
    expect(&t, LEVADA_ECANCELLED, "Dequeue operation was cancelled");
    expect_keys(b, 2, false, "cd");
    levada_barrier_unref(&b);
}

static void refuses_empty_shapes_and_other_types_of_a_name(void **state)
{
    levada_dtype    dtype = LEVADA_INT64, other = LEVADA_INT32;
    levada_shape    empty = { 1, { 0 } }, one = { 1, { 1 } }, two = { 1, { 2 } };
    levada_shape    any = { 1, { -1 } };
    levada_barrier *a = NULL, *b = NULL;
    levada_error    err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(create(1, &dtype, &empty, NULL, NULL, &a, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "Empty tensors are not supported"));
    assert_int_equal(create(1, &dtype, &any, NULL, NULL, &a, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "all shapes must be fully defined; shape 0 is [?]"));
    assert_int_equal(create(1, &dtype, &one, NULL, "n", &a, &err), LEVADA_OK);
    assert_int_equal(create(1, &dtype, &one, NULL, "n", &b, &err), LEVADA_OK);
    assert_ptr_equal(a, b);
    levada_barrier_unref(&b);
    assert_int_equal(create(1, &other, &one, NULL, "n", &b, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "component 0 is int64"));
    assert_int_equal(create(1, &dtype, &two, NULL, "n", &b, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "component 0 is [1]"));
    levada_barrier_unref(&a);
}

/* -- many threads ------------------------------------------------------------------------------ */

#define ROUNDS 50
#define KEYS 10

typedef struct crowd {
    levada_barrier *b;
    int             id, component;
    int64_t         got;
    levada_status   status;
    pthread_t       thread;
} crowd;

static void *crowd_insert(void *user)
{
    crowd         *c = user;
    char           text[KEYS][16];
    const char    *list[KEYS];
    int64_t        n = KEYS, numbers[KEYS];
    levada_tensor *keys, *values;

    for (int i = 0; i < KEYS; i++) {
        snprintf(text[i], sizeof(text[i]), "%d_%d", c->id, i);
        list[i] = text[i];
        numbers[i] = c->id * KEYS + i;
    }
    keys = test_strings(1, &n, list);
    values = c->component != 0 ? test_strings(1, &n, list)
                               : test_tensor(LEVADA_INT64, 1, &n, numbers);
    c->status = levada_barrier_insert_many(c->b, c->component, keys, values, NULL);
    levada_tensor_unref(&keys);
    levada_tensor_unref(&values);
    return NULL;
}

static void *crowd_take(void *user)
{
    crowd              *c = user;
    levada_tensor      *indices, *keys, *values[2];
    levada_barrier_take how = { sizeof(how), KEYS, false, false, -1 };

    c->status = levada_barrier_take_many(c->b, &how, &indices, &keys, values, NULL);
    if (c->status != LEVADA_OK) return NULL;
    for (int64_t i = 0; i < KEYS; i++) {
        c->got += ((int64_t *)levada_tensor_data(values[0]))[i];
    }
    levada_tensor_unref(&indices);
    levada_tensor_unref(&keys);
    levada_tensor_unref(&values[0]);
    levada_tensor_unref(&values[1]);
    return NULL;
}

/* Half of the keys come, the barrier closes (or is cancelled), then come the other components. */
static void crowd_run(bool half, bool cancel, int want)
{
    levada_barrier *b = make();
    static crowd    in[2 * ROUNDS], out[ROUNDS];
    int             served = 0;

    for (int i = 0; i < ROUNDS; i++) {
        out[i] = (crowd){ .b = b };
        pthread_create(&out[i].thread, NULL, crowd_take, &out[i]);
    }
    for (int phase = 0; phase < 2; phase++) {
        for (int i = 0; i < ROUNDS; i++) {
            /* half: all first components, then all second ones; else: whole keys, in two halves */
            int id = half ? i : (phase * ROUNDS + i) / 2, component = half ? phase : i % 2;
            in[phase * ROUNDS + i] = (crowd){ .b = b, .id = id, .component = component };
            pthread_create(&in[phase * ROUNDS + i].thread, NULL, crowd_insert,
                           &in[phase * ROUNDS + i]);
        }
        for (int i = 0; i < ROUNDS; i++) pthread_join(in[phase * ROUNDS + i].thread, NULL);
        if (phase == 0) assert_int_equal(levada_barrier_close(b, cancel, NULL), LEVADA_OK);
    }
    for (int i = 0; i < ROUNDS; i++) {
        pthread_join(out[i].thread, NULL);
        served += out[i].status == LEVADA_OK;
        if (out[i].status != LEVADA_OK) assert_int_equal(out[i].status, LEVADA_EOUT_OF_RANGE);
    }
    assert_int_equal(served, want);
    levada_barrier_unref(&b);
}

static void threads_get_all_or_nothing_when_it_closes_halfway(void **state)
{
    (void)state;
    crowd_run(false, false, ROUNDS / 2);
    crowd_run(false, true, ROUNDS / 2);
    crowd_run(true, false, ROUNDS); /* keys that are known may still be completed */
    crowd_run(true, true, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_leave_when_all_components_are_there),
        cmocka_unit_test(the_order_is_that_of_first_sight),
        cmocka_unit_test(a_refused_insert_changes_nothing),
        cmocka_unit_test(small_batches_after_the_close),
        cmocka_unit_test(a_closed_barrier_waits_for_what_is_incomplete),
        cmocka_unit_test(cancel_drops_what_is_incomplete),
        cmocka_unit_test(an_empty_closed_barrier_gives_no_empty_batch),
        cmocka_unit_test(a_waiting_take_gets_its_keys_at_once),
        cmocka_unit_test(takes_that_can_not_be_met_any_more_fail),
        cmocka_unit_test(a_small_take_that_waits_loses_nothing_at_the_close),
        cmocka_unit_test(a_take_ends_in_time_or_by_cancel),
        cmocka_unit_test(who_is_stopped_too_late_gives_its_keys_back),
        cmocka_unit_test(refuses_empty_shapes_and_other_types_of_a_name),
        cmocka_unit_test(threads_get_all_or_nothing_when_it_closes_halfway),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
