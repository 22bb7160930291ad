/* SPDX-License-Identifier: Apache-2.0 */
#include "inspect/histogram.h"

#include "base/alloc.h"
#include "base/compiler.h"

#include <math.h>

#define HISTOGRAM_BITS 8 /* 256 buckets to a power of two */
#define HISTOGRAM_EXACT (INT64_C(2) << HISTOGRAM_BITS)
#define HISTOGRAM_LINEAR_MOST 16 /* largest by smallest value from which bars are logarithmic */
#define HISTOGRAM_POWERS 40 /* up to 2^48 */
#define HISTOGRAM_BUCKETS (HISTOGRAM_EXACT + ((int64_t)HISTOGRAM_POWERS << HISTOGRAM_BITS))

static int64_t histogram_bucket(int64_t value)
{
    int32_t top, shift;
    int64_t bucket;

    if (value < HISTOGRAM_EXACT) return value;
    top = 63 - (int32_t)LEVADA_CLZ64((uint64_t)value);
    shift = top - HISTOGRAM_BITS;
    bucket = ((int64_t)shift << HISTOGRAM_BITS) + (value >> shift);
    return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

/* Returns the middle of a bucket. */
static int64_t histogram_value(int64_t bucket)
{
    int64_t shift;

    if (bucket < HISTOGRAM_EXACT) return bucket;
    shift = (bucket >> HISTOGRAM_BITS) - 1;
    return ((bucket - (shift << HISTOGRAM_BITS)) << shift) + ((INT64_C(1) << shift) >> 1);
}

void levada_histogram_add(levada_histogram *h, int64_t value, int64_t times)
{
    if (!h->count && !h->failed) {
        h->count = levada_alloc_zero((size_t)HISTOGRAM_BUCKETS * sizeof *h->count);
        h->failed = h->count == NULL;
    }
    if (times <= 0) return;
    if (h->count) h->count[histogram_bucket(value)] += times;
    h->min = h->n == 0 || value < h->min ? value : h->min;
    h->max = h->n == 0 || value > h->max ? value : h->max;
    h->n += times;
    h->sum += (double)value * (double)times;
}

void levada_histogram_clear(levada_histogram *h)
{
    levada_free(h->count);
    *h = (levada_histogram){0};
}

static int64_t histogram_clip(const levada_histogram *h, int64_t value)
{
    if (value < h->min) return h->min;
    return value > h->max ? h->max : value;
}

/* Returns the quantile: a share of 0..1 of all values is at or below it; 0 if there are none. */
static int64_t histogram_quantile(const levada_histogram *h, double share)
{
    int64_t below = 0, wanted = (int64_t)(share * (double)h->n + 0.5);

    if (!h->count) return 0;
    if (wanted < 1) wanted = 1;
    for (int64_t i = histogram_bucket(h->min); i <= histogram_bucket(h->max); i++) {
        below += h->count[i];
        if (below >= wanted) return histogram_clip(h, histogram_value(i));
    }
    return h->max;
}

bool levada_histogram_logarithmic(const levada_histogram *h)
{
    return h->max / (h->min + 1) >= HISTOGRAM_LINEAR_MOST;
}

void levada_histogram_bars(const levada_histogram *h, int64_t *bars, int32_t n)
{
    bool   logarithmic = levada_histogram_logarithmic(h);
    double first = (double)h->min, last = (double)h->max + 1;
    double span = logarithmic ? log((last + 1) / (first + 1)) : last - first;

    for (int32_t i = 0; i < n; i++) bars[i] = 0;
    if (!h->count) return;
    for (int64_t i = histogram_bucket(h->min); i <= histogram_bucket(h->max); i++) {
        double  value = (double)histogram_clip(h, histogram_value(i));
        double  at = logarithmic ? log((value + 1) / (first + 1)) : value - first;
        int32_t bar = (int32_t)(at / span * n);

        if (h->count[i]) bars[bar < n ? bar : n - 1] += h->count[i];
    }
}

void levada_histogram_json(const levada_histogram *h, levada_text *text)
{
    levada_text_format(text,
                       "{\"min\":%lld,\"median\":%lld,\"p90\":%lld,\"max\":%lld,\"mean\":%.6g}",
                       (long long)h->min, (long long)histogram_quantile(h, 0.5),
                       (long long)histogram_quantile(h, 0.9), (long long)h->max,
                       h->n > 0 ? h->sum / (double)h->n : 0.0);
}
