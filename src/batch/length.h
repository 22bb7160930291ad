/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The length of a record, by which it is put in a bucket: the first dimension of a field, the bytes
 * of a byte string, or the value of an integer field.
 */
#ifndef LEVADA_BATCH_LENGTH_H
#define LEVADA_BATCH_LENGTH_H

#include "tensor/block_priv.h"
#include <levada/option.h>

/* Returns EINVALID_ARGUMENT if records of `in` have no length under this name. */
LEVADA_MUST_USE levada_status levada_length_check(const char *field, const levada_spec *in,
                                                  levada_error *err);
/* Returns one integer of that dtype; an unsigned one beyond INT64_MAX is INT64_MAX. */
int64_t levada_length_number(levada_dtype dtype, const void *at);
/* Measures the length of each row of a block of any kind, into lengths[0], lengths[stride], ... */
LEVADA_MUST_USE levada_status levada_length_measure(const char *field, const levada_block *block,
                                                    int64_t *lengths, int64_t stride,
                                                    levada_error *err);
/* Measures several fields: the lengths of row i go into lengths[i * fields->n] and after it. */
LEVADA_MUST_USE levada_status levada_lengths_measure(const levada_texts *fields,
                                                     const levada_block *block, int64_t *lengths,
                                                     levada_error *err);

#endif
