/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The row store holds the buffered records of stages such as shuffle and buckets.
 *
 * The store holds rows of blocks without copying them. When most of the memory that the rows keep
 * alive is unused, it copies the rows to new memory. Checkpoints contain its rows as origins if the
 * records can be read again, otherwise by value. A slot is the number of a row until the row is
 * taken. One owner, one thread.
 *
 * Example:
 *
 *     // Stores the records of a block, and returns them in reverse order.
 *     static levada_status reverse(levada_rowstore *store, const levada_block *in, uint32_t *slots,
 *                                  levada_block **out, levada_error *err)
 *     {
 *         int64_t n = levada_block_rows(in);
 *
 *         LEVADA_TRY(levada_rowstore_add(store, in, 0, n, slots, err));
 *         for (int64_t i = 0; i < n / 2; i++) {
 *             uint32_t slot = slots[i];
 *
 *             slots[i] = slots[n - 1 - i];
 *             slots[n - 1 - i] = slot;
 *         }
 *         return levada_rowstore_take(store, slots, n, out, err);
 *     }
 */
#ifndef LEVADA_ROWSTORE_H
#define LEVADA_ROWSTORE_H

#include <levada/stage.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_rowstore levada_rowstore;

/* Creates an empty store. */
LEVADA_API LEVADA_MUST_USE levada_status levada_rowstore_create(const levada_context *context,
                                                                levada_rowstore     **out,
                                                                levada_error         *err);
LEVADA_API void    levada_rowstore_destroy(levada_rowstore **store);
/* Returns the number of rows in the store. */
LEVADA_API int64_t levada_rowstore_count(const levada_rowstore *store);

/* Adds rows [first, first + n) of a block, to which it keeps a reference, and writes their slots to
 * slots[0..n). */
LEVADA_API LEVADA_MUST_USE levada_status levada_rowstore_add(levada_rowstore    *store,
                                                             const levada_block *block,
                                                             int64_t first, int64_t n,
                                                             uint32_t *slots, levada_error *err);
/* Removes the rows of these slots from the store and returns them as a selection, in this order. */
LEVADA_API LEVADA_MUST_USE levada_status levada_rowstore_take(levada_rowstore *store,
                                                              const uint32_t *slots, int64_t n,
                                                              levada_block **out,
                                                              levada_error *err);
/* Returns the rows of these slots as a selection, in this order; they stay in the store. */
LEVADA_API LEVADA_MUST_USE levada_status levada_rowstore_peek(const levada_rowstore *store,
                                                              const uint32_t *slots, int64_t n,
                                                              levada_block **out,
                                                              levada_error *err);
/* Saves the rows of these slots, in this order; they must be all slots of the store. */
LEVADA_API LEVADA_MUST_USE levada_status levada_rowstore_save(const levada_rowstore *store,
                                                              const uint32_t *slots, int64_t n,
                                                              levada_state_writer *to,
                                                              const char *key, levada_error *err);
/* Replaces the content by the n rows that were saved. *slots_out receives their n slots, in the
 * saved order; free it with levada_slots_free. */
LEVADA_API LEVADA_MUST_USE levada_status levada_rowstore_restore(levada_rowstore     *store,
                                                                 levada_state_reader *from,
                                                                 const char *key, int64_t n,
                                                                 uint32_t    **slots_out,
                                                                 levada_error *err);
LEVADA_API void levada_slots_free(uint32_t **slots);

#ifdef __cplusplus
}
#endif

#endif
