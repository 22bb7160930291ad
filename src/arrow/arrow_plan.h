/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Arrow type of a spec as a tree, which the export of a schema and of a block both walk.
 */
#ifndef LEVADA_ARROW_PLAN_H
#define LEVADA_ARROW_PLAN_H

#include <levada/arrow.h>

typedef enum levada_arrow_kind {
    LEVADA_ARROW_STRUCT, /* a record or an object                                    */
    LEVADA_ARROW_LIST,   /* ragged level `at`                                        */
    LEVADA_ARROW_OPEN,   /* dimension `at`, whose size each block has                */
    LEVADA_ARROW_FIXED,  /* `size` items                                             */
    LEVADA_ARROW_VALUES  /* numbers or strings of the column                         */
} levada_arrow_kind;

typedef struct levada_arrow_node levada_arrow_node;

struct levada_arrow_node {
    levada_arrow_kind   kind;
    char        *name;  /* owned                                              */
    const levada_field *field; /* the first field below it; borrowed from the spec of the plan */
    int32_t      column;       /* its number */
    int32_t      at, n; /* level or dimension; number of children             */
    int64_t      size;
    levada_dtype dtype; /* of VALUES: those of a complex number are floats    */
    levada_arrow_node **child; /* owned */
};

/* Makes the tree of a spec without padded fields (levada_arrow_unpadded), which it keeps. */
LEVADA_MUST_USE levada_status levada_arrow_plan(const levada_spec *spec, levada_arrow_node **out,
                                                levada_error *err);
void levada_arrow_plan_free(levada_arrow_node **node);

/* Returns the spec with lists in place of padded fields: a new reference to the same one if it has
 * none. */
LEVADA_MUST_USE levada_status levada_arrow_unpadded(const levada_spec *spec, levada_spec **out,
                                                    levada_error *err);

/* Exports a tree as a type. */
LEVADA_MUST_USE levada_status levada_arrow_schema(const levada_arrow_node *node,
                                                  struct ArrowSchema *out, levada_error *err);
/* Exports the columns of a block as an array of the type of the tree. Each array of it has its own
 * reference to the block, so that a consumer may keep a part. */
LEVADA_MUST_USE levada_status levada_arrow_array(const levada_arrow_node *node,
                                                 const levada_block *block, struct ArrowArray *out,
                                                 levada_error *err);

#endif
