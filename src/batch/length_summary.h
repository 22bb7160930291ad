/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A histogram of lengths in a few numbers: quantiles, and bins of equal width.
 */
#ifndef LEVADA_BATCH_LENGTH_SUMMARY_H
#define LEVADA_BATCH_LENGTH_SUMMARY_H

#include "base/text.h"
#include <levada/lengths.h>

/* All 0 without records. A quantile is the smallest length that its share does not exceed. */
typedef struct levada_length_summary {
    int64_t min, p10, median, p90, p99, max;
} levada_length_summary;

LEVADA_MUST_USE levada_status levada_length_summary_make(levada_length_histogram *histogram,
                                                         levada_length_summary   *out,
                                                         levada_error            *err);
/* Appends ,"quantiles":{...},"histogram":[[from,to,records],...]. */
LEVADA_MUST_USE levada_status levada_length_summary_json(levada_length_histogram *histogram,
                                                         levada_text *to, levada_error *err);

#endif
