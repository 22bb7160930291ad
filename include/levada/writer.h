/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writers: records out to a TFRecord file.
 *
 * One owner, one thread. Bytes are buffered; flush() makes every record so far readable (also of a
 * compressed file); close() finishes the file. An error of the disk is ERESOURCE_EXHAUSTED (full)
 * or EUNAVAILABLE, is reported by the call that met it and repeated by later ones.
 */
#ifndef LEVADA_WRITER_H
#define LEVADA_WRITER_H

#include <levada/env.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_writer levada_writer;

/* compression: NULL or "" = none, "gzip", "zlib", "zstd"; level -1 = the library's default. */
LEVADA_API LEVADA_MUST_USE levada_status levada_writer_open(levada_env *env, const char *path,
                                                            const char *compression, int32_t level,
                                                            levada_writer **out,
                                                            levada_error *err);
/* EFAILED_PRECONDITION after close. */
LEVADA_API LEVADA_MUST_USE levada_status levada_writer_write(levada_writer *writer,
                                                             const void *record, size_t size,
                                                             levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_writer_flush(levada_writer *writer,
                                                             levada_error *err);
/* Finishes the file; calling it again is fine. The writer still has to be destroyed. */
LEVADA_API LEVADA_MUST_USE levada_status levada_writer_close(levada_writer *writer,
                                                             levada_error *err);
/* Frees it; a file that was not closed stays unfinished. */
LEVADA_API void levada_writer_destroy(levada_writer **writer);

#ifdef __cplusplus
}
#endif

#endif
