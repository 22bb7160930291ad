/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory runs out at one allocation after the other while a state saver works: the call that fails
 * says so, changes nothing, and can be made again.
 */
#include "conformance/fault.h"
#include "support/savers.h"

#include <levada/levada.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { EXAMPLES = 6, UNROLL = 2 };

static levada_tensor *tensor(levada_dtype dtype, int32_t rank, const int64_t *dims,
                             const void *data)
{
    levada_shape   shape = { rank, { 0 } };
    levada_tensor *t = NULL;

    for (int32_t i = 0; i < rank; i++) shape.dims[i] = dims[i];
    FAULT_AGAIN(levada_tensor_create(NULL, dtype, &shape, data, &t, err));
    return t;
}

static levada_state_saver *make(void)
{
    const levada_saver_field   x = { "x", LEVADA_NONE, { -1, { 0 } }, false };
    const levada_saver_field   h = { "h", LEVADA_NONE, { -1, { 0 } }, false };
    levada_state_saver_options o = test_saver_options(2, UNROLL);
    levada_state_saver        *s = NULL;

    o.pad = o.allow_small_batch = true;
    o.nsequences = o.nstates = 1;
    o.sequences = &x;
    o.states = &h;
    FAULT_AGAIN(levada_state_saver_create(NULL, &o, &s, err));
    return s;
}

static void put(levada_state_saver *s, int64_t k)
{
    levada_saver_example e = LEVADA_SAVER_EXAMPLE_INIT;
    int64_t              steps = 1 + k, data[16];
    char                 key[8];

    for (int64_t t = 0; t < steps; t++) data[t] = k * 100 + t;
    levada_tensor *x = tensor(LEVADA_INT64, 1, &steps, data);
    levada_tensor *h = tensor(LEVADA_INT64, 0, NULL, &k);
    e.key_size = (size_t)snprintf(key, sizeof(key), "%d", (int)k);
    e.key = key;
    e.ordinal = k;
    e.sequences = &x;
    e.states = &h;
    FAULT_AGAIN(levada_state_saver_insert(s, &e, false, 0, err));
    levada_tensor_unref(&x);
    levada_tensor_unref(&h);
}

/* Every segment in order, its state one more than the last. */
static bool step(levada_state_saver *s, int64_t *next)
{
    levada_segment_batch *batch = NULL;
    levada_segment_view   v = LEVADA_SEGMENT_VIEW_INIT;
    levada_status         st;

    do {
        st = levada_state_saver_next(s, -1, 0, &batch, NULL);
    } while (st == LEVADA_ERESOURCE_EXHAUSTED);
    if (st == LEVADA_EOUT_OF_RANGE) return false;
    assert_int_equal(st, LEVADA_OK);
    assert_int_equal(levada_segment_batch_get(batch, &v, NULL), LEVADA_OK);
    levada_tensor *h = tensor(LEVADA_INT64, 1, &v.n, levada_tensor_data(v.states[0]));
    for (int64_t i = 0; i < v.n; i++) {
        const int64_t *x = (const int64_t *)levada_tensor_data(v.sequences[0]) + i * UNROLL;
        int64_t        k = x[0] / 100, segment = x[0] % 100 / UNROLL;

        assert_int_equal(segment, next[k]++);
        assert_int_equal(((int64_t *)levada_tensor_data(h))[i]++, k + segment);
    }
    FAULT_AGAIN(levada_segment_batch_save(batch, 0, h, err));
    levada_tensor_unref(&h);
    levada_segment_batch_destroy(&batch);
    return true;
}

static void run(bool data)
{
    int64_t             next[EXAMPLES] = { 0 };
    levada_state_saver *s = make();
    char               *bytes = NULL;
    size_t              size = 0;

    for (int64_t k = 0; k < EXAMPLES; k++) put(s, k);
    assert_true(step(s, next));
    assert_true(step(s, next));
    FAULT_AGAIN(levada_state_saver_save(s, data, "e", 1, &bytes, &size, err));
    levada_state_saver_unref(&s);
    s = make();
    FAULT_AGAIN(levada_state_saver_restore(s, bytes, size, NULL, NULL, err));
    levada_string_free(&bytes);
    for (int64_t k = 0; k < EXAMPLES && !data; k++) put(s, k);
    assert_int_equal(levada_state_saver_close(s, false, NULL), LEVADA_OK);
    while (step(s, next)) {}
    for (int64_t k = 0; k < EXAMPLES; k++) assert_int_equal(next[k], k / UNROLL + 1);
    levada_state_saver_unref(&s);
}

static void sweep(bool data)
{
    bool reached = true;

    run(data); /* what the library makes once is there */
    for (int64_t number = 0; reached; number++) {
        int64_t before = fault_live();

        fault_arm(number);
        run(data);
        reached = fault_disarm() > number;
        fault_expect_live(before, number);
    }
}

static void every_failed_allocation_can_be_tried_again(void **state)
{
    (void)state;
    sweep(false);
    sweep(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failed_allocation_can_be_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
