/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inspects files: reports their content and damage, and writes repaired copies and indexes.
 *
 * Each function reads one file on the caller's thread; verify and info read all of it. The format
 * is taken from the `source` argument, else from the file name, else from the content. If the
 * content looks like another format, both are reported. A file that matches no format is read as
 * TFRecord, and `guessed` is set. The compression is found by content. Damage is not an error of
 * the call: it is counted and reported, as is a record beyond max_record_bytes. A failure of the
 * system is an error.
 *
 * Example:
 *
 *     levada_verify_result result = LEVADA_VERIFY_RESULT_INIT;
 *
 *     LEVADA_TRY(levada_sample_write(NULL, ".", err));
 *     LEVADA_TRY(levada_inspect_verify(NULL, "train-0.tfrecord.gz", NULL, &result, err));
 *     printf("%lld good records, %lld bad\n", (long long)result.good, (long long)result.bad);
 */
#ifndef LEVADA_INSPECT_H
#define LEVADA_INSPECT_H

#include <levada/dataset.h>
#include <levada/env.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A damaged part of a file. Borrowed during the call that reports it. */
typedef struct levada_damage {
    int64_t     record; /* number of the bad record in the file, counting bad records             */
    int64_t     offset; /* position of the bad record in the decompressed file                    */
    int64_t     next;   /* position of the next record, -1 = nothing can be read after the damage */
    const char *text;   /* "payload checksum 0x1d3a77f0, expected 0x9b02c4e1"                     */
} levada_damage;

/* Called after each block that verify or info has read: records and bytes of the file so far. */
typedef void(levada_inspect_progress)(void *user, int64_t records, int64_t bytes);

typedef struct levada_verify_options {
    size_t      struct_size;
    const char *compression; /* NULL = by content */
    /* Path of a repaired copy, which receives every good record, compressed like the original; NULL
     * = none. The file is written atomically (levada/output.h). EINVALID_ARGUMENT if it is the
     * original, also under another name. TFRecord files only. */
    const char *repair;
    void (*damage)(void *user, const levada_damage *damage); /* may be NULL */
    void       *user;
    const char *source; /* "tfrecord", "text_lines", ...; NULL = by name, else by content */
    /* Number of good records that an earlier call counted, -1 = not known. If the repair finds
     * another number, the call returns EUNAVAILABLE and writes nothing. */
    int64_t expect_good;
    levada_inspect_progress *progress; /* NULL = none */
    int64_t max_record_bytes; /* as in levada_iter_options */
} levada_verify_options;

#define LEVADA_VERIFY_OPTIONS_INIT                                               \
    {                                                                            \
        sizeof(levada_verify_options), NULL, NULL, NULL, NULL, NULL, -1, NULL, 0 \
    }
/* Sets *all to its defaults, for languages without macros; size is
 * sizeof(levada_verify_options). */
LEVADA_API void levada_verify_options_init(levada_verify_options *all, size_t size);

typedef struct levada_verify_result {
    size_t  struct_size;
    int64_t good, bad;      /* records; a damaged length can hide several and counts as one */
    int64_t damaged_bytes;  /* bytes outside of good records                                */
    int64_t size, raw_size; /* bytes of the file, and decompressed                          */
    char    format[48];     /* "tfrecord"                                                   */
    char    compression[48]; /* "gzip", "" = not compressed */
    char    content[48]; /* format of the first bytes if it differs from the name, else "" */
    bool    guessed;    /* name and content match no format: read as tfrecord */
    bool    repairable; /* levada_verify_options.repair can write this format */
} levada_verify_result;

#define LEVADA_VERIFY_RESULT_INIT                                             \
    {                                                                         \
        sizeof(levada_verify_result), 0, 0, 0, 0, 0, "", "", "", false, false \
    }
/* Sets *all to its defaults, for languages without macros; size is sizeof(levada_verify_result). */
LEVADA_API void levada_verify_result_init(levada_verify_result *all, size_t size);

/* Verifies a file; `options` may be NULL. Returns LEVADA_OK also for a damaged file: check
 * result->bad. */
LEVADA_API LEVADA_MUST_USE levada_status levada_inspect_verify(levada_env *env, const char *path,
                                                               const levada_verify_options *options,
                                                               levada_verify_result *result,
                                                               levada_error *err);

/* The source, the compression and the encoding with which a file is read. */
typedef struct levada_file_kind {
    size_t struct_size;
    char   source[48];      /* "tfrecord"                                                     */
    char   content[48];     /* format of the first bytes if it differs from the name, else "" */
    char   compression[48]; /* "gzip", "" = not compressed                                    */
    bool   guessed; /* name and content match no format: read as tfrecord */
    char   encoding[16]; /* "utf-16" for text with its byte order mark, else ""               */
} levada_file_kind;

#define LEVADA_FILE_KIND_INIT                       \
    {                                               \
        sizeof(levada_file_kind), "", "", "", false, "" \
    }
/* Sets *all to its defaults, for languages without macros; size is sizeof(levada_file_kind). */
LEVADA_API void levada_file_kind_init(levada_file_kind *all, size_t size);

/* Detects the format and the compression of a file from its name and its first bytes; the name has
 * priority, unless a checksum proves another format: then `content` is that format, too. If the
 * name is unknown and the first bytes are damaged, searches them for a record.
 * Returns EINVALID_ARGUMENT if `source` is not a format. */
LEVADA_API LEVADA_MUST_USE levada_status levada_inspect_kind(levada_env *env, const char *path,
                                                             const char       *source,
                                                             levada_file_kind *out,
                                                             levada_error     *err);

/* Detects the format and the compression from the name alone: *format is "tfrecord", "text_lines"
 * or another format, and *compression the name of a filter; NULL if the name does not show them.
 * Suffixes may be followed by "-00000-of-00012". The strings are valid as long as env. */
LEVADA_API void levada_inspect_name(levada_env *env, const char *path, const char **format,
                                    const char **compression);

/* Describes the content of a file as one JSON object; free it with levada_string_free. `options`
 * may be NULL; repair, damage and expect_good are not used.
 * {"path","format","content" (only where it is another format),
 *  "guessed":true (only where neither name nor content names a format),"compression",
 *  "size","raw_size","records","bad_records","damaged_bytes",
 *  "payload":"Example" | "SequenceExample" | "text" | "other",
 *  "bytes":Q, "features":[F], "sequences":[F], "lengths":{"name","from","to",
 *  "scale":"linear" | "logarithmic","counts":[up to 16]}}
 * Q = {"min","median","p90","max","mean"}, of payload sizes in bytes. F = {"name","kind":"int64" |
 * "float" | "bytes" | "mixed" | "none","records","values":Q} with "values" the number of values in
 * a record, and in sequences in a step, where there is "steps":Q too. "features" of a
 * SequenceExample are its context. Quantiles are exact up to 512, then within 0.4 %. "lengths" is a
 * histogram of the feature with the most values or steps in a record, null if there is none. */
LEVADA_API LEVADA_MUST_USE levada_status levada_inspect_info(levada_env *env, const char *path,
                                                             const levada_verify_options *options,
                                                             char **out, levada_error *err);

/* -- indexes */

typedef struct levada_index_options {
    size_t struct_size;
    /* A format as in levada_verify_options, which may have options after a colon:
     * "fixed_length:record_bytes=8"; NULL = by name, else by content */
    const char *source;
    /* The names of up to 8 fields, separated by commas: the index also has the length of each in
     * each record, as bucket_by_sequence_length measures it. Another pass reads the file, and 4
     * bytes per record and field are in memory. NULL = none */
    const char *fields;
    /* The stages that produce these fields, as in a pipeline: "parse_example:@spec.json". Each must
     * be one to one. NULL = none */
    const char *stages;
    int64_t     max_record_bytes; /* as in levada_iter_options */
} levada_index_options;

#define LEVADA_INDEX_OPTIONS_INIT                           \
    {                                                       \
        sizeof(levada_index_options), NULL, NULL, NULL, 0   \
    }
/* Sets *all to its defaults, for languages without macros; size is
 * sizeof(levada_index_options). */
LEVADA_API void levada_index_options_init(levada_index_options *all, size_t size);

/* Writes the index of a file, `path` with ".lvindex" after it: the position of each record. With it
 * a source reads ranges of records, and all records in random order (options index, records, part
 * and shuffle_records of file formats). The index appears when it is complete, and replaces an
 * older one. `options` may be NULL. *records (may be NULL) receives their number. Returns
 * EDATA_LOSS if the file is damaged or a record is longer than max_record_bytes, EUNIMPLEMENTED if
 * the file is compressed, because single records cannot be read then, or for a length of 2^32 or
 * more, a name of 128 bytes or more, or too many fields; EINVALID_ARGUMENT if a field does not
 * exist. */
LEVADA_API LEVADA_MUST_USE levada_status levada_inspect_index(levada_env *env, const char *path,
                                                              const levada_index_options *options,
                                                              int64_t      *records,
                                                              levada_error *err);
/* Checks all pages and entries of the index, and compares the checksum of the file with the
 * checksum in the index. Returns EFAILED_PRECONDITION if the file has changed, ENOT_FOUND if it has
 * no index, EDATA_LOSS if the index is damaged. */
LEVADA_API LEVADA_MUST_USE levada_status levada_inspect_index_check(levada_env *env,
                                                                    const char *path,
                                                                    int64_t    *records,
                                                                    levada_error *err);

/* Receives the lengths of n consecutive records. An error ends the reading. */
typedef levada_status(levada_lengths_each)(void *user, const int64_t *lengths, int64_t n,
                                           levada_error *err);
/* Passes the lengths of `field` in all records of a dataset to `each`, from the index and without
 * reading the files. If the index does not contain these lengths, *found is false and `each` is not
 * called. The dataset must consist of the source, with index=true and in file order, and the stages
 * that were indexed; prefetch may follow. Returns EFAILED_PRECONDITION if a file has changed since
 * it was indexed. */
LEVADA_API LEVADA_MUST_USE levada_status levada_inspect_lengths(const levada_dataset *dataset,
                                                                const char           *field,
                                                                levada_lengths_each  *each,
                                                                void *user, bool *found,
                                                                levada_error *err);

/* Counts the records of a dataset from the index of its source. The dataset must be a file format
 * with index=true, followed only by stages that return one record for each record: decoders, map,
 * cast, select, rename, prefetch and similar. Returns EFAILED_PRECONDITION for other datasets. */
LEVADA_API LEVADA_MUST_USE levada_status levada_inspect_count(const levada_dataset *dataset,
                                                              int64_t *records, levada_error *err);
/* Returns record `number` (from 0, in file order, even with shuffle_records) of a dataset as in
 * levada_inspect_count, as a block of one row that the caller owns. The dataset caches its reader
 * between calls; each call opens the file and its index again to detect changes. Returns
 * EOUT_OF_RANGE if the record does not exist. */
LEVADA_API LEVADA_MUST_USE levada_status levada_inspect_record(const levada_dataset *dataset,
                                                               int64_t number, levada_block **out,
                                                               levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
