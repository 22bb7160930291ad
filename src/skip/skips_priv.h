/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The account from the inside: skips.c counts, skips_state.c and rejects_state.c save and restore.
 */
#ifndef LEVADA_SKIP_SKIPS_PRIV_H
#define LEVADA_SKIP_SKIPS_PRIV_H

#include "base/text.h"
#include "skip/skips.h"

/* Reserves one more note at the end, NULL if there is no space for it; with the lock held. */
levada_note *levada_skips_reserve_locked(levada_skips *account);

/* Writes the texts of a cause, each with its end. The function below reads them back, if `at` and
 * `end` bound them, and returns true if all were there. */
void levada_skips_put_texts(levada_text *to, const levada_error *why);
bool levada_skips_take_texts(levada_error *why, const char **at, const char *end);

#endif
