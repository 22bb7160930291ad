/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the spec of features: {name: {kind, dtype, shape, ...}}, the vocabulary of the golden
 * files plus `key`, the key on the wire where it is not the name.
 */
#include "decode/proto.h"

#include "base/alloc.h"
#include "option/value_priv.h"

#include <math.h>
#include <stdio.h>

static const char *const spec_kinds[] = { "FixedLen", "VarLen", "FixedLenSequence", "Ragged",
                                          "Sparse" };
/* The entries that each kind knows. */
static const char *const spec_known[] = {
    " kind key dtype shape default ",
    " kind key dtype ",
    " kind key dtype shape default allow_missing ",
    " kind key dtype value_key partitions row_splits_dtype validate ",
    " kind key dtype value_key index_key size already_sorted ",
};
static const char *const spec_partitions[] = { "RowSplits", "RowLengths", "RowStarts",
                                               "RowLimits", "ValueRowIds", "UniformRowLength" };

const char *levada_list_name(levada_list list)
{
    static const char *const names[] = { "no", "string", "float", "int64" };

    return names[list];
}

const char *levada_feature_shape(const levada_feature *f, char text[64])
{
    size_t used = 1;

    text[0] = '[';
    for (int32_t d = 0; d < f->ndim && used < 40; d++) {
        used += (size_t)snprintf(text + used, 64 - used, d > 0 ? ",%lld" : "%lld",
                                 (long long)f->dims[d]);
    }
    (void)snprintf(text + used, 64 - used, "]");
    return text;
}

static bool spec_is_null(const levada_value *value)
{
    return !value || levada_value_kind_of(value) == LEVADA_VALUE_NULL;
}

static bool spec_is_text(const levada_value *value)
{
    return value && (levada_value_kind_of(value) == LEVADA_VALUE_TEXT ||
                     levada_value_kind_of(value) == LEVADA_VALUE_BYTES);
}

static int32_t spec_index(const char *const *names, int32_t n, const levada_value *value)
{
    const char *text = spec_is_text(value) ? levada_value_as_text(value, NULL) : "";

    for (int32_t i = 0; i < n; i++) {
        if (strcmp(names[i], text) == 0) return i;
    }
    return -1;
}

/* Names that the kind does not know are mistakes. */
static levada_status spec_check_names(const levada_feature *f, const levada_value *entry,
                                      levada_error *err)
{
    for (int64_t i = 0; i < levada_value_count(entry); i++) {
        const char *name = levada_value_key(entry, i);
        char word[32];

        (void)snprintf(word, sizeof word, " %.28s ", name);
        if (strchr(name, ' ') || !strstr(spec_known[f->kind], word)) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "feature '%s': %s has no option '%s'; available:%s", f->name,
                               spec_kinds[f->kind], name, spec_known[f->kind]);
        }
    }
    return LEVADA_OK;
}

static levada_status spec_dtype(levada_feature *f, const levada_value *value, levada_error *err)
{
    const char *name = spec_is_text(value) ? levada_value_as_text(value, NULL) : "";

    f->dtype = levada_dtype_find(name);
    switch (f->dtype) {
    case LEVADA_BYTES:
    case LEVADA_TEXT: f->list = LEVADA_LIST_BYTES; return LEVADA_OK;
    case LEVADA_FLOAT16:
    case LEVADA_BFLOAT16:
    case LEVADA_FLOAT32:
    case LEVADA_FLOAT64: f->list = LEVADA_LIST_FLOAT; return LEVADA_OK;
    case LEVADA_BOOL:
    case LEVADA_INT8:
    case LEVADA_INT16:
    case LEVADA_INT32:
    case LEVADA_INT64:
    case LEVADA_UINT8:
    case LEVADA_UINT16:
    case LEVADA_UINT32:
    case LEVADA_UINT64: f->list = LEVADA_LIST_INT64; return LEVADA_OK;
    default:
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "feature '%s': dtype '%s' must be int8 to uint64, bool, float16 to "
                           "float64, bfloat16 or string",
                           f->name, name);
    }
}

static levada_status spec_dim(levada_feature *f, int64_t dim, levada_error *err)
{
    if (f->ndim == LEVADA_MAX_DIMS) {
        return levada_fail(
            err, LEVADA_EINVALID_ARGUMENT,
            "feature '%s': the shape must have at most %d dimensions, got more; reshape "
            "the decoded field instead",
            f->name, LEVADA_MAX_DIMS);
    }
    if (dim < 0 || (dim > 0 && f->per > INT32_MAX / dim)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "feature '%s': %lld in the shape is negative or too large", f->name,
                           (long long)dim);
    }
    f->dims[f->ndim++] = dim;
    f->per *= dim;
    return LEVADA_OK;
}

static levada_status spec_shape(levada_feature *f, const levada_value *shape, levada_error *err)
{
    if (spec_is_null(shape)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "Missing shape for feature %s: FixedLen needs a shape, such as shape:[]",
                           f->name);
    }
    if (levada_value_kind_of(shape) == LEVADA_VALUE_INT) {
        return spec_dim(f, levada_value_as_int(shape), err);
    }
    for (int64_t d = 0; d < levada_value_count(shape); d++) {
        const levada_value *dim = levada_value_item(shape, d);

        if (levada_value_kind_of(dim) != LEVADA_VALUE_INT) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "All dimensions of shape for feature %s need to be known", f->name);
        }
        LEVADA_TRY(spec_dim(f, levada_value_as_int(dim), err));
    }
    return LEVADA_OK;
}

/* Stores one number of a default as element i of `to`. */
static bool spec_number(const levada_feature *f, const levada_value *value, void *to, int64_t i)
{
    levada_value_kind kind = levada_value_kind_of(value);

    if (f->list == LEVADA_LIST_FLOAT) {
        double v = levada_value_as_float(value);

        if (kind == LEVADA_VALUE_TEXT) {
            const char *text = levada_value_as_text(value, NULL);

            v = strstr(text, "inf") ? (double)INFINITY : (double)NAN;
            if (text[0] == '-') v = -v;
        } else if (kind != LEVADA_VALUE_INT && kind != LEVADA_VALUE_FLOAT) {
            return false;
        }
        if (f->dtype == LEVADA_FLOAT64) {
            memcpy((char *)to + 8 * i, &v, sizeof v);
            return true;
        }
        return levada_float_store(f->dtype, to, i, (float)v);
    }
    if (kind == LEVADA_VALUE_BOOL) {
        return levada_number_store(f->dtype, to, i, levada_value_as_bool(value));
    }
    return kind == LEVADA_VALUE_INT &&
           levada_number_store(f->dtype, to, i, levada_value_as_int(value));
}

/* A default on its way in. */
typedef struct spec_default {
    levada_feature *f;
    int64_t used; /* leaves met */
    size_t size; /* bytes that strings take as payload */
    uint8_t *to;   /* NULL while they are counted */
} spec_default;

static bool spec_leaf(spec_default *d, const levada_value *leaf)
{
    levada_feature *f = d->f;
    size_t size = 0;
    const char *text;

    if (d->used >= f->per) return true; /* counted only */
    if (f->list != LEVADA_LIST_BYTES) {
        return !d->to || spec_number(f, leaf, d->to, d->used);
    }
    if (!spec_is_text(leaf)) return false;
    text = levada_value_as_text(leaf, &size);
    if (d->to) {
        d->to[d->size] = LEVADA_WIRE_SIZED(1);
        memcpy(levada_wire_put(d->to + d->size + 1, size), text, size);
    }
    d->size += 1 + levada_wire_size_of(size) + size;
    f->otherwise_empty = f->otherwise_empty && size == 0;
    return true;
}

/* Lists the leaves of nested lists, in order. */
static levada_status spec_leaves(spec_default *d, const levada_value *value, int depth,
                                 levada_error *err)
{
    char shown[LEVADA_VALUE_SHOWN];

    if (levada_value_kind_of(value) == LEVADA_VALUE_LIST && depth <= LEVADA_MAX_DIMS) {
        for (int64_t i = 0; i < levada_value_count(value); i++) {
            LEVADA_TRY(spec_leaves(d, levada_value_item(value, i), depth + 1, err));
        }
        return LEVADA_OK;
    }
    if (!spec_leaf(d, value)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "feature '%s': value %lld of its default must be %s, got %s",
                           d->f->name, (long long)d->used, levada_dtype_name(d->f->dtype),
                           levada_value_shown(value, LEVADA_PRINT_TEXT, shown));
    }
    d->used++;
    return LEVADA_OK;
}

static levada_status spec_read_default(levada_feature *f, const levada_value *value,
                                       levada_error *err)
{
    spec_default d = { .f = f };
    char shape[64];

    if (spec_is_null(value)) return LEVADA_OK;
    f->otherwise_empty = true;
    LEVADA_TRY(spec_leaves(&d, value, 0, err));
    if (d.used != f->per) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "feature '%s': Cannot reshape a default with %lld elements to shape %s",
                           f->name, (long long)d.used, levada_feature_shape(f, shape));
    }
    f->otherwise_size = (int64_t)d.size;
    f->otherwise =
        levada_alloc_zero(d.size + (size_t)(f->per * levada_dtype_size(f->dtype)) + 1);
    if (!f->otherwise) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "feature '%s': out of memory for its default", f->name);
    }
    d = (spec_default){ .f = f, .to = f->otherwise };
    return spec_leaves(&d, value, 0, err);
}

/* Reads the default of FixedLenSequence: a scalar that pads. */
static levada_status spec_pad(levada_feature *f, const levada_value *value, levada_error *err)
{
    int64_t element[2] = {0}; /* as aligned as any dtype wants it; the feature's is not */
    char    shown[LEVADA_VALUE_SHOWN];

    _Static_assert(sizeof element == sizeof f->pad, "an element of any dtype");
    if (spec_is_null(value)) return LEVADA_OK;
    if (levada_value_kind_of(value) == LEVADA_VALUE_LIST ||
        (f->list == LEVADA_LIST_BYTES ? !spec_is_text(value)
                                      : !spec_number(f, value, element, 0))) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "feature '%s': its default must be one %s, got %s",
                           f->name, levada_dtype_name(f->dtype),
                           levada_value_shown(value, LEVADA_PRINT_TEXT, shown));
    }
    memcpy(f->pad, element, sizeof f->pad);
    return LEVADA_OK;
}

static levada_status spec_partition(levada_proto_plan *plan, levada_feature *f,
                                    const levada_value *entry, levada_partition *out,
                                    levada_error *err)
{
    const levada_value *type = levada_value_get(entry, "type");
    int32_t kind = spec_index(spec_partitions, 6, type);
    char shown[LEVADA_VALUE_SHOWN];
    size_t size = 0;
    const char *key = levada_value_as_text(levada_value_get(entry, "key"), &size);

    if (kind < 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "feature '%s': a partition must be of type RowSplits, RowLengths, "
                           "RowStarts, RowLimits, ValueRowIds or UniformRowLength, got %s",
                           f->name, levada_value_shown(type, LEVADA_PRINT_TEXT, shown));
    }
    out->kind = (levada_partition_kind)kind;
    out->slot = -1;
    if (out->kind != LEVADA_PARTITION_UNIFORM) {
        if (key) {
            return levada_proto_plan_slot(plan, key, size, LEVADA_LIST_INT64, f, &out->slot, err);
        }
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "feature '%s': a %s partition needs the key of its feature", f->name,
                           spec_partitions[kind]);
    }
    out->length = levada_value_as_int(levada_value_get(entry, "length"));
    if (out->length >= 1 && out->length <= INT32_MAX) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "feature '%s': UniformRowLength needs a length of at least 1", f->name);
}

/* Makes dimensions of the values of uniform lengths at the end, and levels of the others. */
static levada_status spec_ragged(levada_proto_plan *plan, levada_feature *f,
                                 const levada_value *entry, levada_error *err)
{
    const levada_value *parts = levada_value_get(entry, "partitions");
    int64_t n = spec_is_null(parts) ? 0 : levada_value_count(parts);
    levada_partition all[LEVADA_MAX_DIMS];
    int64_t levels = n;

    if (n > LEVADA_MAX_DIMS) n = levels = LEVADA_MAX_DIMS + 1;
    for (int64_t i = 0; i < n && i < LEVADA_MAX_DIMS; i++) {
        LEVADA_TRY(spec_partition(plan, f, levada_value_item(parts, i), &all[i], err));
    }
    while (levels > 0 && levels <= LEVADA_MAX_DIMS &&
           all[levels - 1].kind == LEVADA_PARTITION_UNIFORM) {
        levels--;
    }
    if (levels + (f->steps ? 2 : 1) > LEVADA_MAX_DEPTH) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "feature '%s' must have at most %d ragged levels; drop a partition",
                           f->name, LEVADA_MAX_DEPTH);
    }
    for (int64_t i = levels; i < n; i++) LEVADA_TRY(spec_dim(f, all[i].length, err));
    f->nparts = (int32_t)levels;
    memcpy(f->part, all, (size_t)levels * sizeof all[0]);
    return LEVADA_OK;
}

static levada_status spec_sparse(levada_proto_plan *plan, levada_feature *f,
                                 const levada_value *entry, levada_error *err)
{
    const levada_value *keys = levada_value_get(entry, "index_key");
    bool list = levada_value_kind_of(keys) == LEVADA_VALUE_LIST;
    int64_t n = list ? levada_value_count(keys) : 1;
    char shown[LEVADA_VALUE_SHOWN];

    if (f->steps)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "feature '%s': Sparse is not supported in a feature list; use Ragged "
                           "or VarLen",
                           f->name);
    if (!keys || n < 1 || n > LEVADA_MAX_DIMS)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "feature '%s': index_key must name 1 to %d features, got %s", f->name,
                           LEVADA_MAX_DIMS, levada_value_shown(keys, LEVADA_PRINT_TEXT, shown));
    f->sorted = levada_value_as_bool(levada_value_get(entry, "already_sorted"));
    f->nindex = (int32_t)n;
    for (int32_t i = 0; i < f->nindex; i++) {
        size_t size = 0;
        const char *key = levada_value_as_text(list ? levada_value_item(keys, i) : keys, &size);

        LEVADA_TRY(levada_proto_plan_slot(plan, key ? key : "", size, LEVADA_LIST_INT64, f,
                                          &f->index[i], err));
    }
    return LEVADA_OK;
}

static levada_status spec_of_kind(levada_proto_plan *plan, levada_feature *f,
                                  const levada_value *entry, levada_error *err)
{
    switch (f->kind) {
    case LEVADA_FEATURE_FIXED:
        if (f->steps) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "feature '%s': FixedLen is not supported in a feature list; use "
                               "FixedLenSequence, VarLen or Ragged",
                               f->name);
        }
        LEVADA_TRY(spec_shape(f, levada_value_get(entry, "shape"), err));
        return spec_read_default(f, levada_value_get(entry, "default"), err);
    case LEVADA_FEATURE_SEQUENCE:
        f->allow_missing = levada_value_as_bool(levada_value_get(entry, "allow_missing"));
        if (!f->steps && !f->allow_missing) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "feature '%s': Unsupported: FixedLenSequenceFeature requires "
                               "allow_missing to be True.",
                               f->name);
        }
        LEVADA_TRY(spec_shape(f, levada_value_get(entry, "shape"), err));
        return spec_pad(f, levada_value_get(entry, "default"), err);
    case LEVADA_FEATURE_RAGGED: return spec_ragged(plan, f, entry, err);
    case LEVADA_FEATURE_SPARSE: return spec_sparse(plan, f, entry, err);
    default: return LEVADA_OK;
    }
}

levada_status levada_feature_read(levada_proto_plan *plan, const char *name,
                                  const levada_value *entry, bool steps, levada_feature *out,
                                  levada_error *err)
{
    const levada_value *kind_of = levada_value_get(entry, "kind");
    int32_t kind = spec_index(spec_kinds, 5, kind_of);
    char shown[LEVADA_VALUE_SHOWN];
    const levada_value *key;
    const char *text = name;
    size_t size = strlen(name);

    out->name = name;
    out->steps = steps;
    out->per = 1;
    if (levada_value_kind_of(entry) != LEVADA_VALUE_MAP) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "feature '%s' must be a feature such as {kind: VarLen, dtype: int64}, "
                           "in Python VarLenFeature(int64), got %s",
                           name, levada_value_shown(entry, LEVADA_PRINT_TEXT, shown));
    }
    if (kind < 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "feature '%s': kind must be FixedLen, VarLen, FixedLenSequence, Ragged "
                           "or Sparse, got %s",
                           name, levada_value_shown(kind_of, LEVADA_PRINT_TEXT, shown));
    }
    out->kind = (levada_feature_kind)kind;
    LEVADA_TRY(spec_check_names(out, entry, err));
    LEVADA_TRY(spec_dtype(out, levada_value_get(entry, "dtype"), err));
    LEVADA_TRY(spec_of_kind(plan, out, entry, err));
    key = levada_value_get(entry, "key");
    if (spec_is_null(key)) key = levada_value_get(entry, "value_key");
    if (spec_is_text(key)) text = levada_value_as_text(key, &size);
    return levada_proto_plan_slot(plan, text, size, out->list, out, &out->slot, err);
}
