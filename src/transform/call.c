/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call - each block through a function of the user, in order and one at a time: for functions that
 * have a state or an effect. What was made is saved by value where it waits further down.
 */
#include "run/call.h"
#include "description/columns.h"
#include "run/context.h"
#include "run/node.h"
#include "run/pace.h"
#include "tensor/block_priv.h"

typedef struct call_args {
    const levada_function *fn;
    const levada_value    *spec;
} call_args;

typedef struct call_state {
    const levada_context *context;
    levada_call           call;
    levada_pace           pace;
} call_state;

static const levada_arg call_options[] = {
    LEVADA_ARG(FUNCTION, call_args, fn, .required = true, .positional = true,
               .doc = "a function from blocks to blocks with the same number of records"),
    LEVADA_ARG(VALUE, call_args, spec,
               .doc = "columns of the result: {name: dtype or {dtype, kind, shape}}, and "
                      "{name: [{member: dtype}]} for a list of objects; null = the columns of "
                      "the returned blocks"),
    LEVADA_ARG_END,
};

static levada_status call_check(const void *args, const levada_spec *in, levada_spec **out,
                                levada_error *err)
{
    const call_args *a = args;

    return levada_call_spec(a->fn, a->spec, in, out, err);
}

static levada_status call_open(void *state, const void *args, const levada_context *context,
                               levada_error *err)
{
    call_state *s = state;

    s->context = context;
    return levada_call_open(&s->call, ((const call_args *)args)->fn, context, err);
}

static void call_cancel(void *state) { levada_call_cancel(&((call_state *)state)->call); }

static void call_close(void *state) { levada_call_close(&((call_state *)state)->call); }

static levada_status call_next(void *state, const void *args, levada_input *in, levada_block **out,
                               levada_error *err)
{
    call_state   *s = state;
    const levada_block *next = NULL;
    levada_block       *block = NULL, *made = NULL;
    levada_hint         hint = LEVADA_HINT_ANY;
    int64_t             began;
    levada_status       st, used;

    (void)args;
    if (s->call.def->per_record) hint.rows = levada_pace_rows(&s->pace);
    LEVADA_TRY(levada_input_peek_hinted(in, hint, &next, err));
    began = levada_now();
    st = levada_call_rows(&s->call, next, s->context->out, &made, err);
    if (st == LEVADA_OK) levada_pace_add(&s->pace, levada_now() - began, next->n);
    /* Without a state to save, the function can begin again with the block. */
    if (st == LEVADA_AGAIN || (st < 0 && !s->call.def->save)) return st;
    used = levada_input_next(in, &block, st == LEVADA_OK ? err : NULL);
    if (st == LEVADA_OK) st = used;
    levada_block_unref(&block);
    if (st == LEVADA_OK) {
        *out = made;
        made = NULL;
    }
    levada_block_unref(&made);
    return st;
}

static levada_status call_save(const void *state, levada_state_writer *to, levada_error *err)
{
    return levada_call_save(&((const call_state *)state)->call, to, err);
}

static levada_status call_restore(void *state, levada_state_reader *from, levada_error *err)
{
    return levada_call_restore(&((call_state *)state)->call, from, err);
}

const levada_stage_def levada_stage_call = {
    .struct_size = sizeof(levada_stage_def),
    .name = "call",
    .doc = "passes each block through a function, in order",
    .example = "range:10 | call:{c:twice}",
    .mode = LEVADA_MODE_SERIAL,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .divides = true, .side_effects = true),
    .args = call_options,
    .args_size = sizeof(call_args),
    .state_size = sizeof(call_state),
    .state_version = 1,
    .check = call_check,
    .open = call_open,
    .close = call_close,
    .cancel = call_cancel,
    .next = call_next,
    .save = call_save,
    .restore = call_restore,
};
