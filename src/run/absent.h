/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns that no record had: what the decoders of one pass found, and the notes about it. The
 * decoders of all pipes that a combiner opens in one pass count together.
 */
#ifndef LEVADA_RUN_ABSENT_H
#define LEVADA_RUN_ABSENT_H

#include <levada/block.h>

typedef struct levada_absent_decoder levada_absent_decoder;

/* Zeros at first. */
typedef struct levada_absent {
    levada_absent_decoder *decoders;
    int64_t                 capacity;
    int32_t                 n;
    bool                    failed; /* memory ran out: nothing can be said */
} levada_absent;

/* Adds what a decoder with the columns `spec` found: there[i] = column i was in a record. `ended`:
 * its pass was read to the end. Decoders whose paths differ in numbers of slots are one. */
void levada_absent_add(levada_absent *to, const char *path, const levada_spec *spec,
                        const bool *there, const char *have, int64_t records, bool ended);
/* Sets *why to the note about the i-th decoder; leaves it if each of its columns was in a record.
 */
LEVADA_MUST_USE levada_status levada_absent_note(const levada_absent *absent, int32_t i,
                                                  levada_error *why, levada_error *err);
void levada_absent_clear(levada_absent *absent);

#endif
