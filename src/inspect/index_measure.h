/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an index says about the content of its file.
 */
#ifndef LEVADA_INSPECT_INDEX_MEASURE_H
#define LEVADA_INSPECT_INDEX_MEASURE_H

#include "files/index.h"

/* Reads the file: sets `sum` and `mark` of *foot. */
LEVADA_MUST_USE levada_status levada_index_measure(levada_env *env, const char *path,
                                                   levada_index_foot *foot, levada_error *err);

#endif
