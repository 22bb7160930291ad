/* SPDX-License-Identifier: Apache-2.0 */
/*
 * enumerate - the number of each record in a column of its own. After batching, every row has the
 * number of its batch.
 */
#include "description/columns.h"
#include "registry/env_priv.h"
#include "registry/stage_core.h"
#include <levada/stage.h>

typedef struct enumerate_args {
    int64_t     start;
    const char *field;
} enumerate_args;

typedef struct enumerate_state {
    const levada_context *context;
    levada_derived        columns;
    bool                  batches;
    int64_t               seen; /* records, or batches */
} enumerate_state;

static const levada_arg enumerate_options[] = {
    LEVADA_ARG(INT, enumerate_args, start, .positional = true, .otherwise = "0",
               .doc = "number of the first record (batch)"),
    LEVADA_ARG(TEXT, enumerate_args, field, .otherwise = "index", .doc = "name of the column"),
    LEVADA_ARG_END,
};

/* Adds the new column, which comes last. */
static levada_status enumerate_check(const void *args, const levada_spec *in, levada_spec **out,
                                     levada_error *err)
{
    return levada_spec_add_field(in, ((const enumerate_args *)args)->field, LEVADA_INT64, out, err);
}

static levada_status enumerate_open(void *state, const void *args, const levada_context *context,
                                    levada_error *err)
{
    (void)args;
    (void)err;
    ((enumerate_state *)state)->context = context;
    ((enumerate_state *)state)->batches = levada_spec_flags_of(context->in) & LEVADA_SPEC_BATCHED;
    return LEVADA_OK;
}

static void enumerate_close(void *state)
{
    levada_derived_clear(&((enumerate_state *)state)->columns);
}

static levada_status enumerate_block(enumerate_state *s, const enumerate_args *a,
                                     const levada_block *in, levada_block **out, levada_error *err)
{
    levada_pool       *pool = levada_env_pool(s->context->env);
    uint64_t           first = (uint64_t)a->start + (uint64_t)s->seen;
    const levada_spec *spec = NULL;
    levada_builder    *b = NULL;
    void              *values = NULL;
    levada_status      st;

    LEVADA_TRY(levada_derived_get(&s->columns, enumerate_check, a, in->spec, &spec, err));
    LEVADA_TRY(levada_columns_add(pool, in, spec, &b, &values, err));
    for (int64_t i = 0; i < in->n; i++) {
        ((int64_t *)values)[i] = (int64_t)(first + (s->batches ? 0 : (uint64_t)i));
    }
    st = levada_columns_publish(pool, &b, in, out, err);
    levada_builder_destroy(&b);
    return st;
}

static levada_status enumerate_next(void *state, const void *args, levada_input *in,
                                    levada_block **out, levada_error *err)
{
    enumerate_state *s = state;
    levada_block    *block = NULL, *flat = NULL;
    levada_status    st;

    LEVADA_TRY(levada_input_next(in, &block, err));
    st = levada_block_compact(levada_env_pool(s->context->env), block, &flat, err);
    if (st == LEVADA_OK) st = enumerate_block(s, args, flat, out, err);
    if (st == LEVADA_OK) s->seen += s->batches ? 1 : block->n;
    levada_block_unref(&flat);
    levada_block_unref(&block);
    return st;
}

/* Returns the key of the count: a state that counted the records of batches does not pass for one
 * that counts batches. */
static const char *enumerate_key(const enumerate_state *s)
{
    return s->batches ? "batches" : "seen";
}

static levada_status enumerate_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const enumerate_state *s = state;

    return levada_state_put_i64(to, enumerate_key(s), s->seen, err);
}

static levada_status enumerate_restore(void *state, levada_state_reader *from, levada_error *err)
{
    enumerate_state *s = state;

    return levada_state_get_count(from, enumerate_key(s), LEVADA_COUNT_LIMIT, &s->seen, err);
}

const levada_stage_def levada_stage_enumerate = {
    .struct_size = sizeof(levada_stage_def),
    .name = "enumerate",
    .doc = "adds the number of each record (batch) as a column",
    .example = "range:10,start=5 | enumerate",
    .mode = LEVADA_MODE_SERIAL,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .never_rejects = true),
    .core = LEVADA_STAGE_CORE(.late = LEVADA_LATE_PASS),
    .args = enumerate_options,
    .args_size = sizeof(enumerate_args),
    .state_size = sizeof(enumerate_state),
    .state_version = 1,
    .check = enumerate_check,
    .open = enumerate_open,
    .close = enumerate_close,
    .next = enumerate_next,
    .save = enumerate_save,
    .restore = enumerate_restore,
};
