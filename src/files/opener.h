/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the opener of a name. The first of the three parts of this folder.
 *
 *   openers     opener.h, bytes.h     a name to bytes: open, read at an offset, decompress
 *   file sets   glob.h, file_marks.h  patterns to names in order; what changed since a save
 *   framing     file_reader.h         bytes to records, with the help of a format
 *
 * include/levada/opener.h has the contract. Nothing else in the library makes a system call on
 * input files except the search for patterns. Openers are names of the registry, like filters.
 */
#ifndef LEVADA_FILES_OPENER_H
#define LEVADA_FILES_OPENER_H

#include <levada/env.h>
#include <levada/opener.h>

#include <stdatomic.h>

/* Returns the opener whose scheme the name begins with, else that of local files. Borrowed. */
const levada_opener_def *levada_opener_find(const levada_env *env, const char *path);

/* Returns true if a read at `offset` would wait for the writer of a pipe. The size of a pipe is -1,
 * and a read of it returns what is there: less than `size` also before the end, nothing only
 * there. */
bool levada_opener_waits(const levada_opener_def *opener, void *file, int64_t offset);

/* The token that openers receive. */
struct levada_cancel {
    const atomic_bool *flag; /* set when the iterator is cancelled; NULL = never */
    const levada_env  *env;  /* whose binding may interrupt the thread that asks; NULL = none */
    const atomic_llong *until; /* time at which a request fails; NULL = never */
    const atomic_int *const *hurried; /* leads to what levada_cancel_hurried returns; or NULL */
    struct levada_meter *meter;       /* counts requests; NULL = nobody counts */
};

/* Returns true if the thread that reads has other work than to wait for the writer of a pipe. It
 * waits for a storage, which answers by itself. */
bool levada_cancel_hurried(const levada_cancel *cancel);

#endif
