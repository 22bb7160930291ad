/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/refs.h"
#include <levada/spec.h>

#include <stdatomic.h>
#include <string.h>

struct levada_spec {
    atomic_int   refs;
    int32_t      flags, n;
    levada_field fields[]; /* names lie behind them, in the same allocation */
};

static levada_status spec_check(const levada_field *fields, int32_t n, levada_error *err)
{
    for (int32_t i = 0; i < n; i++) {
        const levada_field *f = &fields[i];

        if (!f->name) return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "field %d has no name", i);
        if (f->depth > LEVADA_MAX_DEPTH || f->ndim > LEVADA_MAX_DIMS) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "field '%s' has depth %d and %d dimensions; at most %d and %d",
                               f->name, f->depth, f->ndim, LEVADA_MAX_DEPTH, LEVADA_MAX_DIMS);
        }
        for (int32_t j = 0; j < i; j++) {
            if (strcmp(fields[j].name, f->name) == 0) {
                return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "two fields are named '%s'",
                                   f->name);
            }
        }
    }
    return LEVADA_OK;
}

levada_status levada_spec_create(const levada_field *fields, int32_t n, int32_t flags,
                                 levada_spec **out, levada_error *err)
{
    size_t       text = 0;
    levada_spec *spec;
    char        *at;

    LEVADA_TRY(spec_check(fields, n, err));
    for (int32_t i = 0; i < n; i++) text += strlen(fields[i].name) + 1;
    spec = levada_alloc(sizeof *spec + (size_t)n * sizeof *fields + text);
    if (!spec) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for %d fields", n);
    atomic_init(&spec->refs, 1);
    spec->flags = flags;
    spec->n = n;
    at = (char *)(spec->fields + n);
    for (int32_t i = 0; i < n; i++) {
        size_t size = strlen(fields[i].name) + 1;

        spec->fields[i] = fields[i];
        spec->fields[i].name = memcpy(at, fields[i].name, size);
        at += size;
    }
    *out = spec;
    return LEVADA_OK;
}

/* Reference counts are the only part of a spec that changes: hence the cast. */
static levada_spec *spec_mutable(const levada_spec *spec) { return (levada_spec *)(uintptr_t)spec; }

levada_spec *levada_spec_ref(const levada_spec *spec)
{
    levada_spec *s = spec_mutable(spec);

    levada_refs_add(&s->refs);
    return s;
}

void levada_spec_unref(levada_spec **spec)
{
    levada_spec *s = *spec;

    *spec = NULL;
    if (s && levada_refs_drop(&s->refs)) levada_free(s);
}

int32_t levada_spec_count(const levada_spec *spec) { return spec->n; }

const levada_field *levada_spec_field(const levada_spec *spec, int32_t i)
{
    return i >= 0 && i < spec->n ? &spec->fields[i] : NULL;
}

int32_t levada_spec_find(const levada_spec *spec, const char *name)
{
    for (int32_t i = 0; i < spec->n; i++) {
        if (strcmp(spec->fields[i].name, name) == 0) return i;
    }
    return -1;
}

int32_t levada_spec_flags_of(const levada_spec *spec) { return spec->flags; }

static bool spec_field_equal(const levada_field *a, const levada_field *b)
{
    return a->dtype == b->dtype && a->depth == b->depth && a->ndim == b->ndim &&
           a->padded == b->padded && strcmp(a->name, b->name) == 0 &&
           memcmp(a->dims, b->dims, a->ndim * sizeof a->dims[0]) == 0;
}

bool levada_spec_equal(const levada_spec *a, const levada_spec *b)
{
    if (a == b) return true;
    if (a->n != b->n) return false;
    for (int32_t i = 0; i < a->n; i++) {
        if (!spec_field_equal(&a->fields[i], &b->fields[i])) return false;
    }
    return true;
}
