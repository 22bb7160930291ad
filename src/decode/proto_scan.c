/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First pass: all records of a block, one after the other. For each slot and row it leaves a span
 * of plain payload; single numbers go straight to their column. What is unusual (order, form,
 * duplicates) leaves the fast path for the feature concerned only.
 */
#include "base/prefetch.h"
#include "decode/proto.h"

typedef struct scan_entry {
    const uint8_t *key, *value, *end; /* the value ends at end */
    uint32_t key_size;
} scan_entry;

static void scan_note(levada_proto *x, int32_t slot, levada_trouble trouble)
{
    if (x->trouble[slot].kind == LEVADA_TROUBLE_NONE) x->ntrouble++;
    x->trouble[slot] = trouble;
}

static void scan_forget(levada_proto *x, int32_t slot)
{
    if (x->trouble[slot].kind != LEVADA_TROUBLE_NONE) x->ntrouble--;
    x->trouble[slot].kind = LEVADA_TROUBLE_NONE;
}

/* Writes a single number to its column, whatever its dtype and size. */
static void scan_number(levada_proto *x, int32_t slot, int64_t row, const levada_span *span)
{
    const levada_slot *s = &x->plan->slots[slot];
    int64_t count, v;
    float f;
    bool fits;

    if (s->list == LEVADA_LIST_INT64 && levada_payload_one(span->at, span->size, &v)) {
        fits = levada_number_store(s->dtype, x->direct[slot], row, v);
    } else if (s->list == LEVADA_LIST_FLOAT && span->size == 4) {
        memcpy(&f, span->at, 4);
        fits = levada_float_store(s->dtype, x->direct[slot], row, f);
    } else {
        levada_trouble_kind kind = LEVADA_TROUBLE_SIZE;

        count = levada_payload_count(x, s->list, span);
        if (count < 0) kind = LEVADA_TROUBLE_BROKEN;
        scan_note(x, slot, (levada_trouble){ kind, s->list, count });
        return;
    }
    if (!fits) scan_note(x, slot, (levada_trouble){ LEVADA_TROUBLE_RANGE, s->list, 1 });
}

/* Scans an entry without a kind. In an Example a FixedLen feature keeps the value of an earlier
 * entry of the same key; other features are empty again, as in TensorFlow and protobuf. */
static void scan_no_kind(levada_proto *x, int32_t slot, int64_t row)
{
    const levada_slot *s = &x->plan->slots[slot];

    x->ever[slot >> 6] |= UINT64_C(1) << (slot & 63); /* it is there, if empty */
    if (s->need_kind) {
        scan_note(x, slot, (levada_trouble){ LEVADA_TROUBLE_NO_KIND, LEVADA_LIST_NONE, 0 });
    } else if (!s->fixed) {
        scan_forget(x, slot);
        x->spans[slot * x->rows + row] = (levada_span){ 0 };
    }
}

/* Scans a Feature that does not look as usual: the general path. A broken one is noted, not
 * returned: a later entry of its key replaces it. */
static LEVADA_NOINLINE levada_plain scan_unusual(levada_proto *x, int32_t slot, int64_t row,
                                                 const scan_entry *e, levada_span *span)
{
    const levada_slot *s = &x->plan->slots[slot];
    levada_list list;
    levada_plain plain = levada_feature_plain(&x->arena, e->value, e->end, &list, span);

    if (plain == LEVADA_PLAIN_MEMORY) return plain;
    if (plain == LEVADA_PLAIN_OK && list == LEVADA_LIST_NONE) {
        scan_no_kind(x, slot, row);
        return LEVADA_PLAIN_OK;
    }
    x->seen[slot >> 6] |= UINT64_C(1) << (slot & 63);
    scan_forget(x, slot);
    if (plain == LEVADA_PLAIN_BROKEN) {
        scan_note(x, slot, (levada_trouble){ LEVADA_TROUBLE_BROKEN, LEVADA_LIST_NONE, 0 });
        *span = (levada_span){ 0 };
    } else if (list != s->list) {
        scan_note(x, slot, (levada_trouble){ LEVADA_TROUBLE_LIST, list, 0 });
        *span = (levada_span){ 0 };
    } else if (s->direct) {
        scan_number(x, slot, row, span);
    }
    if (!s->direct) x->spans[slot * x->rows + row] = *span;
    return LEVADA_PLAIN_OK;
}

/* Scans a plain payload of the list that the slot wants. */
static LEVADA_ALWAYS_INLINE void scan_payload(levada_proto *x, int32_t slot, int64_t row,
                                              levada_span span)
{
    const levada_slot *s = &x->plan->slots[slot];

    x->seen[slot >> 6] |= UINT64_C(1) << (slot & 63);
    if (LEVADA_UNLIKELY(x->ntrouble > 0)) scan_forget(x, slot);
    if (!s->direct) {
        x->spans[slot * x->rows + row] = span;
        return;
    }
    if (s->dtype == LEVADA_FLOAT32 && span.size == 4) {
        memcpy((char *)x->direct[slot] + 4 * row, span.at, 4);
        return;
    }
    if (s->dtype == LEVADA_INT64 &&
        levada_payload_one(span.at, span.size, (int64_t *)x->direct[slot] + row)) {
        return;
    }
    scan_number(x, slot, row, &span);
}

static levada_plain scan_feature(levada_proto *x, int32_t slot, int64_t row, const scan_entry *e)
{
    levada_span span;

    if (LEVADA_UNLIKELY(!levada_feature_usual(&x->plan->slots[slot], e->value, e->end, &span))) {
        return scan_unusual(x, slot, row, e, &span);
    }
    scan_payload(x, slot, row, span);
    return LEVADA_PLAIN_OK;
}

/* Scans a map entry as everybody writes it: key, then value, nothing else. */
static LEVADA_ALWAYS_INLINE bool scan_usual_entry(const uint8_t *p, const uint8_t *end,
                                                  scan_entry *e)
{
    uint32_t size;

    if (p >= end || *p != LEVADA_WIRE_SIZED(1)) return false;
    e->key = levada_wire_sized(p + 1, end, &e->key_size);
    if (!e->key) return false;
    p = e->key + e->key_size;
    if (p >= end || *p != LEVADA_WIRE_SIZED(2)) return false;
    e->value = levada_wire_sized(p + 1, end, &size);
    e->end = end;
    return e->value && e->value + size == end;
}

/* Merges two values in one entry, as protobuf does: their bytes are concatenated. The first merge
 * reserves memory for everything up to `end`, so an entry of many values needs at most its own
 * size. */
static levada_plain scan_join(levada_proto *x, scan_entry *e, uint8_t **memory, const uint8_t *p,
                              uint32_t size, const uint8_t *end)
{
    size_t before = (size_t)(e->end - e->value);

    if (!*memory) {
        *memory = levada_arena_take(&x->arena, before + (size_t)(end - p));
        if (!*memory) return LEVADA_PLAIN_MEMORY;
        memcpy(*memory, e->value, before);
        e->value = *memory;
    }
    memcpy(*memory + before, p, size);
    e->end = *memory + before + size;
    return LEVADA_PLAIN_OK;
}

/* Scans a map entry in any form. As in TensorFlow it has two fields at least; of two keys the last
 * one counts, a missing key is the empty one, and a missing value has no kind. */
static LEVADA_NOINLINE levada_plain scan_any_entry(levada_proto *x, const uint8_t *p,
                                                   const uint8_t *end, scan_entry *e)
{
    uint8_t *memory = NULL;
    int64_t known = 0;

    *e = (scan_entry){ .key = end };
    for (; p < end; known++) {
        uint32_t tag, size;

        p = levada_wire_tag(p, end, &tag);
        if (!p) return LEVADA_PLAIN_BROKEN;
        if (tag != LEVADA_WIRE_SIZED(1) && tag != LEVADA_WIRE_SIZED(2)) {
            p = levada_wire_skip(tag, p, end);
            if (!p) return LEVADA_PLAIN_BROKEN;
            known--;
            continue;
        }
        p = levada_wire_sized(p, end, &size);
        if (!p) return LEVADA_PLAIN_BROKEN;
        if (tag == LEVADA_WIRE_SIZED(1)) {
            e->key = p;
            e->key_size = size;
        } else if (e->value) {
            levada_plain joined = scan_join(x, e, &memory, p, size, end);

            if (joined != LEVADA_PLAIN_OK) return joined;
        } else {
            e->value = p;
            e->end = p + size;
        }
        p += size;
    }
    if (!e->value) e->value = e->end = end;
    return known >= 2 ? LEVADA_PLAIN_OK : LEVADA_PLAIN_BROKEN;
}

levada_plain levada_entry_read(levada_proto *x, const uint8_t *p, const uint8_t *end,
                               levada_span *key, levada_span *value)
{
    levada_plain plain = LEVADA_PLAIN_OK;
    scan_entry e;

    if (!scan_usual_entry(p, end, &e)) plain = scan_any_entry(x, p, end, &e);
    if (plain != LEVADA_PLAIN_OK) return plain;
    *key = (levada_span){ .at = e.key, .size = (int32_t)e.key_size };
    *value = (levada_span){ .at = e.value, .size = (int32_t)(e.end - e.value) };
    return LEVADA_PLAIN_OK;
}

/* Keeps a feature list as it is until its column is made; the last one of a key wins. */
static void scan_feature_list(levada_proto *x, int32_t slot, int64_t row, const scan_entry *e)
{
    levada_span *span = &x->spans[slot * x->rows + row];

    x->seen[slot >> 6] |= UINT64_C(1) << (slot & 63);
    span->at = e->value;
    span->size = (int32_t)(e->end - e->value);
    span->loose = false;
}

/* Scans the entry at *p, whose tag is next; moves *p after it. */
static levada_plain scan_entry_at(levada_proto *x, const uint8_t **at, const uint8_t *end,
                                  bool lists, int64_t row)
{
    const uint8_t *p = *at;
    levada_plain plain;
    uint32_t tag = *p++, size;
    scan_entry e;
    int32_t slot;

    if (LEVADA_UNLIKELY(tag != LEVADA_WIRE_SIZED(1))) {
        p = levada_wire_tag(p - 1, end, &tag);
        if (!p || tag != LEVADA_WIRE_SIZED(1)) return LEVADA_PLAIN_BROKEN;
    }
    p = levada_wire_sized(p, end, &size);
    if (!p) return LEVADA_PLAIN_BROKEN;
    if (LEVADA_UNLIKELY(!scan_usual_entry(p, p + size, &e))) {
        plain = scan_any_entry(x, p, p + size, &e);
        if (plain != LEVADA_PLAIN_OK) return plain;
    }
    *at = p + size;
    slot = levada_keys_find(&x->keys[lists], e.key, e.key_size);
    if (slot < 0) return LEVADA_PLAIN_OK;
    if (!lists) return scan_feature(x, slot, row, &e);
    scan_feature_list(x, slot, row, &e);
    return LEVADA_PLAIN_OK;
}

/* Reads the map of a Features or FeatureLists message. As in TensorFlow nothing else may be in it.
 * */
static levada_plain scan_map(levada_proto *x, const uint8_t *p, const uint8_t *end, bool lists,
                             int64_t row)
{
    levada_keys *keys = &x->keys[lists];
    levada_plain plain = LEVADA_PLAIN_OK;

    keys->last = keys->keys;
    while (p < end && plain == LEVADA_PLAIN_OK) {
        const levada_key *k = levada_keys_expected(keys, p, end);

        if (LEVADA_LIKELY(k != NULL)) {
            levada_span span = { p + k->form.head, (int32_t)(p[1] - k->form.least), false };

            p += 2 + p[1];
            scan_payload(x, k->slot, row, span);
        } else {
            plain = scan_entry_at(x, &p, end, lists, row);
        }
    }
    return plain;
}

/* Returns true if a SequenceExample ends right after the size of a field. TensorFlow reads it as if
 * the field were empty (golden case "truncated after 17"); levada does too. */
static bool scan_ends_in_size(const levada_proto *x, const uint8_t *p, const uint8_t *end)
{
    uint32_t size;

    return x->plan->sequence && levada_wire_u32(p, end, &size) == end;
}

static levada_plain scan_record(levada_proto *x, int64_t row)
{
    const uint8_t *p = x->in->data[row], *end = p + x->in->size[row];
    uint32_t last = x->plan->sequence ? LEVADA_WIRE_SIZED(2) : LEVADA_WIRE_SIZED(1);

    while (p < end) {
        uint32_t tag, size;
        const uint8_t *body;
        levada_plain plain;

        p = levada_wire_tag(p, end, &tag);
        if (!p) return LEVADA_PLAIN_BROKEN;
        if (tag != LEVADA_WIRE_SIZED(1) && tag != last) {
            p = levada_wire_skip(tag, p, end);
            if (!p) return LEVADA_PLAIN_BROKEN;
            continue;
        }
        body = levada_wire_sized(p, end, &size);
        if (!body) return scan_ends_in_size(x, p, end) ? LEVADA_PLAIN_OK : LEVADA_PLAIN_BROKEN;
        plain = scan_map(x, body, body + size, tag != LEVADA_WIRE_SIZED(1), row);
        if (plain != LEVADA_PLAIN_OK) return plain;
        p = body + size;
    }
    return LEVADA_PLAIN_OK;
}

/* Leaves the slot of a record empty, or at its default. */
static void scan_blank(levada_proto *x, int32_t slot, int64_t row)
{
    const levada_slot *s = &x->plan->slots[slot];
    size_t size = (size_t)levada_dtype_size(s->dtype);
    const uint8_t *otherwise = x->plan->features[s->feature].otherwise;
    uint8_t *to;

    if (!s->direct) {
        x->spans[slot * x->rows + row] = (levada_span){ 0 };
        return;
    }
    to = (uint8_t *)x->direct[slot] + (size_t)row * size;
    if (otherwise) memcpy(to, otherwise, size);
    else memset(to, 0, size);
}

static levada_status scan_required(levada_proto *x, int32_t slot, int64_t row, levada_error *err)
{
    const levada_slot *s = &x->plan->slots[slot];

    if (s->steps) {
        return levada_proto_reject(x, row, err,
                                   "Feature list '%s' is required but could not be found; "
                                   "allow_missing=True in its spec makes it empty",
                                   s->key);
    }
    return levada_proto_reject(x, row, err,
                               "Feature: %s (data type: %s) is required but could not be found; "
                               "set a default in its spec",
                               s->key,
                               levada_list_name(s->list));
}

/* Slots that this record did not have. */
static levada_status scan_missing(levada_proto *x, int64_t row, levada_error *err)
{
    for (int32_t w = 0; w < x->nwords; w++) {
        for (uint64_t left = x->full[w] & ~x->seen[w]; left; left &= left - 1) {
            int32_t slot = 64 * w + (int32_t)LEVADA_CTZ64(left);

            scan_blank(x, slot, row);
            if (x->plan->slots[slot].required &&
                x->trouble[slot].kind == LEVADA_TROUBLE_NONE) {
                LEVADA_TRY(scan_required(x, slot, row, err));
            }
        }
    }
    return LEVADA_OK;
}

/* Rejects the row because of the first slot with trouble. */
static levada_status scan_report(levada_proto *x, int32_t slot, int64_t row, levada_error *err)
{
    const levada_slot *s = &x->plan->slots[slot];
    const levada_trouble *t = &x->trouble[slot];
    char shape[64];

    switch (t->kind) {
    case LEVADA_TROUBLE_LIST:
        return levada_proto_reject(x, row, err,
                                   "Key: %s.  Data types don't match. Data type: %s but expected "
                                   "type: %s; set another dtype in the spec",
                                   s->key,
                                   levada_list_name(t->list), levada_list_name(s->list));
    case LEVADA_TROUBLE_SIZE:
        return levada_proto_reject(x, row, err,
                                   "Key: %s.  Number of %s values != expected.  Values size: %lld "
                                   "but output shape: %s; VarLen accepts any number",
                                   s->key,
                                   levada_list_name(s->list), (long long)t->count,
                                   levada_feature_shape(&x->plan->features[s->feature], shape));
    case LEVADA_TROUBLE_BROKEN: return levada_proto_broken(x, row, err);
    case LEVADA_TROUBLE_NO_KIND:
        return levada_proto_reject(x, row, err,
                                   "Context feature '%s' has no kind: Unexpected number of "
                                   "elements in example; write a list of int64, float or bytes",
                                   s->key);
    default:
        return levada_proto_reject(x, row, err,
                                   "Key: %s.  A value does not fit in %s; use a wider dtype in "
                                   "the spec", s->key, levada_dtype_name(s->dtype));
    }
}

static levada_status scan_troubles(levada_proto *x, int64_t row, levada_error *err)
{
    levada_status st = LEVADA_OK;

    for (int32_t slot = 0; slot < x->plan->nslots && x->ntrouble > 0; slot++) {
        if (x->trouble[slot].kind == LEVADA_TROUBLE_NONE) continue;
        if (st == LEVADA_OK) st = scan_report(x, slot, row, err);
        scan_blank(x, slot, row);
        scan_forget(x, slot);
    }
    return st;
}

static levada_status scan_row(levada_proto *x, int64_t row, levada_error *err)
{
    levada_plain plain;

    for (int32_t w = 0; w < x->nwords; w++) x->seen[w] = 0;
    plain = scan_record(x, row);
    if (plain == LEVADA_PLAIN_MEMORY) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an unpacked list");
    }
    if (plain == LEVADA_PLAIN_BROKEN) {
        for (int32_t slot = 0; slot < x->plan->nslots; slot++) {
            scan_forget(x, slot);
            scan_blank(x, slot, row);
        }
        return levada_proto_broken(x, row, err);
    }
    x->records++;
    for (int32_t w = 0; w < x->nwords; w++) x->ever[w] |= x->seen[w];
    for (int32_t w = 0; w < x->nwords; w++) {
        if (x->seen[w] != x->full[w]) {
            LEVADA_TRY(levada_proto_check_kind(x, row, err));
            LEVADA_TRY(scan_missing(x, row, err));
            if (!x->names[0]) LEVADA_TRY(levada_proto_name(x, row, err));
            break;
        }
    }
    return LEVADA_UNLIKELY(x->ntrouble > 0) ? scan_troubles(x, row, err) : LEVADA_OK;
}

levada_status levada_proto_scan(levada_proto *x, levada_error *err)
{
    const levada_strings *in = x->in;

    for (int64_t row = 0; row < x->rows; row++) {
        int64_t ahead = row + LEVADA_PREFETCH_ROWS;

        if (ahead < x->rows && !levada_prefetch_near(in->data[ahead - 1], in->data[ahead])) {
            levada_prefetch(in->data[ahead], in->size[ahead]);
        }
        LEVADA_TRY(scan_row(x, row, err));
    }
    return LEVADA_OK;
}
