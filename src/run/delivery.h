/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an iterator delivered: counts, and the receipt of the records. It belongs to the iterator,
 * whose lock guards it. A checkpoint has all of it, so that it continues after a restore.
 */
#ifndef LEVADA_RUN_DELIVERY_H
#define LEVADA_RUN_DELIVERY_H

#include "run/file_hash.h"
#include "state/receipt.h"

typedef struct levada_delivery {
    levada_receipt     receipt;
    levada_file_hashes files;
} levada_delivery;

/* Receives n records of one file, whose hash is `file`: numbers in the origins `each` or, if that
 * is NULL, from that in `first` on. */
typedef void levada_delivery_visit(void *self, uint64_t file, const levada_origin *first,
                                   const levada_origin *each, int64_t n);

/* Calls `visit` for the records of all but the first `from` rows of a block that is not a
 * selection, and returns how many records have no file and number. A row that was made of several
 * records counts as the first one; a segment of a sequence or another part of a record counts if it
 * is the first part; a record that `zip` joined counts as each of its parts. */
int64_t levada_delivery_walk(levada_file_hashes *known, levada_run *run, const levada_block *block,
                             int64_t from, levada_delivery_visit *visit, void *self);
/* Adds these records to the receipt, or takes them off. */
void levada_delivery_add(levada_delivery *to, levada_run *run, const levada_block *block,
                         int64_t from);
void levada_delivery_take(levada_delivery *to, levada_run *run, const levada_block *block,
                          int64_t from);

#endif
