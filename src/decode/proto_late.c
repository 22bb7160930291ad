/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers that stay encoded (tensor/encoded.h): the second pass counts and checks them, and lists
 * their payload instead of decoding it. The payload stays in the chunk of the file where one buffer
 * has all records and most of their bytes are needed; else varints are copied together, which is a
 * fifth of what decoding would write. A block in which anything is unusual is decoded at once, so
 * all errors are found and worded by one piece of code.
 */
#include "decode/proto.h"

#include "tensor/builder_priv.h"
#include "tensor/encoded.h"

#define LATE_VALUES 8   /* elements per item from which decoding later saves work          */
#define LATE_SAMPLE 16  /* items that decide whether to look at the others                  */

static levada_encoding late_encoding(const levada_feature *f)
{
    return f->list == LEVADA_LIST_FLOAT ? LEVADA_ENCODING_ELEMENTS : LEVADA_ENCODING_VARINTS;
}

/* Returns true if decoding needs nothing but the payload. Single numbers are for everybody to look
 * at. */
static bool late_possible(const levada_feature *f)
{
    if (f->kind == LEVADA_FEATURE_FIXED && f->ndim == 0) return false;
    if (f->list == LEVADA_LIST_FLOAT) return f->dtype == LEVADA_FLOAT32;
    return f->list == LEVADA_LIST_INT64 &&
           (f->dtype == LEVADA_INT64 || f->dtype == LEVADA_INT32);
}

static bool late_chosen(const levada_proto *x, const levada_feature *f)
{
    uint32_t number = x->blocks * 31 + (uint32_t)f->column;

    switch (x->out->late) {
    case LEVADA_LATE_DECODE_NEVER: return false;
    case LEVADA_LATE_DECODE_RANDOM: return (number * UINT32_C(2654435761)) >> 31;
    default: return true;
    }
}

bool levada_late_wanted(const levada_proto *x, const levada_feature *f)
{
    if (!late_possible(f) || f->kind == LEVADA_FEATURE_SPARSE || f->nparts > 0) return false;
    return late_chosen(x, f);
}

/* Elements per item from which decoding later saves work. */
static int64_t late_least(const levada_feature *f)
{
    return f->list == LEVADA_LIST_FLOAT ? LEVADA_LATE_FLOATS : LATE_VALUES;
}

bool levada_late_promises(const levada_proto *x, const levada_feature *f,
                          const levada_items *items)
{
    int64_t step = items->n / LATE_SAMPLE + 1, bytes = 0, n = 0;

    if (x->out->late != LEVADA_LATE_DECODE_AUTO) return true;
    for (int64_t i = 0; i < items->n; i += step, n++) bytes += items->at[i].size;
    return bytes >= late_least(f) * n; /* a value has at least one byte */
}

typedef struct late_sum {
    int64_t bytes, values, items;
    bool loose; /* some payload is not in the record */
} late_sum;

static int64_t late_count(const levada_feature *f, const int32_t *offsets, int64_t i)
{
    return offsets ? (int64_t)(offsets[i + 1] - offsets[i]) * f->per : f->per;
}

static late_sum late_add_up(const levada_feature *f, const levada_items *items,
                            const int32_t *offsets)
{
    late_sum sum = { .items = items->n };

    for (int64_t i = 0; i < items->n; i++) {
        int64_t count = late_count(f, offsets, i);

        sum.bytes += count ? items->at[i].size : 0;
        sum.loose = sum.loose || (count && items->at[i].loose);
        sum.values += count;
    }
    return sum;
}

bool levada_late_in_place(const levada_proto *x, int64_t bytes)
{
    int64_t all = 0;

    if (!x->in->owner) return false;
    if (x->out->late != LEVADA_LATE_DECODE_AUTO) return true;
    for (int64_t i = 0; i < x->in->n; i++) all += x->in->size[i];
    return 2 * bytes >= all;
}

static bool late_checked(const levada_proto *x, const levada_feature *f)
{
    uint32_t not = LEVADA_VARINT_OVER_10;

    if (f->dtype == LEVADA_INT32) not |= LEVADA_VARINT_OVER_4;
    return (x->sizes & not) == 0;
}

levada_status levada_late_encode(levada_proto *x, const levada_feature *f,
                                 const levada_items *items, const int32_t *offsets, bool *done,
                                 levada_error *err)
{
    const levada_encoded how = { .encoding = late_encoding(f),
                                 .level = f->steps,
                                 .kernels = x->kernels };
    late_sum sum;
    levada_encoded_item *to = NULL;
    uint8_t *copy = NULL;
    bool place;

    *done = false;
    if (!late_checked(x, f)) return LEVADA_OK;
    sum = late_add_up(f, items, offsets);
    place = !sum.loose && levada_late_in_place(x, sum.bytes);
    if (sum.values < late_least(f) * sum.items && x->out->late == LEVADA_LATE_DECODE_AUTO) {
        return LEVADA_OK;
    }
    if (!place && f->list == LEVADA_LIST_FLOAT) return LEVADA_OK; /* the same copy */
    LEVADA_TRY(levada_builder_encoded(x->out, f->column, &how, items->n,
                                      place ? x->in->owner : NULL, &to, err));
    if (place) {
        x->out->block->bytes += sum.bytes;
    } else {
        LEVADA_TRY(levada_builder_encoded_bytes(x->out, f->column, sum.bytes, &copy, err));
    }
    for (int64_t i = 0; i < items->n; i++, to++) {
        const levada_span *span = &items->at[i];

        to->count = (int32_t)late_count(f, offsets, i);
        to->size = to->count ? span->size : 0;
        to->at = place ? span->at : copy;
        if (place || !to->size) continue;
        memcpy(copy, span->at, (size_t)to->size);
        copy += to->size;
    }
    *done = true;
    return LEVADA_OK;
}

levada_status levada_late_fixed(levada_proto *x, const levada_feature *f,
                                const levada_items *items, bool *done, levada_error *err)
{
    *done = false;
    if (f->per < late_least(f) && x->out->late == LEVADA_LATE_DECODE_AUTO) return LEVADA_OK;
    x->sizes = 0;
    for (int64_t i = 0; i < items->n; i++) {
        const levada_span *span = &items->at[i];

        if (!span->at || levada_payload_measure(x, f->list, span) != f->per) return LEVADA_OK;
    }
    return levada_late_encode(x, f, items, NULL, done, err);
}
