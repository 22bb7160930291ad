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
               .doc = "{old: new, ...}; the name of a list of objects renames all its members"),
    LEVADA_ARG_END,
};

/* The fields with their new names. */
typedef struct rename_names {
    const levada_spec *in;
    levada_field      *fields;
    char             **made; /* names of members that were put together; owned */
    int32_t            n;
} rename_names;

static void rename_names_free(rename_names *r)
{
    for (int32_t i = 0; r->made && i < r->n; i++) levada_free(r->made[i]);
    levada_free(r->made);
    levada_free(r->fields);
}

/* Renames member i of the objects `old`. The marks of the member count the dots of its
 * name. */
static levada_status rename_member(rename_names *r, int32_t i, const char *old, const char *new,
                                   levada_error *err)
{
    levada_field *f = &r->fields[i];
    size_t        tail = strlen(f->name) - strlen(old), head = strlen(new);
    int32_t       before = levada_name_dots(old), after = levada_name_dots(new);
    char         *name = levada_alloc(head + tail + 1);

    if (!name) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a name");
    memcpy(name, new, head);
    memcpy(name + head, f->name + strlen(old), tail + 1);
    levada_free(r->made[i]);
    r->made[i] = name;
    f->name = name;
    for (int32_t l = 0; l < f->depth; l++) {
        int32_t dots = f->object[l] + after - before;

        if (f->object[l] == 0) continue;
        if (dots > UINT8_MAX) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "the new name '%s' has more than %d dots", new, UINT8_MAX - 1);
        }
        f->object[l] = (uint8_t)dots;
    }
    return LEVADA_OK;
}

/* Renames the field `old`, or all members of the list of objects of that name. */
static levada_status rename_field(rename_names *r, const char *old, const char *new,
                                  levada_error *err)
{
    int32_t at = levada_spec_find(r->in, old);
    bool    found = at >= 0;

    if (found) r->fields[at].name = new;
    for (int32_t i = 0; at < 0 && i < r->n; i++) {
        if (!levada_field_is_member(levada_spec_field(r->in, i), old)) continue;
        LEVADA_TRY(rename_member(r, i, old, new, err));
        found = true;
    }
    return found ? LEVADA_OK : levada_spec_require(r->in, old, &at, err);
}

static levada_status rename_all(rename_names *r, const levada_value *map, levada_error *err)
{
    char shown[LEVADA_VALUE_SHOWN];
    for (int64_t k = 0; k < levada_value_count(map); k++) {
        const levada_value *value = levada_value_item(map, k);
        size_t              size = 0;
        const char         *name = levada_value_as_text(value, &size);

        if (levada_value_kind_of(value) != LEVADA_VALUE_TEXT) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "the new name of '%s' must be a string, got %s",
                               levada_value_key(map, k),
                               levada_value_shown(value, LEVADA_PRINT_TEXT, shown));
        }
        if (strlen(name) != size) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "the new name '%s' contains a zero byte", name);
        }
        LEVADA_TRY(rename_field(r, levada_value_key(map, k), name, err));
    }
    return LEVADA_OK;
}

static levada_status rename_check(const void *args, const levada_spec *in, levada_spec **out,
                                  levada_error *err)
{
    const levada_value *map = ((const rename_args *)args)->fields;
    char                shown[LEVADA_VALUE_SHOWN];
    rename_names        r = { .in = in, .n = levada_spec_count(in) };
    levada_status       st = LEVADA_OK;

    if (levada_value_kind_of(map) != LEVADA_VALUE_MAP) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "fields must be a map {old: new}, got %s",
                           levada_value_shown(map, LEVADA_PRINT_TEXT, shown));
    }
    r.fields = levada_spec_copy_fields(in);
    r.made = levada_alloc_zero(((size_t)r.n + 1) * sizeof *r.made);
    if (!r.fields || !r.made)
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    if (st == LEVADA_OK) st = rename_all(&r, map, err);
    if (st == LEVADA_OK) st = levada_spec_create(r.fields, r.n, levada_spec_flags_of(in), out, err);
    rename_names_free(&r);
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
