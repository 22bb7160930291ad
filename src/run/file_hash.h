/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files as hashes of their base names, by the origins of their records: the same on every rank and
 * in every run, where numbers of files are not.
 *
 * A table of the files that records came from lately, so that a record costs a comparison. It
 * belongs to one thread, and is empty where all is zero.
 */
#ifndef LEVADA_RUN_FILE_HASH_H
#define LEVADA_RUN_FILE_HASH_H

#include "run/run.h"

enum { LEVADA_FILE_HASHES = 64 };

typedef struct levada_file_hash {
    levada_origin of; /* of a record of the file */
    uint64_t      hash;
    bool          known;
} levada_file_hash;

typedef struct levada_file_hashes {
    levada_file_hash files[LEVADA_FILE_HASHES]; /* by source, pass and shard */
} levada_file_hashes;

/* Sets *out to the hash of the file of a record, 0 if it has none. */
LEVADA_MUST_USE levada_status levada_file_hash_of(levada_file_hashes *known, levada_run *run,
                                                  const levada_origin *of, uint64_t *out,
                                                  levada_error *err);

#endif
