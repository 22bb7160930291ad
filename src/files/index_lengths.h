/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lengths of records from the index of their files (files/index.h).
 */
#ifndef LEVADA_FILES_INDEX_LENGTHS_H
#define LEVADA_FILES_INDEX_LENGTHS_H

#include "description/dataset_priv.h"
#include <levada/inspect.h>

/* Whether each record is made of the record of the input with the same number. */
bool levada_index_passes(const levada_op *op);
/* Whether a stage emits the records of its input unchanged, all of them equally often. */
bool levada_index_reorders(const levada_op *op);
/* The hash of what makes the fields of a dataset of a record of its files: the format with its own
 * options, and stages. EINVALID_ARGUMENT: a stage does not make one record of one. */
LEVADA_MUST_USE levada_status levada_index_stages(const levada_dataset *dataset, uint8_t out[16],
                                                  levada_error *err);
/* The same for a dataset whose stages make one record of one, or change only order and number. */
LEVADA_MUST_USE levada_status levada_index_hash(const levada_dataset *dataset, uint8_t out[16],
                                                levada_error *err);
/* levada_inspect_lengths for all records of the files, also where the dataset reads a part of them,
 * deals them to ranks, shuffles or repeats them. */
LEVADA_MUST_USE levada_status levada_index_lengths_of_files(const levada_dataset *dataset,
                                                            const char *field,
                                                            levada_lengths_each *each,
                                                            void *user, bool *found,
                                                            levada_error *err);

#endif
