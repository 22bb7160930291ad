/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/hash.h"
#include "base/refs.h"
#include "tensor/keys.h"

#include <stdatomic.h>
#include <string.h>

struct levada_spec {
    atomic_int   refs;
    int32_t      flags, n;
    bool         keys;     /* of blocks that stand for records (keys.h) */
    uint32_t     mask;     /* slots of the index - 1 */
    uint32_t    *index;    /* hash table: number of a field + 1, 0 = free */
    levada_field fields[]; /* the index and the names follow, in the same allocation */
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
    }
    return LEVADA_OK;
}

/* Returns the slot of a name: free where no field has it. */
static uint32_t spec_slot(const levada_spec *spec, const char *name, size_t size)
{
    uint32_t slot = (uint32_t)levada_hash64(name, size, 0) & spec->mask;

    while (spec->index[slot] != 0 && strcmp(spec->fields[spec->index[slot] - 1].name, name) != 0) {
        slot = (slot + 1) & spec->mask;
    }
    return slot;
}

/* Copies fields and names, and enters them in the index. */
static levada_status spec_fill(levada_spec *spec, const levada_field *fields, levada_error *err)
{
    char *at = (char *)(spec->index + spec->mask + 1);

    for (int32_t i = 0; i < spec->n; i++) {
        size_t   size = strlen(fields[i].name);
        uint32_t slot = spec_slot(spec, fields[i].name, size);

        if (spec->index[slot] != 0) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "two fields are named '%s'; rename() one of them",
                               fields[i].name);
        }
        spec->index[slot] = (uint32_t)i + 1;
        spec->fields[i] = fields[i];
        spec->fields[i].name = memcpy(at, fields[i].name, size + 1);
        at += size + 1;
    }
    return LEVADA_OK;
}

levada_status levada_spec_create(const levada_field *fields, int32_t n, int32_t flags,
                                 levada_spec **out, levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    size_t        text = 0, slots = 4;
    levada_spec  *spec;
    levada_status st;

    LEVADA_TRY(levada_require_range(n, 0, INT32_MAX, "n", err));
    LEVADA_TRY(levada_require_range(flags, 0, LEVADA_SPEC_OPEN | LEVADA_SPEC_BATCHED, "flags",
                                    err));
    LEVADA_TRY(spec_check(fields, n, err));
    while (slots < 2 * (size_t)n) slots *= 2;
    for (int32_t i = 0; i < n; i++) text += strlen(fields[i].name) + 1;
    spec = levada_alloc_zero(sizeof *spec + (size_t)n * sizeof *fields +
                             slots * sizeof *spec->index + text);
    if (!spec) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for %d fields",
                                  n);
    atomic_init(&spec->refs, 1);
    spec->flags = flags;
    spec->n = n;
    spec->mask = (uint32_t)slots - 1;
    spec->index = (uint32_t *)(void *)(spec->fields + n);
    st = spec_fill(spec, fields, err);
    if (st == LEVADA_OK) *out = spec;
    else levada_free(spec);
    return st;
}

levada_status levada_spec_create_keys(const char *const *names, int32_t n, levada_spec **out,
                                      levada_error *err)
{
    levada_field fields[LEVADA_KEY_FIELDS];

    LEVADA_ASSERT(n > 0 && n <= LEVADA_KEY_FIELDS);
    for (int32_t i = 0; i < n; i++) {
        fields[i] = (levada_field){ .name = names[i], .dtype = LEVADA_INT64 };
    }
    LEVADA_TRY(levada_spec_create(fields, n, LEVADA_SPEC_PLAIN, out, err));
    (*out)->keys = true;
    return LEVADA_OK;
}

bool levada_spec_is_keys(const levada_spec *spec) { return spec && spec->keys; }

/* Casts const away, because reference counts are the only part of a spec that changes. */
static levada_spec *spec_mutable(const levada_spec *spec) { return (levada_spec *)(uintptr_t)spec; }

levada_spec *levada_spec_ref(const levada_spec *spec)
{
    if (!spec) return NULL;
    levada_spec *s = spec_mutable(spec);

    levada_refs_add(&s->refs);
    return s;
}

void levada_spec_unref(levada_spec **spec)
{
    if (!spec) return;
    levada_spec *s = *spec;

    *spec = NULL;
    if (s && levada_refs_drop(&s->refs)) levada_free(s);
}

int32_t levada_spec_count(const levada_spec *spec)
{
    if (!spec) return 0;
    return spec->n;
}

const levada_field *levada_spec_field(const levada_spec *spec, int32_t i)
{
    if (!spec) return NULL;
    return i >= 0 && i < spec->n ? &spec->fields[i] : NULL;
}

int32_t levada_spec_find(const levada_spec *spec, const char *name)
{
    if (!spec) return -1;
    return (int32_t)spec->index[spec_slot(spec, name, strlen(name))] - 1;
}

int32_t levada_spec_flags_of(const levada_spec *spec)
{
    if (!spec) return 0;
    return spec->flags;
}

static bool spec_field_equal(const levada_field *a, const levada_field *b)
{
    return a->dtype == b->dtype && a->depth == b->depth && a->ndim == b->ndim &&
           a->padded == b->padded && a->left == b->left && strcmp(a->name, b->name) == 0 &&
           memcmp(a->dims, b->dims, a->ndim * sizeof a->dims[0]) == 0 &&
           memcmp(a->object, b->object, sizeof a->object) == 0;
}

bool levada_spec_equal(const levada_spec *a, const levada_spec *b)
{
    if (a == b) return true;
    if (!a || !b) return false;
    if (a->n != b->n) return false;
    for (int32_t i = 0; i < a->n; i++) {
        if (!spec_field_equal(&a->fields[i], &b->fields[i])) return false;
    }
    return true;
}
