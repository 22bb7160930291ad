/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions from the inside: a tree of nodes, whose children precede them.
 */
#ifndef LEVADA_TRANSFORM_EXPRESSION_PRIV_H
#define LEVADA_TRANSFORM_EXPRESSION_PRIV_H

#include "transform/expression.h"

#define LEVADA_EXPRESSION_NODES 192
#define LEVADA_EXPRESSION_DEPTH 64

typedef enum levada_expression_op {
    LEVADA_EXPRESSION_FIELD,
    LEVADA_EXPRESSION_LENGTH, /* of a field */
    LEVADA_EXPRESSION_CONST,
    LEVADA_EXPRESSION_NEGATE,
    LEVADA_EXPRESSION_ABS,
    LEVADA_EXPRESSION_CAST,
    LEVADA_EXPRESSION_NOT,
    LEVADA_EXPRESSION_ADD,
    LEVADA_EXPRESSION_SUBTRACT,
    LEVADA_EXPRESSION_MULTIPLY,
    LEVADA_EXPRESSION_DIVIDE,
    LEVADA_EXPRESSION_FLOOR,
    LEVADA_EXPRESSION_REMAINDER,
    LEVADA_EXPRESSION_EQ,
    LEVADA_EXPRESSION_NE,
    LEVADA_EXPRESSION_LT,
    LEVADA_EXPRESSION_LE,
    LEVADA_EXPRESSION_GT,
    LEVADA_EXPRESSION_GE,
    LEVADA_EXPRESSION_IN,
    LEVADA_EXPRESSION_AND,
    LEVADA_EXPRESSION_OR
} levada_expression_op;

typedef struct levada_expression_value {
    bool        number, integer; /* neither number nor integer: a text */
    int64_t     i;
    double      f;
    const char *text;
    size_t      size;
} levada_expression_value;

typedef struct levada_expression_node {
    levada_expression_op     op;
    int32_t           a, b;   /* operands                                                 */
    const char       *field;  /* FIELD, LENGTH                                            */
    bool              quoted; /* the field                                                */
    int32_t           beside; /* FIELD to the right of a comparison: what is to its left; else -1 */
    levada_dtype      dtype;  /* CAST                                                     */
    levada_expression_value *values; /* CONST: one; IN: n of them; owned                         */
    int64_t           n, capacity;
    int32_t           depth;  /* of the tree below it, itself included                    */
} levada_expression_node;

struct levada_expression {
    int32_t         n;
    levada_expression_node nodes[LEVADA_EXPRESSION_NODES]; /* the last one is the whole */
    char           *memory;                  /* names and texts, unquoted, each terminated */
};

typedef enum levada_expression_kind {
    LEVADA_EXPRESSION_STRONG, /* values of a dtype                                           */
    LEVADA_EXPRESSION_WEAK,   /* a number of the text: of the dtype of the other operand     */
    LEVADA_EXPRESSION_TEXT,   /* byte strings of a field                                     */
    LEVADA_EXPRESSION_WORD,   /* a text of the expression                                    */
    LEVADA_EXPRESSION_UNKNOWN /* a field that may still come is in it                        */
} levada_expression_kind;

/* A node for the columns of a spec. */
typedef struct levada_expression_type {
    levada_expression_kind kind;
    levada_dtype    dtype;  /* STRONG; WEAK: INT64 or FLOAT64                                  */
    levada_dtype    common; /* in which the operands are compared or computed                  */
    int32_t         column; /* FIELD, LENGTH                                                   */
    uint8_t         depth, ndim;
    int64_t         dims[LEVADA_MAX_DIMS];
} levada_expression_type;

/* Binds the types of all nodes. `constants`: a text in quotes alone is a constant, not a field. */
levada_status levada_expression_bind(const levada_expression *e, const levada_spec *spec,
                                     bool constants, levada_expression_type *types,
                                     levada_error *err);
/* Evaluates a condition, which has one value for each record. */
levada_status levada_expression_condition(const levada_expression *e, const levada_spec *spec,
                                   levada_expression_type *types, levada_error *err);

#endif
