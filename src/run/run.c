/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nodes ask of their run.
 */
#include "run/node.h"

const char *levada_run_file(const levada_run *run, int32_t source, int32_t shard)
{
    bool               listed = source >= 0 && source < LEVADA_RUN_SOURCES;
    const levada_node *node = listed ? run->source[source] : NULL;

    return node && node->ops->file ? node->ops->file(node, shard) : NULL;
}

bool levada_run_is_cancelled(levada_run *run) { return atomic_load(&run->cancelled); }

levada_status levada_run_check_cancelled(levada_run *run, levada_error *err)
{
    if (!levada_run_is_cancelled(run)) return LEVADA_OK;
    return levada_fail(err, LEVADA_ECANCELLED, "cancelled");
}
