/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calling functions of the user: one running use of a function, by one thread at a time (but for
 * cancel). All-zero is a valid cleared state.
 */
#ifndef LEVADA_RUN_CALL_H
#define LEVADA_RUN_CALL_H

#include "tensor/block_priv.h"
#include <levada/stage.h>

typedef struct levada_call {
    const levada_function_def *def; /* borrowed from the function; NULL = not open */
    void                      *run;
    levada_pool               *pool;
    struct levada_run         *of; /* knows the names of files */
} levada_call;

/* Returns the columns that a stage has after a function: those of `spec`, or an open spec if it is
 * NULL. Refuses a function of single records if `in` has batches. */
LEVADA_MUST_USE levada_status levada_call_spec(const levada_function *function,
                                               const levada_value *spec, const levada_spec *in,
                                               levada_spec **out, levada_error *err);
LEVADA_MUST_USE levada_status levada_call_open(levada_call *call, const levada_function *function,
                                               const levada_context *context, levada_error *err);
void levada_call_close(levada_call *call);
/* Makes a running call return soon; any thread. */
void levada_call_cancel(const levada_call *call);
/* Calls the function with one block of any kind (borrowed) or NULL, and returns a new DATA block.
 */
LEVADA_MUST_USE levada_status levada_call_block(const levada_call *call, const levada_block *in,
                                                levada_block **out, levada_error *err);
/* Calls a function from rows to rows: the result has as many rows as `in`, fits `spec` (NULL =
 * any), and has its origins. A padded field of `in` that comes back without lengths keeps those
 * that it had. */
LEVADA_MUST_USE levada_status levada_call_rows(const levada_call *call, const levada_block *in,
                                               const levada_spec *spec, levada_block **out,
                                               levada_error *err);
/* Saves the position of the function, if it has one. */
LEVADA_MUST_USE levada_status levada_call_save(const levada_call *call, levada_state_writer *to,
                                               levada_error *err);
LEVADA_MUST_USE levada_status levada_call_restore(const levada_call *call,
                                                  levada_state_reader *from, levada_error *err);

#endif
