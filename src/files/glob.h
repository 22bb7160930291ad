/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File sets: which files a source reads, in which order, and whether they are still the same. The
 * second of the three parts of this folder (opener.h lists them).
 *
 * A source names its files by patterns. levada_files_find expands them once into a table of paths;
 * the number of a file in that table is its shard, and origins and states name files by it.
 * Patterns look into local folders, or ask the opener of a URL (listing.h). A name without * ? [ is
 * taken as it is, so it may belong to any opener. The order in which the shards are read is a
 * permutation that depends on a key alone.
 *
 * A state has to recognize the set later. It holds the number and base names of the files and
 * their sizes (both here), and a mark of each file that was opened (file_marks.h). Sizes are
 * measured late (file_sizes.c), so that opening a large set costs no call for each file.
 * file_damage.c decides what may be skipped when a file is missing or damaged, and file_position.c
 * saves and restores the position inside the set.
 *
 * A table belongs to one owner and does not change; any thread may read it.
 */
#ifndef LEVADA_FILES_GLOB_H
#define LEVADA_FILES_GLOB_H

#include "base/text.h"
#include <levada/env.h>
#include <levada/option.h>
#include <levada/state.h>

typedef struct levada_files {
    char  **path;
    int64_t n, capacity;
} levada_files;

/* Expands the patterns one after the other: first their braces (braces.h; a file whose name has
 * braces is taken as it is), then * ? [a-z], and the word ** for any number of folders, none
 * included. The matches of a pattern are sorted by bytes, and contain no folders. A name without
 * * ? [ is not checked before it is opened; the name - is standard input.
 * ENOT_FOUND: a pattern without a match, or an empty list. EPERMISSION_DENIED and others: a folder
 * that a pattern needs cannot be searched; the error names it. All-zero is a valid empty table. */
LEVADA_MUST_USE levada_status levada_files_find(const levada_env *env,
                                                const levada_texts *patterns, levada_files *out,
                                                levada_error *err);
void levada_files_clear(levada_files *files);
/* Appends the pattern that finds just the file of that name, which was found or is data. */
void levada_files_put_literal(levada_text *text, const char *name, size_t size);

/* Fills a permutation of 0..n-1 that depends on the key alone. */
void levada_files_shuffle(int32_t *order, int64_t n, uint64_t key);

/* Saves the number of files and their base names, and checks that a state was saved with the same
 * ones. EFAILED_PRECONDITION names the first file that differs; of more than 64 files it names the
 * neighbors of that file. */
LEVADA_MUST_USE levada_status levada_files_save(const levada_files *files, levada_state_writer *to,
                                                levada_error *err);
LEVADA_MUST_USE levada_status levada_files_verify(const levada_files *files,
                                                  levada_state_reader *from, levada_error *err);

/* Saves stored sizes (-1 = missing) in the same way, or compares them. */
LEVADA_MUST_USE levada_status levada_files_save_sizes(const levada_files *files,
                                                      const int64_t *sizes,
                                                      levada_state_writer *to, levada_error *err);
LEVADA_MUST_USE levada_status levada_files_verify_sizes(const levada_files  *files,
                                                        const int64_t       *sizes,
                                                        levada_state_reader *from,
                                                        levada_error *err);

#endif
