/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in for fft_kiss.c where the build did not find KISS FFT. */
#include "transform/fft.h"

levada_status levada_fft_create(int64_t n, levada_fft **out, levada_error *err)
{
    (void)n;
    *out = NULL;
    return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                       "log_mel: levada was built without KISS FFT (on Debian: apt install "
                       "libkissfft-dev)");
}

void levada_fft_destroy(levada_fft **fft) { *fft = NULL; }

void levada_fft_power(levada_fft *fft, const float *values, float *to)
{
    (void)fft, (void)values, (void)to;
}
