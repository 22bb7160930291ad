/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How to write an opener, which reads files from another kind of storage.
 *
 * Every input file is opened, measured and read through an opener. The built-in opener reads local
 * files. A plug-in or a program adds another opener with add_opener (plugin.h): its name is a
 * scheme, and it opens every path that begins with the scheme and "://". Compression, buffers,
 * damage, checkpoints and formats work with every opener. Patterns with * are expanded if the
 * opener has `list`.
 *
 * Threads: an open file has one owner. `open` and `look` may run on several threads at the same
 * time, as may `read_at` on one file if `shared` is set. Cancelling: `open` receives a token.
 * `open` and a read that may wait longer than a disk must poll it while they wait
 * (levada_cancel_requested), and return ECANCELLED once it is set. An `open` that was interrupted
 * is called again. Errors describe the operation that failed; the caller adds the name of the file.
 * Return ENOT_FOUND for a missing file and EUNAVAILABLE for a failure of the storage. EDATA_LOSS is
 * reserved for damaged content, because error policies skip it, as they skip missing files.
 *
 * Example:
 *
 *     // Opens zeros://NAME: a file of 1 KiB of zeros.
 *     static levada_status zeros_open(void *user, const char *path, const levada_cancel *cancel,
 *                                     void **out, levada_error *err)
 *     {
 *         (void)path, (void)cancel, (void)err;
 *         *out = user;
 *         return LEVADA_OK;
 *     }
 *
 *     static void zeros_close(void *file) { (void)file; }
 *
 *     static levada_status zeros_size(void *file, int64_t *out, levada_error *err)
 *     {
 *         (void)file, (void)err;
 *         *out = 1024;
 *         return LEVADA_OK;
 *     }
 *
 *     static levada_status zeros_read_at(void *file, int64_t offset, uint8_t *data, int64_t size,
 *                                        int64_t *made, levada_error *err)
 *     {
 *         (void)file, (void)err;
 *         *made = size < 1024 - offset ? size : 1024 - offset;
 *         memset(data, 0, (size_t)*made);
 *         return LEVADA_OK;
 *     }
 *
 *     static const levada_opener_def zeros_opener = {
 *         .struct_size = sizeof(levada_opener_def),
 *         .name = "zeros",
 *         .doc = "files of zeros",
 *         .open = zeros_open,
 *         .close = zeros_close,
 *         .size = zeros_size,
 *         .read_at = zeros_read_at,
 *         .example = "zeros://any",
 *     };
 */
#ifndef LEVADA_OPENER_H
#define LEVADA_OPENER_H

#include <levada/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A token that is set when the iterator is cancelled or its thread is interrupted (Ctrl-C in
 * Python). It outlives the file that was opened with it. */
typedef struct levada_cancel levada_cancel;
/* Returns true if the token is set; false for NULL. Any thread. */
LEVADA_API bool levada_cancel_requested(const levada_cancel *cancel);

#define LEVADA_FILE_MISSING (-2) /* returned by `look`: the file does not exist */

/* Receives a name that an opener lists; returns another code than OK to end the listing. */
typedef levada_status levada_list_add(void *to, const char *name, levada_error *err);

typedef struct levada_opener_def {
    size_t      struct_size;
    const char *name; /* the scheme: "mem" opens "mem://shard-0". Lower case in the descriptor, any
                       * case in a name                                                          */
    const char *doc;
    void       *user; /* for `open` and `look`; may be NULL */
    /* Opens a file without reading it; `close` closes *out. */
    levada_status (*open)(void *user, const char *path, const levada_cancel *cancel, void **out,
                          levada_error *err);
    void (*close)(void *file);
    /* Returns the present size, because a file may grow or shrink while it is read. */
    levada_status (*size)(void *file, int64_t *out, levada_error *err);
    /* Fills [data, data + size) with the bytes from `offset` on. *made < size only at the end. */
    levada_status (*read_at)(void *file, int64_t offset, uint8_t *data, int64_t size,
                             int64_t *made, levada_error *err);
    /* Returns a tag that changes with the content (an ETag, a generation), borrowed from the file
     * until the next call. Called when the file is opened, and after its last byte, where another
     * tag means that the file was written to while it was read. Checkpoints store it to detect
     * changed files, unless it begins with "W/", as a weak ETag does: copies of such a file have
     * other tags. NULL = files never change while they are read; checkpoints store the size and a
     * hash of the first bytes. */
    const char *(*version)(void *file);
    /* Returns the size of a file that is not open, LEVADA_FILE_MISSING, or -1 if it is unknown (the
     * storage does not answer). A restore does not compare an unknown size. NULL = always
     * unknown. */
    int64_t (*look)(void *user, const char *path);
    bool shared; /* several threads may call read_at on one open file at the same time */
    /* A file that it can open, for `levada check`: "mem://shard-0". NULL = none. */
    const char *example;
    /* Size of a read that suits storage that answers late: 8 MiB for object stores. levada then
     * reads ahead with eight requests of this size at a time, joins and retries requests, and
     * calls open and read_at on threads of its own. 0 = the size does not matter, as for disks. */
    int64_t preferred_bytes;
    /* Calls add(to, name, err) for each file whose name begins with `prefix` ("mem://a/"), in any
     * order, and returns its code if that is not OK. levada chooses those that fit a pattern with
     * *, and repeats the call if it returns EUNAVAILABLE. NULL = names with * are refused. */
    levada_status (*list)(void *user, const char *prefix, const levada_cancel *cancel,
                          levada_list_add *add, void *to, levada_error *err);
} levada_opener_def;

#ifdef __cplusplus
}
#endif

#endif
