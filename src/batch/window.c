/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window - batches of neighboring records, which may overlap: `size` records, one in `stride`. A
 * window begins every `shift` records. The contract is tf.data's; windows at the end of the input
 * are smaller.
 *
 * Records are buffered by reference, in order, from the first one of the next window on. A window
 * names some of them, and those before the window after it leave.
 */
#include "base/alloc.h"
#include "batch/padding.h"
#include "description/columns.h"
#include "registry/env_priv.h"
#include "registry/stage_core.h"
#include <levada/rowstore.h>

#include <string.h>

#define WINDOW_MOST (1 << 24)

typedef struct window_args {
    int64_t             size, shift, stride, pad_to_multiple, padding_side;
    const levada_value *padded_shapes, *padding_values;
    bool                padded, drop_remainder;
} window_args;

typedef struct window_state {
    const levada_context *context;
    levada_rowstore      *store;
    uint32_t             *slots; /* of the buffered records, those in [at, n) */
    int64_t               at, n, capacity;
    uint32_t             *picked; /* of one window                            */
    int64_t               picked_capacity;
    int64_t               skip; /* records to skip before the next window     */
    int64_t               used; /* buffered records that a window has covered */
    levada_padding_plan   plan;
} window_state;

static const levada_arg window_options[] = {
    LEVADA_ARG(INT, window_args, size, .required = true, .positional = true, .min = 1,
               .max = WINDOW_MOST, .doc = "records in a window"),
    LEVADA_ARG(INT, window_args, shift, .min = 1, .max = INT32_MAX,
               .doc = "records from the start of a window to the start of the next; null = size"),
    LEVADA_ARG(INT, window_args, stride, .otherwise = "1", .min = 1, .max = WINDOW_MOST,
               .doc = "distance between the records of a window; 1 = neighbors"),
    LEVADA_ARG(BOOL, window_args, padded, .otherwise = "false",
               .doc = "pad the batches, as padded_batch does; false = ragged batches"),
    LEVADA_ARG(VALUE, window_args, padded_shapes,
               .doc = "{field: [length or null, ...]} to pad to; null = the longest record of the "
                      "batch"),
    LEVADA_ARG(VALUE, window_args, padding_values,
               .doc = "{field: value}, or one value for all fields; null = 0, and empty strings"),
    LEVADA_ARG(INT, window_args, pad_to_multiple, .otherwise = "1", .min = 1, .max = 1 << 24,
               .doc = "round padded lengths up to a multiple of this number"),
    LEVADA_PADDING_LEFT(window_args),
    LEVADA_ARG(BOOL, window_args, drop_remainder, .otherwise = "false",
               .doc = "drop windows that are not full at the end"),
    LEVADA_ARG_END
};

static levada_padding_options window_how(const window_args *a)
{
    return (levada_padding_options){ a->padded_shapes, a->padding_values, a->pad_to_multiple,
                                     a->padding_side != 0 };
}

static int64_t window_shift(const window_args *a)
{
    return a->shift == LEVADA_NULL_INT ? a->size : a->shift;
}

/* Counts the records from the first to the last one of a window. */
static int64_t window_span(const window_args *a) { return (a->size - 1) * a->stride + 1; }

static levada_status window_check(const void *args, const levada_spec *in, levada_spec **out,
                                  levada_error *err)
{
    const window_args     *a = args;
    levada_padding_options how = window_how(a);
    levada_field           none = { 0 };
    int32_t                n = levada_spec_count(in);

    LEVADA_TRY(levada_spec_want_records(in, err));
    if (window_span(a) > INT32_MAX) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "size=%lld with stride=%lld covers more than 2^31 records",
                           (long long)a->size, (long long)a->stride);
    }
    if (a->padded) return levada_padding_spec(&how, in, out, err);
    return levada_spec_create(n ? levada_spec_field(in, 0) : &none, n,
                              levada_spec_flags_of(in) | LEVADA_SPEC_BATCHED, out, err);
}

static levada_status window_open(void *state, const void *args, const levada_context *context,
                                 levada_error *err)
{
    window_state *s = state;

    (void)args;
    s->context = context;
    return context->fused_end ? LEVADA_OK : levada_rowstore_create(context, &s->store, err);
}

static void window_close(void *state)
{
    window_state *s = state;

    levada_rowstore_destroy(&s->store);
    levada_padding_clear(&s->plan);
    levada_free(s->slots);
    levada_free(s->picked);
}

static levada_status window_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a window");
}

static int64_t window_buffered(const window_state *s) { return s->n - s->at; }

/* Buffers the records of a block, except those between two windows. */
static levada_status window_arrive(window_state *s, const levada_block *block, levada_error *err)
{
    int64_t skip = s->skip < block->n ? s->skip : block->n;

    if (s->at) {
        memmove(s->slots, s->slots + s->at, (size_t)window_buffered(s) * sizeof *s->slots);
        s->n = window_buffered(s);
        s->at = 0;
    }
    if (!levada_reserve(&s->slots, &s->capacity, s->n + block->n, sizeof *s->slots)) {
        return window_memory(err);
    }
    if (block->n > skip) {
        LEVADA_TRY(levada_rowstore_add(s->store, block, skip, block->n - skip, s->slots + s->n,
                                       err));
    }
    s->skip -= skip;
    s->n += block->n - skip;
    return LEVADA_OK;
}

/* Removes the first n records. */
static levada_status window_remove(window_state *s, int64_t n, levada_error *err)
{
    levada_block *rows = NULL;

    if (n == 0) return LEVADA_OK;
    LEVADA_TRY(levada_rowstore_take(s->store, s->slots + s->at, n, &rows, err));
    levada_block_unref(&rows);
    s->at += n;
    return LEVADA_OK;
}

/* Emits the next window, of which `span` records are buffered. */
static levada_status window_emit(window_state *s, const window_args *a, int64_t span,
                                 levada_block **out, levada_error *err)
{
    int64_t       rows = (span - 1) / a->stride + 1, shift = window_shift(a);
    int64_t       leave = shift < window_buffered(s) ? shift : window_buffered(s);
    levada_block *made = NULL;
    levada_status st;

    if (!levada_reserve(&s->picked, &s->picked_capacity, rows, sizeof *s->picked)) {
        return window_memory(err);
    }
    for (int64_t i = 0; i < rows; i++) s->picked[i] = s->slots[s->at + i * a->stride];
    LEVADA_TRY(levada_rowstore_peek(s->store, s->picked, rows, &made, err));
    st = window_remove(s, leave, err);
    if (st != LEVADA_OK) {
        levada_block_unref(&made);
        return st;
    }
    if (span > s->used) s->used = span;
    s->used = s->used > leave ? s->used - leave : 0;
    s->skip = shift - leave;
    *out = made;
    return LEVADA_OK;
}

/* Ends the input: the next window is not full. */
static levada_status window_end(window_state *s, const window_args *a, levada_block **out,
                                levada_error *err)
{
    int64_t rest = window_buffered(s);

    if (rest == 0) return LEVADA_END;
    if (!a->drop_remainder) return window_emit(s, a, rest, out, err);
    LEVADA_TRY(window_remove(s, rest, err));
    levada_context_dropped(s->context, rest - s->used);
    s->used = 0;
    return LEVADA_END;
}

static levada_status window_next(void *state, const void *args, levada_input *in,
                                 levada_block **out, levada_error *err)
{
    window_state *s = state;
    int64_t       span = window_span(args);

    for (;;) {
        levada_block *block = NULL;
        levada_status st;

        if (window_buffered(s) >= span) return window_emit(s, args, span, out, err);
        st = levada_input_next(in, &block, err);
        if (st == LEVADA_END) return window_end(s, args, out, err);
        if (st == LEVADA_OK) st = window_arrive(s, block, err);
        levada_block_unref(&block);
        LEVADA_TRY(st);
    }
}

static levada_status window_apply(void *state, const void *args, const levada_block *in,
                                  levada_block **out, levada_error *err)
{
    window_state          *s = state;
    levada_padding_options how = window_how(args);

    if (((const window_args *)args)->padded) {
        return levada_padding_apply(&s->plan, &how, s->context, in, -1, out, err);
    }
    return levada_block_gather(levada_env_pool(s->context->env), in, out, err);
}

static levada_status window_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const window_state *s = state;
    int64_t             n = window_buffered(s);

    LEVADA_TRY(levada_state_put_i64(to, "n", n, err));
    LEVADA_TRY(levada_state_put_i64(to, "skip", s->skip, err));
    LEVADA_TRY(levada_state_put_i64(to, "used", s->used, err));
    return levada_rowstore_save(s->store, s->slots + s->at, n, to, "rows", err);
}

static levada_status window_restore(void *state, levada_state_reader *from, levada_error *err)
{
    window_state *s = state;
    uint32_t     *slots = NULL;
    int64_t       n = 0, skip = 0, used = 0;

    LEVADA_TRY(levada_state_get_count(from, "n", INT32_MAX, &n, err));
    LEVADA_TRY(levada_state_get_count(from, "skip", INT32_MAX, &skip, err));
    LEVADA_TRY(levada_state_get_count(from, "used", n, &used, err));
    LEVADA_TRY(levada_rowstore_restore(s->store, from, "rows", n, &slots, err));
    s->at = s->n = 0;
    if (!levada_reserve(&s->slots, &s->capacity, n, sizeof *s->slots)) {
        levada_slots_free(&slots);
        return window_memory(err);
    }
    if (n) memcpy(s->slots, slots, (size_t)n * sizeof *slots);
    levada_slots_free(&slots);
    s->n = n;
    s->skip = skip;
    s->used = used;
    return LEVADA_OK;
}

const levada_stage_def levada_stage_window = {
    .struct_size = sizeof(levada_stage_def),
    .name = "window",
    .doc = "groups neighboring records into batches, which may overlap",
    .example = "range:10 | window:4,shift=2",
    .mode = LEVADA_MODE_SERIAL,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_BATCHES, .saves = "buffered records, by origin"),
    .core = LEVADA_STAGE_CORE(.late = LEVADA_LATE_TAKES),
    .takes_selection = true,
    .args = window_options,
    .args_size = sizeof(window_args),
    .state_size = sizeof(window_state),
    .state_version = 1,
    .check = window_check,
    .open = window_open,
    .close = window_close,
    .next = window_next,
    .apply = window_apply,
    .save = window_save,
    .restore = window_restore,
};
