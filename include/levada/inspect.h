/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inspects files: reports content and damage, and writes the good records.
 *
 * Each function reads one file on the caller's thread; verify and info read all of it. The format
 * is that of the `source` argument, else that of the file's name, else that of its content. Where
 * the content looks like another format, both are reported. A file that matches no format is read
 * as TFRecord, and that guess is reported. The compression is found by content.
 * Damage is not an error of the call: it is counted and reported, and so is a record beyond the
 * 1 GiB that levada reads. A failure of the system is an error.
 */
#ifndef LEVADA_INSPECT_H
#define LEVADA_INSPECT_H

#include <levada/dataset.h>
#include <levada/env.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One place of damage. Borrowed during the call that reports it. */
typedef struct levada_damage {
    int64_t     record; /* number of the bad record in the file; bad ones count              */
    int64_t     offset; /* where it begins in the decompressed file                          */
    int64_t     next;   /* where the next record begins, -1: nothing can be read after it    */
    const char *text;   /* "payload checksum 0x1d3a77f0, expected 0x9b02c4e1"                 */
} levada_damage;

/* Called after each block that verify or info has read: records and bytes of the file so far. */
typedef void(levada_inspect_progress)(void *user, int64_t records, int64_t bytes);

typedef struct levada_verify_options {
    size_t      struct_size;
    const char *compression; /* NULL = by content */
    /* File that gets every good record, compressed as the original; NULL = none. It appears when it
     * is complete (levada/output.h). EINVALID_ARGUMENT where it is the original, also by another
     * name. TFRecord files only. */
    const char *repair;
    void (*damage)(void *user, const levada_damage *damage); /* may be NULL */
    void       *user;
    const char *source; /* "tfrecord", "text_lines", ...; NULL = by name, else by content */
    /* Good records that an earlier pass counted, -1 = not known. Where the repair finds another
     * number it is EUNAVAILABLE, and nothing is written. */
    int64_t expect_good;
    levada_inspect_progress *progress; /* NULL = none */
} levada_verify_options;

#define LEVADA_VERIFY_OPTIONS_INIT                                            \
    {                                                                         \
        sizeof(levada_verify_options), NULL, NULL, NULL, NULL, NULL, -1, NULL \
    }
/* The same for languages without macros; size is sizeof(levada_verify_options). */
LEVADA_API void levada_verify_options_init(levada_verify_options *all, size_t size);

typedef struct levada_verify_result {
    size_t  struct_size;
    int64_t good, bad;      /* records; a lost length hides how many it cost and counts as one */
    int64_t damaged_bytes;  /* that belong to no good record                                   */
    int64_t size, raw_size; /* of the file, and decompressed                                   */
    char    format[48];     /* "tfrecord"                                                      */
    char    compression[48]; /* "gzip", "" if there is none                                 */
    char    content[48]; /* format that the first bytes look like where it is another one; "" */
    bool    guessed;    /* neither name nor content names a format: read as tfrecord           */
    bool    repairable; /* not guessed, and levada_verify_options.repair can write this format */
} levada_verify_result;

#define LEVADA_VERIFY_RESULT_INIT                                             \
    {                                                                         \
        sizeof(levada_verify_result), 0, 0, 0, 0, 0, "", "", "", false, false \
    }
/* The same for languages without macros; size is sizeof(levada_verify_result). */
LEVADA_API void levada_verify_result_init(levada_verify_result *all, size_t size);

/* `options` may be NULL. LEVADA_OK also for a damaged file: see result->bad. */
LEVADA_API LEVADA_MUST_USE levada_status levada_inspect_verify(levada_env *env, const char *path,
                                                               const levada_verify_options *options,
                                                               levada_verify_result *result,
                                                               levada_error *err);

/* How a file is read: by which source, and with which compression. */
typedef struct levada_file_kind {
    size_t struct_size;
    char   source[48];      /* "tfrecord"                                                        */
    char   content[48];     /* format that the first bytes look like where it is another one; "" */
    char   compression[48]; /* "gzip", "" if there is none                                    */
    bool   guessed; /* neither name nor content names a format: read as tfrecord                 */
} levada_file_kind;

#define LEVADA_FILE_KIND_INIT                       \
    {                                               \
        sizeof(levada_file_kind), "", "", "", false \
    }
/* The same for languages without macros; size is sizeof(levada_file_kind). */
LEVADA_API void levada_file_kind_init(levada_file_kind *all, size_t size);

/* Reads the first bytes only. A name decides before the content does; damaged first bytes of files
 * whose name says nothing are searched for a record. EINVALID_ARGUMENT where `source` is not a
 * format. */
LEVADA_API LEVADA_MUST_USE levada_status levada_inspect_kind(levada_env *env, const char *path,
                                                             const char       *source,
                                                             levada_file_kind *out,
                                                             levada_error     *err);

/* What the name of a file suggests, without looking at the file: *format is "tfrecord",
 * "text_lines" or another format, and *compression is the name of a filter. NULL where the name
 * says nothing. Suffixes may be followed by "-00000-of-00012". The strings live as long as env. */
LEVADA_API void levada_inspect_name(levada_env *env, const char *path, const char **format,
                                    const char **compression);

/* `source`: as in levada_verify_options. `progress` (NULL = none) receives `user`. One JSON object;
 * free it with levada_string_free:
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
                                                             const char *source,
                                                             levada_inspect_progress *progress,
                                                             void *user, char **out,
                                                             levada_error *err);

/* -- indexes */

/* Writes the index of a file, `path` with ".lvindex" after it: the position of each record. With it
 * a source reads ranges of records, and all records in random order (options index, records, part
 * and shuffle_records of file formats). The index appears when it is complete, and replaces an
 * older one. `source`: a format as in levada_verify_options; NULL = by name, else by content. It
 * may have options after a colon: "fixed_length:record_bytes=8". *records (may be NULL) receives
 * their number. EDATA_LOSS: the file is damaged. EUNIMPLEMENTED: it is compressed, so no record can
 * be read alone. */
LEVADA_API LEVADA_MUST_USE levada_status levada_inspect_index(levada_env *env, const char *path,
                                                              const char   *source,
                                                              int64_t      *records,
                                                              levada_error *err);
/* Checks all pages and entries of the index, and reads the file and compares its checksum with that
 * in the index. EFAILED_PRECONDITION: the file has changed; ENOT_FOUND: it has no index;
 * EDATA_LOSS: the index is damaged. */
LEVADA_API LEVADA_MUST_USE levada_status levada_inspect_index_check(levada_env *env,
                                                                    const char *path,
                                                                    int64_t    *records,
                                                                    levada_error *err);

/* The same index with the length of each of `fields` in each record, as bucket_by_sequence_length
 * measures it: the names of up to 8 fields, separated by commas. `stages`: what makes these fields
 * of a record of the file, as in a description: "parse_example:@spec.json"; NULL = nothing. Each
 * must make one record of one record. Another pass reads the file, and 4 bytes per record and field
 * are in memory. EINVALID_ARGUMENT: there is no such field; EUNIMPLEMENTED: a length of 2^32 or
 * more, a name of 128 bytes or more, or too many fields. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_inspect_index_lengths(levada_env *env, const char *path, const char *source,
                             const char *stages, const char *fields, int64_t *records,
                             levada_error *err);

/* Receives the lengths of n consecutive records. An error ends the reading. */
typedef levada_status(levada_lengths_each)(void *user, const int64_t *lengths, int64_t n,
                                           levada_error *err);
/* The lengths of `field` in all records of a dataset, from the index of its files and without
 * reading them. *found is false, and nothing is called, where the index does not have them: the
 * dataset must be the source and the stages that were indexed, with index=true, in the order of the
 * files; prefetch may follow. EFAILED_PRECONDITION: a file has changed since it was indexed. */
LEVADA_API LEVADA_MUST_USE levada_status levada_inspect_lengths(const levada_dataset *dataset,
                                                                const char           *field,
                                                                levada_lengths_each  *each,
                                                                void *user, bool *found,
                                                                levada_error *err);

/* How many records a dataset has, from the index of its source. The dataset is a file format with
 * index=true and stages that make one record of each: decoders, map, cast, select, rename, prefetch
 * and similar. EFAILED_PRECONDITION where it is another one. */
LEVADA_API LEVADA_MUST_USE levada_status levada_inspect_count(const levada_dataset *dataset,
                                                              int64_t *records, levada_error *err);
/* Record `number` (from 0 on, in the order of the files, also with shuffle_records) of such a
 * dataset, as a block of one row, owned by the caller. A dataset keeps what reads its records from
 * call to call; each call opens the file and its index again, so that changes are noticed.
 * EOUT_OF_RANGE: there is no such record. */
LEVADA_API LEVADA_MUST_USE levada_status levada_inspect_record(const levada_dataset *dataset,
                                                               int64_t number, levada_block **out,
                                                               levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
