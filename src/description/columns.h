/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks made of the columns of other blocks, without a copy of values; and specs that follow from
 * specs at run time, where the columns were not known before.
 */
#ifndef LEVADA_DESCRIPTION_COLUMNS_H
#define LEVADA_DESCRIPTION_COLUMNS_H

#include "tensor/block_priv.h"
#include <levada/value.h>

/* Picks a block of `spec` whose column i is column from[i] of `in` (which must be DATA); origins
 * and the rest go with it. from = NULL: the column of that name. */
LEVADA_MUST_USE levada_status levada_columns_pick(levada_pool *pool, const levada_block *in,
                                                  const levada_spec *spec, const int32_t *from,
                                                  levada_block **out, levada_error *err);

/* Begins a block of `spec`, which has the columns of `in` (DATA) and one more: shares the columns.
 * The caller fills *values, the rows of the last column, and calls levada_columns_publish. */
LEVADA_MUST_USE levada_status levada_columns_add(levada_pool *pool, const levada_block *in,
                                                 const levada_spec *spec, levada_builder **out,
                                                 void **values, levada_error *err);
/* Publishes the builder with the origins and the layout of `in`; takes *b as
 * levada_builder_publish does. */
LEVADA_MUST_USE levada_status levada_columns_publish(levada_pool *pool, levada_builder **b,
                                                     const levada_block *in, levada_block **out,
                                                     levada_error *err);

/* Blocks of several origins get one spec and one order of columns, to stand in one batch: replaces
 * *block (of any kind) by one of `spec` unless that is equal or open. */
LEVADA_MUST_USE levada_status levada_columns_adapt(levada_pool *pool, const levada_spec *spec,
                                                   levada_block **block, levada_error *err);

/* What check() of a stage derives for the spec that a block really has. Scratch of one thread;
 * all-zero is a valid empty one. */
typedef struct levada_derived {
    levada_spec *in, *out; /* the last pair */
} levada_derived;

typedef levada_status (*levada_derive)(const void *args, const levada_spec *in, levada_spec **out,
                                       levada_error *err);
/* Returns *out, borrowed until the next call. If check leaves it NULL, it is `in`. */
LEVADA_MUST_USE levada_status levada_derived_get(levada_derived *derived, levada_derive check,
                                                 const void *args, const levada_spec *in,
                                                 const levada_spec **out, levada_error *err);
void levada_derived_clear(levada_derived *derived);

/* Makes the spec with one more field of that name and dtype, the last one: one value per record. */
LEVADA_MUST_USE levada_status levada_spec_add_field(const levada_spec *in, const char *name,
                                                    levada_dtype dtype, levada_spec **out,
                                                    levada_error *err);
/* Joins the fields of `in` without `decoded`, followed by those of `made`, which replace others of
 * their name: the columns downstream of a decoder. */
LEVADA_MUST_USE levada_status levada_spec_join(const levada_spec *in, const char *decoded,
                                               const levada_spec *made, levada_spec **out,
                                               levada_error *err);
/* Copies the fields of a spec, with space for one more; to be freed with levada_free. Returns NULL
 * if out of memory. */
levada_field *levada_spec_copy_fields(const levada_spec *spec);
/* Returns EINVALID_ARGUMENT if `in` has batches, because the stage works on single records. */
LEVADA_MUST_USE levada_status levada_spec_want_records(const levada_spec *in, levada_error *err);
/* Checks that all inputs of a combiner emit batches, or all records. Adds their flags to `flags`.
 */
LEVADA_MUST_USE levada_status levada_spec_want_alike(const levada_spec *const *in, int32_t n,
                                                     int32_t *flags, levada_error *err);
/* Returns the number of dots in a name. */
int32_t levada_name_dots(const char *name);
/* Returns true if `field` is a member of the list of objects `name`, at any depth below it. */
bool levada_field_is_member(const levada_field *field, const char *name);
/* Finds the index of the field; -1 if it may appear later (an open spec); else EINVALID_ARGUMENT
 * with the available names. */
LEVADA_MUST_USE levada_status levada_spec_require(const levada_spec *spec, const char *name,
                                                  int32_t *out, levada_error *err);
/* Reads the spec that a map describes: {name: dtype}, or {name: {dtype, kind, shape}} with kind
 * FixedLen (the default), VarLen, Ragged or FixedLenSequence (one ragged level). Lists are [entry],
 * objects {member: entry}: {m: [{a: int64}]} is one field 'm.a'. */
LEVADA_MUST_USE levada_status levada_spec_read(const levada_value *map, int32_t flags,
                                               levada_spec **out, levada_error *err);
/* Checks that blocks of `is` have the declared columns: the same columns in that order, dimensions
 * as declared or any if that is -1, with lengths if declared. An open `declared` accepts all. Else
 * fails with EINVALID_ARGUMENT. */
LEVADA_MUST_USE levada_status levada_spec_fits(const levada_spec *declared, const levada_spec *is,
                                               levada_error *err);

#endif
