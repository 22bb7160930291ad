/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The power spectrum of real numbers, through KISS FFT: fft_kiss.c. Without it, fft_missing.c
 * refuses to make a transform. One thread at a time.
 */
#ifndef LEVADA_TRANSFORM_FFT_H
#define LEVADA_TRANSFORM_FFT_H

#include <levada/error.h>

#include <stdint.h>

typedef struct levada_fft levada_fft;

/* Creates a transform for n values, n even. UNIMPLEMENTED: built without it. */
LEVADA_MUST_USE levada_status levada_fft_create(int64_t n, levada_fft **out, levada_error *err);
void levada_fft_destroy(levada_fft **fft);
/* Computes to[k] = |X[k]|^2 for the n / 2 + 1 frequencies k / n. */
void levada_fft_power(levada_fft *fft, const float *values, float *to);

#endif
