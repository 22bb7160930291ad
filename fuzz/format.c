/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any format of files, FUZZ_NAME: the build makes two targets of each. Bytes as such a file, in
 * memory: reading ends with a status that fits; records found can be read again; blocks of 1 and of
 * 256 records, and windows of a few bytes and of a chunk, hold the same; the kernels of every
 * processor level return the same rows; skipping damage loses nothing before it; verify counts the
 * rows that an iterator returns; info ends.
 *
 * format_<name> reads the bytes as they are; compressed_<name> (FUZZ_COMPRESSED) decompresses those
 * that begin like a compressed file, which takes up to 100 times as long.
 *
 * The fuzzer makes one of these checks on each input, chosen by its bytes, and mostly the first,
 * which is one pass. A replay makes them all (FUZZ_ALL).
 */
#define LEVADA_PLUGIN_HOST_SIDE
#include "description/dataset_priv.h"
#include "files/bytes.h"
#include "files/file_reader.h"
#include "registry/registry.h"
#include "rows.h"
#include "tensor/block_priv.h"

#include <levada/inspect.h>
#include <levada/iter.h>
#include <levada/plugin.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT_ORIGINS 256
#define FORMAT_FILE "fuzz://file.mds.bin" /* a shard, not a directory, of mds and of litdata */
#define FORMAT_CHECKS 7
#define FORMAT_LEVELS (LEVADA_CPU_AVX512 + 1)
#define FORMAT_STEPS 64            /* bytes that a small window reads at a time, at most */
#define FORMAT_UNPACKED (16 << 10) /* bytes of a compressed file: hundreds of windows    */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct format_seen {
    uint64_t hash;
    int64_t records;
    levada_status end;
    levada_origin origins[FORMAT_ORIGINS];
} format_seen;

static void format_require(bool holds)
{
    if (!holds) abort();
}

/* -- the file */

typedef struct format_input {
    const uint8_t *data;
    int64_t size;
} format_input;

static format_input format_file;

static levada_status format_file_open(void *user, const char *path, const levada_cancel *cancel,
                                      void **out, levada_error *err)
{
    (void)user, (void)path, (void)cancel, (void)err;
    *out = &format_file;
    return LEVADA_OK;
}

static void format_file_close(void *file) { (void)file; }

static levada_status format_file_size(void *file, int64_t *out, levada_error *err)
{
    (void)err;
    *out = ((const format_input *)file)->size;
    return LEVADA_OK;
}

static levada_status format_file_read(void *file, int64_t offset, uint8_t *data, int64_t size,
                                      int64_t *made, levada_error *err)
{
    const format_input *from = file;
    int64_t left = from->size - offset;

    (void)err;
    *made = left < 0 ? 0 : size < left ? size
                                       : left;
    if (*made > 0) memcpy(data, from->data + offset, (size_t)*made);
    return LEVADA_OK;
}

static const levada_opener_def format_opener = {
    .struct_size = sizeof(levada_opener_def),
    .name = "fuzz",
    .open = format_file_open,
    .close = format_file_close,
    .size = format_file_size,
    .read_at = format_file_read,
};

static levada_status format_plugin(const levada_host *host, levada_plugin *plugin,
                                   levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "fuzz", 1);
    return host->add_opener(plugin, &format_opener, err);
}

/* -- its descriptions */

typedef struct format_world {
    levada_env *env;
    levada_dataset *strict, *skips; /* the file is read up to the first damage, or past it */
    levada_dataset *levels[FORMAT_LEVELS]; /* skips, with kernels up to a level            */
    char source[256];    /* the format with its options, without a file         */
    int32_t (*probe)(const uint8_t *data, int64_t size); /* of the format */
} format_world;

#if FUZZ_COMPRESSED
#define FORMAT_OPTIONS "compression=auto"
#else
#define FORMAT_OPTIONS "compression=none"
#endif

/* The example of the format, which has all options that must be given, with another file. */
static levada_dataset *format_parse(levada_env *env, const char *file, const char *more)
{
    const char *example = levada_registry_find(NULL, FUZZ_NAME)->def.format.example;
    size_t name = strlen(FUZZ_NAME) + 1, end = name + strcspn(example + name, ",");
    char text[256];
    levada_dataset *ds = NULL;

    (void)snprintf(text, sizeof text, "%s:%s%s,%s%s", FUZZ_NAME, file, example + end,
                   FORMAT_OPTIONS, more);
    format_require(levada_dataset_parse(env, text, &ds, NULL) == LEVADA_OK);
    return ds;
}

static levada_env *format_env(levada_cpu_level level)
{
    levada_env_options options = LEVADA_ENV_OPTIONS_INIT;
    levada_env *env = NULL;

    options.cpu = level;
    format_require(levada_env_create(&options, &env, NULL) == LEVADA_OK);
    format_require(levada_plugin_register(env, format_plugin, NULL, NULL) == LEVADA_OK);
    return env;
}

static const format_world *format_prepare(void)
{
    static format_world world;
    const char *example = levada_registry_find(NULL, FUZZ_NAME)->def.format.example;
    const char *options = strchr(example, ',');

    if (world.env) return &world;
    world.probe = levada_registry_find(NULL, FUZZ_NAME)->def.format.probe;
    world.env = format_env(LEVADA_CPU_AUTO);
    world.strict = format_parse(world.env, FORMAT_FILE, "");
    world.skips = format_parse(world.env, FORMAT_FILE, ",errors=skip");
    for (int i = LEVADA_CPU_PORTABLE; i < FORMAT_LEVELS; i++) {
        levada_env *env = format_env((levada_cpu_level)i);

        world.levels[i] = format_parse(env, FORMAT_FILE, ",errors=skip");
    }
    (void)snprintf(world.source, sizeof world.source, "%s:%s%s", FUZZ_NAME, FORMAT_OPTIONS,
                   options ? options : "");
    return &world;
}

/* -- reading */

static void format_note(format_seen *seen, const levada_block *block)
{
    for (int64_t i = 0; i < levada_block_rows(block); i++) {
        int64_t n, row = i;
        const levada_block *at = levada_block_row(block, i, &row);
        const uint8_t *bytes = levada_column_bytes(levada_block_at(at, 0), row, &n);
        levada_origin origin = levada_block_origin(block, i);

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

    *context = (levada_context){
        .env = ds->env, .block_rows = rows, .max_record_bytes = 1 << 20
    };
    format_require(levada_file_reader_create(context, ds->op, ds->args, 0, NULL, &reader, NULL) ==
                   LEVADA_OK);
    return reader;
}

/* `step`: bytes that windows read at a time; 0: a chunk. */
static format_seen format_read(const levada_dataset *ds, int32_t rows, int32_t step, bool again)
{
    levada_context context;
    levada_file_reader *reader = format_open(ds, &context, rows);
    format_seen seen = { 0 }, second = { 0 };
    levada_block *block = NULL;

    if (step > 0) levada_file_reader_step(reader, step);
    while ((seen.end = levada_file_reader_next(reader, &block, NULL)) == LEVADA_OK) {
        format_note(&seen, block);
        levada_block_unref(&block);
    }
    if (again && seen.records <= FORMAT_ORIGINS) {
        format_require(levada_file_reader_read(reader, seen.origins, seen.records,
                                               LEVADA_READ_AGAIN, &block, NULL) == LEVADA_OK);
        format_note(&second, block);
        format_require(second.hash == seen.hash && second.records == seen.records);
        levada_block_unref(&block);
    }
    levada_file_reader_destroy(&reader);
    return seen;
}

static bool format_compressed(const uint8_t *data, size_t size)
{
    if (!FUZZ_COMPRESSED) return false;
    if (size >= 4 && memcmp(data, "\x28\xb5\x2f\xfd", 4) == 0) return true;
    return size >= 2 && ((data[0] == 0x1f && data[1] == 0x8b) ||
                         ((data[0] & 15) == 8 && (data[0] << 8 | data[1]) % 31 == 0));
}

/* 100 bytes of zstd can hold millions of bad rows, which take many seconds with sanitizers. The
 * time limit of the fuzzer is for bytes that are slower than their number. */
static bool format_unpacks_to_much(const format_world *world)
{
    static uint8_t unpacked[FORMAT_UNPACKED + 1];
    levada_bytes_options options = { .probe = world->probe };
    levada_bytes *bytes = NULL;
    int64_t made = 0;

    if (levada_bytes_open(world->env, FORMAT_FILE, &options, &bytes, NULL) != LEVADA_OK)
        return false;
    if (levada_bytes_read(bytes, unpacked, sizeof unpacked, &made, NULL) != LEVADA_OK) made = 0;
    levada_bytes_close(&bytes);
    return made > FORMAT_UNPACKED;
}

/* EINVALID_ARGUMENT: the file does not fit the options, such as record_bytes. */
static void format_require_end(levada_status st)
{
    format_require(st == LEVADA_END || st == LEVADA_EDATA_LOSS ||
                   st == LEVADA_ERESOURCE_EXHAUSTED || st == LEVADA_EINVALID_ARGUMENT);
}

/* -- checks */

static void format_require_same(const format_seen *a, const format_seen *b)
{
    if (a->hash == b->hash && a->records == b->records && a->end == b->end) return;
    fprintf(stderr, "%lld and %lld records, then %s and %s\n", (long long)a->records,
            (long long)b->records, levada_status_name(a->end), levada_status_name(b->end));
    abort();
}

/* Records of compressed files are not read again: they have no place of their own. */
static bool format_rereads(void)
{
    return !format_compressed(format_file.data, (size_t)format_file.size);
}

/* Bytes that a small window reads at a time. */
static int32_t format_step(void)
{
    int64_t middle = format_file.size / 2;

    return format_file.size > 0 ? 4 + format_file.data[middle] % FORMAT_STEPS : 4;
}

static void format_check_pass(const format_world *world)
{
    int32_t step = format_file.size % 2 ? format_step() : 0;
    format_seen good = format_read(world->skips, 256, step, format_rereads());

    format_require_end(good.end);
}

static void format_check_blocks(const format_world *world)
{
    format_seen many = format_read(world->strict, 256, 0, format_rereads());
    format_seen one = format_read(world->strict, 1, 0, false);

    format_require_same(&many, &one);
    format_require_end(many.end);
}

static void format_check_windows(const format_world *world)
{
    for (int skips = 0; skips < 2; skips++) {
        const levada_dataset *ds = skips ? world->skips : world->strict;
        format_seen large = format_read(ds, 256, 0, false);
        format_seen small = format_read(ds, 256, format_step(), false);

        format_require_same(&large, &small);
    }
}

static void format_check_skips(const format_world *world)
{
    format_seen many = format_read(world->strict, 256, 0, format_rereads());
    format_seen good = format_read(world->skips, 256, 0, false);

    format_require(good.records >= many.records);
    format_require(many.end != LEVADA_END || good.hash == many.hash);
}

static void format_add_rows(const levada_block *block, levada_cli_buffer *text)
{
    for (int64_t i = 0; i < levada_block_rows(block); i++) levada_cli_row_json(text, block, i);
}

/* Rows with their columns, of records of any length; bad ones are skipped. `text` gets them as
 * JSON; NULL: they are only counted. */
static levada_status format_count(const levada_dataset *ds, int64_t *rows, levada_cli_buffer *text)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_iter *it = NULL;
    levada_block *block = NULL;
    levada_status st;

    options.threads = 1;
    options.errors = "skip";
    options.max_record_bytes = INT64_C(1) << 30;
    *rows = 0;
    st = levada_iter_open(ds, &options, &it, NULL);
    while (st == LEVADA_OK && (st = levada_iter_next(it, &block, NULL)) == LEVADA_OK) {
        *rows += levada_block_rows(block);
        if (text) format_add_rows(block, text);
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    return st;
}

static void format_check_kernels(const format_world *world)
{
    levada_cli_buffer text = { 0 }, other = { 0 };
    int64_t rows, more;
    levada_status end = format_count(world->skips, &rows, &text);

    for (int i = LEVADA_CPU_PORTABLE; i < FORMAT_LEVELS; i++) {
        format_require(format_count(world->levels[i], &more, &other) == end && more == rows);
        format_require(other.size == text.size &&
                       (text.size == 0 || memcmp(other.at, text.at, text.size) == 0));
        levada_cli_buffer_clear(&other);
    }
    levada_cli_buffer_clear(&text);
}

static void format_check_verify(const format_world *world)
{
    levada_verify_options options = LEVADA_VERIFY_OPTIONS_INIT;
    levada_verify_result result = LEVADA_VERIFY_RESULT_INIT;
    int64_t rows;
    levada_status end = format_count(world->skips, &rows, NULL), st;

    options.source = world->source;
    st = levada_inspect_verify(world->env, FORMAT_FILE, &options, &result, NULL);
    format_require_end(end);
    if (st != LEVADA_OK || end != LEVADA_END || result.good == rows) return;
    fprintf(stderr, "verify found %lld records, an iterator %lld\n", (long long)result.good,
            (long long)rows);
    abort();
}

static void format_check_info(const format_world *world)
{
    levada_verify_options options = LEVADA_VERIFY_OPTIONS_INIT;
    char *info = NULL;

    options.source = FUZZ_COMPRESSED ? NULL : world->source; /* NULL: it is guessed */
    if (levada_inspect_info(world->env, FORMAT_FILE, &options, &info, NULL) == LEVADA_OK)
        levada_string_free(&info);
}

/* Comparisons take three passes, so 3 of 32 inputs get one. The others take 30 and get 3 of 256. */
static size_t format_choose(const uint8_t *data, size_t size)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < size; i++) hash = (hash ^ data[i]) * 16777619u;
    hash = hash >> 24;
    if (hash < 3) return FORMAT_CHECKS - 3 + hash;
    return hash % 32 < FORMAT_CHECKS - 3 ? hash % 32 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const checks[FORMAT_CHECKS])(const format_world *world) = {
        format_check_pass, format_check_blocks, format_check_windows, format_check_skips,
        format_check_kernels, format_check_verify, format_check_info
    };
    const format_world *world = format_prepare();
    size_t chosen = format_choose(data, size);

    format_file = (format_input){ data, (int64_t)size };
    if (format_compressed(data, size) && format_unpacks_to_much(world)) return 0;
    for (size_t i = 0; i < FORMAT_CHECKS; i++) {
        if (FUZZ_ALL || i == chosen) checks[i](world);
    }
    return 0;
}
