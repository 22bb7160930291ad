/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard - one part of `count`: record (after batching: batch) number i of the input belongs to part
 * i % count.
 *
 * Records number k * count to (k + 1) * count - 1 are a round: one record for each part. Without
 * `equal` the last round may be incomplete, so some parts have one record more than others.
 * equal=drop holds a record back until its round is complete, and drops it at the end of the input.
 * equal=pad adds the field `is_padding`; at the end, each part without a record in the last round
 * emits a copy of one of that round with is_padding true. In a copy of a batch all sequences have
 * length 0.
 *
 * sync=buckets divides batches of one bucket between the parts. That is done where the batches are
 * made: shard then changes the options of the stage upstream, and takes no place of its own.
 */
#include "description/columns.h"
#include "registry/env_priv.h"
#include "registry/stage_core.h"
#include "state/damaged.h"
#include "tensor/builder_priv.h"
#include "tensor/merge.h"
#include <levada/dataset.h>
#include <levada/rowstore.h>

#include <stdio.h>
#include <string.h>

typedef struct shard_args {
    int64_t     index, count;
    const char *equal, *sync;
} shard_args;

typedef struct shard_state {
    const levada_context *context;
    bool                  batches;
    char                  equal;   /* 'd'rop, 'p'ad, or 0 */
    int64_t               seen;    /* elements of the input */
    levada_cursor         held;    /* one element: to emit once its round is complete, or to copy */
    levada_derived        columns; /* of pad */
    shard_args            args;
    levada_merge          merge; /* the block that is being made; empty between two calls */
    levada_merge_input    rows;  /* of it */
} shard_state;

static const levada_arg shard_options[] = {
    LEVADA_ARG(INT, shard_args, index, .required = true, .positional = true, .min = 0,
               .max = INT64_MAX, .doc = "number of the part, from 0"),
    LEVADA_ARG(INT, shard_args, count, .required = true, .min = 1, .max = INT64_MAX,
               .doc = "number of parts"),
    LEVADA_ARG(TEXT, shard_args, equal,
               .doc = "make all parts the same size: drop discards the surplus records (batches), "
                      "pad adds a copy with is_padding true; null = sizes may differ by one"),
    LEVADA_ARG(TEXT, shard_args, sync,
               .doc = "buckets, directly after bucket_by_sequence_length: keep ranks in step, so "
                      "that at each step the batches of all parts come from one bucket and have "
                      "the same shape, and all parts have the same number of steps; equal=drop or "
                      "pad (null) sets the policy at the end. Sets ranks and tail of the buckets"),
    LEVADA_ARG_END,
};

/* Derives the columns; with pad, the flag comes last. */
static levada_status shard_derive(const void *args, const levada_spec *in, levada_spec **out,
                                  levada_error *err)
{
    (void)args;
    return levada_spec_add_field(in, "is_padding", LEVADA_BOOL, out, err);
}

static levada_status shard_check(const void *args, const levada_spec *in, levada_spec **out,
                                 levada_error *err)
{
    const shard_args *a = args;

    if (a->sync && strcmp(a->sync, "buckets") != 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "sync='%.32s' must be buckets", a->sync);
    }
    if (a->index >= a->count) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "index=%lld must be below count=%lld",
                           (long long)a->index, (long long)a->count);
    }
    if (!a->equal || strcmp(a->equal, "drop") == 0) return LEVADA_OK;
    if (strcmp(a->equal, "pad") == 0) return shard_derive(args, in, out, err);
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "equal='%.32s' must be drop or pad",
                       a->equal);
}

static bool shard_ranks(const void *args, levada_rank *out)
{
    const shard_args *a = args;

    *out = (levada_rank){ a->index, a->count, a->equal ? a->equal : "pad", true, true };
    return a->sync != NULL;
}

static void shard_vary(const void *args, levada_traits *traits)
{
    const char *equal = ((const shard_args *)args)->equal;

    if (equal && equal[0] == 'p') traits->rows = LEVADA_ROWS_MANY; /* copies fill the last round */
}

static int64_t shard_count(const void *args, int64_t n)
{
    const shard_args *a = args;
    int64_t           rest = n % a->count;

    if (a->equal) return n / a->count + (a->equal[0] == 'p' && rest > 0);
    return n / a->count + (a->index < rest);
}

static levada_status shard_open(void *state, const void *args, const levada_context *context,
                                levada_error *err)
{
    shard_state      *s = state;
    const shard_args *a = args;

    (void)err;
    s->context = context;
    s->args = *a;
    s->batches = levada_spec_flags_of(context->in) & LEVADA_SPEC_BATCHED;
    s->equal = a->equal ? a->equal[0] : 0;
    return LEVADA_OK;
}

static void shard_close(void *state)
{
    shard_state *s = state;

    levada_cursor_clear(&s->held);
    levada_derived_clear(&s->columns);
    levada_merge_clear(&s->merge);
    levada_merge_input_clear(&s->rows);
}

/* Finds the first row of a block, whose first record has the number `seen`, that belongs to the
 * part. */
static int64_t shard_first(const shard_args *a, int64_t seen)
{
    int64_t over = seen % a->count;

    return over <= a->index ? a->index - over : a->count - over + a->index;
}

/* Returns true if the last round of `seen` elements is incomplete, and the part has none in it. */
static bool shard_lacks(const shard_args *a, int64_t seen)
{
    int64_t in_round = seen % a->count;

    return in_round > 0 && a->index >= in_round;
}

/* -- pad */

static levada_status shard_empty_rows(levada_builder *b, int32_t i, levada_error *err)
{
    levada_column *c = &b->block->columns[i];
    size_t         bytes = (size_t)c->n * sizeof(int32_t);
    int32_t       *begin = NULL, *end = NULL;

    if (c->field->padded) {
        levada_buffer_unref(&c->lengths_owner);
        c->lengths = NULL;
        LEVADA_TRY(levada_builder_lengths(b, i, &begin, err));
        memset(begin, 0, bytes);
    } else if (c->field->depth > 0) {
        levada_buffer_unref(&c->level[0].owner);
        memset(&c->level[0], 0, sizeof c->level[0]);
        LEVADA_TRY(levada_builder_ranges(b, i, 0, c->n, &begin, &end, err));
        memset(begin, 0, bytes);
        memset(end, 0, bytes);
    }
    return LEVADA_OK;
}

/* Makes the block with is_padding in all of its rows; takes *block. */
static levada_status shard_flag(shard_state *s, levada_block **block, bool padding,
                                levada_block **out, levada_error *err)
{
    levada_pool       *pool = levada_env_pool(s->context->env);
    const levada_spec *spec = NULL;
    levada_block      *flat = NULL;
    levada_builder    *b = NULL;
    void              *flags = NULL;
    int32_t            n = levada_spec_count((*block)->spec);
    levada_status      st = levada_block_gather(pool, *block, &flat, err);

    levada_block_unref(block);
    if (st != LEVADA_OK) return st;
    st = levada_derived_get(&s->columns, shard_derive, NULL, flat->spec, &spec, err);
    if (st == LEVADA_OK) st = levada_columns_add(pool, flat, spec, &b, &flags, err);
    if (st == LEVADA_OK) memset(flags, padding, (size_t)flat->n);
    for (int32_t i = 0; padding && s->batches && st == LEVADA_OK && i < n; i++) {
        st = shard_empty_rows(b, i, err);
    }
    if (st == LEVADA_OK) st = levada_columns_publish(pool, &b, flat, out, err);
    levada_builder_destroy(&b);
    levada_block_unref(&flat);
    return st;
}

/* -- records */

static void shard_hold(shard_state *s, levada_block **block)
{
    levada_cursor_clear(&s->held);
    s->held.block = *block;
    *block = NULL;
}

/* Picks the record `held` (if not NULL), then n of the block, each a->count after the one before.
 * */
static levada_status shard_pick(shard_state *s, const levada_block *held,
                                const levada_block *block, int64_t first, int64_t n,
                                levada_block **out, levada_error *err)
{
    LEVADA_TRY(levada_merge_begin(&s->merge, levada_env_pool(s->context->env), n + (held != NULL),
                                  err));
    if (held) {
        LEVADA_TRY(levada_merge_switch(&s->rows, held, err));
        levada_merge_row(&s->merge, &s->rows, 0);
    }
    LEVADA_TRY(levada_merge_switch(&s->rows, block, err));
    for (int64_t k = 0; k < n; k++) {
        levada_merge_row(&s->merge, &s->rows, first + k * s->args.count);
    }
    return levada_merge_end(&s->merge, out, err);
}

/* Selects records; *out stays NULL if no record of the block goes out now. */
static levada_status shard_records(shard_state *s, const levada_block *block, levada_block **out,
                                   levada_error *err)
{
    const shard_args *a = &s->args;
    int64_t       first = shard_first(a, s->seen), seen = s->seen + block->n;
    int64_t       mine = first < block->n ? (block->n - first - 1) / a->count + 1 : 0;
    bool          drop = s->equal == 'd', whole = seen / a->count > s->seen / a->count;
    bool          release = drop && s->held.block && whole;
    bool          keep = drop && mine > 0 && seen % a->count > a->index;
    bool          spare = s->equal == 'p' && shard_lacks(a, seen);
    levada_block *next = NULL;
    levada_status st = LEVADA_OK;

    if (keep) {
        st = levada_block_slice(NULL, block, first + (mine - 1) * a->count, 1, &next, err);
        mine--;
    }
    if (spare) st = levada_block_slice(NULL, block, block->n - 1, 1, &next, err);
    if (st == LEVADA_OK && mine + release > 0) {
        st = shard_pick(s, release ? s->held.block : NULL, block, first, mine, out, err);
    }
    if (st == LEVADA_OK && *out && s->equal == 'p') {
        levada_block *picked = *out;

        *out = NULL;
        st = shard_flag(s, &picked, false, out, err);
    }
    if (st == LEVADA_OK && (keep || release || s->equal == 'p')) shard_hold(s, &next);
    if (st == LEVADA_OK) s->seen = seen;
    levada_block_unref(&next);
    return st;
}

/* -- batches */

static levada_status shard_batch(shard_state *s, levada_block *block, levada_block **out,
                                 levada_error *err)
{
    const shard_args *a = &s->args;
    bool          mine = s->seen % a->count == a->index, whole = (s->seen + 1) % a->count == 0;
    levada_block *mark = levada_block_ref(block);
    levada_status st = LEVADA_OK;

    if (s->equal == 'd' && mine) {
        shard_hold(s, &mark);
    } else if (s->equal == 'p' && mine) {
        st = shard_flag(s, &mark, false, out, err);
        if (st == LEVADA_OK) levada_cursor_clear(&s->held);
    } else if (s->equal == 'p' && shard_lacks(a, s->seen + 1)) {
        shard_hold(s, &mark);
    } else if (mine) {
        *out = mark;
        mark = NULL;
    }
    if (s->equal == 'd' && whole) {
        *out = s->held.block;
        s->held.block = NULL;
    }
    levada_block_unref(&mark);
    if (st == LEVADA_OK) s->seen++;
    return st;
}

/* Emits at the end of the input what the last round still lacks. */
static levada_status shard_end(shard_state *s, levada_block **out, levada_error *err)
{
    const shard_args *a = &s->args;
    levada_block     *block = NULL;

    if (!s->held.block) return LEVADA_END;
    if (s->equal == 'd') {
        levada_context_dropped(s->context, s->held.block->n);
    } else {
        block = levada_block_ref(s->held.block);
        LEVADA_TRY(shard_flag(s, &block, true, out, err));
    }
    levada_cursor_clear(&s->held);
    s->seen += a->count - s->seen % a->count;
    return *out ? LEVADA_OK : LEVADA_END;
}

static levada_status shard_next(void *state, const void *args, levada_input *in, levada_block **out,
                                levada_error *err)
{
    shard_state  *s = state;
    levada_block *block = NULL;
    levada_status st = LEVADA_OK;

    (void)args;
    if (s->args.count == 1 && s->equal != 'p') return levada_input_next(in, out, err);
    *out = NULL;
    while (st == LEVADA_OK && !*out) {
        st = levada_input_next(in, &block, err);
        if (st == LEVADA_END) return shard_end(s, out, err);
        if (st != LEVADA_OK) return st;
        st = s->batches ? shard_batch(s, block, out, err) : shard_records(s, block, out, err);
        levada_block_unref(&block);
    }
    return st;
}

static levada_status shard_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const shard_state *s = state;

    LEVADA_TRY(levada_state_put_i64(to, "seen", s->seen, err));
    return s->equal ? levada_cursor_save(&s->held, to, "held", err) : LEVADA_OK;
}

static levada_status shard_restore(void *state, levada_state_reader *from, levada_error *err)
{
    shard_state      *s = state;
    const shard_args *a = &s->args;
    bool              holds;

    LEVADA_TRY(levada_state_get_count(from, "seen", LEVADA_COUNT_LIMIT, &s->seen, err));
    if (!s->equal) return LEVADA_OK;
    LEVADA_TRY(levada_cursor_restore(&s->held, from, "held", err));
    holds = s->equal == 'p' ? shard_lacks(a, s->seen) : s->seen % a->count > a->index;
    if (holds == (s->held.block != NULL) && (!holds || s->batches || s->held.block->n == 1)) {
        return LEVADA_OK;
    }
    return levada_state_damaged(from, "held.n", err, "%s records, and %lld were seen",
                                s->held.block ? "has" : "has no", (long long)s->seen);
}

const levada_stage_def levada_stage_shard = {
    .struct_size = sizeof(levada_stage_def),
    .name = "shard",
    .doc = "divides the records (batches) into parts and keeps one part",
    .example = "range:10 | shard:1,count=3",
    .mode = LEVADA_MODE_SERIAL,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_SUBSET, .reads = LEVADA_READS_NONE, .shards = true,
                            .never_rejects = true, .count = shard_count, .vary = shard_vary),
    .core = LEVADA_STAGE_CORE(.late = LEVADA_LATE_PASS, .ranks = shard_ranks),
    .args = shard_options,
    .args_size = sizeof(shard_args),
    .state_size = sizeof(shard_state),
    .state_version = 2,
    .check = shard_check,
    .open = shard_open,
    .close = shard_close,
    .next = shard_next,
    .save = shard_save,
    .restore = shard_restore,
};
