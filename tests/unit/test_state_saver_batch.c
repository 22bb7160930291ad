/* SPDX-License-Identifier: Apache-2.0 */
/* Batches: which states they accept, and steps that fail between a take and its save. */
#include "support/queues.h"
#include "support/savers.h"

#include <levada/levada.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void saved_states_are_checked(void **state)
{
    levada_state_saver_options o = test_saver_options(1, 2);
    levada_error               err = LEVADA_ERROR_INIT;
    int64_t                    dims[] = { 1, TEST_SAVER_H, 1 };
    float                      nan[TEST_SAVER_H] = { 1, 0, 1 };

    (void)state;
    o.check_finite = true;
    levada_state_saver *s = test_saver_of(&o);
    test_saver_put(s, 7, 6);
    levada_segment_batch *batch = test_saver_take(s, 1);
    levada_tensor *good = test_tensor(LEVADA_FLOAT32, 2, dims, nan);
    nan[1] = 1.0f / nan[1];
    levada_tensor *infinite = test_tensor(LEVADA_FLOAT32, 2, dims, nan);
    levada_tensor *deep = test_tensor(LEVADA_FLOAT32, 3, dims, nan);
    dims[0] = 2;
    levada_tensor *few = test_tensor(LEVADA_FLOAT32, 1, dims, nan);
    levada_tensor *doubles = test_tensor(LEVADA_FLOAT64, 1, dims, NULL);
    dims[0] = TEST_SAVER_H;
    dims[1] = 1;
    levada_tensor *across = test_tensor(LEVADA_FLOAT32, 2, dims, nan);
    expect_error(levada_segment_batch_save(batch, 2, good, &err), LEVADA_EINVALID_ARGUMENT,
                 err.message,
                 "state 2 was not declared");
    expect_error(levada_segment_batch_save(batch, 0, deep, &err), LEVADA_EINVALID_ARGUMENT,
                 err.message,
                 "Rank check failed for state 'h'");
    expect_error(levada_segment_batch_save(batch, 0, few, &err), LEVADA_EINVALID_ARGUMENT,
                 err.message,
                 "Rank check failed for state 'h'");
    expect_error(levada_segment_batch_save(batch, 0, doubles, &err), LEVADA_EINVALID_ARGUMENT,
                 err.message,
                 "state 'h' is float32, not float64");
    expect_error(levada_segment_batch_save(batch, 0, across, &err), LEVADA_EINVALID_ARGUMENT,
                 err.message,
                 "should be: [1,3], shape received: [3,1]");
    expect_error(levada_segment_batch_save(batch, 0, infinite, &err), LEVADA_EINVALID_ARGUMENT,
                 err.message, "key '00000_of_00003:k7' is not finite: element 1");
    assert_int_equal(levada_segment_batch_save(batch, 0, good, NULL), LEVADA_OK);
    expect_error(levada_segment_batch_save(batch, 0, good, &err), LEVADA_EINVALID_ARGUMENT,
                 err.message,
                 "already has a value for state 'h'");
    levada_tensor *all[] = { good, infinite, deep, few, doubles, across };
    for (int i = 0; i < 6; i++) levada_tensor_unref(&all[i]);
    levada_segment_batch_destroy(&batch);
    levada_state_saver_unref(&s);
}

/* -- steps that fail --------------------------------------------------------------------------- */

static void a_requeued_batch_comes_again(void **state)
{
    levada_state_saver_options o = test_saver_options(2, 2);
    levada_error               err = LEVADA_ERROR_INIT;
    int64_t                    dims[] = { 2, 2 };
    char                       text[64];

    (void)state;
    o.capacity = 2;
    levada_state_saver *s = test_saver_of(&o);
    test_saver_put(s, 1, 2);
    test_saver_put(s, 2, 4);
    levada_segment_batch *batch = test_saver_take(s, 2);
    test_saver_put(s, 3, 2); /* k1 has left its capacity */
    levada_tensor *c = test_tensor(LEVADA_INT64, 1, dims, dims);
    assert_int_equal(levada_segment_batch_save(batch, 1, c, NULL), LEVADA_OK);
    levada_tensor_unref(&c);
    assert_int_equal(levada_segment_batch_requeue(batch, NULL), LEVADA_OK);
    assert_int_equal(test_saver_stats(s).live, 3); /* above the capacity for a while */
    expect_error(levada_segment_batch_requeue(batch, &err), LEVADA_EFAILED_PRECONDITION,
                 err.message,
                 "was requeued");
    expect_error(test_batch_save(batch, &err), LEVADA_EINVALID_ARGUMENT, err.message, "already");
    levada_segment_batch_destroy(&batch);
    refuse_insert(s, 4, 2, LEVADA_EDEADLINE_EXCEEDED, "3 of 2");
    test_saver_step(s, 2, "k1/0 k2/0");
    batch = test_saver_take(s, 2);
    assert_string_equal(test_batch_text(batch, text), "k2/1 k3/0");
    assert_int_equal(test_batch_save(batch, NULL), LEVADA_OK);
    expect_error(levada_segment_batch_requeue(batch, &err), LEVADA_EFAILED_PRECONDITION,
                 err.message,
                 "all states of the batch are saved");
    levada_segment_batch_destroy(&batch);
    levada_state_saver_unref(&s);
}

static void a_discarded_batch_gives_its_capacity_back(void **state)
{
    levada_state_saver_options o = test_saver_options(2, 2);

    (void)state;
    o.capacity = 2;
    levada_state_saver *s = test_saver_of(&o);
    test_saver_put(s, 1, 2);
    test_saver_put(s, 2, 4);
    levada_segment_batch *batch = test_saver_take(s, 2);
    assert_int_equal(levada_segment_batch_discard(batch, NULL), LEVADA_OK);
    assert_int_equal(levada_segment_batch_discard(batch, NULL), LEVADA_EFAILED_PRECONDITION);
    levada_segment_batch_destroy(&batch);
    assert_int_equal(test_saver_stats(s).discarded, 2);
    assert_int_equal(test_saver_stats(s).live, 0);
    assert_int_equal(test_saver_stats(s).incomplete, 0);
    test_saver_put(s, 2, 4); /* its key is free */
    test_saver_put(s, 1, 4);
    test_saver_step(s, 2, "k2/0 k1/0");
    levada_state_saver_unref(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saved_states_are_checked),
        cmocka_unit_test(a_requeued_batch_comes_again),
        cmocka_unit_test(a_discarded_batch_gives_its_capacity_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
