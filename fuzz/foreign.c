/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign indexes: the first byte chooses a format, and the others are its index next to a file
 * that is whole. Opening returns an error, or every record is read in order, shuffled and by its
 * number, and each way returns the same number of records.
 */
#define LEVADA_PLUGIN_HOST_SIDE
#include <levada/dataset.h>
#include <levada/inspect.h>
#include <levada/iter.h>
#include <levada/opener.h>
#include <levada/plugin.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct foreign_file {
    const uint8_t *data;
    int64_t size;
} foreign_file;

static foreign_file foreign_index;
static const char foreign_sequences[] = ">a b\nACGT\nAC\n>b\n\n>c\nA\n>d\nACGTACGT\n";
static const foreign_file foreign_data = { (const uint8_t *)foreign_sequences,
                                           sizeof foreign_sequences - 1 };

static void foreign_require(bool holds)
{
    if (!holds) abort();
}

static levada_status foreign_open(void *user, const char *path, const levada_cancel *cancel,
                                  void **out, levada_error *err)
{
    size_t n = strlen(path);

    (void)user, (void)cancel;
    if (n > 8 && strcmp(path + n - 8, ".lvindex") == 0)
        return levada_fail(err, LEVADA_ENOT_FOUND, "not found");
    *out = (void *)(uintptr_t)(strstr(path, ".fai") || strstr(path, ".idx") ? &foreign_index
                                                                             : &foreign_data);
    return LEVADA_OK;
}

static void foreign_close(void *file) { (void)file; }

static levada_status foreign_size(void *file, int64_t *out, levada_error *err)
{
    (void)err;
    *out = ((const foreign_file *)file)->size;
    return LEVADA_OK;
}

static levada_status foreign_read(void *file, int64_t offset, uint8_t *data, int64_t size,
                                  int64_t *made, levada_error *err)
{
    const foreign_file *from = file;
    int64_t left = from->size - offset;

    (void)err;
    *made = left < 0 ? 0 : size < left ? size
                                       : left;
    if (*made > 0) memcpy(data, from->data + offset, (size_t)*made);
    return LEVADA_OK;
}

static const levada_opener_def foreign_opener = {
    .struct_size = sizeof(levada_opener_def),
    .name = "fuzz",
    .open = foreign_open,
    .close = foreign_close,
    .size = foreign_size,
    .read_at = foreign_read,
};

static levada_status foreign_plugin(const levada_host *host, levada_plugin *plugin,
                                    levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "fuzz", 1);
    return host->add_opener(plugin, &foreign_opener, err);
}

static levada_env *foreign_env(void)
{
    static levada_env *env;

    if (env) return env;
    foreign_require(levada_env_create(NULL, &env, NULL) == LEVADA_OK);
    foreign_require(levada_plugin_register(env, foreign_plugin, NULL, NULL) == LEVADA_OK);
    return env;
}

/* Rows that are read before the first error, which *end names. */
static int64_t foreign_rows(const char *text, levada_status *end)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_dataset *ds = NULL;
    levada_iter *it = NULL;
    levada_block *block = NULL;
    int64_t rows = 0;

    options.threads = 1;
    options.max_record_bytes = 1 << 20;
    *end = levada_dataset_parse(foreign_env(), text, &ds, NULL);
    if (*end == LEVADA_OK) *end = levada_iter_open(ds, &options, &it, NULL);
    while (*end == LEVADA_OK && (*end = levada_iter_next(it, &block, NULL)) == LEVADA_OK) {
        rows += levada_block_rows(block);
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    levada_dataset_unref(&ds);
    return rows;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[][2] = {
        { "fasta:fuzz://f,index=true", "fasta:fuzz://f,index=true,shuffle_records=true" },
        { "fastq:fuzz://f,index=true", "fastq:fuzz://f,index=true,shuffle_records=true" },
        { "tfrecord:fuzz://f,index=true", "tfrecord:fuzz://f,index=true,shuffle_records=true" },
        { "megatron:fuzz://f.bin", "megatron:fuzz://f.bin,shuffle_records=true" },
        { "megatron:fuzz://f.bin,documents=true",
          "megatron:fuzz://f.bin,documents=true,shuffle_records=true" },
    };
    const char *const *chosen = formats[size ? data[0] % 5 : 0];
    levada_status in_order, shuffled;
    int64_t rows, others;

    foreign_index = (foreign_file){ data + (size > 0), (int64_t)size - (size > 0) };
    rows = foreign_rows(chosen[0], &in_order);
    others = foreign_rows(chosen[1], &shuffled);
    if (in_order == LEVADA_END && shuffled == LEVADA_END) foreign_require(rows == others);
    return 0;
}
