/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions over the fields of a record, for `filter` and `with_columns`:
 *
 *     expression = and { "or" and }              and   = not { "and" not }
 *     not        = "not" not | compare
 *     compare    = sum [ op sum | [ "not" ] "in" "[" value { "," value } "]" ]
 *     sum        = term { ( "+" | "-" ) term }   term  = factor { ( "*" | "/" | "//" | "%" ) factor
 * } factor     = "-" factor | number | true | false | "text" | 'text' | name | function "("
 * expression ")" | "(" expression ")" op         = "==" | "!=" | "<" | "<=" | ">" | ">="
 *
 * len() is the number of steps of a ragged or padded field, the first dimension of a fixed one, and
 * the bytes of a byte string; abs(), int64() and float16() to float64() take a number. Names may
 * have / and
 * -, so operators stand between spaces; other names stand in quotes to the left of an op. A word to
 * the right of an op is a text if a byte string is compared with it.
 *
 * Dtypes and values are those of NumPy 2, where numbers in the text are Python's. Sequences are
 * computed element by element; a single number of a record counts for each of its elements.
 */
#ifndef LEVADA_TRANSFORM_EXPRESSION_H
#define LEVADA_TRANSFORM_EXPRESSION_H

#include "tensor/block_priv.h"

typedef struct levada_expression levada_expression;

/* Parses an expression. Returns EINVALID_ARGUMENT with the column of the fault. */
LEVADA_MUST_USE levada_status levada_expression_parse(const char *text, levada_expression **out,
                                                      levada_error *err);
void levada_expression_destroy(levada_expression **expression);
/* Checks that it is a condition of these columns; a field that may still come is not checked. */
LEVADA_MUST_USE levada_status levada_expression_check(const levada_expression *expression,
                                                      const levada_spec *spec, levada_error *err);
/* Sets keep[i] = 1 for the rows of a DATA block for which it holds, else 0. */
LEVADA_MUST_USE levada_status levada_expression_match(const levada_expression *expression,
                                                      const levada_block *block, uint8_t *keep,
                                                      levada_error *err);
/* Finds the field of its values: sets dtype, depth and dims of *out; false in *known if a field may
 * still come. */
LEVADA_MUST_USE levada_status levada_expression_field(const levada_expression *expression,
                                                      const levada_spec *spec, levada_field *out,
                                                      bool *known, levada_error *err);
/* Fills column i of a builder, whose spec has that field, for the rows of a DATA block. Records
 * whose sequences differ in length are rejected. */
LEVADA_MUST_USE levada_status levada_expression_fill(const levada_expression *expression,
                                                     const levada_block *block, levada_builder *b,
                                                     int32_t i, levada_error *err);

#endif
