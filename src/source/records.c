/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that a function of the user returns, block by block.
 */
#include "run/call.h"
#include "description/columns.h"
#include <levada/source.h>

typedef struct records_args {
    const levada_function *fn;
    const levada_value    *spec;
} records_args;

typedef struct records_state {
    const levada_context *context;
    levada_call           call;
} records_state;

static const levada_arg records_options[] = {
    LEVADA_ARG(FUNCTION, records_args, fn, .required = true, .positional = true,
               .doc = "function that is called without a block, and returns the next block or the "
                      "end"),
    LEVADA_ARG(VALUE, records_args, spec,
               .doc = "columns of the result: {name: dtype or {dtype, kind, shape}}, and "
                      "{name: [{member: dtype}]} for a list of objects; null = the columns of "
                      "the returned blocks"),
    LEVADA_ARG_END,
};

static levada_status records_check(const void *args, levada_spec **out, levada_error *err)
{
    const records_args *a = args;

    if (a->spec) return levada_spec_read(a->spec, LEVADA_SPEC_PLAIN, out, err);
    return levada_spec_create(NULL, 0, LEVADA_SPEC_OPEN, out, err);
}

static levada_status records_open(void *state, const void *args, const levada_context *context,
                                  levada_error *err)
{
    records_state *s = state;

    s->context = context;
    return levada_call_open(&s->call, ((const records_args *)args)->fn, context, err);
}

static void records_close(void *state) { levada_call_close(&((records_state *)state)->call); }

static levada_status records_next(void *state, const void *args, levada_block **out,
                                  levada_error *err)
{
    records_state *s = state;
    levada_block  *made = NULL, *own = NULL;
    levada_status  st;

    (void)args;
    LEVADA_TRY(levada_call_block(&s->call, NULL, &made, err));
    st = levada_spec_fits(s->context->out, made->spec, err);
    if (st == LEVADA_OK && !levada_block_exclusive(made)) { /* origins are written into it */
        st = levada_columns_pick(s->call.pool, made, made->spec, NULL, &own, err);
        if (st == LEVADA_OK) {
            levada_block_unref(&made);
            made = own;
        }
    }
    if (st != LEVADA_OK) levada_block_unref(&made);
    *out = made;
    return st;
}

static void records_cancel(void *state)
{
    records_state *s = state;

    if (s->call.def && s->call.def->cancel) s->call.def->cancel(s->call.run);
}

static levada_status records_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const records_state *s = state;

    if (!s->call.def->save) {
        return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                           "%s cannot be saved: it has no save()",
                           s->call.def->name ? s->call.def->name : "this function");
    }
    return levada_call_save(&s->call, to, err);
}

static levada_status records_restore(void *state, levada_state_reader *from, levada_error *err)
{
    records_state *s = state;

    if (!s->call.def->restore) {
        return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                           "%s cannot be restored: it has no restore()",
                           s->call.def->name ? s->call.def->name : "this function");
    }
    return levada_call_restore(&s->call, from, err);
}

const levada_source_def levada_source_records = {
    .struct_size = sizeof(levada_source_def),
    .name = "records",
    .doc = "returns the records of a function",
    .example = "records:{c:numbers}",
    .traits = LEVADA_TRAITS(.side_effects = true),
    .args = records_options,
    .args_size = sizeof(records_args),
    .state_size = sizeof(records_state),
    .state_version = 1,
    .check = records_check,
    .open = records_open,
    .close = records_close,
    .next = records_next,
    .cancel = records_cancel,
    .save = records_save,
    .restore = records_restore,
};
