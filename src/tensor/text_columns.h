/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the text columns that a decoder has filled, so that every text column is UTF-8.
 *
 * A decoder that knows its text to be UTF-8 says so with LEVADA_TEXT_CHECKED in the builder.
 */
#ifndef LEVADA_TENSOR_TEXT_COLUMNS_H
#define LEVADA_TENSOR_TEXT_COLUMNS_H

#include <levada/builder.h>

/* Rejects the rows that have a text which is not UTF-8, or replaces its bad bytes by U+FFFD, as the
 * builder says. Call it between the decoder and publish. */
LEVADA_MUST_USE levada_status levada_builder_check_text(levada_builder *b, levada_error *err);

/* Sets what levada_builder_check_text does. */
typedef enum levada_text_rule {
    LEVADA_TEXT_REJECT,
    LEVADA_TEXT_REPLACE,
    LEVADA_TEXT_CHECKED
} levada_text_rule;

void levada_builder_text_rule(levada_builder *b, levada_text_rule rule);

#endif
