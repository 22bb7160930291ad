/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of expressions: which dtype and shape each node has for the columns of a spec. The rules
 * are those of NumPy 2.
 */
#include "description/columns.h"
#include "tensor/convert.h"
#include "tensor/tensor_priv.h"
#include "transform/expression_priv.h"

#include <string.h>

/* -- dtypes */

static bool type_is_int(levada_dtype d) { return d >= LEVADA_INT8 && d <= LEVADA_UINT64; }
static bool type_is_unsigned(levada_dtype d) { return d >= LEVADA_UINT8 && d <= LEVADA_UINT64; }
static bool type_is_float(levada_dtype d) { return d >= LEVADA_FLOAT16 && d <= LEVADA_FLOAT64; }

/* Returns the integer of `bytes` bytes. */
static levada_dtype type_int(int64_t bytes, bool is_unsigned)
{
    int32_t step = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;

    return (levada_dtype)((int32_t)(is_unsigned ? LEVADA_UINT8 : LEVADA_INT8) + step);
}

/* Returns the float that holds integers of this dtype next to `f`. */
static levada_dtype type_mix(levada_dtype i, levada_dtype f)
{
    int64_t bytes = i == LEVADA_BOOL ? 0 : levada_dtype_size(i);

    if (bytes >= 4) return LEVADA_FLOAT64;
    return bytes == 2 && f == LEVADA_FLOAT16 ? LEVADA_FLOAT32 : f;
}

static levada_dtype type_ints(levada_dtype a, levada_dtype b)
{
    int64_t      x = levada_dtype_size(a), y = levada_dtype_size(b);
    levada_dtype other;

    if (type_is_unsigned(a) == type_is_unsigned(b)) return x >= y ? a : b;
    other = type_is_unsigned(a) ? b : a; /* the signed one */
    x = levada_dtype_size(type_is_unsigned(a) ? a : b);
    if (levada_dtype_size(other) > x) return other;
    return x == 8 ? LEVADA_FLOAT64 : type_int(2 * x, false);
}

/* Returns the dtype that holds both. */
static levada_dtype type_common(levada_dtype a, levada_dtype b)
{
    if (a == b) return a;
    if (a == LEVADA_BOOL || b == LEVADA_BOOL) {
        levada_dtype other = a == LEVADA_BOOL ? b : a;

        return other;
    }
    if (type_is_int(a) && type_is_int(b)) return type_ints(a, b);
    if (type_is_int(a)) return type_mix(a, b);
    if (type_is_int(b)) return type_mix(b, a);
    return levada_dtype_size(a) >= levada_dtype_size(b) ? a : b; /* of 2, 4 and 8 bytes */
}

/* Returns the dtype of a number of the text next to values of dtype d. */
static levada_dtype type_beside(levada_dtype weak, levada_dtype d)
{
    if (weak == LEVADA_FLOAT64) return type_is_float(d) ? d : LEVADA_FLOAT64;
    return d == LEVADA_BOOL ? LEVADA_INT64 : d;
}

static levada_dtype type_both(const levada_expression_type *a, const levada_expression_type *b)
{
    if (a->kind == LEVADA_EXPRESSION_WEAK && b->kind == LEVADA_EXPRESSION_WEAK) {
        return a->dtype == LEVADA_FLOAT64 ? a->dtype : b->dtype;
    }
    if (a->kind == LEVADA_EXPRESSION_WEAK) return type_beside(a->dtype, b->dtype);
    if (b->kind == LEVADA_EXPRESSION_WEAK) return type_beside(b->dtype, a->dtype);
    return type_common(a->dtype, b->dtype);
}

/* -- shapes */

static bool type_is_scalar(const levada_expression_type *t)
{ return t->depth == 0 && t->ndim == 0; }

static void type_take_shape(levada_expression_type *to, const levada_expression_type *from)
{
    to->depth = from->depth;
    to->ndim = from->ndim;
    memcpy(to->dims, from->dims, sizeof to->dims);
}

static const char *type_shape_shown(const levada_expression_type *t, char text[LEVADA_FIELD_SHOWN])
{
    levada_field f = { .dtype = t->dtype, .depth = t->depth, .ndim = t->ndim };

    memcpy(f.dims, t->dims, sizeof f.dims);
    return levada_field_shown(&f, text);
}

static levada_status type_shape(levada_expression_type *to, const levada_expression_type *a,
                                const levada_expression_type *b, levada_error *err)
{
    bool same = a->depth == b->depth && a->ndim == b->ndim;
    char x[LEVADA_FIELD_SHOWN], y[LEVADA_FIELD_SHOWN];

    for (int32_t d = 0; same && d < a->ndim; d++) {
        same = a->dims[d] == b->dims[d] || a->dims[d] < 0 || b->dims[d] < 0;
    }
    if (!type_is_scalar(a) && !type_is_scalar(b) && !same) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "an operand must have one value per record or the shape of the other, "
                           "got %s and %s",
                           type_shape_shown(a, x), type_shape_shown(b, y));
    }
    type_take_shape(to, type_is_scalar(a) ? b : a);
    return LEVADA_OK;
}

/* -- fields */

static levada_status type_length(const levada_expression_node *node, const levada_field *f,
                                 levada_expression_type *t, levada_error *err)
{
    if (f->depth == 0 && f->ndim == 0 && !levada_dtype_is_bytes(f->dtype)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' has no length: it is one number per record", node->field);
    }
    *t = (levada_expression_type){ .kind = LEVADA_EXPRESSION_STRONG,
                                   .dtype = LEVADA_INT64,
                                   .column = t->column };
    return LEVADA_OK;
}

static levada_status type_values(const levada_field *f, levada_expression_type *t,
                                 levada_error *err)
{
    t->kind = levada_dtype_is_bytes(f->dtype) ? LEVADA_EXPRESSION_TEXT : LEVADA_EXPRESSION_STRONG;
    t->dtype = f->dtype == LEVADA_BFLOAT16 ? LEVADA_FLOAT32 : f->dtype;
    t->depth = f->depth;
    t->ndim = f->ndim;
    memcpy(t->dims, f->dims, sizeof t->dims);
    if (!levada_dtype_is_bytes(f->dtype) && !levada_convert_known(f->dtype, LEVADA_FLOAT64)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' of %s cannot be compared or computed", f->name,
                           levada_dtype_name(f->dtype));
    }
    if (f->depth > 1 || f->padded || (levada_dtype_is_bytes(f->dtype) && !type_is_scalar(t))) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' has several values per record; compare len(%s)", f->name,
                           f->name);
    }
    return LEVADA_OK;
}

/* Finds the type of a field; `text`: a word at this place may be a text. */
static levada_status type_field(const levada_expression_node *node, const levada_spec *spec,
                                bool text, levada_expression_type *t, levada_error *err)
{
    *t = (levada_expression_type){ .kind = LEVADA_EXPRESSION_UNKNOWN, .column = -1 };
    if (text) {
        t->kind = LEVADA_EXPRESSION_WORD;
        return LEVADA_OK;
    }
    LEVADA_TRY(levada_spec_require(spec, node->field, &t->column, err));
    if (t->column < 0) return LEVADA_OK;
    if (node->op == LEVADA_EXPRESSION_LENGTH) {
        return type_length(node, levada_spec_field(spec, t->column), t, err);
    }
    return type_values(levada_spec_field(spec, t->column), t, err);
}

/* -- operators */

static levada_status type_numbers(const levada_expression_type *t, const char *what,
                                  levada_error *err)
{
    if (t->kind != LEVADA_EXPRESSION_TEXT && t->kind != LEVADA_EXPRESSION_WORD) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "byte strings cannot be %s", what);
}

static levada_status type_unary(const levada_expression_node *node, const levada_expression_type *a,
                                levada_expression_type *t, levada_error *err)
{
    *t = *a;
    t->common = a->dtype;
    if (node->op == LEVADA_EXPRESSION_NOT) {
        t->kind = LEVADA_EXPRESSION_STRONG;
        t->dtype = LEVADA_BOOL;
        return LEVADA_OK;
    }
    LEVADA_TRY(type_numbers(a, "computed", err));
    if (node->op == LEVADA_EXPRESSION_CAST) {
        t->kind = LEVADA_EXPRESSION_STRONG;
        t->dtype = node->dtype;
        if (type_is_float(node->dtype) || !type_is_float(a->dtype)) return LEVADA_OK;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "floats may not fit in int64(); use the stage cast");
    } else if (a->kind == LEVADA_EXPRESSION_STRONG && a->dtype == LEVADA_BOOL) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "booleans cannot be computed with; convert them with int64()");
    }
    return LEVADA_OK;
}

/* Refuses a number of the text that the integers it is computed with do not hold. */
static levada_status type_fits(const levada_expression_node *node, levada_dtype d,
                               levada_error *err)
{
    uint64_t scratch;

    if (node->op != LEVADA_EXPRESSION_CONST || !node->values[0].integer || !type_is_int(d) ||
        levada_convert(LEVADA_INT64, &node->values[0].i, d, &scratch, 1) == 0) {
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s does not fit in %s; use int64()",
                       node->values[0].text, levada_dtype_name(d));
}

static levada_status type_computed(const levada_expression *e, const levada_expression_node *node,
                                   const levada_expression_type *a, const levada_expression_type *b,
                                   levada_expression_type *t, levada_error *err)
{
    LEVADA_TRY(type_numbers(a, "computed", err));
    LEVADA_TRY(type_numbers(b, "computed", err));
    t->kind = a->kind == LEVADA_EXPRESSION_WEAK ? b->kind : a->kind;
    t->common = type_both(a, b);
    if (t->common == LEVADA_BOOL) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "booleans cannot be computed with; convert them with int64()");
    }
    if (node->op == LEVADA_EXPRESSION_DIVIDE && !type_is_float(t->common))
        t->common = LEVADA_FLOAT64;
    t->dtype = t->common;
    LEVADA_TRY(type_fits(&e->nodes[node->a], t->common, err));
    return type_fits(&e->nodes[node->b], t->common, err);
}

/* Returns the dtype in which a number of the text is compared with integers: as they are. */
static levada_dtype type_exact(const levada_expression *e, int32_t weak,
                               const levada_expression_type *a, levada_dtype common)
{
    const levada_expression_node *node = &e->nodes[weak];
    bool constant = node->op == LEVADA_EXPRESSION_CONST && node->values[0].integer;

    if (!type_is_int(a->dtype) || !constant) return common;
    if (a->dtype != LEVADA_UINT64) return LEVADA_INT64;
    return node->values[0].i < 0 ? LEVADA_FLOAT64 : LEVADA_UINT64;
}

static const char *type_shown(const levada_expression_node *node)
{
    return node->field ? node->field : node->n ? node->values[0].text : "an expression";
}

/* Compares two texts, or two numbers. */
static levada_status type_compared(const levada_expression *e, const levada_expression_node *node,
                                   const levada_expression_type *a, const levada_expression_type *b,
                                   levada_expression_type *t, levada_error *err)
{
    const levada_expression_node *left = &e->nodes[node->a], *right = &e->nodes[node->b];
    bool texts = a->kind == LEVADA_EXPRESSION_TEXT;
    bool word =
        b->kind == LEVADA_EXPRESSION_WORD || (texts && right->op == LEVADA_EXPRESSION_CONST);
    bool both = texts && b->kind == LEVADA_EXPRESSION_TEXT;

    if (!both && (texts != word || a->kind == LEVADA_EXPRESSION_WORD ||
                  b->kind == LEVADA_EXPRESSION_TEXT)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "%s '%s' cannot be compared with %s '%s'",
                           left->op == LEVADA_EXPRESSION_LENGTH ? "the length of" : "field",
                           type_shown(left), word ? "the text" : "the value of",
                           type_shown(right));
    }
    t->common = texts ? LEVADA_BYTES : type_both(a, b);
    if (texts) return LEVADA_OK;
    if (a->kind == LEVADA_EXPRESSION_WEAK) t->common = type_exact(e, node->a, b, t->common);
    if (b->kind == LEVADA_EXPRESSION_WEAK) t->common = type_exact(e, node->b, a, t->common);
    return LEVADA_OK;
}

static levada_status type_listed(const levada_expression_node *node,
                                 const levada_expression_type *a, const char *field,
                                 levada_expression_type *t, levada_error *err)
{
    bool whole = type_is_int(a->dtype) || a->dtype == LEVADA_BOOL;

    if (!type_is_scalar(a)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' has several values per record, but 'in' needs one; compare "
                           "with ==", field);
    }
    for (int64_t k = 0; k < node->n; k++) {
        if (a->kind == LEVADA_EXPRESSION_TEXT || node->values[k].number) {
            whole = whole && node->values[k].integer;
            continue;
        }
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' cannot be compared with the text '%s'", field,
                           node->values[k].text);
    }
    t->common = a->kind == LEVADA_EXPRESSION_TEXT   ? LEVADA_BYTES
                : a->dtype == LEVADA_UINT64 && whole ? LEVADA_UINT64
                : whole                      ? LEVADA_INT64
                                             : LEVADA_FLOAT64;
    return LEVADA_OK;
}

static levada_status type_binary(const levada_expression *e, const levada_expression_node *node,
                                 const levada_expression_type *types, levada_expression_type *t,
                                 levada_error *err)
{
    const levada_expression_type *a = &types[node->a], *b = &types[node->b];

    LEVADA_TRY(type_shape(t, a, b, err));
    if (node->op < LEVADA_EXPRESSION_EQ) return type_computed(e, node, a, b, t, err);
    t->kind = LEVADA_EXPRESSION_STRONG;
    t->dtype = LEVADA_BOOL;
    if (node->op < LEVADA_EXPRESSION_IN) return type_compared(e, node, a, b, t, err);
    return LEVADA_OK;
}

/* Returns true if the word of node i is a text: to the right of a comparison and not a field, or a
 * constant. */
static bool type_is_text(const levada_expression *e, int32_t i, const levada_spec *spec,
                         bool constants)
{
    const levada_expression_node *node = &e->nodes[i];

    if (node->op != LEVADA_EXPRESSION_FIELD) return false;
    if (node->beside >= 0) return node->quoted || levada_spec_find(spec, node->field) < 0;
    return constants && node->quoted && e->n == 1;
}

static levada_status type_constant(const levada_expression_value *v, levada_expression_type *t)
{
    bool boolean = v->integer && (v->text[0] == 't' || v->text[0] == 'f');

    t->kind = boolean ? LEVADA_EXPRESSION_STRONG : LEVADA_EXPRESSION_WEAK;
    t->dtype = boolean ? LEVADA_BOOL : v->integer ? LEVADA_INT64 : LEVADA_FLOAT64;
    return LEVADA_OK;
}

static levada_status type_node(const levada_expression *e, int32_t i, const levada_spec *spec,
                               bool constants, levada_expression_type *types, levada_error *err)
{
    const levada_expression_node *node = &e->nodes[i];
    levada_expression_type       *t = &types[i];

    *t = (levada_expression_type){ .kind = LEVADA_EXPRESSION_WEAK, .column = -1 };
    switch (node->op) {
    case LEVADA_EXPRESSION_FIELD:
    case LEVADA_EXPRESSION_LENGTH:
        return type_field(node, spec, type_is_text(e, i, spec, constants), t, err);
    case LEVADA_EXPRESSION_CONST:
        return type_constant(&node->values[0], t);
    default: break;
    }
    if (types[node->a].kind == LEVADA_EXPRESSION_UNKNOWN ||
        (node->b >= 0 && types[node->b].kind == LEVADA_EXPRESSION_UNKNOWN)) {
        t->kind = LEVADA_EXPRESSION_UNKNOWN;
        return LEVADA_OK;
    }
    if (node->op == LEVADA_EXPRESSION_IN) {
        const char *field = e->nodes[node->a].field;

        t->kind = LEVADA_EXPRESSION_STRONG;
        t->dtype = LEVADA_BOOL;
        return type_listed(node, &types[node->a], field ? field : "", t, err);
    }
    return node->b < 0 ? type_unary(node, &types[node->a], t, err)
                       : type_binary(e, node, types, t, err);
}

levada_status levada_expression_bind(const levada_expression *e, const levada_spec *spec,
                                     bool constants, levada_expression_type *types,
                                     levada_error *err)
{
    for (int32_t i = 0; i < e->n; i++) {
        LEVADA_TRY(type_node(e, i, spec, constants, types, err));
    }
    return LEVADA_OK;
}

levada_status levada_expression_condition(const levada_expression *e, const levada_spec *spec,
                                   levada_expression_type *types, levada_error *err)
{
    const levada_expression_type *root = &types[e->n - 1];

    LEVADA_TRY(levada_expression_bind(e, spec, false, types, err));
    if (root->kind == LEVADA_EXPRESSION_UNKNOWN || type_is_scalar(root)) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "the condition has several values per record; compare len(%s)",
                       e->nodes[0].field ? e->nodes[0].field : "field");
}

levada_status levada_expression_check(const levada_expression *e, const levada_spec *spec,
                                      levada_error *err)
{
    levada_expression_type types[LEVADA_EXPRESSION_NODES];

    return levada_expression_condition(e, spec, types, err);
}

levada_status levada_expression_field(const levada_expression *e, const levada_spec *spec,
                                      levada_field *out, bool *known, levada_error *err)
{
    levada_expression_type types[LEVADA_EXPRESSION_NODES];
    const levada_expression_type *root = &types[e->n - 1];

    LEVADA_TRY(levada_expression_bind(e, spec, true, types, err));
    *known = root->kind != LEVADA_EXPRESSION_UNKNOWN;
    if (!*known) return LEVADA_OK;
    out->dtype = root->kind == LEVADA_EXPRESSION_WORD ? LEVADA_TEXT : root->dtype;
    out->depth = root->depth;
    out->ndim = root->ndim;
    memcpy(out->dims, root->dims, sizeof out->dims);
    return LEVADA_OK;
}
