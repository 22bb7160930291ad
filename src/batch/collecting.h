/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One record out of neighboring records: each field has one more ragged level, on the same values.
 * For stages that collect: `collect`, which makes a record of a batch, and `group_by`.
 */
#ifndef LEVADA_BATCH_COLLECTING_H
#define LEVADA_BATCH_COLLECTING_H

#include "tensor/block_priv.h"

/* Makes the columns of the collected records. The field `key`, which may be NULL, stays as it is:
 * it has one value in all records of a group. */
LEVADA_MUST_USE levada_status levada_collecting_spec(const levada_spec *in, const char *key,
                                                     levada_spec **out, levada_error *err);
/* Makes a block of `spec` with one record for each of n groups of rows, which end at ends[], of a
 * DATA block. A record has the origins of its first row. Any thread may call it. */
LEVADA_MUST_USE levada_status levada_collecting_block(levada_pool *pool, const levada_spec *spec,
                                                      const char *key, const levada_block *in,
                                                      const int32_t *ends, int64_t n,
                                                      levada_block **out, levada_error *err);

#endif
