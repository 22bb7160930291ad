/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error of an entry of a saved state whose value cannot be: every stage that finds one reports
 * it in this way.
 */
#ifndef LEVADA_STATE_DAMAGED_H
#define LEVADA_STATE_DAMAGED_H

#include <levada/stage.h>

/* Returns EDATA_LOSS: the checkpoint is corrupt; which entry of the scope, and what is wrong with
 * it ("2 numbers for 4 slots"). key = NULL: the entry that was read last. */
LEVADA_PRINTF(4, 5)
LEVADA_MUST_USE levada_status levada_state_damaged(const levada_state_reader *from,
                                                   const char *key, levada_error *err,
                                                   const char *fmt, ...);

#endif
