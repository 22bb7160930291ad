/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a block as elements of a queue. Columns of numbers with the same shape in every row go in
 * as they are. Rows of bytes and rows of different shapes become tensors before anything goes in.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "runtime/queue_priv.h"
#include "tensor/block_priv.h"

#include <string.h>

#define BLOCK_SHOW 16384 /* bytes from which a tensor shows the block's memory */

typedef struct block_cells {
    uint8_t *cells[LEVADA_QUEUE_COMPONENTS];
    void    *memory[LEVADA_QUEUE_COMPONENTS]; /* owned: references, or rows that were gathered */
} block_cells;

/* One row of one column. */
typedef struct block_row {
    const levada_block  *block;
    const levada_column *column;
    int64_t              row;
    int64_t              begin, count; /* elements, in values or in the ranges of byte strings */
    levada_shape         shape;
} block_row;

static void block_find(block_row *r, int64_t row)
{
    const levada_column *c = r->column;
    int32_t              front = c->field->depth;
    int64_t              inner = levada_column_inner(c), items = 1, begin = row;

    r->row = row;
    if (front > 0) {
        begin = c->level[0].begin[row];
        items = c->level[0].end[row] - begin;
        r->shape.dims[0] = items;
    }
    r->shape.rank = front + c->field->ndim;
    for (int32_t d = 0; d < c->field->ndim; d++) r->shape.dims[front + d] = c->dims[d];
    r->begin = begin * inner;
    r->count = items * inner;
}

static levada_status block_check_shape(const levada_queue *q, int32_t i, const block_row *r,
                                       levada_error *err)
{
    char          want[LEVADA_SHAPE_TEXT], got[LEVADA_SHAPE_TEXT];
    levada_origin origin;

    if (levada_shape_allows(&q->shapes[i], &r->shape)) return LEVADA_OK;
    origin = levada_block_origin(r->block, r->row);
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "Shape mismatch in tuple component %d. Expected %s, got %s in column '%s' "
                       "of record %lld",
                       (int)i, levada_shape_print(&q->shapes[i], want),
                       levada_shape_print(&r->shape, got), r->column->field->name,
                       (long long)origin.record);
}

static levada_status block_check(const levada_queue *q, int32_t i, const levada_column *column,
                                 levada_error *err)
{
    const levada_field *f;
    bool                strings;

    if (column == NULL) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "%s '%s': the block has no column for component %d",
                           levada_queue_kind_name(q->options.kind), q->name, (int)i);
    }
    f = column->field;
    strings = levada_dtype_is_bytes(f->dtype) && levada_dtype_is_bytes(q->dtypes[i]);
    if (f->dtype != q->dtypes[i] && !strings) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "Type mismatch in tuple component %d. Expected %s, got %s of column "
                           "'%s'",
                           (int)i, levada_dtype_name(q->dtypes[i]), levada_dtype_name(f->dtype),
                           f->name);
    }
    if (f->depth <= 1 && f->depth + f->ndim < LEVADA_MAX_DIMS) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "column '%s' has %d ragged levels: a row of it is not a tensor", f->name,
                       (int)f->depth);
}

/* -- tensors ----------------------------------------------------------------------------------- */

static levada_status block_strings(const levada_queue *q, const block_row *r, levada_tensor **out,
                                   levada_error *err)
{
    const levada_level *ranges = &r->column->level[r->column->field->depth];
    levada_tensor      *t = NULL;
    int64_t             bytes = 0;

    for (int64_t k = r->begin; k < r->begin + r->count; k++) {
        bytes += ranges->end[k] - ranges->begin[k];
    }
    LEVADA_TRY(levada_tensor_make_strings(q->pool, &r->shape, bytes, &t, err));
    t->offsets[0] = 0;
    for (int64_t k = 0; k < r->count; k++) {
        int32_t begin = ranges->begin[r->begin + k], size = ranges->end[r->begin + k] - begin;

        if (size > 0) memcpy(t->data + t->offsets[k], r->column->values + begin, (size_t)size);
        t->offsets[k + 1] = t->offsets[k] + size;
    }
    *out = t;
    return LEVADA_OK;
}

static void block_release(void *user)
{
    levada_block *block = user;

    levada_block_unref(&block);
}

static levada_status block_numbers(const levada_queue *q, const block_row *r, levada_tensor **out,
                                   levada_error *err)
{
    levada_dtype   dtype = r->column->field->dtype;
    int64_t        item = levada_dtype_size(dtype), bytes = r->count * item;
    const uint8_t *from = r->column->values + r->begin * item;
    levada_status  status;

    if (bytes >= BLOCK_SHOW) {
        levada_block *owner = levada_block_ref(r->block);

        status = levada_tensor_wrap(dtype, &r->shape, from, block_release, owner, out, err);
        if (status != LEVADA_OK) levada_block_unref(&owner);
        return status;
    }
    LEVADA_TRY(levada_tensor_make(q->pool, dtype, &r->shape, out, err));
    if (bytes > 0) memcpy((*out)->data, from, (size_t)bytes);
    return LEVADA_OK;
}

static levada_status block_tensors(const levada_queue *q, int32_t i, block_row *r, int64_t first,
                                   int64_t n, levada_tensor **to, levada_error *err)
{
    for (int64_t k = 0; k < n; k++) {
        block_find(r, first + k);
        LEVADA_TRY(block_check_shape(q, i, r, err));
        if (levada_dtype_is_bytes(q->dtypes[i])) LEVADA_TRY(block_strings(q, r, &to[k], err));
        else LEVADA_TRY(block_numbers(q, r, &to[k], err));
    }
    return LEVADA_OK;
}

/* -- rows -------------------------------------------------------------------------------------- */

/* Gathers rows of a ragged column that all have the one length of the queue. */
static levada_status block_gather(const levada_queue *q, int32_t i, block_row *r, int64_t first,
                                  int64_t n, uint8_t *to, levada_error *err)
{
    size_t  width = q->width[i];
    int64_t item = levada_dtype_size(q->dtypes[i]);

    for (int64_t k = 0; k < n; k++) {
        block_find(r, first + k);
        LEVADA_TRY(block_check_shape(q, i, r, err));
        if (width > 0) memcpy(to + (size_t)k * width, r->column->values + r->begin * item, width);
    }
    return LEVADA_OK;
}

static levada_status block_component(const levada_queue *q, int32_t i, block_row *r, int64_t first,
                                     int64_t n, block_cells *to, levada_error *err)
{
    size_t size, width = q->width[i];

    LEVADA_TRY(block_check(q, i, r->column, err));
    if (!q->is_ref[i] && r->column->field->depth == 0) {
        block_find(r, first);
        to->cells[i] = (uint8_t *)(uintptr_t)r->column->values + (size_t)first * width;
        return block_check_shape(q, i, r, err); /* only read */
    }
    if (!levada_size_of((size_t)n, width, 0, &size) ||
        (to->memory[i] = levada_alloc_zero(size > 0 ? size : 1)) == NULL) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for %lld elements",
                           (long long)n);
    }
    to->cells[i] = to->memory[i];
    if (!q->is_ref[i]) return block_gather(q, i, r, first, n, to->memory[i], err);
    return block_tensors(q, i, r, first, n, to->memory[i], err);
}

/* Drops what did not go in. */
static void block_drop(const levada_queue *q, block_cells *all, int64_t done, int64_t n)
{
    for (int32_t i = 0; i < q->options.ncomponents; i++) {
        levada_tensor **rows = all->memory[i];

        for (int64_t k = done; rows != NULL && q->is_ref[i] && k < n; k++) {
            levada_tensor_unref(&rows[k]);
        }
        levada_free(all->memory[i]);
    }
}

static levada_status block_enqueue(levada_queue *q, const levada_block *block,
                                   const int32_t *columns, int64_t first, int64_t timeout,
                                   int64_t *done, levada_error *err)
{
    block_cells     all;
    levada_queue_op op;
    int32_t         ncomponents = q->options.ncomponents;
    int64_t         n = levada_block_rows(block) - first;
    levada_status   status = LEVADA_OK;

    memset(all.memory, 0, sizeof(all.memory[0]) * (size_t)ncomponents);
    for (int32_t i = 0; i < ncomponents && status == LEVADA_OK; i++) {
        block_row r = { .block = block };

        r.column = levada_block_at(block, columns != NULL ? columns[i] : i);
        status = block_component(q, i, &r, first, n, &all, err);
    }
    levada_queue_op_init(&op, LEVADA_QUEUE_ENQUEUE, "enqueue_block", n);
    op.cells = all.cells;
    if (status == LEVADA_OK) status = levada_queue_run(q, &op, timeout, err);
    *done = op.done;
    block_drop(q, &all, op.done, n);
    return status;
}

levada_status levada_queue_enqueue_block(levada_queue *queue, const levada_block *block,
                                         const int32_t *columns, int64_t first, int64_t timeout,
                                         int64_t *done, levada_error *err)
{
    levada_block *plain = NULL;
    int64_t       went = 0, rows;
    levada_status status;

    LEVADA_TRY(LEVADA_USABLE(queue, "queue", err));
    LEVADA_TRY(levada_require(block != NULL, "block", err));
    rows = levada_block_rows(block);
    if (done != NULL) *done = 0;
    if (first < 0 || first > rows) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "first=%lld is out of range: the block has %lld rows",
                           (long long)first, (long long)rows);
    }
    if (first == rows) return LEVADA_OK;
    LEVADA_TRY(levada_block_gather(queue->pool, block, &plain, err));
    status = block_enqueue(queue, plain, columns, first, timeout, &went, err);
    levada_block_unref(&plain);
    if (done != NULL) *done = went;
    return status;
}
