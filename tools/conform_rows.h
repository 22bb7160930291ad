/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of an iterator, as bytes that do not depend on their division into blocks, and where
 * two of these differ.
 *
 * Before batching the unit is a record: a cell for each column. Of batches the unit is the batch: a
 * cell with its number of rows and dimensions, then one for each column.
 */
#ifndef LEVADA_TOOLS_CONFORM_ROWS_H
#define LEVADA_TOOLS_CONFORM_ROWS_H

#include "buffer.h"
#include <levada/block.h>

/* Begins as zeros but for `batches`. */
typedef struct levada_conform_rows {
    bool              batches;
    levada_cli_buffer bytes;
    levada_cli_buffer ends;  /* size_t: where each cell ends in bytes */
    levada_spec      *spec;  /* of the first block                     */
    int64_t           n;     /* units                                  */
    int64_t           cells; /* of one unit                            */
} levada_conform_rows;

void levada_conform_rows_add(levada_conform_rows *rows, const levada_block *block);
void levada_conform_rows_clear(levada_conform_rows *rows);

/* Hashes the rows of one unit. */
uint64_t levada_conform_rows_hash(const levada_conform_rows *rows, int64_t unit);
/* Returns false if they are alike; else `text` says where `got` is another one than `want`. */
bool levada_conform_rows_differ(const levada_conform_rows *want, const levada_conform_rows *got,
                                char *text, size_t size);

#endif
