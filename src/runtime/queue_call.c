/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public calls: tensors become cells before a call and cells become tensors after it, both
 * without the lock. Padding happens here too.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "runtime/queue_priv.h"

#include <string.h>

/* The memory of the cells of one call. */
typedef struct call_frame {
    uint8_t       *cells[LEVADA_QUEUE_COMPONENTS];
    levada_tensor *one[LEVADA_QUEUE_COMPONENTS]; /* references of a call for one element */
    levada_tensor **many; /* NULL, or n references for each component that has them */
} call_frame;

/* -- checks ------------------------------------------------------------------------------------ */

static levada_status call_mismatch(int32_t i, const levada_shape *want,
                                   const levada_shape *got, levada_error *err)
{
    char a[LEVADA_SHAPE_TEXT], b[LEVADA_SHAPE_TEXT];

    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "Shape mismatch in tuple component %d. Expected %s, got %s", (int)i,
                       levada_shape_print(want, a), levada_shape_print(got, b));
}

static levada_status call_check_dtype(const levada_queue *q, int32_t i, const levada_tensor *t,
                                      levada_error *err)
{
    if (t == NULL) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "Wrong number of components in tuple. Expected %d, got %d",
                           (int)q->options.ncomponents, (int)i);
    }
    if (t->dtype == q->dtypes[i]) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "Type mismatch in tuple component %d. Expected %s, got %s", (int)i,
                       levada_dtype_name(q->dtypes[i]), levada_dtype_name(t->dtype));
}

static levada_status call_check(const levada_queue *q, levada_tensor *const *components,
                                levada_error *err)
{
    for (int32_t i = 0; i < q->options.ncomponents; i++) {
        LEVADA_TRY(call_check_dtype(q, i, components[i], err));
        if (!levada_shape_allows(&q->shapes[i], &components[i]->shape)) {
            return call_mismatch(i, &q->shapes[i], &components[i]->shape, err);
        }
    }
    return LEVADA_OK;
}

/* Checks values with rows in front; *n is how many. */
static levada_status call_check_many(const levada_queue *q, levada_tensor *const *components,
                                     int64_t *n, levada_error *err)
{
    int64_t rows = -1;

    for (int32_t i = 0; i < q->options.ncomponents; i++) {
        LEVADA_TRY(call_check_dtype(q, i, components[i], err));
        const levada_shape *got = &components[i]->shape;
        if (rows < 0 && got->rank > 0) rows = got->dims[0];
        levada_shape want = levada_shape_rows(&q->shapes[i], rows);
        if (got->rank < 1 || !levada_shape_allows(&want, got)) {
            if (got->rank < 1) want = levada_shape_rows(&q->shapes[i], -1);
            return call_mismatch(i, &want, got, err);
        }
        if (got->dims[0] != rows) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "All input tensors must have the same size in the 0th dimension. "
                               "Component %d has %lld, and should have %lld",
                               (int)i, (long long)got->dims[0], (long long)rows);
        }
    }
    *n = rows;
    return LEVADA_OK;
}

/* Limits n to the rest: a closed queue returns no more than it has, so an up_to needs no memory for
 * more. */
static int64_t call_rest(const levada_queue *q, int64_t n)
{
    int64_t rest = n;

    if (!levada_queue_closed(q)) return n;
    rest = levada_queue_size(q);
    return rest < 1 ? 1 : rest < n ? rest : n;
}

/* Checks the rest: a closed queue with too few elements says so before memory is taken for all of
 * them. */
static levada_status call_check_rest(const levada_queue *q, int64_t n, levada_error *err)
{
    int64_t rest;

    if (!levada_queue_closed(q)) return LEVADA_OK;
    rest = levada_queue_size(q);
    return rest >= n ? LEVADA_OK : levada_queue_drained(q, n, rest, err);
}

static levada_status call_check_n(const levada_queue *q, int64_t *n, bool up_to, levada_error *err)
{
    int64_t capacity = q->options.capacity;

    if (!q->has_shapes) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "%s '%s': dequeues of many require the components to have "
                           "specified shapes",
                           levada_queue_kind_name(q->options.kind), q->name);
    }
    if (*n < 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s '%s': requested %lld < 0 elements",
                           levada_queue_kind_name(q->options.kind), q->name, (long long)*n);
    }
    if (up_to && *n > 1) *n = call_rest(q, *n);
    if (q->options.kind != LEVADA_QUEUE_PRIORITY || capacity < 0 || *n <= capacity) {
        return LEVADA_OK;
    }
    if (up_to) {
        *n = capacity;
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "%s '%s': %lld elements cannot be dequeued at once: the capacity is %lld",
                       levada_queue_kind_name(q->options.kind), q->name, (long long)*n,
                       (long long)capacity);
}

/* -- enqueue ----------------------------------------------------------------------------------- */

levada_status levada_queue_enqueue(levada_queue *queue, levada_tensor *const *components,
                                   int64_t timeout, levada_error *err)
{
    call_frame      frame;
    levada_queue_op op;
    levada_status   status;

    LEVADA_TRY(LEVADA_USABLE(queue, "queue", err));
    LEVADA_TRY(levada_require(components != NULL, "components", err));
    levada_queue_op_init(&op, LEVADA_QUEUE_ENQUEUE, "enqueue", 1);
    LEVADA_TRY(call_check(queue, components, err));
    for (int32_t i = 0; i < queue->options.ncomponents; i++) {
        frame.cells[i] = components[i]->data;
        if (!queue->is_ref[i]) continue;
        frame.one[i] = levada_tensor_ref(components[i]);
        frame.cells[i] = (uint8_t *)(void *)&frame.one[i];
    }
    op.cells = frame.cells;
    status = levada_queue_run(queue, &op, timeout, err);
    for (int32_t i = 0; status != LEVADA_OK && i < queue->options.ncomponents; i++) {
        if (queue->is_ref[i]) levada_tensor_unref(&frame.one[i]);
    }
    return status;
}

/* Reserves memory for n references for each component that has them; one call for one element needs
 * none. */
static levada_status call_references(const levada_queue *q, call_frame *frame, int64_t n,
                                     levada_error *err)
{
    size_t  size;
    int64_t at = 0;

    frame->many = NULL;
    if (q->rows_only) return LEVADA_OK;
    if (!levada_size_of((size_t)n, sizeof(levada_tensor *) * (size_t)q->options.ncomponents, 0,
                        &size) ||
        (frame->many = levada_alloc_zero(size)) == NULL) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for %lld elements",
                           (long long)n);
    }
    for (int32_t i = 0; i < q->options.ncomponents; i++) {
        if (!q->is_ref[i]) continue;
        frame->cells[i] = (uint8_t *)(void *)(frame->many + at);
        at += n;
    }
    return LEVADA_OK;
}

/* Drops the references from element `from` on. */
static void call_drop(const levada_queue *q, call_frame *frame, int64_t from, int64_t n)
{
    for (int32_t i = 0; frame->many != NULL && i < q->options.ncomponents; i++) {
        levada_tensor **rows = (levada_tensor **)(void *)frame->cells[i];

        for (int64_t k = from; q->is_ref[i] && k < n; k++) levada_tensor_unref(&rows[k]);
    }
    levada_free(frame->many);
    frame->many = NULL;
}

static levada_status call_slice(const levada_queue *q, levada_tensor *const *components,
                                call_frame *frame, int64_t n, levada_error *err)
{
    LEVADA_TRY(call_references(q, frame, n, err));
    for (int32_t i = 0; i < q->options.ncomponents; i++) {
        levada_tensor **rows = (levada_tensor **)(void *)frame->cells[i];

        if (!q->is_ref[i]) frame->cells[i] = components[i]->data;
        for (int64_t k = 0; q->is_ref[i] && k < n; k++) {
            LEVADA_TRY(levada_tensor_row(q->pool, components[i], k, &rows[k], err));
        }
    }
    return LEVADA_OK;
}

levada_status levada_queue_enqueue_many(levada_queue *queue, levada_tensor *const *components,
                                        int64_t timeout, int64_t *done, levada_error *err)
{
    call_frame      frame;
    levada_queue_op op;
    levada_status   status;

    LEVADA_TRY(LEVADA_USABLE(queue, "queue", err));
    LEVADA_TRY(levada_require(components != NULL, "components", err));
    levada_queue_op_init(&op, LEVADA_QUEUE_ENQUEUE, "enqueue_many", 0);
    if (done != NULL) *done = 0;
    LEVADA_TRY(call_check_many(queue, components, &op.n, err));
    if (op.n == 0) return LEVADA_OK;
    memset(frame.cells, 0, sizeof(frame.cells[0]) * (size_t)queue->options.ncomponents);
    status = call_slice(queue, components, &frame, op.n, err);
    op.cells = frame.cells;
    if (status == LEVADA_OK) status = levada_queue_run(queue, &op, timeout, err);
    if (done != NULL) *done = op.done;
    call_drop(queue, &frame, op.done, op.n);
    return status;
}

levada_status levada_queue_enqueue_rows(levada_queue *queue, int64_t n, const void *const *rows,
                                        int64_t timeout, int64_t *done, levada_error *err)
{
    uint8_t        *cells[LEVADA_QUEUE_COMPONENTS];
    levada_queue_op op;
    levada_status   status;

    LEVADA_TRY(LEVADA_USABLE(queue, "queue", err));
    LEVADA_TRY(levada_require(rows != NULL || n <= 0, "rows", err));
    levada_queue_op_init(&op, LEVADA_QUEUE_ENQUEUE, n == 1 ? "enqueue" : "enqueue_many", n);
    if (done != NULL) *done = 0;
    if (!queue->rows_only || n < 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "%s '%s': enqueue_rows(%lld) needs components of numeric dtype and "
                           "fully defined shape",
                           levada_queue_kind_name(queue->options.kind), queue->name, (long long)n);
    }
    if (n == 0) return LEVADA_OK;
    cells[0] = (uint8_t *)(uintptr_t)rows[0]; /* only read */
    for (int32_t i = 1; i < queue->options.ncomponents; i++) {
        cells[i] = (uint8_t *)(uintptr_t)rows[i];
    }
    op.cells = cells;
    status = levada_queue_run(queue, &op, timeout, err);
    if (done != NULL) *done = op.done;
    return status;
}

/* -- dequeue ----------------------------------------------------------------------------------- */

static void call_unref_all(levada_tensor **tensors, int32_t n)
{
    while (n > 0) levada_tensor_unref(&tensors[--n]);
}

levada_status levada_queue_dequeue(levada_queue *queue, levada_tensor **components,
                                   int64_t timeout, levada_error *err)
{
    call_frame      frame;
    levada_queue_op op;
    levada_status   status = LEVADA_OK;
    int32_t         n, made = 0;

    LEVADA_TRY(LEVADA_USABLE(queue, "queue", err));
    LEVADA_TRY(levada_require(components != NULL, "components", err));
    n = queue->options.ncomponents;
    levada_queue_op_init(&op, LEVADA_QUEUE_DEQUEUE, "dequeue", 1);
    for (; made < n && status == LEVADA_OK; made++) {
        frame.one[made] = NULL;
        frame.cells[made] = (uint8_t *)(void *)&frame.one[made];
        if (queue->is_ref[made]) continue;
        status = levada_tensor_make(queue->pool, queue->dtypes[made], &queue->shapes[made],
                                    &frame.one[made], err);
        if (status == LEVADA_OK) frame.cells[made] = frame.one[made]->data;
    }
    op.cells = frame.cells;
    if (status == LEVADA_OK) status = levada_queue_run(queue, &op, timeout, err);
    if (status == LEVADA_OK) {
        memcpy(components, frame.one, (size_t)n * sizeof(*components));
        return LEVADA_OK;
    }
    /* What failed left nothing in the cells of references but rows of ours. */
    for (int32_t i = 0; i < made; i++) {
        if (!queue->is_ref[i]) levada_tensor_unref(&frame.one[i]);
    }
    return status;
}

/* Tensors of n rows to be written, where rows are known. */
static levada_status call_targets(const levada_queue *q, call_frame *frame, int64_t n,
                                  levada_error *err)
{
    for (int32_t i = 0; i < q->options.ncomponents; i++) {
        levada_shape shape = levada_shape_rows(&q->shapes[i], n);

        if (q->is_ref[i]) continue;
        if (shape.rank > LEVADA_MAX_DIMS) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "component %d of rank %d cannot be put in a batch of at most %d "
                               "dimensions",
                               (int)i, (int)q->shapes[i].rank, LEVADA_MAX_DIMS);
        }
        LEVADA_TRY(levada_tensor_make(q->pool, q->dtypes[i], &shape, &frame->one[i], err));
        frame->cells[i] = frame->one[i]->data;
    }
    return LEVADA_OK;
}

static levada_status call_stack(const levada_queue *q, call_frame *frame, int64_t n,
                                levada_error *err)
{
    for (int32_t i = 0; i < q->options.ncomponents; i++) {
        levada_tensor **rows = (levada_tensor **)(void *)frame->cells[i];

        if (q->is_ref[i]) {
            LEVADA_TRY(levada_tensor_stack(q->pool, q->dtypes[i], &q->shapes[i], rows, n,
                                           &frame->one[i], err));
        } else {
            levada_tensor_shrink(frame->one[i], n);
        }
    }
    return LEVADA_OK;
}

levada_status levada_queue_dequeue_many(levada_queue *queue, int64_t n, bool up_to,
                                        levada_tensor **components, int64_t timeout,
                                        levada_error *err)
{
    call_frame      frame;
    levada_queue_op op;
    levada_status   status;
    int32_t         all;

    LEVADA_TRY(LEVADA_USABLE(queue, "queue", err));
    LEVADA_TRY(levada_require(components != NULL, "components", err));
    LEVADA_TRY(call_check_n(queue, &n, up_to, err));
    all = queue->options.ncomponents;
    if (!up_to) LEVADA_TRY(call_check_rest(queue, n, err));
    levada_queue_op_init(&op, LEVADA_QUEUE_DEQUEUE, up_to ? "dequeue_up_to" : "dequeue_many", n);
    op.up_to = up_to;
    op.hold = !queue->rows_only;
    memset(frame.one, 0, sizeof(frame.one[0]) * (size_t)all);
    status = call_references(queue, &frame, n, err);
    if (status == LEVADA_OK) status = call_targets(queue, &frame, n, err);
    op.cells = frame.cells;
    if (status == LEVADA_OK && n > 0) status = levada_queue_run(queue, &op, timeout, err);
    if (status == LEVADA_OK) {
        status = call_stack(queue, &frame, op.done, err);
        if (op.hold && status == LEVADA_OK) levada_queue_release(queue, &op);
        else if (op.hold) levada_queue_return(queue, &op); /* op.done is 0 then */
    }
    call_drop(queue, &frame, 0, status == LEVADA_OK ? op.done : 0);
    if (status == LEVADA_OK) memcpy(components, frame.one, (size_t)all * sizeof(*components));
    else call_unref_all(frame.one, all);
    return status;
}

levada_status levada_queue_dequeue_rows(levada_queue *queue, int64_t n, bool up_to,
                                        void *const *rows, int64_t timeout, int64_t *got,
                                        levada_error *err)
{
    uint8_t        *cells[LEVADA_QUEUE_COMPONENTS];
    levada_queue_op op;
    levada_status   status;

    LEVADA_TRY(LEVADA_USABLE(queue, "queue", err));
    LEVADA_TRY(levada_require(rows != NULL || n <= 0, "rows", err));
    if (got != NULL) *got = 0;
    LEVADA_TRY(call_check_n(queue, &n, up_to, err));
    if (!queue->rows_only) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "%s '%s': dequeue_rows needs components of numeric dtype and fully "
                           "defined shape",
                           levada_queue_kind_name(queue->options.kind), queue->name);
    }
    if (n == 0) return LEVADA_OK;
    cells[0] = rows[0];
    for (int32_t i = 1; i < queue->options.ncomponents; i++) cells[i] = rows[i];
    levada_queue_op_init(&op, LEVADA_QUEUE_DEQUEUE,
                         up_to    ? "dequeue_up_to"
                         : n == 1 ? "dequeue"
                                  : "dequeue_many",
                         n);
    op.up_to = up_to;
    op.cells = cells;
    status = levada_queue_run(queue, &op, timeout, err);
    if (got != NULL) *got = op.done;
    return status;
}
