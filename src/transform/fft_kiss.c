/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/fft.h"

#include "base/alloc.h"

#include <kiss_fftr.h>

struct levada_fft {
    kiss_fftr_cfg plan; /* at the end of this memory */
    kiss_fft_cpx *spectrum;
    int64_t       n;
};

levada_status levada_fft_create(int64_t n, levada_fft **out, levada_error *err)
{
    size_t      plan = 0, head = sizeof(levada_fft), spectrum;
    levada_fft *f;

    spectrum = (size_t)(n / 2 + 1) * sizeof(kiss_fft_cpx);
    (void)kiss_fftr_alloc((int)n, 0, NULL, &plan); /* only its size */
    f = levada_alloc_zero(head + spectrum + plan);
    if (!f) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a transform");
    f->n = n;
    f->spectrum = (kiss_fft_cpx *)(void *)((char *)f + head);
    f->plan = kiss_fftr_alloc((int)n, 0, (char *)f + head + spectrum, &plan);
    *out = f;
    return LEVADA_OK;
}

void levada_fft_destroy(levada_fft **fft)
{
    levada_free(*fft);
    *fft = NULL;
}

void levada_fft_power(levada_fft *fft, const float *values, float *to)
{
    const kiss_fft_cpx *x = fft->spectrum;

    kiss_fftr(fft->plan, values, fft->spectrum);
    for (int64_t k = 0; k <= fft->n / 2; k++) to[k] = x[k].r * x[k].r + x[k].i * x[k].i;
}
