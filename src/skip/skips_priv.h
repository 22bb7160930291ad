/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The account from the inside: skips.c counts, skips_state.c saves and restores.
 */
#ifndef LEVADA_SKIP_SKIPS_PRIV_H
#define LEVADA_SKIP_SKIPS_PRIV_H

#include "skip/skips.h"

/* One more note at the end, NULL if there is no space for it; with the lock held. */
levada_note *levada_skips_reserve_locked(levada_skips *account);

#endif
