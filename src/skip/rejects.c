/* SPDX-License-Identifier: Apache-2.0 */
#include "skip/rejects.h"

#include "base/alloc.h"

#include <string.h>

void levada_rejects_clear(levada_rejects *rejects)
{
    levada_free(rejects->list);
    *rejects = (levada_rejects){ 0 };
}

levada_status levada_rejects_add(levada_rejects *to, const levada_reject *rejects, int32_t n,
                                 levada_error *err)
{
    if (n <= 0) return LEVADA_OK;
    if (!levada_reserve(&to->list, &to->capacity, (int64_t)to->n + n, sizeof *to->list)) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while skipping records");
    }
    memcpy(to->list + to->n, rejects, (size_t)n * sizeof *rejects);
    to->n += n;
    return LEVADA_OK;
}

void levada_rejects_take(levada_rejects *to, levada_block *block)
{
    *to = (levada_rejects){ block->rejects, block->nrejects, block->nrejects };
    block->rejects = NULL;
    block->nrejects = 0;
}
