/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mix - records drawn from the inputs by weight.
 *
 * Draw number i is a function of (seed, epoch, pass, i). An input that has ended drops out and
 * the weights of the others count as if it had never been there; the draw that met its end is made
 * again among them. Of batches, whole ones are drawn.
 */
#include "base/alloc.h"
#include "base/random.h"
#include "description/columns.h"
#include "registry/env_priv.h"
#include "registry/combiner.h"
#include "run/input_cursor.h"
#include "state/damaged.h"
#include "tensor/merge.h"
#include "tensor/encoded.h"

#include <stdio.h>
#include <string.h>

#define MIX_MOST 256

typedef struct mix_args {
    const levada_value *weights;
    int64_t             seed;
} mix_args;

typedef struct mix_input {
    levada_input      *in;
    levada_cursor      cursor;
    levada_merge_input rows;
    double             weight; /* 0 once the input has ended */
} mix_input;

typedef struct mix_state {
    const levada_context *context;
    mix_input            *inputs;
    int32_t               n;
    bool                  batched;
    double                sum; /* of the weights */
    int64_t               ordinal;
    levada_merge          merge; /* the block that is being made; empty between two calls */
} mix_state;

static const levada_arg mix_options[] = {
    LEVADA_ARG(VALUE, mix_args, weights,
               .doc = "one number for each input, at least 0; null = equal weights"),
    LEVADA_ARG(INT, mix_args, seed, .min = 0, .max = INT64_MAX,
               .doc = "seed of this stage; null = the seed of the iterator"),
    LEVADA_ARG_END
};

static levada_status mix_check_weights(const levada_value *weights, int32_t n, levada_error *err)
{
    double sum = 0;

    if (!weights) return LEVADA_OK;
    if (levada_value_count(weights) != n) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "len(weights)=%lld must be the number of inputs, %d",
                           (long long)levada_value_count(weights), n);
    }
    for (int32_t i = 0; i < n; i++) {
        const levada_value *v = levada_value_item(weights, i);
        levada_value_kind   kind = levada_value_kind_of(v);
        double              w = levada_value_as_float(v);

        if ((kind != LEVADA_VALUE_INT && kind != LEVADA_VALUE_FLOAT) || !(w >= 0) || w > 1e300) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "weights[%d] must be a number of at least 0", i);
        }
        sum += w;
    }
    if (sum > 0) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "at least one weight must be more than 0");
}

/* Names a field that one input has in another form, or not at all. */
static levada_status mix_differs(const levada_spec *first, const levada_spec *other, int32_t input,
                                 levada_error *err)
{
    for (int32_t k = 0; k < levada_spec_count(first) + levada_spec_count(other); k++) {
        bool                is_first = k < levada_spec_count(first);
        int32_t             i = is_first ? k : k - levada_spec_count(first);
        const levada_field *f = levada_spec_field(is_first ? first : other, i), *g;
        const levada_spec  *with = is_first ? other : first;

        g = levada_spec_field(with, levada_spec_find(with, f->name));
        if (!g) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "the fields of all inputs must be equal: input %d has '%s', input "
                               "%d has not; use select to make them equal",
                               is_first ? 0 : input, f->name, is_first ? input : 0);
        }
        if (f->dtype == g->dtype && f->depth == g->depth && f->ndim == g->ndim &&
            memcmp(f->dims, g->dims, sizeof(f->dims[0]) * f->ndim) == 0) {
            continue;
        }
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the fields of all inputs must be equal: '%s' of input %d is %s with %d "
                           "ragged levels and %d dimensions, of input 0 %s with %d and %d%s; use "
                           "cast, or map, to make them equal",
                           f->name, input, levada_dtype_name(g->dtype), g->depth, g->ndim,
                           levada_dtype_name(f->dtype), f->depth, f->ndim,
                           f->depth == g->depth && f->ndim == g->ndim && f->dtype == g->dtype
                               ? " of other sizes"
                               : "");
    }
    return levada_fail(
        err, LEVADA_EINVALID_ARGUMENT,
        "input %d has different fields than input 0: their order or padding differs; "
        "use select to make them equal",
        input);
}

static levada_status mix_check(const void *args, const levada_spec *const *in, int32_t nin,
                               levada_spec **out, levada_error *err)
{
    const mix_args *a = args;

    if (nin > MIX_MOST) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "more than %d inputs", MIX_MOST);
    }
    for (int32_t i = 1; i < nin; i++) {
        int32_t first = levada_spec_flags_of(in[0]), flags = levada_spec_flags_of(in[i]);
        bool    open = (first | flags) & LEVADA_SPEC_OPEN;

        if ((first ^ flags) & LEVADA_SPEC_BATCHED) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "some inputs emit batches and others records; batch all inputs, or "
                               "none");
        }
        if (open || levada_spec_equal(in[0], in[i])) continue;
        return mix_differs(in[0], in[i], i, err);
    }
    LEVADA_TRY(mix_check_weights(a->weights, nin, err));
    *out = levada_spec_ref(in[0]);
    return LEVADA_OK;
}

static void mix_sum(mix_state *s)
{
    s->sum = 0;
    for (int32_t i = 0; i < s->n; i++) s->sum += s->inputs[i].weight;
}

static levada_status mix_open(void *state, const void *args, const levada_context *context,
                              levada_input *const *in, int32_t nin, levada_error *err)
{
    mix_state      *s = state;
    const mix_args *a = args;

    s->context = context;
    s->batched = levada_spec_flags_of(context->out) & LEVADA_SPEC_BATCHED;
    s->inputs = levada_alloc_zero((size_t)nin * sizeof *s->inputs + 1);
    if (!s->inputs) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                       "out of memory while mixing inputs");
    s->n = nin;
    for (int32_t i = 0; i < nin; i++) {
        s->inputs[i].in = in[i];
        s->inputs[i].weight =
            a->weights ? levada_value_as_float(levada_value_item(a->weights, i)) : 1.0;
    }
    mix_sum(s);
    return LEVADA_OK;
}

static void mix_close(void *state)
{
    mix_state *s = state;

    for (int32_t i = 0; i < s->n; i++) {
        levada_cursor_clear(&s->inputs[i].cursor);
        levada_merge_input_clear(&s->inputs[i].rows);
    }
    levada_merge_clear(&s->merge);
    levada_free(s->inputs);
}

static uint64_t mix_key(const mix_state *s, const mix_args *a)
{
    uint64_t seed = a->seed == LEVADA_NULL_INT ? s->context->seed : (uint64_t)a->seed;

    return levada_random_key(levada_random_key(seed, (uint64_t)s->context->epoch),
                             (uint64_t)s->context->pass);
}

/* The input of a draw, or NULL when all have ended. */
static mix_input *mix_draw(const mix_state *s, uint64_t key)
{
    double     at = levada_random_unit(levada_random_at(key, (uint64_t)s->ordinal)) * s->sum;
    mix_input *last = NULL;

    for (int32_t i = 0; i < s->n; i++) {
        mix_input *input = &s->inputs[i];

        if (input->weight <= 0) continue;
        last = input;
        if (at < input->weight) break;
        at -= input->weight;
    }
    return last; /* rounding: the last one that is left */
}

/* Makes sure that the input holds an unused record or batch, with the columns of all. At its end
 * it drops out. */
static levada_status mix_fill(mix_state *s, mix_input *input, levada_error *err)
{
    levada_cursor *c = &input->cursor;
    levada_status  st;

    input->rows.block = NULL;
    st = levada_cursor_fill(c, input->in, err);
    if (st == LEVADA_END) {
        input->weight = 0;
        mix_sum(s);
    }
    LEVADA_TRY(st);
    if (c->row == 0) {
        LEVADA_TRY(levada_columns_adapt(levada_env_pool(s->context->env), s->context->out,
                                        &c->block, err));
    }
    return levada_merge_switch(&input->rows, c->block, err);
}

/* The next batch of the input that is drawn, whole. */
static levada_status mix_batch(mix_state *s, uint64_t key, levada_block **out, levada_error *err)
{
    mix_input *input;

    while ((input = mix_draw(s, key)) != NULL) {
        levada_status st = mix_fill(s, input, err);

        if (st == LEVADA_END) continue;
        LEVADA_TRY(st);
        s->ordinal++;
        *out = input->cursor.block;
        input->cursor.block = NULL;
        return LEVADA_OK;
    }
    return LEVADA_END;
}

/* Whatever stops it is returned again after the records before it. */
static levada_status mix_records(mix_state *s, uint64_t key, levada_block **out, levada_error *err)
{
    levada_status st;

    LEVADA_TRY(levada_merge_begin(&s->merge, levada_env_pool(s->context->env),
                                  s->context->block_rows, err));
    while (s->merge.n < s->merge.capacity) {
        mix_input *input = mix_draw(s, key);

        if (!input) break;
        if (!input->rows.block || input->cursor.row == input->rows.block->n) {
            st = mix_fill(s, input, err);
            if (st == LEVADA_END) continue;
            if (st != LEVADA_OK && s->merge.n > 0) break;
            LEVADA_TRY(st);
        }
        levada_merge_row(&s->merge, &input->rows, input->cursor.row++);
        s->ordinal++;
    }
    return s->merge.n > 0 ? levada_merge_end(&s->merge, out, err) : LEVADA_END;
}

static levada_status mix_next(void *state, const void *args, levada_block **out, levada_error *err)
{
    mix_state *s = state;
    uint64_t   key = mix_key(s, args);

    return s->batched ? mix_batch(s, key, out, err) : mix_records(s, key, out, err);
}

static levada_status mix_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const mix_state *s = state;
    int64_t          ended[MIX_MOST];
    char             key[24];

    for (int32_t i = 0; i < s->n; i++) {
        ended[i] = s->inputs[i].weight <= 0;
        snprintf(key, sizeof key, "input%d", i);
        LEVADA_TRY(levada_input_cursor_save(&s->inputs[i].cursor, s->inputs[i].in, to, key, err));
    }
    LEVADA_TRY(levada_state_put_i64s(to, "ended", ended, s->n, err));
    return levada_state_put_i64(to, "ordinal", s->ordinal, err);
}

static levada_status mix_restore(void *state, levada_state_reader *from, levada_error *err)
{
    mix_state     *s = state;
    const int64_t *ended = NULL;
    int64_t        n = 0, ordinal;
    char           key[24];

    if (levada_state_has(from, "n")) { /* version 1, with records that were drawn */
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the checkpoint was saved by an older version of the stage");
    }
    LEVADA_TRY(levada_state_get_i64s(from, "ended", &ended, &n, err));
    LEVADA_TRY(levada_state_get_count(from, "ordinal", LEVADA_COUNT_LIMIT, &ordinal, err));
    if (n != s->n) {
        return levada_state_damaged(from, "ended", err, "%lld numbers for %d inputs", (long long)n,
                                    (int)s->n);
    }
    for (int32_t i = 0; i < s->n; i++) {
        mix_input *input = &s->inputs[i];

        snprintf(key, sizeof key, "input%d", i);
        LEVADA_TRY(levada_input_cursor_restore(&input->cursor, input->in, from, key, err));
        input->rows.block = NULL;
        if (ended[i]) input->weight = 0;
    }
    mix_sum(s);
    s->ordinal = ordinal;
    return LEVADA_OK;
}

const levada_combiner_def levada_combiner_mix = {
    .struct_size = sizeof(levada_combiner_def),
    .name = "mix",
    .doc = "draws records (batches) from several inputs by weight",
    .example = "mix(range:10; range:5,start=100):weights=[2,1],seed=3",
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_SUBSET, .reads = LEVADA_READS_NONE,
                            .random = LEVADA_RANDOM_BY_PASS, .drawn = "choice of inputs",
                            .divides = true),
    .late = LEVADA_LATE_PASS,
    .args = mix_options,
    .args_size = sizeof(mix_args),
    .state_size = sizeof(mix_state),
    .state_version = 2,
    .min_inputs = 1,
    .max_inputs = -1,
    .check = mix_check,
    .open = mix_open,
    .close = mix_close,
    .next = mix_next,
    .save = mix_save,
    .restore = mix_restore,
};
