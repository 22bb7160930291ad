/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file from its beginning to its end, damage and all: what info and verify stand on.
 */
#ifndef LEVADA_INSPECT_SCAN_H
#define LEVADA_INSPECT_SCAN_H

#include "description/dataset_priv.h"
#include "files/file_reader.h"

typedef struct levada_scan {
    levada_dataset     *dataset; /* the description that names the format */
    levada_context      context;
    levada_file_reader *reader;
    int64_t             size;
    char                compression[48];
    char                content[48]; /* as in levada_file_kind */
    bool                guessed;     /* as in levada_file_kind */
} levada_scan;

/* What levada_inspect_kind finds; the name belongs to the registry. */
LEVADA_MUST_USE levada_status levada_scan_identify(levada_scan *scan, levada_env *env,
                                                   const char *path, const char *source,
                                                   const char *compression, const char **name,
                                                   levada_error *err);

/* Opens the file with `source` (NULL: as levada_inspect_kind finds). */
LEVADA_MUST_USE levada_status levada_scan_open(levada_scan *scan, levada_env *env, const char *path,
                                               const char *source, const char *compression,
                                               levada_error *err);
void levada_scan_close(levada_scan *scan);

/* The next block of good records. END at the end. EDATA_LOSS: *err tells a place of damage, or a
 * record beyond every limit, which was passed; *next is where reading goes on, or -1. */
LEVADA_MUST_USE levada_status levada_scan_next(levada_scan *scan, levada_block **out, int64_t *next,
                                               levada_error *err);

#endif
