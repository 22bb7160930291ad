/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error of an entry of a saved state whose value cannot be: every stage that finds one reports
 * it in this way.
 */
#ifndef LEVADA_STATE_DAMAGED_H
#define LEVADA_STATE_DAMAGED_H

#include <levada/stage.h>

/* EDATA_LOSS, which names the entry that was read last. */
LEVADA_MUST_USE levada_status levada_state_damaged(const levada_state_reader *from,
                                                   levada_error              *err);

#endif
