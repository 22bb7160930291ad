/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shuffle - a buffer of records; each record that comes in sends a random one out.
 *
 * Draw number i is a function of (seed, epoch, pass, i), so the order does not depend on how the
 * records came in blocks. The buffer is a row store: nothing is copied, and it is saved as origins
 * where the records can be read again.
 */
#include "base/alloc.h"
#include "base/random.h"
#include "description/columns.h"
#include "registry/stage_core.h"
#include <levada/rowstore.h>

#include <string.h>

typedef struct shuffle_args {
    int64_t buffer_size, seed;
    bool    reshuffle;
} shuffle_args;

typedef struct shuffle_state {
    const levada_context *context;
    levada_rowstore      *store;
    uint32_t             *slots; /* buffer_size at most */
    int64_t               n, capacity;
    int64_t               ordinal; /* records given */
    uint32_t             *given, *came;
    int64_t               reserved; /* of given and came */
} shuffle_state;

static const levada_arg shuffle_options[] = {
    LEVADA_ARG(INT, shuffle_args, buffer_size, .required = true, .positional = true, .min = 1,
               .max = UINT32_MAX / 4, .doc = "number of buffered records; a larger buffer mixes "
                                             "better, and takes about 200 bytes a record besides "
                                             "its data; shuffle_records of a source needs no "
                                             "buffer"),
    LEVADA_ARG(INT, shuffle_args, seed, .min = 0, .max = INT64_MAX,
               .doc = "seed of this stage; null = the seed of the iterator"),
    LEVADA_ARG(BOOL, shuffle_args, reshuffle, .otherwise = "true",
               .doc = "use a different order in each epoch"),
    LEVADA_ARG_END
};

static levada_status shuffle_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a shuffle buffer");
}

/* Checks that the input has records: rows of mixed batches would be neither batches nor records. */
static levada_status shuffle_check(const void *args, const levada_spec *in, levada_spec **out,
                                   levada_error *err)
{
    (void)args, (void)out;
    return levada_spec_want_records(in, err);
}

static levada_status shuffle_open(void *state, const void *args, const levada_context *context,
                                  levada_error *err)
{
    shuffle_state *s = state;

    (void)args;
    s->context = context;
    return levada_rowstore_create(context, &s->store, err);
}

static void shuffle_close(void *state)
{
    shuffle_state *s = state;

    levada_rowstore_destroy(&s->store);
    levada_free(s->slots);
    levada_free(s->given);
    levada_free(s->came);
}

static uint64_t shuffle_key(const shuffle_state *s, const shuffle_args *a)
{
    uint64_t seed = a->seed == LEVADA_NULL_INT ? s->context->seed : (uint64_t)a->seed;

    if (!a->reshuffle) return levada_random_key(seed, 0);
    return levada_random_key(levada_random_key(seed, (uint64_t)s->context->epoch),
                             (uint64_t)s->context->pass);
}

/* Reserves space as records come: buffer_size may be far beyond the size of the data. */
static levada_status shuffle_reserve(shuffle_state *s, int64_t want, levada_error *err)
{
    return levada_reserve(&s->slots, &s->capacity, want, sizeof *s->slots) ? LEVADA_OK
                                                                           : shuffle_memory(err);
}

static levada_status shuffle_scratch(shuffle_state *s, int64_t rows, levada_error *err)
{
    if (rows <= s->reserved) return LEVADA_OK;
    levada_free(s->given);
    levada_free(s->came);
    s->reserved = 0;
    s->given = levada_alloc((size_t)rows * sizeof *s->given);
    s->came = levada_alloc((size_t)rows * sizeof *s->came);
    if (!s->given || !s->came) return shuffle_memory(err);
    s->reserved = rows;
    return LEVADA_OK;
}

/* Takes a block in; returns how many records are to go out (s->given). */
static levada_status shuffle_add(shuffle_state *s, const shuffle_args *a,
                                 const levada_block *block, int64_t *out, levada_error *err)
{
    int64_t  rows = levada_block_rows(block), i = 0;
    uint64_t key = shuffle_key(s, a);

    LEVADA_TRY(shuffle_scratch(s, rows, err));
    LEVADA_TRY(shuffle_reserve(s, s->n + rows < a->buffer_size ? s->n + rows : a->buffer_size,
                               err));
    LEVADA_TRY(levada_rowstore_add(s->store, block, 0, rows, s->came, err));
    for (; i < rows && s->n < a->buffer_size; i++) s->slots[s->n++] = s->came[i];
    *out = rows - i;
    for (int64_t k = 0; k < *out; k++) {
        uint64_t bits = levada_random_at(key, (uint64_t)s->ordinal++);
        uint64_t at = levada_random_below(bits, (uint64_t)s->n);

        s->given[k] = s->slots[at];
        s->slots[at] = s->came[i + k];
    }
    return LEVADA_OK;
}

static levada_status shuffle_drain(shuffle_state *s, const shuffle_args *a, levada_block **out,
                                   levada_error *err)
{
    int64_t  n = s->n < s->context->block_rows ? s->n : s->context->block_rows;
    uint64_t key = shuffle_key(s, a);

    if (n == 0) return LEVADA_END;
    LEVADA_TRY(shuffle_scratch(s, n, err));
    for (int64_t k = 0; k < n; k++) {
        uint64_t bits = levada_random_at(key, (uint64_t)s->ordinal++);
        uint64_t at = levada_random_below(bits, (uint64_t)s->n);

        s->given[k] = s->slots[at];
        s->slots[at] = s->slots[--s->n];
    }
    return levada_rowstore_take(s->store, s->given, n, out, err);
}

static levada_status shuffle_next(void *state, const void *args, levada_input *in,
                                  levada_block **out, levada_error *err)
{
    shuffle_state *s = state;

    for (;;) {
        levada_block *block = NULL;
        int64_t       n = 0;
        levada_status st = levada_input_next(in, &block, err);

        if (st == LEVADA_END) return shuffle_drain(s, args, out, err);
        if (st == LEVADA_OK) st = shuffle_add(s, args, block, &n, err);
        levada_block_unref(&block);
        if (st != LEVADA_OK) return st;
        if (n) return levada_rowstore_take(s->store, s->given, n, out, err);
    }
}

static levada_status shuffle_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const shuffle_state *s = state;

    LEVADA_TRY(levada_state_put_i64(to, "ordinal", s->ordinal, err));
    LEVADA_TRY(levada_state_put_i64(to, "n", s->n, err));
    return levada_rowstore_save(s->store, s->slots, s->n, to, "buffer", err);
}

static levada_status shuffle_restore(void *state, levada_state_reader *from, levada_error *err)
{
    shuffle_state *s = state;
    int64_t        ordinal, n;
    uint32_t      *slots = NULL;

    LEVADA_TRY(levada_state_get_count(from, "ordinal", LEVADA_COUNT_LIMIT, &ordinal, err));
    LEVADA_TRY(levada_state_get_count(from, "n", UINT32_MAX / 4, &n, err));
    LEVADA_TRY(levada_rowstore_restore(s->store, from, "buffer", n, &slots, err));
    levada_free(s->slots);
    s->slots = slots;
    s->n = s->capacity = n;
    s->ordinal = ordinal;
    return LEVADA_OK;
}

static void shuffle_vary(const void *args, levada_traits *traits)
{
    if (!((const shuffle_args *)args)->reshuffle) traits->random = LEVADA_RANDOM_BY_SEED;
}

const levada_stage_def levada_stage_shuffle = {
    .struct_size = sizeof(levada_stage_def),
    .name = "shuffle",
    .doc = "returns records in random order, through a buffer",
    .example = "range:100 | shuffle:10,seed=1",
    .mode = LEVADA_MODE_SERIAL,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_PERMUTES, .reads = LEVADA_READS_NONE,
                            .random = LEVADA_RANDOM_BY_PASS, .drawn = "order of records",
                            .divides = true, .never_rejects = true,
                            .saves = "buffered records, by origin", .vary = shuffle_vary),
    .core = LEVADA_STAGE_CORE(.late = LEVADA_LATE_TAKES),
    .args = shuffle_options,
    .args_size = sizeof(shuffle_args),
    .state_size = sizeof(shuffle_state),
    .state_version = 1,
    .check = shuffle_check,
    .open = shuffle_open,
    .close = shuffle_close,
    .next = shuffle_next,
    .save = shuffle_save,
    .restore = shuffle_restore,
};
