/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser of expressions.
 */
#include "base/alloc.h"
#include "base/number.h"
#include "transform/expression_priv.h"

#include <string.h>

typedef struct expression_parser {
    const char        *text;
    size_t             at;
    levada_expression *to;
    size_t             used;  /* of to->memory, which is as large as can be needed */
    int32_t            depth; /* of parentheses and signs that are open            */
} expression_parser;

typedef struct expression_sign {
    const char   *sign;
    levada_expression_op op;
} expression_sign;

void levada_expression_destroy(levada_expression **expression)
{
    levada_expression *e = *expression;

    *expression = NULL;
    if (!e) return;
    for (int32_t i = 0; i < e->n; i++) levada_free(e->nodes[i].values);
    levada_free(e->memory);
    levada_free(e);
}

/* -- characters and words */

static levada_status expression_wrong(const expression_parser *p, const char *what,
                                      levada_error *err)
{
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "expression '%.100s': %s at column %d",
                       p->text, what, (int)p->at + 1);
}

static levada_status expression_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an expression");
}

static char expression_peek(expression_parser *p)
{
    while (p->text[p->at] == ' ' || p->text[p->at] == '\t' || p->text[p->at] == '\n') p->at++;
    return p->text[p->at];
}

static bool expression_accept(expression_parser *p, const char *sign)
{
    (void)expression_peek(p);
    if (strncmp(p->text + p->at, sign, strlen(sign)) != 0) return false;
    p->at += strlen(sign);
    return true;
}

static size_t expression_word(const expression_parser *p)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_./-+:*?@";
    size_t n = 0;

    for (const char *at = p->text + p->at; at[n]; n++) {
        if (!strchr(letters, at[n]) && (unsigned char)at[n] < 0x80) break;
    }
    return n;
}

/* Reads a whole word, or a sign without letters, such as %. */
static bool expression_keyword(expression_parser *p, const char *word)
{
    size_t n;

    (void)expression_peek(p);
    n = expression_word(p);
    if (n != strlen(word) && n != 0) return false;
    return expression_accept(p, word);
}

/* Reads a word, or a text in quotes in which \ keeps the next byte. */
static levada_status expression_text(expression_parser *p, const char **out, size_t *size,
                                     bool *quoted, levada_error *err)
{
    char   quote = expression_peek(p), *to = p->to->memory + p->used;
    size_t n = 0;

    *quoted = quote == '"' || quote == '\'';
    if (*quoted) {
        for (p->at++; p->text[p->at] && p->text[p->at] != quote; p->at++) {
            if (p->text[p->at] == '\\' && p->text[p->at + 1]) p->at++;
            to[n++] = p->text[p->at];
        }
        if (!p->text[p->at]) return expression_wrong(p, "a quote is not closed", err);
        p->at++;
    } else {
        n = expression_word(p);
        if (n == 0) return expression_wrong(p, "a name or a value is missing", err);
        memcpy(to, p->text + p->at, n);
        p->at += n;
    }
    to[n] = '\0';
    p->used += n + 1;
    *out = to;
    *size = n;
    return LEVADA_OK;
}

/* Evaluates numbers and booleans of a word. */
static levada_status expression_number(const expression_parser *p, levada_expression_value *v,
                                       levada_error *err)
{
    switch (levada_number_read(v->text, v->size, &v->i, &v->f)) {
    case LEVADA_NUMBER_INT:
        v->number = v->integer = true;
        v->f = (double)v->i;
        break;
    case LEVADA_NUMBER_FLOAT: v->number = true; break;
    case LEVADA_NUMBER_BIG:
        return expression_wrong(p, "the number before needs more than 64 bits", err);
    case LEVADA_NUMBER_NONE: {
        bool yes = strcmp(v->text, "true") == 0;

        v->number = v->integer = yes || strcmp(v->text, "false") == 0;
        v->i = yes;
        v->f = yes;
        break;
    }
    }
    return LEVADA_OK;
}

/* -- nodes */

static levada_status expression_add(expression_parser *p, levada_expression_node node, int32_t *out,
                                    levada_error *err)
{
    levada_expression *e = p->to;
    int32_t            a = node.a >= 0 ? e->nodes[node.a].depth : 0;
    int32_t            b = node.b >= 0 ? e->nodes[node.b].depth : 0;

    if (e->n == LEVADA_EXPRESSION_NODES) return expression_wrong(p, "more than 192 terms", err);
    node.depth = 1 + (a > b ? a : b);
    if (node.depth > LEVADA_EXPRESSION_DEPTH)
        return expression_wrong(p, "more than 64 levels", err);
    node.beside = -1;
    *out = e->n;
    e->nodes[e->n++] = node;
    return LEVADA_OK;
}

static levada_status expression_unary(expression_parser *p, levada_expression_op op, int32_t a,
                                      int32_t *out, levada_error *err)
{
    return expression_add(p, (levada_expression_node){ .op = op, .a = a, .b = -1 }, out, err);
}

static levada_status expression_push(expression_parser *p, int32_t node,
                                     const levada_expression_value *v, levada_error *err)
{
    levada_expression_node *to = &p->to->nodes[node];

    if (!levada_reserve(&to->values, &to->capacity, to->n + 1, sizeof *to->values)) {
        return expression_memory(err);
    }
    to->values[to->n++] = *v;
    return LEVADA_OK;
}

static levada_status expression_constant(expression_parser *p, const levada_expression_value *v,
                                         int32_t *out, levada_error *err)
{
    LEVADA_TRY(expression_unary(p, LEVADA_EXPRESSION_CONST, -1, out, err));
    return expression_push(p, *out, v, err);
}

/* -- the grammar */

static levada_status expression_or(expression_parser *p, int32_t *out, levada_error *err);

static levada_status expression_inside(expression_parser *p, int32_t *out, levada_error *err)
{
    if (++p->depth > LEVADA_EXPRESSION_DEPTH)
        return expression_wrong(p, "more than 64 levels", err);
    LEVADA_TRY(expression_or(p, out, err));
    p->depth--;
    return expression_accept(p, ")") ? LEVADA_OK : expression_wrong(p, "')' is missing", err);
}

static levada_status expression_length(expression_parser *p, int32_t *out, levada_error *err)
{
    levada_expression_node node = { .op = LEVADA_EXPRESSION_LENGTH, .a = -1, .b = -1 };
    size_t          size;

    LEVADA_TRY(expression_text(p, &node.field, &size, &node.quoted, err));
    LEVADA_TRY(expression_add(p, node, out, err));
    return expression_accept(p, ")") ? LEVADA_OK : expression_wrong(p, "')' is missing", err);
}

static levada_status expression_call(expression_parser *p, const char *name, int32_t *out,
                                     levada_error *err)
{
    levada_expression_node node = { .op = LEVADA_EXPRESSION_CAST,
                                    .b = -1,
                                    .dtype = levada_dtype_find(name) };

    if (strcmp(name, "len") == 0) return expression_length(p, out, err);
    if (strcmp(name, "abs") == 0) node.op = LEVADA_EXPRESSION_ABS;
    else if (node.dtype != LEVADA_INT64 && node.dtype != LEVADA_FLOAT16 &&
             node.dtype != LEVADA_FLOAT32 && node.dtype != LEVADA_FLOAT64) {
        return expression_wrong(p, "unknown function; only len, abs, int64, float16, float32 and "
                                   "float64 are available", err);
    }
    LEVADA_TRY(expression_inside(p, &node.a, err));
    return expression_add(p, node, out, err);
}

/* Consumes a minus before a name or a parenthesis; that of "-1" is part of the number. */
static bool expression_minus(expression_parser *p)
{
    const char *after;

    if (expression_peek(p) != '-') return false;
    after = p->text + p->at + 1;
    if (*after == '.' || (*after >= '0' && *after <= '9')) return false;
    p->at++;
    return true;
}

static levada_status expression_factor(expression_parser *p, int32_t *out, levada_error *err)
{
    levada_expression_value v = { 0 };
    levada_expression_node  node = { .op = LEVADA_EXPRESSION_FIELD, .a = -1, .b = -1 };
    bool             quoted;

    if (expression_minus(p)) {
        if (++p->depth > LEVADA_EXPRESSION_DEPTH)
            return expression_wrong(p, "more than 64 levels", err);
        LEVADA_TRY(expression_factor(p, out, err));
        p->depth--;
        return expression_unary(p, LEVADA_EXPRESSION_NEGATE, *out, out, err);
    }
    if (expression_accept(p, "(")) return expression_inside(p, out, err);
    LEVADA_TRY(expression_text(p, &v.text, &v.size, &quoted, err));
    if (!quoted && expression_accept(p, "(")) return expression_call(p, v.text, out, err);
    if (!quoted) LEVADA_TRY(expression_number(p, &v, err));
    if (v.number) return expression_constant(p, &v, out, err);
    node.field = v.text;
    node.quoted = quoted;
    LEVADA_TRY(expression_add(p, node, out, err));
    return expression_push(p, *out, &v, err); /* if it is a text */
}

/* Reads one level of operators, from left to right. */
static levada_status expression_chain(expression_parser *p, const expression_sign *signs,
                                      levada_status (*operand)(expression_parser *p, int32_t *out,
                                                               levada_error *err),
                                      int32_t *out, levada_error *err)
{
    LEVADA_TRY(operand(p, out, err));
    for (size_t k = 0; signs[k].sign;) {
        levada_expression_node node = { .op = signs[k].op, .a = *out };

        if (!expression_keyword(p, signs[k].sign)) {
            k++;
            continue;
        }
        LEVADA_TRY(operand(p, &node.b, err));
        LEVADA_TRY(expression_add(p, node, out, err));
        k = 0;
    }
    return LEVADA_OK;
}

static levada_status expression_term(expression_parser *p, int32_t *out, levada_error *err)
{
    static const expression_sign signs[] = { { "*", LEVADA_EXPRESSION_MULTIPLY },
                                             { "//", LEVADA_EXPRESSION_FLOOR },
                                             { "/", LEVADA_EXPRESSION_DIVIDE },
                                             { "%", LEVADA_EXPRESSION_REMAINDER },
                                             { NULL, LEVADA_EXPRESSION_FIELD } };

    return expression_chain(p, signs, expression_factor, out, err);
}

static levada_status expression_sum(expression_parser *p, int32_t *out, levada_error *err)
{
    static const expression_sign signs[] = { { "+", LEVADA_EXPRESSION_ADD },
                                             { "-", LEVADA_EXPRESSION_SUBTRACT },
                                             { NULL, LEVADA_EXPRESSION_FIELD } };

    return expression_chain(p, signs, expression_term, out, err);
}

static levada_status expression_list(expression_parser *p, int32_t node, levada_error *err)
{
    if (!expression_accept(p, "[")) return expression_wrong(p, "'[' is missing", err);
    if (expression_accept(p, "]")) return LEVADA_OK;
    do {
        levada_expression_value v = { 0 };
        bool             quoted;

        LEVADA_TRY(expression_text(p, &v.text, &v.size, &quoted, err));
        if (!quoted) LEVADA_TRY(expression_number(p, &v, err));
        LEVADA_TRY(expression_push(p, node, &v, err));
    } while (expression_accept(p, ","));
    return expression_accept(p, "]") ? LEVADA_OK : expression_wrong(p, "']' is missing", err);
}

static levada_status expression_membership(expression_parser *p, int32_t *out, levada_error *err)
{
    size_t before = (expression_peek(p), p->at);
    bool   negated = expression_keyword(p, "not");

    if (!expression_keyword(p, "in")) {
        p->at = before;
        return LEVADA_OK;
    }
    LEVADA_TRY(expression_unary(p, LEVADA_EXPRESSION_IN, *out, out, err));
    LEVADA_TRY(expression_list(p, *out, err));
    return negated ? expression_unary(p, LEVADA_EXPRESSION_NOT, *out, out, err) : LEVADA_OK;
}

static levada_status expression_compare(expression_parser *p, int32_t *out, levada_error *err)
{
    static const expression_sign signs[] = {
        { "==", LEVADA_EXPRESSION_EQ }, { "!=", LEVADA_EXPRESSION_NE },
        { "<=", LEVADA_EXPRESSION_LE }, { ">=", LEVADA_EXPRESSION_GE },
        { "<", LEVADA_EXPRESSION_LT },  { ">", LEVADA_EXPRESSION_GT }
    };

    LEVADA_TRY(expression_sum(p, out, err));
    for (size_t k = 0; k < sizeof signs / sizeof signs[0]; k++) {
        levada_expression_node node = { .op = signs[k].op, .a = *out };

        if (!expression_accept(p, signs[k].sign)) continue;
        LEVADA_TRY(expression_sum(p, &node.b, err));
        if (p->to->nodes[node.b].op == LEVADA_EXPRESSION_FIELD)
            p->to->nodes[node.b].beside = node.a;
        return expression_add(p, node, out, err);
    }
    return expression_membership(p, out, err);
}

static levada_status expression_not(expression_parser *p, int32_t *out, levada_error *err)
{
    if (!expression_keyword(p, "not")) return expression_compare(p, out, err);
    if (++p->depth > LEVADA_EXPRESSION_DEPTH)
        return expression_wrong(p, "more than 64 levels", err);
    LEVADA_TRY(expression_not(p, out, err));
    p->depth--;
    return expression_unary(p, LEVADA_EXPRESSION_NOT, *out, out, err);
}

static levada_status expression_and(expression_parser *p, int32_t *out, levada_error *err)
{
    static const expression_sign signs[] = { { "and", LEVADA_EXPRESSION_AND },
                                             { NULL, LEVADA_EXPRESSION_FIELD } };

    return expression_chain(p, signs, expression_not, out, err);
}

static levada_status expression_or(expression_parser *p, int32_t *out, levada_error *err)
{
    static const expression_sign signs[] = { { "or", LEVADA_EXPRESSION_OR },
                                             { NULL, LEVADA_EXPRESSION_FIELD } };

    return expression_chain(p, signs, expression_and, out, err);
}

static levada_status expression_read(expression_parser *p, levada_error *err)
{
    int32_t root;

    LEVADA_TRY(expression_or(p, &root, err));
    return expression_peek(p) ? expression_wrong(p, "an operator, 'and' or the end is missing", err)
                              : LEVADA_OK;
}

levada_status levada_expression_parse(const char *text, levada_expression **out, levada_error *err)
{
    expression_parser p = { .text = text };
    levada_status     st;

    p.to = levada_alloc_zero(sizeof *p.to);
    if (p.to) p.to->memory = levada_alloc(2 * strlen(text) + 2); /* a byte and an end each */
    st = p.to && p.to->memory ? expression_read(&p, err) : expression_memory(err);
    if (st == LEVADA_OK) {
        *out = p.to;
    } else {
        levada_expression_destroy(&p.to);
    }
    return st;
}
