/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/expression.h"

#include "base/alloc.h"
#include "base/number.h"
#include "description/columns.h"
#include "tensor/convert.h"

#include <string.h>

#define EXPRESSION_TERMS 32

typedef enum expression_op {
    EXPRESSION_TRUE,
    EXPRESSION_EQ,
    EXPRESSION_NE,
    EXPRESSION_LT,
    EXPRESSION_LE,
    EXPRESSION_GT,
    EXPRESSION_GE,
    EXPRESSION_IN
} expression_op;

typedef struct expression_value {
    bool        number, integer; /* neither number nor integer: a text */
    int64_t     i;
    double      f;
    const char *text;
    size_t      size;
} expression_value;

typedef struct expression_term {
    const char       *field;
    bool              length;
    expression_op     op;
    expression_value *values; /* owned */
    int64_t           n, capacity;
} expression_term;

struct levada_expression {
    int32_t         n;
    expression_term terms[EXPRESSION_TERMS];
    char           *memory; /* names and texts, unquoted, each terminated */
};

typedef struct expression_parser {
    const char        *text;
    size_t             at;
    levada_expression *to;
    size_t             used; /* of to->memory, which is as large as can be needed */
} expression_parser;

void levada_expression_destroy(levada_expression **expression)
{
    levada_expression *e = *expression;

    *expression = NULL;
    if (!e) return;
    for (int32_t i = 0; i < e->n; i++) levada_free(e->terms[i].values);
    levada_free(e->memory);
    levada_free(e);
}

/* -- reading */

static levada_status expression_wrong(const expression_parser *p, const char *what,
                                      levada_error *err)
{
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "expression '%s': %s at column %d", p->text,
                       what, (int)p->at + 1);
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

/* A word, or a text in quotes in which \ keeps the next byte. */
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

static levada_status expression_read_value(expression_parser *p, expression_value *v,
                                           levada_error *err)
{
    bool quoted;

    LEVADA_TRY(expression_text(p, &v->text, &v->size, &quoted, err));
    if (quoted) return LEVADA_OK;
    switch (levada_number_read(v->text, v->size, &v->i, &v->f)) {
    case LEVADA_NUMBER_INT:
        v->number = v->integer = true;
        v->f = (double)v->i;
        break;
    case LEVADA_NUMBER_FLOAT: v->number = true; break;
    case LEVADA_NUMBER_BIG: return expression_wrong(p, "the number before does not fit", err);
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

static levada_status expression_push_value(expression_parser *p, expression_term *t,
                                           levada_error *err)
{
    if (!levada_reserve(&t->values, &t->capacity, t->n + 1, sizeof *t->values)) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an expression");
    }
    memset(&t->values[t->n], 0, sizeof t->values[0]);
    LEVADA_TRY(expression_read_value(p, &t->values[t->n], err));
    t->n++;
    return LEVADA_OK;
}

static levada_status expression_list(expression_parser *p, expression_term *t, levada_error *err)
{
    if (!expression_accept(p, "[")) return expression_wrong(p, "'[' is missing", err);
    if (expression_accept(p, "]")) return LEVADA_OK;
    do {
        LEVADA_TRY(expression_push_value(p, t, err));
    } while (expression_accept(p, ","));
    return expression_accept(p, "]") ? LEVADA_OK : expression_wrong(p, "']' is missing", err);
}

static bool expression_keyword(expression_parser *p, const char *word)
{
    (void)expression_peek(p);
    if (expression_word(p) != strlen(word)) return false;
    return expression_accept(p, word);
}

static levada_status expression_read_term(expression_parser *p, expression_term *t,
                                          levada_error *err)
{
    static const struct {
        const char   *sign;
        expression_op op;
    } signs[] = { { "==", EXPRESSION_EQ }, { "!=", EXPRESSION_NE }, { "<=", EXPRESSION_LE },
                  { ">=", EXPRESSION_GE }, { "<", EXPRESSION_LT }, { ">", EXPRESSION_GT } };
    size_t size;
    bool   quoted;

    LEVADA_TRY(expression_text(p, &t->field, &size, &quoted, err));
    if (!quoted && expression_accept(p, "(")) {
        if (strcmp(t->field, "len") != 0)
            return expression_wrong(p, "unknown function; only len is available", err);
        t->length = true;
        LEVADA_TRY(expression_text(p, &t->field, &size, &quoted, err));
        if (!expression_accept(p, ")")) return expression_wrong(p, "')' is missing", err);
    }
    for (size_t k = 0; k < sizeof signs / sizeof signs[0]; k++) {
        if (!expression_accept(p, signs[k].sign)) continue;
        t->op = signs[k].op;
        return expression_push_value(p, t, err);
    }
    if (!expression_keyword(p, "in")) return LEVADA_OK;
    t->op = EXPRESSION_IN;
    return expression_list(p, t, err);
}

static levada_status expression_read(expression_parser *p, levada_error *err)
{
    do {
        if (p->to->n == EXPRESSION_TERMS) return expression_wrong(p, "too many terms", err);
        LEVADA_TRY(expression_read_term(p, &p->to->terms[p->to->n++], err));
    } while (expression_keyword(p, "and"));
    return expression_peek(p) ? expression_wrong(p, "'and' or the end is missing", err) : LEVADA_OK;
}

levada_status levada_expression_parse(const char *text, levada_expression **out, levada_error *err)
{
    expression_parser p = { .text = text };
    levada_status     st;

    p.to = levada_alloc_zero(sizeof *p.to);
    if (p.to) p.to->memory = levada_alloc(2 * strlen(text) + 2); /* a byte and an end each */
    if (p.to && p.to->memory) {
        st = expression_read(&p, err);
    } else {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an expression");
    }
    if (st == LEVADA_OK) {
        *out = p.to;
    } else {
        levada_expression_destroy(&p.to);
    }
    return st;
}

/* -- checking */

static bool expression_scalar(const levada_field *f) { return f->depth == 0 && f->ndim == 0; }

static levada_status expression_check_term(const expression_term *t, const levada_field *f,
                                           levada_error *err)
{
    bool text = f->dtype == LEVADA_BYTES && !t->length;

    if (!t->length && !expression_scalar(f)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' has several values per record; compare len(%s)",
                           t->field, t->field);
    }
    if (t->length && expression_scalar(f) && f->dtype != LEVADA_BYTES) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "field '%s' has no length", t->field);
    }
    if (!t->length && !text && !levada_convert_known(f->dtype, LEVADA_FLOAT64)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "field '%s' of %s cannot be compared",
                           t->field, levada_dtype_name(f->dtype));
    }
    for (int64_t k = 0; k < t->n && !text; k++) {
        if (t->values[k].number) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "%s '%s' cannot be compared with the text '%s'",
                           t->length ? "the length of" : "field", t->field, t->values[k].text);
    }
    return LEVADA_OK;
}

levada_status levada_expression_check(const levada_expression *e, const levada_spec *spec,
                                      levada_error *err)
{
    for (int32_t i = 0; i < e->n; i++) {
        int32_t at = -1;

        LEVADA_TRY(levada_spec_require(spec, e->terms[i].field, &at, err));
        if (at < 0) continue;
        LEVADA_TRY(expression_check_term(&e->terms[i], levada_spec_field(spec, at), err));
    }
    return LEVADA_OK;
}

/* -- matching: each term clears the rows for which it does not hold */

#define EXPRESSION_COMPARE(sign)                                            \
    for (int64_t r = 0; r < n; r++) keep[r] &= x[r] sign v;                 \
    break

static void expression_ints(const expression_term *t, const int64_t *x, int64_t n, uint8_t *keep)
{
    int64_t v = t->n ? t->values[0].i : 0;

    switch (t->op) {
    case EXPRESSION_TRUE:
    case EXPRESSION_NE: EXPRESSION_COMPARE(!=);
    case EXPRESSION_EQ: EXPRESSION_COMPARE(==);
    case EXPRESSION_LT: EXPRESSION_COMPARE(<);
    case EXPRESSION_LE: EXPRESSION_COMPARE(<=);
    case EXPRESSION_GT: EXPRESSION_COMPARE(>);
    case EXPRESSION_GE: EXPRESSION_COMPARE(>=);
    case EXPRESSION_IN:
        for (int64_t r = 0; r < n; r++) {
            bool found = false;

            for (int64_t k = 0; k < t->n && !found; k++) found = x[r] == t->values[k].i;
            keep[r] &= found;
        }
        break;
    }
}

static void expression_floats(const expression_term *t, const double *x, int64_t n, uint8_t *keep)
{
    double v = t->n ? t->values[0].f : 0;

    switch (t->op) {
    case EXPRESSION_TRUE:
    case EXPRESSION_NE: EXPRESSION_COMPARE(!=);
    case EXPRESSION_EQ: EXPRESSION_COMPARE(==);
    case EXPRESSION_LT: EXPRESSION_COMPARE(<);
    case EXPRESSION_LE: EXPRESSION_COMPARE(<=);
    case EXPRESSION_GT: EXPRESSION_COMPARE(>);
    case EXPRESSION_GE: EXPRESSION_COMPARE(>=);
    case EXPRESSION_IN:
        for (int64_t r = 0; r < n; r++) {
            bool found = false;

            for (int64_t k = 0; k < t->n && !found; k++) found = x[r] == t->values[k].f;
            keep[r] &= found;
        }
        break;
    }
}

static int expression_order(const uint8_t *data, int64_t size, const expression_value *v)
{
    size_t n = (size_t)size < v->size ? (size_t)size : v->size;
    int    order = n ? memcmp(data, v->text, n) : 0;

    return order ? order : ((size_t)size > v->size) - ((size_t)size < v->size);
}

static bool expression_text_holds(const expression_term *t, const uint8_t *data, int64_t size)
{
    int order = t->n ? expression_order(data, size, &t->values[0]) : 0;

    switch (t->op) {
    case EXPRESSION_TRUE: return size > 0;
    case EXPRESSION_EQ: return order == 0;
    case EXPRESSION_NE: return order != 0;
    case EXPRESSION_LT: return order < 0;
    case EXPRESSION_LE: return order <= 0;
    case EXPRESSION_GT: return order > 0;
    case EXPRESSION_GE: return order >= 0;
    case EXPRESSION_IN: break;
    }
    for (int64_t k = 0; k < t->n; k++) {
        if (expression_order(data, size, &t->values[k]) == 0) return true;
    }
    return false;
}

static void expression_lengths(const levada_column *c, int64_t *out)
{
    for (int64_t r = 0; r < c->n; r++) {
        if (c->field->dtype == LEVADA_BYTES && expression_scalar(c->field)) {
            out[r] = (int64_t)c->level[0].end[r] - c->level[0].begin[r];
        } else {
            out[r] = levada_column_length(c, r);
        }
    }
}

static bool expression_whole(const expression_term *t)
{
    for (int64_t k = 0; k < t->n; k++) {
        if (!t->values[k].integer) return false;
    }
    return true;
}

static void expression_match_numbers(const expression_term *t, const levada_column *c,
                                     uint8_t *keep, int64_t *scratch)
{
    levada_dtype dtype = t->length ? LEVADA_INT64 : c->field->dtype;
    bool         whole = dtype <= LEVADA_UINT64 && expression_whole(t);
    const void  *from = c->values;

    if (t->length) {
        expression_lengths(c, scratch);
        from = scratch;
    }
    if (whole) {
        /* A uint64 beyond int64 becomes 0 there: compared as floats instead. */
        int64_t bad = levada_convert(dtype, from, LEVADA_INT64, scratch, c->n);

        if (bad == 0) {
            expression_ints(t, scratch, c->n, keep);
            return;
        }
    }
    (void)levada_convert(dtype, from, LEVADA_FLOAT64, scratch, c->n);
    expression_floats(t, (const double *)(const void *)scratch, c->n, keep);
}

static void expression_match_term(const expression_term *t, const levada_column *c, uint8_t *keep,
                                  int64_t *scratch)
{
    if (t->length || c->field->dtype != LEVADA_BYTES) {
        expression_match_numbers(t, c, keep, scratch);
        return;
    }
    for (int64_t r = 0; r < c->n; r++) {
        int64_t        size = 0;
        const uint8_t *data = levada_column_bytes(c, r, &size);

        keep[r] &= expression_text_holds(t, data, size);
    }
}

levada_status levada_expression_match(const levada_expression *e, const levada_block *block,
                                      uint8_t *keep, int64_t *scratch, levada_error *err)
{
    memset(keep, 1, (size_t)block->n);
    for (int32_t i = 0; i < e->n; i++) {
        const levada_column *c = levada_block_column(block, e->terms[i].field);

        if (!c) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "a record has no field '%s'",
                               e->terms[i].field);
        }
        LEVADA_TRY(expression_check_term(&e->terms[i], c->field, err));
        expression_match_term(&e->terms[i], c, keep, scratch);
    }
    return LEVADA_OK;
}
