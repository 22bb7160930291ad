/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/mel.h"

#include "base/alloc.h"

#include <math.h>

/* Converts a frequency to Slaney's mel: linear up to 1000 Hz, which is 15 mel, then logarithmic: a
 * factor of 6.4 is 27 mel. */
static double mel_of(const levada_mel_design *d, double hz)
{
    if (d->htk) return 2595.0 * log10(1.0 + hz / 700.0);
    return hz < 1000.0 ? hz * 3.0 / 200.0 : 15.0 + 27.0 * log(hz / 1000.0) / log(6.4);
}

static double mel_to_hz(const levada_mel_design *d, double mel)
{
    if (d->htk) return 700.0 * (pow(10.0, mel / 2595.0) - 1.0);
    return mel < 15.0 ? mel * 200.0 / 3.0 : 1000.0 * exp(log(6.4) * (mel - 15.0) / 27.0);
}

/* Returns corner number i of the n_mels + 2 that lie at equal distances of mel. */
static double mel_corner(const levada_mel_design *d, int64_t i)
{
    double low = mel_of(d, d->low), high = mel_of(d, d->high);

    return mel_to_hz(d, low + (high - low) * (double)i / (double)(d->n_mels + 1));
}

static double mel_weight(double hz, const double corner[3])
{
    double up = (hz - corner[0]) / (corner[1] - corner[0]);
    double down = (corner[2] - hz) / (corner[2] - corner[1]);

    return up < down ? up : down;
}

/* Computes the weights of one filter, from number *used on; a frequency is in two filters at
 * most. */
static void mel_filter(const levada_mel_design *d, int64_t m, levada_mel *out, int32_t *used)
{
    double corner[3] = { mel_corner(d, m), mel_corner(d, m + 1), mel_corner(d, m + 2) };
    double step = (double)d->rate / (double)d->n_fft, scale;
    levada_mel_filter *f = &out->filters[m];

    scale = d->area ? 2.0 / (corner[2] - corner[0]) : 1.0;
    *f = (levada_mel_filter){ .first_weight = *used };
    for (int64_t k = (int64_t)(corner[0] / step); k <= d->n_fft / 2; k++) {
        double weight = mel_weight((double)k * step, corner);

        if ((double)k * step >= corner[2]) break;
        if (!(weight > 0)) continue;
        if (f->n++ == 0) f->first = (int32_t)k;
        out->weights[(*used)++] = (float)(weight * scale);
    }
    out->empty += f->n == 0;
}

levada_status levada_mel_create(const levada_mel_design *d, levada_mel *out, levada_error *err)
{
    int32_t used = 0;

    out->empty = 0;
    out->filters = levada_alloc((size_t)d->n_mels * sizeof *out->filters);
    out->weights = levada_alloc((size_t)(d->n_fft + 2 * d->n_mels + 4) * sizeof *out->weights);
    if (!out->filters || !out->weights)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for filters");
    for (int64_t m = 0; m < d->n_mels; m++) mel_filter(d, m, out, &used);
    return LEVADA_OK;
}

void levada_mel_clear(levada_mel *mel)
{
    levada_free(mel->filters);
    levada_free(mel->weights);
    *mel = (levada_mel){ 0 };
}
