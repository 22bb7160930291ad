/* SPDX-License-Identifier: Apache-2.0 */
/* Strings whose bytes are numbers as one ragged column: without a copy if all of them are aligned
 * parts of one buffer. */
#ifndef LEVADA_ROWS_NUMBERS_PUT_H
#define LEVADA_ROWS_NUMBERS_PUT_H

#include <levada/builder.h>
#include <levada/decoder.h>

/* Fills a ragged column of depth 1 with the numbers of `in`, each `width` bytes long. Bytes after
 * the last whole number of a string are dropped. ERESOURCE_EXHAUSTED if the block has 2^31 numbers
 * or more. */
LEVADA_MUST_USE levada_status levada_numbers_put(levada_builder *out, int32_t column,
                                                 const levada_strings *in, int64_t width,
                                                 levada_error *err);
/* Does the same with a copy, for callers that change the numbers; *values receives it, *total how
 * many there are. */
LEVADA_MUST_USE levada_status levada_numbers_copy(levada_builder *out, int32_t column,
                                                  const levada_strings *in, int64_t width,
                                                  void **values, int64_t *total,
                                                  levada_error *err);

#endif
