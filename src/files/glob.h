/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files by name: patterns to a table of paths, and the order in which they are read.
 */
#ifndef LEVADA_FILES_GLOB_H
#define LEVADA_FILES_GLOB_H

#include <levada/option.h>
#include <levada/state.h>

typedef struct levada_files {
    char  **path;
    int64_t n;
} levada_files;

/* The patterns one after the other; what a pattern (* ? [a-z]) finds is sorted by bytes and has no
 * folders in it. A name without * ? [ is taken as it is, and looked for when it is opened. A
 * pattern that finds nothing, or a list without one, is ENOT_FOUND; one that would have to look
 * into a folder that can't be looked into is an error with its name (EPERMISSION_DENIED where that
 * is why). All-zero is a valid empty table. */
LEVADA_MUST_USE levada_status levada_files_find(const levada_texts *patterns, levada_files *out,
                                                levada_error *err);
void levada_files_clear(levada_files *files);

/* A permutation of 0..n-1 that depends on the key alone. */
void levada_files_shuffle(int32_t *order, int64_t n, uint64_t key);

/* How many they are and what they are called, without folders; and whether a state was saved with
 * the same ones: EFAILED_PRECONDITION names the first that was not there, or where they are more
 * than 64 some neighbours of which one was not. */
LEVADA_MUST_USE levada_status levada_files_save(const levada_files *files, levada_state_writer *to,
                                                levada_error *err);
LEVADA_MUST_USE levada_status levada_files_verify(const levada_files *files,
                                                  levada_state_reader *from, levada_error *err);

/* The same for sizes on disk (-1 = not there). */
LEVADA_MUST_USE levada_status levada_files_save_sizes(const levada_files *files,
                                                      const int64_t *sizes,
                                                      levada_state_writer *to, levada_error *err);
LEVADA_MUST_USE levada_status levada_files_verify_sizes(const levada_files  *files,
                                                        const int64_t       *sizes,
                                                        levada_state_reader *from,
                                                        levada_error *err);

#endif
