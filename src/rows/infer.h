/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Specs from records: what the word "auto" in place of a spec stands for.
 *
 * levada reads the first 1,000 good records of the input (fewer if they have 8 MiB), or the
 * records before the first damage. It skips stages that only change the order or choose a part
 * (shuffle, shard, prefetch, repeat), so that all ranks and seeds find the same spec. The thread of
 * the caller does the work.
 */
#ifndef LEVADA_ROWS_INFER_H
#define LEVADA_ROWS_INFER_H

#include <levada/dataset.h>

/* Returns true if the value of an option is the word "auto". */
bool levada_infer_is_auto(const levada_value *value);

/* Looks at one record. EDATA_LOSS: the record is bad, and passed over unless all are; any other
 * error
 * ends the search. */
typedef levada_status (*levada_infer_look)(void *user, const uint8_t *data, int64_t size,
                                           levada_error *err);

/* Calls look() for the first records: byte strings in the column `field` of `input`. Errors name
 * the record. Sets *records to their number, which may be 0. */
LEVADA_MUST_USE levada_status levada_infer_records(const levada_dataset *input, const char *field,
                                                   levada_infer_look look, void *user,
                                                   int64_t *records, levada_error *err);

/* Adds the first file of the input to an error. */
void levada_infer_name_file(const levada_dataset *input, levada_error *err);

/* Sets map[key] = item. Takes the item; NULL = no memory. */
LEVADA_MUST_USE levada_status levada_infer_set(levada_value *map, const char *key,
                                               levada_value *item, levada_error *err);

#endif
