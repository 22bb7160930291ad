/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flat_map - any number of records for each one, made by a function of the user. The first column
 * of its result says which record of the block each row was made of: ascending numbers of rows. The
 * others are the columns of the result. Record k of the record with origin o has origin o.k.
 */
#include "base/alloc.h"
#include "description/columns.h"
#include "option/value_priv.h"
#include "registry/env_priv.h"
#include "run/call.h"
#include "tensor/tensor_priv.h"

typedef struct flat_map_args {
    const levada_function *fn;
    const levada_value    *spec;
} flat_map_args;

typedef struct flat_map_state {
    const levada_context *context;
    levada_call           call;
} flat_map_state;

static const levada_arg flat_map_options[] = {
    LEVADA_ARG(FUNCTION, flat_map_args, fn, .required = true, .positional = true,
               .doc = "a pure function from blocks to blocks; its first column is the input row of "
                      "each returned record"),
    LEVADA_ARG(VALUE, flat_map_args, spec,
               .doc = "other columns of the result: {name: dtype or {dtype, kind, shape}}, and "
                      "{name: [{member: dtype}]} for a list of objects; null = the columns of "
                      "the returned blocks"),
    LEVADA_ARG_END,
};

static levada_status flat_map_check(const void *args, const levada_spec *in, levada_spec **out,
                                    levada_error *err)
{
    const flat_map_args *a = args;

    LEVADA_TRY(levada_spec_want_records(in, err));
    if (!levada_function_info(a->fn)->pure) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "flat_map needs a pure function, because it may call it again for the "
                           "same records; declare it pure if equal records have equal results");
    }
    return levada_call_spec(a->fn, a->spec, in, out, err);
}

static levada_status flat_map_open(void *state, const void *args, const levada_context *context,
                                   levada_error *err)
{
    flat_map_state *s = state;

    s->context = context;
    return levada_call_open(&s->call, ((const flat_map_args *)args)->fn, context, err);
}

static void flat_map_cancel(void *state) { levada_call_cancel(&((flat_map_state *)state)->call); }

static void flat_map_close(void *state) { levada_call_close(&((flat_map_state *)state)->call); }

/* Reads the rows that records were made of; they must be rows of `in`, in order. */
static levada_status flat_map_rows(const levada_block *in, const levada_block *made,
                                   const int64_t **out, levada_error *err)
{
    const levada_column *c = levada_block_at(made, 0);
    const int64_t       *rows;
    char                 shown[LEVADA_FIELD_SHOWN];

    if (!c || c->field->dtype != LEVADA_INT64 || c->field->depth || c->field->ndim) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the first column of the result must be the row that each record was "
                           "made of, one int64 per record, got %s",
                           c ? levada_field_shown(c->field, shown) : "no column");
    }
    rows = levada_column_i64(c);
    for (int64_t i = 0; i < made->n; i++) {
        if (rows[i] >= (i ? rows[i - 1] : 0) && rows[i] < in->n) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "record %lld was made of row %lld: rows must ascend and be less than "
                           "%lld",
                           (long long)i, (long long)rows[i], (long long)in->n);
    }
    *out = rows;
    return LEVADA_OK;
}

/* Sets the origins, of all origin parts: the number of the record among those that its record
 * became. */
static levada_status flat_map_origins(levada_pool *pool, const levada_block *in,
                                      const int64_t *rows, levada_block *made, levada_error *err)
{
    int32_t        nparts = levada_block_origin_parts(in);
    levada_origin *each[LEVADA_ORIGIN_PARTS];

    if (made->n == 0) return LEVADA_OK;
    LEVADA_TRY(levada_block_reserve_origins(pool, made, nparts, each, err));
    for (int32_t part = 0; part < nparts; part++) {
        int32_t sub = 0;

        for (int64_t i = 0; i < made->n; i++) {
            sub = i && rows[i] == rows[i - 1] ? sub + 1 : 0;
            each[part][i] = levada_block_origin_part(in, rows[i], part);
            each[part][i].sub = sub;
        }
    }
    return LEVADA_OK;
}

/* Makes the columns of `made` without the first, and its bad records. */
static levada_status flat_map_columns(levada_pool *pool, const levada_block *made,
                                      levada_block **out, levada_error *err)
{
    int32_t       n = levada_spec_count(made->spec) - 1;
    levada_field *fields = levada_spec_copy_fields(made->spec);
    int32_t      *from = levada_alloc(((size_t)n + 1) * sizeof *from);
    levada_spec  *spec = NULL;
    levada_status st = LEVADA_OK;

    if (!fields || !from) st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                           "out of memory for a spec");
    for (int32_t i = 0; st == LEVADA_OK && i < n; i++) from[i] = i + 1;
    if (st == LEVADA_OK) {
        st = levada_spec_create(fields + 1, n, levada_spec_flags_of(made->spec), &spec, err);
    }
    if (st == LEVADA_OK) st = levada_columns_pick(pool, made, spec, from, out, err);
    levada_spec_unref(&spec);
    levada_free(from);
    levada_free(fields);
    return st;
}

static levada_status flat_map_apply(void *state, const void *args, const levada_block *in,
                                    levada_block **out, levada_error *err)
{
    flat_map_state *s = state;
    levada_pool    *pool = levada_env_pool(s->context->env);
    const int64_t  *rows = NULL;
    levada_block   *made = NULL, *own = NULL;
    levada_status   st;

    (void)args;
    LEVADA_TRY(levada_call_block(&s->call, in, &made, err));
    st = flat_map_rows(in, made, &rows, err);
    if (st == LEVADA_OK) st = flat_map_columns(pool, made, &own, err);
    if (st == LEVADA_OK && own->n) st = levada_spec_fits(s->context->out, own->spec, err);
    if (st == LEVADA_OK) st = flat_map_origins(pool, in, rows, own, err);
    if (st == LEVADA_OK) {
        own->bytes += in->bytes;
        *out = own;
        own = NULL;
    } else if (s->call.def->name) {
        const char *name = s->call.def->name;
        levada_error_wrap(err, "%.*s", levada_function_name_shown(name), name);
    }
    levada_block_unref(&own);
    levada_block_unref(&made);
    return st;
}

const levada_stage_def levada_stage_flat_map = {
    .struct_size = sizeof(levada_stage_def),
    .name = "flat_map",
    .doc = "returns any number of records for each record, with a pure function",
    .example = "range:10 | flat_map:{c:spread}",
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.reads = LEVADA_READS_COLUMNS, .side_effects = true),
    .args = flat_map_options,
    .args_size = sizeof(flat_map_args),
    .state_size = sizeof(flat_map_state),
    .check = flat_map_check,
    .open = flat_map_open,
    .close = flat_map_close,
    .cancel = flat_map_cancel,
    .apply = flat_map_apply,
};
