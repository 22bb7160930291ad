/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a reader: their names, the order in which they are read, and their sizes.
 *
 * Sizes are measured late: when a file is opened, or when a total or a state needs the sizes of all
 * files. Opening a set of 20,000 files makes no call for each.
 */
#ifndef LEVADA_FILES_FILE_SET_H
#define LEVADA_FILES_FILE_SET_H

#include "files/glob.h"
#include <levada/env.h>

#include <stdatomic.h>

/* All zeros are an empty set. */
typedef struct levada_file_set {
    levada_files  files;
    int32_t      *order; /* shard read as the i-th */
    atomic_llong *sizes; /* of each shard in storage; LEVADA_FILE_UNMEASURED = not known yet */
    atomic_llong  total; /* of those that are known */
} levada_file_set;

#define LEVADA_FILE_UNMEASURED (-3) /* other values: as returned by an opener's `look` */

/* Reserves order and sizes of the files that were found. */
LEVADA_MUST_USE levada_status levada_file_set_reserve(levada_file_set *set, levada_error *err);
void levada_file_set_clear(levada_file_set *set);
/* Orders the files as they were found, or shuffles them by the key. */
void levada_file_set_arrange(levada_file_set *set, bool shuffle, uint64_t key);

/* Measures the files that are not measured yet; any thread. */
void levada_file_set_measure(levada_file_set *set, const levada_env *env);
/* Notes the size that a file had when it was opened. */
void levada_file_set_resize(levada_file_set *set, int32_t shard, int64_t size);
/* Returns the size of a file; 0 = not known, or missing. */
int64_t levada_file_set_size(const levada_file_set *set, int32_t shard);
/* Saves sizes, or compares them with saved ones, after measuring all files. */
LEVADA_MUST_USE levada_status levada_file_set_save_sizes(levada_file_set     *set,
                                                         const levada_env    *env,
                                                         levada_state_writer *to,
                                                         levada_error        *err);
LEVADA_MUST_USE levada_status levada_file_set_verify_sizes(levada_file_set     *set,
                                                           const levada_env    *env,
                                                           levada_state_reader *from,
                                                           levada_error        *err);

#endif
