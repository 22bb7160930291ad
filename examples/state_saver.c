/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long sequences in segments, with a state, in C: a "model" whose state is the sum of all numbers
 * that it has read of a sequence. Three sequences of different lengths, batches of two, segments of
 * four steps. In the middle everything is saved, as a program does that may be killed, and a new
 * saver continues. Exits with 0 if every sequence has its right sum at its end.
 */
#include <levada/levada.h>

#include <stdio.h>
#include <string.h>

enum { UNROLL = 4, EXAMPLES = 3 };

static const int64_t lengths[EXAMPLES] = { 10, 3, 17 };
static int           right;

static levada_status make(levada_state_saver **out, levada_error *err)
{
    levada_shape               scalar = { 0, { 0 } };
    levada_saver_field         x = { "x", LEVADA_INT64, scalar, false };
    levada_saver_field         sum = { "sum", LEVADA_INT64, scalar, false };
    levada_state_saver_options o = LEVADA_STATE_SAVER_OPTIONS_INIT;

    o.batch_size = 2;
    o.num_unroll = UNROLL;
    o.pad = o.allow_small_batch = true;
    o.nsequences = o.nstates = 1;
    o.sequences = &x;
    o.states = &sum;
    return levada_state_saver_create(NULL, &o, out, err);
}

/* Sequence k has the numbers 0, 1, 2, ... */
static levada_status insert(levada_state_saver *saver, int64_t k, levada_error *err)
{
    levada_shape         scalar = { 0, { 0 } }, steps = { 1, { lengths[k] } };
    int64_t              zero = 0, numbers[32];
    levada_saver_example e = LEVADA_SAVER_EXAMPLE_INIT;
    levada_tensor       *x = NULL, *sum = NULL;
    char                 key[8];

    for (int64_t t = 0; t < lengths[k]; t++) numbers[t] = t;
    levada_status st = levada_tensor_create(NULL, LEVADA_INT64, &steps, numbers, &x, err);
    if (st == LEVADA_OK) st = levada_tensor_create(NULL, LEVADA_INT64, &scalar, &zero, &sum, err);
    e.key_size = (size_t)snprintf(key, sizeof key, "%d", (int)k);
    e.key = key;
    e.ordinal = k;
    e.sequences = &x;
    e.states = &sum;
    if (st == LEVADA_OK) st = levada_state_saver_insert(saver, &e, false, LEVADA_FOREVER, err);
    levada_tensor_unref(&x);
    levada_tensor_unref(&sum);
    return st;
}

/* One step: reads the segments, adds them to the states, saves the states. */
static levada_status step(levada_state_saver *saver, levada_error *err)
{
    levada_segment_batch *batch = NULL;
    levada_segment_view   v = LEVADA_SEGMENT_VIEW_INIT;
    levada_tensor        *next = NULL;
    levada_status         st = levada_state_saver_next(saver, -1, LEVADA_FOREVER, &batch, err);

    if (st == LEVADA_OK) st = levada_segment_batch_get(batch, &v, err);
    if (st == LEVADA_OK) {
        const int64_t *before = levada_tensor_data(v.states[0]);

        st = levada_tensor_create(NULL, LEVADA_INT64, levada_tensor_shape(v.states[0]), before,
                                  &next, err);
    }
    for (int64_t i = 0; st == LEVADA_OK && i < v.n; i++) {
        const int64_t *x = levada_tensor_data(v.sequences[0]);
        const int32_t *total = levada_tensor_data(v.total_length);
        const int32_t *at = levada_tensor_data(v.sequence);
        const int32_t *count = levada_tensor_data(v.sequence_count);
        int64_t       *sum = levada_tensor_data(next);

        for (int64_t t = 0; t < UNROLL; t++) sum[i] += x[i * UNROLL + t];
        if (at[i] + 1 < count[i]) continue;
        printf("%d steps: %lld\n", (int)total[i], (long long)sum[i]);
        right += sum[i] == (int64_t)total[i] * (total[i] - 1) / 2;
    }
    if (st == LEVADA_OK) st = levada_segment_batch_save(batch, 0, next, err);
    levada_tensor_unref(&next);
    levada_segment_batch_destroy(&batch);
    return st;
}

int main(void)
{
    levada_error        err = LEVADA_ERROR_INIT;
    levada_state_saver *saver = NULL, *again = NULL;
    char               *bytes = NULL;
    size_t              size = 0;
    levada_status       st = make(&saver, &err);

    for (int64_t k = 0; k < EXAMPLES && st == LEVADA_OK; k++) st = insert(saver, k, &err);
    if (st == LEVADA_OK) st = step(saver, &err);
    if (st == LEVADA_OK) st = step(saver, &err);
    /* With the data: the program that continues needs no source until it wants more sequences. */
    if (st == LEVADA_OK) st = levada_state_saver_save(saver, true, NULL, 0, &bytes, &size, &err);
    levada_state_saver_unref(&saver);
    if (st == LEVADA_OK) st = make(&again, &err);
    if (st == LEVADA_OK) st = levada_state_saver_restore(again, bytes, size, NULL, NULL, &err);
    if (st == LEVADA_OK) st = levada_state_saver_close(again, false, &err);
    while (st == LEVADA_OK) st = step(again, &err);
    levada_string_free(&bytes);
    levada_state_saver_unref(&again);
    if (st != LEVADA_EOUT_OF_RANGE) fprintf(stderr, "%s\n", err.message);
    return st == LEVADA_EOUT_OF_RANGE && right == EXAMPLES ? 0 : 1;
}
