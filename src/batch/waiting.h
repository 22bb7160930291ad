/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that wait for their batch, first come, first served: what `batch` and `padded_batch`
 * hold.
 */
#ifndef LEVADA_BATCH_WAITING_H
#define LEVADA_BATCH_WAITING_H

#include <levada/rowstore.h>

typedef struct levada_waiting {
    levada_rowstore *store;
    uint32_t        *slots;
    int64_t          first, n, capacity; /* slots[first .. first + n) wait */
} levada_waiting;

LEVADA_MUST_USE levada_status levada_waiting_open(levada_waiting       *w,
                                                  const levada_context *context, levada_error *err);
void levada_waiting_close(levada_waiting *w);
/* Pulls until `size` records wait, then gives them as a selection. At the end of the input the
 * rest, or with drop_remainder nothing (counted); END, AGAIN and errors as they come. */
LEVADA_MUST_USE levada_status levada_waiting_next(levada_waiting       *w,
                                                  const levada_context *context, levada_input *in,
                                                  int64_t size, bool drop_remainder,
                                                  levada_block **out, levada_error *err);
LEVADA_MUST_USE levada_status levada_waiting_save(const levada_waiting *w, levada_state_writer *to,
                                                  levada_error *err);
LEVADA_MUST_USE levada_status levada_waiting_restore(levada_waiting      *w,
                                                     levada_state_reader *from, levada_error *err);

#endif
