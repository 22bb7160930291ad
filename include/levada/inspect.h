/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking into files: what is in them, what is damaged, and writing what is still good.
 *
 * Both functions read one file from its beginning to its end on the caller's thread. Format and
 * compression are found by content. Damage is no error of the call: it is counted and told.
 */
#ifndef LEVADA_INSPECT_H
#define LEVADA_INSPECT_H

#include <levada/env.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One place of damage. Borrowed for the time of the call that tells it. */
typedef struct levada_damage {
    int64_t     record; /* number of the bad record in the file; bad ones count              */
    int64_t     offset; /* where it begins in the decompressed file                          */
    int64_t     next;   /* where the next record begins, -1: nothing can be read after it    */
    const char *text;   /* "payload checksum 0x1d3a77f0, expected 0x9b02c4e1"                 */
} levada_damage;

typedef struct levada_verify_options {
    size_t      struct_size;
    const char *compression; /* NULL = by content */
    /* File that gets every good record, compressed as the original; NULL = none. It appears when it
     * is complete; the original may be named. TFRecord files only. */
    const char *repair;
    void (*damage)(void *user, const levada_damage *damage); /* may be NULL */
    void *user;
} levada_verify_options;

#define LEVADA_VERIFY_OPTIONS_INIT                              \
    {                                                           \
        sizeof(levada_verify_options), NULL, NULL, NULL, NULL   \
    }

typedef struct levada_verify_result {
    size_t  struct_size;
    int64_t good, bad;      /* records; a lost length hides how many it cost and counts as one */
    int64_t damaged_bytes;  /* that belong to no good record                                   */
    int64_t size, raw_size; /* of the file, and decompressed                                   */
    char    format[32];     /* "tfrecord"                                                      */
    char    compression[32]; /* "gzip", "" where there is none                                 */
} levada_verify_result;

#define LEVADA_VERIFY_RESULT_INIT                               \
    {                                                           \
        sizeof(levada_verify_result), 0, 0, 0, 0, 0, "", ""     \
    }

/* `options` may be NULL. LEVADA_OK also for a damaged file: see result->bad. */
LEVADA_API LEVADA_MUST_USE levada_status levada_inspect_verify(levada_env *env, const char *path,
                                                               const levada_verify_options *options,
                                                               levada_verify_result *result,
                                                               levada_error *err);

/* One JSON object; free it with levada_string_free:
 * {"path","format","compression","size","raw_size","records","bad_records","damaged_bytes",
 *  "payload":"Example" | "SequenceExample" | "text" | "other",
 *  "bytes":Q, "features":[F], "sequences":[F], "lengths":{"name","from","to",
 *  "scale":"linear" | "logarithmic","counts":[up to 16]}}
 * Q = {"min","median","p90","max","mean"}, of payload sizes in bytes. F = {"name","kind":"int64" |
 * "float" | "bytes" | "mixed" | "none","records","values":Q} with "values" the number of values in
 * a record, and in sequences in a step, where there is "steps":Q too. "features" of a
 * SequenceExample are its context. Quantiles are exact up to 512, then within 0.4 %. "lengths" is a
 * histogram of the feature with the most values or steps in a record, null where there is none. */
LEVADA_API LEVADA_MUST_USE levada_status levada_inspect_info(levada_env *env, const char *path,
                                                             char **out, levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
