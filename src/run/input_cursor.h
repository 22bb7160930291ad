/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes: the inputs of a combiner, one by one. A cursor on any of them is saved like that of a
 * stage, by origin where that input can be read again.
 */
#ifndef LEVADA_RUN_INPUT_CURSOR_H
#define LEVADA_RUN_INPUT_CURSOR_H

#include "state/state_priv.h"
#include <levada/stage.h>

/* `in` is the node that the cursor reads from: an input, or one that the combiner opened itself. */
LEVADA_MUST_USE levada_status levada_input_cursor_save(const levada_cursor *cur, levada_input *in,
                                               levada_state_writer *to, const char *key,
                                               levada_error *err);
LEVADA_MUST_USE levada_status levada_input_cursor_restore(levada_cursor *cur, levada_input *in,
                                                  levada_state_reader *from, const char *key,
                                                  levada_error *err);

#endif
