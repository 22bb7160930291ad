/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion of sample rates, through libsoxr: soxr.c. Without it, soxr_missing.c refuses. */
#ifndef LEVADA_TRANSFORM_RESAMPLER_H
#define LEVADA_TRANSFORM_RESAMPLER_H

#include <levada/spec.h>

/* As in the option `quality`. */
typedef enum levada_resampler_quality {
    LEVADA_RESAMPLER_HIGH,
    LEVADA_RESAMPLER_VERY_HIGH,
    LEVADA_RESAMPLER_MEDIUM,
    LEVADA_RESAMPLER_LOW,
    LEVADA_RESAMPLER_QUICK
} levada_resampler_quality;

typedef struct levada_resampling {
    int64_t                  from, to; /* frames per second */
    int64_t                  channels; /* next to each other in a frame */
    levada_dtype             dtype;    /* float32, float64, int32 or int16, of both */
    levada_resampler_quality quality;
} levada_resampling;

/* Frames that `frames` frames become, or one or two more. */
int64_t levada_resampler_capacity(const levada_resampling *r, int64_t frames);
/* Writes at most `capacity` frames; *made = how many. Any thread. UNIMPLEMENTED: built without it.
 */
LEVADA_MUST_USE levada_status levada_resampler_run(const levada_resampling *r, const void *in,
                                                   int64_t frames, void *out, int64_t capacity,
                                                   int64_t *made, levada_error *err);

#endif
