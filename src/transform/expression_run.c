/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of expressions, for all rows of a block.
 *
 * Elements are computed in tiles: each node fills a tile of lanes of 8 bytes, which are int64,
 * uint64 or double, so that each operator has three loops. The result of an operator is rounded to
 * its dtype, which is exact: a double holds twice the digits of a float.
 */
#include "base/alloc.h"
#include "tensor/builder_priv.h"
#include "tensor/convert.h"
#include "transform/expression_priv.h"

#include <math.h>
#include <string.h>

#define RUN_TILE 256
#define RUN_FEW 4 /* tiles that need no memory of their own */

typedef union run_lane {
    int64_t  i;
    uint64_t u;
    double   f;
} run_lane;

typedef struct expression_run {
    const levada_expression *e;
    const levada_block      *block;
    levada_expression_type          types[LEVADA_EXPRESSION_NODES];
    run_lane                *scratch; /* a tile for each level, and one for conversions */
    int64_t                 *ends;    /* where the elements of each row end; NULL: a row is one */
    int32_t                  row[RUN_TILE]; /* of each element of the tile, if there are ends */
    int64_t                  first, n;      /* the elements of the tile                       */
    run_lane                 few[RUN_FEW * RUN_TILE];
} expression_run;

/* Returns the dtype of the lanes of a dtype. */
static levada_dtype run_class(levada_dtype d)
{
    if (d == LEVADA_UINT64) return d;
    return d >= LEVADA_FLOAT16 ? LEVADA_FLOAT64 : LEVADA_INT64;
}

/* -- conversions of lanes */

/* Rounds lanes to the values of a dtype: integers wrap, as in C and NumPy. */
static void run_round(levada_dtype d, run_lane *x, int64_t n, void *scratch)
{
#define RUN_WRAP(type)                                                      \
    for (int64_t k = 0; k < n; k++) x[k].i = (int64_t)(type)x[k].u;         \
    break
    switch (d) {
    case LEVADA_INT8: RUN_WRAP(int8_t);
    case LEVADA_INT16: RUN_WRAP(int16_t);
    case LEVADA_INT32: RUN_WRAP(int32_t);
    case LEVADA_UINT8: RUN_WRAP(uint8_t);
    case LEVADA_UINT16: RUN_WRAP(uint16_t);
    case LEVADA_UINT32: RUN_WRAP(uint32_t);
    case LEVADA_FLOAT32:
        for (int64_t k = 0; k < n; k++) x[k].f = (double)(float)x[k].f;
        break;
    case LEVADA_FLOAT16:
        (void)levada_convert(LEVADA_FLOAT64, x, d, scratch, n);
        (void)levada_convert(d, scratch, LEVADA_FLOAT64, x, n);
        break;
    default: break;
    }
#undef RUN_WRAP
}

/* Lanes of one dtype as lanes of another one. */
static void run_convert(levada_dtype from, levada_dtype to, run_lane *x, int64_t n, void *scratch)
{
    if (from == to || (run_class(from) == run_class(to) && to == run_class(to))) return;
    if (run_class(from) == run_class(to) && run_class(to) == LEVADA_INT64) {
        run_round(to, x, n, scratch);
        return;
    }
    if (run_class(to) != LEVADA_FLOAT64) return; /* int64 as uint64, and back: the same bits */
    (void)levada_convert(run_class(from), x, to, scratch, n);
    (void)levada_convert(to, scratch, LEVADA_FLOAT64, x, n);
}

/* -- leaves */

static int64_t run_row(const expression_run *r, int64_t k)
{
    return r->ends ? r->row[k] : r->first + k;
}

/* Returns true if element k is of the row of the element before. */
static bool run_again(const expression_run *r, int64_t k)
{
    return r->ends && k && r->row[k] == r->row[k - 1];
}

/* Repeats one number for each row, as often as the row has elements. */
static void run_rows(const expression_run *r, const levada_column *c, run_lane *out)
{
    levada_dtype d = c->field->dtype, to = run_class(d);
    int64_t      size = levada_dtype_size(d);

    if (!r->ends) {
        (void)levada_convert(d, c->values + r->first * size, to, out, r->n);
        return;
    }
    for (int64_t k = 0; k < r->n; k++) {
        if (run_again(r, k)) out[k] = out[k - 1];
        else (void)levada_convert(d, c->values + r->row[k] * size, to, &out[k], 1);
    }
}

static int64_t run_begin(const expression_run *r, int64_t row)
{
    return row ? r->ends[row - 1] : 0;
}

/* Converts the elements of a sequence: one conversion for those that follow each other in
 * memory. */
static void run_elements(const expression_run *r, const levada_column *c, run_lane *out)
{
    levada_dtype d = c->field->dtype;
    int64_t      size = levada_dtype_size(d), inner = levada_column_inner(c), at = 0, next = 0;

    for (int64_t k = 0; k < r->n;) {
        int64_t from = -1, begin = k;

        do {
            int64_t row = r->row[k], within = r->first + k - run_begin(r, row);
            int64_t left = r->ends[row] - (r->first + k);

            at = (c->field->depth ? c->level[0].begin[row] : row) * inner + within;
            if (from < 0) from = next = at;
            if (at != next) break;
            left = left < r->n - k ? left : r->n - k;
            next = at + left;
            k += left;
        } while (k < r->n);
        (void)levada_convert(d, c->values + from * size, run_class(d), out + begin, k - begin);
    }
}

static int64_t run_length(const levada_column *c, int64_t row)
{
    if (levada_dtype_is_bytes(c->field->dtype) && c->field->depth == 0 && c->field->ndim == 0) {
        return (int64_t)c->level[0].end[row] - c->level[0].begin[row];
    }
    return levada_column_length(c, row);
}

static int run_order(const uint8_t *data, int64_t size, const levada_expression_value *v)
{
    size_t n = (size_t)size < v->size ? (size_t)size : v->size;
    int    order = n ? memcmp(data, v->text, n) : 0;

    return order ? order : ((size_t)size > v->size) - ((size_t)size < v->size);
}

static bool run_holds(levada_expression_op op, int order)
{
    switch (op) {
    case LEVADA_EXPRESSION_EQ: return order == 0;
    case LEVADA_EXPRESSION_NE: return order != 0;
    case LEVADA_EXPRESSION_LT: return order < 0;
    case LEVADA_EXPRESSION_LE: return order <= 0;
    case LEVADA_EXPRESSION_GT: return order > 0;
    default: return order >= 0;
    }
}

/* Compares the byte string of a row with a constant, or with that of another column. */
static int run_text_order(const expression_run *r, int32_t right, int64_t row, const uint8_t *data,
                          int64_t size)
{
    levada_expression_value other = { .number = false };
    int64_t                 n = 0;

    if (r->types[right].kind != LEVADA_EXPRESSION_TEXT)
        return run_order(data, size, r->e->nodes[right].values);
    other.text = (const char *)levada_column_bytes(&r->block->columns[r->types[right].column], row,
                                                   &n);
    other.size = (size_t)n;
    return run_order(data, size, &other);
}

/* Returns what holds for the byte string of a row: a comparison, whether it is in a list, or not
 * empty. */
static bool run_text(const expression_run *r, const levada_expression_node *node,
                     const levada_column *c, int64_t row)
{
    int64_t        size = 0;
    const uint8_t *data = levada_column_bytes(c, row, &size);

    if (node->op == LEVADA_EXPRESSION_NOT) return size == 0;
    if (node->op != LEVADA_EXPRESSION_IN) {
        return run_holds(node->op, run_text_order(r, node->b, row, data, size));
    }
    for (int64_t k = 0; k < node->n; k++) {
        if (run_order(data, size, &node->values[k]) == 0) return true;
    }
    return false;
}

static void run_texts(const expression_run *r, const levada_expression_node *node, run_lane *out)
{
    const levada_column *c = &r->block->columns[r->types[node->a].column];

    for (int64_t k = 0; k < r->n; k++) {
        if (run_again(r, k)) out[k] = out[k - 1];
        else out[k].i = run_text(r, node, c, run_row(r, k));
    }
}

/* -- operators */

static int64_t run_floor_i(int64_t a, int64_t b)
{
    if (b == 0) return 0;
    if (b == -1) return (int64_t)(0 - (uint64_t)a);
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

static int64_t run_rest_i(int64_t a, int64_t b)
{
    int64_t rest;

    if (b == 0 || b == -1) return 0;
    rest = a % b;
    return rest && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* Returns the remainder as NumPy does, with the sign of b. */
static double run_rest_f(double a, double b)
{
    double rest = fmod(a, b);

    if (b == 0) return rest; /* NaN */
    if (rest == 0) return copysign(0, b);
    return (b < 0) != (rest < 0) ? rest + b : rest;
}

static double run_floor_f(double a, double b)
{
    double rest = fmod(a, b), quotient = (a - rest) / b, down;

    if (b == 0) return a / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return copysign(0, a / b);
    down = floor(quotient);
    return quotient - down > 0.5 ? down + 1 : down;
}

#define RUN_EACH(member, value)                                                                   \
    for (int64_t k = 0; k < n; k++) out[k].member = (value);                                      \
    break

static void run_compute_i(levada_expression_op op, run_lane *out, const run_lane *a,
                          const run_lane *b, int64_t n)
{
    switch (op) {
    case LEVADA_EXPRESSION_ADD: RUN_EACH(u, a[k].u + b[k].u);
    case LEVADA_EXPRESSION_SUBTRACT: RUN_EACH(u, a[k].u - b[k].u);
    case LEVADA_EXPRESSION_MULTIPLY: RUN_EACH(u, a[k].u * b[k].u);
    case LEVADA_EXPRESSION_FLOOR: RUN_EACH(i, run_floor_i(a[k].i, b[k].i));
    default: RUN_EACH(i, run_rest_i(a[k].i, b[k].i));
    }
}

static void run_compute_u(levada_expression_op op, run_lane *out, const run_lane *a,
                          const run_lane *b, int64_t n)
{
    switch (op) {
    case LEVADA_EXPRESSION_FLOOR: RUN_EACH(u, b[k].u ? a[k].u / b[k].u : 0);
    case LEVADA_EXPRESSION_REMAINDER: RUN_EACH(u, b[k].u ? a[k].u % b[k].u : 0);
    default: run_compute_i(op, out, a, b, n); /* the same bits */
    }
}

static void run_compute_f(levada_expression_op op, run_lane *out, const run_lane *a,
                          const run_lane *b, int64_t n)
{
    switch (op) {
    case LEVADA_EXPRESSION_ADD: RUN_EACH(f, a[k].f + b[k].f);
    case LEVADA_EXPRESSION_SUBTRACT: RUN_EACH(f, a[k].f - b[k].f);
    case LEVADA_EXPRESSION_MULTIPLY: RUN_EACH(f, a[k].f * b[k].f);
    case LEVADA_EXPRESSION_DIVIDE: RUN_EACH(f, a[k].f / b[k].f);
    case LEVADA_EXPRESSION_FLOOR: RUN_EACH(f, run_floor_f(a[k].f, b[k].f));
    default: RUN_EACH(f, run_rest_f(a[k].f, b[k].f));
    }
}

#define RUN_COMPARE(name, member)                                                                 \
    static void run_compare_##name(levada_expression_op op, run_lane *out, const run_lane *a, \
                                   const run_lane *b, int64_t n)                                  \
    {                                                                                             \
        switch (op) {                                                                             \
        case LEVADA_EXPRESSION_EQ: RUN_EACH(i, a[k].member == b[k].member);                   \
        case LEVADA_EXPRESSION_NE: RUN_EACH(i, a[k].member != b[k].member);                   \
        case LEVADA_EXPRESSION_LT: RUN_EACH(i, a[k].member < b[k].member);                    \
        case LEVADA_EXPRESSION_LE: RUN_EACH(i, a[k].member <= b[k].member);                   \
        case LEVADA_EXPRESSION_GT: RUN_EACH(i, a[k].member > b[k].member);                    \
        default: RUN_EACH(i, a[k].member >= b[k].member);                                         \
        }                                                                                         \
    }

RUN_COMPARE(i, i)
RUN_COMPARE(u, u)
RUN_COMPARE(f, f)

static bool run_listed(const levada_expression_node *node, levada_dtype common, run_lane x)
{
    for (int64_t v = 0; v < node->n; v++) {
        const levada_expression_value *at = &node->values[v];

        if (common == LEVADA_FLOAT64 ? x.f == at->f : x.i == at->i) {
            return common != LEVADA_UINT64 || at->i >= 0;
        }
    }
    return false;
}

static void run_truth(levada_dtype d, run_lane *x, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        x[k].i = run_class(d) == LEVADA_FLOAT64 ? x[k].f != 0 : x[k].i != 0;
    }
}

/* -- nodes */

static void run_node(expression_run *r, int32_t i, int32_t level, run_lane *out);

/* Converts node i to numbers of a dtype; to truth for BOOL. */
static void run_as(expression_run *r, int32_t i, levada_dtype to, int32_t level, run_lane *out)
{
    const levada_expression_type *t = &r->types[i];

    if (t->kind == LEVADA_EXPRESSION_TEXT) { /* true if it is not empty */
        run_texts(r, &(levada_expression_node){ .op = LEVADA_EXPRESSION_NOT, .a = i }, out);
        for (int64_t k = 0; k < r->n; k++) out[k].i = !out[k].i;
        return;
    }
    run_node(r, i, level, out);
    if (to == LEVADA_BOOL) run_truth(t->dtype, out, r->n);
    else run_convert(t->dtype, to, out, r->n, r->scratch);
}

/* Returns the lanes of an operand, or the values of the column if they are such numbers. */
static const run_lane *run_operand(expression_run *r, int32_t i, levada_dtype to, int32_t level,
                                   run_lane *buffer)
{
    const levada_expression_type *t = &r->types[i];

    if (r->e->nodes[i].op == LEVADA_EXPRESSION_FIELD && !r->ends && t->dtype == to &&
        (to == LEVADA_INT64 || to == LEVADA_FLOAT64 || to == LEVADA_UINT64)) {
        return (const run_lane *)(const void *)r->block->columns[t->column].values + r->first;
    }
    run_as(r, i, to, level, buffer);
    return buffer;
}

static void run_unary(expression_run *r, const levada_expression_node *node,
                      const levada_expression_type *t, int32_t level, run_lane *out)
{
    bool real = run_class(t->dtype) == LEVADA_FLOAT64;

    if (node->op == LEVADA_EXPRESSION_NOT) {
        run_as(r, node->a, LEVADA_BOOL, level, out);
        for (int64_t k = 0; k < r->n; k++) out[k].i = !out[k].i;
        return;
    }
    run_as(r, node->a, t->dtype, level, out);
    if (node->op == LEVADA_EXPRESSION_CAST) return;
    for (int64_t k = 0; k < r->n; k++) {
        bool negate = node->op == LEVADA_EXPRESSION_NEGATE || out[k].i < 0;

        if (real) out[k].f = node->op == LEVADA_EXPRESSION_NEGATE ? -out[k].f : fabs(out[k].f);
        else if (negate && (t->dtype != LEVADA_UINT64 || node->op == LEVADA_EXPRESSION_NEGATE))
            out[k].u = 0 - out[k].u;
    }
    run_round(t->dtype, out, r->n, r->scratch);
}

static void run_logic(expression_run *r, const levada_expression_node *node, int32_t level,
                      run_lane *out)
{
    run_lane *b = r->scratch + (int64_t)level * RUN_TILE;

    run_as(r, node->a, LEVADA_BOOL, level, out);
    run_as(r, node->b, LEVADA_BOOL, level + 1, b);
    for (int64_t k = 0; k < r->n; k++) {
        out[k].i = node->op == LEVADA_EXPRESSION_AND ? out[k].i & b[k].i : out[k].i | b[k].i;
    }
}

static void run_binary(expression_run *r, const levada_expression_node *node,
                       const levada_expression_type *t, int32_t level, run_lane *out)
{
    run_lane       *buffer = r->scratch + (int64_t)level * RUN_TILE;
    levada_dtype    lanes = run_class(t->common);
    const run_lane *a = run_operand(r, node->a, t->common, level, out);
    const run_lane *b = run_operand(r, node->b, t->common, level + 1, buffer);

    if (node->op >= LEVADA_EXPRESSION_EQ) {
        if (lanes == LEVADA_FLOAT64) run_compare_f(node->op, out, a, b, r->n);
        else if (lanes == LEVADA_UINT64) run_compare_u(node->op, out, a, b, r->n);
        else run_compare_i(node->op, out, a, b, r->n);
        return;
    }
    if (lanes == LEVADA_FLOAT64) run_compute_f(node->op, out, a, b, r->n);
    else if (lanes == LEVADA_UINT64) run_compute_u(node->op, out, a, b, r->n);
    else run_compute_i(node->op, out, a, b, r->n);
    run_round(t->dtype, out, r->n, r->scratch);
}

static void run_in(expression_run *r, const levada_expression_node *node,
                   const levada_expression_type *t, int32_t level, run_lane *out)
{
    const run_lane *a = run_operand(r, node->a, t->common, level, out);

    for (int64_t k = 0; k < r->n; k++) out[k].i = run_listed(node, t->common, a[k]);
}

static void run_node(expression_run *r, int32_t i, int32_t level, run_lane *out)
{
    const levada_expression_node *node = &r->e->nodes[i];
    const levada_expression_type *t = &r->types[i];
    const levada_column   *c = t->column >= 0 ? &r->block->columns[t->column] : NULL;

    switch (node->op) {
    case LEVADA_EXPRESSION_FIELD:
        if (t->depth || t->ndim) run_elements(r, c, out);
        else run_rows(r, c, out);
        return;
    case LEVADA_EXPRESSION_LENGTH:
        for (int64_t k = 0; k < r->n; k++) out[k].i = run_length(c, run_row(r, k));
        return;
    case LEVADA_EXPRESSION_CONST:
        for (int64_t k = 0; k < r->n; k++) {
            if (t->dtype == LEVADA_FLOAT64) out[k].f = node->values[0].f;
            else out[k].i = node->values[0].i;
        }
        return;
    case LEVADA_EXPRESSION_NEGATE:
    case LEVADA_EXPRESSION_ABS:
    case LEVADA_EXPRESSION_CAST:
    case LEVADA_EXPRESSION_NOT: run_unary(r, node, t, level, out); return;
    case LEVADA_EXPRESSION_IN:
        if (levada_dtype_is_bytes(t->common)) run_texts(r, node, out);
        else run_in(r, node, t, level, out);
        return;
    case LEVADA_EXPRESSION_AND:
    case LEVADA_EXPRESSION_OR: run_logic(r, node, level, out); return;
    default: break;
    }
    if (levada_dtype_is_bytes(t->common)) run_texts(r, node, out);
    else run_binary(r, node, t, level, out);
}

/* -- blocks */

static levada_status run_open(expression_run *r, const levada_expression *e,
                              const levada_block *block, levada_error *err)
{
    size_t tiles = (size_t)e->nodes[e->n - 1].depth + 2;

    r->scratch = r->few;
    r->ends = NULL;
    for (int32_t i = 0; i < e->n; i++) { /* of an open spec */
        if (r->types[i].kind != LEVADA_EXPRESSION_UNKNOWN || !e->nodes[i].field) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a record lacks field '%s'; return it in all records",
                           e->nodes[i].field);
    }
    r->e = e;
    r->block = block;
    if (tiles > RUN_FEW) r->scratch = levada_alloc(tiles * RUN_TILE * sizeof *r->scratch);
    return r->scratch ? LEVADA_OK : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                                "out of memory for an expression");
}

static void run_close(expression_run *r)
{
    if (r->scratch != r->few) levada_free(r->scratch);
    levada_free(r->ends);
}

/* Places the next tile, of elements from `first` on. *row: the one that has the element before. */
static void run_place(expression_run *r, int64_t first, int64_t n, int64_t *row)
{
    r->first = first;
    r->n = n;
    for (int64_t k = 0; r->ends && k < n; k++) {
        while (r->ends[*row] <= first + k) ++*row;
        r->row[k] = (int32_t)*row;
    }
}

levada_status levada_expression_match(const levada_expression *e, const levada_block *block,
                                      uint8_t *keep, levada_error *err)
{
    expression_run r;
    run_lane       out[RUN_TILE];
    int64_t        row = 0;
    levada_status  st;

    LEVADA_TRY(levada_expression_condition(e, block->spec, r.types, err));
    st = run_open(&r, e, block, err);
    for (int64_t at = 0; st == LEVADA_OK && at < block->n; at += RUN_TILE) {
        run_place(&r, at, block->n - at < RUN_TILE ? block->n - at : RUN_TILE, &row);
        run_as(&r, e->n - 1, LEVADA_BOOL, 1, out);
        for (int64_t k = 0; k < r.n; k++) keep[at + k] = (uint8_t)out[k].i;
    }
    run_close(&r);
    return st;
}

/* -- a column of sequences */

static int64_t run_steps(const levada_column *c, int64_t row)
{
    return c->field->depth ? (int64_t)c->level[0].end[row] - c->level[0].begin[row] : 1;
}

/* Refuses sequences whose steps have different sizes. */
static levada_status run_check_steps(const expression_run *r, levada_error *err)
{
    int64_t inner = -1;

    for (int32_t i = 0; i < r->e->n; i++) {
        const levada_expression_type *t = &r->types[i];
        int64_t                n;

        if (r->e->nodes[i].op != LEVADA_EXPRESSION_FIELD || t->column < 0 ||
            !(t->depth || t->ndim)) {
            continue;
        }
        n = levada_column_inner(&r->block->columns[t->column]);
        if (inner >= 0 && n != inner) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "the fields of an expression must have the same shape, got %lld "
                               "and %lld values per step", (long long)inner, (long long)n);
        }
        inner = n;
    }
    return LEVADA_OK;
}

/* Returns true if the sequences of a row have one length, which is that of *first. */
static bool run_even(const expression_run *r, int64_t row, const levada_column **first,
                     const levada_column **other)
{
    *first = NULL;
    for (int32_t i = 0; i < r->e->n; i++) {
        const levada_expression_type *t = &r->types[i];
        const levada_column   *c;

        if (r->e->nodes[i].op != LEVADA_EXPRESSION_FIELD || t->column < 0 ||
            !(t->depth || t->ndim)) {
            continue;
        }
        c = &r->block->columns[t->column];
        *other = c;
        if (*first && run_steps(c, row) != run_steps(*first, row)) return false;
        if (!*first) *first = c;
    }
    return true;
}

/* Measures the elements of each row, and the offsets of the column; records that differ are
 * rejected. */
static levada_status run_measure(expression_run *r, levada_builder *b, int32_t i,
                                 levada_error *err)
{
    const levada_column *c = NULL, *other = NULL;
    int32_t             *offsets = NULL;
    int64_t              steps = 0, n = r->block->n;
    bool                 ragged = r->types[r->e->n - 1].depth > 0;
    levada_error         why = LEVADA_ERROR_INIT;

    r->ends = levada_alloc((size_t)n * sizeof *r->ends + 1);
    if (!r->ends) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an expression");
    }
    LEVADA_TRY(run_check_steps(r, err));
    if (ragged) LEVADA_TRY(levada_builder_offsets(b, i, 0, n, &offsets, err));
    if (offsets) offsets[0] = 0;
    for (int64_t row = 0; row < n; row++) {
        bool even = run_even(r, row, &c, &other);

        if (!even) {
            (void)levada_fail(&why, LEVADA_EINVALID_ARGUMENT,
                              "fields '%s' and '%s' of an expression must have the same length in "
                              "a record, got %lld and %lld; cut them with slice",
                              c->field->name, other->field->name, (long long)run_steps(c, row),
                              (long long)run_steps(other, row));
            LEVADA_TRY(levada_builder_reject(b, row, &why, err));
        }
        steps += even || !ragged ? run_steps(c, row) : 0;
        r->ends[row] = steps * levada_column_inner(c);
        if (offsets && steps > INT32_MAX) {
            return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                               "more than 2^31 steps in one block; lower block_rows");
        }
        if (offsets) offsets[row + 1] = (int32_t)steps;
    }
    if (c) levada_builder_dims(b, i, c->dims);
    return LEVADA_OK;
}

/* Writes a text of the expression, in each row. */
static levada_status run_words(const expression_run *r, levada_builder *b, int32_t i,
                               levada_error *err)
{
    const levada_expression_value *v = r->e->nodes[0].values;
    int64_t                 n = r->block->n;
    int32_t                *begin = NULL, *end = NULL;
    void                   *bytes = NULL;

    LEVADA_TRY(levada_builder_ranges(b, i, 0, n, &begin, &end, err));
    LEVADA_TRY(levada_builder_values(b, i, (int64_t)v->size, &bytes, err));
    memcpy(bytes, v->text, v->size);
    for (int64_t row = 0; row < n; row++) {
        begin[row] = 0;
        end[row] = (int32_t)v->size;
    }
    return LEVADA_OK;
}

static levada_status run_fill(expression_run *r, levada_builder *b, int32_t i, levada_error *err)
{
    const levada_expression_type *t = &r->types[r->e->n - 1];
    int64_t                n = r->block->n, size = levada_dtype_size(t->dtype), row = 0;
    run_lane               out[RUN_TILE];
    void                  *values = NULL;

    if (t->kind == LEVADA_EXPRESSION_WORD) return run_words(r, b, i, err);
    if (r->e->n == 1 && r->e->nodes[0].op == LEVADA_EXPRESSION_FIELD &&
        r->block->columns[t->column].field->dtype != LEVADA_BFLOAT16) {
        levada_builder_share(b, i, &r->block->columns[t->column]);
        return LEVADA_OK;
    }
    if (t->depth || t->ndim) LEVADA_TRY(run_measure(r, b, i, err));
    if (r->ends) n = r->block->n ? r->ends[r->block->n - 1] : 0;
    LEVADA_TRY(levada_builder_values(b, i, n, &values, err));
    for (int64_t at = 0; at < n; at += RUN_TILE) {
        run_place(r, at, n - at < RUN_TILE ? n - at : RUN_TILE, &row);
        run_node(r, r->e->n - 1, 1, out);
        (void)levada_convert(run_class(t->dtype), out, t->dtype, (uint8_t *)values + at * size,
                             r->n);
    }
    return LEVADA_OK;
}

levada_status levada_expression_fill(const levada_expression *e, const levada_block *block,
                                     levada_builder *b, int32_t i, levada_error *err)
{
    expression_run r;
    levada_status  st;

    LEVADA_TRY(levada_expression_bind(e, block->spec, true, r.types, err));
    st = run_open(&r, e, block, err);
    if (st == LEVADA_OK) st = run_fill(&r, b, i, err);
    run_close(&r);
    return st;
}
