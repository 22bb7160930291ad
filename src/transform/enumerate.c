/* SPDX-License-Identifier: Apache-2.0 */
/*
 * enumerate - the number of each record in a column of its own. After batching, every row has the
 * number of its batch.
 */
#include "base/alloc.h"
#include "description/columns.h"
#include "registry/env_priv.h"
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

/* The new column comes last. */
static levada_status enumerate_check(const void *args, const levada_spec *in, levada_spec **out,
                                     levada_error *err)
{
    int32_t       n = levada_spec_count(in);
    levada_field *fields = levada_spec_copy_fields(in);
    levada_status st;

    if (!fields) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a spec");
    fields[n].name = ((const enumerate_args *)args)->field;
    fields[n].dtype = LEVADA_INT64;
    st = levada_spec_create(fields, n + 1, levada_spec_flags_of(in), out, err);
    levada_free(fields);
    return st;
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

/* n numbers from `first`, `step` apart. */
static levada_status enumerate_fill(levada_builder *b, int32_t field, uint64_t first,
                                    uint64_t step, int64_t n, levada_error *err)
{
    void    *values = NULL;
    int64_t *to;

    LEVADA_TRY(levada_builder_values(b, field, n, &values, err));
    to = values;
    for (int64_t i = 0; i < n; i++) to[i] = (int64_t)(first + step * (uint64_t)i);
    return LEVADA_OK;
}

static levada_status enumerate_block(enumerate_state *s, const enumerate_args *a,
                                     const levada_block *in, levada_block **out, levada_error *err)
{
    int32_t            n = levada_spec_count(in->spec);
    const levada_spec *spec = NULL;
    levada_builder    *b = NULL;
    levada_block      *made = NULL;
    levada_status      st;

    LEVADA_TRY(levada_derived_get(&s->columns, enumerate_check, a, in->spec, &spec, err));
    LEVADA_TRY(levada_builder_create(s->context->env, spec, in->n, &b, err));
    for (int32_t i = 0; i < n; i++) levada_builder_share(b, i, &in->columns[i]);
    st = enumerate_fill(b, n, (uint64_t)a->start + (uint64_t)s->seen, !s->batches, in->n, err);
    if (st == LEVADA_OK) st = levada_builder_publish(&b, &made, err);
    if (st == LEVADA_OK) {
        st = levada_block_copy_origins(levada_env_pool(s->context->env), made, in, err);
    }
    if (st == LEVADA_OK) {
        made->bytes += in->bytes;
        *out = made;
        made = NULL;
    }
    levada_block_unref(&made);
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
    st = levada_block_gather(levada_env_pool(s->context->env), block, &flat, err);
    if (st == LEVADA_OK) st = enumerate_block(s, args, flat, out, err);
    if (st == LEVADA_OK) s->seen += s->batches ? 1 : block->n;
    levada_block_unref(&flat);
    levada_block_unref(&block);
    return st;
}

/* A state that counted the records of batches does not pass for one that counts batches. */
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
    .doc = "the number of each record (batch), as a column",
    .example = "range:10,start=5 | enumerate",
    .mode = LEVADA_MODE_SERIAL,
    .rows = LEVADA_ROWS_FREE,
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
