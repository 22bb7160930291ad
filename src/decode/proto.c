/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the decoders of Examples and SequenceExamples, and the order of their work.
 */
#include "decode/proto.h"

#include "base/alloc.h"
#include "registry/env_priv.h"

static levada_status proto_no_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a decoder");
}

static levada_status proto_start(levada_proto *x, const levada_value *context,
                                 const levada_value *lists, bool sequence, levada_error *err)
{
    levada_proto_plan *plan;
    int32_t n;

    LEVADA_TRY(levada_proto_plan_create(context, lists, sequence, &x->plan, err));
    plan = x->plan;
    n = plan->nslots;
    LEVADA_TRY(levada_keys_init(&x->keys[0], plan->slots, 0, plan->ncontext, err));
    LEVADA_TRY(levada_keys_init(&x->keys[1], plan->slots, plan->ncontext, n, err));
    x->nwords = (n + 63) / 64;
    x->seen = levada_alloc_zero((size_t)x->nwords * sizeof *x->seen);
    x->full = levada_alloc_zero((size_t)x->nwords * sizeof *x->full);
    x->ever = levada_alloc_zero((size_t)x->nwords * sizeof *x->ever);
    x->trouble = levada_alloc_zero((size_t)n * sizeof *x->trouble);
    x->direct = levada_alloc_zero((size_t)n * sizeof *x->direct);
    if (!x->seen || !x->full || !x->ever || !x->trouble || !x->direct) return proto_no_memory(err);
    for (int32_t i = 0; i < n; i++) x->full[i >> 6] |= UINT64_C(1) << (i & 63);
    return LEVADA_OK;
}

levada_status levada_proto_open(levada_proto *x, const levada_value *context,
                                const levada_value *lists, bool sequence,
                                const levada_context *how, levada_error *err)
{
    levada_status st = proto_start(x, context, lists, sequence, err);

    x->kernels = levada_env_kernels(how->env);
    if (st != LEVADA_OK) levada_proto_close(x);
    return st;
}

void levada_proto_close(levada_proto *x)
{
    levada_proto_plan_destroy(&x->plan);
    levada_keys_clear(&x->keys[0]);
    levada_keys_clear(&x->keys[1]);
    levada_arena_clear(&x->arena);
    levada_free(x->spans);
    levada_free(x->seen);
    levada_free(x->full);
    levada_free(x->ever);
    levada_free(x->trouble);
    levada_free(x->direct);
    levada_free(x->rejected);
    for (int32_t i = 0; i < LEVADA_MAX_DEPTH; i++) {
        levada_free(x->step[i]);
        levada_free(x->first[i]);
        levada_free(x->level[i]);
    }
    levada_free(x->counts);
    levada_free(x->number);
    levada_free(x->order);
    memset(x, 0, sizeof *x);
}

/* Reserves memory for n rows; columns of single numbers, which the first pass fills. */
static levada_status proto_prepare(levada_proto *x, levada_error *err)
{
    int64_t nslots = x->plan->nslots;
    int64_t had = x->capacity;

    levada_arena_reset(&x->arena);
    if (x->rows > had) {
        int64_t capacity = 0;

        levada_free(x->spans);
        levada_free(x->rejected);
        x->spans = NULL;
        x->rejected = NULL;
        x->capacity = 0;
        LEVADA_TRY(levada_proto_reserve((void **)&x->spans, &capacity, nslots * x->rows,
                                     sizeof *x->spans, err));
        capacity = 0;
        LEVADA_TRY(levada_proto_reserve((void **)&x->rejected, &capacity, x->rows, 1, err));
        x->capacity = x->rows;
    }
    if (x->rows > 0) memset(x->rejected, 0, (size_t)x->rows);
    for (int64_t i = 0; i < nslots; i++) {
        const levada_slot *s = &x->plan->slots[i];

        if (!s->direct) continue;
        LEVADA_TRY(levada_builder_values(x->out, x->plan->features[s->feature].column, x->rows,
                                         &x->direct[i], err));
    }
    return LEVADA_OK;
}

/* Makes the level of the steps, which are counted in x->first[0]. */
static levada_status proto_time(levada_proto *x, const levada_feature *f, levada_error *err)
{
    int32_t *time = NULL;

    LEVADA_TRY(levada_builder_offsets(x->out, f->column, 0, x->rows, &time, err));
    memcpy(time, x->first[0], (size_t)(x->rows + 1) * sizeof *time);
    return LEVADA_OK;
}

/* Makes FixedLen, and FixedLenSequence in a feature list: the same for each item. */
static levada_status proto_fixed(levada_proto *x, const levada_feature *f, levada_error *err)
{
    levada_items items;
    bool done = false;

    if (f->steps && x->late) LEVADA_TRY(levada_late_runs(x, f, &done, err));
    if (f->steps && !done) LEVADA_TRY(levada_steps_numbers(x, f, &done, err));
    if (done) return proto_time(x, f, err);
    LEVADA_TRY(levada_proto_items(x, f, f->slot, 0, &items, err));
    if (f->steps) LEVADA_TRY(proto_time(x, f, err));
    if (f->list == LEVADA_LIST_BYTES) return levada_strings_fixed(x, f, &items, err);
    if (x->late) LEVADA_TRY(levada_late_fixed(x, f, &items, &done, err));
    return done ? LEVADA_OK : levada_numbers_fixed(x, f, &items, err);
}

levada_status levada_proto_decode(levada_proto *x, const levada_strings *in, levada_builder *out,
                                  levada_error *err)
{
    x->in = in;
    x->out = out;
    x->rows = in->n;
    x->blocks++;
    LEVADA_TRY(proto_prepare(x, err));
    LEVADA_TRY(levada_proto_scan(x, err));
    for (int32_t i = 0; i < x->plan->nfeatures; i++) {
        const levada_feature *f = &x->plan->features[i];

        if (x->plan->slots[f->slot].direct) continue;
        x->late = levada_late_wanted(x, f);
        if (f->kind == LEVADA_FEATURE_FIXED || (f->kind == LEVADA_FEATURE_SEQUENCE && f->steps)) {
            LEVADA_TRY(proto_fixed(x, f, err));
        } else if (f->kind == LEVADA_FEATURE_SPARSE) {
            LEVADA_TRY(levada_sparse_decode(x, f, err));
        } else {
            LEVADA_TRY(levada_ragged_decode(x, f, err));
        }
    }
    return LEVADA_OK;
}
