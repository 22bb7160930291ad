/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of an object with numbers: a function receives numbers and returns the records. Whatever
 * answers `object[i]` quickly (a table, an array on disk, a database) becomes a source with exact
 * checkpoints, parts, and a random order of all records.
 */
#include "description/columns.h"
#include "run/call.h"
#include <levada/source.h>

#include <string.h>

typedef struct random_args {
    const levada_function *fn;
    int64_t                count, preferred;
    const levada_value    *spec;
    const levada_block    *lengths;
    const char            *name, *mark;
} random_args;

typedef struct random_state {
    const levada_context *context;
    levada_call           call;
    levada_spec          *numbers; /* columns of what the function receives */
} random_state;

static const levada_arg random_options[] = {
    LEVADA_ARG(FUNCTION, random_args, fn, .required = true, .positional = true,
               .doc = "function that receives a block with ascending numbers in the column "
                      "'value', and returns a block with the record of each number"),
    LEVADA_ARG(INT, random_args, count, .required = true, .min = 0, .max = INT64_MAX,
               .doc = "number of records"),
    LEVADA_ARG(VALUE, random_args, spec,
               .doc = "columns of the result: {name: dtype or {dtype, kind, shape}}, and "
                      "{name: [{member: dtype}]} for a list of objects; null = the columns of "
                      "the returned blocks"),
    LEVADA_ARG(BLOCK, random_args, lengths,
               .doc = "columns with the lengths (int64) that fields of these names have in each "
                      "record, so that ranks in step fetch only their own records; null = unknown"),
    LEVADA_ARG(INT, random_args, preferred, .tuning = true, .min = 0, .max = 65536,
               .doc = "numbers of a call that suit the storage, if block_rows is not set; 0 = as "
                      "many as other blocks have"),
    LEVADA_ARG(TEXT, random_args, name, .tuning = true,
               .doc = "name of the object in errors and keys of records"),
    LEVADA_ARG(TEXT, random_args, mark,
               .doc = "text that identifies the content of the object, which a restore compares; "
                      "null = a restore compares only the number of records"),
    LEVADA_ARG_END,
};

static levada_status random_check(const void *args, levada_spec **out, levada_error *err)
{
    const random_args *a = args;

    if (a->lengths && a->lengths->n != a->count) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "lengths has %lld rows for %lld records",
                           (long long)a->lengths->n, (long long)a->count);
    }
    if (a->spec) return levada_spec_read(a->spec, LEVADA_SPEC_PLAIN, out, err);
    return levada_spec_create(NULL, 0, LEVADA_SPEC_OPEN, out, err);
}

static levada_status random_open(void *state, const void *args, const levada_context *context,
                                 levada_error *err)
{
    random_state *s = state;
    levada_field  field = { .name = "value", .dtype = LEVADA_INT64 };

    s->context = context;
    LEVADA_TRY(levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, &s->numbers, err));
    return levada_call_open(&s->call, ((const random_args *)args)->fn, context, err);
}

static void random_close(void *state)
{
    random_state *s = state;

    levada_call_close(&s->call);
    levada_spec_unref(&s->numbers);
}

static void random_cancel(void *state) { levada_call_cancel(&((random_state *)state)->call); }

static levada_status random_numbers(const random_state *s, const int64_t *records, int64_t n,
                                    levada_block **out, levada_error *err)
{
    levada_builder *b = NULL;
    void           *values = NULL;
    levada_status   st;

    LEVADA_TRY(levada_builder_create(s->context->env, s->numbers, n, &b, err));
    st = levada_builder_values(b, 0, n, &values, err);
    if (st == LEVADA_OK) memcpy(values, records, (size_t)n * sizeof *records);
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    return st;
}

static levada_status random_at(void *state, const void *args, const int64_t *records, int64_t n,
                               levada_block **out, levada_error *err)
{
    random_state *s = state;
    levada_block *numbers = NULL;
    levada_status st;

    (void)args;
    LEVADA_TRY(random_numbers(s, records, n, &numbers, err));
    st = levada_call_rows(&s->call, numbers, s->context->out, out, err);
    levada_block_unref(&numbers);
    return st;
}

static int64_t random_count(const void *args) { return ((const random_args *)args)->count; }

static int64_t random_preferred(const void *args)
{
    return ((const random_args *)args)->preferred;
}

const levada_source_def levada_source_random = {
    .struct_size = sizeof(levada_source_def),
    .name = "random",
    .doc = "returns the records of an object by their numbers",
    .example = "random:{c:twice},count=10,shuffle_records=true",
    .args = random_options,
    .args_size = sizeof(random_args),
    .state_size = sizeof(random_state),
    .state_version = 1,
    .check = random_check,
    .open = random_open,
    .close = random_close,
    .cancel = random_cancel,
    .at = random_at,
    .count = random_count,
    .preferred = random_preferred,
};
