/* SPDX-License-Identifier: Apache-2.0 */
/* A resampler lives for one sound: soxr_clear() would design its filter again, too. */
#include "transform/resampler.h"

#include <soxr.h>

enum { SOXR_FRAMES = 1 << 15 }; /* of one call: what it copies stays in the cache */

int64_t levada_resampler_capacity(const levada_resampling *r, int64_t frames)
{
    return (int64_t)((double)frames * (double)r->to / (double)r->from) + 2;
}

static soxr_datatype_t soxr_dtype(levada_dtype dtype)
{
    if (dtype == LEVADA_FLOAT64) return SOXR_FLOAT64_I;
    if (dtype == LEVADA_INT32) return SOXR_INT32_I;
    return dtype == LEVADA_INT16 ? SOXR_INT16_I : SOXR_FLOAT32_I;
}

static soxr_t soxr_open(const levada_resampling *r, soxr_error_t *wrong)
{
    static const unsigned long recipes[] = { SOXR_HQ, SOXR_VHQ, SOXR_MQ, SOXR_LQ, SOXR_QQ };
    soxr_quality_spec_t        quality = soxr_quality_spec(recipes[r->quality], 0);
    soxr_io_spec_t             io = soxr_io_spec(soxr_dtype(r->dtype), soxr_dtype(r->dtype));
    soxr_runtime_spec_t        runtime = soxr_runtime_spec(1);

    io.flags = SOXR_NO_DITHER; /* random numbers */
    return soxr_create((double)r->from, (double)r->to, (unsigned)r->channels, wrong, &io, &quality,
                       &runtime);
}

levada_status levada_resampler_run(const levada_resampling *r, const void *in, int64_t frames,
                                   void *out, int64_t capacity, int64_t *made, levada_error *err)
{
    size_t       size = (size_t)(r->channels * levada_dtype_size(r->dtype)), used = 0, n = 0;
    size_t       all = (size_t)frames, limit = (size_t)capacity;
    soxr_error_t wrong = NULL;
    soxr_t       s = soxr_open(r, &wrong);

    while (s && !wrong && n < limit) {
        size_t      left = all - used, taken = 0, more = 0;
        const char *from = used < all ? (const char *)in + used * size : NULL;

        if (left > SOXR_FRAMES) left = SOXR_FRAMES;
        wrong = soxr_process(s, from, left, &taken, (char *)out + n * size, limit - n, &more);
        used += taken;
        n += more;
        if (more == 0 && taken == 0) break;
    }
    if (s) soxr_delete(s);
    *made = (int64_t)n;
    if (s && !wrong) return LEVADA_OK;
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "resample: %s",
                       wrong ? wrong : "out of memory");
}
