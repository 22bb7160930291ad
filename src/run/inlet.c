/* SPDX-License-Identifier: Apache-2.0 */
#include "run/inlet.h"

#include "base/assert.h"
#include "tensor/block_priv.h"

#include <string.h>

#define INLET_SKIP_ROWS "drop"
#define INLET_SKIP_REJECTS "drop.rejects"

void levada_item_clear(levada_item *item)
{
    levada_block_unref(&item->block);
    levada_rejects_clear(&item->rejects);
}

levada_status levada_item_cut(levada_item *item, int64_t rows, int32_t rejects, levada_item *rest,
                              levada_error *err)
{
    int64_t       n = levada_item_rows(item);
    int32_t       more = item->rejects.n - rejects;
    levada_block *head = NULL;
    levada_status st = LEVADA_OK;

    if (rows < n) st = levada_block_slice(NULL, item->block, rows, n - rows, &rest->block, err);
    if (st == LEVADA_OK && rows > 0) {
        st = levada_block_slice(NULL, item->block, 0, rows, &head, err);
    }
    if (st == LEVADA_OK && more > 0) {
        st = levada_rejects_add(&rest->rejects, &item->rejects.list[rejects], more, err);
    }
    if (st != LEVADA_OK) {
        levada_block_unref(&head);
        levada_item_clear(rest);
        return st;
    }
    for (int32_t i = 0; i < rest->rejects.n; i++) {
        int64_t *row = &rest->rejects.list[i].row;

        *row = *row > rows ? *row - rows : 0;
    }
    levada_block_unref(&item->block);
    item->block = head;
    item->rejects.n = rejects;
    return LEVADA_OK;
}

bool levada_inlet_take(levada_inlet *inlet, levada_item *out)
{
    if (inlet->n == 0) return false;
    *out = inlet->items[0];
    inlet->n--;
    memmove(inlet->items, inlet->items + 1, (size_t)inlet->n * sizeof(*inlet->items));
    inlet->returned = false;
    return true;
}

static void inlet_push(levada_inlet *inlet, levada_item *item, bool whole)
{
    LEVADA_ASSERT(inlet->n < LEVADA_INLET_ITEMS && !inlet->returned);
    memmove(inlet->items + 1, inlet->items, (size_t)inlet->n * sizeof(*inlet->items));
    inlet->items[0] = *item;
    inlet->n++;
    inlet->returned = whole;
    *item = (levada_item){ 0 };
}

void levada_inlet_return(levada_inlet *inlet, levada_item *item) { inlet_push(inlet, item, true); }

levada_status levada_inlet_report(levada_inlet *inlet, levada_error *err)
{
    if (inlet->n || inlet->end == LEVADA_OK) return LEVADA_OK;
    if (inlet->end < 0 && err) *err = inlet->why;
    return inlet->reported = inlet->end;
}

void levada_inlet_clear(levada_inlet *inlet)
{
    for (int32_t i = 0; i < inlet->n; i++) levada_item_clear(&inlet->items[i]);
    *inlet = (levada_inlet){ .why = LEVADA_ERROR_INIT };
}

void levada_inlet_restore(levada_inlet *inlet, levada_item *returned, levada_item *rest)
{
    if (rest->block || rest->rejects.n) inlet_push(inlet, rest, false);
    if (returned->block || returned->rejects.n) inlet_push(inlet, returned, true);
}

levada_status levada_inlet_cut(levada_inlet *inlet, levada_item *item, int64_t rows,
                               int32_t rejects, levada_error *err)
{
    levada_item rest = { 0 };

    if (rows == levada_item_rows(item) && rejects == item->rejects.n) return LEVADA_OK;
    LEVADA_TRY(levada_item_cut(item, rows, rejects, &rest, err));
    inlet_push(inlet, &rest, false);
    return LEVADA_OK;
}

levada_status levada_inlet_skip(levada_inlet *inlet, levada_item *item, levada_error *err)
{
    int64_t     rows = levada_item_rows(item), rejects = item->rejects.n;
    levada_item rest = { 0 };

    if (inlet->skip_rows < rows) rows = inlet->skip_rows;
    if (inlet->skip_rejects < rejects) rejects = inlet->skip_rejects;
    if (rows == 0 && rejects == 0) return LEVADA_OK;
    LEVADA_TRY(levada_item_cut(item, rows, (int32_t)rejects, &rest, err));
    inlet->skip_rows -= rows;
    inlet->skip_rejects -= rejects;
    levada_item_clear(item);
    *item = rest;
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
