/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes datasets to files: TFRecord, CSV, JSON Lines, tar, lines of text.
 *
 *   tfrecord  the bytes of the only column if its name is `record`, or tf.train.Example messages
 *             (integers, float32, bool as integers, strings, and lists of them; cast float64
 *             first), or, if a column has lists of lists or of arrays, as sequence_example
 *   sequence_example  TFRecords of tf.train.SequenceExample: a ragged or padded column is a feature
 *             list with a step for each item of its outer list; other columns are the context
 *   csv       a header, then a row per record; no lists
 *   jsonl     an object per record; lists of any depth; strings must be UTF-8, numbers finite
 *   tar       a sample per record, named by the column `key` (else by its number); every other
 *             column is a member, as are the pairs of the columns names and values
 *   text_lines  the only column, a string without newlines
 *
 * Files appear when all of them are complete; after a failure the old files are unchanged. Until
 * then, the files of a set are in a directory ".levada-<random>.parts" next to them. They are
 * renamed one after the other, number 0 last, so that a set with file 0 is complete. Then the files
 * of an older set with another number of files are removed, so that "PATH-*" never matches two
 * sets; the result counts them. Parts of a killed process are removed by the next set in the
 * directory.
 *
 * In levada_write the calling thread pulls blocks and writes them, while the threads of the
 * iterator work.
 *
 * Example:
 *
 *     levada_dataset *dataset = NULL;
 *     levada_iter    *it = NULL;
 *
 *     LEVADA_TRY(levada_dataset_parse(NULL, "range:10", &dataset, err));
 *     LEVADA_TRY(levada_iter_open(dataset, NULL, &it, err));
 *     LEVADA_TRY(levada_write(it, "numbers.jsonl", NULL, NULL, err)); // {"value":0}, ...
 *     levada_iter_close(&it);
 *     levada_dataset_unref(&dataset);
 */
#ifndef LEVADA_WRITE_H
#define LEVADA_WRITE_H

#include <levada/iter.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_write_options {
    size_t      struct_size;
    const char
        *format; /* tfrecord, sequence_example, csv, jsonl, tar, text_lines; NULL = by name */
    const char *compression; /* none, gzip, zlib, zstd; NULL = by the name of the file           */
    int32_t     level;       /* compression level; -1 = the default                             */
    /* Limits of a file of a set, in records, and in bytes before compression; 0 = no limit, both 0
     * = one file. "%05d-of-%05d" in the path is replaced by number and count; otherwise
     * "-00000-of-00003" is inserted before the suffixes. */
    int64_t records_per_file, bytes_per_file;
    /* Called after each block on the calling thread; false ends the call with ECANCELLED. */
    bool (*progress)(void *user, int64_t records);
    void *user;
    /* The columns, for the header of a CSV file without records; NULL = not known. Borrowed during
     * the call. levada_write sets it if it is NULL. */
    const levada_spec *spec;
    /* Threads that compress zstd, 0 = CPUs of the process; the bytes are the same for any number.
     * levada_write uses as many as the iterator has. */
    int32_t threads;
} levada_write_options;

#define LEVADA_WRITE_OPTIONS_INIT                                               \
    {                                                                           \
        sizeof(levada_write_options), NULL, NULL, -1, 0, 0, NULL, NULL, NULL, 0 \
    }
/* Sets *all to its defaults, for languages without macros; size is sizeof(levada_write_options). */
LEVADA_API void levada_write_options_init(levada_write_options *all, size_t size);

typedef struct levada_write_result {
    size_t  struct_size;
    int64_t records, bytes; /* bytes before compression */
    int64_t files;
    int64_t removed; /* files of an older set that were removed */
    bool    set;     /* the files are numbered                  */
} levada_write_result;

#define LEVADA_WRITE_RESULT_INIT               \
    {                                          \
        sizeof(levada_write_result), 0, 0, 0, 0, false \
    }
/* Sets *all to its defaults, for languages without macros; size is sizeof(levada_write_result). */
LEVADA_API void levada_write_result_init(levada_write_result *all, size_t size);

/* A writer of blocks. One owner, one thread at a time. */
typedef struct levada_sink levada_sink;

/* Opens a sink; `options` may be NULL. */
LEVADA_API LEVADA_MUST_USE levada_status levada_sink_open(const char                 *path,
                                                          const levada_write_options *options,
                                                          levada_sink               **out,
                                                          levada_error               *err);
/* Writes the records of a block. Returns EINVALID_ARGUMENT if the format cannot store a column or a
 * value; the message contains both. After an error the sink can only be destroyed. */
LEVADA_API LEVADA_MUST_USE levada_status levada_sink_add(levada_sink        *sink,
                                                         const levada_block *block,
                                                         levada_error       *err);
/* Completes the files on the disk under temporary names, so that levada_sink_close, the only call
 * that may follow, just renames them. Several sinks that are all prepared before the first one is
 * closed appear together: what fails before, such as a full disk, changes none of their files. */
LEVADA_API LEVADA_MUST_USE levada_status levada_sink_prepare(levada_sink  *sink,
                                                             levada_error *err);
/* Completes the files, which then appear. `result` may be NULL. Returns EFAILED_PRECONDITION after
 * a failure. */
LEVADA_API LEVADA_MUST_USE levada_status levada_sink_close(levada_sink         *sink,
                                                           levada_write_result *result,
                                                           levada_error        *err);
/* Frees the sink; without a close, no file appears. Accepts NULL and a pointer to NULL. */
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
