/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States for other mixtures: a state of a pipeline, for one whose named inputs of combiners (mix)
 * are other ones, or have other weights.
 *
 * The pipeline that the state describes runs on one thread up to the position. From there on a
 * state needs nothing that the old weights would have to make again. Paths, seeds and numbers of
 * sources below a named input depend on names alone (plan.c), so what this tree saves fits the new
 * one: inputs that both have continue, and inputs without entries begin. Records that wait
 * downstream of the combiner are saved by value, because the new inputs may not be able to read
 * them again.
 */
#ifndef LEVADA_RUN_REMIX_H
#define LEVADA_RUN_REMIX_H

#include "run/node.h"

/* Makes the dataset that `was` is with the named inputs and weights of `now`. */
LEVADA_MUST_USE levada_status levada_remix_dataset(const levada_dataset *was,
                                                   const levada_dataset *now,
                                                   levada_dataset **out, levada_error *err);
/* Returns an error if ranks share a mixture: they would change it at different records. */
LEVADA_MUST_USE levada_status levada_remix_check(const levada_dataset *dataset, levada_error *err);
/* Makes what a restored tree has to skip, and keeps the names of files of inputs that `now` does
 * not have: it can then be saved for `now`. */
LEVADA_MUST_USE levada_status levada_remix_prepare(levada_node *root, const levada_dataset *now,
                                                   levada_error *err);
/* Removes the entries of these inputs. */
void levada_remix_drop(const levada_node *root, const levada_dataset *now,
                       levada_state_writer *to);

#endif
