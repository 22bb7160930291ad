/* SPDX-License-Identifier: Apache-2.0 */
#include "run/inlet.h"

#include "base/assert.h"
#include "tensor/block_priv.h"

#include <string.h>

#define INLET_SKIP_ROWS "drop"
#define INLET_SKIP_REJECTS "drop.rejects"

bool levada_inlet_take(levada_inlet *inlet, levada_block **out)
{
    if (inlet->n == 0) return false;
    *out = inlet->blocks[0];
    inlet->n--;
    memmove(inlet->blocks, inlet->blocks + 1, (size_t)inlet->n * sizeof(*inlet->blocks));
    inlet->returned = false;
    return true;
}

static void inlet_push(levada_inlet *inlet, levada_block **block, bool whole)
{
    LEVADA_ASSERT(inlet->n < LEVADA_INLET_BLOCKS && !inlet->returned);
    memmove(inlet->blocks + 1, inlet->blocks, (size_t)inlet->n * sizeof(*inlet->blocks));
    inlet->blocks[0] = *block;
    inlet->n++;
    inlet->returned = whole;
    *block = NULL;
}

void levada_inlet_return(levada_inlet *inlet, levada_block **block)
{
    inlet_push(inlet, block, true);
}

levada_status levada_inlet_report(levada_inlet *inlet, levada_error *err)
{
    if (inlet->n || inlet->end == LEVADA_OK) return LEVADA_OK;
    if (inlet->end < 0 && err) *err = inlet->why;
    return inlet->reported = inlet->end;
}

void levada_inlet_clear(levada_inlet *inlet)
{
    for (int32_t i = 0; i < inlet->n; i++) levada_block_unref(&inlet->blocks[i]);
    *inlet = (levada_inlet){ .why = LEVADA_ERROR_INIT };
}

void levada_inlet_restore(levada_inlet *inlet, levada_block **returned, levada_block **rest)
{
    if (*rest) inlet_push(inlet, rest, false);
    if (*returned) inlet_push(inlet, returned, true);
}

levada_status levada_inlet_cut(levada_inlet *inlet, levada_block **block, int64_t rows,
                               int32_t rejects, levada_error *err)
{
    const levada_block *whole = *block;
    levada_block       *head = NULL, *rest = NULL;
    levada_status       st;

    if (rows == whole->n && rejects == whole->nrejects) return LEVADA_OK;
    LEVADA_TRY(levada_block_part(whole, rows, whole->n - rows, rejects, whole->nrejects - rejects,
                                 &rest, err));
    st = levada_block_part(whole, 0, rows, 0, rejects, &head, err);
    if (st != LEVADA_OK) {
        levada_block_unref(&rest);
        return st;
    }
    levada_block_unref(block);
    *block = head;
    inlet_push(inlet, &rest, false);
    return LEVADA_OK;
}

levada_status levada_inlet_skip(levada_inlet *inlet, levada_block **block, levada_error *err)
{
    const levada_block *whole = *block;
    int64_t             rows = inlet->skip_rows < whole->n ? inlet->skip_rows : whole->n;
    int64_t             rejects = whole->nrejects;
    levada_block       *rest = NULL;

    if (inlet->skip_rejects < rejects) rejects = inlet->skip_rejects;
    if (rows == 0 && rejects == 0) return LEVADA_OK;
    if (rows < whole->n || rejects < whole->nrejects) {
        LEVADA_TRY(levada_block_part(whole, rows, whole->n - rows, (int32_t)rejects,
                                     whole->nrejects - (int32_t)rejects, &rest, err));
    }
    inlet->skip_rows -= rows;
    inlet->skip_rejects -= rejects;
    levada_block_unref(block);
    *block = rest;
    return LEVADA_OK;
}

levada_status levada_inlet_save_skip(const char *path, int64_t rows, int64_t rejects,
                                     levada_state_writer *to, levada_error *err)
{
    if (rows) LEVADA_TRY(levada_state_add(to, path, INLET_SKIP_ROWS, rows, err));
    if (!rejects) return LEVADA_OK;
    return levada_state_add(to, path, INLET_SKIP_REJECTS, rejects, err);
}

static levada_status inlet_get_skip(const char *key, int64_t *out, levada_state_reader *from,
                                    levada_error *err)
{
    *out = 0;
    if (!levada_state_has(from, key)) return LEVADA_OK;
    return levada_state_get_count(from, key, LEVADA_COUNT_LIMIT, out, err);
}

levada_status levada_inlet_restore_skip(levada_inlet *inlet, levada_state_reader *from,
                                        levada_error *err)
{
    LEVADA_TRY(inlet_get_skip(INLET_SKIP_ROWS, &inlet->skip_rows, from, err));
    return inlet_get_skip(INLET_SKIP_REJECTS, &inlet->skip_rejects, from, err);
}
