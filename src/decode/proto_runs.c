/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feature lists of steps that all have the same number of floats, left encoded (proto_late.c).
 *
 * Such steps are apart by a constant distance: the tags and sizes before each of them are the same
 * bytes. So a row is one item, whose runs are the steps, if every step of its list begins with
 * those bytes. A block with any other step, in which it may be missing or wrong, is decoded at
 * once.
 */
#include "decode/proto.h"

#include "tensor/builder_priv.h"
#include "tensor/encoded.h"

#define RUNS_HEAD 16 /* bytes compared: the longest head has 3 sizes of 4 bytes and 3 tags */

/* What each step begins with: `gap` bytes, as two words under masks. */
typedef struct runs_head {
    uint64_t word[2], mask[2];
    int64_t run, gap;
} runs_head;

/* Writes the tag and the size of a field of `size` bytes, so that they end at `to`. */
static uint8_t *runs_before(uint8_t *to, uint8_t tag, uint64_t size)
{
    to -= 1 + levada_wire_size_of(size);
    to[0] = tag;
    (void)levada_wire_put(to + 1, size);
    return to;
}

/* Finds the head of steps of the feature; returns false if its steps are too long to have one. */
static bool runs_expect(runs_head *h, const levada_proto *x, const levada_feature *f)
{
    uint8_t bytes[2 * RUNS_HEAD] = { 0 }, *end = bytes + RUNS_HEAD, *at = end;

    h->run = f->per * 4;
    if (f->per < 1 || h->run >= 1 << 20) return false;
    at = runs_before(at, LEVADA_WIRE_SIZED(1), (uint64_t)h->run);
    at = runs_before(at, x->plan->slots[f->slot].tag, (uint64_t)(h->run + (end - at)));
    at = runs_before(at, LEVADA_WIRE_SIZED(1), (uint64_t)(h->run + (end - at)));
    h->gap = end - at;
    for (int64_t i = 0; i < 2; i++) {
        int64_t n = h->gap - 8 * i;

        h->mask[i] = n >= 8 ? UINT64_MAX : n > 0 ? (UINT64_C(1) << (8 * n)) - 1 : 0;
        h->word[i] = levada_wire_load(at + 8 * i) & h->mask[i];
    }
    return true;
}

/* Returns true if each step of a list begins with the head. */
static bool runs_only(const runs_head *h, const levada_span *list)
{
    const uint8_t *end = list->at + list->size;
    uint64_t differ = 0;

    if (list->loose || list->size % (h->gap + h->run) != 0) return false;
    for (const uint8_t *p = list->at; p < end; p += h->gap + h->run) {
        differ |= (levada_wire_load(p) ^ h->word[0]) & h->mask[0];
        differ |= (levada_wire_load(p + 8) ^ h->word[1]) & h->mask[1];
    }
    return differ == 0;
}

/* Writes to x->first[0] where the steps of each row begin; false if a list has any other step.
 * A missing list has none. */
static bool runs_count(levada_proto *x, const runs_head *h, const levada_span *lists)
{
    int64_t steps = 0;

    for (int64_t row = 0; row < x->rows; row++) {
        x->first[0][row] = (int32_t)steps;
        if (!lists[row].at) continue;
        if (!runs_only(h, &lists[row])) return false;
        steps += lists[row].size / (h->gap + h->run);
        if (steps > INT32_MAX / h->run) return false;
    }
    x->first[0][x->rows] = (int32_t)steps;
    return true;
}

/* Returns true if it is worth it to keep the lists where they are, which their sizes say. */
static bool runs_promise(const levada_proto *x, const levada_span *lists, int64_t *bytes)
{
    for (int64_t row = 0; row < x->rows; row++) *bytes += lists[row].at ? lists[row].size : 0;
    if (!levada_late_in_place(x, *bytes)) return false;
    return x->out->late != LEVADA_LATE_DECODE_AUTO || *bytes >= 4 * LEVADA_LATE_FLOATS * x->rows;
}

static levada_status runs_list(levada_proto *x, const levada_feature *f, const runs_head *h,
                               const levada_span *lists, levada_error *err)
{
    const levada_encoded how = { .encoding = LEVADA_ENCODING_ELEMENTS,
                                 .kernels = x->kernels,
                                 .gap = (int32_t)h->gap };
    levada_encoded_item *to = NULL;

    LEVADA_TRY(levada_builder_encoded(x->out, f->column, &how, x->rows, x->in->owner, &to, err));
    for (int64_t row = 0; row < x->rows; row++, to++) {
        int32_t steps = x->first[0][row + 1] - x->first[0][row];

        to->at = steps ? lists[row].at + h->gap : NULL;
        to->size = steps ? lists[row].size - (int32_t)h->gap : 0;
        to->count = steps * (int32_t)f->per;
    }
    return LEVADA_OK;
}

levada_status levada_late_runs(levada_proto *x, const levada_feature *f, bool *done,
                               levada_error *err)
{
    const levada_span *lists = x->rows > 0 ? x->spans + f->slot * x->rows : NULL;
    int64_t bytes = 0;
    runs_head h;

    *done = false;
    if (f->list != LEVADA_LIST_FLOAT || !runs_expect(&h, x, f)) return LEVADA_OK;
    if (!runs_promise(x, lists, &bytes)) return LEVADA_OK;
    LEVADA_TRY(levada_proto_reserve((void **)&x->first[0], &x->first_capacity[0], x->rows + 1,
                                 sizeof *x->first[0], err));
    if (!runs_count(x, &h, lists)) return LEVADA_OK;
    x->out->block->bytes += bytes;
    *done = true;
    return runs_list(x, f, &h, lists, err);
}
