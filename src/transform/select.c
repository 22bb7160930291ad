/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select - some of the fields, in a given order.
 */
#include "base/alloc.h"
#include "registry/env_priv.h"
#include "registry/stage_core.h"
#include "transform/one_field.h"

#include <string.h>

typedef struct select_args {
    levada_texts fields;
} select_args;

static const levada_arg select_options[] = {
    LEVADA_ARG(TEXTS, select_args, fields, .required = true, .positional = true,
               .doc = "names of the fields to keep, in the order of the result; the name of a "
                      "list of objects keeps all its members"),
    LEVADA_ARG_END,
};

/* Adds the field `name`, or all members of the list of objects of that name. */
static levada_status select_field(const levada_spec *in, const char *name, levada_field *fields,
                                  int32_t *n, bool *found, levada_error *err)
{
    int32_t at = levada_spec_find(in, name), before = *n;

    for (int32_t i = 0; i < levada_spec_count(in); i++) {
        const levada_field *field = levada_spec_field(in, i);

        if (i != at && (at >= 0 || !levada_field_is_member(field, name))) continue;
        if (*n == levada_spec_count(in)) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "field '%s' is selected twice", name);
        }
        fields[(*n)++] = *field;
    }
    *found = *n > before;
    return *found ? LEVADA_OK : levada_spec_require(in, name, &at, err);
}

/* Selects the fields; one that may still come makes the whole open. */
static levada_status select_check(const void *args, const levada_spec *in, levada_spec **out,
                                  levada_error *err)
{
    const levada_texts *names = &((const select_args *)args)->fields;
    int32_t             flags = levada_spec_flags_of(in), n = 0;
    levada_field       *fields = levada_spec_copy_fields(in);
    bool                all = true;
    levada_status       st = LEVADA_OK;

    if (!fields) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    for (int64_t k = 0; st == LEVADA_OK && k < names->n; k++) {
        bool found = false;

        st = select_field(in, names->at[k], fields, &n, &found, err);
        all = all && found;
    }
    if (all) flags &= ~LEVADA_SPEC_OPEN;
    if (st == LEVADA_OK) st = levada_spec_create(fields, n, flags, out, err);
    levada_free(fields);
    return st;
}

/* Reports a field that the records of an open spec lack. */
static levada_status select_lacks(const void *args, const levada_spec *in, levada_error *err)
{
    const levada_texts *names = &((const select_args *)args)->fields;
    int64_t             k = 0;

    while (k + 1 < names->n && levada_spec_find(in, names->at[k]) >= 0) k++;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "a record lacks field '%s'; return it in all records", names->at[k]);
}

static levada_status select_apply(void *state, const void *args, const levada_block *in,
                                  levada_block **out, levada_error *err)
{
    levada_columns_state *s = state;
    const levada_spec    *spec = NULL;

    LEVADA_TRY(levada_derived_get(&s->columns, select_check, args, in->spec, &spec, err));
    if (levada_spec_flags_of(spec) & LEVADA_SPEC_OPEN) return select_lacks(args, in->spec, err);
    return levada_columns_pick(levada_env_pool(s->context->env), in, spec, NULL, out, err);
}

const levada_stage_def levada_stage_select = {
    .struct_size = sizeof(levada_stage_def),
    .name = "select",
    .doc = "keeps some of the fields, in a given order",
    .example = "range:10 | enumerate | select:[index]",
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS,
                            .never_rejects = true),
    .core = LEVADA_STAGE_CORE(.late = LEVADA_LATE_PASS),
    .args = select_options,
    .args_size = sizeof(select_args),
    .state_size = sizeof(levada_columns_state),
    .check = select_check,
    .open = levada_columns_state_open,
    .close = levada_columns_state_close,
    .apply = select_apply,
};
