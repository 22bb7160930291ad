/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms of counts and sizes: exact up to 512, then 256 buckets to each power of two.
 */
#ifndef LEVADA_INSPECT_HISTOGRAM_H
#define LEVADA_INSPECT_HISTOGRAM_H

#include "base/text.h"

/* All-zero is a valid empty histogram. */
typedef struct levada_histogram {
    int64_t *count; /* NULL until something is added */
    int64_t  n, min, max;
    double   sum;
    bool     failed; /* memory was short: quantiles are missing */
} levada_histogram;

/* Adds a value >= 0, `times` of them. */
void levada_histogram_add(levada_histogram *histogram, int64_t value, int64_t times);
void levada_histogram_clear(levada_histogram *histogram);
/* Counts values in n equal steps from min to max. */
void levada_histogram_bars(const levada_histogram *histogram, int64_t *bars, int32_t n);
/* Returns true if the bars are as wide as each other on a logarithmic axis: lengths with a long
 * tail. */
bool levada_histogram_logarithmic(const levada_histogram *histogram);
/* Writes {"min":1,"median":2,"p90":3,"max":4,"mean":2.5}. */
void levada_histogram_json(const levada_histogram *histogram, levada_text *text);

#endif
