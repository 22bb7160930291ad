/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stages of the library do with their context, beyond stage.h.
 */
#ifndef LEVADA_RUN_CONTEXT_H
#define LEVADA_RUN_CONTEXT_H

#include <levada/stage.h>

/* Puts the file, record and offset of a row into an error that has no place yet. */
void levada_context_place(const levada_context *context, const levada_block *block, int64_t row,
                          levada_error *err);

/* For levada_iter_explain: what the stage has chosen by looking at data. Copies the text, and keeps
 * the previous one if memory is short. */
void levada_context_chosen(const levada_context *context, const char *text);

#endif
