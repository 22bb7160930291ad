/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether rows convert: the decoder of a format with typed columns, run over framed rows for its
 * rejects alone. So `verify` refuses the rows that a run refuses. One owner, one thread at a time.
 */
#ifndef LEVADA_INSPECT_ROWS_CHECK_H
#define LEVADA_INSPECT_ROWS_CHECK_H

#include "description/dataset_priv.h"
#include "tensor/block_priv.h"

/* All-zero is closed, and checks nothing. */
typedef struct levada_rows_check {
    const levada_decoder_def *decoder; /* NULL = the format has no typed columns */
    const levada_dataset     *dataset; /* borrowed: one format with its options */
    void                     *state;
    bool                      opened;
    levada_block             *decoded; /* of the last block; its rejects are sorted by row */
} levada_rows_check;

/* Opens the check; `context` is that of the file reader, borrowed for its life. Close it after a
 * failure, too. */
LEVADA_MUST_USE levada_status levada_rows_check_open(levada_rows_check    *check,
                                                     const levada_dataset *dataset,
                                                     const levada_context *context,
                                                     levada_error         *err);
void levada_rows_check_close(levada_rows_check *check);

/* Decodes a block of rows as the file reader returns it. Sets *rejects, borrowed until the next
 * call, and *n: at most one for each row. A bad row does not fail the call. */
LEVADA_MUST_USE levada_status levada_rows_check_block(levada_rows_check    *check,
                                                      const levada_block   *rows,
                                                      const levada_reject **rejects, int32_t *n,
                                                      levada_error *err);

#endif
