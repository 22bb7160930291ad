/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard - one part of `count` equal ones: record (after batching: batch) number i of the input
 * belongs to part i % count.
 */
#include "base/alloc.h"
#include "tensor/block_priv.h"
#include <levada/stage.h>

typedef struct shard_args {
    int64_t index, count;
} shard_args;

typedef struct shard_state {
    bool    batches;
    int64_t seen;
} shard_state;

static const levada_arg shard_options[] = {
    LEVADA_ARG(INT, shard_args, index, .required = true, .positional = true, .min = 0,
               .max = INT64_MAX, .doc = "which part, from 0"),
    LEVADA_ARG(INT, shard_args, count, .required = true, .min = 1, .max = INT64_MAX,
               .doc = "number of parts"),
    LEVADA_ARG_END,
};

static levada_status shard_check(const void *args, const levada_spec *in, levada_spec **out,
                                 levada_error *err)
{
    const shard_args *a = args;

    (void)in;
    (void)out;
    if (a->index < a->count) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "index=%lld must be below count=%lld",
                       (long long)a->index, (long long)a->count);
}

static levada_status shard_open(void *state, const void *args, const levada_context *context,
                                levada_error *err)
{
    (void)args, (void)err;
    ((shard_state *)state)->batches = levada_spec_flags_of(context->in) & LEVADA_SPEC_BATCHED;
    return LEVADA_OK;
}

/* First row of a block, whose first record has the number `seen`, that belongs to the part. */
static int64_t shard_first(const shard_args *a, int64_t seen)
{
    int64_t over = seen % a->count;

    return over <= a->index ? a->index - over : a->count - over + a->index;
}

static levada_status shard_pick(const shard_args *a, const levada_block *block, int64_t first,
                                levada_block **out, levada_error *err)
{
    int64_t       most = (block->n - first - 1) / a->count + 1, n = 0;
    int32_t      *rows = levada_alloc((size_t)most * sizeof *rows);
    levada_status st;

    if (!rows) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a part");
    for (int64_t i = first; n < most; i += a->count) rows[n++] = (int32_t)i;
    st = levada_block_select(block, rows, n, out, err);
    levada_free(rows);
    return st;
}

static levada_status shard_next(void *state, const void *args, levada_iter *in, levada_block **out,
                                levada_error *err)
{
    shard_state      *s = state;
    const shard_args *a = args;
    levada_block     *block = NULL;
    levada_status     st;

    if (a->count == 1) return levada_iter_next(in, out, err);
    for (;;) {
        int64_t first;

        LEVADA_TRY(levada_iter_next(in, &block, err));
        first = shard_first(a, s->seen);
        s->seen += s->batches ? 1 : block->n;
        if (s->batches && first == 0) {
            *out = block;
            return LEVADA_OK;
        }
        if (!s->batches && first < block->n) {
            st = shard_pick(a, block, first, out, err);
            levada_block_unref(&block);
            return st;
        }
        levada_block_unref(&block);
    }
}

static levada_status shard_save(const void *state, levada_state_writer *to, levada_error *err)
{
    return levada_state_put_i64(to, "seen", ((const shard_state *)state)->seen, err);
}

static levada_status shard_restore(void *state, levada_state_reader *from, levada_error *err)
{
    return levada_state_get_count(from, "seen", LEVADA_COUNT_LIMIT, &((shard_state *)state)->seen,
                                  err);
}

const levada_stage_def levada_stage_shard = {
    .struct_size = sizeof(levada_stage_def),
    .name = "shard",
    .doc = "one of several equal parts",
    .example = "range:10 | shard:1,count=3",
    .mode = LEVADA_MODE_SERIAL,
    .rows = LEVADA_ROWS_SUBSET,
    .args = shard_options,
    .args_size = sizeof(shard_args),
    .state_size = sizeof(shard_state),
    .state_version = 1,
    .check = shard_check,
    .open = shard_open,
    .next = shard_next,
    .save = shard_save,
    .restore = shard_restore,
};
