/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks in step that read only their own records.
 *
 * All ranks must place all records, because each batch of one is a share of a batch of all. But the
 * stage that places them looks at lengths only. Where the index of the files has these, the source
 * hands out numbers with lengths in place of records (files/file_reader.h), and the stages that
 * make one record of one run after the batching stage instead of before it:
 *
 *     all records       source ─► shuffle ─► decoder ─► place ────────────────► pad
 *     its own only      numbers ─► shuffle ─► place ─► fetch own ─► decoder ─► pad
 *
 * Combiners that pass records on (concat, mix) pass numbers on, too, where all their inputs have
 * them and nothing but the order of records is made upstream of them.
 *
 * Batches are the same. The plan decides; levada_iter_explain() shows it and, if a rank reads all
 * records, why.
 */
#ifndef LEVADA_RUN_OWN_H
#define LEVADA_RUN_OWN_H

#include "files/file_reader.h"
#include "files/index.h"
#include "files/index_lengths.h"

/* What a batching stage needs to know of records before it has chosen its own. */
typedef struct levada_needed {
    const char *fields[LEVADA_LENGTH_FIELDS]; /* their lengths; borrowed */
    int32_t     n;
    const char *more; /* what it needs that is not a length; NULL = nothing */
} levada_needed;

/* Adds a field, once. False: these are too many. */
bool levada_needed_add(levada_needed *needed, const char *field);

typedef struct levada_own {
    const levada_dataset *stage; /* that batches for one of several ranks; NULL = there is none */
    levada_needed         needed;
    const levada_dataset *combiner; /* the last one that passes numbers on; NULL = there is none */
    char                  why[LEVADA_INDEX_WHY]; /* it reads all records; "" = only its own */
} levada_own;

/* Describes what the pipeline of the stage and of its input allows; downstream of a combiner also
 * what the indexes allow, because all sources have numbers or none. `skips`: the iterator's policy
 * skips bad records. */
LEVADA_MUST_USE levada_status levada_own_describe(const levada_dataset *stage, bool skips,
                                                  levada_own *out, levada_error *err);
/* Looks up whether the indexes of all sources have the lengths, if the pipeline allows it. */
LEVADA_MUST_USE levada_status levada_own_look_up(levada_own *own, levada_error *err);
/* Finds the lengths of one source, `at`, which levada_file_reader_number() then uses. */
LEVADA_MUST_USE levada_status levada_own_find(levada_own *own, const levada_dataset *at,
                                              levada_file_reader *source, levada_error *err);
/* Returns the lengths of all records of a numbered source in a field, borrowed from its options;
 * NULL = it does not know them. */
const int64_t *levada_own_lengths(const levada_dataset *source, const char *field);
/* Prints one line: what it reads, and why. */
void levada_own_print(const levada_own *own, char *out, size_t size);

#endif
