/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writers write records to a TFRecord file.
 *
 * One owner, one thread. The file appears at its path, complete and synced, when close() succeeds;
 * levada/output.h has the rules for permissions, links and forked children. Until then, and after a
 * failure or a destroy without a close, the old file stays. A pipe or a device is written to
 * directly.
 *
 * Bytes are buffered; flush() passes every record so far to the system, so that the other end of a
 * pipe can read them (also compressed). A disk error is ERESOURCE_EXHAUSTED (full) or EUNAVAILABLE;
 * later calls repeat it.
 *
 * Example:
 *
 *     levada_writer *writer = NULL;
 *
 *     LEVADA_TRY(levada_writer_open(NULL, "notes.tfrecord.gz", "gzip", -1, &writer, err));
 *     LEVADA_TRY(levada_writer_write(writer, "one", 3, err)); // one record
 *     LEVADA_TRY(levada_writer_close(writer, err)); // reports a full disk
 *     levada_writer_destroy(&writer);
 */
#ifndef LEVADA_WRITER_H
#define LEVADA_WRITER_H

#include <levada/env.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Limit of the bytes of a record, for writing and for reading. */
#define LEVADA_RECORD_LIMIT ((1LL << 30) - 16)

typedef struct levada_writer levada_writer;

/* Opens a writer. compression is NULL or "" (none), "gzip", "zlib" or "zstd". level -1 is fast:
 * zstd's default, or ISA-L for gzip and zlib if it is built in, with sizes between zlib's levels 1
 * and 3. Levels 0 to 9 of gzip and zlib use zlib. */
LEVADA_API LEVADA_MUST_USE levada_status levada_writer_open(levada_env *env, const char *path,
                                                            const char *compression, int32_t level,
                                                            levada_writer **out,
                                                            levada_error *err);
/* Writes a record. Returns EFAILED_PRECONDITION after close, and EINVALID_ARGUMENT for a record
 * larger than LEVADA_RECORD_LIMIT, of which nothing is written; the writer stays usable. */
LEVADA_API LEVADA_MUST_USE levada_status levada_writer_write(levada_writer *writer,
                                                             const void *record, size_t size,
                                                             levada_error *err);
/* Writes bytes without a frame, for files of other formats. */
LEVADA_API LEVADA_MUST_USE levada_status levada_writer_append(levada_writer *writer,
                                                              const void *bytes, size_t size,
                                                              levada_error *err);
/* Passes all buffered bytes to the operating system. */
LEVADA_API LEVADA_MUST_USE levada_status levada_writer_flush(levada_writer *writer,
                                                             levada_error *err);
/* Completes the file, which then appears under its name. You may call it again, and must still
 * destroy the writer. */
LEVADA_API LEVADA_MUST_USE levada_status levada_writer_close(levada_writer *writer,
                                                             levada_error *err);
/* Frees the writer. Without a close, the records are dropped and the old file stays. Accepts NULL
 * and a pointer to NULL. */
LEVADA_API void levada_writer_destroy(levada_writer **writer);

#ifdef __cplusplus
}
#endif

#endif
