/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datasets to files: TFRecord, CSV, lines of JSON, tar, lines of text.
 *
 *   tfrecord  the bytes of the only column, or else tf.train.Example messages (integers, float32,
 *             bool as integers, strings, and lists of them; float64 is refused: cast it)
 *   csv       a header, then a row per record; no lists
 *   jsonl     an object per record; lists of one and two levels; texts must be UTF-8, and numbers
 *             finite
 *   tar       a sample per record: the column `key` (else the number of the record) names it, and
 *             each other column is a member; the columns names and values are members, too
 *   text_lines  the only column, a string without newlines
 *
 * Files appear when all of them are complete. After a failure the old files are unchanged. Parts of
 * a set are named PATH.part-00000 until then. At the end they are renamed one after the other,
 * number 0 last: where file 0 of a set is, the others are. Then the files of an older set of
 * another number are removed, so that "PATH-*" never mixes two; the result counts them. Parts that
 * a killed process has left are removed by the next set of the same path.
 *
 * levada_write: the calling thread pulls the iterator and writes; other threads work meanwhile.
 */
#ifndef LEVADA_WRITE_H
#define LEVADA_WRITE_H

#include <levada/iter.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_write_options {
    size_t      struct_size;
    const char *format;      /* tfrecord, csv, jsonl, tar, text_lines; NULL = by the name        */
    const char *compression; /* none, gzip, zlib, zstd; NULL = by the name of the file           */
    int32_t     level;       /* of the compression; -1 = its default                             */
    /* A set of files: a new one begins after this number of records, or of bytes before
     * compression; 0 = no limit, and both 0 = one file. A "%05d-of-%05d" in the path is replaced by
     * number and count; without one, "-00000-of-00003" precedes the suffixes. */
    int64_t shard_records, shard_bytes;
    /* Called after each block on the calling thread; false ends the writing with ECANCELLED. */
    bool (*progress)(void *user, int64_t records);
    void *user;
    /* The columns, for a file without records: a CSV file has a header then. NULL = not known.
     * Borrowed during the call. levada_write sets it where it is NULL. */
    const levada_spec *spec;
    /* Threads that compress zstd, 0 = CPUs of the process; the bytes are the same for any number.
     * levada_write uses as many as the iterator has. */
    int32_t threads;
} levada_write_options;

#define LEVADA_WRITE_OPTIONS_INIT                                               \
    {                                                                           \
        sizeof(levada_write_options), NULL, NULL, -1, 0, 0, NULL, NULL, NULL, 0 \
    }
/* The same for languages without macros; size is sizeof(levada_write_options). */
LEVADA_API void levada_write_options_init(levada_write_options *all, size_t size);

typedef struct levada_write_result {
    size_t  struct_size;
    int64_t records, bytes; /* bytes before compression */
    int64_t files;
    int64_t removed; /* files of an older set of another number */
    bool    set;     /* the files are numbered */
} levada_write_result;

#define LEVADA_WRITE_RESULT_INIT               \
    {                                          \
        sizeof(levada_write_result), 0, 0, 0, 0, false \
    }
/* The same for languages without macros; size is sizeof(levada_write_result). */
LEVADA_API void levada_write_result_init(levada_write_result *all, size_t size);

/* Block by block. One owner, one thread at a time. */
typedef struct levada_sink levada_sink;

/* `options` may be NULL. */
LEVADA_API LEVADA_MUST_USE levada_status levada_sink_open(const char                 *path,
                                                          const levada_write_options *options,
                                                          levada_sink               **out,
                                                          levada_error               *err);
/* EINVALID_ARGUMENT: the format cannot hold a column, or a value (the message names both). After an
 * error the sink can only be destroyed. */
LEVADA_API LEVADA_MUST_USE levada_status levada_sink_add(levada_sink        *sink,
                                                         const levada_block *block,
                                                         levada_error       *err);
/* The files appear. `result` may be NULL. EFAILED_PRECONDITION after a failure. */
LEVADA_API LEVADA_MUST_USE levada_status levada_sink_close(levada_sink         *sink,
                                                           levada_write_result *result,
                                                           levada_error        *err);
/* Without a close nothing appears. NULL and a pointer to NULL are fine. */
LEVADA_API void levada_sink_destroy(levada_sink **sink);

/* Reads the iterator to its end and writes every record. `options` and `result` may be NULL. */
LEVADA_API LEVADA_MUST_USE levada_status levada_write(levada_iter *it, const char *path,
                                                      const levada_write_options *options,
                                                      levada_write_result *result,
                                                      levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
