/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter - the records for which an expression or a function of the user holds.
 */
#include "base/alloc.h"
#include "registry/stage_core.h"
#include "run/call.h"
#include "description/columns.h"
#include "registry/env_priv.h"
#include "tensor/convert.h"
#include "transform/expression.h"

typedef struct filter_args {
    const char            *expression;
    const levada_function *fn;
} filter_args;

typedef struct filter_state {
    levada_expression *expression; /* NULL: the function says it */
    levada_call        call;
} filter_state;

static const levada_arg filter_options[] = {
    LEVADA_ARG(TEXT, filter_args, expression, .positional = true,
               .doc = "condition, such as \"len(tokens) > 4 and label in [1, 2]\"; null = use fn"),
    LEVADA_ARG(FUNCTION, filter_args, fn,
               .doc = "a pure function from a block to a block with one bool column"),
    LEVADA_ARG_END,
};

static levada_status filter_check(const void *args, const levada_spec *in, levada_spec **out,
                                  levada_error *err)
{
    const filter_args *a = args;
    levada_expression *e = NULL;
    levada_status      st;

    (void)out;
    LEVADA_TRY(levada_spec_want_records(in, err));
    if (!a->expression == !a->fn) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "set exactly one of expression and fn, got %s",
                           a->fn ? "both" : "neither");
    }
    if (a->fn && !levada_function_info(a->fn)->pure) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "filter needs a pure function, because it may call it again for the "
                           "same records; use map and filter its result");
    }
    if (a->fn) return LEVADA_OK;
    LEVADA_TRY(levada_expression_parse(a->expression, &e, err));
    st = levada_expression_check(e, in, err);
    levada_expression_destroy(&e);
    return st;
}

static levada_status filter_open(void *state, const void *args, const levada_context *context,
                                 levada_error *err)
{
    filter_state      *s = state;
    const filter_args *a = args;

    if (a->fn) return levada_call_open(&s->call, a->fn, context, err);
    return levada_expression_parse(a->expression, &s->expression, err);
}

static void filter_cancel(void *state) { levada_call_cancel(&((filter_state *)state)->call); }

static void filter_close(void *state)
{
    filter_state *s = state;

    levada_expression_destroy(&s->expression);
    levada_call_close(&s->call);
}

/* Calls the function. The rows of bad records stay for now, so that the policy sees them. */
static levada_status filter_ask(const filter_state *s, const levada_block *in, uint8_t *keep,
                                levada_block **said, levada_error *err)
{
    const levada_column *c;

    LEVADA_TRY(levada_call_rows(&s->call, in, NULL, said, err));
    c = levada_block_at(*said, 0);
    if (levada_spec_count((*said)->spec) != 1 || c->field->depth || c->field->ndim ||
        !levada_convert_known(c->field->dtype, LEVADA_BOOL)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the function must return one column of booleans, got %d of %s",
                           (int)levada_spec_count((*said)->spec),
                           c ? levada_dtype_name(c->field->dtype) : "none");
    }
    (void)levada_convert(c->field->dtype, c->values, LEVADA_BOOL, keep, in->n);
    for (int32_t i = 0; i < (*said)->nrejects; i++) keep[(*said)->rejects[i].row] = 1;
    return LEVADA_OK;
}

/* Moves the bad records of `said` to their rows in the selection. */
static void filter_move_rejects(levada_block *said, const int32_t *rows, levada_block *made)
{
    for (int32_t i = 0; i < said->nrejects; i++) {
        levada_reject *reject = &said->rejects[i];
        int64_t        k = 0;

        while (rows[k] != reject->row) k++;
        reject->row = k;
    }
    made->rejects = said->rejects;
    made->nrejects = said->nrejects;
    said->rejects = NULL;
    said->nrejects = 0;
}

static levada_status filter_select(const levada_block *in, const uint8_t *keep, int32_t *rows,
                                   levada_block **out, levada_error *err)
{
    int64_t n = 0;

    for (int64_t r = 0; r < in->n; r++) {
        rows[n] = (int32_t)r;
        n += keep[r];
    }
    return levada_block_select(in, rows, n, out, err);
}

static levada_status filter_apply(void *state, const void *args, const levada_block *in,
                                  levada_block **out, levada_error *err)
{
    filter_state *s = state;
    int32_t      *rows = levada_alloc((size_t)in->n * (sizeof *rows + 1));
    uint8_t      *keep;
    levada_block *said = NULL;
    levada_status st;

    (void)args;
    if (!rows) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a filter");
    keep = (uint8_t *)(rows + in->n);
    st = s->expression ? levada_expression_match(s->expression, in, keep, err)
                       : filter_ask(s, in, keep, &said, err);
    if (st == LEVADA_OK) st = filter_select(in, keep, rows, out, err);
    if (st == LEVADA_OK && said && said->nrejects) filter_move_rejects(said, rows, *out);
    levada_block_unref(&said);
    levada_free(rows);
    return st;
}

const levada_stage_def levada_stage_filter = {
    .struct_size = sizeof(levada_stage_def),
    .name = "filter",
    .doc = "keeps the records for which a condition is true",
    .example = "range:10 | filter:\"value >= 3 and value != 5\"",
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_SUBSET, .reads = LEVADA_READS_COLUMNS,
                            .side_effects = true),
    .core = LEVADA_STAGE_CORE(.late = LEVADA_LATE_PASS),
    .args = filter_options,
    .args_size = sizeof(filter_args),
    .state_size = sizeof(filter_state),
    .check = filter_check,
    .open = filter_open,
    .close = filter_close,
    .cancel = filter_cancel,
    .apply = filter_apply,
};
