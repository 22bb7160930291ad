/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect - one record out of each batch, such as a window of a time series: it can be shuffled,
 * bucketed and padded as any other record. The batching stage decides which records belong
 * together, and its buffered records are saved by origin.
 */
#include "batch/collecting.h"
#include "description/columns.h"
#include "registry/env_priv.h"
#include <levada/stage.h>

typedef struct collect_args {
    int8_t none;
} collect_args;

typedef struct collect_state {
    const levada_context *context;
    levada_derived        columns;
} collect_state;

static const levada_arg collect_options[] = { LEVADA_ARG_END };

/* Derives the blocks of a batch, which need not carry the mark, because the pipeline has it. */
static levada_status collect_derive(const void *args, const levada_spec *in, levada_spec **out,
                                    levada_error *err)
{
    (void)args;
    return levada_collecting_spec(in, NULL, out, err);
}

static levada_status collect_check(const void *args, const levada_spec *in, levada_spec **out,
                                   levada_error *err)
{
    if (levada_spec_flags_of(in) & LEVADA_SPEC_BATCHED) return collect_derive(args, in, out, err);
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "the input has records, and this stage makes a record of each batch: put it "
                       "after batch or window");
}

static levada_status collect_open(void *state, const void *args, const levada_context *context,
                                  levada_error *err)
{
    (void)args, (void)err;
    ((collect_state *)state)->context = context;
    return LEVADA_OK;
}

static void collect_close(void *state)
{
    levada_derived_clear(&((collect_state *)state)->columns);
}

static levada_status collect_apply(void *state, const void *args, const levada_block *in,
                                   levada_block **out, levada_error *err)
{
    collect_state     *s = state;
    const int32_t      end = (int32_t)in->n;
    const levada_spec *spec = NULL;

    LEVADA_TRY(levada_derived_get(&s->columns, collect_derive, args, in->spec, &spec, err));
    return levada_collecting_block(levada_env_pool(s->context->env), spec, NULL, in, &end, 1, out,
                                   err);
}

static int64_t collect_count(const void *args, int64_t n)
{
    (void)args;
    return n;
}

const levada_stage_def levada_stage_collect = {
    .struct_size = sizeof(levada_stage_def),
    .name = "collect",
    .doc = "makes one record of each batch; every field has one more level",
    .example = "range:10 | batch:4 | collect",
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.count = collect_count, .never_rejects = true),
    .args = collect_options,
    .args_size = sizeof(collect_args),
    .state_size = sizeof(collect_state),
    .check = collect_check,
    .open = collect_open,
    .close = collect_close,
    .apply = collect_apply,
};
