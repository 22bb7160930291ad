/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes output files atomically: readers of the path see the old file or the complete new file,
 * never a part.
 *
 * The bytes are written to an unnamed file in the directory of the path, or to a new file
 * ".levada-*.tmp" (O_EXCL) if the file system does not support unnamed files. Commit syncs the
 * file, renames it to the path, and syncs the directory. Without a commit, the old file stays and
 * the new file is removed.
 *
 * - A file that replaces another file inherits its permissions, and its owner and group if that is
 *   allowed, as they are at the commit. A new file has the permissions 0666 minus the umask.
 * - A symbolic link or a directory is rejected (EINVALID_ARGUMENT); pass the path of the file
 *   itself.
 * - A pipe, a terminal or another device is written to directly, without syncing. So are
 *   /dev/stdout, /dev/stderr, /dev/fd/N and /proc/self/fd/N: a duplicate of that descriptor.
 *
 * An output has one owner and is used by one thread at a time. Outputs are independent, even if
 * they have the same path; the last commit wins. In a forked child, write and commit return
 * EFAILED_PRECONDITION, and destroy does not touch the files. Errors are ERESOURCE_EXHAUSTED (disk,
 * quota, size limit), EPERMISSION_DENIED, ENOT_FOUND (directory), EINVALID_ARGUMENT (path), else
 * EUNAVAILABLE. After a failure, later calls return the same error.
 *
 * Example:
 *
 *     levada_output *output = NULL;
 *
 *     LEVADA_TRY(levada_output_open("notes.txt", &output, err));
 *     LEVADA_TRY(levada_output_write(output, "one\n", 4, err));
 *     LEVADA_TRY(levada_output_commit(output, err)); // notes.txt appears, or is replaced
 *     levada_output_destroy(&output);
 */
#ifndef LEVADA_OUTPUT_H
#define LEVADA_OUTPUT_H

#include <levada/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_output levada_output;

/* Opens an output; the caller destroys it. Blocks on a pipe until it has a reader. */
LEVADA_API LEVADA_MUST_USE levada_status levada_output_open(const char *path, levada_output **out,
                                                            levada_error *err);
/* Writes bytes, with at least one system call, so callers should buffer. */
LEVADA_API LEVADA_MUST_USE levada_status levada_output_write(levada_output *output,
                                                             const void *bytes, size_t size,
                                                             levada_error *err);
/* Publishes the file under its path. After a commit, write returns EFAILED_PRECONDITION and commit
 * returns OK. If the directory cannot be synced, the call returns that error although the new file
 * is complete. */
LEVADA_API LEVADA_MUST_USE levada_status levada_output_commit(levada_output *output,
                                                              levada_error *err);
/* Frees the output and drops uncommitted bytes. Accepts NULL and a pointer to NULL. */
LEVADA_API void levada_output_destroy(levada_output **output);

/* Opens, writes and commits a file. */
LEVADA_API LEVADA_MUST_USE levada_status levada_output_save(const char *path, const void *bytes,
                                                            size_t size, levada_error *err);

/* Removes the temporary files of all open outputs, for handlers of signals that end the process.
 * Later opens and commits return ECANCELLED. Async-signal-safe; any thread. */
LEVADA_API void levada_output_drop_all(void);

#ifdef __cplusplus
}
#endif

#endif
