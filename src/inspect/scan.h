/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one file from its beginning to its end and reports damage. Both info and verify use it.
 */
#ifndef LEVADA_INSPECT_SCAN_H
#define LEVADA_INSPECT_SCAN_H

#include "description/dataset_priv.h"
#include "files/file_reader.h"
#include "inspect/rows_check.h"
#include <levada/inspect.h>

/* The format that levada_writer writes. Repair makes it, its records are parsed where they are
 * messages, and a file that shows no other format is taken for a damaged one of it. */
#define LEVADA_SCAN_RECORDS "tfrecord"

typedef struct levada_scan {
    levada_dataset     *dataset; /* one source: the format and the file */
    levada_context      context;
    levada_file_reader *reader;
    int64_t             size;
    char                compression[48];
    const char         *encoding; /* "utf-16" where a byte order mark says so; NULL */
    char                content[48]; /* as in levada_file_kind */
    bool                guessed;     /* as in levada_file_kind */
    bool                sure;        /* a checksum proves that the content is of a format */
    bool                empty;       /* without any byte, decompressed                    */
    bool                damaged;     /* its first bytes cannot be decompressed            */
    const char         *looks;       /* levada_looks_like of the content                  */
    /* -- with the check of rows */
    levada_rows_check    rows;
    levada_block        *held;    /* a block whose bad rows are being reported */
    const levada_reject *rejects; /* nrejects of it, from `reported` on */
    int32_t              nrejects, reported;
    int64_t              bad_rows, bad_bytes; /* reported so far */
} levada_scan;

/* Finds the source of a file as levada_inspect_kind does; the registry owns *name. */
LEVADA_MUST_USE levada_status levada_scan_identify(levada_scan *scan, levada_env *env,
                                                   const char *path, const char *source,
                                                   const char *compression, const char **name,
                                                   levada_error *err);

/* Opens the file with `source`; NULL chooses it as levada_inspect_kind does. `rows`: rows of
 * formats with typed columns are converted, too, and those that do not convert are damage. */
LEVADA_MUST_USE levada_status levada_scan_open(levada_scan *scan, levada_env *env, const char *path,
                                               const char *source, const char *compression,
                                               int64_t max_record_bytes, bool rows,
                                               levada_error *err);
void levada_scan_close(levada_scan *scan);

/* Returns the encoding that the options of the source name, or the mark of the file; NULL if the
 * text is UTF-8. */
const char *levada_scan_encoding(const levada_scan *scan);

/* Returns the next block, or END. On EDATA_LOSS, *err describes a damaged place or an oversized
 * record, which the scan skipped, or a row of the next block that does not convert; *next is where
 * the record after it begins, or -1. */
LEVADA_MUST_USE levada_status levada_scan_next(levada_scan *scan, levada_block **out, int64_t *next,
                                               levada_error *err);

/* Returns true if this row of the block that levada_scan_next returned last is good. */
bool levada_scan_is_good(const levada_scan *scan, int64_t row);

/* Calls `progress`, which may be NULL, with what was read so far. */
void levada_scan_report(const levada_scan *scan, levada_inspect_progress *progress, void *user);

/* Returns the counts so far; rows that do not convert count as skipped. */
levada_file_reader_counts levada_scan_counted(const levada_scan *scan);

/* Returns true if its records are lines of text, without columns. */
bool levada_scan_is_text(const levada_scan *scan);

#endif
