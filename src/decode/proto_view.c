/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views: one record without a spec, for `info`, `head` and `convert`.
 *
 * The first pass checks that the record has no field that neither message has, and that at least
 * one of its entries has a value: an ExampleListWithContext parses as an Example of names alone.
 * The second pass finds the entries of the maps and turns every Feature into plain payload with the
 * functions that the decoders use, so that both agree about merged, repeated and unpacked values.
 */
#include "decode/proto.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/hash.h"
#include <levada/example_view.h>

struct levada_example_view {
    levada_proto x; /* its arena and kernels are used */
    uint8_t *record; /* with LEVADA_KERNEL_SLACK around it */
    int64_t record_capacity;
    levada_example_feature *features;
    levada_span *value; /* of each feature: its Feature or FeatureList message */
    int64_t nfeatures, features_capacity, value_capacity;
    levada_example_item *items;
    levada_span *payload; /* of each item */
    int64_t nitems, items_capacity, payload_capacity;
    int32_t *table; /* 1 + feature by the hash of its name; a power of two of slots */
    int64_t slots, table_capacity;
    int64_t *numbers;
    const void **strings;
    size_t *sizes;
    int64_t numbers_capacity, strings_capacity, sizes_capacity;
};

/* What a part of the record is. Fields lead from each part to the next one. */
typedef enum view_part {
    VIEW_LEAF,
    VIEW_RECORD,
    VIEW_FEATURES,
    VIEW_ENTRY,
    VIEW_FEATURE,
    VIEW_BYTES,
    VIEW_FLOATS,
    VIEW_INTS,
    VIEW_LISTS,
    VIEW_LIST_ENTRY,
    VIEW_LIST,
    VIEW_PARTS
} view_part;

/* Parts of the fields 1 to 3 of a part, where these are messages or strings; 0 ends. */
static const int8_t view_parts[VIEW_PARTS][4] = {
    [VIEW_RECORD] = { -1, VIEW_FEATURES, VIEW_LISTS, -1 },
    [VIEW_FEATURES] = { -1, VIEW_ENTRY, -1, -1 },
    [VIEW_ENTRY] = { -1, VIEW_LEAF, VIEW_FEATURE, -1 },
    [VIEW_FEATURE] = { -1, VIEW_BYTES, VIEW_FLOATS, VIEW_INTS },
    [VIEW_BYTES] = { -1, VIEW_LEAF, -1, -1 },
    [VIEW_FLOATS] = { -1, VIEW_LEAF, -1, -1 },
    [VIEW_INTS] = { -1, VIEW_LEAF, -1, -1 },
    [VIEW_LISTS] = { -1, VIEW_LIST_ENTRY, -1, -1 },
    [VIEW_LIST_ENTRY] = { -1, VIEW_LEAF, VIEW_LIST, -1 },
    [VIEW_LIST] = { -1, VIEW_FEATURE, -1, -1 },
};

/* Returns true if the part is whole and has only fields of these messages; counts the parts. The
 * depth is that of the messages: at most 7. */
static bool view_known(view_part part, const uint8_t *p, const uint8_t *end,
                       int64_t count[VIEW_PARTS])
{
    count[part]++;
    while (p < end) {
        uint32_t tag, size;
        int next;

        p = levada_wire_tag(p, end, &tag);
        if (!p) return false;
        if ((part == VIEW_INTS && tag == LEVADA_WIRE_VARINT(1)) ||
            (part == VIEW_FLOATS && tag == LEVADA_WIRE_FIXED32(1))) {
            p = levada_wire_skip(tag, p, end);
            if (!p) return false;
            continue;
        }
        next = (tag & 7) == 2 && tag >> 3 < 4 ? view_parts[part][tag >> 3] : -1;
        p = next >= 0 ? levada_wire_sized(p, end, &size) : NULL;
        if (!p || (next != VIEW_LEAF && !view_known((view_part)next, p, p + size, count))) {
            return false;
        }
        p += size;
    }
    return true;
}

static levada_status view_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for the view of a record");
}

levada_status levada_example_view_create(levada_example_view **out, levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    *out = levada_alloc_zero(sizeof **out);
    if (!*out) return view_memory(err);
    (*out)->x.kernels = levada_kernels_for(LEVADA_CPU_AUTO);
    return LEVADA_OK;
}

void levada_example_view_destroy(levada_example_view **view)
{
    if (!view) return;
    levada_example_view *v = *view;

    *view = NULL;
    if (!v) return;
    levada_arena_clear(&v->x.arena);
    levada_free(v->record);
    levada_free(v->features);
    levada_free(v->value);
    levada_free(v->items);
    levada_free(v->payload);
    levada_free(v->table);
    levada_free(v->numbers);
    levada_free(v->strings);
    levada_free(v->sizes);
    levada_free(v);
}

/* Reserves memory for `entries` features, and an empty table of their names. */
static levada_status view_reserve(levada_example_view *v, int64_t entries, levada_error *err)
{
    LEVADA_TRY(levada_proto_reserve((void **)&v->features, &v->features_capacity, entries,
                                 sizeof *v->features, err));
    LEVADA_TRY(levada_proto_reserve((void **)&v->value, &v->value_capacity, entries,
                                    sizeof *v->value,
                                 err));
    for (v->slots = 16; v->slots < 2 * entries;) v->slots *= 2;
    LEVADA_TRY(levada_proto_reserve((void **)&v->table, &v->table_capacity, v->slots,
                                    sizeof *v->table,
                                 err));
    memset(v->table, 0, (size_t)v->slots * sizeof *v->table);
    return LEVADA_OK;
}

/* Returns the feature of a name, made where this is its first entry. */
static int64_t view_find(levada_example_view *v, const levada_span *key, bool sequence)
{
    size_t   size = (size_t)key->size;
    uint64_t at = levada_hash64(key->at, size, sequence);

    for (;; at++) {
        int32_t *slot = &v->table[at & (uint64_t)(v->slots - 1)];
        const levada_example_feature *f = &v->features[*slot - (*slot > 0)];

        if (*slot == 0) {
            v->features[v->nfeatures++] = (levada_example_feature){
                .name = (const char *)key->at, .name_size = size, .sequence = sequence
            };
            *slot = (int32_t)v->nfeatures;
            return v->nfeatures - 1;
        }
        if (f->sequence == sequence && f->name_size == size && memcmp(f->name, key->at, size) == 0)
            return *slot - 1;
    }
}

/* Reads the entries of one map; a later entry replaces the value of an earlier one. */
static levada_plain view_map(levada_example_view *v, const uint8_t *p, const uint8_t *end,
                             bool sequence)
{
    while (p < end) {
        levada_span key, value;
        uint32_t tag, size;
        levada_plain plain;

        p = levada_wire_tag(p, end, &tag);
        p = p ? levada_wire_sized(p, end, &size) : NULL;
        if (!p) return LEVADA_PLAIN_BROKEN;
        plain = levada_entry_read(&v->x, p, p + size, &key, &value);
        if (plain != LEVADA_PLAIN_OK) return plain;
        v->value[view_find(v, &key, sequence)] = value;
        p += size;
    }
    return LEVADA_PLAIN_OK;
}

/* Reads the maps of one section: of all messages with that field number. */
static levada_plain view_section(levada_example_view *v, size_t n, uint32_t field)
{
    const uint8_t *p = v->record + LEVADA_KERNEL_SLACK, *end = p + n;

    while (p < end) {
        levada_plain plain = LEVADA_PLAIN_OK;
        uint32_t tag, size;

        p = levada_wire_tag(p, end, &tag);
        p = p ? levada_wire_sized(p, end, &size) : NULL;
        if (!p) return LEVADA_PLAIN_BROKEN;
        if (tag >> 3 == field) plain = view_map(v, p, p + size, field == 2);
        if (plain != LEVADA_PLAIN_OK) return plain;
        p += size;
    }
    return LEVADA_PLAIN_OK;
}

static int64_t view_strings(const levada_span *span)
{
    const uint8_t *p = span->at, *end = p + span->size;
    uint32_t size;
    int64_t n = 0;

    for (; p < end; n++) {
        p = levada_wire_sized(p + 1, end, &size);
        if (!p) return -1;
        p += size;
    }
    return n;
}

/* Adds one Feature message as the next item. */
static levada_plain view_item(levada_example_view *v, const uint8_t *p, const uint8_t *end)
{
    static const levada_dtype dtypes[] = { LEVADA_NONE, LEVADA_BYTES, LEVADA_FLOAT32,
                                           LEVADA_INT64 };
    levada_example_item item = { LEVADA_NONE, 0 };
    levada_span span = { 0 };
    levada_list list;
    levada_plain plain = levada_feature_plain(&v->x.arena, p, end, &list, &span);

    if (plain != LEVADA_PLAIN_OK) return plain;
    if (levada_proto_reserve((void **)&v->items, &v->items_capacity, v->nitems + 1, sizeof item,
                             NULL) ||
        levada_proto_reserve((void **)&v->payload, &v->payload_capacity, v->nitems + 1, sizeof span,
                          NULL)) {
        return LEVADA_PLAIN_MEMORY;
    }
    item.dtype = dtypes[list];
    if (list == LEVADA_LIST_BYTES) item.count = view_strings(&span);
    else if (list != LEVADA_LIST_NONE) item.count = levada_payload_count(&v->x, list, &span);
    if (item.count < 0) return LEVADA_PLAIN_BROKEN;
    v->payload[v->nitems] = span;
    v->items[v->nitems++] = item;
    return LEVADA_PLAIN_OK;
}

/* Returns the steps of a FeatureList as items. */
static levada_plain view_steps(levada_example_view *v, const levada_span *list)
{
    const uint8_t *p = list->at, *end = p + list->size;

    while (p < end) {
        levada_plain plain;
        uint32_t tag, size;

        p = levada_wire_tag(p, end, &tag);
        p = p ? levada_wire_sized(p, end, &size) : NULL;
        if (!p) return LEVADA_PLAIN_BROKEN;
        plain = view_item(v, p, p + size);
        if (plain != LEVADA_PLAIN_OK) return plain;
        p += size;
    }
    return LEVADA_PLAIN_OK;
}

static levada_plain view_features(levada_example_view *v)
{
    int64_t first = 0;

    for (int64_t i = 0; i < v->nfeatures; i++) {
        const levada_span *value = &v->value[i];
        int64_t before = v->nitems;
        levada_plain plain = v->features[i].sequence
                                 ? view_steps(v, value)
                                 : view_item(v, value->at, value->at + value->size);

        if (plain != LEVADA_PLAIN_OK) return plain;
        v->features[i].nitems = v->nitems - before;
    }
    /* Now that the items will not move any more. */
    for (int64_t i = 0; i < v->nfeatures; i++) {
        v->features[i].items = v->items + first;
        first += v->features[i].nitems;
    }
    return LEVADA_PLAIN_OK;
}

static levada_plain view_read(levada_example_view *v, size_t size)
{
    levada_plain plain = view_section(v, size, 1);

    if (plain == LEVADA_PLAIN_OK) plain = view_section(v, size, 2);
    return plain == LEVADA_PLAIN_OK ? view_features(v) : plain;
}

levada_status levada_example_view_parse(levada_example_view *view, const void *record, size_t size,
                                        levada_example_kind *kind, levada_error *err)
{
    LEVADA_TRY(levada_require(view != NULL, "view", err));
    LEVADA_TRY(levada_require(record != NULL || size == 0, "record", err));
    LEVADA_TRY(levada_require(kind != NULL, "kind", err));
    int64_t count[VIEW_PARTS] = { 0 }, entries;
    levada_plain plain;
    uint8_t *at;

    *kind = LEVADA_EXAMPLE_OTHER;
    view->nfeatures = view->nitems = 0;
    levada_arena_reset(&view->x.arena);
    if (size > INT32_MAX) return LEVADA_OK; /* protobuf accepts no larger message */
    LEVADA_TRY(levada_proto_reserve((void **)&view->record, &view->record_capacity,
                                 (int64_t)size + 2 * LEVADA_KERNEL_SLACK, 1, err));
    at = view->record + LEVADA_KERNEL_SLACK;
    memset(view->record, 0, LEVADA_KERNEL_SLACK);
    memset(at + size, 0, LEVADA_KERNEL_SLACK);
    if (size > 0) memcpy(at, record, size);
    if (!view_known(VIEW_RECORD, at, at + size, count)) return LEVADA_OK;
    entries = count[VIEW_ENTRY] + count[VIEW_LIST_ENTRY];
    if (entries > 0 && count[VIEW_FEATURE] + count[VIEW_LIST] == 0) return LEVADA_OK;
    LEVADA_TRY(view_reserve(view, entries, err));
    plain = view_read(view, size);
    if (plain == LEVADA_PLAIN_OK) {
        *kind = count[VIEW_LISTS] > 0 ? LEVADA_EXAMPLE_SEQUENCE : LEVADA_EXAMPLE_PLAIN;
    } else {
        view->nfeatures = 0;
    }
    return plain == LEVADA_PLAIN_MEMORY ? view_memory(err) : LEVADA_OK;
}

int64_t levada_example_view_count(const levada_example_view *view)
{
    if (!view) return 0;
    return view->nfeatures;
}

const levada_example_feature *levada_example_view_at(const levada_example_view *view, int64_t i)
{
    if (!view) return NULL;
    return i >= 0 && i < view->nfeatures ? &view->features[i] : NULL;
}

static levada_status view_numbers(levada_example_view *v, const levada_span *span,
                                  levada_example_values *out, levada_error *err)
{
    LEVADA_TRY(levada_proto_reserve((void **)&v->numbers, &v->numbers_capacity,
                                 out->count + LEVADA_KERNEL_SLACK, sizeof *v->numbers, err));
    if (out->dtype == LEVADA_INT64) {
        (void)v->x.kernels->varint_i64(span->at, (size_t)span->size, v->numbers);
        out->i64 = v->numbers;
    } else {
        if (span->size > 0) memcpy(v->numbers, span->at, (size_t)span->size);
        out->f32 = (const float *)(const void *)v->numbers;
    }
    return LEVADA_OK;
}

static levada_status view_bytes(levada_example_view *v, const levada_span *span,
                                levada_example_values *out, levada_error *err)
{
    const uint8_t *p = span->at, *end = p + span->size;

    LEVADA_TRY(levada_proto_reserve((void **)&v->strings, &v->strings_capacity, out->count + 1,
                                 sizeof *v->strings, err));
    LEVADA_TRY(levada_proto_reserve((void **)&v->sizes, &v->sizes_capacity, out->count + 1,
                                 sizeof *v->sizes, err));
    for (int64_t i = 0; i < out->count; i++) {
        uint32_t size = 0;

        p = levada_wire_sized(p + 1, end, &size);
        v->strings[i] = p;
        v->sizes[i] = size;
        p += size;
    }
    out->bytes = v->strings;
    out->sizes = v->sizes;
    return LEVADA_OK;
}

levada_status levada_example_view_values(levada_example_view          *view,
                                         const levada_example_feature *feature, int64_t item,
                                         levada_example_values *out, levada_error *err)
{
    LEVADA_TRY(levada_require(view != NULL, "view", err));
    LEVADA_TRY(levada_require(feature != NULL, "feature", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    const levada_span *span;

    if (item < 0 || item >= feature->nitems) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "item=%lld must be below %lld",
                           (long long)item, (long long)feature->nitems);
    }
    *out = (levada_example_values){ .dtype = feature->items[item].dtype,
                                    .count = feature->items[item].count };
    span = &view->payload[feature->items + item - view->items];
    if (out->dtype == LEVADA_NONE) return LEVADA_OK;
    return levada_dtype_is_bytes(out->dtype) ? view_bytes(view, span, out, err)
                                      : view_numbers(view, span, out, err);
}
