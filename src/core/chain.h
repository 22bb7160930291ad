/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain: neighbouring PURE stages, decoders and tails of SERIAL stages, applied to one block one
 * after the other. Each thread that may apply it has scratch states of its own.
 */
#ifndef LEVADA_CORE_CHAIN_H
#define LEVADA_CORE_CHAIN_H

#include "core/dataset_priv.h"

typedef struct levada_chain levada_chain;
struct levada_run;

/* `threads` sets of states. */
LEVADA_MUST_USE levada_status levada_chain_create(int32_t threads, levada_chain **out,
                                                  levada_error *err);
void levada_chain_destroy(levada_chain **chain);
/* One more stage at the end. `path` is copied. */
LEVADA_MUST_USE levada_status levada_chain_add(levada_chain *chain, const levada_dataset *at,
                                               const levada_context *context, const char *path,
                                               levada_error *err);
int32_t            levada_chain_count(const levada_chain *chain);
const levada_spec *levada_chain_spec(const levada_chain *chain);
/* True when rows can be followed through it (no stage is FREE). */
bool levada_chain_rereadable(const levada_chain *chain);

/* Rejects go with the result whatever the policy is. Before it is applied. */
void levada_chain_carry(levada_chain *chain);
/* Applies all of it. `in` is borrowed; where the run's policy
 * lets rejects pass, the result carries them (levada_node_settle). */
LEVADA_MUST_USE levada_status levada_chain_apply(levada_chain *chain, struct levada_run *run,
                                                 int32_t thread, const levada_block *in,
                                                 levada_block **out, levada_error *err);
/* Makes functions that run in it return soon; any thread. */
void levada_chain_cancel(levada_chain *chain);
/* Nanoseconds spent in stage i so far, records that left it, and its path. */
void levada_chain_counts(const levada_chain *chain, int32_t i, const char **path,
                         int64_t *nanoseconds, int64_t *records, int64_t *blocks);

#endif
