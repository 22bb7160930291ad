/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plug-in of test_plugin.c, which goes wrong as the variable LEVADA_TEST_PLUGIN says: half_first
 * and half_last are stages that are good, and what comes between them is not. Unset: it is good.
 */
#define LEVADA_PLUGIN_MAIN
#include <levada/plugin.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

static levada_status half_apply(void *state, const void *args, const levada_block *in,
                                levada_block **out, levada_error *err)
{
    (void)state, (void)args, (void)err;
    *out = levada_block_ref(in);
    return LEVADA_OK;
}

static levada_status half_add(const levada_host *host, levada_plugin *plugin, const char *name,
                              levada_error *err)
{
    const levada_stage_def stage = {
        .struct_size = sizeof stage,
        .name = name,
        .doc = "records as they are",
        .example = "range:3",
        .mode = LEVADA_MODE_PURE,
        .rows = LEVADA_ROWS_SAME,
        .takes_selection = true,
        .apply = half_apply,
    };

    return host->add_stage(plugin, &stage, err);
}

static levada_status half_broken(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    static const levada_filter_def filter = { .struct_size = sizeof filter, .name = "half_filter" };

    return host->add_filter(plugin, &filter, err);
}

LEVADA_API levada_status levada_plugin_main(const levada_host *host, levada_plugin *plugin,
                                            levada_error *err)
{
    const char   *wrong = getenv("LEVADA_TEST_PLUGIN");
    levada_status st = LEVADA_OK;

    LEVADA_PLUGIN_BEGIN(host, plugin, "half", 1);
    if (!wrong) wrong = "";
    if (strcmp(wrong, "nameless") == 0) plugin->name = NULL;
    st = half_add(host, plugin, "half_first", err);
    if (strncmp(wrong, "slow", 4) == 0) nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
    if (st == LEVADA_OK && strcmp(wrong, "broken") == 0) st = half_broken(host, plugin, err);
    if (st == LEVADA_OK && strcmp(wrong, "taken") == 0) st = half_add(host, plugin, "take", err);
    if (st == LEVADA_OK && strcmp(wrong, "twice") == 0) {
        st = half_add(host, plugin, "half_first", err);
    }
    if (strcmp(wrong, "ignored") == 0) (void)!half_add(host, plugin, "take", NULL);
    if (st == LEVADA_OK) st = half_add(host, plugin, "half_last", err);
    if (strcmp(wrong, "abi") == 0) plugin->abi++;
    if (strcmp(wrong, "newer") == 0) plugin->needs++;
    if (strcmp(wrong, "fails") == 0 || strcmp(wrong, "slow, fails") == 0) {
        return levada_fail(err, LEVADA_EUNAVAILABLE, "no licence");
    }
    return st;
}
