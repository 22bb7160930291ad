/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files: whatever the bytes are, reading them ends, with a status that fits; blocks of 1 and of 256
 * records hold the same; skipping damage ends too; records found can be read again; verify counts
 * what skipping counts. The first byte of the input chooses the format.
 */
#include "core/dataset_priv.h"
#include "core/file_reader.h"
#include "tensor/block_priv.h"

#include <levada/inspect.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TFRECORD_ORIGINS 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct tfrecord_seen {
    uint64_t      hash;
    int64_t       records;
    levada_status end;
    levada_origin origins[TFRECORD_ORIGINS];
} tfrecord_seen;

static void tfrecord_require(bool holds)
{
    if (!holds) abort();
}

static void tfrecord_note(tfrecord_seen *seen, const levada_block *block)
{
    for (int64_t i = 0; i < levada_block_rows(block); i++) {
        int64_t              n, row = i;
        const levada_block  *at = levada_block_row(block, i, &row);
        const uint8_t       *bytes = levada_column_bytes(levada_block_at(at, 0), row, &n);
        levada_origin        origin = levada_block_origin(block, i);

        for (int64_t k = 0; k < n; k++) seen->hash = (seen->hash ^ bytes[k]) * 1099511628211u;
        seen->hash = (seen->hash ^ (uint64_t)origin.offset) * 1099511628211u + (uint64_t)n;
        if (seen->records < TFRECORD_ORIGINS) seen->origins[seen->records] = origin;
        seen->records++;
    }
}

static levada_file_reader *tfrecord_open(const levada_dataset *ds, levada_context *context,
                                         int32_t rows)
{
    levada_file_reader *reader = NULL;

    *context = (levada_context){.block_rows = rows, .max_record_bytes = 1 << 20};
    tfrecord_require(levada_file_reader_create(context, ds->op, ds->args, 0, &reader, NULL) ==
                     LEVADA_OK);
    return reader;
}

static tfrecord_seen tfrecord_read(const levada_dataset *ds, int32_t rows, bool again)
{
    levada_context      context;
    levada_file_reader *reader = tfrecord_open(ds, &context, rows);
    tfrecord_seen       seen = {0}, second = {0};
    levada_block       *block = NULL;

    while ((seen.end = levada_file_reader_next(reader, &block, NULL)) == LEVADA_OK) {
        tfrecord_note(&seen, block);
        levada_block_unref(&block);
    }
    if (again && seen.records <= TFRECORD_ORIGINS) {
        tfrecord_require(levada_file_reader_reread(reader, seen.origins, seen.records, &block,
                                                   NULL) == LEVADA_OK);
        tfrecord_note(&second, block);
        tfrecord_require(second.hash == seen.hash && second.records == seen.records);
        levada_block_unref(&block);
    }
    levada_file_reader_destroy(&reader);
    return seen;
}

static void tfrecord_try(const char *format, const char *path)
{
    char            text[160];
    levada_dataset *ds = NULL, *skips = NULL;
    tfrecord_seen   one, many, good;

    (void)snprintf(text, sizeof text, "%s:%s", format, path);
    tfrecord_require(levada_dataset_parse(NULL, text, &ds, NULL) == LEVADA_OK);
    (void)snprintf(text, sizeof text, "%s:%s,errors=skip", format, path);
    tfrecord_require(levada_dataset_parse(NULL, text, &skips, NULL) == LEVADA_OK);
    many = tfrecord_read(ds, 256, true);
    one = tfrecord_read(ds, 1, false);
    tfrecord_require(one.hash == many.hash && one.records == many.records && one.end == many.end);
    tfrecord_require(many.end == LEVADA_END || many.end == LEVADA_EDATA_LOSS ||
                     many.end == LEVADA_ERESOURCE_EXHAUSTED);
    good = tfrecord_read(skips, 256, true);
    tfrecord_require(good.records >= many.records);
    tfrecord_require(many.end != LEVADA_END || good.hash == many.hash);
    levada_dataset_unref(&skips);
    levada_dataset_unref(&ds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char  path[64];
    char *info = NULL;
    int   fd;

    if (size < 1) return 0;
    fd = memfd_create("fuzz", 0);
    tfrecord_require(fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    tfrecord_try(data[0] & 1 ? "text_lines" : "tfrecord", path);
    if (levada_inspect_info(NULL, path, &info, NULL) == LEVADA_OK) levada_string_free(&info);
    (void)close(fd);
    return 0;
}
