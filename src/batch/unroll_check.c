/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of the stage `unroll`: whether they fit each other, and the columns.
 */
#include "batch/unroll_priv.h"
#include "tensor/tensor_priv.h"

#include <string.h>

#define UNROLL_CHECK_STATES 64

levada_unrolling levada_unroll_how(const levada_unroll_args *a)
{
    levada_unrolling u = { .width = a->num_unroll, .overlap = a->burn_in, .shift = a->shift,
                           .least = a->min_segment, .zero_length = a->zero_length,
                           .whole = !a->pad, .key = a->key, .length = a->length,
                           .sequences = a->sequences, .context = a->context,
                           .targets = a->targets,
                           .padding = a->padding_values,
                           .ready = a->layout == LEVADA_UNROLL_READY };

    return u;
}

static levada_status unroll_check_steps(const levada_unroll_args *a, levada_error *err)
{
    if (a->burn_in >= a->num_unroll) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "burn_in=%lld must be less than num_unroll=%lld",
                           (long long)a->burn_in, (long long)a->num_unroll);
    }
    if (a->min_segment > a->num_unroll - a->burn_in) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "min_segment=%lld must not exceed the %lld new steps in a segment",
                           (long long)a->min_segment, (long long)(a->num_unroll - a->burn_in));
    }
    if (a->targets.n && !a->shift) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "targets= needs shift=");
    }
    return LEVADA_OK;
}

static levada_status unroll_check_ranks(const levada_unroll_args *a, levada_error *err)
{
    if (!a->ranks.n) return LEVADA_OK;
    if (a->ranks.n != 2 || a->ranks.at[0] >= a->ranks.at[1]) {
        return levada_fail(
            err, LEVADA_EINVALID_ARGUMENT,
            "ranks must be [rank, world] with rank below world, such as ranks=[0,8]; got %lld "
            "numbers, the first is %lld", (long long)a->ranks.n, (long long)a->ranks.at[0]);
    }
    if (a->layout == LEVADA_UNROLL_READY) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "ranks= needs layout=slots");
    }
    if (a->batch_size > LEVADA_UNROLL_ROWS / a->ranks.at[1]) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "batch_size=%lld of %lld ranks: at most %d slots in all",
                           (long long)a->batch_size, (long long)a->ranks.at[1],
                           LEVADA_UNROLL_ROWS);
    }
    return LEVADA_OK;
}

/* Options of the other layout. */
static levada_status unroll_check_layout(const levada_unroll_args *a, levada_error *err)
{
    bool ready = a->layout == LEVADA_UNROLL_READY;

    if (ready != (a->states != NULL)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           ready ? "layout=ready needs states=" : "states= needs layout=ready");
    }
    if (!ready && (a->capacity != LEVADA_NULL_INT || a->make_keys_unique || a->check_finite)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s= needs layout=ready",
                           a->make_keys_unique ? "make_keys_unique"
                           : a->check_finite   ? "check_finite"
                                               : "capacity");
    }
    if (a->capacity != LEVADA_NULL_INT && a->capacity < a->batch_size) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "capacity %lld needs to be >= batch_size %lld", (long long)a->capacity,
                           (long long)a->batch_size);
    }
    return LEVADA_OK;
}

levada_status levada_unroll_states(const levada_unroll_args *a, levada_spec **out,
                                   levada_error *err)
{
    char shown[LEVADA_FIELD_SHOWN];
    levada_spec *spec = NULL;
    levada_status st = levada_spec_read(a->states, 0, &spec, err);
    int32_t n = st == LEVADA_OK ? levada_spec_count(spec) : 0;

    if (st == LEVADA_OK && (n == 0 || n > UNROLL_CHECK_STATES)) {
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "must declare 1 to %d states, got %d", UNROLL_CHECK_STATES, (int)n);
    }
    for (int32_t i = 0; st == LEVADA_OK && i < n; i++) {
        const levada_field *f = levada_spec_field(spec, i);
        bool good = f->depth == 0 && !levada_dtype_is_bytes(f->dtype) && f->ndim < LEVADA_MAX_DIMS;

        for (int32_t d = 0; d < f->ndim; d++) good = good && f->dims[d] >= 0;
        if (good && !strchr(f->name, ':')) continue;
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         good ? "the name of state '%s' must not contain a colon"
                              : "state '%s' must have numbers of one known shape, got %s",
                         f->name, levada_field_shown(f, shown));
    }
    if (st == LEVADA_OK) *out = spec;
    else levada_spec_unref(&spec);
    if (st != LEVADA_OK) levada_error_wrap(err, "states");
    return st;
}

levada_status levada_unroll_check(const void *args, const levada_spec *in, levada_spec **out,
                                  levada_error *err)
{
    const levada_unroll_args *a = args;
    levada_unrolling u = levada_unroll_how(a);
    levada_spec *states = NULL;
    levada_status st;

    LEVADA_TRY(unroll_check_steps(a, err));
    LEVADA_TRY(unroll_check_layout(a, err));
    LEVADA_TRY(unroll_check_ranks(a, err));
    if (u.ready) LEVADA_TRY(levada_unroll_states(a, &states, err));
    u.states = states;
    st = levada_unrolling_spec(&u, in, out, err);
    levada_spec_unref(&states);
    return st;
}
