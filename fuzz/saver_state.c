/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States of a state saver: whatever the bytes are, restoring answers a status, and a saver that was
 * restored serves what it has to its end and can be saved again.
 *
 * The first byte says how many steps come before the save, and whether data is saved (128). Then
 * follow edits of that state, of 11 bytes each: what to do, which entry, where in it, a number.
 */
#include "edit.h"
#include <levada/state_saver.h>
#include <levada/tensor.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SAVER_EXAMPLES 4
#define SAVER_MOMENTS 8 /* numbers of steps after which a state is saved */
#define SAVER_STEPS 64 /* more than there are segments */

static void saver_must(levada_status st, const levada_error *err)
{
    if (st == LEVADA_OK) return;
    fprintf(stderr, "%s\n", err->message);
    abort();
}

static levada_state_saver *saver_make(void)
{
    const levada_shape         scalar = { 0, { 0 } }, pair = { 1, { 2 } };
    const levada_saver_field   x = { "x", LEVADA_INT64, scalar, false };
    const levada_saver_field   context = { "c", LEVADA_BYTES, scalar, false };
    const levada_saver_field   states[] = { { "h", LEVADA_FLOAT32, pair, false },
                                            { "n", LEVADA_INT64, scalar, false } };
    levada_state_saver_options o = LEVADA_STATE_SAVER_OPTIONS_INIT;
    levada_state_saver        *saver = NULL;
    levada_error               err = LEVADA_ERROR_INIT;

    o.batch_size = 2;
    o.num_unroll = 3;
    o.capacity = SAVER_EXAMPLES;
    o.pad = o.allow_small_batch = true;
    o.nsequences = o.ncontext = 1;
    o.nstates = 2;
    o.sequences = &x;
    o.context = &context;
    o.states = states;
    saver_must(levada_state_saver_create(NULL, &o, &saver, &err), &err);
    return saver;
}

/* Example k has 4 * k + 1 steps. A restored saver may refuse it. */
static void saver_insert(levada_state_saver *saver, int64_t k)
{
    const levada_shape   scalar = { 0, { 0 } }, pair = { 1, { 2 } }, steps = { 1, { 4 * k + 1 } };
    int64_t              x[4 * SAVER_EXAMPLES] = { k };
    float                h[2] = { 0, 1 };
    levada_saver_example e = LEVADA_SAVER_EXAMPLE_INIT;
    levada_tensor       *sequence = NULL, *context = NULL, *states[2] = { NULL, NULL };
    const int32_t        text[] = { 0, 7 };
    char                 key[8];
    levada_error         err = LEVADA_ERROR_INIT;

    saver_must(levada_tensor_create(NULL, LEVADA_INT64, &steps, x, &sequence, &err), &err);
    saver_must(levada_tensor_create_strings(NULL, &scalar, text, "context", &context, &err),
               &err);
    saver_must(levada_tensor_create(NULL, LEVADA_FLOAT32, &pair, h, &states[0], &err), &err);
    saver_must(levada_tensor_create(NULL, LEVADA_INT64, &scalar, &k, &states[1], &err), &err);
    e.key_size = (size_t)snprintf(key, sizeof key, "k%d", (int)k);
    e.key = key;
    e.ordinal = k;
    e.sequences = &sequence;
    e.context = &context;
    e.states = states;
    if (levada_state_saver_insert(saver, &e, false, 0, &err) != LEVADA_OK && !err.message[0]) {
        abort();
    }
    levada_tensor_unref(&sequence);
    levada_tensor_unref(&context);
    levada_tensor_unref(&states[0]);
    levada_tensor_unref(&states[1]);
}

/* Takes a batch and saves the states that it came with. False at the end. */
static bool saver_step(levada_state_saver *saver)
{
    levada_segment_batch *batch = NULL;
    levada_segment_view   v = LEVADA_SEGMENT_VIEW_INIT;
    levada_error          err = LEVADA_ERROR_INIT;

    if (levada_state_saver_next(saver, -1, 0, &batch, &err) != LEVADA_OK) return false;
    saver_must(levada_segment_batch_get(batch, &v, &err), &err);
    for (int32_t i = 0; i < 2; i++) {
        saver_must(levada_segment_batch_save(batch, i, v.states[i], &err), &err);
    }
    levada_segment_batch_destroy(&batch);
    return true;
}

static void saver_try(const void *bytes, size_t size)
{
    levada_state_saver *saver = saver_make();
    levada_error        err = LEVADA_ERROR_INIT;
    char               *extra = NULL, *again = NULL;
    size_t              n = 0;

    if (levada_state_saver_restore(saver, bytes, size, &extra, &n, &err) == LEVADA_OK) {
        levada_string_free(&extra);
        for (int64_t k = 0; k < SAVER_EXAMPLES; k++) saver_insert(saver, k);
        (void)saver_step(saver);
        if (levada_state_saver_save(saver, true, NULL, 0, &again, &n, &err) == LEVADA_OK) {
            levada_string_free(&again);
        }
        saver_must(levada_state_saver_close(saver, false, &err), &err);
        for (int i = 0; i < SAVER_STEPS && saver_step(saver); i++) continue;
    }
    levada_state_saver_unref(&saver);
}

/* The state after that many steps, with or without data; made and tried once. */
static const char *saver_saved(size_t steps, bool data, size_t *size)
{
    static char  *made[2][SAVER_MOMENTS];
    static size_t sizes[2][SAVER_MOMENTS];
    char        **at = &made[data][steps];

    if (!*at) {
        levada_state_saver *saver = saver_make();
        levada_error        err = LEVADA_ERROR_INIT;

        for (int64_t k = 0; k < SAVER_EXAMPLES; k++) saver_insert(saver, k);
        for (size_t i = 0; i < steps; i++) (void)saver_step(saver);
        saver_must(levada_state_saver_save(saver, data, NULL, 0, at, &sizes[data][steps], &err),
                   &err);
        levada_state_saver_unref(&saver);
        saver_try(*at, sizes[data][steps]);
    }
    *size = sizes[data][steps];
    return *at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes;
    char       *made = NULL;
    size_t      n = 0, made_size = 0;

    if (size < 1) return 0;
    bytes = saver_saved(data[0] % SAVER_MOMENTS, data[0] & 128, &n);
    saver_try(data, size);
    if (edit_state(bytes, n, data + 1, size - 1, &made, &made_size)) {
        saver_try(made, made_size);
        levada_string_free(&made);
    }
    return 0;
}
