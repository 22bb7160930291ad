/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks of all files that a run has opened: how a restore recognizes a file that has changed.
 *
 * A snapshot may be older than the opening of a file whose records were delivered since. So the
 * marks belong to the run, not to snapshots, and each saved state holds all of them. Sources of the
 * tree own their marks and know files by number, so that folders may move. Pipes that a combiner
 * opens come and go, and their files are known by path.
 *
 * A file that is another one when a later pass opens it has two marks. The older mark is saved as
 * long as the state begins before the change (levada_state_writer.since).
 */
#ifndef LEVADA_FILES_FILE_MARKS_H
#define LEVADA_FILES_FILE_MARKS_H

#include "files/bytes.h"
#include "state/state_priv.h"

#include <stdatomic.h>

struct levada_file_mark;

/* All-zero is a valid empty table. A run guards its table with a lock. */
typedef struct levada_file_marks {
    struct levada_file_mark *entries;
    int32_t                 *buckets; /* first entry of each, -1 = none */
    int64_t                  nbuckets, capacity;
    int32_t                  n;
    int64_t                  changes; /* of files that were known already */
} levada_file_marks;

/* A file: number `shard` of its owner; where that is NULL, the file at `path`. */
typedef struct levada_file_key {
    const void *owner;
    int32_t     shard;
    const char *path;
} levada_file_key;

/* Notes that the file was opened, and what it was then. */
LEVADA_MUST_USE levada_status levada_file_marks_enter(levada_file_marks       *marks,
                                                      const levada_file_key   *key,
                                                      const levada_bytes_mark *mark,
                                                      levada_error *err);
/* Sets *out to what the file was when it was opened last; returns false if it was not opened. */
bool levada_file_marks_find(const levada_file_marks *marks, const levada_file_key *key,
                            levada_bytes_mark *out);
bool levada_bytes_mark_equal(const levada_bytes_mark *a, const levada_bytes_mark *b);
void levada_file_marks_clear(levada_file_marks *marks);

/* The marks of one owner, NULL: of files by path. `marks`, and then `mark.paths`, are the keys. */
#define LEVADA_FILE_MARK_PARTS 3 /* numbers of a saved mark: shard, size, both checksums */
levada_bytes_mark levada_file_mark_read(const int64_t parts[LEVADA_FILE_MARK_PARTS]);
LEVADA_MUST_USE levada_status levada_file_marks_put(const levada_file_marks *marks,
                                                    const void *owner, levada_state_writer *to,
                                                    levada_error *err);
/* Returns EFAILED_PRECONDITION with the name of the file unless the file at `path` is what the mark
 * says. */
LEVADA_MUST_USE levada_status levada_file_marks_check(const levada_env *env, const char *path,
                                                      const levada_bytes_mark *mark,
                                                      levada_error *err);
LEVADA_MUST_USE levada_status levada_file_marks_changed(const char              *path,
                                                        const levada_bytes_mark *now,
                                                        const levada_bytes_mark *was,
                                                        levada_error *err);
/* Checks the marks of files by path that the state holds, and adds them to a table that nobody
 * else knows yet. */
LEVADA_MUST_USE levada_status levada_file_marks_get_paths(levada_file_marks   *marks,
                                                          const levada_env    *env,
                                                          const atomic_bool   *cancelled,
                                                          levada_state_reader *from,
                                                          levada_error *err);

#endif
