/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Openers read the bytes of named files. For authors of other kinds of storage.
 *
 * Every input file is opened, measured and read through an opener. The built-in one reads local
 * files. A plug-in or a program adds another with add_opener (plugin.h): its name is a scheme, and
 * it opens every name that begins with the scheme and "://". Compression, buffers, damage, saved
 * positions and formats work on top of it and need not know which one it is. Patterns (* ? [) are
 * searched in local folders only, so the names of other openers are listed one by one.
 *
 * Threads: an open file has one owner. `open` and `look` may run on several threads at once, and so
 * may `read_at` on one file where `shared` is set.
 * Cancelling: `open` receives a token. A read that may wait longer than a disk polls it while it
 * waits (levada_cancel_requested) and returns ECANCELLED once it is set; so does `open`. An `open`
 * that was interrupted is called again.
 * Errors name what failed; the caller adds the name of the file. A missing file is ENOT_FOUND and a
 * failure of the storage is EUNAVAILABLE. EDATA_LOSS is reserved for damaged content, because error
 * policies skip it, as they skip missing files.
 */
#ifndef LEVADA_OPENER_H
#define LEVADA_OPENER_H

#include <levada/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the iterator of a read was cancelled, or its thread was interrupted (Ctrl-C in Python).
 * Outlives the file that was opened with it. */
typedef struct levada_cancel levada_cancel;
/* Whether it was; NULL never is. Any thread. */
LEVADA_API bool levada_cancel_requested(const levada_cancel *cancel);

typedef struct levada_opener_def {
    size_t      struct_size;
    const char *name; /* the scheme: "mem" opens "mem://shard-0". Lower case in the descriptor, any
                       * case in a name                                                          */
    const char *doc;
    void       *user; /* for `open` and `look`; may be NULL                                      */
    /* On success *out is closed with `close`. Returns OK before the first byte is read. */
    levada_status (*open)(void *user, const char *path, const levada_cancel *cancel, void **out,
                          levada_error *err);
    void (*close)(void *file);
    /* The size now: a file may grow or shrink while it is read. */
    levada_status (*size)(void *file, int64_t *out, levada_error *err);
    /* Fills [data, data + size) with the bytes from `offset` on. *made < size only at the end. */
    levada_status (*read_at)(void *file, int64_t offset, uint8_t *data, int64_t size,
                             int64_t *made, levada_error *err);
    /* A tag that changes with the content (an ETag, a generation), borrowed from the file. States
     * hold it, so that a restore detects another content. NULL: size and first bytes have to do. */
    const char *(*version)(void *file);
    /* The size of a file that is not open; -1 if it cannot be determined. NULL: never can. */
    int64_t (*look)(void *user, const char *path);
    bool shared; /* several threads may call read_at on one open file at the same time */
    /* Name of a file that it can open, for `levada check`: "mem://shard-0". NULL = none. */
    const char *example;
    /* Whether the open file may have been written to since it was opened; asked after its last
     * byte. NULL: it cannot be. */
    bool (*changed)(void *file);
} levada_opener_def;

#ifdef __cplusplus
}
#endif

#endif
