/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output files: readers of the path see the old file or the complete new one, never a part.
 *
 * The bytes go to a file without a name in the folder of the path; where the file system has none,
 * to ".levada-*.tmp" there, created anew (O_EXCL). Commit syncs it, gives it its name, and syncs
 * the folder. Without a commit the old file stays and nothing of the new one remains.
 *
 * - A file that is replaced hands down its permissions, and its owner and group where that is
 *   allowed. A new file gets 0666 less the umask.
 * - A symbolic link is refused (EINVALID_ARGUMENT), as is a folder: name the file itself.
 * - A pipe, a terminal or another device is written to directly, without syncing. So are
 *   /dev/stdout, /dev/stderr, /dev/fd/N and /proc/self/fd/N: a duplicate of that descriptor.
 *
 * One owner, one thread at a time; different outputs are independent, also of one path: the last
 * commit wins. In another process (a forked child) write and commit are EFAILED_PRECONDITION, and
 * destroy leaves the files alone. Errors: ERESOURCE_EXHAUSTED (disk, quota, size limit),
 * EPERMISSION_DENIED, ENOT_FOUND (folder), EINVALID_ARGUMENT (path), else EUNAVAILABLE. A call that
 * failed is repeated by later ones.
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
/* One call of the system for each call, or several: callers buffer. */
LEVADA_API LEVADA_MUST_USE levada_status levada_output_write(levada_output *output,
                                                             const void *bytes, size_t size,
                                                             levada_error *err);
/* After it write is EFAILED_PRECONDITION, and commit OK. An error after the file got its name
 * (syncing the folder) is returned, too: the new file is complete then. */
LEVADA_API LEVADA_MUST_USE levada_status levada_output_commit(levada_output *output,
                                                              levada_error *err);
/* Frees it; what was not committed is dropped. NULL and a pointer to NULL are fine. */
LEVADA_API void levada_output_destroy(levada_output **output);

/* Opens, writes and commits. */
LEVADA_API LEVADA_MUST_USE levada_status levada_output_save(const char *path, const void *bytes,
                                                            size_t size, levada_error *err);

/* For handlers of signals that end the process: removes the temporary files of all outputs that
 * are open in it. Later opens and commits are ECANCELLED. Async-signal-safe, any thread. */
LEVADA_API void levada_output_drop_all(void);

#ifdef __cplusplus
}
#endif

#endif
