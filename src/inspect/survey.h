/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A survey of payloads: are they Examples or SequenceExamples, and what is in them? It reads
 * messages without knowing what to expect, and keeps counts, no values.
 */
#ifndef LEVADA_INSPECT_SURVEY_H
#define LEVADA_INSPECT_SURVEY_H

#include "inspect/histogram.h"

typedef struct levada_survey levada_survey;

LEVADA_MUST_USE levada_status levada_survey_create(levada_survey **out, levada_error *err);
void levada_survey_destroy(levada_survey **survey);

/* Adds one payload. ERESOURCE_EXHAUSTED is the only failure. */
LEVADA_MUST_USE levada_status levada_survey_add(levada_survey *survey, const uint8_t *data,
                                                int64_t size, levada_error *err);

/* Returns "Example", "SequenceExample", or NULL if most payloads are neither. */
const char *levada_survey_kind(const levada_survey *survey);
/* Writes "features":[...],"sequences":[...]. */
void levada_survey_json(const levada_survey *survey, levada_text *text);
/* Returns the steps of the sequence that has the most in one record, else the values of such a
 * feature; NULL if there is none. */
const levada_histogram *levada_survey_longest(const levada_survey *survey, const char **name,
                                             size_t *size);

#endif
