/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of one dtype as numbers of another one.
 */
#ifndef LEVADA_TENSOR_CONVERT_H
#define LEVADA_TENSOR_CONVERT_H

#include <levada/spec.h>

/* Returns true if there is a conversion: between bool, integers and floats. */
bool levada_convert_known(levada_dtype from, levada_dtype to);
/* Converts n elements (memory aligned for its dtype). Returns how many do not fit: numbers out of
 * range, and NaN where integers are wanted; their result is 0. Floats are rounded to the nearest
 * (even), and infinity and NaN stay what they are; where integers are wanted they are cut towards
 * zero. To bool: whether it is not 0. */
int64_t levada_convert(levada_dtype from, const void *in, levada_dtype to, void *out, int64_t n);

#endif
