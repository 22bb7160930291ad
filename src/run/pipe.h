/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipes with places to fill in: datasets whose texts name fields of a record in braces, such as
 * tfrecord:"{path}", opened for one record after the other. "{{" is a brace.
 */
#ifndef LEVADA_RUN_PIPE_H
#define LEVADA_RUN_PIPE_H

#include "run/plan.h"

/* Checks that all places name fields of `in` that can be filled in: byte strings and integers. */
LEVADA_MUST_USE levada_status levada_pipe_check(const levada_dataset *pipe, const levada_spec *in,
                                                levada_error *err);
/* Binds the pipe with the values of a record (row of a DATA block) in its places: those in texts
 * and lists of texts among the options, not those of pipes among them. */
LEVADA_MUST_USE levada_status levada_pipe_bind(const levada_dataset *pipe,
                                               const levada_block *block, int64_t row,
                                               levada_dataset **out, levada_error *err);
/* Returns how many numbers of sources its nodes take; LEVADA_PIPE_SOURCES + 1 if they are more. */
int64_t levada_pipe_sources(const levada_dataset *pipe);
/* Returns how deep pipes are nested in it; 0 = there is none among the options of its stages. */
int32_t levada_pipe_depth(const levada_dataset *pipe);
/* Opens it below a running combiner, by one thread at a time. Free it with levada_node_destroy. */
LEVADA_MUST_USE levada_status levada_pipe_open(levada_run *run, const levada_dataset *pipe,
                                               const levada_pipe_place *place, levada_node **out,
                                               levada_error *err);

#endif
