/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A way to make batches, for the report on padding: its stages on top of records that have only a
 * length, and how users write it. Belongs to one thread.
 */
#ifndef LEVADA_BATCH_PADDING_STRATEGY_H
#define LEVADA_BATCH_PADDING_STRATEGY_H

#include "base/text.h"
#include <levada/dataset.h>

#define LEVADA_PADDING_STAGES 2

/* All-zero is a valid cleared strategy. */
typedef struct levada_padding_strategy {
    const char *name;
    const char *stage[LEVADA_PADDING_STAGES]; /* NULL after the last one                        */
    levada_text options[LEVADA_PADDING_STAGES]; /* a map without its braces, owned              */
    int         rank;       /* of recommendations: the lowest is the first choice; 0 = none     */
    levada_text text, call; /* made: the description, and the call in Python; owned             */
} levada_padding_strategy;

void levada_padding_strategy_clear(levada_padding_strategy *s);
/* Makes the stages on top of `in`, as a dataset. Writes both texts. */
LEVADA_MUST_USE levada_status levada_padding_strategy_make(levada_padding_strategy *s,
                                                           const levada_dataset *in,
                                                           levada_dataset **out, levada_error *err);

/* Makes a dataset of one int64 field: the lengths, at least 0. */
LEVADA_MUST_USE levada_status levada_padding_lengths(const char *name, const int64_t *lengths,
                                                     int64_t n, levada_dataset **out,
                                                     levada_error *err);
/* Makes a dataset of sequences, which share their values. A record longer than `most` is cut: the
 * dataset has what remains after pieces of that length, whose number is added to *pieces. */
LEVADA_MUST_USE levada_status levada_padding_sequences(const char *name, const int64_t *lengths,
                                                       int64_t n, int64_t most,
                                                       levada_dataset **out, double *pieces,
                                                       levada_error *err);

#endif
