/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rename - other names for fields. All names change at once, so that two may be exchanged.
 */

#include "base/alloc.h"
#include "option/value_priv.h"
#include "registry/env_priv.h"
#include "registry/stage_core.h"
#include "transform/one_field.h"

#include <string.h>

typedef struct rename_args {
    const levada_value *fields;
} rename_args;

typedef struct rename_state {
    levada_columns_state  shared;
    int32_t              *from; /* 0, 1, 2, ...: columns keep their place */
    int32_t               n;
} rename_state;

static const levada_arg rename_options[] = {
    LEVADA_ARG(VALUE, rename_args, fields, .required = true, .positional = true,
               .doc = "{old: new, ...}"),
    LEVADA_ARG_END,
};

static levada_status rename_name(const levada_value *value, levada_field *field, levada_error *err)
{
    size_t      size = 0;
    const char *name = levada_value_as_text(value, &size);

    if (strlen(name) != size) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the new name '%s' contains a zero byte", name);
    }
    if (field) field->name = name;
    return LEVADA_OK;
}

static levada_status rename_check(const void *args, const levada_spec *in, levada_spec **out,
                                  levada_error *err)
{
    const levada_value *map = ((const rename_args *)args)->fields;
    char                shown[LEVADA_VALUE_SHOWN];
    levada_field       *fields;
    levada_status       st = LEVADA_OK;

    if (levada_value_kind_of(map) != LEVADA_VALUE_MAP) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "fields must be a map {old: new}, got %s",
                           levada_value_shown(map, LEVADA_PRINT_TEXT, shown));
    }
    fields = levada_spec_copy_fields(in);
    if (!fields) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    for (int64_t k = 0; st == LEVADA_OK && k < levada_value_count(map); k++) {
        const levada_value *value = levada_value_item(map, k);
        int32_t             i = -1;

        st = levada_spec_require(in, levada_value_key(map, k), &i, err);
        if (st == LEVADA_OK && levada_value_kind_of(value) != LEVADA_VALUE_TEXT) {
            st = levada_fail(err, LEVADA_EINVALID_ARGUMENT, "the new name of '%s' must be a text",
                             levada_value_key(map, k));
        }
        if (st == LEVADA_OK) st = rename_name(value, i >= 0 ? &fields[i] : NULL, err);
    }
    if (st == LEVADA_OK) {
        st = levada_spec_create(fields, levada_spec_count(in), levada_spec_flags_of(in), out, err);
    }
    levada_free(fields);
    return st;
}

static void rename_close(void *state)
{
    rename_state *s = state;

    levada_columns_state_close(&s->shared);
    levada_free(s->from);
    s->from = NULL;
}

static levada_status rename_places(rename_state *s, int32_t n, levada_error *err)
{
    int32_t *from = n > s->n ? levada_realloc(s->from, (size_t)n * sizeof *from) : s->from;

    if (n > 0 && !from)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a block");
    s->from = from;
    for (; s->n < n; s->n++) from[s->n] = s->n;
    return LEVADA_OK;
}

static levada_status rename_apply(void *state, const void *args, const levada_block *in,
                                  levada_block **out, levada_error *err)
{
    rename_state      *s = state;
    const levada_spec *spec = NULL;

    LEVADA_TRY(levada_derived_get(&s->shared.columns, rename_check, args, in->spec, &spec, err));
    LEVADA_TRY(rename_places(s, levada_spec_count(spec), err));
    return levada_columns_pick(levada_env_pool(s->shared.context->env), in, spec, s->from, out,
                               err);
}

const levada_stage_def levada_stage_rename = {
    .struct_size = sizeof(levada_stage_def),
    .name = "rename",
    .doc = "renames fields",
    .example = "range:10 | rename:{value:x}",
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS,
                            .never_rejects = true),
    .core = LEVADA_STAGE_CORE(.late = LEVADA_LATE_PASS),
    .args = rename_options,
    .args_size = sizeof(rename_args),
    .state_size = sizeof(rename_state),
    .check = rename_check,
    .open = levada_columns_state_open,
    .close = rename_close,
    .apply = rename_apply,
};
