/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cursors on the inputs of a combiner. Each is saved like the cursor of a stage: by origin where
 * the records of that input can be read again, else by value.
 */
#ifndef LEVADA_RUN_INPUT_CURSOR_H
#define LEVADA_RUN_INPUT_CURSOR_H

#include "state/state_priv.h"
#include <levada/stage.h>

/* Saves a cursor on `in`: an input, or a pipe that the combiner opened itself. */
LEVADA_MUST_USE levada_status levada_input_cursor_save(const levada_cursor *cur, levada_input *in,
                                                       levada_state_writer *to, const char *key,
                                                       levada_error *err);
LEVADA_MUST_USE levada_status levada_input_cursor_restore(levada_cursor *cur, levada_input *in,
                                                          levada_state_reader *from,
                                                          const char *key, levada_error *err);

#endif
