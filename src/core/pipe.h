/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipes with places to fill in: datasets whose texts name fields of a record in braces, such as
 * tfrecord:"{path}", opened for one record after the other. "{{" stands for a brace.
 */
#ifndef LEVADA_CORE_PIPE_H
#define LEVADA_CORE_PIPE_H

#include "core/iter_priv.h"

/* Whether all places name fields of `in` that can be filled in: byte strings and integers. */
LEVADA_MUST_USE levada_status levada_pipe_check(const levada_dataset *pipe, const levada_spec *in,
                                                levada_error *err);
/* The pipe with the values of a record (row of a DATA block) in its places: those in texts and
 * lists of texts among the options, not those of pipes among them. */
LEVADA_MUST_USE levada_status levada_pipe_bind(const levada_dataset *pipe,
                                               const levada_block *block, int64_t row,
                                               levada_dataset **out, levada_error *err);
/* Numbers of sources that its nodes take. */
int32_t levada_pipe_leaves(const levada_dataset *pipe);
/* Opens it below a running joint, by one thread at a time. Free it with levada_node_destroy. */
LEVADA_MUST_USE levada_status levada_pipe_open(levada_run *run, const levada_dataset *pipe,
                                               const levada_pipe_place *place, levada_iter **out,
                                               levada_error *err);

#endif
