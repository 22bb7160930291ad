/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors put on top of each other. Where all have one shape it is a copy after the other; else the
 * dimensions are walked and the rest is padding.
 */
#include "tensor/tensor_priv.h"

#include <string.h>

/* Computes the largest of each dimension. */
static levada_status stack_shape(const levada_shape *known, levada_tensor *const *rows, int64_t n,
                                 levada_shape *out, bool *equal, levada_error *err)
{
    levada_shape shape = n > 0 ? rows[0]->shape : *known;
    char         a[LEVADA_SHAPE_TEXT], b[LEVADA_SHAPE_TEXT];

    *equal = true;
    for (int32_t d = 0; d < shape.rank; d++) {
        if (shape.dims[d] < 0) shape.dims[d] = 0;
    }
    for (int64_t i = 1; i < n; i++) {
        const levada_shape *row = &rows[i]->shape;

        if (row->rank != shape.rank) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "elements of shapes %s and %s cannot be put in one batch",
                               levada_shape_print(&rows[0]->shape, a), levada_shape_print(row, b));
        }
        if (levada_shape_equal(row, &shape)) continue;
        *equal = false;
        for (int32_t d = 0; d < shape.rank; d++) {
            if (row->dims[d] > shape.dims[d]) shape.dims[d] = row->dims[d];
        }
    }
    if (shape.rank >= LEVADA_MAX_DIMS || shape.rank < 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "elements of rank %d cannot be put in a batch of at most %d dimensions",
                           (int)shape.rank, LEVADA_MAX_DIMS);
    }
    *out = shape;
    return LEVADA_OK;
}

/* Calls for each run of the innermost dimension: where it begins in the row and in the stack. */
typedef struct stack_walk {
    const levada_shape *small, *large;
    int64_t             at[LEVADA_MAX_DIMS], from, to;
} stack_walk;

static bool stack_next(stack_walk *w)
{
    int64_t from = 0, to = 0;
    int32_t d = w->small->rank - 2;

    while (d >= 0 && ++w->at[d] == w->small->dims[d]) w->at[d--] = 0;
    if (d < 0) return false;
    for (d = 0; d < w->small->rank; d++) {
        from = from * w->small->dims[d] + w->at[d];
        to = to * w->large->dims[d] + w->at[d];
    }
    w->from = from;
    w->to = to;
    return true;
}

static int64_t stack_inner(const levada_shape *shape)
{
    return shape->rank > 0 ? shape->dims[shape->rank - 1] : 1;
}

static void stack_numbers(uint8_t *to, const levada_tensor *row, const levada_shape *shape,
                          int64_t size)
{
    stack_walk w = { &row->shape, shape, { 0 }, 0, 0 };
    int64_t    run = stack_inner(&row->shape) * size;

    if (row->count == 0) return;
    do {
        memcpy(to + w.to * size, row->data + w.from * size, (size_t)run);
    } while (stack_next(&w));
}

/* Writes the lengths of the strings of one row, at their places. */
static void stack_lengths(int32_t *to, const levada_tensor *row, const levada_shape *shape)
{
    stack_walk w = { &row->shape, shape, { 0 }, 0, 0 };
    int64_t    run = stack_inner(&row->shape);

    if (row->count == 0) return;
    do {
        const int32_t *at = row->offsets + w.from;

        for (int64_t k = 0; k < run; k++) to[w.to + k] = at[k + 1] - at[k];
    } while (stack_next(&w));
}

/* Stacks strings. Those of a row are in row order in the stack too: only empty ones come between.
 */
static levada_status stack_strings(levada_pool *pool, levada_tensor *const *rows, int64_t n,
                                   const levada_shape *row, const levada_shape *shape,
                                   levada_tensor **out, levada_error *err)
{
    levada_tensor *t = NULL;
    int64_t        bytes = 0, per_row = levada_shape_count(row), at = 0;

    for (int64_t i = 0; i < n; i++) bytes += rows[i]->bytes;
    LEVADA_TRY(levada_tensor_make_strings(pool, shape, bytes, &t, err));
    memset(t->offsets, 0, (size_t)(t->count + 1) * sizeof(int32_t));
    for (int64_t i = 0; i < n; i++) {
        const levada_tensor *r = rows[i];

        stack_lengths(t->offsets + 1 + i * per_row, r, row);
        if (r->bytes > 0) memcpy(t->data + at, r->data + r->offsets[0], (size_t)r->bytes);
        at += r->bytes;
    }
    for (int64_t k = 0; k < t->count; k++) t->offsets[k + 1] += t->offsets[k];
    *out = t;
    return LEVADA_OK;
}

levada_status levada_tensor_stack(levada_pool *pool, levada_dtype dtype, const levada_shape *known,
                                  levada_tensor *const *rows, int64_t n, levada_tensor **out,
                                  levada_error *err)
{
    levada_shape   row, shape;
    levada_tensor *t = NULL;
    bool           equal;
    int64_t        size = levada_dtype_size(dtype);

    LEVADA_TRY(stack_shape(known, rows, n, &row, &equal, err));
    shape = levada_shape_rows(&row, n);
    if (levada_dtype_is_bytes(dtype)) return stack_strings(pool, rows, n, &row, &shape, out, err);
    LEVADA_TRY(levada_tensor_make(pool, dtype, &shape, &t, err));
    int64_t step = n > 0 ? t->bytes / n : 0;
    if (!equal) memset(t->data, 0, (size_t)t->bytes);
    for (int64_t i = 0; i < n && step > 0; i++) {
        if (equal) memcpy(t->data + i * step, rows[i]->data, (size_t)step);
        else stack_numbers(t->data + i * step, rows[i], &row, size);
    }
    *out = t;
    return LEVADA_OK;
}
