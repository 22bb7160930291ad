/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Costs that a function of the user computes: from the padded lengths of one record, a number.
 *
 * The function receives a block with one int64 column for each length, named after its field, and
 * returns as many rows whose first column is the cost, an int64 or a float64. It must be pure and
 * should not fall when a length grows. Each combination of lengths is computed once and remembered,
 * so the function runs once for each block with new lengths, never for each record. Used by one
 * thread at a time, but for cancel.
 */
#ifndef LEVADA_BATCH_COST_FUNCTION_H
#define LEVADA_BATCH_COST_FUNCTION_H

#include "batch/cost.h"
#include <levada/option.h>
#include <levada/stage.h>

/* Refuses a function that is not pure. */
LEVADA_MUST_USE levada_status levada_cost_function_check(const levada_function *function,
                                                         levada_error *err);
/* Opens the function; `fields` are the names of the lengths, and function and context outlive the
 * result. */
LEVADA_MUST_USE levada_status levada_cost_function_open(const levada_function *function,
                                                        const levada_context  *context,
                                                        const levada_texts    *fields,
                                                        levada_cost_function **out,
                                                        levada_error          *err);
void levada_cost_function_close(levada_cost_function **function);
void levada_cost_function_cancel(levada_cost_function *function); /* any thread */

/* Notes a combination of padded lengths whose cost will be needed. */
LEVADA_MUST_USE levada_status levada_cost_function_note(levada_cost_function *function,
                                                        const int64_t        *padded,
                                                        levada_error         *err);
/* Computes all costs that are not known yet, in one call. AGAIN: the function has no answer yet. */
LEVADA_MUST_USE levada_status levada_cost_function_run(levada_cost_function *function,
                                                       levada_error         *err);
/* Returns the cost of one combination; 1 if the function returned 0. */
LEVADA_MUST_USE levada_status levada_cost_function_get(levada_cost_function *function,
                                                       const int64_t *padded, double *out,
                                                       levada_error *err);

#endif
