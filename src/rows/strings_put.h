/* SPDX-License-Identifier: Apache-2.0 */
/* Strings that lie somewhere in memory as one level of a column: without a copy where all of them
 * lie in one buffer. */
#ifndef LEVADA_ROWS_STRINGS_PUT_H
#define LEVADA_ROWS_STRINGS_PUT_H

#include <levada/builder.h>

typedef struct levada_text_span {
    const uint8_t *at;
    int32_t        size;
    bool           escaped; /* for the user; not looked at here */
} levada_text_span;

/* Fills `level` of a column with n strings. `owner` may be NULL: all are copied. More than 2 GiB
 * are ERESOURCE_EXHAUSTED. */
LEVADA_MUST_USE levada_status levada_strings_put(levada_builder *out, int32_t column, int32_t level,
                                                 const levada_text_span *spans, int64_t n,
                                                 const levada_buffer *owner, levada_error *err);

#endif
