/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns that no record had: what the decoders of one pass found, and the notes about it. The
 * decoders of all pipes that a combiner opens in one pass count together.
 */
#ifndef LEVADA_RUN_MISSING_H
#define LEVADA_RUN_MISSING_H

#include <levada/block.h>

typedef struct levada_missing_decoder levada_missing_decoder;

/* Zeros at first. */
typedef struct levada_missing {
    levada_missing_decoder *decoders;
    int64_t                 capacity;
    int32_t                 n;
    bool                    failed; /* memory ran out: nothing can be said */
} levada_missing;

/* Adds what a decoder with the columns `spec` found: there[i] = column i was in a record. `ended`:
 * its pass was read to the end. Decoders whose paths differ in numbers of slots are one. */
void levada_missing_add(levada_missing *to, const char *path, const levada_spec *spec,
                        const bool *there, const char *have, int64_t records, bool ended);
/* Sets *why to the note about the i-th decoder; leaves it if each of its columns was in a record.
 */
LEVADA_MUST_USE levada_status levada_missing_note(const levada_missing *missing, int32_t i,
                                                  levada_error *why, levada_error *err);
void levada_missing_clear(levada_missing *missing);

#endif
