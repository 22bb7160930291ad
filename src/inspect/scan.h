/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file from its beginning to its end, damage and all: what info and verify stand on.
 */
#ifndef LEVADA_INSPECT_SCAN_H
#define LEVADA_INSPECT_SCAN_H

#include "core/dataset_priv.h"
#include "core/file_reader.h"

typedef struct levada_scan {
    levada_dataset     *dataset; /* the description that names the format */
    levada_context      context;
    levada_file_reader *reader;
    int64_t             size;
    char                compression[32];
} levada_scan;

/* Chooses format and compression (NULL = by content). */
LEVADA_MUST_USE levada_status levada_scan_open(levada_scan *scan, levada_env *env, const char *path,
                                               const char *compression, levada_error *err);
void levada_scan_close(levada_scan *scan);

/* The next block of good records. END at the end. EDATA_LOSS: *err tells a place of damage, which
 * was passed; *next is where reading goes on, or -1. */
LEVADA_MUST_USE levada_status levada_scan_next(levada_scan *scan, levada_block **out, int64_t *next,
                                               levada_error *err);

#endif
