/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/length_summary.h"

#include <math.h>

#define SUMMARY_BINS 24 /* bins up to the length of 99 % of the records, at most */

typedef struct summary_counts {
    const int64_t *lengths, *counts;
    int64_t        n, records;
} summary_counts;

static levada_status summary_read(levada_length_histogram *h, summary_counts *c, levada_error *err)
{
    LEVADA_TRY(levada_length_histogram_get(h, &c->lengths, &c->counts, &c->n, err));
    for (int64_t i = 0; i < c->n; i++) c->records += c->counts[i];
    return LEVADA_OK;
}

static int64_t summary_quantile(const summary_counts *c, double share)
{
    int64_t seen = 0, want = (int64_t)ceil(share * (double)c->records);

    for (int64_t i = 0; i < c->n; i++) {
        seen += c->counts[i];
        if (seen >= want) return c->lengths[i];
    }
    return 0;
}

static levada_length_summary summary_of(const summary_counts *c)
{
    return (levada_length_summary){
        .min = summary_quantile(c, 0),    .p10 = summary_quantile(c, 0.1),
        .median = summary_quantile(c, 0.5), .p90 = summary_quantile(c, 0.9),
        .p99 = summary_quantile(c, 0.99), .max = summary_quantile(c, 1),
    };
}

levada_status levada_length_summary_make(levada_length_histogram *histogram,
                                         levada_length_summary *out, levada_error *err)
{
    summary_counts c = { 0 };

    LEVADA_TRY(summary_read(histogram, &c, err));
    *out = summary_of(&c);
    return LEVADA_OK;
}

/* Returns the smallest of 1, 2, 5, 10, 20, ... of which SUMMARY_BINS exceed the length. */
static int64_t summary_width(int64_t length)
{
    static const int64_t steps[] = { 1, 2, 5 };
    int64_t              ten = 1;

    for (;; ten *= 10) {
        for (int i = 0; i < 3; i++) {
            if (length / (steps[i] * ten) < SUMMARY_BINS || ten > INT64_MAX / 100) {
                return steps[i] * ten;
            }
        }
    }
}

static void summary_bins(const summary_counts *c, const levada_length_summary *s, levada_text *to)
{
    int64_t width = summary_width(s->p99), bins = s->p99 / width + 1, i = 0;

    for (int64_t bin = s->min / width; c->records && bin < bins; bin++) {
        bool    last = bin == bins - 1;
        int64_t records = 0, from = bin * width, end = from + width;

        if (last && s->max >= end) end = s->max < INT64_MAX ? s->max + 1 : s->max;
        for (; i < c->n && (last || c->lengths[i] < end); i++) records += c->counts[i];
        levada_text_format(to, "%s[%lld,%lld,%lld]", bin > s->min / width ? "," : "",
                           (long long)from, (long long)end, (long long)records);
    }
}

levada_status levada_length_summary_json(levada_length_histogram *histogram, levada_text *to,
                                         levada_error *err)
{
    summary_counts        c = { 0 };
    levada_length_summary s;

    LEVADA_TRY(summary_read(histogram, &c, err));
    s = summary_of(&c);
    levada_text_format(to,
                       ",\"quantiles\":{\"min\":%lld,\"p10\":%lld,\"median\":%lld,"
                       "\"p90\":%lld,\"p99\":%lld,\"max\":%lld},\"histogram\":[",
                       (long long)s.min, (long long)s.p10, (long long)s.median, (long long)s.p90,
                       (long long)s.p99, (long long)s.max);
    summary_bins(&c, &s, to);
    levada_text_char(to, ']');
    return LEVADA_OK;
}
