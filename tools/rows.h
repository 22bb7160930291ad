/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks as JSON: what is in them, row by row, or only their shapes.
 */
#ifndef LEVADA_TOOLS_ROWS_H
#define LEVADA_TOOLS_ROWS_H

#include "buffer.h"
#include <levada/iter.h>

/* Name of a record: "FILE:NUMBER"; without a file its number in its source. What a zip put together
 * is "a.txt:3 + b.txt:7". */
void levada_cli_row_key(levada_cli_buffer *b, const levada_iter *it, const levada_block *block,
                        int64_t row);

/* {"batch":0,"records":32,"columns":{"tokens":{"dtype":"int64","shape":[32,null],
 *  "lengths":[...]}},"keys":[...]} */
void levada_cli_batch_json(levada_cli_buffer *b, const levada_iter *it, const levada_block *block,
                           int64_t ordinal);

/* The value of one column in one row: numbers, strings, lists of them. */
void levada_cli_cell_json(levada_cli_buffer *b, const levada_column *column, int64_t row);

/* One record as an object: {"tokens":[1,2],"name":"a"}. */
void levada_cli_row_json(levada_cli_buffer *b, const levada_block *block, int64_t row);

#endif
