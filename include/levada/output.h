/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output files: readers of the path see the old file or the complete new one, never a part.
 *
 * The bytes go to a nameless file in the folder of the path. Where the file system does not support
 * nameless files, they go to a new file ".levada-*.tmp" there (O_EXCL). Commit syncs the file,
 * renames it to the path, and syncs the folder. Without a commit the old file stays and nothing of
 * the new one remains.
 *
 * - A file that replaces another one inherits its permissions, and its owner and group where that
 *   is allowed, as they are at the commit. A new file has the permissions 0666 minus the umask.
 * - A symbolic link is refused (EINVALID_ARGUMENT), as is a folder: name the file itself.
 * - A pipe, a terminal or another device is written to directly, without syncing. So are
 *   /dev/stdout, /dev/stderr, /dev/fd/N and /proc/self/fd/N: a duplicate of that descriptor.
 *
 * One owner, one thread at a time. Different outputs are independent, even of one path: the last
 * commit wins. In a forked child, write and commit return EFAILED_PRECONDITION, and destroy does
 * not touch the files. Errors: ERESOURCE_EXHAUSTED (disk, quota, size limit), EPERMISSION_DENIED,
 * ENOT_FOUND (folder), EINVALID_ARGUMENT (path), else EUNAVAILABLE. After a failure, later calls
 * return the same error.
 */
#ifndef LEVADA_OUTPUT_H
#define LEVADA_OUTPUT_H

#include <levada/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_output levada_output;

/* *out is owned by the caller: destroy it. Blocks on a pipe until it has a reader. */
LEVADA_API LEVADA_MUST_USE levada_status levada_output_open(const char *path, levada_output **out,
                                                            levada_error *err);
/* Makes at least one system call per call: callers should buffer. */
LEVADA_API LEVADA_MUST_USE levada_status levada_output_write(levada_output *output,
                                                             const void *bytes, size_t size,
                                                             levada_error *err);
/* After a commit, write returns EFAILED_PRECONDITION and commit OK. An error of syncing the folder
 * is returned too; the new file is complete then. */
LEVADA_API LEVADA_MUST_USE levada_status levada_output_commit(levada_output *output,
                                                              levada_error *err);
/* Frees the output; drops what was not committed. NULL and a pointer to NULL are fine. */
LEVADA_API void levada_output_destroy(levada_output **output);

/* Opens, writes and commits. */
LEVADA_API LEVADA_MUST_USE levada_status levada_output_save(const char *path, const void *bytes,
                                                            size_t size, levada_error *err);

/* For handlers of signals that end the process: removes the temporary files of all open outputs.
 * Later opens and commits return ECANCELLED. Async-signal-safe, any thread. */
LEVADA_API void levada_output_drop_all(void);

#ifdef __cplusplus
}
#endif

#endif
