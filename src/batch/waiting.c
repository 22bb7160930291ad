/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/waiting.h"

#include "base/alloc.h"

#include <string.h>

levada_status levada_waiting_open(levada_waiting *w, const levada_context *context,
                                  levada_error *err)
{
    return levada_rowstore_create(context, &w->store, err);
}

void levada_waiting_close(levada_waiting *w)
{
    levada_rowstore_destroy(&w->store);
    levada_free(w->slots);
    w->slots = NULL;
}

static levada_status waiting_reserve(levada_waiting *w, int64_t rows, levada_error *err)
{
    uint32_t *more;
    int64_t   room = 2 * (w->n + rows);

    if (w->first) memmove(w->slots, w->slots + w->first, (size_t)w->n * sizeof *w->slots);
    w->first = 0;
    if (w->n + rows <= w->capacity) return LEVADA_OK;
    more = levada_realloc(w->slots, (size_t)room * sizeof *more);
    if (!more) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a batch");
    w->slots = more;
    w->capacity = room;
    return LEVADA_OK;
}

static levada_status waiting_add(levada_waiting *w, const levada_block *block, levada_error *err)
{
    int64_t rows = levada_block_rows(block);

    LEVADA_TRY(waiting_reserve(w, rows, err));
    LEVADA_TRY(levada_rowstore_add(w->store, block, 0, rows, w->slots + w->n, err));
    w->n += rows;
    return LEVADA_OK;
}

static levada_status waiting_take(levada_waiting *w, int64_t size, levada_block **out,
                                  levada_error *err)
{
    LEVADA_TRY(levada_rowstore_take(w->store, w->slots + w->first, size, out, err));
    w->first += size;
    w->n -= size;
    return LEVADA_OK;
}

levada_status levada_waiting_next(levada_waiting *w, const levada_context *context,
                                  levada_input *in, int64_t size, bool drop_remainder,
                                  levada_block **out, levada_error *err)
{
    while (w->n < size) {
        levada_block *block = NULL;
        levada_status st = levada_input_next(in, &block, err);

        if (st == LEVADA_END && w->n > 0 && !drop_remainder) return waiting_take(w, w->n, out, err);
        if (st == LEVADA_END && w->n > 0) {
            levada_block *rest = NULL;

            levada_context_dropped(context, w->n);
            LEVADA_TRY(waiting_take(w, w->n, &rest, err));
            levada_block_unref(&rest);
        }
        if (st == LEVADA_OK) st = waiting_add(w, block, err);
        levada_block_unref(&block);
        if (st != LEVADA_OK) return st;
    }
    return waiting_take(w, size, out, err);
}

levada_status levada_waiting_save(const levada_waiting *w, levada_state_writer *to,
                                  levada_error *err)
{
    LEVADA_TRY(levada_state_put_i64(to, "n", w->n, err));
    return levada_rowstore_save(w->store, w->n ? w->slots + w->first : NULL, w->n, to, "rows", err);
}

levada_status levada_waiting_restore(levada_waiting *w, levada_state_reader *from,
                                     levada_error *err)
{
    uint32_t *slots = NULL;
    int64_t   n;

    LEVADA_TRY(levada_state_get_count(from, "n", INT32_MAX, &n, err));
    LEVADA_TRY(levada_rowstore_restore(w->store, from, "rows", n, &slots, err));
    levada_free(w->slots);
    w->slots = slots;
    w->n = w->capacity = n;
    w->first = 0;
    return LEVADA_OK;
}
