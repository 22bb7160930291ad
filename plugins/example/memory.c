/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An opener of files that are in memory: "memory://greeting" is a file of three lines. An opener of
 * remote files has the same functions; its read_at() polls the token while it waits.
 *
 *     levada --plugin ./memory.so run text_lines:memory://greeting --json
 */
#define LEVADA_PLUGIN_MAIN
#include <levada/plugin.h>

#include <string.h>

typedef struct memory_file {
    const char *path, *text, *version; /* version: changes with the text */
} memory_file;

static const memory_file memory_files[] = {
    { "memory://greeting", "hello\nfrom\nmemory\n", "1" },
    { "memory://empty", "", "1" },
};

static const memory_file *memory_find(const char *path)
{
    for (size_t i = 0; i < sizeof memory_files / sizeof *memory_files; i++) {
        if (strcmp(memory_files[i].path, path) == 0) return &memory_files[i];
    }
    return NULL;
}

typedef struct memory_open_file {
    const char *text, *version;
    int64_t     size;
} memory_open_file;

static levada_status memory_open(void *user, const char *path, const levada_cancel *cancel,
                                 void **out, levada_error *err)
{
    const memory_file *found = memory_find(path);
    memory_open_file  *file = found ? levada_alloc(sizeof *file) : NULL;

    (void)user, (void)cancel; /* no read waits */
    if (!found) return levada_fail(err, LEVADA_ENOT_FOUND, "no file of that name in memory");
    if (!file) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                  "out of memory while opening a file");
    file->text = found->text;
    file->version = found->version;
    file->size = (int64_t)strlen(found->text);
    *out = file;
    return LEVADA_OK;
}

static void memory_close(void *file) { levada_free(file); }

static levada_status memory_size(void *file, int64_t *out, levada_error *err)
{
    (void)err;
    *out = ((const memory_open_file *)file)->size;
    return LEVADA_OK;
}

static levada_status memory_read_at(void *file, int64_t offset, uint8_t *data, int64_t size,
                                    int64_t *made, levada_error *err)
{
    const memory_open_file *f = file;
    int64_t                 left = offset < f->size ? f->size - offset : 0;

    (void)err;
    *made = size < left ? size : left;
    if (*made > 0) memcpy(data, f->text + offset, (size_t)*made);
    return LEVADA_OK;
}

static const char *memory_version(void *file)
{
    return ((const memory_open_file *)file)->version;
}

static int64_t memory_look(void *user, const char *path)
{
    const memory_file *found = memory_find(path);

    (void)user;
    return found ? (int64_t)strlen(found->text) : LEVADA_FILE_MISSING;
}

static const levada_opener_def memory = {
    .struct_size = sizeof(levada_opener_def),
    .name = "memory",
    .doc = "files that are part of the plug-in",
    .open = memory_open,
    .close = memory_close,
    .size = memory_size,
    .read_at = memory_read_at,
    .version = memory_version,
    .look = memory_look,
    .shared = true,
    .example = "memory://greeting", /* what levada check reads */
};

levada_status levada_plugin_main(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "memory", 1);
    return host->add_opener(plugin, &memory, err);
}
