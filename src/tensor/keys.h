/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys: blocks that stand for records which have not been read.
 *
 * A key is the origin of a record with the lengths of some of its fields: an int64 column for each.
 * Stages that only choose and order records, and those that place them by length, process keys as
 * they process records. The spec of a block tells whether it has keys.
 */
#ifndef LEVADA_TENSOR_KEYS_H
#define LEVADA_TENSOR_KEYS_H

#include <levada/builder.h>

typedef struct levada_pool levada_pool;

#define LEVADA_KEY_FIELDS 8 /* most fields with lengths */

/* Creates the spec of keys with the lengths of these fields; n is at most LEVADA_KEY_FIELDS. */
LEVADA_MUST_USE levada_status levada_spec_create_keys(const char *const *fields, int32_t n,
                                                      levada_spec **out, levada_error *err);
bool levada_spec_is_keys(const levada_spec *spec);

/* Writes the lengths of field k of these records, whose origins may be any. */
typedef levada_status levada_key_lengths(void *user, int32_t k, const levada_origin *origins,
                                         int64_t n, int64_t *out, levada_error *err);
/* Creates the keys of n records. `lengths` is called once for each field. */
LEVADA_MUST_USE levada_status levada_keys_create(levada_pool *pool, const levada_spec *spec,
                                                 const levada_origin *origins, int64_t n,
                                                 levada_key_lengths *lengths, void *user,
                                                 levada_block **out, levada_error *err);

#endif
