/* SPDX-License-Identifier: Apache-2.0 */
#include "description/columns.h"

#include "base/alloc.h"
#include "base/text.h"
#include "option/value_priv.h"

#include <string.h>

levada_status levada_columns_pick(levada_pool *pool, const levada_block *in,
                                  const levada_spec *spec, const int32_t *from, levada_block **out,
                                  levada_error *err)
{
    levada_builder *b = NULL;
    levada_status   st = LEVADA_OK;

    LEVADA_TRY(levada_builder_make(pool, spec, in->n, &b, err));
    for (int32_t i = 0; st == LEVADA_OK && i < levada_spec_count(spec); i++) {
        const char          *name = levada_spec_field(spec, i)->name;
        const levada_column *c =
            from ? levada_block_at(in, from[i]) : levada_block_column(in, name);

        if (c) {
            levada_builder_share(b, i, c);
        } else {
            st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                             "a record lacks field '%s'; return it in all records", name);
        }
    }
    for (int32_t i = 0; st == LEVADA_OK && i < in->nrejects; i++) {
        st = levada_builder_reject(b, in->rejects[i].row, &in->rejects[i].why, err);
    }
    if (st == LEVADA_OK) st = levada_columns_publish(pool, &b, in, out, err);
    levada_builder_destroy(&b);
    return st;
}

levada_status levada_columns_publish(levada_pool *pool, levada_builder **b, const levada_block *in,
                                     levada_block **out, levada_error *err)
{
    levada_block *made = NULL;
    levada_status st = levada_builder_publish(b, &made, err);

    if (st == LEVADA_OK) st = levada_block_copy_origins(pool, made, in, err);
    if (st == LEVADA_OK) {
        made->bytes += in->bytes;
        levada_block_set_layout(made, in->layout);
        *out = made;
        made = NULL;
    }
    levada_block_unref(&made);
    return st;
}

levada_status levada_columns_add(levada_pool *pool, const levada_block *in,
                                 const levada_spec *spec, levada_builder **out, void **values,
                                 levada_error *err)
{
    int32_t       n = levada_spec_count(in->spec);
    levada_status st;

    LEVADA_TRY(levada_builder_make(pool, spec, in->n, out, err));
    for (int32_t i = 0; i < n; i++) levada_builder_share(*out, i, &in->columns[i]);
    st = levada_builder_values(*out, n, in->n, values, err);
    if (st != LEVADA_OK) levada_builder_destroy(out);
    return st;
}

levada_status levada_columns_adapt(levada_pool *pool, const levada_spec *spec,
                                   levada_block **block, levada_error *err)
{
    levada_block *flat = NULL, *made = NULL;
    levada_status st;

    if ((levada_spec_flags_of(spec) & LEVADA_SPEC_OPEN) ||
        levada_spec_equal((*block)->spec, spec)) {
        return LEVADA_OK;
    }
    LEVADA_TRY(levada_block_gather(pool, *block, &flat, err));
    st = levada_columns_pick(pool, flat, spec, NULL, &made, err);
    levada_block_unref(&flat);
    if (st != LEVADA_OK) return st;
    levada_block_unref(block);
    *block = made;
    return LEVADA_OK;
}

levada_status levada_derived_get(levada_derived *derived, levada_derive check, const void *args,
                                 const levada_spec *in, const levada_spec **out, levada_error *err)
{
    levada_spec *made = NULL;

    if (derived->in != in) {
        LEVADA_TRY(check(args, in, &made, err));
        levada_derived_clear(derived);
        derived->in = levada_spec_ref(in); /* kept: its address then stays the name of it */
        derived->out = made ? made : levada_spec_ref(in);
    }
    *out = derived->out;
    return LEVADA_OK;
}

void levada_derived_clear(levada_derived *derived)
{
    levada_spec_unref(&derived->in);
    levada_spec_unref(&derived->out);
}

levada_status levada_spec_add_field(const levada_spec *in, const char *name, levada_dtype dtype,
                                    levada_spec **out, levada_error *err)
{
    int32_t       n = levada_spec_count(in);
    levada_field *fields = levada_spec_copy_fields(in);
    levada_status st;

    if (!fields) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    fields[n].name = name;
    fields[n].dtype = dtype;
    st = levada_spec_create(fields, n + 1, levada_spec_flags_of(in), out, err);
    levada_free(fields);
    return st;
}

int32_t levada_name_dots(const char *name)
{
    int32_t n = 0;

    for (; *name; name++) n += *name == '.';
    return n;
}

bool levada_field_is_member(const levada_field *field, const char *name)
{
    size_t  size = strlen(name);
    int32_t dots = levada_name_dots(name) + 1;

    if (strncmp(field->name, name, size) != 0 || field->name[size] != '.') return false;
    for (int32_t level = 0; level < field->depth; level++) {
        if (field->object[level] == dots) return true;
    }
    return false;
}

levada_field *levada_spec_copy_fields(const levada_spec *spec)
{
    int32_t       n = levada_spec_count(spec);
    levada_field *fields = levada_alloc_zero(((size_t)n + 1) * sizeof *fields);

    for (int32_t i = 0; fields && i < n; i++) fields[i] = *levada_spec_field(spec, i);
    return fields;
}

levada_status levada_spec_want_records(const levada_spec *in, levada_error *err)
{
    if (!(levada_spec_flags_of(in) & LEVADA_SPEC_BATCHED)) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "the input has batches, and this stage works on records: move it before "
                       "the batching stage, or unbatch() first");
}

levada_status levada_spec_want_alike(const levada_spec *const *in, int32_t n, int32_t *flags,
                                     levada_error *err)
{
    for (int32_t i = 0; i < n; i++) {
        int32_t first = levada_spec_flags_of(in[0]), other = levada_spec_flags_of(in[i]);
        bool    batched = other & LEVADA_SPEC_BATCHED;

        *flags |= other;
        if (!((first ^ other) & LEVADA_SPEC_BATCHED)) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "input %d emits %s, but input 0 emits %s; batch all inputs, or none",
                           (int)i, batched ? "batches" : "single records",
                           batched ? "single records" : "batches");
    }
    return LEVADA_OK;
}

levada_status levada_spec_require(const levada_spec *spec, const char *name, int32_t *out,
                                  levada_error *err)
{
    levada_text   list = { 0 };
    levada_status st;

    *out = levada_spec_find(spec, name);
    if (*out >= 0 || (levada_spec_flags_of(spec) & LEVADA_SPEC_OPEN)) return LEVADA_OK;
    for (int32_t i = 0; i < levada_spec_count(spec) && list.size < 160; i++) {
        levada_text_format(&list, "%s%s", i ? ", " : "", levada_spec_field(spec, i)->name);
    }
    st = levada_fail(err, LEVADA_EINVALID_ARGUMENT, "unknown field '%s'; available: %s", name,
                     list.at ? list.at : "none");
    levada_text_clear(&list);
    return st;
}

/* -- specs as values */

static levada_status columns_shape(const levada_value *shape, levada_field *f, levada_error *err)
{
    char shown[LEVADA_VALUE_SHOWN];
    int64_t n = levada_value_count(shape);

    if (n > LEVADA_MAX_DIMS) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s': a shape must have at most %d dimensions, got %lld",
                           f->name, LEVADA_MAX_DIMS, (long long)n);
    }
    f->ndim = (uint8_t)n;
    for (int64_t d = 0; d < n; d++) {
        const levada_value *dim = levada_value_item(shape, d);
        bool                any = levada_value_kind_of(dim) == LEVADA_VALUE_NULL;

        f->dims[d] = any ? -1 : levada_value_as_int(dim);
        if (f->dims[d] < -1 || (!any && levada_value_kind_of(dim) != LEVADA_VALUE_INT)) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "field '%s': a dimension must be null or at least 0, got %s",
                               f->name, levada_value_shown(dim, LEVADA_PRINT_TEXT, shown));
        }
    }
    return LEVADA_OK;
}

static levada_status columns_field(const levada_value *value, levada_field *f, levada_error *err)
{
    bool                map = levada_value_kind_of(value) == LEVADA_VALUE_MAP;
    const levada_value *dtype = map ? levada_value_get(value, "dtype") : value;
    const levada_value *kind = map ? levada_value_get(value, "kind") : NULL;
    const char         *word = dtype ? levada_value_as_text(dtype, NULL) : NULL;
    const char         *how = kind ? levada_value_as_text(kind, NULL) : "FixedLen";

    f->dtype = word ? levada_dtype_find(word) : LEVADA_NONE;
    if (f->dtype == LEVADA_NONE) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s': '%s' is not a dtype, such as int64, float32 or string",
                           f->name, word ? word : "");
    }
    if (how && (strcmp(how, "VarLen") == 0 || strcmp(how, "Ragged") == 0 ||
                strcmp(how, "FixedLenSequence") == 0)) {
        f->depth = 1;
    } else if (!how || strcmp(how, "FixedLen") != 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s': kind must be FixedLen, VarLen, Ragged or FixedLenSequence, "
                           "got '%s'", f->name, how ? how : "");
    }
    return map ? columns_shape(levada_value_get(value, "shape"), f, err) : LEVADA_OK;
}

/* The fields of a spec that is read; their names are owned. */
typedef struct columns_walk {
    levada_field *fields;
    int64_t       n, capacity;
} columns_walk;

static levada_status columns_short(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
}

/* Adds the field `f`, in whose lists the values of `value` are. */
static levada_status columns_leaf(columns_walk *w, const levada_value *value, levada_field f,
                                  levada_error *err)
{
    uint8_t lists = f.depth;
    size_t  size = strlen(f.name) + 1;
    char   *name;

    f.depth = 0;
    LEVADA_TRY(columns_field(value, &f, err));
    if (lists + f.depth > LEVADA_MAX_DEPTH) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s': a list must have at most %d levels, as in [[int64]]",
                           f.name, LEVADA_MAX_DEPTH);
    }
    f.depth = (uint8_t)(f.depth + lists);
    name = levada_alloc(size);
    if (!name || !levada_reserve(&w->fields, &w->capacity, w->n + 1, sizeof *w->fields)) {
        levada_free(name);
        return columns_short(err);
    }
    memcpy(name, f.name, size);
    f.name = name;
    w->fields[w->n++] = f;
    return LEVADA_OK;
}

/* Returns whether a map is {dtype: ..., kind: ..., shape: ...}, not an object with members. */
static bool columns_is_leaf(const levada_value *entry)
{
    const levada_value *dtype = levada_value_get(entry, "dtype");
    levada_value_kind   kind = dtype ? levada_value_kind_of(dtype) : LEVADA_VALUE_MAP;

    return levada_value_kind_of(entry) != LEVADA_VALUE_MAP || levada_value_count(entry) == 0 ||
           (kind != LEVADA_VALUE_MAP && kind != LEVADA_VALUE_LIST);
}

static levada_status columns_entry(columns_walk *w, const levada_value *entry, levada_field at,
                                   levada_error *err);

/* Reads the members of the object `at`: fields 'at.member'. */
static levada_status columns_members(columns_walk *w, const levada_value *map, levada_field at,
                                     levada_error *err)
{
    const char   *prefix = at.name;
    levada_status st = LEVADA_OK;

    for (int64_t i = 0; st == LEVADA_OK && i < levada_value_count(map); i++) {
        levada_text name = { 0 };
        char       *made = NULL;

        levada_text_put(&name, prefix);
        levada_text_char(&name, '.');
        levada_text_put(&name, levada_value_key(map, i));
        levada_text_char(&name, '\0');
        st = levada_text_steal(&name, &made, err);
        at.name = made;
        if (st == LEVADA_OK) st = columns_entry(w, levada_value_item(map, i), at, err);
        levada_free(made);
    }
    return st;
}

/* Reads a dtype, {dtype: ...}, [entry] or {member: entry}. */
static levada_status columns_entry(columns_walk *w, const levada_value *entry, levada_field at,
                                   levada_error *err)
{
    char    shown[LEVADA_VALUE_SHOWN];
    uint8_t before = at.depth;
    int32_t dots = 1;

    for (; levada_value_kind_of(entry) == LEVADA_VALUE_LIST; at.depth++) {
        if (levada_value_count(entry) != 1 || at.depth == LEVADA_MAX_DEPTH) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "field '%s': a list must have one dtype or object, and at most %d "
                               "levels, as in [[int64]]; got %s",
                               at.name, LEVADA_MAX_DEPTH,
                               levada_value_shown(entry, LEVADA_PRINT_TEXT, shown));
        }
        entry = levada_value_item(entry, 0);
    }
    if (columns_is_leaf(entry)) return columns_leaf(w, entry, at, err);
    for (const char *c = at.name; *c; c++) dots += *c == '.';
    if (dots > UINT8_MAX) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%.60s...': a name must have at most %d dots",
                           at.name, UINT8_MAX - 1);
    }
    if (at.depth > before) at.object[at.depth - 1] = (uint8_t)dots;
    return columns_members(w, entry, at, err);
}

levada_status levada_spec_read(const levada_value *map, int32_t flags, levada_spec **out,
                               levada_error *err)
{
    char          shown[LEVADA_VALUE_SHOWN];
    columns_walk  w = { 0 };
    levada_status st = LEVADA_OK;

    if (levada_value_kind_of(map) != LEVADA_VALUE_MAP) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "spec must be a map of names to dtypes, got %s",
                           levada_value_shown(map, LEVADA_PRINT_TEXT, shown));
    }
    for (int64_t i = 0; st == LEVADA_OK && i < levada_value_count(map); i++) {
        levada_field at = { .name = levada_value_key(map, i) };

        st = columns_entry(&w, levada_value_item(map, i), at, err);
    }
    if (st == LEVADA_OK) st = levada_spec_create(w.fields, (int32_t)w.n, flags, out, err);
    for (int64_t i = 0; i < w.n; i++) levada_free((char *)(uintptr_t)w.fields[i].name);
    levada_free(w.fields);
    return st;
}

static bool columns_like(const levada_field *declared, const levada_field *is)
{
    if (strcmp(declared->name, is->name) != 0 || declared->dtype != is->dtype ||
        declared->depth != is->depth || declared->ndim != is->ndim ||
        declared->padded != is->padded || declared->left != is->left) {
        return false;
    }
    for (int32_t d = 0; d < is->ndim; d++) {
        if (declared->dims[d] >= 0 && is->dims[d] >= 0 && declared->dims[d] != is->dims[d]) {
            return false;
        }
    }
    return true;
}

levada_status levada_spec_fits(const levada_spec *declared, const levada_spec *is,
                               levada_error *err)
{
    int32_t n = levada_spec_count(declared);

    if (declared == is || (levada_spec_flags_of(declared) & LEVADA_SPEC_OPEN)) return LEVADA_OK;
    if (n != levada_spec_count(is)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a record has %d fields, but its spec declares %d",
                           (int)levada_spec_count(is), (int)n);
    }
    for (int32_t i = 0; i < n; i++) {
        const levada_field *a = levada_spec_field(declared, i), *b = levada_spec_field(is, i);

        if (columns_like(a, b)) continue;
        if (a->padded != b->padded && a->depth == b->depth && a->ndim == b->ndim) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "field '%s' %s lengths, but its spec %s; a first dimension of null "
                               "in the spec of a batch declares lengths",
                               b->name, b->padded ? "has" : "has no",
                               a->padded ? "declares them" : "declares none");
        }
        return levada_fail(
            err, LEVADA_EINVALID_ARGUMENT,
            "expected field '%s' of %s, %d ragged levels and %d dimensions; got '%s' of %s, %d "
            "and %d",
            a->name, levada_dtype_name(a->dtype), a->depth, a->ndim, b->name,
            levada_dtype_name(b->dtype), b->depth, b->ndim);
    }
    return LEVADA_OK;
}

levada_status levada_spec_join(const levada_spec *in, const char *decoded, const levada_spec *made,
                               levada_spec **out, levada_error *err)
{
    int32_t       nin = levada_spec_count(in), nmade = levada_spec_count(made), n = 0;
    int32_t       flags = levada_spec_flags_of(in) | levada_spec_flags_of(made);
    levada_field *fields = levada_alloc((size_t)(nin + nmade) * sizeof(*fields) + 1);

    if (fields == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    for (int32_t i = 0; i < nin; i++) {
        const levada_field *field = levada_spec_field(in, i);
        bool                stays = strcmp(field->name, decoded) != 0;

        if (stays && levada_spec_find(made, field->name) < 0) fields[n++] = *field;
    }
    for (int32_t i = 0; i < nmade; i++) fields[n++] = *levada_spec_field(made, i);
    levada_status status = levada_spec_create(fields, n, flags, out, err);
    levada_free(fields);
    return status;
}
