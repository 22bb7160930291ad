/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any format of files, FUZZ_NAME: the build makes a target of each. Bytes as such a file: reading
 * ends with a status that fits; blocks of 1 and of 256 records hold the same; skipping damage ends
 * too; records found can be read again; verify counts what skipping counts.
 */
#include "description/dataset_priv.h"
#include "files/file_reader.h"
#include "registry/registry.h"
#include "tensor/block_priv.h"

#include <levada/inspect.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FORMAT_ORIGINS 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct format_seen {
    uint64_t      hash;
    int64_t       records;
    levada_status end;
    levada_origin origins[FORMAT_ORIGINS];
} format_seen;

static void format_require(bool holds)
{
    if (!holds) abort();
}

static void format_note(format_seen *seen, const levada_block *block)
{
    for (int64_t i = 0; i < levada_block_rows(block); i++) {
        int64_t              n, row = i;
        const levada_block  *at = levada_block_row(block, i, &row);
        const uint8_t       *bytes = levada_column_bytes(levada_block_at(at, 0), row, &n);
        levada_origin        origin = levada_block_origin(block, i);

        for (int64_t k = 0; k < n; k++) seen->hash = (seen->hash ^ bytes[k]) * 1099511628211u;
        seen->hash = (seen->hash ^ (uint64_t)origin.offset) * 1099511628211u + (uint64_t)n;
        if (seen->records < FORMAT_ORIGINS) seen->origins[seen->records] = origin;
        seen->records++;
    }
}

static levada_file_reader *format_open(const levada_dataset *ds, levada_context *context,
                                         int32_t rows)
{
    levada_file_reader *reader = NULL;

    *context = (levada_context){.block_rows = rows, .max_record_bytes = 1 << 20};
    format_require(levada_file_reader_create(context, ds->op, ds->args, 0, NULL, &reader, NULL) ==
                     LEVADA_OK);
    return reader;
}

static format_seen format_read(const levada_dataset *ds, int32_t rows, bool again)
{
    levada_context      context;
    levada_file_reader *reader = format_open(ds, &context, rows);
    format_seen       seen = {0}, second = {0};
    levada_block       *block = NULL;

    while ((seen.end = levada_file_reader_next(reader, &block, NULL)) == LEVADA_OK) {
        format_note(&seen, block);
        levada_block_unref(&block);
    }
    if (again && seen.records <= FORMAT_ORIGINS) {
        format_require(levada_file_reader_reread(reader, seen.origins, seen.records, &block,
                                                   NULL) == LEVADA_OK);
        format_note(&second, block);
        format_require(second.hash == seen.hash && second.records == seen.records);
        levada_block_unref(&block);
    }
    levada_file_reader_destroy(&reader);
    return seen;
}

/* The example of the format, which has all options that must be given, with another file. */
static void format_text(char *text, size_t capacity, const char *path, const char *more)
{
    const char *example = levada_registry_find(NULL, FUZZ_NAME)->def.format.example;
    size_t      file = strlen(FUZZ_NAME) + 1, end = file + strcspn(example + file, ",");

    (void)snprintf(text, capacity, "%s:%s%s%s", FUZZ_NAME, path, example + end, more);
}

/* Records of compressed files are not read again: they have no place of their own. */
static bool format_compressed(const uint8_t *data, size_t size)
{
    if (size >= 4 && memcmp(data, "\x28\xb5\x2f\xfd", 4) == 0) return true;
    return size >= 2 && ((data[0] == 0x1f && data[1] == 0x8b) ||
                         ((data[0] & 15) == 8 && (data[0] << 8 | data[1]) % 31 == 0));
}

static void format_try(const char *path, bool again)
{
    char            text[256];
    levada_dataset *ds = NULL, *skips = NULL;
    format_seen     one, many, good;

    format_text(text, sizeof text, path, "");
    format_require(levada_dataset_parse(NULL, text, &ds, NULL) == LEVADA_OK);
    format_text(text, sizeof text, path, ",errors=skip");
    format_require(levada_dataset_parse(NULL, text, &skips, NULL) == LEVADA_OK);
    many = format_read(ds, 256, again);
    one = format_read(ds, 1, false);
    format_require(one.hash == many.hash && one.records == many.records && one.end == many.end);
    /* EINVALID_ARGUMENT: the file does not fit the options, such as record_bytes. */
    format_require(many.end == LEVADA_END || many.end == LEVADA_EDATA_LOSS ||
                   many.end == LEVADA_ERESOURCE_EXHAUSTED || many.end == LEVADA_EINVALID_ARGUMENT);
    good = format_read(skips, 256, again);
    format_require(good.records >= many.records);
    format_require(many.end != LEVADA_END || good.hash == many.hash);
    levada_dataset_unref(&skips);
    levada_dataset_unref(&ds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char  path[64];
    char *info = NULL;
    int   fd = memfd_create("fuzz", 0);

    format_require(fd >= 0 && (size == 0 || write(fd, data, size) == (ssize_t)size));
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    format_try(path, !format_compressed(data, size));
    if (levada_inspect_info(NULL, path, NULL, NULL, NULL, &info, NULL) == LEVADA_OK)
        levada_string_free(&info);
    (void)close(fd);
    return 0;
}
