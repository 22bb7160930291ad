/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks made by hand, for tests of what works on them.
 */
#ifndef LEVADA_TESTS_BLOCKS_H
#define LEVADA_TESTS_BLOCKS_H

#include "tensor/block_priv.h"

/* Columns `x` (int64, ragged depth 1: row i has lengths[i] times the value first + i), `n` (int64
 * scalar, first + i) and `s` (byte strings: as many letters 'a' + i % 26 as `n` modulo 5). */
levada_block *test_block(levada_pool *pool, const int32_t *lengths, int64_t rows, int64_t first);
/* Words of sentences: `w` int32, depth 2. Row r has outer[r] sentences; their lengths come from
 * inner, one after the other; values count up from 0. */
levada_block *test_nested(levada_pool *pool, const int32_t *outer, int64_t rows,
                          const int32_t *inner);
levada_pool  *test_pool(void);

#endif
