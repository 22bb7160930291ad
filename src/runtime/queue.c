/* SPDX-License-Identifier: Apache-2.0 */
#include <levada/binding.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "base/random.h"
#include "base/refs.h"
#include "base/versioned.h"
#include "runtime/queue_priv.h"

#include <string.h>

static const char *const queue_kinds[] = {
    [LEVADA_QUEUE_FIFO] = "FIFOQueue",
    [LEVADA_QUEUE_PADDING] = "PaddingFIFOQueue",
    [LEVADA_QUEUE_SHUFFLE] = "RandomShuffleQueue",
    [LEVADA_QUEUE_PRIORITY] = "PriorityQueue",
};

static const char *const queue_names[] = {
    [LEVADA_QUEUE_FIFO] = "fifo_queue",
    [LEVADA_QUEUE_PADDING] = "padding_fifo_queue",
    [LEVADA_QUEUE_SHUFFLE] = "random_shuffle_queue",
    [LEVADA_QUEUE_PRIORITY] = "priority_queue",
};

const char *levada_queue_kind_name(levada_queue_kind kind) { return queue_kinds[kind]; }

/* -- checks ------------------------------------------------------------------------------------ */

static levada_status queue_check_shape(const levada_queue_options *o, int32_t i, levada_error *err)
{
    const levada_shape *shape = &o->shapes[i];
    char                text[LEVADA_SHAPE_TEXT];

    if (shape->rank > LEVADA_MAX_DIMS) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "shape %d has rank %d, at most %d is possible", (int)i,
                           (int)shape->rank, LEVADA_MAX_DIMS);
    }
    if (o->kind == LEVADA_QUEUE_PADDING) {
        if (shape->rank >= 0) return LEVADA_OK;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "shape %d must have a defined rank",
                           (int)i);
    }
    if (!levada_shape_known(shape)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "all shapes must be fully defined; shape %d is %s", (int)i,
                           levada_shape_print(shape, text));
    }
    if (o->kind == LEVADA_QUEUE_PRIORITY && i == 0 && shape->rank != 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "the priority must be a scalar, got %s",
                           levada_shape_print(shape, text));
    }
    if (levada_shape_count(shape) >= 0) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "shape %d is too large: %s", (int)i,
                       levada_shape_print(shape, text));
}

static levada_status queue_check_components(const levada_queue_options *o, levada_error *err)
{
    if (o->ncomponents < 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "ncomponents=%d must be at least 1",
                           (int)o->ncomponents);
    }
    if (o->ncomponents < 1 || o->dtypes == NULL) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a queue must have at least one component type, got an empty list");
    }
    if (o->ncomponents > LEVADA_QUEUE_COMPONENTS) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a queue must have at most %d components, got %d",
                           LEVADA_QUEUE_COMPONENTS, (int)o->ncomponents);
    }
    if (o->kind == LEVADA_QUEUE_PADDING && o->shapes == NULL) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "when providing partial shapes, a list of shapes must be provided");
    }
    if (o->kind == LEVADA_QUEUE_PRIORITY && o->dtypes[0] != LEVADA_INT64) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "the priority must be int64, got %s",
                           levada_dtype_name(o->dtypes[0]));
    }
    for (int32_t i = 0; i < o->ncomponents; i++) {
        if (!levada_dtype_is_bytes(o->dtypes[i]) && levada_dtype_size(o->dtypes[i]) == 0) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "dtype %d of component %d is unknown",
                               (int)o->dtypes[i], (int)i);
        }
        if (o->shapes != NULL) LEVADA_TRY(queue_check_shape(o, i, err));
    }
    return LEVADA_OK;
}

static levada_status queue_check(const levada_queue_options *o, levada_error *err)
{
    long long least = o->min_after_dequeue, capacity = o->capacity;

    if ((int)o->kind < 0 || o->kind > LEVADA_QUEUE_PRIORITY) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "kind=%d must be a levada_queue_kind",
                           (int)o->kind);
    }
    if (capacity == 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "capacity=0 must be at least 1, or -1 for no limit");
    }
    if (least < 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "min_after_dequeue=%lld must be >= 0",
                           least);
    }
    if (o->kind == LEVADA_QUEUE_SHUFFLE && capacity > 0 && least >= capacity) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "min_after_dequeue=%lld must be < capacity=%lld", least, capacity);
    }
    return queue_check_components(o, err);
}

/* -- making and freeing ------------------------------------------------------------------------ */

/* Returns true if nobody is in line, except a close whose owner gave up. */
static bool queue_is_left(const levada_queue *q)
{
    const levada_waiter *last = q->has_late_close ? &q->late_close.waiter : NULL;

    return q->dequeues.head == NULL && q->enqueues.head == last && q->enqueues.tail == last;
}

static void queue_free(levada_queue *queue)
{
    LEVADA_ASSERT(queue_is_left(queue) && atomic_load(&queue->held) == 0);
    levada_queue_store_clear(queue);
    levada_lock_clear(&queue->in.lock);
    levada_lock_clear(&queue->out.lock);
    levada_wait_list_unref(&queue->wait_list);
    if (queue->pool != NULL) levada_pool_unref(&queue->pool);
    levada_free(queue->dtypes);
    levada_free(queue->shapes);
    levada_free(queue->name);
    levada_free(queue->shared_name);
    levada_free(queue->is_ref);
    levada_free(queue->width);
    levada_free(queue->cells);
    levada_free(queue);
}

static bool queue_alloc(levada_queue *q, const levada_queue_options *o, levada_env *env)
{
    size_t n = (size_t)o->ncomponents;

    q->pool = levada_env_pool(env);
    if (q->pool != NULL) levada_pool_ref(q->pool);
    q->wait_list = levada_env_wait_list(env);
    if (q->wait_list != NULL) levada_wait_list_ref(q->wait_list);
    q->dtypes = levada_alloc(n * sizeof(*q->dtypes));
    q->shapes = levada_alloc(n * sizeof(*q->shapes));
    q->is_ref = levada_alloc(n * sizeof(*q->is_ref));
    q->width = levada_alloc(n * sizeof(*q->width));
    q->cells = levada_alloc_zero(n * sizeof(*q->cells));
    q->name = levada_strdup(o->name != NULL ? o->name : queue_names[o->kind]);
    if (o->shared_name != NULL) q->shared_name = levada_strdup(o->shared_name);
    return q->pool != NULL && q->wait_list != NULL && q->dtypes != NULL && q->shapes != NULL &&
           q->is_ref != NULL && q->width != NULL && q->cells != NULL && q->name != NULL &&
           (o->shared_name == NULL || q->shared_name != NULL);
}

static void queue_fill(levada_queue *q, const levada_queue_options *o)
{
    q->has_shapes = o->shapes != NULL;
    q->rows_only = true;
    for (int32_t i = 0; i < o->ncomponents; i++) {
        int64_t size = levada_dtype_size(o->dtypes[i]);

        q->dtypes[i] = levada_dtype_is_bytes(o->dtypes[i]) ? LEVADA_BYTES : o->dtypes[i];
        q->shapes[i] = o->shapes != NULL ? o->shapes[i] : (levada_shape){ -1, { 0 } };
        if (o->kind == LEVADA_QUEUE_PRIORITY && i == 0) q->shapes[i].rank = 0;
        q->is_ref[i] = levada_dtype_is_bytes(o->dtypes[i]) || !levada_shape_known(&q->shapes[i]);
        q->width[i] = q->is_ref[i] ? sizeof(levada_tensor *)
                                   : (size_t)(levada_shape_count(&q->shapes[i]) * size);
        if (q->is_ref[i]) q->rows_only = false;
        else q->row_bytes += (int64_t)q->width[i];
    }
    q->options = *o;
    q->split = (o->kind == LEVADA_QUEUE_FIFO || o->kind == LEVADA_QUEUE_PADDING) &&
               o->max_bytes < 0;
    q->options.struct_size = sizeof(q->options);
    if (q->options.capacity < 0) q->options.capacity = -1;
    q->options.dtypes = q->dtypes;
    q->options.shapes = q->has_shapes ? q->shapes : NULL;
    q->options.name = q->name;
    q->options.shared_name = q->shared_name;
    q->random_key = levada_random_key((uint64_t)o->seed, 0);
    if (o->seed < 0) {
        q->random_key = levada_random_key((uint64_t)levada_now(), (uint64_t)(uintptr_t)q);
    }
}

static levada_status queue_make(levada_env *env, const levada_queue_options *o, levada_queue **out,
                                levada_error *err)
{
    levada_queue *q = levada_alloc_aligned(64, sizeof(*q));

    if (q == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    memset(q, 0, sizeof(*q));
    atomic_init(&q->refs, 1);
    q->process = levada_process();
    if (!queue_alloc(q, o, env) ||
        levada_lock_init(&q->in.lock, LEVADA_LOCK_QUEUE, NULL) != LEVADA_OK ||
        levada_lock_init(&q->out.lock, LEVADA_LOCK_QUEUE_OUT, NULL) != LEVADA_OK) {
        queue_free(q);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    }
    queue_fill(q, o);
    levada_site_init(&q->site, q->wait_list, q->name);
    q->site.watched = true;
    q->shared = (levada_shared){ NULL, "queue", q->shared_name, q };
    *out = q;
    return LEVADA_OK;
}

/* -- shared names ------------------------------------------------------------------------------ */

static atomic_int *queue_refs(void *object) { return &((levada_queue *)object)->refs; }

static levada_status queue_unlike(const levada_queue *have, const char *what, int64_t has,
                                  int64_t asked, levada_error *err)
{
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "shared queue '%s' has other %s: %lld, but the call requested %lld",
                       have->shared_name, what, (long long)has, (long long)asked);
}

static levada_status queue_compare_types(const levada_queue *have, const levada_queue *want,
                                         levada_error *err)
{
    int32_t n = have->options.ncomponents, asked = want->options.ncomponents;

    if (n != asked) return queue_unlike(have, "numbers of component types", n, asked, err);
    for (int32_t i = 0; i < n; i++) {
        if (have->dtypes[i] == want->dtypes[i]) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "shared queue '%s' has other component types: component %d is %s, but "
                           "the call requested %s",
                           have->shared_name, (int)i, levada_dtype_name(have->dtypes[i]),
                           levada_dtype_name(want->dtypes[i]));
    }
    return LEVADA_OK;
}

static bool queue_same_shape(const levada_queue *q, const levada_shape *a, const levada_shape *b)
{
    if (a->rank != b->rank) return false;
    for (int32_t d = 0; d < a->rank; d++) {
        bool open = q->options.kind == LEVADA_QUEUE_PADDING && (a->dims[d] < 0 || b->dims[d] < 0);

        if (!open && a->dims[d] != b->dims[d]) return false;
    }
    return true;
}

static levada_status queue_compare_shapes(const levada_queue *have, const levada_queue *want,
                                          levada_error *err)
{
    for (int32_t i = 0; i < have->options.ncomponents; i++) {
        const levada_shape *a = &have->shapes[i], *b = &want->shapes[i];
        char                x[LEVADA_SHAPE_TEXT], y[LEVADA_SHAPE_TEXT];

        if (have->has_shapes == want->has_shapes && queue_same_shape(have, a, b)) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "shared queue '%s' has other component shapes: component %d is %s, but "
                           "the call requested %s",
                           have->shared_name, (int)i, levada_shape_print(a, x),
                           levada_shape_print(b, y));
    }
    return LEVADA_OK;
}

static levada_status queue_compare(const levada_queue *have, const levada_queue *want,
                                   levada_error *err)
{
    const levada_queue_options *a = &have->options, *b = &want->options;

    if (a->kind != b->kind) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "shared queue '%s': Expected %s, found %s", have->shared_name,
                           queue_kinds[a->kind], queue_kinds[b->kind]);
    }
    if (a->capacity != b->capacity) {
        return queue_unlike(have, "capacity", a->capacity, b->capacity, err);
    }
    if (a->max_bytes != b->max_bytes) {
        return queue_unlike(have, "max_bytes", a->max_bytes, b->max_bytes, err);
    }
    LEVADA_TRY(queue_compare_types(have, want, err));
    LEVADA_TRY(queue_compare_shapes(have, want, err));
    if (a->kind != LEVADA_QUEUE_SHUFFLE) return LEVADA_OK;
    if (a->min_after_dequeue != b->min_after_dequeue) {
        return queue_unlike(have, "min_after_dequeue", a->min_after_dequeue, b->min_after_dequeue,
                            err);
    }
    if (b->seed < 0 || a->seed == b->seed) return LEVADA_OK;
    return queue_unlike(have, "random seeds", a->seed, b->seed, err);
}

levada_status levada_queue_create(levada_env *env, const levada_queue_options *options,
                                  levada_queue **out, levada_error *err)
{
    levada_queue_options all = LEVADA_QUEUE_OPTIONS_INIT;
    levada_queue        *q = NULL, *have;
    levada_status        status = LEVADA_OK;

    LEVADA_TRY(levada_require(options != NULL, "options", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(LEVADA_VERSIONED_READ(all, options, levada_queue_options, err));
    LEVADA_TRY(queue_check(&all, err));
    LEVADA_TRY(queue_make(env, &all, &q, err));
    have = q->shared_name != NULL ? levada_wait_list_share(q->wait_list, &q->shared, queue_refs)
        : NULL;
    if (have != NULL) {
        status = queue_compare(have, q, err);
        queue_free(q);
        q = have;
        if (status != LEVADA_OK) levada_queue_unref(&q);
    }
    if (status == LEVADA_OK) *out = q;
    return status;
}

levada_queue *levada_queue_ref(levada_queue *queue)
{
    if (queue != NULL) levada_refs_add(&queue->refs);
    return queue;
}

/* Abandons the queue in the child of a fork, where the waiting calls do not exist. If a thread of
 * the parent was changing the queue, its memory stays until the process ends. */
static void queue_abandon(levada_queue *q)
{
    if (!levada_lock_is_free(&q->in.lock) || !levada_lock_is_free(&q->out.lock)) return;
    q->enqueues = q->dequeues = (levada_line){ 0 };
    q->has_late_close = false;
    atomic_store(&q->held, 0);
    queue_free(q);
}

void levada_queue_unref(levada_queue **queue)
{
    levada_queue *q = queue != NULL ? *queue : NULL;
    bool          last;

    if (q == NULL) return;
    *queue = NULL;
    if (q->shared_name != NULL) last = levada_wait_list_drop(q->wait_list, &q->shared, &q->refs);
    else last = levada_refs_drop(&q->refs);
    if (last && LEVADA_OURS(q)) queue_free(q);
    else if (last) queue_abandon(q);
}

/* -- looking ----------------------------------------------------------------------------------- */

bool levada_queue_is_closed(const levada_queue *queue)
{
    return LEVADA_OURS(queue) && levada_queue_closed(queue);
}

const levada_queue_options *levada_queue_info(const levada_queue *queue)
{
    return queue != NULL ? &queue->options : NULL;
}

void levada_queue_set_poll(levada_queue *queue, bool (*poll)(void *user), void *user,
                           int64_t every)
{
    if (LEVADA_OURS(queue)) levada_site_ask(&queue->site, poll, user, every);
}

void levada_queue_set_accept(levada_queue *queue, bool (*accept)(void *user), void *user)
{
    if (LEVADA_OURS(queue)) levada_site_accept(&queue->site, accept, user);
}

LEVADA_VERSIONED_INIT(levada_queue_options_init, levada_queue_options, LEVADA_QUEUE_OPTIONS_INIT)
