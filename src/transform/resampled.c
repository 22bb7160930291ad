/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/resampled.h"

#include "base/alloc.h"
#include "transform/samples.h"

#include <string.h>

enum { RESAMPLED_RATIO = 256, RESAMPLED_BLOCK = 1 << 28 };

levada_status levada_resampled_field(const void *args, levada_field *f, levada_error *err)
{
    (void)args;
    LEVADA_TRY(levada_samples_check_audio(f, err));
    levada_samples_ragged(f);
    return LEVADA_OK;
}

/* Sets the most frames that the record can become; fails where they are too many. */
static levada_status resampled_capacity(const levada_resampled *r, int64_t row, int64_t *capacity,
                                        levada_error *why)
{
    int64_t           from = r->from(r->user, row), to = r->to, frames;
    levada_resampling ratio = { .from = from, .to = to };

    *capacity = 0;
    (void)levada_samples_row(r->f->from, row, &frames);
    if (from < 1 || from > LEVADA_RESAMPLED_MOST_RATE || from > to * RESAMPLED_RATIO ||
        to > from * RESAMPLED_RATIO) {
        return levada_fail(why, LEVADA_EINVALID_ARGUMENT,
                           "%lld frames per second cannot become %lld: the ratio is up to %d",
                           (long long)from, (long long)to, RESAMPLED_RATIO);
    }
    *capacity = from == to || frames == 0 ? frames : levada_resampler_capacity(&ratio, frames);
    if (*capacity * levada_samples_channels(r->f->from->field) <= r->max_samples) return LEVADA_OK;
    *capacity = 0;
    return levada_fail(why, LEVADA_ERESOURCE_EXHAUSTED,
                       "more samples than max_samples=%lld; raise max_samples",
                       (long long)r->max_samples);
}

/* Sets the capacities of all records; those that do not fit are rejected, and empty. */
static levada_status resampled_look(const levada_resampled *r, int64_t *capacities,
                                    int64_t *total, levada_error *err)
{
    *total = 0;
    for (int64_t i = 0; i < r->f->from->n; i++) {
        levada_error why = LEVADA_ERROR_INIT;

        if (resampled_capacity(r, i, &capacities[i], &why) != LEVADA_OK)
            LEVADA_TRY(levada_builder_reject(r->f->b, i, &why, err));
        *total += capacities[i] * levada_samples_channels(r->f->from->field);
        if (*total <= RESAMPLED_BLOCK) continue;
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "more than 2^28 samples in one block; lower block_rows");
    }
    return LEVADA_OK;
}

static levada_status resampled_one(const levada_resampled *r, int64_t row, uint8_t *to,
                                   int64_t capacity, int64_t *made, levada_error *err)
{
    const levada_resampling ratio = {
        .from = r->from(r->user, row),
        .to = r->to,
        .channels = levada_samples_channels(r->f->from->field),
        .dtype = r->f->from->field->dtype,
        .quality = r->quality,
    };
    int64_t        frames;
    const uint8_t *at = levada_samples_row(r->f->from, row, &frames);

    if (levada_context_cancelled(r->context))
        return levada_fail(err, LEVADA_ECANCELLED, "cancelled");
    *made = capacity;
    if (capacity == 0) return LEVADA_OK;
    if (ratio.from != ratio.to)
        return levada_resampler_run(&ratio, at, frames, to, capacity, made, err);
    memcpy(to, at, (size_t)(frames * ratio.channels * levada_dtype_size(ratio.dtype)));
    return LEVADA_OK;
}

static levada_status resampled_column(const levada_resampled *r, int64_t *capacities,
                                      levada_error *err)
{
    const levada_one_field *f = r->f;
    int64_t  size = levada_samples_channels(f->to) * levada_dtype_size(f->to->dtype), total;
    int32_t *offsets = NULL;
    void    *values = NULL;

    LEVADA_TRY(resampled_look(r, capacities, &total, err));
    LEVADA_TRY(levada_builder_offsets(f->b, f->index, 0, f->from->n, &offsets, err));
    LEVADA_TRY(levada_builder_values(f->b, f->index, total, &values, err));
    for (int64_t i = 0; i < r->f->from->n; i++) {
        int64_t made = 0;

        LEVADA_TRY(resampled_one(r, i, (uint8_t *)values + offsets[i] * size, capacities[i], &made,
                                 err));
        offsets[i + 1] = offsets[i] + (int32_t)made;
    }
    return LEVADA_OK;
}

levada_status levada_resampled_fill(const levada_resampled *r, levada_error *err)
{
    int64_t      *capacities = levada_alloc((size_t)r->f->from->n * sizeof *capacities + 1);
    levada_status st;

    if (!capacities)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while resampling");
    st = resampled_column(r, capacities, err);
    levada_free(capacities);
    return st;
}
