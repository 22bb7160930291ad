/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the other message type. Both types begin with a map of features, so an Example parses
 * as a SequenceExample without lists, and a SequenceExample as an Example with an unknown field.
 * Protobuf accepts both without a word, and everything in the other place would be missing.
 */
#include "base/wire.h"
#include "decode/proto.h"

#include <levada/example_view.h>
#include <stdio.h>

typedef struct kind_span {
    const uint8_t *at, *end; /* NULL = the record has no such field */
} kind_span;

/* Returns the last field of that number, which holds a map. */
static kind_span kind_field(const levada_proto *x, int64_t row, uint32_t number)
{
    const uint8_t *p = x->in->data[row], *end = p + x->in->size[row];
    kind_span      found = { NULL, NULL };

    while (p && p < end) {
        uint32_t       tag, size;
        const uint8_t *body;

        p = levada_wire_tag(p, end, &tag);
        if (!p) break;
        body = tag == LEVADA_WIRE_SIZED(number) ? levada_wire_sized(p, end, &size) : NULL;
        if (body) found = (kind_span){ body, body + size };
        p = body ? found.end : levada_wire_skip(tag, p, end);
    }
    return found;
}

/* Returns the key of the map entry at *p, which moves to the next one; NULL = this is not an
 * entry. */
static const uint8_t *kind_entry(const uint8_t **p, const uint8_t *end, uint32_t *key_size)
{
    const uint8_t *at = *p, *key, *value;
    uint32_t       size;

    if (at >= end || *at != LEVADA_WIRE_SIZED(1)) return NULL;
    at = levada_wire_sized(at + 1, end, &size);
    if (!at || size == 0 || *at != LEVADA_WIRE_SIZED(1)) return NULL;
    end = at + size;
    key = levada_wire_sized(at + 1, end, key_size);
    if (!key || key + *key_size >= end || key[*key_size] != LEVADA_WIRE_SIZED(2)) return NULL;
    value = levada_wire_sized(key + *key_size + 1, end, &size);
    if (!value || value + size != end) return NULL;
    *p = end;
    return key;
}

static bool kind_missing(const levada_proto *x, int32_t slot)
{
    return slot >= 0 && !(x->seen[slot >> 6] >> (slot & 63) & 1);
}

static levada_status kind_is_sequence(levada_proto *x, int64_t row, levada_error *err)
{
    kind_span      lists = kind_field(x, row, 2);
    bool           none = true;
    const uint8_t *key;
    uint32_t       size = 0;

    for (int32_t w = 0; w < x->nwords; w++) none = none && x->seen[w] == 0;
    while (lists.at && (key = kind_entry(&lists.at, lists.end, &size))) {
        if (!none && !kind_missing(x, levada_keys_find(&x->keys[0], key, size))) continue;
        return levada_proto_reject(x, row, err,
                                   "This record looks like a tf.train.SequenceExample: '%.*s' is "
                                   "in its feature_lists; use parse_sequence_example",
                                   size < 64 ? (int)size : 64, (const char *)key);
    }
    return LEVADA_OK;
}

static levada_status kind_is_example(levada_proto *x, int64_t row, levada_error *err)
{
    kind_span      features;
    const uint8_t *key;
    uint32_t       size = 0;

    for (int32_t slot = x->plan->ncontext; slot < x->plan->nslots; slot++) {
        if (!kind_missing(x, slot)) return LEVADA_OK;
    }
    if (x->plan->ncontext == x->plan->nslots || kind_field(x, row, 2).at) return LEVADA_OK;
    features = kind_field(x, row, 1);
    while (features.at && (key = kind_entry(&features.at, features.end, &size))) {
        if (levada_keys_find(&x->keys[1], key, size) < 0) continue;
        if (levada_keys_find(&x->keys[0], key, size) >= 0) continue;
        return levada_proto_reject(x, row, err,
                                   "This record looks like a tf.train.Example: it has no "
                                   "feature_lists, and '%.*s' is in its features; use "
                                   "parse_example",
                                   size < 64 ? (int)size : 64, (const char *)key);
    }
    return LEVADA_OK;
}

levada_status levada_proto_check_kind(levada_proto *x, int64_t row, levada_error *err)
{
    return x->plan->sequence ? kind_is_example(x, row, err) : kind_is_sequence(x, row, err);
}

/* -- what is there */

levada_status levada_proto_name(levada_proto *x, int64_t row, levada_error *err)
{
    const levada_example_feature *f;
    levada_example_view          *view = NULL;
    levada_example_kind           kind;
    levada_status                 st = levada_example_view_create(&view, err);
    size_t                        at = 0;

    if (st == LEVADA_OK)
        st = levada_example_view_parse(view, x->in->data[row], (size_t)x->in->size[row], &kind,
                                       err);
    for (int64_t i = 0; st == LEVADA_OK && (f = levada_example_view_at(view, i)) != NULL; i++) {
        bool fits = at + f->name_size + 8 < sizeof x->names;

        (void)snprintf(x->names + at, sizeof x->names - at, "%s%.*s", i > 0 ? ", " : "",
                       fits ? (int)f->name_size : 3, fits ? f->name : "...");
        at = strlen(x->names);
        if (!fits) break;
    }
    levada_example_view_destroy(&view);
    return st;
}

static bool kind_ever(const levada_proto *x, int32_t slot)
{
    return x->ever[slot >> 6] >> (slot & 63) & 1;
}

/* Finds values; FixedLen is required, or has a default. */
int64_t levada_proto_found(const levada_proto *x, bool *there, char *names, size_t size)
{
    for (int32_t i = 0; i < x->plan->nfeatures; i++) {
        const levada_feature *f = &x->plan->features[i];

        if (f->kind == LEVADA_FEATURE_FIXED || kind_ever(x, f->slot)) there[f->column] = true;
        if (f->kind == LEVADA_FEATURE_SPARSE) there[f->column + 1] = true; /* one name is enough */
    }
    if (size > 0) (void)snprintf(names, size, "%s", x->names);
    return x->records;
}
