/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of files by the origins of their records, for sources that the tree does not list: those of
 * pipes that a combiner opens as it goes, which are closed before their records have left the
 * iterator, and those beyond the first LEVADA_RUN_SOURCES.
 *
 * A file is entered when it is opened, so that records cost nothing. LEVADA_FILE_NAMES are known:
 * those that are open, even where they are more, and of the others those that were left last.
 * Records that are saved by value take the names of their files with them.
 */
#ifndef LEVADA_STATE_FILE_NAMES_H
#define LEVADA_STATE_FILE_NAMES_H

#include "state/state_priv.h"
#include "runtime/lock.h"

#define LEVADA_FILE_NAMES (1 << 16) /* some 10 MB, if that many were opened */

/* Empty where all but the lock is zero. */
typedef struct levada_file_names {
    levada_mutex            *lock; /* of the owner of the table; guards it */
    struct levada_file_name *entries;
    int32_t                 *buckets; /* first entry of each, -1 = none; as many as entries */
    int32_t                  n;
    int64_t                  capacity;
    int32_t                  left, oldest, newest; /* those that are not open */
} levada_file_names;

/* Enters a file, whose key is source, pass and shard of an origin. `open`: until it is left. */
LEVADA_MUST_USE levada_status levada_file_names_enter(levada_file_names *names,
                                                      const levada_origin *of, const char *path,
                                                      bool open, levada_error *err);
void levada_file_names_leave(levada_file_names *names, const levada_origin *of);
/* Puts the name of the file into an error, where it is known. Any thread, as all here. */
void levada_file_names_place(levada_file_names *names, const levada_origin *of, levada_error *err);
/* Copies of a name: of an origin (NULL where it is not known), or number i with its origin (END
 * after the last). */
LEVADA_MUST_USE levada_status levada_file_names_copy(levada_file_names *names,
                                                     const levada_origin *of, char **out,
                                                     levada_error *err);
LEVADA_MUST_USE levada_status levada_file_names_at(levada_file_names *names, int32_t i,
                                                   levada_origin *of, char **out,
                                                   levada_error *err);

/* Saves the names of the files of these origins, which it sorts; nothing if there is none. A
 * restore reads them into the table of the reader. */
LEVADA_MUST_USE levada_status levada_file_names_put(levada_file_names *names,
                                                    levada_state_writer *to, const char *key,
                                                    levada_origin *of, int64_t n,
                                                    levada_error *err);
LEVADA_MUST_USE levada_status levada_file_names_get(levada_state_reader *from, const char *key,
                                                    levada_error *err);
/* Forgets all names at the end of a run. */
void levada_file_names_clear(levada_file_names *names);

#endif
