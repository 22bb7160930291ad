/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mix - records drawn from the inputs by weight.
 *
 * Draw number i is a function of (seed, epoch, opening, i). An input that has ended drops out and
 * the weights of the others count as if it had never been there; the draw that met its end is made
 * again among them. Of batches, whole ones are drawn.
 */
#include "base/alloc.h"
#include "base/random.h"
#include "core/columns.h"
#include "core/iter_priv.h"
#include "core/joint.h"
#include "core/lane.h"

#include <stdio.h>

#define MIX_MOST 256

typedef struct mix_args {
    const levada_value *weights;
    int64_t             seed;
} mix_args;

typedef struct mix_state {
    const levada_context *context;
    levada_input *const   *in;
    levada_cursor        *cursors;
    double               *weights; /* 0 once the input has ended */
    int32_t               n;
    bool                  batched;
    int64_t               ordinal;
    levada_rowstore      *store; /* records drawn for the next block */
    uint32_t             *slots;
    int64_t               nslots;
} mix_state;

static const levada_arg mix_options[] = {
    LEVADA_ARG(VALUE, mix_args, weights,
               .doc = "a number for each input, at least 0; null = all alike"),
    LEVADA_ARG(INT, mix_args, seed, .min = 0, .max = INT64_MAX,
               .doc = "seed of its own; null = the iterator's"),
    LEVADA_ARG_END
};

static levada_status mix_check_weights(const levada_value *weights, int32_t n, levada_error *err)
{
    double sum = 0;

    if (!weights) return LEVADA_OK;
    if (levada_value_count(weights) != n) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%lld weights for %d inputs",
                           (long long)levada_value_count(weights), n);
    }
    for (int32_t i = 0; i < n; i++) {
        const levada_value *v = levada_value_item(weights, i);
        levada_value_kind   kind = levada_value_kind_of(v);
        double              w = levada_value_as_float(v);

        if ((kind != LEVADA_VALUE_INT && kind != LEVADA_VALUE_FLOAT) || !(w >= 0) || w > 1e300) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "weight %d must be a number of at least 0", i);
        }
        sum += w;
    }
    if (sum > 0) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "one weight must be more than 0");
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
                               "some inputs have batches and others records");
        }
        if (open || levada_spec_equal(in[0], in[i])) continue;
        return levada_fail(
            err, LEVADA_EINVALID_ARGUMENT,
            "input %d has other fields than input 0 (select and cast make them alike)", i);
    }
    LEVADA_TRY(mix_check_weights(a->weights, nin, err));
    *out = levada_spec_ref(in[0]);
    return LEVADA_OK;
}

static levada_status mix_open(void *state, const void *args, const levada_context *context,
                              levada_input *const *in, int32_t nin, levada_error *err)
{
    mix_state      *s = state;
    const mix_args *a = args;

    s->context = context;
    s->in = in;
    s->n = nin;
    s->batched = levada_spec_flags_of(context->out) & LEVADA_SPEC_BATCHED;
    s->cursors = levada_alloc_zero((size_t)nin * sizeof *s->cursors + 1);
    s->weights = levada_alloc((size_t)nin * sizeof *s->weights + 1);
    s->slots = levada_alloc((size_t)context->block_rows * sizeof *s->slots);
    if (!s->cursors || !s->weights || !s->slots) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory to mix");
    }
    for (int32_t i = 0; i < nin; i++) {
        s->weights[i] =
            a->weights ? levada_value_as_float(levada_value_item(a->weights, i)) : 1.0;
    }
    return levada_rowstore_create(context, &s->store, err);
}

static void mix_close(void *state)
{
    mix_state *s = state;

    for (int32_t i = 0; s->cursors && i < s->n; i++) levada_cursor_clear(&s->cursors[i]);
    levada_rowstore_destroy(&s->store);
    levada_free(s->cursors);
    levada_free(s->weights);
    levada_free(s->slots);
}

static uint64_t mix_key(const mix_state *s, const mix_args *a)
{
    uint64_t seed = a->seed == LEVADA_NULL_INT ? s->context->seed : (uint64_t)a->seed;

    return levada_random_key(levada_random_key(seed, (uint64_t)s->context->epoch),
                             (uint64_t)s->context->opening);
}

/* The input of a draw, or -1 when all have ended. */
static int32_t mix_draw(const mix_state *s, uint64_t key)
{
    double  sum = 0, at;
    int32_t last = -1;

    for (int32_t i = 0; i < s->n; i++) sum += s->weights[i];
    at = levada_random_unit(levada_random_at(key, (uint64_t)s->ordinal)) * sum;
    for (int32_t i = 0; i < s->n; i++) {
        if (s->weights[i] <= 0) continue;
        last = i;
        if (at < s->weights[i]) return i;
        at -= s->weights[i];
    }
    return last; /* rounding: the last one that is left */
}

static levada_status mix_take(mix_state *s, levada_block **out, levada_error *err)
{
    int64_t n = s->nslots;

    if (n == 0) return LEVADA_END;
    LEVADA_TRY(levada_rowstore_take(s->store, s->slots, n, out, err));
    s->nslots = 0;
    return LEVADA_OK;
}

/* The next batch of the input that is drawn, whole. */
static levada_status mix_batch(mix_state *s, uint64_t key, levada_block **out, levada_error *err)
{
    int32_t i;

    while ((i = mix_draw(s, key)) >= 0) {
        levada_cursor *c = &s->cursors[i];
        levada_status  st = levada_cursor_fill(c, s->in[i], err);

        if (st == LEVADA_END) {
            s->weights[i] = 0;
            continue;
        }
        LEVADA_TRY(st);
        LEVADA_TRY(levada_columns_adapt(levada_env_pool(s->context->env), s->context->out,
                                        &c->block, err));
        s->ordinal++;
        *out = c->block;
        c->block = NULL;
        return LEVADA_OK;
    }
    return LEVADA_END;
}

static levada_status mix_records(mix_state *s, uint64_t key, levada_block **out, levada_error *err)
{
    while (s->nslots < s->context->block_rows) {
        int32_t        i = mix_draw(s, key);
        levada_cursor *c = i < 0 ? NULL : &s->cursors[i];
        levada_status  st = c ? levada_cursor_fill(c, s->in[i], err) : LEVADA_END;

        if (i < 0) break;
        if (st == LEVADA_END) {
            s->weights[i] = 0;
            continue;
        }
        if (st == LEVADA_OK && c->row == 0) {
            st = levada_columns_adapt(levada_env_pool(s->context->env), s->context->out, &c->block,
                                      err);
        }
        if (st == LEVADA_OK) {
            st = levada_rowstore_add(s->store, c->block, c->row, 1, &s->slots[s->nslots], err);
        }
        if (st < 0 && s->nslots > 0) break; /* what is in front of it first: it comes again */
        LEVADA_TRY(st);
        s->nslots++;
        s->ordinal++;
        c->row++;
    }
    return mix_take(s, out, err);
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
        ended[i] = s->weights[i] <= 0;
        snprintf(key, sizeof key, "input%d", i);
        LEVADA_TRY(levada_lane_save(&s->cursors[i], s->in[i], to, key, err));
    }
    LEVADA_TRY(levada_state_put_i64s(to, "ended", ended, s->n, err));
    LEVADA_TRY(levada_state_put_i64(to, "ordinal", s->ordinal, err));
    LEVADA_TRY(levada_state_put_i64(to, "n", s->nslots, err));
    return levada_rowstore_save(s->store, s->slots, s->nslots, to, "drawn", err);
}

static levada_status mix_restore_drawn(mix_state *s, levada_state_reader *from, levada_error *err)
{
    uint32_t *slots = NULL;
    int64_t   n;

    LEVADA_TRY(levada_state_get_count(from, "n", INT32_MAX, &n, err));
    LEVADA_TRY(levada_rowstore_restore(s->store, from, "drawn", n, &slots, err));
    if (n <= s->context->block_rows) { /* saved with larger blocks: keep the larger room */
        for (int64_t i = 0; i < n; i++) s->slots[i] = slots[i];
        levada_slots_free(&slots);
    } else {
        levada_free(s->slots);
        s->slots = slots;
    }
    s->nslots = n;
    return LEVADA_OK;
}

static levada_status mix_restore(void *state, levada_state_reader *from, levada_error *err)
{
    mix_state     *s = state;
    const int64_t *ended = NULL;
    int64_t        n = 0, ordinal;
    char           key[24];

    LEVADA_TRY(levada_state_get_i64s(from, "ended", &ended, &n, err));
    LEVADA_TRY(levada_state_get_count(from, "ordinal", LEVADA_COUNT_LIMIT, &ordinal, err));
    if (n != s->n) {
        return levada_fail(err, LEVADA_EDATA_LOSS, "the saved state is damaged");
    }
    for (int32_t i = 0; i < s->n; i++) {
        snprintf(key, sizeof key, "input%d", i);
        LEVADA_TRY(levada_lane_restore(&s->cursors[i], s->in[i], from, key, err));
        if (ended[i]) s->weights[i] = 0;
    }
    LEVADA_TRY(mix_restore_drawn(s, from, err));
    s->ordinal = ordinal;
    return LEVADA_OK;
}

const levada_joint_def levada_joint_mix = {
    .struct_size = sizeof(levada_joint_def),
    .name = "mix",
    .doc = "records (batches) drawn from several inputs by weight",
    .example = "mix(range:10; range:5,start=100):weights=[2,1],seed=3",
    .args = mix_options,
    .args_size = sizeof(mix_args),
    .state_size = sizeof(mix_state),
    .state_version = 1,
    .min_inputs = 1,
    .max_inputs = -1,
    .check = mix_check,
    .open = mix_open,
    .close = mix_close,
    .next = mix_next,
    .passes = true,
    .save = mix_save,
    .restore = mix_restore,
};
