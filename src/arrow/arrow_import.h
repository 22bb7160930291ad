/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the import of types and of rows share: how a format is read, and the names of fields.
 *
 * Both walk a schema in the same order, so the n-th field of the spec is the n-th column of values
 * (with masks, the 2n-th).
 */
#ifndef LEVADA_ARROW_IMPORT_H
#define LEVADA_ARROW_IMPORT_H

#include "tensor/pool.h"
#include <levada/arrow.h>

typedef enum levada_arrow_form {
    LEVADA_FORM_NONE,      /* levada has no such type       */
    LEVADA_FORM_NUMBERS,   /* elements of `size` bytes      */
    LEVADA_FORM_BITS,
    LEVADA_FORM_STRINGS,   /* `size` = bytes of an offset   */
    LEVADA_FORM_VIEWS,
    LEVADA_FORM_FIXED_STRINGS, /* of `size` bytes           */
    LEVADA_FORM_STRUCT,
    LEVADA_FORM_LIST,      /* `size` = bytes of an offset   */
    LEVADA_FORM_LIST_VIEW, /* `size` = bytes of an offset   */
    LEVADA_FORM_FIXED,     /* lists of `size` items         */
    LEVADA_FORM_RUNS,
    LEVADA_FORM_DICTIONARY /* of indexes of `size` bytes, signed or not */
} levada_arrow_form;

typedef struct levada_arrow_import {
    levada_arrow_form  form;
    levada_dtype dtype; /* in a block */
    int64_t      size;
    bool         is_signed;
    int32_t      ndim; /* of a tensor, whose shape is in `dims`; 0 = one dimension of `size` */
    int64_t      dims[LEVADA_MAX_DIMS];
} levada_arrow_import;

/* Reads the format of a schema. EINVALID_ARGUMENT with `name` if levada does not have the type. */
LEVADA_MUST_USE levada_status levada_arrow_type(const struct ArrowSchema *schema, const char *name,
                                                levada_arrow_import *out, levada_error *err);

/* Reads the options of a caller, NULL = the defaults. */
LEVADA_MUST_USE levada_status levada_arrow_read(const levada_arrow_options *options,
                                                levada_arrow_options *out, levada_error *err);

/* A struct array, and what blocks may do with its memory. */
typedef struct levada_arrow_from {
    const levada_spec        *spec;
    const struct ArrowSchema *schema;
    const struct ArrowArray  *array;
    levada_arrow_nulls        nulls;
    const levada_buffer      *owner; /* keeps the array alive for blocks; NULL = copy all values */
    const uint8_t            *readable; /* memory around some of the buffers; NULL = not known   */
    int64_t                   readable_size;
} levada_arrow_from;

/* Imports n rows: those of the numbers in `rows`, each below the length of the array, or neighbors
 * from `first` on if that is NULL. */
LEVADA_MUST_USE levada_status levada_arrow_import_rows(levada_pool             *pool,
                                                       const levada_arrow_from *from,
                                                       int64_t first, const int64_t *rows,
                                                       int64_t n, levada_block **out,
                                                       levada_error *err);

enum { LEVADA_ARROW_NAME = 512 };

/* Writes the name of a member: "a.b", or "b" if the struct has no name. */
LEVADA_MUST_USE levada_status levada_arrow_name(const char *of, const char *member,
                                                char to[LEVADA_ARROW_NAME], levada_error *err);

#endif
