/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run of fused stages: neighboring PURE stages, decoders and fused ends of SERIAL stages, applied
 * to one block one after the other. Each thread that may apply it has scratch states of its own.
 */
#ifndef LEVADA_RUN_FUSED_H
#define LEVADA_RUN_FUSED_H

#include "description/dataset_priv.h"

typedef struct levada_fused levada_fused;
struct levada_hint;
struct levada_item;
struct levada_run;
struct levada_skip_place;
struct levada_absent;

/* Creates fused stages with `threads` sets of states. */
LEVADA_MUST_USE levada_status levada_fused_create(int32_t threads, levada_fused **out,
                                                  levada_error *err);
void levada_fused_destroy(levada_fused **fused);
/* Adds one more stage at the end. `path` is copied. */
LEVADA_MUST_USE levada_status levada_fused_add(levada_fused *fused, const levada_dataset *at,
                                               const levada_context *context, const char *path,
                                               levada_error *err);
int32_t            levada_fused_count(const levada_fused *fused);
/* Returns the spec of its last stage; NULL without one. */
const levada_spec *levada_fused_spec(const levada_fused *fused);
const char        *levada_fused_path(const levada_fused *fused);
/* Returns true if rows can be followed through it (no stage is FREE). */
bool levada_fused_rereadable(const levada_fused *fused);

/* Declares that its input is batches, which are not cut. Call it before the first block. */
void levada_fused_set_input_batched(levada_fused *fused);
/* Lets the result have columns that are not decoded (tensor/encoded.h). Before it is applied. */
void levada_fused_set_encoded(levada_fused *fused);
/* Returns true if its input may have such columns: its first stage that does not only pass columns
 * on reads them, or there is none and the result may have them. */
bool levada_fused_reads_encoded(const levada_fused *fused);
/* Makes batches of `rows` records of its result: it wants its input in blocks that become whole
 * batches, if all stages keep the number of rows and all columns can be passed on as those of a
 * batch. A rejected record shifts the next batches, until a smaller block puts them right. */
void levada_fused_set_batch(levada_fused *fused, int64_t rows);
/* Returns what it wants of the next block that it is applied to: as many rows as the batch lacks,
 * and as the pace of a function of the user for single records allows (run/pace.h). */
struct levada_hint levada_fused_hint(const levada_fused *fused);
/* Counts leading rows of a block, at least one, that a decoder that measures decodes into at most
 * LEVADA_FUSED_BYTES. */
#define LEVADA_FUSED_BYTES ((int64_t)4 << 20)
LEVADA_MUST_USE levada_status levada_fused_measure(const levada_fused *fused,
                                                   const levada_block *in, int64_t *rows,
                                                   levada_error *err);
/* Counts rows of the input, by the thread that pulls; less than 0: they were returned. */
void levada_fused_pulled(levada_fused *fused, int64_t rows);
/* Returns true if a block must wait for the result of the one before it, because the first record
 * that leaves a function of the user chooses the columns: threads must not change which one. */
bool levada_fused_in_turn(const levada_fused *fused);
/* Prepares for the input and the consumer to begin again. */
void levada_fused_rewind(levada_fused *fused);
/* Applies all of it. `in` is borrowed. The result carries the rejects of `in` and, at `place`,
 * those of these stages, each before the rows that came after it. */
LEVADA_MUST_USE levada_status levada_fused_apply(levada_fused *fused, struct levada_run *run,
                                                 const struct levada_skip_place *place,
                                                 int32_t thread, const struct levada_item *in,
                                                 struct levada_item *out, levada_error *err);
/* Ends a pass that has been read to its end, when no thread is in it. Returns true if it is the
 * first one that was read whole: the first pass of a run that was `resumed` was not. */
bool levada_fused_end(levada_fused *fused, bool resumed);
/* Adds what the decoders found. No thread is in it. */
void levada_fused_found(const levada_fused *fused, struct levada_absent *to);
/* Makes functions that run in it return soon; any thread. */
void levada_fused_cancel(levada_fused *fused);
/* Nanoseconds spent in stage i so far, records that left it, and its path. */
void levada_fused_counts(const levada_fused *fused, int32_t i, const char **path,
                         int64_t *nanoseconds, int64_t *records, int64_t *blocks);

#endif
