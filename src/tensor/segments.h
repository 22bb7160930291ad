/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments: how a sequence is cut into pieces of `unroll` steps, and what they are called.
 */
#ifndef LEVADA_TENSOR_SEGMENTS_H
#define LEVADA_TENSOR_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>

/* Returns how many segments `steps` steps need, padded at the end: at least 1. */
int64_t levada_segments_count(int64_t steps, int64_t unroll);
/* Returns the real steps of segment `number` of a sequence of `length` steps: 0 to unroll. */
int64_t levada_segments_length(int64_t length, int64_t unroll, int64_t number);

/* Bytes that a key of a segment has before the key of its example: "00003_of_00012:" */
#define LEVADA_SEGMENTS_PREFIX 48
/* Writes that prefix, or "STOP:" for number = count, without a zero; returns its size. */
size_t levada_segments_prefix(int64_t number, int64_t count, char to[LEVADA_SEGMENTS_PREFIX]);

#endif
