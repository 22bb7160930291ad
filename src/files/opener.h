/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Openers: how the bytes behind a name are reached. The first of the three parts of this folder.
 *
 *   openers     opener.h, bytes.h     a name to bytes: open, read at an offset, decompress
 *   file sets   glob.h, file_marks.h  patterns to names in order; what changed since a save
 *   framing     file_reader.h         bytes to records, with the help of a format
 *
 * An opener is a table of functions. Every input file is opened, measured and read through one, and
 * nothing else in the library makes a system call on input files except the search for patterns.
 * Local files are the opener whose prefix is "": it accepts every name that no other one does. An
 * opener for another kind of storage is another table with a prefix such as "https://".
 * Compression, buffers, marks and formats work on top of it and need not know which one it is.
 *
 * Threads: an open file has one owner. `open` and `look` may run on several threads at once.
 * Cancelling: `open` receives a flag. A read that can wait for longer than a disk does polls the
 * flag while it waits and returns ECANCELLED once it is set. Local reads do not poll it.
 * Errors name what failed. bytes.h adds the name of the file. A failure of the system is never
 * EDATA_LOSS, and a missing file is ENOT_FOUND, because error policies skip both.
 */
#ifndef LEVADA_FILES_OPENER_H
#define LEVADA_FILES_OPENER_H

#include <levada/env.h>

#include <stdatomic.h>

typedef struct levada_opener_def {
    const char *prefix; /* of the names that it opens                              */
    void       *user;   /* for the functions; NULL where they need nothing         */
    /* *out is closed with `close`. `cancelled` may be NULL and outlives the file. */
    levada_status (*open)(void *user, const char *path, const atomic_bool *cancelled, void **out,
                          levada_error *err);
    void (*close)(void *file);
    /* The size now: a file may grow or shrink while it is read. Called often, so it is cheap. */
    levada_status (*size)(void *file, int64_t *out, levada_error *err);
    /* Fills [data, data + size) with the bytes from `offset` on; *made < size only at the end. */
    levada_status (*read_at)(void *file, int64_t offset, uint8_t *data, int64_t size,
                             int64_t *made, levada_error *err);
    /* A tag that changes with the content (an ETag, a generation), borrowed from the file; it
     * becomes a part of the mark that states hold. NULL: size and first bytes have to do. */
    const char *(*version)(void *file);
    /* The size of a file that is not open; -1 where it cannot be determined. */
    int64_t (*look)(void *user, const char *path);
    const struct levada_opener_def *next; /* set by levada_opener_add */
} levada_opener_def;

/* The opener of this name: the newest one with a matching prefix, else that of local files. */
const levada_opener_def *levada_opener_find(const levada_env *env, const char *path);
/* Adds an opener, before any file with its prefix is opened. The environment borrows it. */
void levada_opener_add(levada_env *env, levada_opener_def *opener);

#endif
