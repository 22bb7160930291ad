/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unroll - long sequences as batches of segments, for training with a state that is carried from
 * one segment to the next.
 *
 * In the layout `slots` a sequence keeps its row of the batch, and the model keeps the states. In
 * the layout `ready` a batch has the states that each of its segments begins with, and the consumer
 * feeds back the states at their ends, as with a state saver (levada/state_saver.h).
 *
 * Records wait whole in the row store, by reference, from the arrival of their block until their
 * last segment. Batches depend on the order of records, and on the order of what is fed back,
 * alone.
 */
#include "batch/unroll_priv.h"
#include "registry/stage_core.h"

#include <stdio.h>
#include <string.h>

#define UNROLL_STEPS (INT64_C(1) << 28)

static const levada_arg unroll_options[] = {
    LEVADA_ARG(INT, levada_unroll_args, num_unroll, .required = true, .positional = true, .min = 1,
               .max = UNROLL_STEPS, .doc = "steps in a segment"),
    LEVADA_ARG(INT, levada_unroll_args, batch_size, .required = true, .min = 1,
               .max = LEVADA_UNROLL_ROWS,
               .doc = "number of slots: sequences that are read at the same time, one per row of "
                      "the batch"),
    LEVADA_ARG(TEXTS, levada_unroll_args, sequences,
               .doc = "fields to cut, with the same length in each record; null = all ragged "
                      "fields"),
    LEVADA_ARG(TEXTS, levada_unroll_args, context,
               .doc = "fields to repeat in each segment; null = all other fields"),
    LEVADA_ARG(TEXT, levada_unroll_args, key,
               .doc = "field with the keys of the sequences; null = their numbers, from 0"),
    LEVADA_ARG(TEXT, levada_unroll_args, length,
               .doc = "integer field with the number of steps of a record; null = the length of "
                      "its sequences"),
    LEVADA_ARG(INT, levada_unroll_args, burn_in, .otherwise = "0", .min = 0, .max = UNROLL_STEPS,
               .doc = "number of steps at the end of a segment that the next segment repeats; "
                      "loss_mask is false at repeated steps"),
    LEVADA_ARG(INT, levada_unroll_args, shift, .otherwise = "0", .min = 0, .max = UNROLL_STEPS,
               .doc = "add FIELD_target, the sequence this many steps later; steps without a "
                      "target are dropped"),
    LEVADA_ARG(TEXTS, levada_unroll_args, targets, .doc = "sequences with a target; null = all"),
    LEVADA_ARG(INT, levada_unroll_args, min_segment, .otherwise = "1", .min = 1,
               .max = UNROLL_STEPS,
               .doc = "minimum number of new steps in a last segment; a shorter segment is "
                      "dropped, and a sequence without another segment is dropped and counted"),
    LEVADA_ARG(CHOICE, levada_unroll_args, zero_length, .choices = "error|skip|segment",
               .doc = "policy for a record without steps: bad record, skip and count it, or emit "
                      "one empty segment"),
    LEVADA_ARG(BOOL, levada_unroll_args, pad, .otherwise = "true",
               .doc = "pad the last segment of a sequence; false = an incomplete last segment is "
                      "an error"),
    LEVADA_ARG(VALUE, levada_unroll_args, padding_values,
               .doc = "{sequence: value}, or one value for all; null = 0, and empty strings; a "
                      "target uses the value of FIELD_target, or else of FIELD"),
    LEVADA_ARG(BOOL, levada_unroll_args, allow_small_batch, .otherwise = "true",
               .doc = "at the end of the input, continue while any slot has a sequence; false = "
                      "stop when a slot is empty, and drop and count the other unfinished "
                      "sequences"),
    LEVADA_ARG(INTS, levada_unroll_args, ranks, .min = 0, .max = LEVADA_UNROLL_ROWS,
               .doc = "[rank, world]: ranks in step, each with its own batch_size slots. All read "
                      "the same records and need the same seed; null = one rank"),
    LEVADA_ARG(CHOICE, levada_unroll_args, layout, .choices = "slots|ready",
               .doc = "slots: a sequence keeps its row, and the model keeps the states; ready: "
                      "batches contain states, and the consumer saves the new states"),
    LEVADA_ARG(VALUE, levada_unroll_args, states,
               .doc = "for ready: map of name to dtype, or to {dtype, shape}; a state starts with "
                      "the field of the same name, or with zeros"),
    LEVADA_ARG(INT, levada_unroll_args, capacity, .min = 1, .max = LEVADA_UNROLL_ROWS,
               .doc = "for ready: number of sequences that are open at the same time, at least "
                      "batch_size; null = batch_size"),
    LEVADA_ARG(BOOL, levada_unroll_args, make_keys_unique, .otherwise = "false",
               .doc = "for ready: append a number to each key, because keys of open sequences must "
                      "be unique"),
    LEVADA_ARG(BOOL, levada_unroll_args, check_finite, .otherwise = "false",
               .doc = "for ready: states with NaN or infinity are errors"),
    LEVADA_ARG_END
};

static levada_status unroll_feeds(const void *args, levada_spec **out, levada_error *err)
{
    const levada_unroll_args *a = args;
    levada_spec *states = NULL;
    levada_status st;

    if (a->layout != LEVADA_UNROLL_READY) return LEVADA_OK;
    LEVADA_TRY(levada_unroll_states(a, &states, err));
    st = levada_spec_add_field(states, LEVADA_UNROLL_NUMBER, LEVADA_INT64, out, err);
    levada_spec_unref(&states);
    return st;
}

static levada_status unroll_open(void *state, const void *args, const levada_context *context,
                                 levada_error *err)
{
    levada_unroll_state *s = state;
    const levada_unroll_args *a = args;

    s->layout = a->layout == LEVADA_UNROLL_READY ? &levada_unroll_ready : &levada_unroll_slots;
    LEVADA_TRY(levada_unroll_records_open(&s->records, a, context, err));
    return s->layout->open(s, err);
}

static void unroll_close(void *state)
{
    levada_unroll_state *s = state;

    if (s->own) s->layout->close(s);
    levada_unroll_records_close(&s->records);
}

static levada_status unroll_next(void *state, const void *args, levada_input *in,
                                 levada_block **out, levada_error *err)
{
    levada_unroll_state *s = state;

    (void)args;
    return s->layout->next(s, in, out, err);
}

static levada_status unroll_feed(void *state, const void *args, const levada_block *back,
                                 levada_error *err)
{
    levada_unroll_state *s = state;

    (void)args;
    return s->layout->feed(s, back, err);
}

static void unroll_take_back(void *state)
{
    levada_unroll_state *s = state;

    s->layout->take_back(s);
}

static levada_status unroll_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const levada_unroll_state *s = state;

    return s->layout->save(s, to, err);
}

static levada_status unroll_restore(void *state, levada_state_reader *from, levada_error *err)
{
    levada_unroll_state *s = state;

    return s->layout->restore(s, from, err);
}

static levada_status unroll_divide(const void *args, const levada_rank *rank,
                                   levada_value **changes, levada_error *err)
{
    char text[96];

    if (rank->in_step) return LEVADA_OK;
    if (!rank->last || ((const levada_unroll_args *)args)->layout != LEVADA_UNROLL_SLOTS) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "equal='%s' divides batches, and a sequence of unroll would miss those "
                           "of other ranks; use parts=, or layout='slots' as the last stage",
                           rank->equal);
    }
    snprintf(text, sizeof text, "{\"ranks\": [%lld, %lld], \"allow_small_batch\": %s}",
             (long long)rank->index, (long long)rank->count,
             strcmp(rank->equal, "pad") == 0 ? "true" : "false");
    return levada_value_parse_json(text, strlen(text), changes, err);
}

const levada_stage_def levada_stage_unroll = {
    .struct_size = sizeof(levada_stage_def),
    .name = "unroll",
    .doc = "cuts long sequences into segments, for a model that carries its state",
    .example = "text_lines:lines.txt | decode_raw:uint8,field=line | unroll:4,batch_size=2,"
               "zero_length=segment",
    .mode = LEVADA_MODE_SERIAL,
    .traits = LEVADA_TRAITS(
            .rows = LEVADA_ROWS_BATCHES, .divides = true,
            .saves =
                "the unfinished sequences by origin, the segment of each, and states by value"),
    .core = LEVADA_STAGE_CORE(.feeds = unroll_feeds, .feed = unroll_feed,
                              .take_back = unroll_take_back, .divide = unroll_divide),
    .args = unroll_options,
    .args_size = sizeof(levada_unroll_args),
    .state_size = sizeof(levada_unroll_state),
    .state_version = 1,
    .check = levada_unroll_check,
    .open = unroll_open,
    .close = unroll_close,
    .next = unroll_next,
    .save = unroll_save,
    .restore = unroll_restore,
};
