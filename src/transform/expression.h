/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filter expressions:
 *
 *     expression = term { "and" term }
 *     term       = operand [ op value | "in" "[" value { "," value } "]" ]
 *     operand    = name | "len" "(" name ")"
 *     op         = "==" | "!=" | "<" | "<=" | ">" | ">="
 *     value      = number | true | false | "text" | 'text' | word
 *
 * An operand alone is true when it is not 0 and not empty. len() is the number of steps of a ragged
 * or padded field, the first dimension of a fixed one, and the bytes of a byte string. Names with
 * other characters than letters, digits, _ . / - stand in quotes.
 */
#ifndef LEVADA_TRANSFORM_EXPRESSION_H
#define LEVADA_TRANSFORM_EXPRESSION_H

#include "tensor/block_priv.h"

typedef struct levada_expression levada_expression;

/* EINVALID_ARGUMENT with the column where it goes wrong. */
LEVADA_MUST_USE levada_status levada_expression_parse(const char *text, levada_expression **out,
                                                      levada_error *err);
void levada_expression_destroy(levada_expression **expression);
/* Whether it fits these columns; a field that may still come is not checked. */
LEVADA_MUST_USE levada_status levada_expression_check(const levada_expression *expression,
                                                      const levada_spec *spec, levada_error *err);
/* keep[i] = 1 for the rows of a DATA block for which it holds, else 0. `scratch` has space for one
 * int64 per row. */
LEVADA_MUST_USE levada_status levada_expression_match(const levada_expression *expression,
                                                      const levada_block *block, uint8_t *keep,
                                                      int64_t *scratch, levada_error *err);

#endif
