/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of audio whose records get other numbers of frames: resample and change_speed. */
#ifndef LEVADA_TRANSFORM_RESAMPLED_H
#define LEVADA_TRANSFORM_RESAMPLED_H

#include "transform/one_field.h"
#include "transform/resampler.h"
#include <levada/stage.h>

#define LEVADA_RESAMPLED_MOST "134217728" /* default of max_samples: 2^27 */
enum { LEVADA_RESAMPLED_MOST_RATE = 1 << 22, LEVADA_RESAMPLED_MOST_SAMPLES = 1 << 28 };

/* What happens to a column. */
typedef struct levada_resampled {
    const levada_context   *context;
    const levada_one_field *f;
    /* Returns the frames of a record that become `to` frames. */
    int64_t (*from)(const void *user, int64_t row);
    const void              *user;
    int64_t                  to;
    levada_resampler_quality quality;
    int64_t                  max_samples; /* of a result, in all channels */
} levada_resampled;

/* Makes the frames of an audio field ragged, or refuses the field: a levada_field_change. */
LEVADA_MUST_USE levada_status levada_resampled_field(const void *args, levada_field *f,
                                                     levada_error *err);
/* Fills the column. Rejects records that cannot be resampled. */
LEVADA_MUST_USE levada_status levada_resampled_fill(const levada_resampled *r, levada_error *err);

#endif
