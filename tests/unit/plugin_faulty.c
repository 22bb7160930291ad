/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plug-in whose opener fails as a test wants it: "faulty://-5@512000/tmp/x" is the file /tmp/x,
 * read as often as needed to fill a gigabyte, whose bytes from 512000 on fail with the status -5.
 * At 0 the file cannot be opened.
 */
#define LEVADA_PLUGIN_MAIN
#include <levada/plugin.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct faulty_file {
    levada_status status;
    int64_t       from, size;
    uint8_t       content[4096];
} faulty_file;

static levada_status faulty_fail(const faulty_file *f, levada_error *err)
{
    return levada_fail(err, f->status, "as the test wants it");
}

static levada_status faulty_open(void *user, const char *path, const levada_cancel *cancel,
                                 void **out, levada_error *err)
{
    const char  *name = path + strlen("faulty://"), *at = strchr(name, '@');
    char        *local = NULL;
    faulty_file *f = at ? levada_alloc_zero(sizeof *f) : NULL;
    FILE        *file;
    levada_status st = LEVADA_OK;

    (void)user, (void)cancel;
    if (!f) return levada_fail(err, LEVADA_EINTERNAL, "not a name of this opener: %s", path);
    f->status = (levada_status)strtol(name, NULL, 10);
    f->from = strtoll(at + 1, &local, 10);
    file = fopen(local, "rb");
    if (file) f->size = (int64_t)fread(f->content, 1, sizeof f->content, file);
    if (file) (void)fclose(file);
    if (f->from == 0 || f->size == 0) st = faulty_fail(f, err);
    if (st == LEVADA_OK) *out = f;
    else levada_free(f);
    return st;
}

static void faulty_close(void *file) { levada_free(file); }

static levada_status faulty_size(void *file, int64_t *out, levada_error *err)
{
    const faulty_file *f = file;

    (void)err;
    *out = (1 << 30) / f->size * f->size;
    return LEVADA_OK;
}

static levada_status faulty_read_at(void *file, int64_t offset, uint8_t *data, int64_t size,
                                    int64_t *made, levada_error *err)
{
    const faulty_file *f = file;

    if (offset + size > f->from) return faulty_fail(f, err);
    for (int64_t i = 0; i < size; i++) data[i] = f->content[(offset + i) % f->size];
    *made = size;
    return LEVADA_OK;
}

static const levada_opener_def faulty = {
    .struct_size = sizeof(levada_opener_def),
    .name = "faulty",
    .open = faulty_open,
    .close = faulty_close,
    .size = faulty_size,
    .read_at = faulty_read_at,
};

levada_status levada_plugin_main(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "faulty", 1);
    return host->add_opener(plugin, &faulty, err);
}
