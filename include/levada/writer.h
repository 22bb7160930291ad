/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writers: records out to a TFRecord file.
 *
 * One owner, one thread. The file appears at its path when close() succeeds: complete and synced
 * (levada/output.h has the rules, also for permissions, links and forked children). Until then, and
 * where a call failed or the writer is destroyed without a close, the path stays as it was. A pipe
 * or a device is written to directly.
 *
 * Bytes are buffered; flush() passes every record so far to the system, which makes them readable
 * at the other end of a pipe (also compressed). An error of the disk is ERESOURCE_EXHAUSTED (full)
 * or EUNAVAILABLE, is reported by the call that met it and repeated by later ones.
 */
#ifndef LEVADA_WRITER_H
#define LEVADA_WRITER_H

#include <levada/env.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of the longest record that is written, as of the longest that can be read. */
#define LEVADA_RECORD_LIMIT ((1LL << 30) - 16)

typedef struct levada_writer levada_writer;

/* compression: NULL or "" = none, "gzip", "zlib", "zstd". level -1 = fast: zstd's
 * default, and for gzip and zlib ISA-L if it is built in, to a size between those of zlib's levels
 * 1 and 3. zlib compresses gzip and zlib at levels 0 to 9. */
LEVADA_API LEVADA_MUST_USE levada_status levada_writer_open(levada_env *env, const char *path,
                                                            const char *compression, int32_t level,
                                                            levada_writer **out,
                                                            levada_error *err);
/* EFAILED_PRECONDITION after close. EINVALID_ARGUMENT for a record beyond LEVADA_RECORD_LIMIT:
 * nothing of it is written, and the writer stays usable. */
LEVADA_API LEVADA_MUST_USE levada_status levada_writer_write(levada_writer *writer,
                                                             const void *record, size_t size,
                                                             levada_error *err);
/* Bytes without a frame: for files of other formats. */
LEVADA_API LEVADA_MUST_USE levada_status levada_writer_append(levada_writer *writer,
                                                              const void *bytes, size_t size,
                                                              levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_writer_flush(levada_writer *writer,
                                                             levada_error *err);
/* Finishes the file, which appears under its name; calling it again is fine. The writer still
 * has to be destroyed. */
LEVADA_API LEVADA_MUST_USE levada_status levada_writer_close(levada_writer *writer,
                                                             levada_error *err);
/* Frees it. Without a close the records are dropped, and the path stays as it was. NULL and a
 * pointer to NULL are fine. */
LEVADA_API void levada_writer_destroy(levada_writer **writer);

#ifdef __cplusplus
}
#endif

#endif
