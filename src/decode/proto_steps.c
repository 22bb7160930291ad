/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The items of a slot: one a record in the context, one a step in feature lists.
 *
 * A step whose sizes have one byte begins with 4 or 6 bytes that follow from its last size (the
 * tags and sizes of the step, its list and its packed run): one word says whether it is as usual.
 * If all steps of a block are one whole number each, they are decoded in one pass, without spans.
 */
#include "decode/proto.h"

#include "tensor/builder_priv.h"

/* Steps of one feature list on their way to a lane. */
typedef struct steps_reader {
    levada_proto *x;
    const levada_slot *slot;
    int32_t lane;
    int64_t row, n;    /* n: steps so far, of all rows */
    uint64_t head, sizes; /* a usual step begins with head + size of its payload * sizes */
    int64_t before;       /* bytes before the payload                                    */
} steps_reader;

/* Parses a step that does not look as usual. */
static levada_status steps_unusual(steps_reader *r, const uint8_t *p, const uint8_t *end,
                                   levada_span *out, levada_error *err)
{
    levada_proto *x = r->x;
    levada_list list;
    levada_plain plain = levada_feature_plain(&x->arena, p, end, &list, out);
    int64_t step = r->n - x->first[r->lane][r->row];

    if (plain == LEVADA_PLAIN_OK && list == r->slot->list) return LEVADA_OK;
    *out = (levada_span){ 0 };
    if (plain == LEVADA_PLAIN_MEMORY) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an unpacked list");
    }
    if (plain == LEVADA_PLAIN_BROKEN) return levada_proto_broken(x, r->row, err);
    if (list == LEVADA_LIST_NONE) return LEVADA_OK;
    return levada_proto_reject(x, r->row, err,
                               "Feature list: %s, Index: %lld.  Data types don't match. Data "
                               "type: %s but expected type: %s; set another dtype in the spec",
                               r->slot->key, (long long)step, levada_list_name(list),
                               levada_list_name(r->slot->list));
}

static LEVADA_NOINLINE levada_status steps_more(steps_reader *r, levada_error *err)
{
    levada_proto *x = r->x;

    if (r->n >= INT32_MAX / 2) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "feature list '%s': more than 2^31 steps in one block; lower block_rows",
                           r->slot->key);
    }
    return levada_proto_reserve((void **)&x->step[r->lane], &x->step_capacity[r->lane], r->n + 1,
                             sizeof(levada_span), err);
}

/* Parses one step at p; *next is the byte after it, NULL if the list is broken. */
static levada_status steps_one(steps_reader *r, const uint8_t *p, const uint8_t *end,
                               const uint8_t **next, levada_error *err)
{
    const uint8_t *body;
    levada_span *out = &r->x->step[r->lane][r->n];
    uint32_t tag, size;

    *next = NULL;
    p = levada_wire_tag(p, end, &tag);
    if (!p) return LEVADA_OK;
    if (tag != LEVADA_WIRE_SIZED(1)) {
        *next = levada_wire_skip(tag, p, end);
        return LEVADA_OK;
    }
    body = levada_wire_sized(p, end, &size);
    if (!body) return LEVADA_OK;
    *next = body + size;
    if (!levada_feature_usual(r->slot, body, *next, out)) {
        LEVADA_TRY(steps_unusual(r, body, *next, out, err));
    }
    r->n++;
    return LEVADA_OK;
}

/* Parses usual steps from p on; returns where they end, or where the capacity ends. Rows of floats
 * mostly have one size: the beginning of the next one is then known before the current one is
 * parsed. */
static const uint8_t *steps_usual(steps_reader *r, const uint8_t *p, const uint8_t *end)
{
    levada_span *out = &r->x->step[r->lane][r->n];
    levada_span *last = &r->x->step[r->lane][r->x->step_capacity[r->lane]];
    const uint64_t head = r->head, sizes = r->sizes;
    const uint64_t mask = (UINT64_C(1) << (8 * r->before)) - 1;
    const int64_t before = r->before, shift = 8 * before - 8;
    const bool floats = r->slot->list == LEVADA_LIST_FLOAT;

    while (p < end && out < last) {
        uint64_t word = levada_wire_load(p) & mask, size = word >> shift;
        int64_t whole = before + (int64_t)size;

        if (word != head + size * sizes || size >= 124) break;
        if (end - p < whole) break;
        do {
            *out++ = (levada_span){ .at = p + before, .size = (int32_t)size };
            p += whole;
        } while (floats && out < last && end - p >= whole && (levada_wire_load(p) & mask) == word);
    }
    r->n = out - r->x->step[r->lane];
    return p;
}

static levada_status steps_of_row(steps_reader *r, const levada_span *list, levada_error *err)
{
    levada_proto *x = r->x;
    const uint8_t *p = list->at, *end = p ? p + list->size : NULL;

    while (p < end) {
        const uint8_t *next;

        p = steps_usual(r, p, end);
        if (p == end) break;
        if (LEVADA_UNLIKELY(r->n >= x->step_capacity[r->lane])) {
            LEVADA_TRY(steps_more(r, err));
            continue;
        }
        LEVADA_TRY(steps_one(r, p, end, &next, err));
        if (!next) return levada_proto_broken(x, r->row, err);
        p = next;
    }
    return LEVADA_OK;
}

/* Sets the bytes that usual steps begin with. */
static void steps_expect(steps_reader *r)
{
    uint64_t tag = r->slot->tag, sized = LEVADA_WIRE_SIZED(1);

    if (r->slot->list == LEVADA_LIST_BYTES) {
        r->before = 4;
        r->sizes = UINT64_C(0x01000100);
        r->head = sized | 2 << 8 | tag << 16;
    } else {
        r->before = 6;
        r->sizes = UINT64_C(0x010001000100);
        r->head = sized | 4 << 8 | tag << 16 | 2 << 24 | sized << 32;
    }
}

levada_status levada_proto_items(levada_proto *x, const levada_feature *f, int32_t slot,
                                 int32_t lane, levada_items *out, levada_error *err)
{
    levada_span *spans = x->rows > 0 ? x->spans + slot * x->rows : NULL;
    steps_reader r = { .x = x, .slot = &x->plan->slots[slot], .lane = lane };

    if (!f->steps) {
        *out = (levada_items){ .at = spans, .n = x->rows };
        return LEVADA_OK;
    }
    steps_expect(&r);
    LEVADA_TRY(levada_proto_reserve((void **)&x->first[lane], &x->first_capacity[lane], x->rows + 1,
                                 sizeof *x->first[lane], err));
    LEVADA_TRY(steps_more(&r, err));
    for (r.row = 0; r.row < x->rows; r.row++) {
        x->first[lane][r.row] = (int32_t)r.n;
        LEVADA_TRY(steps_of_row(&r, &spans[r.row], err));
    }
    x->first[lane][x->rows] = (int32_t)r.n;
    *out = (levada_items){ .at = x->step[lane], .n = r.n, .first = x->first[lane] };
    return LEVADA_OK;
}

#define STEPS_SMALLEST 7      /* bytes of a step of one number */
#define STEPS_MOST (64 << 20) /* bytes of lists that are decoded in one pass */

/* Where steps of one number go to. */
typedef struct steps_numbers {
    steps_reader r;
    bool wide; /* int64, else int32 */
    void *to;
} steps_numbers;

/* Parses the usual steps of one list; returns false if it has any other step, or one whose number
 * does not fit. */
static bool steps_numbers_of(steps_numbers *s, const levada_span *list)
{
    const uint8_t *p = list->at, *end = p + list->size;
    const uint64_t head = s->r.head, sizes = s->r.sizes;
    int64_t n = s->r.n;

    while (p < end) {
        uint64_t word = levada_wire_load(p) & ((UINT64_C(1) << 48) - 1), size = p[5];
        const uint8_t *at = p + 6;
        int64_t v;

        p = at + size;
        if (word != head + size * sizes || size > 10 || p > end) return false;
        if (!levada_payload_one(at, (int64_t)size, &v)) return false;
        if (s->wide) ((int64_t *)s->to)[n++] = v;
        else ((int32_t *)s->to)[n++] = (int32_t)v;
        if (!s->wide && v != (int32_t)v) return false;
    }
    s->r.n = n;
    return true;
}

static bool steps_numbers_wanted(const levada_proto *x, const levada_feature *f)
{
    if (f->per != 1 || f->list != LEVADA_LIST_INT64) return false;
    if (f->dtype != LEVADA_INT64 && f->dtype != LEVADA_INT32) return false;
    return !x->late || x->out->late == LEVADA_LATE_DECODE_AUTO;
}

levada_status levada_steps_numbers(levada_proto *x, const levada_feature *f, bool *done,
                                   levada_error *err)
{
    const levada_span *lists = x->rows > 0 ? x->spans + f->slot * x->rows : NULL;
    steps_numbers s = { .r = { .x = x, .slot = &x->plan->slots[f->slot] },
                        .wide = f->dtype == LEVADA_INT64 };
    int64_t bytes = 0;

    *done = false;
    for (int64_t row = 0; row < x->rows; row++) bytes += lists[row].at ? lists[row].size : 0;
    if (!steps_numbers_wanted(x, f) || bytes > STEPS_MOST) return LEVADA_OK;
    LEVADA_TRY(levada_proto_reserve((void **)&x->first[0], &x->first_capacity[0], x->rows + 1,
                                 sizeof *x->first[0], err));
    LEVADA_TRY(levada_builder_values(x->out, f->column, bytes / STEPS_SMALLEST, &s.to, err));
    steps_expect(&s.r);
    for (int64_t row = 0; row < x->rows; row++) {
        x->first[0][row] = (int32_t)s.r.n;
        if (lists[row].at && !steps_numbers_of(&s, &lists[row])) return LEVADA_OK;
    }
    x->first[0][x->rows] = (int32_t)s.r.n;
    *done = true;
    return LEVADA_OK;
}
