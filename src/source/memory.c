/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records in memory: slices of one block, without a copy.
 */
#include "registry/env_priv.h"
#include "tensor/block_priv.h"
#include <levada/source.h>

typedef struct memory_args {
    const levada_block *data;
} memory_args;

typedef struct memory_state {
    const levada_context *context;
    levada_block         *data; /* DATA, with the columns of the source */
    int64_t               next; /* first record that was not given yet  */
} memory_state;

static const levada_arg memory_options[] = {
    LEVADA_ARG(BLOCK, memory_args, data, .required = true, .positional = true,
               .doc = "the records, as a block in memory"),
    LEVADA_ARG_END,
};

/* Records are no batches, wherever they came from. */
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

/* A block of our own with the same columns: origins are written into the blocks of a source. */
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

static levada_status memory_next(void *state, const void *args, levada_block **out,
                                 levada_error *err)
{
    memory_state *s = state;
    int64_t       n = s->data->n - s->next;

    (void)args;
    if (n <= 0) return LEVADA_END;
    if (n > s->context->block_rows) n = s->context->block_rows;
    if (n == s->data->n) {
        LEVADA_TRY(memory_share(s, s->data, out, err));
    } else {
        LEVADA_TRY(levada_block_slice(NULL, s->data, s->next, n, out, err));
    }
    s->next += n;
    return LEVADA_OK;
}

static levada_status memory_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const memory_state *s = state;

    LEVADA_TRY(levada_state_put_i64(to, "rows", s->data->n, err));
    return levada_state_put_i64(to, "next", s->next, err);
}

static levada_status memory_restore(void *state, levada_state_reader *from, levada_error *err)
{
    memory_state *s = state;
    int64_t       rows, next;

    LEVADA_TRY(levada_state_get_count(from, "rows", LEVADA_COUNT_LIMIT, &rows, err));
    LEVADA_TRY(levada_state_get_count(from, "next", rows, &next, err));
    if (rows != s->data->n) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the source has %lld records, but had %lld when the checkpoint was "
                           "saved",
                           (long long)s->data->n, (long long)rows);
    }
    s->next = next;
    return LEVADA_OK;
}

/* A block of its own: the core writes the origins into it. */
static levada_status memory_at(void *state, const void *args, const int64_t *records, int64_t n,
                               levada_block **out, levada_error *err)
{
    memory_state *s = state;
    levada_pool  *pool = levada_env_pool(s->context->env);
    levada_block *picked = NULL;
    uint32_t     *index;
    levada_buffer *owner = NULL;
    levada_status st;

    (void)args;
    LEVADA_TRY(levada_buffer_create(pool, n * 8, &owner, err));
    index = (uint32_t *)(void *)owner->data;
    for (int64_t i = 0; i < n; i++) {
        if (records[i] < 0 || records[i] >= s->data->n) {
            levada_buffer_unref(&owner);
            return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                               "record %lld does not exist: the source has %lld",
                               (long long)records[i], (long long)s->data->n);
        }
        index[i] = 0;
        index[n + i] = (uint32_t)records[i];
    }
    st = levada_block_selection(&s->data, 1, index, index + n, n, &owner, &picked, err);
    if (st == LEVADA_OK) levada_block_ref(s->data); /* selection() takes one */
    levada_buffer_unref(&owner);
    if (st == LEVADA_OK) st = levada_block_gather(pool, picked, out, err);
    levada_block_unref(&picked);
    return st;
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
    .next = memory_next,
    .save = memory_save,
    .restore = memory_restore,
    .at = memory_at,
    .count = memory_count,
};
