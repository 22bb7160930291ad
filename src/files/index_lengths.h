/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lengths of records from the index of their files (files/index.h).
 *
 * An index has the lengths of fields that certain stages make of a record. A dataset finds them
 * where its stages are the same ones; stages that only reorder or choose records, and functions
 * that are declared to keep lengths, may stand between them.
 */
#ifndef LEVADA_FILES_INDEX_LENGTHS_H
#define LEVADA_FILES_INDEX_LENGTHS_H

#include "description/dataset_priv.h"
#include <levada/inspect.h>

#define LEVADA_INDEX_WHY 240

/* Lengths that are looked for. */
typedef struct levada_index_lookup {
    const char *const   *fields; /* n of them, borrowed */
    int32_t              n;
    levada_lengths_each *each; /* receives those of record after record; NULL = nobody does */
    void                *user; /* of each */
    char why[LEVADA_INDEX_WHY]; /* result: why the index does not have them; "" = it has */
} levada_index_lookup;

/* Returns true if each record is made of the record of the input with the same number. */
bool levada_index_passes(const levada_op *op);
/* Returns true if a stage emits records of its input unchanged, chosen and ordered without their
 * columns. */
bool levada_index_chooses(const levada_op *op);
/* Returns true if a source reads its files by an index; else writes a sentence that says why not.
 */
bool levada_index_is_read(const levada_dataset *source, char why[LEVADA_INDEX_WHY]);
/* Writes a sentence: the index of a dataset does not have the lengths of these fields. */
void levada_index_lacks(const levada_dataset *dataset, const char *const *fields, int32_t n,
                        char why[LEVADA_INDEX_WHY]);
/* Computes the hash of what makes the fields of a dataset of a record of its files: the format with
 * its own options, and stages. EINVALID_ARGUMENT: a stage does not make one record of one. */
LEVADA_MUST_USE levada_status levada_index_stages(const levada_dataset *dataset, uint8_t out[16],
                                                  levada_error *err);
/* Computes the same hash for one source of a dataset whose stages make one record of one, or change
 * only order and number, and whose combiners pass records on. */
LEVADA_MUST_USE levada_status levada_index_hash(const levada_dataset *dataset,
                                                const levada_dataset *source, uint8_t out[16],
                                                levada_error *err);
/* Looks up the lengths in all records of the files, even if the dataset reads a part of them, deals
 * them to ranks, shuffles or repeats them; those of all inputs of `concat` and `mix`. `each` may
 * have been called for some inputs if another one does not have them. EFAILED_PRECONDITION: a file
 * has changed since it was indexed. */
LEVADA_MUST_USE levada_status levada_index_look_up(const levada_dataset *dataset,
                                                   levada_index_lookup *lookup, levada_error *err);

#endif
