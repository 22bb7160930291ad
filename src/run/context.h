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
/* For SERIAL stages that make each block of one: applies the policy to the rejected rows of *made,
 * the result of `in`, and counts the records. On failure *made is gone, or still the caller's. */
LEVADA_MUST_USE levada_status levada_context_settle(const levada_context *context,
                                                    const levada_block *in, levada_block **made,
                                                    levada_error *err);

#endif
