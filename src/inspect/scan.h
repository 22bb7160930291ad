/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one file from its beginning to its end and reports damage. Both info and verify use it.
 */
#ifndef LEVADA_INSPECT_SCAN_H
#define LEVADA_INSPECT_SCAN_H

#include "description/dataset_priv.h"
#include "files/file_reader.h"

typedef struct levada_scan {
    levada_dataset     *dataset; /* one source: the format and the file */
    levada_context      context;
    levada_file_reader *reader;
    int64_t             size;
    char                compression[48];
    char                content[48]; /* as in levada_file_kind */
    bool                guessed;     /* as in levada_file_kind */
} levada_scan;

/* Finds the source of a file as levada_inspect_kind does; the registry owns *name. */
LEVADA_MUST_USE levada_status levada_scan_identify(levada_scan *scan, levada_env *env,
                                                   const char *path, const char *source,
                                                   const char *compression, const char **name,
                                                   levada_error *err);

/* Opens the file with `source`; NULL chooses it as levada_inspect_kind does. */
LEVADA_MUST_USE levada_status levada_scan_open(levada_scan *scan, levada_env *env, const char *path,
                                               const char *source, const char *compression,
                                               levada_error *err);
void levada_scan_close(levada_scan *scan);

/* Returns the next block of good records, or END. On EDATA_LOSS, *err describes a damaged place or
 * an oversized record, which the scan skipped; *next is where it continues, or -1. */
LEVADA_MUST_USE levada_status levada_scan_next(levada_scan *scan, levada_block **out, int64_t *next,
                                               levada_error *err);

#endif
