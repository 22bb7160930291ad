/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in for soxr.c where the build did not find libsoxr. */
#include "transform/resampler.h"

/* Returns a capacity that is not 0, because audio without frames is not resampled, and so would not
 * be refused. */
int64_t levada_resampler_capacity(const levada_resampling *r, int64_t frames)
{
    (void)r;
    return frames;
}

levada_status levada_resampler_run(const levada_resampling *r, const void *in, int64_t frames,
                                   void *out, int64_t capacity, int64_t *made, levada_error *err)
{
    (void)r, (void)in, (void)frames, (void)out, (void)capacity;
    *made = 0;
    return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                       "resample: levada was built without libsoxr (on Debian: apt install "
                       "libsoxr-dev)");
}
