/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map - passes each block through a function of the user, which returns the same number of records.
 * The function is pure: it may run for several blocks at a time, and again for the same records.
 */
#include "run/call.h"
#include "description/columns.h"

typedef struct map_args {
    const levada_function *fn;
    const levada_value    *spec;
    bool                   keeps_lengths;
} map_args;

typedef struct map_state {
    const levada_context *context;
    levada_call           call;
} map_state;

static const levada_arg map_options[] = {
    LEVADA_ARG(FUNCTION, map_args, fn, .required = true, .positional = true,
               .doc = "a pure function from blocks to blocks with the same number of records"),
    LEVADA_ARG(VALUE, map_args, spec,
               .doc = "columns of the result: {name: dtype or {dtype, kind, shape}}, and "
                      "{name: [{member: dtype}]} for a list of objects; null = the columns of "
                      "the returned blocks"),
    LEVADA_ARG(BOOL, map_args, keeps_lengths, .otherwise = "false",
               .doc =
                   "declares that fn does not change the length of any field nor, without spec, "
                   "the columns, so that the lengths in an index apply to the result"),
    LEVADA_ARG_END,
};

static levada_status map_check(const void *args, const levada_spec *in, levada_spec **out,
                               levada_error *err)
{
    const map_args *a = args;

    if (!levada_function_info(a->fn)->pure) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "map needs a pure function, because it may call it again for the same "
                           "records; use call");
    }
    LEVADA_TRY(levada_call_spec(a->fn, a->spec, in, out, err));
    if (a->spec || !a->keeps_lengths) return LEVADA_OK;
    levada_spec_unref(out);
    return LEVADA_OK; /* the columns of its input */
}

static void map_vary(const void *args, levada_traits *traits)
{
    traits->keeps_lengths = ((const map_args *)args)->keeps_lengths;
}

static levada_status map_open(void *state, const void *args, const levada_context *context,
                              levada_error *err)
{
    map_state *s = state;

    s->context = context;
    return levada_call_open(&s->call, ((const map_args *)args)->fn, context, err);
}

static void map_cancel(void *state) { levada_call_cancel(&((map_state *)state)->call); }

static void map_close(void *state) { levada_call_close(&((map_state *)state)->call); }

static levada_status map_apply(void *state, const void *args, const levada_block *in,
                               levada_block **out, levada_error *err)
{
    map_state *s = state;

    (void)args;
    return levada_call_rows(&s->call, in, s->context->out, out, err);
}

const levada_stage_def levada_stage_map = {
    .struct_size = sizeof(levada_stage_def),
    .name = "map",
    .doc = "passes each block through a pure function",
    .example = "range:10 | map:{c:twice}",
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS,
                            .side_effects = true, .vary = map_vary),
    .args = map_options,
    .args_size = sizeof(map_args),
    .state_size = sizeof(map_state),
    .check = map_check,
    .open = map_open,
    .close = map_close,
    .cancel = map_cancel,
    .apply = map_apply,
};
