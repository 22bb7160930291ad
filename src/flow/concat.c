/* SPDX-License-Identifier: Apache-2.0 */
/*
 * concat - one input after the other. All have the same fields; dimensions in which they differ may
 * vary in the whole.
 */
#include "base/alloc.h"
#include "description/columns.h"
#include "registry/env_priv.h"
#include "registry/combiner.h"
#include "tensor/encoded.h"

typedef struct concat_args {
    int8_t none;
} concat_args;

typedef struct concat_state {
    const levada_context *context;
    levada_input *const   *in;
    int32_t               n, at; /* inputs; the one that is read */
} concat_state;

static const levada_arg concat_options[] = { LEVADA_ARG_END };

static levada_status concat_field(levada_field *to, const levada_field *is, int32_t input,
                                  levada_error *err)
{
    if (!is) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the fields of all inputs must be equal: input 0 has '%s', input %d has "
                           "not; use select to make them equal", to->name, (int)input);
    }
    if (is->dtype != to->dtype || is->depth != to->depth || is->ndim != to->ndim ||
        is->padded != to->padded || is->left != to->left) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the fields of all inputs must be equal: '%s' of input %d is %s with %d "
                           "ragged levels and %d dimensions, of input 0 %s with %d and %d; use "
                           "cast, or "
                           "map, to make them equal",
                           to->name, (int)input, levada_dtype_name(is->dtype), is->depth, is->ndim,
                           levada_dtype_name(to->dtype), to->depth, to->ndim);
    }
    for (int32_t d = 0; d < to->ndim; d++) {
        if (to->dims[d] != is->dims[d]) to->dims[d] = -1;
    }
    return LEVADA_OK;
}

static levada_status concat_merge(levada_field *fields, int32_t n, const levada_spec *is,
                                  int32_t input, levada_error *err)
{
    if (levada_spec_count(is) != n) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the fields of all inputs must be equal: input %d has %d fields, "
                           "input 0 has %d; "
                           "use select to make them equal", (int)input,
                           (int)levada_spec_count(is), (int)n);
    }
    for (int32_t i = 0; i < n; i++) {
        int32_t at = levada_spec_find(is, fields[i].name);

        LEVADA_TRY(concat_field(&fields[i], levada_spec_field(is, at), input, err));
    }
    return LEVADA_OK;
}

static levada_status concat_check(const void *args, const levada_spec *const *in, int32_t nin,
                                  levada_spec **out, levada_error *err)
{
    levada_field *fields;
    int32_t       flags = 0, n = levada_spec_count(in[0]);
    levada_status st = LEVADA_OK;

    (void)args;
    LEVADA_TRY(levada_spec_want_alike(in, nin, &flags, err));
    if (flags & LEVADA_SPEC_OPEN) return levada_spec_create(NULL, 0, flags, out, err);
    fields = levada_spec_copy_fields(in[0]);
    if (!fields) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    for (int32_t i = 1; st == LEVADA_OK && i < nin; i++) {
        st = concat_merge(fields, n, in[i], i, err);
    }
    if (st == LEVADA_OK) st = levada_spec_create(fields, n, flags, out, err);
    levada_free(fields);
    return st;
}

static levada_status concat_open(void *state, const void *args, const levada_context *context,
                                 levada_input *const *in, int32_t nin, levada_error *err)
{
    concat_state *s = state;

    (void)args;
    (void)err;
    s->context = context;
    s->in = in;
    s->n = nin;
    return LEVADA_OK;
}

static levada_status concat_next(void *state, const void *args, levada_block **out,
                                 levada_error *err)
{
    concat_state *s = state;
    levada_block *block = NULL;
    levada_status st = LEVADA_END;

    (void)args;
    while (s->at < s->n) {
        st = levada_input_next(s->in[s->at], &block, err);
        if (st != LEVADA_END) break;
        s->at++;
    }
    if (st != LEVADA_OK) return st;
    st = levada_columns_adapt(levada_env_pool(s->context->env), s->context->out, &block, err);
    if (st != LEVADA_OK) levada_block_unref(&block);
    *out = block;
    return st;
}

static levada_status concat_save(const void *state, levada_state_writer *to, levada_error *err)
{
    return levada_state_put_i64(to, "at", ((const concat_state *)state)->at, err);
}

static levada_status concat_restore(void *state, levada_state_reader *from, levada_error *err)
{
    concat_state *s = state;
    int64_t       at;

    LEVADA_TRY(levada_state_get_count(from, "at", s->n, &at, err));
    s->at = (int32_t)at;
    return LEVADA_OK;
}

const levada_combiner_def levada_combiner_concat = {
    .struct_size = sizeof(levada_combiner_def),
    .name = "concat",
    .doc = "returns all records of the first input, then of the next input, and so on",
    .example = "concat(range:10; range:5,start=100)",
    .traits =
        LEVADA_TRAITS(.rows = LEVADA_ROWS_PERMUTES, .reads = LEVADA_READS_NONE, .divides = true),
    .late = LEVADA_LATE_PASS,
    .args = concat_options,
    .args_size = sizeof(concat_args),
    .state_size = sizeof(concat_state),
    .state_version = 1,
    .min_inputs = 1,
    .max_inputs = -1,
    .check = concat_check,
    .open = concat_open,
    .next = concat_next,
    .save = concat_save,
    .restore = concat_restore,
};
