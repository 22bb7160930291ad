/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Late materialization: ranks in step that read only their own records.
 *
 * All ranks must place all records, because each batch of one is a share of a batch of all. But the
 * stage that places them looks at lengths only. If those are known without the records (from the
 * index of their files, or from the options of a numbered source), the plan is rewritten: the
 * source emits keys (tensor/keys.h), and the stages that make one record of one run after the
 * batching stage instead of before it:
 *
 *     all records       source ─► shuffle ─► decoder ─► place ──────────────────────► pad
 *     its own only      keys ─► shuffle ─► place ─► materialize own ─► decoder ─► pad
 *
 * Combiners that pass records on (concat, mix) pass keys on, too, where all their inputs have them
 * and nothing but the order of records is made upstream of them.
 *
 * Batches are the same. plan.c rewrites; levada_iter_explain() shows it and, if a rank reads all
 * records, why.
 */
#ifndef LEVADA_RUN_KEYED_H
#define LEVADA_RUN_KEYED_H

#include "files/index_lengths.h"
#include "tensor/keys.h"

/* What a batching stage needs to know of records before it has chosen its own. */
typedef struct levada_needed {
    const char *fields[LEVADA_KEY_FIELDS]; /* their lengths; borrowed */
    int32_t     n;
    const char *more; /* what it needs that is not a length; NULL = nothing */
} levada_needed;

/* Adds a field, once. False: these are too many. */
bool levada_needed_add(levada_needed *needed, const char *field);

/* How a stage that batches for one of several ranks reads. */
typedef struct levada_keyed {
    const levada_dataset *stage; /* NULL = it has no ranks */
    levada_needed         needed;
    const levada_dataset *combiner; /* the last one that passes keys on; NULL = there is none */
    char                  why[LEVADA_INDEX_WHY]; /* it reads all records; "" = only its own */
} levada_keyed;

/* Decides what the pipeline and the indexes of its sources allow. `skips`: the iterator's policy
 * skips bad records. */
LEVADA_MUST_USE levada_status levada_keyed_decide(const levada_dataset *stage, bool skips,
                                                  levada_keyed *out, levada_error *err);
/* Returns the lengths of all records of a numbered source in a field, borrowed from its options;
 * NULL = it does not know them. */
const int64_t *levada_keyed_lengths(const levada_dataset *source, const char *field);
/* Prints one line: what it reads, and why. */
void levada_keyed_print(const levada_keyed *keyed, char *out, size_t size);

#endif
