/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nodes ask of their run.
 */
#include "run/node.h"

#include "base/alloc.h"

const levada_node *levada_run_source(const levada_run *run, int32_t number)
{
    for (int32_t i = 0; i < run->listed; i++) {
        if (run->source[i]->source == number) return run->source[i];
    }
    return NULL;
}

const char *levada_run_file(const levada_run *run, int32_t source, int32_t shard)
{
    const levada_node *node = levada_run_source(run, source);

    return node && node->ops->files ? node->ops->files->name(node, shard) : NULL;
}

levada_status levada_run_origin_file(levada_run *run, const levada_origin *of, char **out,
                                     levada_error *err)
{
    const char *path = levada_run_file(run, of->source, of->shard);

    if (!path) return levada_file_names_copy(&run->names, of, out, err);
    *out = levada_strdup(path);
    return *out ? LEVADA_OK
                : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a path");
}

bool levada_run_is_cancelled(levada_run *run) { return atomic_load(&run->cancelled); }

levada_status levada_run_check_cancelled(levada_run *run, levada_error *err)
{
    if (!levada_run_is_cancelled(run)) return LEVADA_OK;
    return levada_fail(err, LEVADA_ECANCELLED, "cancelled");
}
