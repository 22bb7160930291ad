/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Infinity and NaN in values of any dtype: states of sequences are checked for them.
 */
#ifndef LEVADA_TENSOR_FINITE_H
#define LEVADA_TENSOR_FINITE_H

#include <levada/block.h>

/* Returns the first of n elements that is infinite or NaN; -1 if there is none. */
int64_t levada_not_finite(levada_dtype dtype, const void *data, int64_t n);

#endif
