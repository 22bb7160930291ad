/* SPDX-License-Identifier: Apache-2.0 */
#include "support/versioned.h"

#include "support/blocks.h"
#include "support/files.h"
#include "support/savers.h"

#include <levada/levada.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define VERSIONED_MOST 1024

levada_status test_use_watchdog(const void *options, levada_error *err)
{
    levada_watchdog *watchdog = NULL;
    levada_status    st = levada_watchdog_create(NULL, options, &watchdog, err);

    levada_watchdog_destroy(&watchdog);
    return st;
}

/* Filled in where a call waits for too long; none does. */
levada_status test_use_wait(const void *wait, levada_error *err)
{
    levada_watchdog_options o = LEVADA_WATCHDOG_OPTIONS_INIT;
    levada_watchdog        *watchdog = NULL;
    unsigned char           copy[VERSIONED_MOST];
    levada_status           st;

    memcpy(copy, wait, sizeof copy);
    assert_int_equal(levada_watchdog_create(NULL, &o, &watchdog, NULL), LEVADA_OK);
    st = levada_watchdog_next(watchdog, 0, (levada_wait *)(void *)copy, err);
    levada_watchdog_destroy(&watchdog);
    return st == LEVADA_AGAIN ? LEVADA_OK : st;
}

/* With a field of each kind that must be there. */
levada_status test_use_saver(const void *options, levada_error *err)
{
    const levada_saver_field    x = { "x", LEVADA_INT64, { 0, { 0 } }, false };
    unsigned char               copy[VERSIONED_MOST];
    levada_state_saver_options *o = (levada_state_saver_options *)(void *)copy;
    levada_state_saver         *saver = NULL;
    levada_status               st;

    memcpy(copy, options, sizeof copy);
    o->nsequences = o->nstates = 1;
    o->sequences = o->states = &x;
    st = levada_state_saver_create(NULL, o, &saver, err);
    levada_state_saver_unref(&saver);
    return st;
}

levada_status test_use_stats(const void *stats, levada_error *err)
{
    levada_state_saver *saver = test_saver(1, 1);
    unsigned char       copy[VERSIONED_MOST];
    levada_status       st;

    memcpy(copy, stats, sizeof copy);
    st = levada_state_saver_get_stats(saver, (levada_state_saver_stats *)(void *)copy, err);
    levada_state_saver_unref(&saver);
    return st;
}

levada_status test_use_example(const void *example, levada_error *err)
{
    levada_state_saver_options o = test_saver_options(1, 1);
    levada_state_saver        *saver;
    unsigned char              copy[VERSIONED_MOST];
    levada_saver_example      *e = (levada_saver_example *)(void *)copy;
    const levada_shape         none = { 1, { 0 } }, scalar = { 0, { 0 } };
    const levada_shape         floats = { 1, { TEST_SAVER_H } };
    levada_tensor             *tokens = NULL, *id = NULL, *states[2] = { NULL, NULL };
    levada_status              st;

    o.zero_length = LEVADA_ZERO_LENGTH_SKIP;
    saver = test_saver_of(&o);
    assert_int_equal(levada_tensor_create(NULL, LEVADA_INT64, &none, NULL, &tokens, NULL), 0);
    assert_int_equal(levada_tensor_create(NULL, LEVADA_INT64, &scalar, NULL, &id, NULL), 0);
    assert_int_equal(levada_tensor_create(NULL, LEVADA_FLOAT32, &floats, NULL, &states[0], NULL),
                     0);
    states[1] = id;
    memcpy(copy, example, sizeof copy);
    e->length = 0;
    e->sequences = &tokens;
    e->context = &id;
    e->states = states;
    st = levada_state_saver_insert(saver, e, false, 0, err);
    levada_tensor_unref(&tokens);
    levada_tensor_unref(&id);
    levada_tensor_unref(&states[0]);
    levada_state_saver_unref(&saver);
    return st;
}

levada_status test_use_view(const void *view, levada_error *err)
{
    levada_state_saver   *saver = test_saver(1, 1);
    levada_segment_batch *batch = NULL;
    unsigned char         copy[VERSIONED_MOST];
    levada_status         st;

    test_saver_put(saver, 1, 1);
    batch = test_saver_take(saver, 1);
    memcpy(copy, view, sizeof copy);
    st = levada_segment_batch_get(batch, (levada_segment_view *)(void *)copy, err);
    levada_segment_batch_destroy(&batch);
    levada_state_saver_unref(&saver);
    return st;
}

levada_status test_use_sizes(const void *sizes, levada_error *err)
{
    static const int32_t lengths[] = { 2, 3 };
    levada_block        *batch = test_block(test_pool(), lengths, 2, 0);
    unsigned char        copy[VERSIONED_MOST];
    levada_status        st;

    memcpy(copy, sizes, sizeof copy);
    st = levada_batch_measure(batch, "x", (levada_batch_sizes *)(void *)copy, err);
    levada_block_unref(&batch);
    return st;
}

levada_status test_use_padding(const void *how, levada_error *err)
{
    static const int32_t lengths[] = { 2, 3 };
    levada_block        *batch = test_block(test_pool(), lengths, 2, 0), *out = NULL;
    levada_status        st = levada_batch_pad(NULL, batch, "x", how, &out, err);

    levada_block_unref(&out);
    levada_block_unref(&batch);
    return st;
}

levada_status test_use_write(const void *options, levada_error *err)
{
    levada_sink  *sink = NULL;
    levada_status st = levada_sink_open(t_path("w.csv"), options, &sink, err);

    levada_sink_destroy(&sink);
    return st;
}

levada_status test_use_written(const void *result, levada_error *err)
{
    unsigned char copy[1024];
    size_t        size, after;
    levada_sink  *sink = NULL;
    levada_status st = levada_sink_open(t_path("w.csv"), NULL, &sink, err);

    memcpy(&size, result, sizeof size);
    memcpy(copy, result, sizeof copy);
    if (st == LEVADA_OK) st = levada_sink_close(sink, (levada_write_result *)(void *)copy, err);
    levada_sink_destroy(&sink);
    memcpy(&after, copy, sizeof after);
    assert_int_equal(after, size);
    return st;
}
