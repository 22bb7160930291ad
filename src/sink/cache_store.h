/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of a cache: all blocks of one pass, in order. It lies in memory, where it belongs to
 * the dataset, or in a file:
 *
 *     "LVCACHE1", 16 bytes of the description's fingerprint
 *     each block: the bytes of a saved state with the block "rows", which end in a checksum
 *     the index: for each block its offset and its number of records, 8 bytes each
 *     offset of the index, number of blocks, bad records that were skipped (8 bytes each)
 *     CRC-32C of the index and of these three (4 bytes)
 *
 * Numbers are little-endian. The file appears when it is complete (levada/output.h).
 */
#ifndef LEVADA_SINK_CACHE_STORE_H
#define LEVADA_SINK_CACHE_STORE_H

#include "description/dataset_priv.h"
#include "description/policy.h"
#include "tensor/block_priv.h"

/* Being filled by one iterator. */
typedef struct levada_cache_writer levada_cache_writer;
/* Complete; any thread, any number of readers. */
typedef struct levada_cache_store levada_cache_store;

/* Creates a writer; path = NULL: in memory. */
LEVADA_MUST_USE levada_status levada_cache_writer_create(levada_env *env, const char *path,
                                                         const uint8_t        fingerprint[16],
                                                         levada_cache_writer **out,
                                                         levada_error         *err);
/* Adds one more block (DATA; refers to it). EINVALID_ARGUMENT where it is for a file, and its
 * columns are not those of the first block. */
LEVADA_MUST_USE levada_status levada_cache_writer_add(levada_cache_writer *writer,
                                                      levada_block *block, levada_error *err);
/* Skips a bad record or file that the pass skipped. */
void levada_cache_writer_skip(levada_cache_writer *writer);
/* Finishes the content, complete; the writer can only be destroyed then. */
LEVADA_MUST_USE levada_status levada_cache_writer_finish(levada_cache_writer *writer,
                                                         levada_cache_store **out,
                                                         levada_error        *err);
/* Drops what was not finished. */
void levada_cache_writer_destroy(levada_cache_writer **writer);

/* Opens the content of a file. ENOT_FOUND if there is no file, EFAILED_PRECONDITION where it is
 * that of another description, EDATA_LOSS where it is damaged or something else. */
LEVADA_MUST_USE levada_status levada_cache_store_open(levada_env *env, const char *path,
                                                      const uint8_t        fingerprint[16],
                                                      levada_cache_store **out,
                                                      levada_error        *err);
levada_cache_store *levada_cache_store_ref(levada_cache_store *store);
/* Converts to what a dataset keeps, whose drop() releases it; and back. */
levada_common        *levada_cache_store_to_common(levada_cache_store *store);
levada_cache_store *levada_cache_store_of_common(levada_common *kept);
void                levada_cache_store_unref(levada_cache_store **store);
int64_t             levada_cache_store_blocks(const levada_cache_store *store);
/* Counts the records of a block; the function below counts those of all blocks. */
int64_t levada_cache_store_rows(const levada_cache_store *store, int64_t block);
int64_t levada_cache_store_records(const levada_cache_store *store);
/* Returns true if that policy allows the bad records that the pass skipped. */
bool levada_cache_store_fits(const levada_cache_store *store, const levada_policy *policy);
/* Returns a block, to be released; of a file, read each time. Returns EDATA_LOSS if its columns are
 * not those that `declared` allows, or not those of the block that was read first, `first`; NULL =
 * this one is. */
LEVADA_MUST_USE levada_status levada_cache_store_get(const levada_cache_store *store, int64_t block,
                                                     const levada_spec *declared,
                                                     const levada_spec *first,
                                                     levada_block **out, levada_error *err);

#endif
