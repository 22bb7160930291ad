/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long sequences in segments, from memory.
 *
 * - slots_N, batch_N: batches of 64 rows of N bytes of int32, of records of 12 to 20 rows or of one
 * - columns_N: batch_N with records that also have the numbers and marks that slots_N adds
 * - copy_N: a loop that copies the rows of slots_N from the same places
 * - saver, ready: hand over segments of 64 steps and their two states of 512 floats, 32 at a time
 * - checkpoint: saves 256 sequences that wait with such states; its check is the sum of the sizes
 */
#include "harness.h"

#include <levada/levada.h>

#include <stdio.h>
#include <string.h>

enum {
    SEGMENTS_BYTES = 32 << 20, /* of the values of a source */
    SEGMENTS_BATCH = 64,
    SEGMENTS_ROWS = 32, /* of a hand-over            */
    SEGMENTS_STEPS = 64,
    SEGMENTS_LONG = 32, /* segments of a sequence that is handed over */
    SEGMENTS_STATE = 512,
    SEGMENTS_SAVED = 256 /* sequences in a checkpoint */
};

static void segments_check(levada_status status, const levada_error *err)
{
    char text[512];

    if (status < 0) levada_bench_die("levada", levada_error_text(err, text, sizeof text));
}

/* -- blocks of records ------------------------------------------------------------------------- */

static void segments_fill(levada_builder *b, int32_t field, int64_t count, size_t size)
{
    levada_error err = LEVADA_ERROR_INIT;
    void        *values = NULL;

    segments_check(levada_builder_values(b, field, count, &values, &err), &err);
    memset(values, 0, (size_t)count * size);
    for (int64_t i = 0; size == 4 && i < count; ++i)
        ((int32_t *)values)[i] = (int32_t)i;
}

/* Rows of record i: lengths differ, so that neighbors in a batch do not compete for cache sets. */
static int64_t segments_rows(int64_t i) { return 12 + i % 9; }

/* n records of one row of `width` numbers; if ragged of segments_rows(i) rows, or of `rows` where
 * that is not 0. With `marks` they also have what slots adds. */
static levada_block *segments_block(int64_t n, int64_t width, bool ragged, int64_t rows,
                                    bool marks)
{
    static const levada_dtype dtypes[] = {LEVADA_INT64, LEVADA_BOOL,  LEVADA_BOOL, LEVADA_BOOL,
                                          LEVADA_INT32, LEVADA_INT32, LEVADA_INT32};
    static const char *const  names[] = {"key",  "is_first", "is_last", "is_empty",
                                         "slot", "segment",  "length"};
    levada_field    fields[8] = {{.name = "x", .dtype = LEVADA_INT32, .depth = ragged,
                                  .ndim = !ragged, .dims = {ragged ? 0 : width}}};
    levada_error    err = LEVADA_ERROR_INIT;
    levada_spec    *spec = NULL;
    levada_builder *b = NULL;
    levada_block   *block = NULL;
    int32_t        *offsets = NULL, nfields = marks ? 8 : 1;
    int64_t         total = ragged ? 0 : n;

    for (int32_t i = 1; i < nfields; ++i)
        fields[i] = (levada_field){.name = names[i - 1], .dtype = dtypes[i - 1]};
    segments_check(levada_spec_create(fields, nfields, LEVADA_SPEC_PLAIN, &spec, &err), &err);
    segments_check(levada_builder_create(NULL, spec, n, &b, &err), &err);
    if (ragged) {
        segments_check(levada_builder_offsets(b, 0, 0, n, &offsets, &err), &err);
        offsets[0] = 0;
        for (int64_t i = 0; i < n; ++i) {
            total += rows > 0 ? rows : segments_rows(i);
            offsets[i + 1] = (int32_t)(total * width);
        }
    }
    segments_fill(b, 0, total * width, 4);
    for (int32_t i = 1; i < nfields; ++i)
        segments_fill(b, i, n, (size_t)levada_dtype_size(fields[i].dtype));
    segments_check(levada_builder_publish(&b, &block, &err), &err);
    levada_spec_unref(&spec);
    return block;
}

/* Returns the records of the block, and a stage; `options` is its map. */
static levada_dataset *segments_dataset(levada_block **block, const char *stage,
                                        const char *options)
{
    levada_value   *all = levada_value_map(), *data = levada_value_block(*block);
    levada_error    err = LEVADA_ERROR_INIT;
    levada_dataset *source = NULL, *made = NULL;

    segments_check(levada_value_set(all, "data", &data, &err), &err);
    segments_check(levada_dataset_append(NULL, "memory", all, NULL, 0, &source, &err), &err);
    levada_value_destroy(&all);
    segments_check(levada_value_parse(options, &all, &err), &err);
    segments_check(levada_dataset_append(NULL, stage, all, (const levada_dataset *const *)&source,
                                         1, &made, &err),
                   &err);
    levada_value_destroy(&all);
    levada_dataset_unref(&source);
    levada_block_unref(block);
    return made;
}

static levada_iter *segments_iter(const levada_dataset *dataset)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_error        err = LEVADA_ERROR_INIT;
    levada_iter        *it = NULL;

    options.threads = 1;
    options.seed = 1;
    segments_check(levada_iter_open(dataset, &options, &it, &err), &err);
    return it;
}

/* -- batches of rows that stay in their slots, and plain ones ---------------------------------- */

typedef enum segments_kind { SEGMENTS_SLOTS, SEGMENTS_PLAIN, SEGMENTS_COLUMNS } segments_kind;

typedef struct segments_setup {
    segments_kind kind;
    int64_t       bytes; /* of a row */
} segments_setup;

static void *segments_open(const levada_bench_args *args)
{
    const segments_setup *setup = args->user;
    int64_t               width = setup->bytes / 4, rows = SEGMENTS_BYTES / setup->bytes;
    bool                  slots = setup->kind == SEGMENTS_SLOTS;
    levada_block         *block = segments_block(slots ? rows / 16 : rows, width, slots, 0,
                                                 setup->kind == SEGMENTS_COLUMNS);
    char                  options[64];

    snprintf(options, sizeof options, slots ? "{batch_size:%d,num_unroll:%lld}" : "{batch_size:%d}",
             SEGMENTS_BATCH, (long long)width);
    return segments_dataset(&block, slots ? "unroll" : "batch", options);
}

static void segments_pass(void *state, levada_bench_count *count)
{
    levada_iter  *it = segments_iter(state);
    levada_block *batch = NULL;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status status;

    while ((status = levada_iter_next(it, &batch, &err)) == LEVADA_OK) {
        count->records += levada_block_rows(batch);
        count->check += (uint64_t)levada_column_i32(levada_block_at(batch, 0))[0];
        levada_block_unref(&batch);
    }
    segments_check(status, &err);
    levada_iter_close(&it);
}

/* The limit of slots: each row of a batch continues another record. */
typedef struct segments_copy {
    int64_t  bytes; /* of a row */
    uint8_t *from, *to;
} segments_copy;

static void *segments_open_copy(const levada_bench_args *args)
{
    segments_copy *s = levada_bench_alloc(sizeof *s);

    s->bytes = ((const segments_setup *)args->user)->bytes;
    s->from = levada_bench_alloc(SEGMENTS_BYTES);
    s->to = levada_bench_alloc((size_t)(SEGMENTS_BATCH * s->bytes));
    return s;
}

static void segments_pass_copy(void *state, levada_bench_count *count)
{
    const segments_copy *s = state;
    int64_t              records = SEGMENTS_BYTES / s->bytes / 16, record = 0, next = 0;
    int64_t              at[SEGMENTS_BATCH], left[SEGMENTS_BATCH] = {0};

    for (;;) {
        for (int64_t r = 0; r < SEGMENTS_BATCH; ++r) {
            if (left[r] == 0 && record == records)
                return;
            if (left[r] == 0) {
                at[r] = next;
                next += left[r] = segments_rows(record++);
            }
            memcpy(s->to + r * s->bytes, s->from + at[r]++ * s->bytes, (size_t)s->bytes);
            --left[r];
        }
        count->records += SEGMENTS_BATCH;
        count->check += s->to[0];
    }
}

/* -- states that are handed over --------------------------------------------------------------- */

static levada_tensor *segments_tensor(levada_dtype dtype, int32_t rank, int64_t rows, int64_t more)
{
    levada_shape   shape = {rank, {rows, more}};
    levada_error   err = LEVADA_ERROR_INIT;
    levada_tensor *t = NULL;

    segments_check(levada_tensor_create(NULL, dtype, &shape, NULL, &t, &err), &err);
    memset(levada_tensor_data(t), 0, (size_t)levada_tensor_bytes(t));
    return t;
}

typedef struct segments_saver {
    levada_state_saver *saver;
    levada_tensor      *steps, *first[2], *next[2];
    int64_t             inserted;
} segments_saver;

static void *segments_open_saver(const levada_bench_args *args)
{
    static const levada_saver_field steps = {"x", LEVADA_INT32, {0, {0}}, false};
    static const levada_saver_field states[] = {
        {"h", LEVADA_FLOAT32, {1, {SEGMENTS_STATE}}, false},
        {"c", LEVADA_FLOAT32, {1, {SEGMENTS_STATE}}, false},
    };
    levada_state_saver_options o = LEVADA_STATE_SAVER_OPTIONS_INIT;
    levada_error               err = LEVADA_ERROR_INIT;
    segments_saver            *s = levada_bench_alloc(sizeof *s);

    (void)args;
    o.batch_size = o.capacity = SEGMENTS_ROWS;
    o.num_unroll = SEGMENTS_STEPS;
    o.nsequences = 1;
    o.nstates = 2;
    o.sequences = &steps;
    o.states = states;
    segments_check(levada_state_saver_create(NULL, &o, &s->saver, &err), &err);
    s->steps = segments_tensor(LEVADA_INT32, 1, SEGMENTS_STEPS * SEGMENTS_LONG, 0);
    for (int i = 0; i < 2; ++i) {
        s->first[i] = segments_tensor(LEVADA_FLOAT32, 1, SEGMENTS_STATE, 0);
        s->next[i] = segments_tensor(LEVADA_FLOAT32, 2, SEGMENTS_ROWS, SEGMENTS_STATE);
    }
    return s;
}

static void segments_insert(segments_saver *s)
{
    levada_saver_example example = LEVADA_SAVER_EXAMPLE_INIT;
    levada_error         err = LEVADA_ERROR_INIT;
    char                 key[32];

    example.key = key;
    example.key_size = (size_t)snprintf(key, sizeof key, "%lld", (long long)s->inserted++);
    example.length = SEGMENTS_STEPS * SEGMENTS_LONG;
    example.sequences = &s->steps;
    example.states = s->first;
    segments_check(levada_state_saver_insert(s->saver, &example, false, 0, &err), &err);
}

/* 32 sequences from their first to their last segment. */
static void segments_pass_saver(void *state, levada_bench_count *count)
{
    segments_saver      *s = state;
    levada_segment_view  view = LEVADA_SEGMENT_VIEW_INIT;
    levada_error         err = LEVADA_ERROR_INIT;
    levada_segment_batch *batch = NULL;

    for (int r = 0; r < SEGMENTS_ROWS; ++r)
        segments_insert(s);
    for (int k = 0; k < SEGMENTS_LONG; ++k) {
        segments_check(levada_state_saver_next(s->saver, -1, 0, &batch, &err), &err);
        segments_check(levada_segment_batch_get(batch, &view, &err), &err);
        segments_check(levada_segment_batch_save_states(
                           batch, (const levada_tensor *const *)s->next, &err),
                       &err);
        count->records += view.n;
        count->check += (uint64_t)((const int32_t *)levada_tensor_data(view.length))[0];
        levada_segment_batch_destroy(&batch);
    }
}

static levada_dataset *segments_ready(int64_t records, int64_t rows)
{
    levada_block *block = segments_block(records, SEGMENTS_STEPS, true, SEGMENTS_LONG, false);
    char          options[192];

    snprintf(options, sizeof options,
             "{num_unroll:%d,batch_size:%d,layout:ready,states:{h:{dtype:float32,shape:[%d]},"
             "c:{dtype:float32,shape:[%d]}}}",
             SEGMENTS_STEPS, (int)rows, SEGMENTS_STATE, SEGMENTS_STATE);
    return segments_dataset(&block, "unroll", options);
}

static void *segments_open_ready(const levada_bench_args *args)
{
    (void)args;
    return segments_ready(SEGMENTS_ROWS * 8, SEGMENTS_ROWS);
}

/* The states of a batch are fed back as they came. */
static void segments_pass_ready(void *state, levada_bench_count *count)
{
    levada_iter  *it = segments_iter(state);
    levada_block *batch = NULL;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status status;

    while ((status = levada_iter_next(it, &batch, &err)) == LEVADA_OK) {
        segments_check(levada_iter_feed(it, batch, &err), &err);
        count->records += levada_block_rows(batch);
        count->check += (uint64_t)levada_column_i32(levada_block_at(batch, 0))[0];
        levada_block_unref(&batch);
    }
    segments_check(status, &err);
    levada_iter_close(&it);
}

static void *segments_open_saved(const levada_bench_args *args)
{
    levada_dataset *dataset = segments_ready(SEGMENTS_SAVED, SEGMENTS_SAVED);
    levada_iter    *it = segments_iter(dataset);
    levada_block   *batch = NULL;
    levada_error    err = LEVADA_ERROR_INIT;

    (void)args;
    segments_check(levada_iter_next(it, &batch, &err), &err);
    segments_check(levada_iter_feed(it, batch, &err), &err);
    levada_block_unref(&batch);
    levada_dataset_unref(&dataset);
    return it;
}

static void segments_pass_saved(void *state, levada_bench_count *count)
{
    levada_error err = LEVADA_ERROR_INIT;
    char        *bytes = NULL;
    size_t       size = 0;

    segments_check(levada_iter_save(state, &bytes, &size, &err), &err);
    count->records++;
    count->bytes += (int64_t)size;
    count->check += size;
    levada_string_free(&bytes);
}

/* Returns the states of as many sequences, copied. */
static void *segments_open_states(const levada_bench_args *args)
{
    segments_copy *s = levada_bench_alloc(sizeof *s);

    (void)args;
    s->bytes = (int64_t)SEGMENTS_SAVED * 2 * SEGMENTS_STATE * 4;
    s->from = levada_bench_alloc((size_t)s->bytes);
    s->to = levada_bench_alloc((size_t)s->bytes);
    return s;
}

static void segments_pass_states(void *state, levada_bench_count *count)
{
    const segments_copy *s = state;

    memcpy(s->to, s->from, (size_t)s->bytes);
    count->records++;
    count->bytes += s->bytes;
    count->check += (uint64_t)s->bytes + s->to[0];
}

#define SEGMENTS_SETUP(kind, bytes) (&(const segments_setup){kind, bytes})

#define SEGMENTS_WORKS(name, bytes)                                                             \
    {"slots_" name, segments_open, segments_pass, SEGMENTS_SETUP(SEGMENTS_SLOTS, bytes)},       \
    {"batch_" name, segments_open, segments_pass, SEGMENTS_SETUP(SEGMENTS_PLAIN, bytes)},       \
    {"columns_" name, segments_open, segments_pass, SEGMENTS_SETUP(SEGMENTS_COLUMNS, bytes)},   \
    {"copy_" name, segments_open_copy, segments_pass_copy, SEGMENTS_SETUP(SEGMENTS_PLAIN, bytes)}

const levada_bench_work levada_bench_works[] = {
    SEGMENTS_WORKS("512", 512),
    SEGMENTS_WORKS("2k", 2048),
    SEGMENTS_WORKS("16k", 16384),
    {"saver", segments_open_saver, segments_pass_saver, NULL},
    {"ready", segments_open_ready, segments_pass_ready, NULL},
    {"checkpoint", segments_open_saved, segments_pass_saved, NULL},
    {"states", segments_open_states, segments_pass_states, NULL},
    {NULL, NULL, NULL, NULL},
};
