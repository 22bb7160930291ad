/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records in memory: slices of one block, without a copy.
 */
#include "base/alloc.h"
#include "registry/env_priv.h"
#include "tensor/block_priv.h"
#include <levada/source.h>

typedef struct memory_args {
    const levada_block *data;
} memory_args;

typedef struct memory_state {
    const levada_context *context;
    levada_block         *data; /* DATA, with the columns of the source */
} memory_state;

static const levada_arg memory_options[] = {
    LEVADA_ARG(BLOCK, memory_args, data, .required = true, .positional = true,
               .doc = "the records, as a block in memory"),
    LEVADA_ARG_END,
};

/* Makes the columns of records, which are not batches, wherever they came from. */
static levada_status memory_check(const void *args, levada_spec **out, levada_error *err)
{
    const levada_spec *in = ((const memory_args *)args)->data->spec;

    if (levada_spec_flags_of(in) == LEVADA_SPEC_PLAIN) {
        *out = levada_spec_ref(in);
        return LEVADA_OK;
    }
    return levada_spec_create(levada_spec_field(in, 0), levada_spec_count(in), LEVADA_SPEC_PLAIN,
                              out, err);
}

/* Shares a block of our own with the same columns: origins are written into the blocks of a source.
 * */
static levada_status memory_share(const memory_state *s, const levada_block *data,
                                  levada_block **out, levada_error *err)
{
    levada_builder *b = NULL;
    levada_status   st;

    LEVADA_TRY(levada_builder_create(s->context->env, s->context->out, data->n, &b, err));
    for (int32_t i = 0; i < levada_spec_count(data->spec); i++) {
        levada_builder_share(b, i, &data->columns[i]);
    }
    st = levada_builder_publish(&b, out, err);
    if (st == LEVADA_OK) (*out)->bytes = data->bytes;
    return st;
}

static levada_status memory_open(void *state, const void *args, const levada_context *context,
                                 levada_error *err)
{
    memory_state *s = state;
    levada_block *flat = NULL;
    levada_status st;

    s->context = context;
    LEVADA_TRY(levada_block_gather(levada_env_pool(context->env),
                                   ((const memory_args *)args)->data, &flat, err));
    st = memory_share(s, flat, &s->data, err);
    levada_block_unref(&flat);
    return st;
}

static void memory_close(void *state) { levada_block_unref(&((memory_state *)state)->data); }

/* Returns records in a row as a slice, which copies nothing. */
static levada_status memory_slice(memory_state *s, int64_t first, int64_t n, levada_block **out,
                                  levada_error *err)
{
    if (n == s->data->n) return memory_share(s, s->data, out, err);
    return levada_block_slice(NULL, s->data, first, n, out, err);
}

/* Makes a block of its own: the core writes the origins into it. */
static levada_status memory_at(void *state, const void *args, const int64_t *records, int64_t n,
                               levada_block **out, levada_error *err)
{
    memory_state *s = state;
    levada_block *picked = NULL;
    int32_t      *rows;
    levada_status st;

    (void)args;
    if (n > 0 && records[n - 1] - records[0] == n - 1) {
        return memory_slice(s, records[0], n, out, err);
    }
    rows = levada_alloc((size_t)n * sizeof *rows + 1);
    if (!rows) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for records");
    for (int64_t i = 0; i < n; i++) rows[i] = (int32_t)records[i];
    st = levada_block_select(s->data, rows, n, &picked, err);
    levada_free(rows);
    if (st == LEVADA_OK) {
        st = levada_block_gather(levada_env_pool(s->context->env), picked, out, err);
    }
    levada_block_unref(&picked);
    return st;
}

/* Does nothing: the records of the block stay. */
static levada_status memory_rewind(void *state, const void *args, levada_error *err)
{
    (void)state, (void)args, (void)err;
    return LEVADA_OK;
}

static int64_t memory_count(const void *args) { return ((const memory_args *)args)->data->n; }

const levada_source_def levada_source_memory = {
    .struct_size = sizeof(levada_source_def),
    .name = "memory",
    .doc = "returns records in memory",
    .example = NULL, /* a block cannot be written down */
    .args = memory_options,
    .args_size = sizeof(memory_args),
    .state_size = sizeof(memory_state),
    .state_version = 1,
    .check = memory_check,
    .open = memory_open,
    .close = memory_close,
    .at = memory_at,
    .count = memory_count,
    .rewind = memory_rewind,
};
