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

/* Copies the path of the file of a record, as levada_iter_origin_file; any thread. */
LEVADA_MUST_USE levada_status levada_context_file(const levada_context *context,
                                                  const levada_origin *of, char **out,
                                                  levada_error *err);

/* Returns the pipeline that a stage with one input reads: borrowed for its life; NULL if it is not
 * known. */
const levada_dataset *levada_context_input(const levada_context *context);

/* Hints that a stage makes batches of `rows` neighboring records. The fused stages that it reads,
 * if they read a file, then emit blocks that are whole batches if they can; other sizes never
 * change a result. At open. */
void levada_context_hint_batch_size(const levada_context *context, int64_t rows);

/* Sets what levada_iter_explain prints about the choice that the stage made by looking at data.
 * Copies the text, and keeps the previous one if memory is short. */
void levada_context_set_explain_note(const levada_context *context, const char *text);

/* Sets number `which` (0 to LEVADA_GAUGES - 1) that the stage shows in statistics and wait reports,
 * under a name that is a constant. `age`: the value is an age in nanoseconds; how
 * old it is when somebody looks is shown, in seconds. -1 = none. */
void levada_context_set_gauge(const levada_context *context, int which, const char *name,
                              int64_t value, bool age);

#endif
