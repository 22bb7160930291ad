/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes of records, to find out that others have taken their place: of single ones, and of a block
 * by a bounded sample. They depend on values only, not on how a block stores them.
 */
#ifndef LEVADA_TENSOR_RECORD_HASH_H
#define LEVADA_TENSOR_RECORD_HASH_H

#include "tensor/block_priv.h"

enum { LEVADA_HASHED_RECORDS = 4096 };         /* records of a block, at most    */
#define LEVADA_HASHED_BYTES (INT64_C(64) << 20) /* of their values, more or less */

/* Hashes all values of record i; without `exact` not those of floating dtypes. No column is
 * encoded. */
uint64_t levada_record_hash(const levada_block *block, int64_t i, bool exact);
/* Hashes the names and types of the columns, and the number of records. */
uint64_t levada_columns_hash(const levada_block *block);
/* Hashes the columns, the number of records, and records that are spread evenly: all of them where
 * LEVADA_HASHED_RECORDS and LEVADA_HASHED_BYTES allow it. Encoded columns do not count. */
uint64_t levada_records_hash(const levada_block *block);

#endif
