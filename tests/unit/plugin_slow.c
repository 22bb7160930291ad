/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plug-in whose opener waits for a file: "slow:///tmp/x" is the file /tmp/x, opened when there is
 * a file /tmp/x.go: storage that does not answer. It polls the token while it waits.
 */
#define LEVADA_PLUGIN_MAIN
#include <levada/plugin.h>

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static levada_status slow_open(void *user, const char *path, const levada_cancel *cancel,
                               void **out, levada_error *err)
{
    const char           *name = path + strlen("slow://");
    const struct timespec nap = { 0, 1000000 };
    char                  go[4096];
    FILE                 *file;

    (void)user;
    (void)snprintf(go, sizeof go, "%s.go", name);
    while (access(go, F_OK) != 0) {
        if (levada_cancel_requested(cancel))
            return levada_fail(err, LEVADA_ECANCELLED, "cancelled while it waited for %s", go);
        (void)nanosleep(&nap, NULL);
    }
    file = fopen(name, "rb");
    if (!file) return levada_fail(err, LEVADA_ENOT_FOUND, "cannot open it");
    *out = file;
    return LEVADA_OK;
}

static void slow_close(void *file) { (void)fclose(file); }

static levada_status slow_size(void *file, int64_t *out, levada_error *err)
{
    (void)err;
    if (fseek(file, 0, SEEK_END) != 0) return levada_fail(err, LEVADA_EUNAVAILABLE, "no size");
    *out = ftell(file);
    return LEVADA_OK;
}

static levada_status slow_read_at(void *file, int64_t offset, uint8_t *data, int64_t size,
                                  int64_t *made, levada_error *err)
{
    if (fseek(file, (long)offset, SEEK_SET) != 0)
        return levada_fail(err, LEVADA_EUNAVAILABLE, "cannot seek");
    *made = (int64_t)fread(data, 1, (size_t)size, file);
    return LEVADA_OK;
}

static const levada_opener_def slow = {
    .struct_size = sizeof(levada_opener_def),
    .name = "slow",
    .open = slow_open,
    .close = slow_close,
    .size = slow_size,
    .read_at = slow_read_at,
};

levada_status levada_plugin_main(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "slow", 1);
    return host->add_opener(plugin, &slow, err);
}
