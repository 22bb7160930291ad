/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters on the mel scale: triangles over the frequencies of a spectrum, as librosa.filters.mel
 * and torchaudio.functional.melscale_fbanks make them. Immutable once made.
 */
#ifndef LEVADA_TRANSFORM_MEL_H
#define LEVADA_TRANSFORM_MEL_H

#include <levada/error.h>

#include <stdbool.h>
#include <stdint.h>

/* What filters are made of. */
typedef struct levada_mel_design {
    int64_t rate, n_fft, n_mels;
    double  low, high; /* Hz: where the first filter begins, and the last one ends */
    bool    htk;       /* the scale of HTK; else that of Slaney's Auditory Toolbox */
    bool    area;      /* triangles of area 1; else of height 1 */
} levada_mel_design;

/* A triangle: weights[first_weight, + n) of the powers [first, + n). n = 0: it is too narrow. */
typedef struct levada_mel_filter {
    int32_t first, n, first_weight;
} levada_mel_filter;

typedef struct levada_mel {
    levada_mel_filter *filters; /* n_mels, owned */
    float             *weights; /* owned */
    int64_t            empty;   /* filters without a frequency */
} levada_mel;

LEVADA_MUST_USE levada_status levada_mel_create(const levada_mel_design *d, levada_mel *out,
                                                levada_error *err);
void levada_mel_clear(levada_mel *mel);

#endif
